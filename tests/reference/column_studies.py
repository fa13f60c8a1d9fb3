"""Generated studies with columns split: the people of a generated study, each holder with some columns of most."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.reference.peeling import Record
from tests.reference.studies import Drawn, draw

from covey.party.session.data import load_table
from covey.protocols.peel.terms import Terms
from covey.study import Study

OF_HOLDERS = re.compile("^(k_insider|most_of_a_class|l_insider) = .*\n", re.MULTILINE)
ABSENT = 0.05
"""The part of all people whom a holder does not have."""


def draw_columns(seed: int, folder: Path, rows: tuple[int, int] = (20, 90), head: str = "") -> Drawn:
    """Returns the study of a seed; the records are those whom all holders have. Tables come in the holders' order."""
    drawn = draw(seed, folder, rows)
    random, frame = np.random.default_rng([seed, 1]), _frame(drawn)
    names = [str(name) for name in random.permutation([column.name for column in drawn.study.columns])]
    holders = min(int(random.choice([2, 2, 3, 4])), len(names))
    held = {f"h{holder}": names[holder::holders] for holder in range(holders)}
    text = OF_HOLDERS.sub("", (drawn.study.text or "").split("[parties.")[0])
    text = text.replace('partition = "horizontal"', f'partition = "vertical"\n{head}')
    text = text.replace('role = "sensitive"', 'role = "sensitive"\nsingles_out = "nobody is real"')
    parties = "".join(f"[parties.{name}]\ncolumns = {own}\n" for name, own in held.items())
    helper = '[parties.office]\nrole = "helper"\n' if holders == 2 else ""
    study = Study.parse(f'{text}[columns.id]\nrole = "key"\n{parties}{helper}', folder)
    people, tables, common = frame.num_rows, [], np.ones(frame.num_rows, dtype=bool)
    ids = [f"person {number}" for number in random.permutation(people)]
    for name, own in held.items():
        present = random.random(people) >= ABSENT
        common &= present
        some = random.permutation(np.flatnonzero(present))
        cells = {column: frame[column].take(pa.array(some)) for column in own}
        cells["id"] = pa.array([ids[row] for row in some.tolist()])
        table = load_table(replace(study, protocol=None, privacy=replace(study.privacy, k=2)), name, pa.table(cells))
        assert table is not None
        tables.append(table)
    records = [drawn.records[row] for row in np.flatnonzero(common).tolist()]
    numbered = [Record(record.paths, 0, record.values, cell) for cell, record in enumerate(records)]
    asked = replace(drawn.asked, holders=1, k_insider=1, most_of_a_class=None, l_insider=None)
    return Drawn(study, Terms.of(study), tuple(tables), tuple(numbered), asked)


def _frame(drawn: Drawn) -> pa.Table:
    """Returns the cells of all people, in the records' order."""
    cells: dict[str, list[str]] = {column.name: [] for column in drawn.study.columns}
    for table in drawn.tables:
        for column, tree, codes in zip(table.quasi, table.trees, table.codes, strict=True):
            cells[column.name] += [tree.labels[code] for code in codes.tolist()]
        for values in table.carried:
            cells[values.column.name] += [values.labels[code] for code in values.codes.tolist()]
    return pa.table(cells)
