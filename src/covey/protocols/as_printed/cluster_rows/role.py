"""The role: every holder of rows searches with everyone, and publishes with everyone.

`form_classes` is the protocol as a whole, over any `Joint`: over a channel it is the role, and in the clear the ideal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from covey import measures
from covey.arrays import Ints, Longs
from covey.errors import Aborted, Unmet
from covey.protocols.as_printed.cluster_rows import (
    diversity,
    exact,
    leakage,
    paper,
    sites,
)
from covey.protocols.as_printed.cluster_rows.diversity import DiversityRule
from covey.protocols.as_printed.cluster_rows.parameters import Parameters
from covey.protocols.as_printed.cluster_rows.party import Disclosures, Joint, SearchParty, SecureBlocks
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.protocol import Figures, LedgerWriter, Result, RoleProgress, Seat
from covey.protocols.shared import insiders as insider
from covey.protocols.shared import publish, rows
from covey.protocols.shared.agree import agree
from covey.protocols.shared.diversity import feasible, fraction, require_diverse
from covey.protocols.shared.records import one_by_one
from covey.study import Study
from covey.table import Table, group

_MOST_RECORDS = 1 << 40


async def holder(seat: Seat) -> Result:
    """A holder of rows. Raises Unmet for what cannot be kept, Aborted or PeerError where somebody lied."""
    seat = replace(seat, table=one_by_one(seat.records))
    channel = seat.channel.at("cluster")
    classes = await form_classes(SecureBlocks.over(channel), seat.study, seat.records, seat.progress, seat.ledger)
    await agree(channel.at("agree"), classes.digest)
    seat.progress.phase("release")
    known = classes.figures(seat.study)
    trees = classes.problem.trees
    preview = publish.preview(seat.study, trees, classes.nodes, classes.sizes)
    opened = await rows.release(seat, classes.label, classes.sizes, known, preview)
    found = publish.result(seat.study, trees, classes.nodes, opened.klass, opened.cells, known)
    require_diverse(seat.study, found.figures)
    return found


@dataclass(frozen=True)
class Classes:
    """The classes to publish: boxes that differ, their sizes, and each own record's class."""

    problem: ClusterProblem
    digest: bytes
    """The hash of the clusters that the classes are made of."""
    sizes: Longs
    nodes: Ints
    label: Longs
    leaves: list[Longs] | None
    """The joint frequencies of each column's values, where the measure needs them."""
    insider_k: int | None = None

    @classmethod
    def of(
        cls, problem: ClusterProblem, clusters: PublicClusters, label: Longs, leaves: list[Longs] | None = None
    ) -> Classes:
        """Clusters with the same box are one class to the readers of the release."""
        number, first = group([*clusters.boxes.T], len(clusters))
        sizes = np.bincount(number, weights=clusters.sizes, minlength=len(first)).astype(np.int64)
        nodes = problem.local(clusters.boxes[first])
        return cls(problem, clusters.digest(), sizes, nodes, number[label], leaves)

    @property
    def own(self) -> Longs:
        """The number of own records in each class."""
        return np.bincount(self.label, minlength=len(self.sizes)).astype(np.int64)

    def figures(self, study: Study) -> Figures:
        """The figures of the release before it is opened. Raises Unmet where too much would be suppressed."""
        trees, em = self.problem.trees, None
        if self.leaves is not None:
            parts = enumerate(zip(trees, self.leaves, strict=True))
            lost = sum(float(measures.em(tree, own)[self.nodes[:, c]] @ self.sizes) for c, (tree, own) in parts)
            em = lost / (int(self.sizes.sum()) * len(trees))
        known = publish.figures(study, trees, self.nodes, self.sizes, em=em)
        return replace(known, insider_k=self.insider_k)


async def form_classes(
    joint: Joint, study: Study, table: Table, progress: RoleProgress, ledger: LedgerWriter
) -> Classes:
    """The classes of all parties' records; what each step teaches is written down before it."""
    parameters = Parameters.of(study)
    known, two = leakage.numbers(parameters), parameters.two
    progress.phase("sizes")
    ledger.learns(leakage.SETUP_OF_TWO if two else leakage.SETUP, **known)
    counts = await JointCounts.add_up(joint.at("meet"), study, table)
    problem = ClusterProblem.of(study, table.trees, counts.leaves)
    if parameters.site_l is not None:
        ledger.learns(leakage.SITES, **known)
        problem = await sites.prune(joint, study, problem, table.codes, parameters.site_l)

    ledger.learns(leakage.of_search(parameters), **known)
    party = SearchParty(joint, problem, table.codes, progress, Disclosures())
    label, clusters = await search(party, parameters, counts.records)
    if parameters.l is not None:
        progress.phase("repair")
        ledger.learns(leakage.DIVERSITY_OF_TWO if two else leakage.DIVERSITY, **known)
        rule = DiversityRule.of(parameters.l, sensitive(study, table))
        label, clusters = await diversity.merge_short(party.at("mend"), rule, label, clusters)

    await count_disclosures(party, ledger)
    if parameters.site_l is not None:
        clusters = await sites.raise_together(joint, study, problem, table.codes, clusters, parameters.site_l)
    classes = Classes.of(problem, clusters, label, counts.leaves)
    reached = await insider.learn(ledger, study, joint.at("insider").conjoin, classes.sizes, classes.own)
    return replace(classes, insider_k=reached)


async def search(party: SearchParty, parameters: Parameters, records: int) -> tuple[Longs, PublicClusters]:
    """Each own record's cluster, and the clusters."""
    sizes = exact.ClusterSizes(parameters.k0, parameters.k1)
    sweeps: exact.Sweeps = exact.FullSweeps()
    if parameters.calls == "ring" and isinstance(party.joint, SecureBlocks):
        sweeps = paper.RingSweeps(50, 150) if parameters.private else paper.RingSweeps()
    return await exact.search(party, records, exact.RandomChoices.drawn(party.joint.rng), sweeps, sizes)


async def count_disclosures(party: SearchParty, ledger: LedgerWriter) -> None:
    """Writes down how many closures were opened, and how often one was another's exact record."""
    disclosed = party.disclosed
    mine = np.array([disclosed.exact, disclosed.single])
    exactly, single = (int(each) for each in await party.joint.at("openings").total(mine))
    learned, numbers = leakage.opened_exactly(disclosed.closures, exactly, single)
    ledger.learns(learned, **numbers)


@dataclass(frozen=True)
class JointCounts:
    """The counts that are added up first: records and, where they are needed, frequencies of values."""

    records: int
    leaves: list[Longs] | None
    sensitive: list[Longs]

    @classmethod
    async def add_up(cls, joint: Joint, study: Study, table: Table) -> JointCounts:
        """Adds up what everyone must know. Raises Unmet where k or l cannot be kept by all records together."""
        entropy = Parameters.of(study).entropy
        mine = [np.array([table.rows])]
        if entropy:
            pairs = zip(table.codes, table.trees, strict=True)
            mine += [np.bincount(codes, minlength=tree.codes) for codes, tree in pairs]
        if study.privacy.l is not None:
            mine += [np.bincount(codes, minlength=values) for codes, values in sensitive(study, table)]
        total = await joint.total(np.concatenate(mine).astype(np.int64))
        (records,), *parts = np.split(total, np.cumsum([len(part) for part in mine])[:-1])
        if not 0 <= records < _MOST_RECORDS or (total < 0).any():
            raise Aborted("the joint numbers are impossible: a party did not keep to the protocol", resumable=False)
        columns = len(table.trees) if entropy else 0
        found = cls(int(records), parts[:columns] if entropy else None, parts[columns:])
        found.require_feasible(study)
        return found

    def require_feasible(self, study: Study) -> None:
        """Raises Unmet, with what would be feasible, if all records as one class do not keep k and l."""
        k, wanted = study.privacy.k, study.privacy.l
        if self.records < k:
            raise Unmet(f"the parties together have fewer than k = {k} records; nothing can be released")
        if wanted is None:
            return
        for column, counts in zip(study.sensitive, self.sensitive, strict=True):
            most = int(counts.max())
            if fraction(wanted) * most > self.records:
                raise Unmet(
                    f"l = {wanted:g} cannot be kept: in column {column.name!r} all records together reach "
                    f"{feasible(self.records, most):g}; lower l to that, or merge sensitive values"
                )


def sensitive(study: Study, table: Table) -> list[tuple[Longs, int]]:
    """Each sensitive column as codes of its listed domain, and the domain's size."""
    found = []
    for column in study.sensitive:
        own, values = table.values(column.name), rows.domain(column)
        place = {value: position for position, value in enumerate(values)}
        lookup = np.array([place.get(label, 0) for label in own.labels] or [0], dtype=np.int64)
        found.append((lookup[own.codes], len(values)))
    return found
