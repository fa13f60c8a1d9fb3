"""report.html: one page that explains a run to a person, made from the files beside it; it loads nothing."""

from covey.report.page import FILE, render, write

__all__ = ["FILE", "render", "write"]
