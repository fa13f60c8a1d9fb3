"""report.html: one page that explains a run or a release to a person; it loads nothing and runs nothing.

The page is made from material that the caller gathers. This package reads no folder and checks no signature.

material      what a page is made from
findings      the judge's verdict, each column's loss, the classes; distribution   each column before and after
opening, pictures, learned, checking   the sections of the page; page   all of it
markup        HTML through one door, which escapes; charts   inline SVG; spelling, style
"""

from covey.report.material import LedgerFile, Material, Signatures
from covey.report.page import FILE, render

__all__ = ["FILE", "LedgerFile", "Material", "Signatures", "render"]
