"""Count: the parties' joint numbers of records, by one quasi column's bands, and nobody's own numbers.

Source    the secure sum of `covey.secure.sum`; the rule for small counts is ours.
Roles     every party alike, a holder of rows, two or more.
Security  semi-honest, up to n - 2 colluders, as the sum. Everyone approves before it opens.
Release   a table of bands and counts. Bands with fewer than k records are merged, smallest first, into one row `*`
          until it has at least k; bands without records are left out. Every published count is k or more.
Not       the release is a table of counts and has no records. The parties themselves see the counts below k that the
          release hides. With two parties each learns the other's counts. A party that lies changes the totals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from covey import measures
from covey.arrays import Ints, Words
from covey.cells import SUPPRESSED
from covey.errors import Aborted, InputError, Unmet
from covey.hierarchy import Hierarchy
from covey.option import Text, Whole
from covey.protocols.protocol import Demonstration, Figures, Forecast, Line, Proposal, Protocol, Result, Seat
from covey.protocols.shared import publish
from covey.schema import Column
from covey.secure import approval
from covey.secure import sum as secure_sum
from covey.secure.declare import RELEASE, Cost, Leakage, Lesson
from covey.study import Study
from covey.study.requirements import Requirements
from covey.table import Table

COLUMN = Text("column", "", "the quasi column to count by (default: the study's first)", 1024)
LEVEL = Whole("level", 1, "the level of its hierarchy whose nodes are the bands; 0 are the leaves (default: 1)")
_MOST_RECORDS = 1 << 48

LEAKAGE = Leakage(
    everyone=(
        "how many records all {parties} parties together have in each of the {bands} bands of {column!r}, also where "
        "it is fewer than {k}, which the release hides",
        "how many records all parties have together",
    ),
    about=RELEASE,
)
LEAKAGE_OF_TWO = Leakage(
    everyone=(
        "how many records the other party has in each of the {bands} bands of {column!r}: "
        "with two parties a total gives the other's number away",
    ),
    about=RELEASE,
)
COST = Cost(lambda n, bands: approval.COST.of(n) + secure_sum.COST.of(n, bands))


@dataclass(frozen=True)
class Bands:
    """The column that is counted by, its tree, and the nodes of its level, in the tree's order."""

    column: Column
    tree: Hierarchy
    nodes: Ints

    @classmethod
    def of(cls, study: Study) -> Bands:
        """A study's bands. Raises InputError for no such column or level, or a domain that the study does not list."""
        named = COLUMN.of(study.options) or study.quasi[0].name
        column = study.column(named)
        if column not in study.quasi:
            raise InputError(f"[protocol] column = {named!r} is no quasi column; counts are by a quasi column's bands")
        if not column.closed:
            raise InputError(f"column {named!r}: the parties cannot count over a domain that the study does not list")
        tree = column.tree()
        level = LEVEL.of(study.options) if LEVEL.name in study.options else min(1, tree.height)
        if level > tree.height:
            raise InputError(f"[protocol] level must be a whole number from 0 to {tree.height} for column {named!r}")
        return cls(column, tree, np.unique(tree.up[level]))

    def count(self, table: Table) -> Words:
        """The number of a party's records in each band."""
        place = table.quasi.index(self.column)
        own = table.trees[place]
        counts = table.tally(table.codes[place], own.codes)
        return np.array([counts[own.first[node] : own.last[node] + 1].sum() for node in self.nodes], dtype=np.uint64)


async def holder(seat: Seat) -> Result:
    """A holder of rows: adds its counts to everyone's."""
    bands = Bands.of(seat.study)
    leakage, numbers = leakage_of(seat.study, bands)

    seat.progress.phase("approval")
    await seat.approve(Proposal(leakage, numbers))

    seat.progress.phase("sum")
    seat.ledger.learns(leakage, **numbers)
    with seat.channel.at("count") as channel:
        totals = await secure_sum.total(channel, bands.count(seat.records))
    if int(totals.max(initial=0)) >= _MOST_RECORDS:
        raise Aborted("the joint counts are impossibly large: a party did not keep to the protocol", resumable=False)

    seat.progress.phase("release")
    return release(seat.study, bands, totals)


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The release that a trusted party would make."""
    bands = Bands.of(study)
    return release(study, bands, secure_sum.ideal({name: bands.count(table) for name, table in tables.items()}))


def release(study: Study, bands: Bands, totals: Words) -> Result:
    """The release: each band with k or more, and the rest as one row. Raises Unmet below k records in all."""
    k, total = study.privacy.k, int(totals.sum())
    if total < k:
        raise Unmet(f"the parties together have fewer than k = {k} records; nothing can be released")
    kept, merged = merge_small(totals, k)
    labels = [bands.tree.labels[bands.nodes[place]] for place in kept]
    counts = [int(totals[place]) for place in kept]
    rest = sum(int(totals[place]) for place in merged)
    if merged:
        labels.append(SUPPRESSED)
        counts.append(rest)
    cost = measures.lm(bands.tree)[bands.nodes]
    lost = sum(float(cost[place]) * int(totals[place]) for place in kept) + rest
    figures = Figures(
        rows=total,
        classes=len(counts),
        k_reached=min(counts),
        suppressed_cells=rest,
        loss=publish.losses(study, lost / total, np.array(counts, dtype=np.int64)),
    )
    table = pa.table({bands.column.name: pa.array(labels, pa.string()), "count": pa.array(map(str, counts))})
    return Result(table, figures)


def merge_small(totals: Words, k: int) -> tuple[list[int], list[int]]:
    """The bands that stay, and those that become one row: the smallest, until that row has k records too."""
    by_size = sorted(np.flatnonzero(totals).tolist(), key=lambda place: (int(totals[place]), place))
    merged: list[int] = []
    rest = 0
    while by_size and (int(totals[by_size[0]]) < k or 0 < rest < k):
        rest += int(totals[by_size[0]])
        merged.append(by_size.pop(0))
    return sorted(by_size), merged


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """The cost of a run, which does not depend on the data, and what it teaches."""
    bands, parties = Bands.of(study), len(study.parties)
    cost = COST.of(parties, len(bands.nodes))
    return Forecast(
        rounds=cost.rounds,
        messages=cost.messages,
        bytes=cost.bytes,
        seconds=0.01 + sum(rows.values()) * 1e-8,
        lessons=[leakage_of(study, bands)],
    )


def leakage_of(study: Study, bands: Bands) -> Lesson:
    """The leakage of a run, and the numbers that the sentences mention."""
    parties = len(study.parties)
    numbers = {"parties": parties, "bands": len(bands.nodes), "column": bands.column.name, "k": study.privacy.k}
    return (LEAKAGE_OF_TWO if parties == 2 else LEAKAGE), numbers


def script(study: Study) -> tuple[Line, ...]:
    """The messages of every party to every other: a vote, and the masked counts."""
    bands = len(Bands.of(study).nodes)
    size = secure_sum.COST.bytes(2, bands) // secure_sum.COST.messages(2, bands)
    chunks = secure_sum.COST.messages(2, bands) // 2
    return (
        Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES),
        Line("count", "sum.masked", times=chunks, size=size if chunks == 1 else None),
    )


PROTOCOL = Protocol(
    name="count",
    version=1,
    about="joint numbers of records by one column's bands: a table of counts, no records",
    source="the secure sum (Tassa & Gudes, section 3.1), with pairwise masks",
    requirements=Requirements(partition="horizontal", holders=(2, None), privacy=("k",), options=(COLUMN, LEVEL)),
    needs="two or more parties, each with rows",
    guarantees="every published count is k or more; nobody sees another party's counts (three or more parties)",
    released_to="every party",
    phases=("approval", "sum", "release"),
    leakage=LEAKAGE,
    roles={"holder": holder},
    foresee=foresee,
    demonstration=Demonstration(changes={"protocol": {"column": "age", "level": 2}}),
    ideal=ideal,
    judge=Bands.of,
    release="counts",
    counts_suffice=True,
    script=script,
)
