"""report.html: one page that explains a run or a release to a person; it loads nothing and runs nothing.

material      what it is made from: a run's files, and the records behind them where they are at hand
signatures    who signed the run, and whether the signatures hold
findings      the judge's verdict, each column's loss, the classes; distribution   each column before and after
sweep         the loss at other k
opening, pictures, learned, checking   the page's parts; page   the whole of it
own           the page with its owner's data beside the release
markup        HTML through one door, which escapes; charts   inline SVG; spelling, style
"""

from covey.report.material import Ledger, Material, Summary, gather
from covey.report.own import with_data
from covey.report.page import FILE, render, write

__all__ = ["FILE", "Ledger", "Material", "Summary", "gather", "render", "with_data", "write"]
