"""A release looked at, in a process of its own: `python -m covey.ui.examine FOLDER DATA FILE`.

The judge's verdict, what each column lost, the classes, the risks before and after, and some classes beside the rows of
the original that fit them: counts only, and a value is named only where ten rows or more have it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from covey import table
from covey.arrays import Ints
from covey.cells import NO_VALUE
from covey.errors import CoveyError
from covey.files import PRIVATE, write_atomically
from covey.judge.verdict import Risk
from covey.plain import plain_lines, plural
from covey.report.findings import ColumnLoss, ReleaseFindings, SizeRange, examine, risk_before
from covey.schema import Role
from covey.sources import connect
from covey.study import Study
from covey.summary import FILE, Summary
from covey.table import Table
from covey.ui.look import FEW

_SAMPLE, _NAMED = 6, 3


class ShownClass(msgspec.Struct, frozen=True):
    """A class, before and after."""

    rows: int
    labels: list[str]
    before: list[str]
    """By column, in words: the rows of the original that fit it."""


class Examined(msgspec.Struct, frozen=True):
    """The figures of one release."""

    answer: bool
    risk: Risk
    """Of a stranger who knows that the person is in the release."""
    before: Risk
    columns: list[ColumnLoss]
    sizes: list[SizeRange]
    quasi: list[str]
    sample: list[ShownClass]


def look(folder: Path, data: str) -> Examined:
    """Looks at the release in a folder, beside the data that it was made of."""
    study = Study.load(folder / "study.toml")
    summary = Summary.read(folder / FILE) or Summary()
    found = examine(folder / "release.csv", study, summary.withheld)
    columns = study.of_role(Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    records = table.build(table.read_source(connect(data), columns), study)
    return Examined(
        answer=found.verdict.answer,
        risk=found.verdict.risk.prosecutor,
        before=risk_before(records).prosecutor,
        columns=list(found.columns),
        sizes=list(found.sizes),
        quasi=[column.name for column in records.quasi],
        sample=_sample(found, records),
    )


def _sample(found: ReleaseFindings, records: Table) -> list[ShownClass]:
    """A few classes from all over the release, small and large."""
    released = found.released
    order = np.argsort(released.sizes, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, _SAMPLE).astype(int))]
    names = [cells.column.name for cells in released.quasi]
    shown = []
    for place in chosen.tolist():
        row = int(released.example[place])
        labels = dict(zip(names, (cells.labels[cells.codes[row]] for cells in released.quasi), strict=True))
        fits = np.ones(records.rows, dtype=bool)
        for column, tree, codes in zip(records.quasi, records.trees, records.codes, strict=True):
            node = tree.node(labels[column.name])
            if node is not None:
                fits &= (codes >= tree.first[node]) & (codes <= tree.last[node])
        before = [_words(tree.labels, codes[fits]) for tree, codes in zip(records.trees, records.codes, strict=True)]
        in_order = [labels[column.name] or NO_VALUE for column in records.quasi]
        shown.append(ShownClass(int(released.sizes[place]), in_order, before))
    return shown


def _words(labels: Sequence[str], codes: Ints) -> str:
    """The values of some rows in words: named are those that ten rows or more have."""
    values, counts = np.unique(codes, return_counts=True)
    often = sorted(zip(counts.tolist(), values.tolist(), strict=True), reverse=True)
    named = [f"{labels[value] or NO_VALUE} ({count:,})" for count, value in often[:_NAMED] if count >= FEW]
    rest = len(often) - len(named)
    more = [plural(rest, "value" if not named else "more value")] if rest else []
    return ", ".join([*named, *more])


def main(arguments: Sequence[str]) -> None:
    """Writes the figures of the release in FOLDER to FILE; a failure is one sentence."""
    folder, data, file = arguments
    try:
        write_atomically(Path(file), msgspec.json.encode(look(Path(folder), data)), PRIVATE)
    except CoveyError as error:
        print(f"covey: {plain_lines(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main(sys.argv[1:])
