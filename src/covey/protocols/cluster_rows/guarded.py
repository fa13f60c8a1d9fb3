"""The default schedule: divide the table by joint counts, then move single records; nothing of fewer than k is opened.

Every cluster has k records or more from the first to the last step, so that no opened size, count or closure is of
fewer. A record leaves only a cluster of more than k, and the closure without it is asked for only there.

Turns     one party asks what its clusters would be without some of its records, moves records, and tells the clusters.
          Only what a removal would leave is opened, to the party whose turn it is, in messages of fixed shape: two
          slots for each cluster and column, filled up with questions whose answer is known.
Strict    the first division alone, whose opened sets are nested: any two of them are apart, or one contains the other
          and k records or more besides, or they are equal. So no sum or difference of opened numbers is of fewer than
          k records; regrouping and moves, which open overlapping ones, are left out. On Adult it loses a quarter more
          at k = 10, a sixth at 50.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.diversity import DiversityRule, deal_slack, steps_of
from covey.protocols.cluster_rows.divide import close_jointly, divide
from covey.protocols.cluster_rows.party import SearchParty
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.cluster_rows.regroup import keep_better, put_together
from covey.protocols.cluster_rows.state import OwnRecords, read_state, write_state
from covey.protocols.cluster_rows.sweep import NO_LIMIT, SLOTS, Critical, Rules, Slack, find_critical, sweep_guarded

REGROUPINGS = 6
SWEEPS = 6
GAIN = 1000  # sweeps end when one lowers the loss by less than one part in this many
WORK = 1_000_000_000  # records times clusters that a party looks at in a turn


async def search(party: SearchParty, records: int, *, strict: bool = False) -> tuple[Longs, PublicClusters]:
    """Each own record's cluster, and the clusters. If `strict`, after the first division alone, by nested counts."""
    problem, progress = party.problem, party.progress
    progress.phase("division")
    label = np.zeros(party.rows, dtype=np.int64)
    clusters = PublicClusters(np.array([records]), problem.flat(problem.roots[np.newaxis]))
    clusters = await close_jointly(party.at("close"), label, clusters, np.ones(1, dtype=bool))
    label, clusters, _ = await divide(party.at("divide"), label, clusters, nested=strict)
    if strict:
        return label, clusters
    progress.phase("regrouping", REGROUPINGS)
    for number in range(REGROUPINGS):
        known = clusters.digest()
        with party.within("regroup", number) as at:
            label, clusters = await _divide_anew(at, label, clusters)
        if clusters.digest() == known:
            break
        progress.reach(number + 1)
    progress.phase("moves", SWEEPS * len(party.joint.parties))
    return await move_records(party, label, clusters, NO_LIMIT)


async def _divide_anew(party: SearchParty, label: Longs, clusters: PublicClusters) -> tuple[Longs, PublicClusters]:
    """Puts neighbours together, divides them anew, and keeps of each group the better division."""
    groups = put_together(party.problem, clusters)
    after, new, origin = await divide(party, groups.number[label], groups.clusters, favoured=True)
    kept = keep_better(party.problem, groups, clusters, new, origin)
    return kept.label(groups, label, after), kept.clusters


async def move_within_l(
    party: SearchParty, label: Longs, clusters: PublicClusters, rule: DiversityRule
) -> tuple[Longs, PublicClusters]:  # fmt: skip
    """Moves records where every cluster keeps l: how much slack each has is learned once, and dealt out in units."""
    mine, parties = rule.slack(label, len(clusters)), party.joint.parties
    levels = (await party.joint.tests.levels(mine.ravel(), steps_of(rule.wanted))).reshape(mine.shape)
    own = deal_slack(levels, len(parties), parties.index(party.joint.me))
    return await move_records(party, label, clusters, Slack(rule.places, own, rule.leaving, rule.joining))


async def move_records(
    party: SearchParty, label: Longs, clusters: PublicClusters, slack: Slack
) -> tuple[Longs, PublicClusters]:
    """Each own record's cluster, and the clusters, after sweeps of everyone's turns until one gains little."""
    problem, parties = party.problem, party.joint.parties
    label, clusters, order = _in_order(problem, label, clusters)
    slack = slack if not slack.places.shape[1] else slack._replace(left=slack.left[order])
    rules, last = rules_for(problem, party.rows, len(clusters)), LastTurn()
    for sweep in range(SWEEPS):
        before = problem.total_cost(clusters)
        for place, mover in enumerate(parties):
            with party.within("sweep", sweep, "turn", place) as at:
                clusters = await take_turn(at, label, clusters, mover, rules, slack, last)
            party.progress.reach(sweep * len(parties) + place + 1)
        with party.within("sweep", sweep, "close") as at:
            clusters = await close_jointly(at, label, clusters, np.ones(len(clusters), dtype=bool))
        if before - problem.total_cost(clusters) < max(1, before // GAIN):
            break
    return label, clusters


def rules_for(problem: ClusterProblem, records: int, clusters: int) -> Rules:
    """Moves keep k; a party with very many records looks at the clusters that lie nearest only."""
    window = clusters if records * clusters <= WORK else max(32, WORK // (2 * records))
    return Rules(problem.k, window, problem.monotone)


def _in_order(problem: ClusterProblem, label: Longs, clusters: PublicClusters) -> tuple[Longs, PublicClusters, Longs]:
    """The clusters in the order of their boxes, so that those that lie close have close numbers; and that order."""
    order = np.lexsort(problem.forest.first[clusters.boxes].T[::-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[label], PublicClusters(clusters.sizes[order], clusters.boxes[order]), order


@dataclass
class LastTurn:
    """A party's last turn: the clusters as it left them, and which ones it had touched."""

    left: PublicClusters | None = None
    touched: Bits = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def changed(self, clusters: PublicClusters) -> Bits:
        """The clusters that have changed since the own records were last examined."""
        if self.left is None:
            return np.ones(len(clusters), dtype=bool)
        same = (clusters.sizes == self.left.sizes) & (clusters.boxes == self.left.boxes).all(axis=1)
        return np.asarray(self.touched | ~same)


async def take_turn(
    party: SearchParty, label: Longs, clusters: PublicClusters, mover: str, rules: Rules, slack: Slack, last: LastTurn
) -> PublicClusters:
    """The clusters after the mover's turn; its own label array is changed in place.

    A removal is asked about only where more records are left than the rules keep. The mover spends its slack.
    """
    problem, joint, forest = party.problem, party.joint, party.problem.forest
    asked = np.flatnonzero(clusters.sizes > rules.keep)
    bounds = np.concatenate([problem.local(clusters.boxes[asked])] * SLOTS)
    if joint.me == mover:
        critical = find_critical(forest, problem.children, party.codes, label, len(clusters))
        mine = _questions(problem, critical, asked, clusters)
    else:
        own = OwnRecords.of(problem, party.codes, label, len(clusters))
        mine = np.concatenate([problem.local(own.boxes[asked])] * SLOTS)
    party.disclosed.closures += len(bounds)
    party.disclosed.open_groups(clusters.sizes[asked] - 1)
    found = await joint.ancestors_for(mover, "remove", problem.trees, mine, bounds, clusters.digest())
    if found is None:
        said = await joint.tell(mover, None, problem, len(clusters))
        return read_state(said, problem, clusters, own, mover, f"{joint.step}/state", rules.keep)
    answers = np.full((SLOTS, *clusters.boxes.shape), NOTHING, dtype=np.int32)
    answers[:, asked] = problem.flat(found).reshape(SLOTS, len(asked), problem.columns)
    sizes, boxes, changed = clusters.sizes.copy(), clusters.boxes.copy(), last.changed(clusters)
    last.touched = sweep_guarded(
        forest, party.codes, label, sizes, boxes, critical.record, answers, rules, slack, changed
    )  # fmt: skip
    last.left = PublicClusters(sizes, boxes)
    await joint.tell(mover, write_state(problem, last.left), problem, len(clusters))
    return last.left


def _questions(problem: ClusterProblem, critical: Critical, asked: Longs, clusters: PublicClusters) -> Ints:
    """The mover's nodes in each slot: what is left of its own without a critical record; else the box itself.

    A question whose own node is the box itself is answered with the box: it teaches nothing.
    """
    left = np.where(critical.record >= 0, problem.clamped(critical.left), clusters.boxes)[:, asked]
    return problem.local(left.reshape(-1, problem.columns))
