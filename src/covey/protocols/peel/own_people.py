"""Counts of its own people whom an owner of exact columns would find in the release, on shares, for it alone.

Rows that show the same labels in the owner's columns and the same exact cells are alike to it. One sort puts these
together; the counts are of rows that are alone, and of rows among fewer than k. The owner could look for its people by
their own leaves instead of labels: it then finds as many rows that fit or more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Ints, Longs
from covey.mpc import Box, Outside, Shared, joined, stacked, width_of
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.disclosures import RECOGNISED
from covey.protocols.peel.sizes import BITS
from covey.protocols.protocol import Recognition
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders
from covey.schema import Column
from covey.study import Study
from covey.table import group


async def recognised(
    box: Box, study: Study, parties: Sequence[str], cells: Cells, rows: Shared, labels: Ints
) -> dict[int, Recognition]:
    """Returns each owner's count at the owner, of shared cells and public labels (columns x rows)."""
    owners = [place for place, name in enumerate(parties) if asks(study, name)]
    counts = await box.together(*(_counted(box, study, parties[owner], cells, rows, labels) for owner in owners))
    opened = await box.together(
        *(box.open_to(owner, count, says=RECOGNISED) for owner, count in zip(owners, counts, strict=True))
    )
    given = zip(owners, opened, strict=True)
    return {
        owner: recognition(study, parties[owner], rows.records, words.astype(np.int64))
        for owner, words in given
        if words is not None
    }


async def read_recognised(outside: Outside, study: Study, party: str, rows: int) -> Recognition | None:
    """Returns the count at an owner that does not compute; None at any other party."""
    if not asks(study, party):
        return None
    opened = await outside.open(BITS, 2 * len(_tested(study, party)))
    return recognition(study, party, rows, opened.astype(np.int64))


def asks(study: Study, party: str) -> bool:
    """Returns True if a party publishes exact columns of people whom it knows."""
    return study.partition == "vertical" and party in exact_holders(study)


def recognition(study: Study, party: str, rows: int, counts: Longs) -> Recognition:
    """Returns what was counted, with the columns for which the study does not allow it."""
    alone, few = counts[:2].tolist()
    blamed = [column.name for column in exact_columns(study, party) if column.singles_out is None]
    excused = counts[2:].tolist() or ([0, 0] if blamed else [alone, few])  # labels alone tell nobody apart
    return Recognition(rows, alone, few, {} if excused == [alone, few] else dict.fromkeys(blamed))


def _tested(study: Study, party: str) -> list[tuple[Column, ...]]:
    """Returns all exact columns of a party, and those with a reason where some have none."""
    exact = exact_columns(study, party)
    excused = tuple(column for column in exact if column.singles_out is not None)
    return [exact, excused] if excused and excused != exact else [exact]


async def _counted(box: Box, study: Study, party: str, cells: Cells, rows: Shared, labels: Ints) -> Shared:
    """Returns for each set of columns how many rows are alone, and how many are among fewer than k."""
    held = {column.name for column in study.held_by(party)}
    own = [place for place, column in enumerate(study.quasi) if column.name in held]
    number, _ = group([*labels[own]], rows.records)
    label = box.public(number, width_of(int(number.max())))
    bits = cells.spans
    found = []
    for columns in _tested(study, party):
        key = (await box.sort(joined(label, *(rows.bits(bits[column.name]) for column in columns)))).key
        for least in (2, study.privacy.k):
            found.append((await box.count(~await box.k_equal(key, least))).padded(BITS))
    return stacked(*found)
