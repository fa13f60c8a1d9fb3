"""Writes the measured figures of docs/algorithms.md from one results file, benchmarks/results/algorithms.json.

A figure stands between `<!-- NAME -->` and `<!-- end -->`. `python -m scripts.figures` renews all of them; with
`--check` nothing is written, and a page that differs from the file ends with exit 1. A test does the same.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "algorithms.json"
PAGE = ROOT / "docs" / "algorithms.md"

Row = Mapping[str, object]
Results = Mapping[str, Sequence[Row]]
_PLACE = re.compile(r"(<!-- ([a-z-]+) -->)(.*?)(<!-- end -->)", re.DOTALL)


def number(row: Row, key: str) -> float:
    """A measured number."""
    return float(str(row[key]))


def short(loss: float) -> str:
    """A loss as the pages print it: .0735, and 1 where all is lost."""
    return "1" if loss >= 0.99995 else f"{loss:.4f}".lstrip("0")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, with empty lines around it."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n" + "\n".join(lines) + "\n"


def seconds(value: float) -> str:
    """Seconds with as many digits as mean something."""
    return f"{value:.2f}" if value < 0.095 else f"{value:.1f}" if value < 9.5 else f"{value:.0f}"


def losses(found: Results) -> str:
    """The losses on Adult, a line for each way."""
    ways = list(dict.fromkeys(str(row["way"]) for row in found["losses"]))
    rows = []
    for way in ways:
        own = sorted((row for row in found["losses"] if row["way"] == way), key=lambda row: number(row, "k"))
        spent = [number(row, "seconds") for row in own]
        rows.append((way, " / ".join(short(number(row, "lm")) for row in own), seconds(max(spent))))
    return table(("algorithm", "LM", "CPU seconds, at most"), rows)


def starts(found: Results) -> str:
    """The starts of `sequential`."""
    kinds = ("paper", "fitted", "small")
    rows = []
    for name, said in (("hospitals", "hospitals, 3,000 rows"), ("Adult", "Adult")):
        own = {(int(number(row, "k")), str(row["start"])): row for row in found["starts"] if row["table"] == name}
        ks = sorted({k for k, _ in own})
        cells = [" / ".join(short(number(own[k, kind], "lm")) for k in ks) for kind in kinds]
        rows.append((said, " / ".join(map(str, ks)), *cells))
    return table(("", "k", "`paper`", "`fitted`", "first clusters of six"), rows)


def synthetic(found: Results) -> str:
    """The seconds on synthetic tables."""
    ways = list(dict.fromkeys(str(row["way"]) for row in found["synthetic"]))
    sizes = sorted({(int(number(row, "distinct")), int(number(row, "records"))) for row in found["synthetic"]})
    rows = []
    for distinct, records in sizes:
        own = {
            str(row["way"]): seconds(number(row, "seconds"))
            for row in found["synthetic"]
            if (number(row, "distinct"), number(row, "records")) == (distinct, records)
        }
        rows.append((f"{distinct:,}", f"{records:,}", *(own[way] for way in ways)))
    return table(("distinct records", "records", *ways), rows)


def growth(found: Results) -> str:
    """The growth from 10^4 to 10^7 rows."""
    names = list(dict.fromkeys(str(row["algorithm"]) for row in found["growth"]))
    rows = []
    for size in sorted({int(number(row, "rows")) for row in found["growth"]}):
        own = {str(row["algorithm"]): row for row in found["growth"] if number(row, "rows") == size}
        items = int(number(next(iter(own.values())), "items"))
        rows.append((f"10^{len(str(size)) - 1} ({items:,})", *(_grown(own.get(name)) for name in names)))
    return table(("rows (distinct)", *names), rows)


def _grown(row: Row | None) -> str:
    if row is None:
        return ""
    if "refused" in row:
        minutes = re.search(r"could take ([\d,]+) minutes", str(row["refused"]))
        return f"refused: {minutes[1]} minutes expected" if minutes else "refused"
    return f"{number(row, 'seconds'):.1f} s, {row['megabytes']} MB"


def one_class(found: Results) -> str:
    """The k from which the paper's start ends with one class on the hospitals."""
    return str(found["one_class"][0]["k"])


FIGURES: dict[str, Callable[[Results], str]] = {
    "losses": losses, "starts": starts, "synthetic": synthetic, "growth": growth, "one-class": one_class,
}  # fmt: skip


def filled(page: str, found: Results) -> str:
    """The page with every figure as the results have it. Raises KeyError for a figure that nobody makes."""
    return _PLACE.sub(lambda place: f"{place[1]}{FIGURES[place[2]](found)}{place[4]}", page)


def main(arguments: Sequence[str]) -> int:
    """Renews the page, or checks it."""
    page = PAGE.read_text(encoding="utf-8")
    made = filled(page, json.loads(RESULTS.read_text(encoding="utf-8")))
    if "--check" in arguments:
        print("the figures are those of the results" if made == page else f"{PAGE}: figures differ from {RESULTS}")
        return int(made != page)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
