"""Columns of the same people at different parties: the common records are found, and the rows put together at the end.

Meeting   `meet`: the holders align their keys; each learns which of its own ids all of them have, and keeps those
          rows, in an order that is the same for everyone. With `mismatch = "abort"` a record that one holder lacks
          ends the run.
Release   `join_rows`: each holder brings the generalized nodes of its quasi columns and its exact values (sensitive
          and plain columns), row by row; a join on blinded keys puts them side by side and shows ids to nobody.
Exact     a row that shows an exact value is recognised by the one who knows that value. So exact values of different
          holders never meet in one row as they belong together: there is one join for each holder of exact columns,
          under keys of its own, with its exact values and everyone's nodes. What the joins give is paired anew within
          each class, by a draw that follows from the published values alone (`paired`), so that the pairing cannot
          tell who belongs together. Values of one holder stay together.
Not       whether a class has k rows is known only once the rows are open: the caller finds classes that have.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey import measures
from covey.anonymize.constraints import diversity_of
from covey.cells import MISSING
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Figures, Proposal, Seat
from covey.schema import Column, Role
from covey.secure import align, join
from covey.secure.declare import Leakage
from covey.study import Study
from covey.table import Table, Values, group, labelled
from covey.wire import Channel, Count, Message

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Cells: TypeAlias = tuple[str, ...]
"""A row's exact values of one holder, in the study's order of its columns."""

MEETING = (
    "which of its own ids all {holders} holders of columns have, and nothing about the other ids",
    "how many ids {leader} has or, if it is {leader}, how many each other holder has",
)
MET = Leakage(everyone=("that {common} records are common to all holders of columns",))
LEAKAGE = Leakage(everyone=("the release: {rows} rows in no order, without ids{pairing}",))
LEAKAGE_TO_RECIPIENT = Leakage(everyone=("that {rows} rows are released",), roles={"recipient": LEAKAGE.everyone})


class Complete(Message, tag="columns.complete"):
    """Whether every holder has all of the sender's ids."""

    complete: bool


class Met(Message, tag="columns.met"):
    """How many records are common, for a party without columns: its ledger says the same as everyone's."""

    common: Count


@dataclass(frozen=True)
class Common:
    """A holder's rows whose ids every holder has, in an order that is the same for everyone."""

    ids: tuple[str, ...]
    table: Table

    def __len__(self) -> int:
        return len(self.ids)


def holders(study: Study) -> tuple[str, ...]:
    """The parties with columns of their own, sorted."""
    return tuple(sorted(party.name for party in study.holders))


def require_listed(study: Study) -> None:
    """Parties agree only on domains that the study lists. Raises InputError with the first that it does not."""
    for column in study.quasi:
        if not column.closed:
            raise InputError(
                f"column {column.name!r}: protocol {study.protocol!r} needs a hierarchy that lists the whole domain; "
                "give it a file, its `values`, or min, max and steps"
            )


async def meet(seat: Seat, channel: Channel, *roles: str) -> Common | None:
    """Our rows that all holders have; None at a party without columns, which is not asked.

    `roles` are the names that the protocol has for holders of columns (default: holder). Raises InputError for a key
    that repeats or is missing, and Unmet for fewer than k common records, or where the study wants all and one
    holder lacks some.
    """
    study, names = seat.study, holders(seat.study)
    seat.book.learns(meeting_of(roles), **meeting_numbers(study))
    if seat.party not in names:
        seat.book.learns(MET, common=await _told(channel.at("met"), names))
        return None
    ids = keys_of(seat.records, f"party {seat.party!r}")
    among = channel.among(*names)
    aligned = await align.align(among.at("align"), ids)
    seat.book.learns(MET, common=len(aligned))
    for other in channel.peers:
        if other not in names:
            await channel.at("met").send(other, Met(len(aligned)))
    if study.mismatch == "abort":
        await _require_all(among.at("complete"), len(aligned) == len(ids))
    if len(aligned) < study.privacy.k:
        raise Unmet(
            f"the holders have {len(aligned):,} records in common, fewer than k = {study.privacy.k}; "
            "nothing can be released: do their key columns spell the same ids alike?"
        )
    return Common(tuple(ids[row] for row in aligned.rows.tolist()), seat.records.select(aligned.rows))


async def _told(channel: Channel, names: Sequence[str]) -> int:
    """What the holders say of the number of common records. Raises PeerError where they differ."""
    told = [(await channel.receive(name, Met)).common for name in names]
    if len(set(told)) > 1:
        reason = f"the holders differ in how many records they have in common: {', '.join(map(str, told))}"
        raise PeerError(party=names[-1], step=channel.step, reason=reason)
    return told[0]


def meeting_of(roles: Sequence[str] = ()) -> Leakage:
    """What meeting teaches the holders, whom the protocol calls by these names."""
    return _to(roles, MEETING)


def meeting_numbers(study: Study) -> dict[str, object]:
    """What its sentences mention."""
    names = holders(study)
    return {"holders": len(names), "leader": names[0]}


def keys_of(table: Table, where: str) -> list[str]:
    """The key of each row. Raises InputError, without quoting one, where a key repeats or is missing."""
    if table.key is None:
        raise InputError(f"{where}: has no key column to join by")
    name, counts = table.key.column.name, table.key.counts()
    lacking = int(counts[[label == MISSING for label in table.key.labels]].sum())
    if lacking:
        raise InputError(f"{where}: column {name!r} has no key in {lacking:,} rows; remove them or fill it in")
    if counts.max(initial=0) > 1:
        repeated = int(counts[counts > 1].sum())
        raise InputError(
            f"{where}: in column {name!r}, {repeated:,} rows share their key with another row; "
            "each person may stand in one row only"
        )
    return [table.key.labels[code] for code in table.key.codes.tolist()]


async def _require_all(channel: Channel, complete: bool) -> None:
    answers = {channel.me: complete}
    answers.update({name: answer.complete for name, answer in (await channel.exchange(Complete(complete))).items()})
    more = sorted(name for name, answer in answers.items() if not answer)
    if more:
        raise Unmet(
            f"the record sets differ: {', '.join(map(repr, more))} {'has' if len(more) == 1 else 'have'} ids that not "
            'all holders have, and the study says mismatch = "abort"; compare the key columns, or let '
            'mismatch = "intersect" leave those out'
        )


# -- exact columns


def exact_columns(study: Study, party: str) -> tuple[Column, ...]:
    """The columns that a party's rows show as they are."""
    return tuple(column for column in study.held_by(party) if column.role in (Role.SENSITIVE, Role.PLAIN))


def quasi_columns(study: Study, party: str) -> tuple[Column, ...]:
    """The columns that a party's rows show generalized."""
    return tuple(column for column in study.held_by(party) if column.role is Role.QUASI)


def exact_holders(study: Study) -> tuple[str, ...]:
    """The parties with exact columns, sorted."""
    return tuple(name for name in holders(study) if exact_columns(study, name))


def pairing(study: Study) -> str:
    """What the ledger says of exact values of different holders; nothing where there is one such holder at most."""
    names = exact_holders(study)
    if len(names) < 2:
        return ""
    return f"; the exact values of {', '.join(names)} are permuted within each class, so that no row shows two together"


def paired(lanes: Sequence[tuple[Longs, Sequence[Cells]]]) -> tuple[Longs, list[list[Cells]]]:
    """The class of each released row, and for each holder of exact values its cells, row by row.

    A lane has the classes and cells of one holder's rows. Within a class each holder's rows stand in an order drawn
    from a hash of all that is published: the same for everyone, and independent of who belongs together. With one
    lane nothing is drawn.
    """
    ordered = []
    for classes, cells in lanes:
        order = sorted(range(len(cells)), key=lambda row: (int(classes[row]), cells[row]))
        ordered.append((classes[order], [cells[row] for row in order]))
    if len(lanes) < 2:
        return ordered[0][0], [ordered[0][1]]
    content = hashlib.sha256()
    for classes, cells in ordered:
        content.update(classes.astype("<i8").tobytes() + msgspec.msgpack.encode(cells))
    draws = Rng(Secret(content.digest()))
    shuffled = []
    for lane, (classes, cells) in enumerate(ordered):
        anew = np.lexsort((draws.stream("pairing", lane).words(len(cells)), classes))
        shuffled.append([cells[row] for row in anew.tolist()])
    return ordered[0][0], shuffled


# -- the release


@dataclass(frozen=True)
class Opened:
    """The released rows: each one's class, each class's nodes in the study's quasi columns, and the exact cells."""

    klass: Longs
    nodes: Ints  # classes x quasi columns, nodes of each column's own tree
    cells: dict[str, list[str]]

    @property
    def sizes(self) -> Longs:
        return np.bincount(self.klass, minlength=len(self.nodes)).astype(np.int64)

    def table(self, study: Study, trees: Sequence[Hierarchy]) -> pa.Table:
        """The release."""
        columns: dict[str, pa.Array] = {}
        for place, (column, tree) in enumerate(zip(study.quasi, trees, strict=True)):
            columns[column.name] = labelled(np.ascontiguousarray(self.nodes[self.klass, place]), tree.labels)
        columns.update({name: pa.array(cells, pa.string()).dictionary_encode() for name, cells in self.cells.items()})
        return pa.table({column.name: columns[column.name] for column in study.released})


def opened(study: Study, lanes: Sequence[tuple[Ints, Sequence[Cells]]]) -> Opened:
    """The released rows from each join's nodes (rows x the study's quasi columns) and exact cells.

    Rows with equal nodes are one class. Raises Aborted where the joins do not have the same classes.
    """
    numbered = [group([*nodes.T], len(nodes)) for nodes, _ in lanes]
    shown = [nodes[first] for (nodes, _), (_, first) in zip(lanes, numbered, strict=True)]
    sizes = [np.bincount(number) for number, _ in numbered]
    for other, size in zip(shown[1:], sizes[1:], strict=True):
        if not np.array_equal(other, shown[0]) or not np.array_equal(size, sizes[0]):
            raise Aborted(
                "the joins of the exact columns do not have the same classes: a party did not keep to the protocol",
                resumable=False,
            )
    klass, parts = paired([(number, cells) for (number, _), (_, cells) in zip(numbered, lanes, strict=True)])
    cells: dict[str, list[str]] = {}
    for holder, rows in zip(exact_holders(study), parts, strict=False):
        for place, column in enumerate(exact_columns(study, holder)):
            cells[column.name] = [row[place] for row in rows]
    return Opened(klass, shown[0], cells)


def figures(study: Study, trees: Sequence[Hierarchy], opened: Opened) -> Figures:
    """What the open release is like. Raises Aborted where a class has fewer than k rows: then nothing is published."""
    sizes, nodes = opened.sizes, opened.nodes
    rows, columns, k = int(sizes.sum()), len(trees), study.privacy.k
    if sizes.min(initial=k) < k:
        raise Aborted(f"a class has fewer than k = {k} rows: a party did not keep to the protocol", resumable=False)
    lost = sum(float(measures.lm(tree)[nodes[:, place]] @ sizes) for place, tree in enumerate(trees))
    roots = np.array([tree.root if tree.nodes > 1 else -1 for tree in trees])
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        l_reached=diversity(study, opened),
        suppressed_cells=int(((nodes == roots).sum(axis=1) * sizes).sum()),
        loss={
            "lm": lost / (rows * columns),
            "em": None,
            "dm": float(measures.discernibility(sizes)),
            "c_avg": measures.average_class(sizes, k),
        },
    )


def diversity(study: Study, opened: Opened) -> float | None:
    """The l that every class reaches in every sensitive column; None where there is none."""
    reached = math.inf
    for column in study.sensitive:
        values = np.unique(np.array(opened.cells[column.name], dtype=object).astype(str), return_inverse=True)[1]
        counts = np.zeros((len(opened.nodes), int(values.max(initial=0)) + 1), dtype=np.int64)
        np.add.at(counts, (opened.klass, values), 1)
        reached = min([reached, *(diversity_of(row, study.privacy.diversity) for row in counts)])
    return reached if study.sensitive else None


async def join_rows(
    seat: Seat,
    channel: Channel,
    ids: Sequence[str],
    nodes: Ints,
    table: Table | None,
    known: Figures | None = None,
    *,
    recipient: str | None = None,
) -> Opened | None:
    """The joint rows after everyone's approval, to the recipient, or to every holder; None where none are due.

    All parties of the session are holders, but for the recipient, which gives no ids, no nodes and no table, and whose
    role's name is "recipient". `nodes` are quasi columns x rows: the nodes of our own columns that each row is to show;
    `table` has the same rows.
    """
    study = seat.study
    exact = exact_holders(study)
    blends = []
    for lane, owner in enumerate(exact or ("",)):
        rows = [] if table is None else packed(nodes, table.carried if owner == seat.party else ())
        blends.append(await join.blend(channel.at("join", lane), ids, rows, recipient=recipient))
    numbers: dict[str, object] = {"rows": len(ids) if recipient is None else "the common", "pairing": pairing(study)}
    leakage = LEAKAGE if recipient is None else LEAKAGE_TO_RECIPIENT
    role = "recipient" if seat.party == recipient else "holder"
    await seat.approve(Proposal(opens=tuple(leakage.sentences(role, **numbers)), figures=known))
    seat.book.learns(leakage, **numbers)
    lanes = []
    for lane, blend in enumerate(blends):
        at = channel.at("open", lane)
        joined = await join.open_rows(at, blend, approved=True)
        if joined is not None:
            lanes.append(read_rows(at, study, joined, exact[lane] if exact else None))
    return opened(study, lanes) if lanes else None


def packed(nodes: Ints, carried: Sequence[Values]) -> list[bytes]:
    """Each row as it travels: its nodes and its exact cells."""
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
        raise PeerError(party=holder, step=channel.step, reason=reason)
    return nodes, cells


def fits(column: Column, cell: str) -> bool:
    """Whether a cell may stand in an exact column."""
    if cell == MISSING:
        return column.missing == "value"
    return column.values is None or cell in column.values


def lanes_of(study: Study, tables: Mapping[str, Table], nodes: Mapping[str, Ints]) -> list[tuple[Ints, list[Cells]]]:
    """What a trusted party would join: `nodes` (columns x rows) and tables of the common rows, in the same order."""
    rows = next(iter(tables.values())).rows
    joint = np.zeros((rows, len(study.quasi)), dtype=np.int32)
    place = {column.name: position for position, column in enumerate(study.quasi)}
    for name in holders(study):
        for own, column in enumerate(quasi_columns(study, name)):
            joint[:, place[column.name]] = nodes[name][own]
    empty: list[Cells] = [()] * rows
    return [(joint, exact_cells(tables[name])) for name in exact_holders(study)] or [(joint, empty)]


def exact_cells(table: Table) -> list[Cells]:
    """Each row's exact values."""
    columns = [[values.labels[code] for code in values.codes.tolist()] for values in table.carried]
    return list(zip(*columns, strict=True)) if columns else [()] * table.rows


def common_rows(study: Study, tables: Mapping[str, Table]) -> dict[str, Table]:
    """What a trusted party would keep of each table: the rows that all have, in one order."""
    place = {
        name: {own: row for row, own in enumerate(keys_of(tables[name], name))} for name in holders(study)
    }  # fmt: skip
    common = sorted(set.intersection(*map(set, place.values())), key=str.encode)
    return {
        name: tables[name].select(np.array([rows[own] for own in common], np.int64)) for name, rows in place.items()
    }


def _to(roles: Sequence[str], sentences: tuple[str, ...]) -> Leakage:
    return Leakage(roles=dict.fromkeys(roles or ("holder",), sentences))
