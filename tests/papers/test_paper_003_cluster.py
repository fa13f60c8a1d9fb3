"""Paper 003's Algorithm 3: one exchange a turn finds, label for label, what the centralized algorithm finds.

The centralized algorithm is run on everyone's records with the random choices that the parties made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.hospitals import draw_people, stream_of, study_of, trial_of
from tests.harness.parties import run_parties
from tests.harness.tiers import few_first

from covey.anonymizers.clusters import agglomerate, clusters_of
from covey.anonymizers.sequential import first_number
from covey.anonymizers.sweeping import sweep
from covey.arrays import Longs
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.party.session.data import load_table
from covey.party.session.handshake import commit, session_digest
from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.protocols.as_printed.cluster_rows import exact, ideal, paper
from covey.protocols.as_printed.cluster_rows.exact import USUAL, ClusterSizes, RandomChoices
from covey.protocols.as_printed.cluster_rows.ideal import TrustedParty
from covey.protocols.as_printed.cluster_rows.party import Disclosures, SearchParty, SecureBlocks
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.role import Classes
from covey.protocols.protocol import SILENT
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import Channel


@dataclass
class Noted:
    """A party's random choices, written down as they are made."""

    start: Longs = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    leaving: dict[int, Longs] = field(default_factory=dict)

    def choices(self, channel: Channel) -> RandomChoices:
        drawn = RandomChoices.drawn(channel.rng)

        def start(records: int, clusters: int) -> Longs:
            self.start = drawn.start(records, clusters)
            return self.start.copy()

        def split(number: int, label: Longs, large: Longs, clusters: int) -> Longs:
            after = drawn.split(number, label, large, clusters)
            self.leaving[number] = np.flatnonzero(after != label)
            return after

        return RandomChoices(start, split)


@dataclass(frozen=True)
class Found:
    """What the parties ended with, and what they chose on the way."""

    labels: dict[str, Longs]
    clusters: PublicClusters
    noted: dict[str, Noted]
    exactly: int


def run_exact(problem: ClusterProblem, tables: Mapping[str, Table], sizes: ClusterSizes = USUAL) -> Found:
    noted = {name: Noted() for name in tables}
    disclosed = {name: Disclosures() for name in tables}
    records = sum(table.rows for table in tables.values())

    async def role(channel: Channel) -> tuple[Longs, PublicClusters]:
        me = channel.me
        choices = noted[me].choices(channel)
        party = SearchParty(SecureBlocks.over(channel), problem, tables[me].codes, SILENT, disclosed[me])
        return await exact.search(party, records, choices, exact.FullSweeps(), sizes)

    ends = {name: end.unwrap() for name, end in run_parties(dict.fromkeys(tables, role)).items()}
    first = next(iter(ends.values()))[1]
    assert all(state.digest() == first.digest() for _, state in ends.values())
    labels = {name: label for name, (label, _) in ends.items()}
    return Found(labels, first, noted, sum(each.exact for each in disclosed.values()))


def centralized(
    problem: ClusterProblem, tables: Mapping[str, Table], noted: Mapping[str, Noted], k1: float = 1.5
) -> Longs:
    """The pooled records' labels by the centralized algorithm's own steps."""
    names = sorted(tables)
    codes = np.ascontiguousarray(np.concatenate([tables[name].codes for name in names], axis=1))
    before = dict(zip(names, np.cumsum([0, *(tables[name].rows for name in names)]), strict=False))
    limits, nothing = problem.limits, np.zeros((codes.shape[1], 0), dtype=np.int64)
    label = np.concatenate([noted[name].start for name in names])
    state = clusters_of(problem.forest, limits, codes, nothing, label)
    for number in range(exact.SWEEPS):
        moved = sweep(state, problem.forest, limits, 0, codes.shape[1])
        large = np.flatnonzero(state.size > k1 * limits.k)
        if len(large):
            after = state.label.copy()
            for name in names:
                leaving = before[name] + noted[name].leaving[number]
                assert np.isin(state.label[leaving], large).all()
                after[leaving] = len(state.size) + np.searchsorted(large, state.label[leaving])
            state = clusters_of(problem.forest, limits, codes, nothing, after)
        if not moved and not len(large):
            break
    agglomerate(state, problem.forest, limits.k)
    numbers: Longs = np.unique(state.label, return_inverse=True)[1].astype(np.int64)
    return numbers


def compare(problem: ClusterProblem, tables: Mapping[str, Table], sizes: ClusterSizes = USUAL) -> Found:
    found = run_exact(problem, tables, sizes)
    together = np.concatenate([found.labels[name] for name in sorted(tables)])
    assert np.array_equal(together, centralized(problem, tables, found.noted, sizes.k1))
    assert found.clusters.sizes.min() >= problem.k
    return found


def test_other_sizes_of_first_and_large_clusters_give_the_centralized_labels_too() -> None:
    study = study_of("cluster", tuple("abc"), k=4)
    trial = trial_of(study, draw_people(stream_of(7, "sizes"), "abc", 20, 30))
    tables = {name: table for name, table in trial.tables.items() if table is not None}
    problem = ClusterProblem.of(study, tables["a"].trees, None)
    found = compare(problem, tables, ClusterSizes(k0=1.0, k1=3.0))
    assert found.clusters.sizes.max() > 6 >= compare(problem, tables).clusters.sizes.max()


@pytest.mark.parametrize("names", few_first(["abc", "ab", "abcde"]))
def test_one_exchange_a_turn_gives_the_labels_of_the_centralized_algorithm(names: str) -> None:
    for seed in range(4):
        study = study_of("cluster", tuple(names), k=4)
        trial = trial_of(study, draw_people(stream_of(seed, "paper"), names, 1 if len(names) > 2 else 10, 40))
        tables = {name: table for name, table in trial.tables.items() if table is not None}
        compare(ClusterProblem.of(study, tables[names[0]].trees, None), tables)


def adult_hands(adult: Path, study: Study, rows: int | None) -> dict[str, pa.Table]:
    hands = deal(study, str(adult / "adult.csv"), seed=seed_of(1))
    return {name: hand.slice(0, None if rows is None else rows // len(hands)) for name, hand in hands.items()}


def adult_tables(
    adult: Path, parties: int, k: int, rows: int | None, calls: str = "turn"
) -> tuple[Study, dict[str, Table]]:
    text = (adult / "study.toml").read_text().replace("k = 10", f"k = {k}")
    text = text.replace('name = "adult"', 'name = "adult"\nprotocol = "cluster"\npartition = "horizontal"')
    text += 'values = ["<=50K", ">50K"]\n'
    text += f'[protocol]\nas_printed = true\ncalls = "{calls}"\n' + "".join(
        f"[parties.p{number}]\n" for number in range(parties)
    )
    (adult / "joint.toml").write_text(text)
    study = Study.load(adult / "joint.toml")
    tables = {}
    for name, hand in adult_hands(adult, study, rows).items():
        table = load_table(study, name, hand)
        assert table is not None
        tables[name] = table
    return study, tables


@pytest.mark.thorough
@pytest.mark.parametrize("parties", [3])
def test_a_part_of_adult_gets_the_labels_of_the_centralized_algorithm(adult: Path, parties: int) -> None:
    study, tables = adult_tables(adult, parties, 10, 900)
    found = compare(ClusterProblem.of(study, tables["p0"].trees, None), tables)
    assert found.exactly > 0  # the exact schedule shows exact records, and counts them


def replay(
    problem: ClusterProblem, tables: Mapping[str, Table], choices: Mapping[str, RandomChoices]
) -> dict[str, Longs]:
    """Each party's labels by the centralized algorithm's own steps, with choices that are drawn as they are needed."""
    names = sorted(tables)
    codes = np.ascontiguousarray(np.concatenate([tables[name].codes for name in names], axis=1))
    ends = np.cumsum([tables[name].rows for name in names])[:-1]
    limits, nothing = problem.limits, np.zeros((codes.shape[1], 0), dtype=np.int64)
    number = first_number(codes.shape[1], problem.k)
    label = np.concatenate([choices[name].start(tables[name].rows, number) for name in names])
    state = clusters_of(problem.forest, limits, codes, nothing, label)
    for turn in range(exact.SWEEPS):
        moved = sweep(state, problem.forest, limits, 0, codes.shape[1])
        alive = np.flatnonzero(state.size > 0)
        place = np.searchsorted(alive, state.label)
        large = np.flatnonzero(2 * state.size[alive] > 3 * limits.k)
        if len(large):
            parts = zip(names, np.split(place, ends), strict=True)
            after = np.concatenate([choices[name].split(turn, part, large, len(alive)) for name, part in parts])
            state = clusters_of(problem.forest, limits, codes, nothing, after)
        if not moved and not len(large):
            break
    agglomerate(state, problem.forest, limits.k)
    label = np.unique(state.label, return_inverse=True)[1].astype(np.int64)
    return dict(zip(names, np.split(label, ends), strict=True))


def choices_of(study: Study, seed: Secret) -> dict[str, RandomChoices]:
    """What each party of a simulation with this seed draws: from its own seed and everyone's nonces."""
    seeds = {party.name: derive(seed, "party", party.name) for party in study.parties}
    digest = session_digest(
        study.study_hash,
        {name: commit(own) for name, own in seeds.items()},
        {name: derive(own, "nonce").reveal() for name, own in seeds.items()},
    )
    rngs = {name: Rng(derive(own, "session", digest)).child("step", "cluster") for name, own in seeds.items()}
    return {name: RandomChoices.drawn(rng) for name, rng in rngs.items()}


def equals_the_centralized_release(adult: Path, parties: int, k: int, rows: int | None) -> None:
    """Processes over TLS write, byte for byte, what the centralized algorithm's labels make of the pooled records."""
    study, tables = adult_tables(adult, parties, k, rows)
    problem = ClusterProblem.of(study, tables["p0"].trees, None)
    hands = write_hands(adult_hands(adult, study, rows), adult / "hands")
    simulate(study, hands, adult / "run", SimulationSetting(seed=seed_of(7)))
    labels = replay(problem, tables, choices_of(study, seed_of(7)))
    sizes = np.bincount(np.concatenate(list(labels.values()))).astype(np.int64)
    wide = PublicClusters(sizes, problem.flat(np.tile(problem.roots, (len(sizes), 1))))

    async def close(trusted: TrustedParty) -> Classes:
        me = trusted.me
        party = ideal.party(trusted, problem, tables[me].codes)
        clusters = await exact.close_jointly(party, labels[me], wide, np.ones(len(sizes), dtype=bool))
        return Classes.of(problem, clusters, labels[me])

    due = ideal.released(study, tables, ideal.run(tables, close)).release
    assert due is not None
    assert (adult / "run" / "release.csv").read_bytes() == canonical_csv(arrange(due))


@pytest.mark.slow
def test_processes_over_tls_release_what_the_centralized_labels_make_of_a_part_of_adult(adult: Path) -> None:
    equals_the_centralized_release(adult, 3, 10, 600)


@pytest.mark.slow
@pytest.mark.parametrize(("parties", "k"), [(3, 10), (3, 50), (5, 10), (5, 50), (10, 10), (10, 50)])
def test_processes_over_tls_release_what_the_centralized_labels_make_of_adult(
    adult: Path, parties: int, k: int
) -> None:
    equals_the_centralized_release(adult, parties, k, None)


def test_the_papers_rings_give_the_labels_of_the_exact_schedule_in_many_more_rounds() -> None:
    study = study_of("cluster", tuple("abc"), k=4)
    trial = trial_of(study, draw_people(stream_of(2, "rings"), "abc", 8, 12))
    tables = {name: table for name, table in trial.tables.items() if table is not None}
    problem = ClusterProblem.of(study, tables["a"].trees, None)
    records = sum(table.rows for table in tables.values())
    disclosed = {name: Disclosures() for name in tables}

    async def by_rings(channel: Channel) -> Longs:
        me = channel.me
        party = SearchParty(SecureBlocks.over(channel), problem, tables[me].codes, SILENT, disclosed[me])
        choices = RandomChoices.drawn(channel.rng)
        return (await exact.search(party, records, choices, paper.RingSweeps(100, 100)))[0]

    ends = run_parties(dict.fromkeys("abc", by_rings))
    once = run_exact(problem, tables)
    for name, end in ends.items():
        assert np.array_equal(end.unwrap(), once.labels[name])
    calls = disclosed["a"].calls
    assert calls > 20
    assert ends["a"].tally.rounds > 5 * calls  # 2m - 1 hops and more for each
