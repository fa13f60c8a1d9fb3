"""Paper 003's section 6.1, l-diversity: kept by every class, as our judge and pyCANON find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.harness import harness
from tests.harness.hospitals import SITES, Person, draw_people, stream_of, study_of, trial_of
from tests.harness.trial import Trial
from tests.papers.test_pycanon import Release, ask

from covey.arrays import Longs
from covey.errors import Aborted, Unmet
from covey.judge import verify
from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.party.simulate.in_process import simulate as simulate_here
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.protocols.as_printed.cluster_rows import diversity, exact, ideal
from covey.protocols.as_printed.cluster_rows.diversity import DiversityRule
from covey.protocols.as_printed.cluster_rows.ideal import TrustedParty
from covey.protocols.as_printed.cluster_rows.party import SearchParty
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.role import sensitive
from covey.study import Study
from covey.table import Table

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


def occupation_study(adult: Path, wanted: float, parties: int = 3, k: int = 10) -> Study:
    """Adult with occupation as the sensitive column."""
    lines = (adult / "occupation.csv").read_text(encoding="utf-8").splitlines()
    values = ", ".join(f'"{line.split(";")[0]}"' for line in lines)
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in QUASI)
    (adult / "joint.toml").write_text(
        '[study]\nname = "adult"\nprotocol = "cluster"\npartition = "horizontal"\n'
        f'[protocol]\nas_printed = true\ncalls = "turn"\n[privacy]\nk = {k}\nl = {wanted}\n{columns}'
        f'[columns.occupation]\nrole = "sensitive"\nvalues = [{values}]\n'
        + "".join(f"[parties.p{number}]\n" for number in range(parties))
    )
    return Study.load(adult / "joint.toml")


def hands_of(adult: Path, study: Study, rows: int | None = None) -> dict[str, pa.Table]:
    hands = deal(study, str(adult / "adult.csv"), seed=seed_of(1))
    return {name: hand.slice(0, None if rows is None else rows // len(hands)) for name, hand in hands.items()}


def judged(path: Path, study: Study, wanted: float) -> None:
    """Our judge and pyCANON find k, and no value in more than 1/l of a class."""
    verdict = verify(path, study)
    assert verdict.answer
    assert verdict.k >= study.privacy.k
    (theirs,) = ask([Release(path, study, {"occupation": "text"})])[0]
    assert theirs["k"] == verdict.k
    assert theirs["alpha"] <= 1 / wanted + 1e-9
    assert theirs["distinct"] >= wanted


@pytest.mark.thorough
@pytest.mark.parametrize("wanted", [3])
def test_our_judge_and_pycanon_find_l_in_a_part_of_adult(adult: Path, wanted: int) -> None:
    study = occupation_study(adult, wanted)
    released = simulate_here(study, hands_of(adult, study, 1500), seed=1)
    released.save(adult / "out")
    judged(adult / "out" / "release.csv", study, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [2, 3])
def test_our_judge_and_pycanon_find_l_in_the_whole_of_adult(adult: Path, wanted: int) -> None:
    study = occupation_study(adult, wanted)
    hands = write_hands(hands_of(adult, study), adult / "hands")
    simulate(study, hands, adult / "run", SimulationSetting(seed=seed_of(1)))
    judged(adult / "run" / "release.csv", study, wanted)


Found = tuple[Longs, PublicClusters]


def merged_plainly(problem: ClusterProblem, slack: Longs, clusters: PublicClusters) -> tuple[Longs, PublicClusters]:
    """Each class's place and the classes, merged by the joint slack itself: without tests, without public bounds."""
    place, bad = np.arange(len(clusters)), slack < 0
    while bad.any():
        pairs = diversity.pair_up(problem, clusters, bad)
        still = pairs.lacking & (slack[pairs.short][:, np.newaxis] + slack[pairs.near] < 0)
        soon = diversity.made_up(pairs, still)[:, : diversity.FIRST].any(axis=1)
        still[soon, diversity.FIRST :] = pairs.lacking[soon, diversity.FIRST :]  # not asked
        clusters, to, bad = diversity.merge(problem, clusters, bad, pairs, still)
        place, before = to[place], slack
        slack = np.zeros((len(clusters), slack.shape[1]), dtype=np.int64)
        np.add.at(slack, to, before)
    return place, clusters


def searched(problem: ClusterProblem, tables: dict[str, Table]) -> tuple[dict[str, Longs], PublicClusters]:
    """Each party's labels and the clusters, in the clear."""
    records = sum(table.rows for table in tables.values())

    async def part(trusted: TrustedParty) -> Found:
        party = ideal.party(trusted, problem, tables[trusted.me].codes)
        return await exact.search(party, records, exact.RandomChoices.drawn(trusted.rng), exact.FullSweeps())

    found = ideal.run(tables, part)
    return {name: label for name, (label, _) in found.items()}, next(iter(found.values()))[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("wanted", [2, 2.5])
def test_classes_merge_as_the_joint_slack_says(wanted: float) -> None:
    for seed in range(4):
        study = study_of("cluster", k=3, privacy=f"l = {wanted}")
        people = draw_people(stream_of(seed, "plainly"), SITES, 20, 30)
        tables = dict(_tables(trial_of(study_of("cluster", k=3), people)))
        problem = ClusterProblem.of(study, tables["east"].trees)
        labels, clusters = searched(problem, tables)
        rules = {name: DiversityRule.of(wanted, sensitive(study, table)) for name, table in tables.items()}
        counts = np.sum([rules[name].counts(labels[name], len(clusters)) for name in tables], axis=0)
        share = rules["east"].wanted
        slack = share.denominator * clusters.sizes[:, np.newaxis] - share.numerator * counts

        async def merge(
            trusted: TrustedParty, among: ClusterProblem = problem, before: PublicClusters = clusters
        ) -> Found:
            me = trusted.me
            party = ideal.party(trusted, among, tables[me].codes)  # noqa: B023 (run within this turn of the loop)
            return await diversity.merge_short(party, rules[me], labels[me], before)  # noqa: B023

        found = ideal.run(tables, merge)
        place, plainly = merged_plainly(problem, slack, clusters)
        assert (slack < 0).any()
        assert found["east"][1].digest() == plainly.digest()
        assert all(np.array_equal(label, place[labels[name]]) for name, (label, _) in found.items())


def test_an_infeasible_l_ends_a_run_and_names_the_largest_feasible_one() -> None:
    people: dict[str, list[Person]] = {name: [(age, "F", "flu") for age in range(3)] for name in SITES}
    people["east"].append((4, "M", "none"))
    feasible = trial_of(study_of("cluster", privacy="l = 1.1"), people)
    study = study_of("cluster", privacy="l = 1.2")
    frames = {name: pa.table({"patient": ["x"] * table.rows, **_columns(table)}) for name, table in _tables(feasible)}
    with pytest.raises(Unmet, match=r"l = 1\.2 cannot be kept: .* reach 1\.11; lower l to that"):
        simulate_here(study, frames, seed=1)
    release = simulate_here(study_of("cluster", privacy="l = 1.1"), frames, seed=1)
    assert (release.figures.l_reached or 0) >= 1.1


def _tables(trial: Trial) -> list[tuple[str, Table]]:
    return [(name, table) for name, table in trial.tables.items() if table is not None]


def _columns(table: Table) -> dict[str, list[str]]:
    cells = {
        column.name: [tree.labels[code] for code in table.codes[place]]
        for place, (column, tree) in enumerate(zip(table.quasi, table.trees, strict=True))
    }
    return cells | {each.column.name: [each.labels[code] for code in each.codes] for each in table.carried}


def test_classes_that_do_not_keep_l_are_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parties that do not merge what falls short: it shows when the classes are opened, and everyone stops."""
    study = study_of("cluster", k=4, privacy="l = 2")
    trial = trial_of(study, draw_people(stream_of(4, "within l"), SITES, 30, 40))

    async def lazy(
        party: SearchParty, rule: DiversityRule, label: Longs, clusters: PublicClusters
    ) -> tuple[Longs, PublicClusters]:
        return label, clusters

    monkeypatch.setattr(diversity, "merge_short", lazy)
    ends = harness.run(trial)
    assert all(isinstance(end.error, Aborted) and end.finished is None for end in ends.values())
    assert any("do not keep l = 2" in str(end.error) for end in ends.values())
