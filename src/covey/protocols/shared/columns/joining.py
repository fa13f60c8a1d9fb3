"""The joint rows: one join for each holder of exact columns, under keys of its own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from covey.arrays import Ints, Longs
from covey.cells import MISSING
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Proposal, Seat
from covey.protocols.shared.columns import recognition
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders, holders, quasi_columns
from covey.protocols.shared.columns.release import Cells, ReleasedRows, pairing, released_rows
from covey.schema import Column
from covey.secure import join
from covey.secure.declare import RELEASE, Leakage
from covey.study import Study
from covey.table import Table, Values, group
from covey.wire import Channel

LEAKAGE = Leakage(everyone=("the release: {rows} rows in random order, without ids{pairing}",), about=RELEASE)
LEAKAGE_TO_RECIPIENT = Leakage(
    everyone=("that {rows} rows are released",), roles={"recipient": LEAKAGE.everyone}, about=RELEASE
)


async def join_rows(
    seat: Seat,
    channel: Channel,
    ids: Sequence[str],
    nodes: Ints,
    table: Table | None,
    labels: Sequence[Ints | Longs] = (),
    *,
    recipient: str | None = None,
) -> ReleasedRows | None:
    """The joint rows after everyone's approval, for the recipient or for every holder; None for a party that gets none.

    All parties of the session are holders, except the recipient: it brings no ids, no nodes and no table, and its
    role's name is "recipient". `nodes` (quasi columns x rows) are what each row shows in our own columns; `table` has
    the same rows. `labels` has what we know of each row's labels besides.
    """
    study = seat.study
    exact = exact_holders(study)
    blends = []
    for lane, owner in enumerate(exact or ("",)):
        rows = [] if table is None else packed(nodes, table.carried if owner == seat.party else ())
        blends.append(await join.blend(channel.at("join", lane), ids, rows, recipient=recipient))
    numbers: dict[str, object] = {"rows": len(ids) if recipient is None else "the common", "pairing": pairing(study)}
    leakage = LEAKAGE if recipient is None else LEAKAGE_TO_RECIPIENT
    found = None if table is None else recognition.count(study, [*nodes, *labels], table.carried)
    await seat.propose(Proposal(leakage, numbers, recognition=found))
    lanes = []
    for lane, blend in enumerate(blends):
        at = channel.at("open", lane)
        joined = await join.open_rows(at, blend, approved=True)
        if joined is not None:
            lanes.append(read_rows(at, study, joined, exact[lane] if exact else None))
    return released_rows(study, lanes) if lanes else None


def packed(nodes: Ints, carried: Sequence[Values]) -> list[bytes]:
    """Each row as it is sent: its nodes and its exact cells. Equal rows are encoded once."""
    number, first = group([*nodes, *(values.codes for values in carried)], nodes.shape[1])
    distinct = [
        msgspec.msgpack.encode((nodes[:, row].tolist(), [values.labels[values.codes[row]] for values in carried]))
        for row in first.tolist()
    ]
    return [distinct[each] for each in number.tolist()]


def read_rows(
    channel: Channel, study: Study, rows: Sequence[Sequence[bytes]], exact: str | None
) -> tuple[Ints, list[Cells]]:
    """The nodes of each joined row in the study's quasi columns, and the exact cells of the one who brought them."""
    place = {column.name: position for position, column in enumerate(study.quasi)}
    nodes = np.zeros((len(rows), len(study.quasi)), dtype=np.int32)
    cells: list[Cells] = [()] * len(rows)
    for position, holder in enumerate(holders(study)):
        columns = [place[column.name] for column in quasi_columns(study, holder)]
        trees = [column.tree() for column in quasi_columns(study, holder)]
        shown = exact_columns(study, holder) if holder == exact else ()
        known: dict[bytes, tuple[list[int], Cells]] = {}
        for row, parts in enumerate(rows):
            raw = parts[position]
            if raw not in known:
                known[raw] = read_part(channel, holder, raw, trees, shown)
            nodes[row, columns], own = known[raw]
            if shown:
                cells[row] = own
    return nodes, cells


def read_part(
    channel: Channel, holder: str, raw: bytes, trees: Sequence[Hierarchy], shown: Sequence[Column]
) -> tuple[list[int], Cells]:
    """One holder's part of a row: its nodes and its exact cells. Raises PeerError for anything else."""
    try:
        nodes, cells = msgspec.msgpack.decode(raw, type=tuple[list[int], tuple[str, ...]])
    except (msgspec.MsgspecError, ValueError):
        nodes, cells = [-1], ()
    reason = ""
    if len(nodes) != len(trees) or any(not 0 <= n < tree.nodes for n, tree in zip(nodes, trees, strict=False)):
        reason = "a row's nodes are none of its columns' hierarchies"
    elif len(cells) != len(shown) or not all(map(fits, shown, cells)):
        reason = "a row's exact values are not those of its columns"
    if reason:
        raise channel.refusal(holder, reason)
    return nodes, cells


def fits(column: Column, cell: str) -> bool:
    """Returns True if a cell may stand in an exact column."""
    if cell == MISSING:
        return column.missing == "value"
    return column.values is None or cell in column.values
