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


class ShownClass(msgspec.Struct, frozen=True, rename={"originals": "before"}):
    """A class, before and after."""

    rows: int
    labels: list[str]
    originals: list[str]
    """By column, in words: the rows of the original that fit it."""


class Examined(msgspec.Struct, frozen=True, rename={"risk_before": "before"}):
    """The figures of one release."""

    answer: bool
    risk: Risk
    """Of a stranger who knows that the person is in the release."""
    risk_before: Risk
    columns: list[ColumnLoss]
    sizes: list[SizeRange]
    quasi: list[str]
    sample: list[ShownClass]


def look(folder: Path, data: str) -> Examined:
    """Looks at the release in a folder, beside the data that it was made of."""
    study = Study.load(folder / "study.toml")
    summary = Summary.read(folder / FILE) or Summary()
    findings = examine(folder / "release.csv", study, summary.withheld)
    columns = study.of_role(Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    records = table.build(table.read_source(connect(data), columns), study)
    return Examined(
        answer=findings.verdict.answer,
        risk=findings.verdict.risk.prosecutor,
        risk_before=risk_before(records).prosecutor,
        columns=list(findings.columns),
        sizes=list(findings.sizes),
        quasi=[column.name for column in records.quasi],
        sample=_sample(findings, records),
    )


def _sample(findings: ReleaseFindings, records: Table) -> list[ShownClass]:
    """A few classes from all over the release, small and large."""
    released = findings.released
    order = np.argsort(released.sizes, kind="stable")
    indices = order[np.unique(np.linspace(0, len(order) - 1, _SAMPLE).astype(int))]
    names = [cells.column.name for cells in released.quasi]
    classes = []
    for index in indices.tolist():
        row = int(released.example[index])
        labels = dict(zip(names, (cells.labels[cells.codes[row]] for cells in released.quasi), strict=True))
        fits = np.ones(records.rows, dtype=bool)
        for column, tree, codes in zip(records.quasi, records.trees, records.codes, strict=True):
            node = tree.node(labels[column.name])
            if node is not None:
                fits &= (codes >= tree.first[node]) & (codes <= tree.last[node])
        originals = [_words(tree.labels, codes[fits]) for tree, codes in zip(records.trees, records.codes, strict=True)]
        in_order = [labels[column.name] or NO_VALUE for column in records.quasi]
        classes.append(ShownClass(int(released.sizes[index]), in_order, originals))
    return classes


def _words(labels: Sequence[str], codes: Ints) -> str:
    """The values of some rows in words; only values of ten rows or more are named."""
    values, counts = np.unique(codes, return_counts=True)
    frequent = sorted(zip(counts.tolist(), values.tolist(), strict=True), reverse=True)
    names = [f"{labels[value] or NO_VALUE} ({count:,})" for count, value in frequent[:_NAMED] if count >= FEW]
    remainder = len(frequent) - len(names)
    tail = [plural(remainder, "value" if not names else "more value")] if remainder else []
    return ", ".join([*names, *tail])


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
