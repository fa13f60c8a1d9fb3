"""Public frequencies of a study's quasi columns, in a file beside it: column,value,count."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.study import Study


def read_reference(study: Study, trees: Sequence[Hierarchy], named: str) -> tuple[Longs, ...]:
    """Returns the frequencies in the study's reference file. Raises InputError that names the file and the line."""
    content = study.files.get(named)
    if content is None:
        raise InputError(f"{named}: the study's reference file was not found")
    place = {column.name: number for number, column in enumerate(study.quasi)}
    codes: list[Mapping[str, int]] = [
        {label: code for code, label in enumerate(tree.labels[: tree.codes])} for tree in trees
    ]
    counts = [np.zeros(tree.codes, dtype=np.int64) for tree in trees]
    try:
        rows = list(csv.reader(content.decode("utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{named}: is no CSV file in UTF-8") from None
    for line, row in enumerate(rows, start=1):
        if not row or (line == 1 and row == ["column", "value", "count"]):
            continue
        column = place.get(row[0], -1)
        code = -1 if column < 0 or len(row) != 3 else codes[column].get(study.quasi[column].read(row[1]), -1)
        if code < 0 or not row[2].strip().isdecimal():
            raise InputError(f"{named}, line {line}: must be column,value,count with a quasi column and its value")
        counts[column][code] += int(row[2])
    for quasi, own in zip(study.quasi, counts, strict=True):
        if not own.any():
            raise InputError(f"{named}: has no counts of column {quasi.name!r}; add them, or leave reference out")
    return tuple(counts)
