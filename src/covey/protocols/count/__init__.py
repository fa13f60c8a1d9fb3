"""Count: the parties' joint numbers of records, by one quasi column's bands, and nobody's own numbers.

Source    the secure sum of `covey.secure.sum`; the rule for small counts is ours.
Roles     every party alike, a holder of rows, two or more.
Security  semi-honest, up to n - 2 colluders, as the sum. Before it opens, everyone approves.
Release   a table of band and count. Bands with fewer than k records are put together, smallest first, into one
          row `*` until it has at least k; bands without records are left out. Every count is k or more.
Not       it releases no records: it is a table of counts. The parties themselves see the counts below k that
          the release hides. With two parties each learns the other's counts. A party that lies changes the totals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from covey import measures
from covey.arrays import Ints, Words
from covey.cells import SUPPRESSED
from covey.errors import Aborted, InputError, Unmet
from covey.hierarchy import Hierarchy
from covey.option import Text, Whole
from covey.protocols.protocol import Demonstration, Figures, Forecast, Line, Proposal, Protocol, Result, Seat
from covey.schema import Column
from covey.secure import approval
from covey.secure import sum as secure_sum
from covey.secure.declare import Cost, Leakage
from covey.study import Study
from covey.study.requirements import Requirements
from covey.table import Table

COLUMN = Text("column", "", "the quasi column to count by (default: the study's first)", 1024)
LEVEL = Whole("level", 1, "the level of its hierarchy whose nodes are the bands; 0 are the leaves (default: 1)")
COUNT_COLUMN = "count"
_MOST_RECORDS = 1 << 48

LEAKAGE = Leakage(
    everyone=(
        "how many records all {parties} parties together have in each of the {bands} bands of {column!r}, "
        "the counts below {k} included, which the release hides",
        "the total number of records",
    )
)
LEAKAGE_OF_TWO = Leakage(
    everyone=(
        "how many records the other party has in each of the {bands} bands of {column!r}: "
        "with two parties a total gives the other's number away",
    )
)
COST = Cost(
    rounds=lambda n, bands: approval.COST.rounds(n) + secure_sum.COST.rounds(n, bands),
    messages=lambda n, bands: approval.COST.messages(n) + secure_sum.COST.messages(n, bands),
    bytes=lambda n, bands: approval.COST.bytes(n) + secure_sum.COST.bytes(n, bands),
)


async def holder(seat: Seat) -> Result:
    """A holder of rows: adds its counts to everyone's."""
    column, tree, bands = plan_bands(seat.study)
    mine = count_bands(seat.records, column, bands)
    leakage, numbers = _leakage(seat.study)

    seat.pace.phase("approval")
    await seat.approve(Proposal(opens=tuple(leakage.sentences("holder", **numbers))))

    seat.pace.phase("sum")
    seat.book.learns(leakage, **numbers)
    with seat.channel.at("count") as channel:
        totals = await secure_sum.total(channel, mine)
    if int(totals.max(initial=0)) >= _MOST_RECORDS:
        raise Aborted("the joint counts are impossibly large: a party did not keep to the protocol", resumable=False)

    seat.pace.phase("release")
    return publish(seat.study, column, tree, bands, totals)


def plan_bands(study: Study) -> tuple[Column, Hierarchy, Ints]:
    """The column that is counted by, its tree, and the nodes of its level, in the tree's order.

    Raises InputError where the study's options name no such column or level, or a domain that it does not list.
    """
    named = COLUMN.of(study.options) or study.quasi[0].name
    column = study.column(named)
    if column not in study.quasi:
        raise InputError(f"[protocol] column = {named!r} is no quasi column; counts are by a quasi column's bands")
    if not column.closed:
        raise InputError(f"column {column.name!r}: the parties cannot count over a domain that the study does not list")
    tree = column.tree()
    level = LEVEL.of(study.options) if LEVEL.name in study.options else min(1, tree.height)
    if level > tree.height:
        raise InputError(f"[protocol] level must be a whole number from 0 to {tree.height} for column {column.name!r}")
    return column, tree, np.unique(tree.up[level])


def count_bands(table: Table, column: Column, bands: Ints) -> Words:
    """How many of this party's records lie in each band."""
    position = table.quasi.index(column)
    tree = table.trees[position]
    band_of = np.full(tree.codes, -1, dtype=np.int64)
    for index, node in enumerate(bands):
        band_of[tree.first[node] : tree.last[node] + 1] = index
    counts = np.bincount(band_of[table.codes[position]], minlength=len(bands))
    return counts.astype(np.uint64)


def publish(study: Study, column: Column, tree: Hierarchy, bands: Ints, totals: Words) -> Result:
    """The release: each band with k or more, and the rest as one row. Raises Unmet below k records in all."""
    k = study.privacy.k
    total = int(totals.sum())
    if total < k:
        raise Unmet(f"the parties together have fewer than k = {k} records; nothing can be released")
    kept, merged = put_together(totals, k)
    labels = [tree.labels[bands[index]] for index in kept]
    counts = [int(totals[index]) for index in kept]
    rest = int(totals[merged].sum()) if merged else 0
    if merged:
        labels.append(SUPPRESSED)
        counts.append(rest)
    cost = measures.lm(tree)
    lost = sum(float(cost[bands[index]]) * int(totals[index]) for index in kept) + rest
    sizes = np.array(counts, dtype=np.int64)
    figures = Figures(
        rows=total,
        classes=len(counts),
        k_reached=min(counts),
        suppressed_cells=rest,
        loss={
            "lm": lost / total,
            "em": None,
            "dm": float(measures.discernibility(sizes)),
            "c_avg": measures.average_class(sizes, k),
        },
    )
    release = pa.table({column.name: pa.array(labels, pa.string()), COUNT_COLUMN: pa.array(map(str, counts))})
    return Result(release, figures)


def put_together(totals: Words, k: int) -> tuple[list[int], list[int]]:
    """The bands that stay, and those that become one row: the smallest, until that row has k records too."""
    present = [int(index) for index in np.flatnonzero(totals)]
    by_size = sorted(present, key=lambda index: (int(totals[index]), index))
    merged: list[int] = []
    rest = 0
    while by_size and (int(totals[by_size[0]]) < k or 0 < rest < k):
        rest += int(totals[by_size[0]])
        merged.append(by_size.pop(0))
    return sorted(by_size), merged


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """What a trusted party would release."""
    column, tree, bands = plan_bands(study)
    totals = np.zeros(len(bands), dtype=np.uint64)
    for table in tables.values():
        totals += count_bands(table, column, bands)
    return publish(study, column, tree, bands, totals)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """What a run costs and teaches; it does not depend on the rows."""
    _, _, bands = plan_bands(study)
    parties = len(study.parties)
    leakage, numbers = _leakage(study)
    learned = tuple(leakage.sentences("holder", **numbers))
    return Forecast(
        rounds=COST.rounds(parties, len(bands)),
        messages=COST.messages(parties, len(bands)),
        bytes=COST.bytes(parties, len(bands)),
        seconds=0.01 + sum(rows.values()) * 1e-8,
        learns={party.name: learned for party in study.parties},
    )


def _leakage(study: Study) -> tuple[Leakage, dict[str, object]]:
    column, _, bands = plan_bands(study)
    parties = len(study.parties)
    numbers = {"parties": parties, "bands": len(bands), "column": column.name, "k": study.privacy.k}
    return (LEAKAGE_OF_TWO if parties == 2 else LEAKAGE), numbers


def script(study: Study) -> tuple[Line, ...]:
    """What everyone says to everyone: a vote, and the masked counts."""
    _, _, bands = plan_bands(study)
    size = secure_sum.COST.bytes(2, len(bands)) // secure_sum.COST.messages(2, len(bands))
    chunks = secure_sum.COST.messages(2, len(bands)) // 2
    return (
        Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES),
        Line("count", "sum.masked", times=chunks, size=size if chunks == 1 else None),
    )


def _judge(study: Study) -> None:
    plan_bands(study)


PROTOCOL = Protocol(
    name="count",
    about="joint numbers of records by one column's bands: a table of counts, no records",
    source="the secure sum (Tassa & Gudes, section 3.1), with pairwise masks",
    requirements=Requirements(partition="horizontal", holders=(2, None), privacy=("k",), options=(COLUMN, LEVEL)),
    needs="two or more parties, each with rows",
    guarantees="every published count is k or more; nobody sees another party's counts (three or more parties)",
    released_to="every party",
    phases=("approval", "sum", "release"),
    leakage=LEAKAGE,
    role=lambda study, party: holder,
    role_name=lambda study, party: "holder",
    receives=lambda study, party: True,
    foresee=foresee,
    demonstration=Demonstration(changes={"protocol": {"column": "age", "level": 2}}),
    ideal=ideal,
    judge=_judge,
    release="counts",
    script=script,
)
