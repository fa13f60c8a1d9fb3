"""Cluster: parties with rows of one table publish it k-anonymously by local recoding; nobody sees another's record.

Source    Tassa & Gudes, Algorithm 3 and sections 4, 6 and 8, in fewer rounds. The default start and its moves are ours
          (`divide`, `regroup`, `guarded`); where we depart from the paper, the module concerned says so.
Roles     every party alike, a holder of rows, two or more.
Schedules guarded  (default) every cluster has k records or more at any time: the table is divided along the
                   hierarchies by thresholded joint counts, then single records move. Nothing is opened of fewer.
          strict   the division alone, by nested counts: nothing of fewer than k can be computed from them either.
          exact    the paper's algorithm, label for label, one exchange per turn: it opens closures of the others'
                   records, of a single one at times. The ledger counts them.
          paper    the paper's rings, one search per removal, in randomised sweeps: to compare with, on small tables.
Security  semi-honest. Sums are safe against m - 2 colluders, everything else against (m - 1) // 2. Between two
          parties each total gives the other's part away: the ledger says so.
Not       every opened number is of k records or more, but numbers of overlapping groups can be subtracted, and a
          cluster's change in a turn tells something of the records that moved. A party that lies changes the outcome
          unnoticed. k holds toward readers of the release: toward a party that knows its own rows it is the k that
          the ledger states, at least `k_insider` where the study asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs
from covey.errors import Aborted, InputError, Unmet
from covey.protocols.cluster_rows import clear, diverse, exact, guarded, leaks, paper, plan, release, repair, site
from covey.protocols.cluster_rows.divide import Openings
from covey.protocols.cluster_rows.ground import Clusters, Ground, lay_ground, require_listed
from covey.protocols.cluster_rows.ranges import Tests
from covey.protocols.cluster_rows.script import script
from covey.protocols.protocol import Protocol, Result, Seat
from covey.protocols.shared import rows
from covey.protocols.shared.agree import agree
from covey.protocols.shared.diversity import feasible, fraction
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.table import Table
from covey.wire import Channel

LEAKAGE = leaks.GUARDED
COST = plan.COST
_MOST_RECORDS = 1 << 40
_NEEDS_FREQUENCIES = ("em", "em-monotone")


async def holder(seat: Seat) -> Result:
    """A holder of rows: searches with everyone, and publishes with everyone."""
    study, table, channel = seat.study, seat.records, seat.channel.at("cluster")
    parties = len(channel.parties)
    seat.pace.phase("sizes")
    seat.book.learns(leaks.SETUP if parties > 2 else leaks.SETUP_OF_TWO, **leaks.numbers(study))
    known = await meet(channel.at("meet"), study, table)
    ground = lay_ground(study, table.trees, known.leaves)
    tests = Tests(channel.at("tests"))
    sites = study.privacy.site_l
    if sites is not None:
        seat.book.learns(leaks.SITES, sites=sites)
        ground = await site.prune(tests, study, ground, table.codes, sites)

    seat.book.learns(leaks.of_search(study), **leaks.numbers(study))
    openings = Openings()
    work = (ground, table.codes, known.records, seat.pace, openings)
    schedule = leaks.schedule_of(study)
    if schedule in ("guarded", "strict"):
        label, clusters = await guarded.search(channel, tests, *work, strict=schedule == "strict")
    else:
        sweeps = paper.Parts() if schedule == "paper" else exact.Whole()
        fitted = leaks.start_of(study) == "fitted"
        label, clusters = await exact.search(channel, *work, exact.drawn(channel.rng), sweeps, fitted=fitted)

    label, clusters = await mend(seat, channel.at("mend"), tests, ground, label, clusters, openings)
    own = np.bincount(label, minlength=len(clusters))
    seat.book.learns(leaks.INSIDER, cap=study.privacy.k)
    reached = await repair.insider_reached(channel.at("insider"), clusters, own, study.privacy.k)
    seat.book.learns(leaks.REACHED, insider=reached, more=" or more" if reached >= study.privacy.k else "")
    await count_openings(seat, channel.at("openings"), openings)
    if sites is not None:
        clusters = await site.raise_together(tests, study, ground, table.codes, clusters, sites)
    await agree(channel.at("agree"), clusters.digest())

    seat.pace.phase("release")
    classes = release.Classes.of(clusters, label)
    return await release.publish(seat, ground, classes, release.figures(ground, classes, known.leaves))


async def count_openings(seat: Seat, channel: Channel, openings: Openings) -> None:
    """Writes down how much was opened; the exact schedule adds up how often that was another's exact record."""
    if leaks.schedule_of(seat.study) in ("guarded", "strict"):
        seat.book.learns(leaks.OPENED, **vars(openings))
        return
    mine = np.array([openings.exact, openings.single], dtype=np.uint64)
    exactly, single = (int(each) for each in await secure_sum.total(channel, mine))
    seat.book.learns(leaks.OPENED_EXACTLY, exactly=exactly, single=single, closures=openings.closures)


@dataclass(frozen=True)
class Known:
    """What is added up first: the number of records and, where they are needed, frequencies of values."""

    records: int
    leaves: list[Longs] | None
    sensitive: list[Longs]


async def meet(channel: Channel, study: Study, table: Table) -> Known:
    """Adds up what everyone must know. Raises Unmet where k or l cannot be kept by all records together."""
    mine = first_counts(study, table)
    total = (await secure_sum.total(channel, np.concatenate(mine).astype(np.uint64))).astype(np.int64)
    parts = np.split(total, np.cumsum([len(part) for part in mine])[:-1])
    records = int(parts[0][0])
    if not 0 <= records < _MOST_RECORDS or (total < 0).any():
        raise Aborted("the joint numbers are impossible: a party did not keep to the protocol", resumable=False)
    leaves = list(parts[1 : 1 + len(table.trees)]) if study.measure in _NEEDS_FREQUENCIES else None
    known = Known(records, leaves, list(parts[1 + len(leaves or ()) :]))
    require_feasible(study, known)
    return known


def first_counts(study: Study, table: Table) -> list[Longs]:
    """Own rows; for an entropy measure the leaves' frequencies; for l the sensitive values'."""
    parts = [np.array([table.rows])]
    if study.measure in _NEEDS_FREQUENCIES:
        pairs = zip(table.codes, table.trees, strict=True)
        parts += [np.bincount(codes, minlength=tree.codes) for codes, tree in pairs]
    if study.privacy.l is not None:
        parts += [np.bincount(codes, minlength=values) for codes, values in sensitive(study, table)]
    return [part.astype(np.int64) for part in parts]


def sensitive(study: Study, table: Table) -> list[tuple[Longs, int]]:
    """Each sensitive column as codes of its listed domain, and the domain's size."""
    found = []
    for column in study.sensitive:
        own, values = table.values(column.name), rows.domain(column)
        place = {value: position for position, value in enumerate(values)}
        lookup = np.array([place.get(label, 0) for label in own.labels] or [0], dtype=np.int64)
        found.append((lookup[own.codes], len(values)))
    return found


def require_feasible(study: Study, known: Known) -> None:
    """Raises Unmet, with what would be feasible, if all records as one class do not keep k and l."""
    k, wanted = study.privacy.k, study.privacy.l
    if known.records < k:
        raise Unmet(f"the parties together have fewer than k = {k} records; nothing can be released")
    if wanted is None:
        return
    for column, counts in zip(study.sensitive, known.sensitive, strict=True):
        most = int(counts.max())
        if fraction(wanted) * most > known.records:
            raise Unmet(
                f"l = {wanted:g} cannot be kept: in column {column.name!r} all records together reach "
                f"{feasible(known.records, most):g}; lower l to that, or merge sensitive values"
            )


async def mend(
    seat: Seat, channel: Channel, tests: Tests, ground: Ground, label: Longs, clusters: Clusters, openings: Openings
) -> tuple[Longs, Clusters]:
    """Merges classes until all keep l, moves records within l, and merges until all keep k_insider."""
    study, privacy, parties = seat.study, seat.study.privacy, len(channel.parties)
    seat.pace.phase("repair", guarded.SWEEPS * parties)
    if privacy.l is not None:
        seat.book.learns(leaks.DIVERSITY if parties > 2 else leaks.DIVERSITY_OF_TWO, large=diverse.LARGE)
        watch = diverse.Watch.of(privacy.l, sensitive(study, seat.records))
        label, clusters = await diverse.merge_short(tests, ground, watch, label, clusters)
        if leaks.moves_within_l(study):
            seat.book.learns(leaks.SLACK, steps=", ".join(map(str, diverse.steps_of(watch.wanted))))
            work = (ground, seat.records.codes, label, clusters, watch, seat.pace, openings)
            label, clusters = await guarded.move_within_l(channel.at("within"), tests, *work)
    if privacy.k_insider is not None:
        seat.book.learns(leaks.MERGED, fewest=privacy.k_insider)
        label, clusters = await repair.merge_few(
            channel.at("insiders"), ground, label, clusters, privacy.k_insider
        )  # fmt: skip
    return label, clusters


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """What a trusted party would release: the same search in the clear. Of `exact`, with random choices of its own."""
    first = next(iter(tables.values()))
    mine = [first_counts(study, table) for table in tables.values()]
    parts = [np.sum(each, axis=0) for each in zip(*mine, strict=True)]
    leaves = parts[1 : 1 + len(first.trees)] if study.measure in _NEEDS_FREQUENCIES else None
    known = Known(int(parts[0][0]), leaves, parts[1 + len(leaves or ()) :])
    require_feasible(study, known)
    ground = lay_ground(study, first.trees, leaves)
    hands = {name: table.codes for name, table in tables.items()}
    if study.privacy.site_l is not None:
        ground = clear.pruned(ground, study, hands)
    if leaks.schedule_of(study) in ("guarded", "strict"):
        labels, clusters = clear.search(ground, hands, len(tables) == 2, leaks.schedule_of(study) == "strict")
    else:
        labels, clusters = clear.sequential(ground, hands, start=leaks.start_of(study))
    if study.privacy.l is not None:
        watches = {n: diverse.Watch.of(study.privacy.l, sensitive(study, table)) for n, table in tables.items()}
        labels, clusters = clear.diversified(ground, hands, labels, clusters, watches, leaks.moves_within_l(study))
    if study.privacy.k_insider is not None:
        labels, clusters = clear.without_few(ground, labels, clusters, study.privacy.k_insider)
    if study.privacy.site_l is not None:
        clusters = clear.raised_together(ground, study, hands, clusters)
    return in_the_clear(study, ground, tables, labels, clusters, leaves)


def in_the_clear(
    study: Study, ground: Ground, tables: Mapping[str, Table], labels: Mapping[str, Longs], clusters: Clusters,
    leaves: Sequence[Longs] | None,
) -> Result:  # fmt: skip
    """The release of everyone's labels."""
    shown = {name: release.Classes.of(clusters, label) for name, label in labels.items()}
    classes = next(iter(shown.values()))
    release.require_little_suppressed(study, ground, classes)
    cells: dict[str, list[str]] = {column.name: [] for column in rows.carried(study)}
    for table in tables.values():
        for name, texts in cells.items():
            values = table.values(name)
            texts += [values.labels[code] for code in values.codes.tolist()]
    number = np.concatenate([shown[name].label for name in tables])
    return release.result(study, ground, classes, release.figures(ground, classes, leaves), number, cells)


def _judge(study: Study) -> None:
    require_listed(study)
    if leaks.START.name in study.options and leaks.schedule_of(study) in ("guarded", "strict"):
        raise InputError("[protocol] start is for schedule = 'exact' or 'paper'; leave it out, or choose one of them")
    if leaks.schedule_of(study) == "paper" and len(study.parties) < 3:
        raise InputError("[protocol] schedule = 'paper': its rings need three parties or more; take 'exact'")
    if study.privacy.l is None:
        return
    if study.privacy.diversity != "frequency":
        raise InputError("protocol 'cluster' keeps l by frequency; leave out diversity, or anonymize centrally")
    for column in study.sensitive:
        if column.values is None:
            raise InputError(f"column {column.name!r}: list its values in the study, so that l can be kept jointly")


PROTOCOL = Protocol(
    name="cluster",
    about="one k-anonymous, l-diverse table from rows that sit with any number of parties, by local recoding",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 3",
    requirements=leaks.REQUIREMENTS,
    needs="two or more parties, each with rows; hierarchies that list their whole domains",
    guarantees="k, l by frequency, k_insider and site_l; nobody sees a record of another, nor a count or closure of "
    "fewer than k records",
    released_to="every party",
    phases=("sizes", "division", "regrouping", "moves", "repair", "release"),
    leakage=LEAKAGE,
    role=lambda study, party: holder,
    role_name=lambda study, party: "holder",
    receives=lambda study, party: True,
    foresee=plan.foresee,
    ideal=ideal,
    judge=_judge,
    script=script,
)
