"""Cluster releases what a trusted party would, keeps k, l and k_insider, and opens nothing of fewer than k records."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.harness import harness
from tests.harness.cluster_cases import CLUSTER_CASES, same_choices
from tests.harness.hospitals import ILLS, SITES, Person, draw_people, stream_of, study_of, trial_of
from tests.harness.parties import run_parties
from tests.harness.trial import Trial

from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.judge import verify
from covey.party.audit.script import strays
from covey.party.simulate.in_process import simulate
from covey.protocols import of_study
from covey.protocols.as_printed import cluster_rows as cluster
from covey.protocols.as_printed.cluster_rows import diversity, exact, paper, state
from covey.protocols.as_printed.cluster_rows.party import Disclosures, SearchParty, SecureBlocks
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.role import JointCounts
from covey.protocols.as_printed.cluster_rows.state import OwnRecords, State, read_state, write_state
from covey.protocols.protocol import SILENT
from covey.protocols.shared import rows
from covey.protocols.shared.agree import agree
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.wire import Channel, Vector

PAIR = ("east", "north")
FIVE = ("east", "mid", "north", "south", "west")


def drawn(seed: int, study: Study, least: int = 3, most: int = 14) -> Trial:
    names = [party.name for party in study.parties]
    return trial_of(study, draw_people(stream_of(seed, "test"), names, least, most))


def released(trial: Trial, seed: int = 0) -> bytes:
    """The release, which all parties have alike."""
    found = set(harness.answers(trial, harness.run(trial, seed=seed)).values())
    assert len(found) == 1
    answer = found.pop()
    assert isinstance(answer, bytes)
    return answer


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


STUDIES = {
    "three": study_of("cluster"),
    "two": study_of("cluster", PAIR, k=4),
    "five": study_of("cluster", FIVE, k=5),
    "l": study_of("cluster", privacy="l = 2"),
    "l of a fraction": study_of("cluster", FIVE, privacy="l = 1.5"),
    "l of two": study_of("cluster", PAIR, privacy="l = 2"),
    "ring": study_of("cluster", options='calls = "ring"'),
    "shuffled": study_of("cluster", note=True),
    "shuffled, sizes public": study_of("cluster", note=True, head='sizes = "public"'),
    "entropy": study_of("cluster", privacy='[utility]\nmeasure = "em"'),
}  # fmt: skip


@pytest.fixture
def same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    same_choices(monkeypatch)


@pytest.mark.few(5)
@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("name", STUDIES)
def test_the_release_is_what_a_trusted_party_would_publish(name: str) -> None:
    for seed in range(2):
        try:
            trial = drawn(seed, STUDIES[name])
        except Unmet:
            continue
        assert released(trial, seed) == trial.ideal["east"]


@pytest.mark.few(1)
@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("name", ["three", "l", "five"])
def test_an_independent_judge_finds_what_the_study_asks_for(name: str, tmp_path: object) -> None:
    trial = drawn(7, STUDIES[name], 8, 20)
    content = released(trial)
    table = pyarrow.csv.read_csv(
        io.BytesIO(content), convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=False)
    )
    table = table.cast(pyarrow.schema([(field.name, pyarrow.string()) for field in table.schema]))
    assert verify(table, trial.study).answer
    assert len(rows_of(content)) == sum(t.rows for t in trial.tables.values() if t is not None)


def test_the_same_seed_sends_the_same_bytes_and_another_does_not() -> None:
    trial = drawn(1, STUDIES["three"])
    digests = [[line.digest for line in harness.lines(harness.run(trial, seed=seed))] for seed in (1, 1, 2)]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_the_ledger_counts_clusters_of_one_record_that_everyone_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone is alike: lone records join others, and no turn leaves a cluster of one."""
    measured: list[PublicClusters] = []
    measure = exact.measure

    async def watched(party: SearchParty, label: np.ndarray, clusters: int) -> PublicClusters:
        found = await measure(party, label, clusters)
        measured.append(found)
        return found

    study = study_of("cluster", k=3)
    trial = trial_of(study, {name: [(1, "F", "flu")] for name in SITES})
    monkeypatch.setattr(exact, "measure", watched)  # not before: the ideal measures too
    ledger = simulate(study, {name: _frame(trial, name) for name in trial.names}, seed=3).ledger["north"]
    (said,) = [found for line in ledger if (found := re.search(r"and (\d+) times as a class of one record", line))]
    lone = sum(int((found.sizes == 1).sum()) for found in measured) // len(SITES)  # all three measure alike
    assert lone > 0
    assert int(said[1]) == lone * (len(SITES) - 1)


def test_a_turn_that_leaves_a_cluster_of_one_record_shows_it_to_all_but_its_owner() -> None:
    problem, _ = one_class(study_of("cluster"))
    roots = [tree.root for tree in problem.trees]
    boxes = problem.flat(np.array([roots, roots, roots], dtype=np.int32))
    before, after = PublicClusters(np.array([2, 2, 1]), boxes), PublicClusters(np.array([1, 3, 1]), boxes)
    codes = np.zeros((2, 1), dtype=np.int32)

    async def role(channel: Channel) -> int:
        party = SearchParty(SecureBlocks.over(channel), problem, codes, SILENT, Disclosures())
        if channel.me == "x":
            await party.joint.tell("x", write_state(problem, after), problem, 3)
        else:
            own = OwnRecords.of(problem, codes, np.array([1 if channel.me == "other" else 0]), 3)
            await exact.hear_state(party, own, before, "x")
        return party.disclosed.single

    ends = run_parties(dict.fromkeys(("other", "owner", "x"), role))
    assert (ends["other"].unwrap(), ends["owner"].unwrap()) == (1, 0)


def test_two_parties_are_told_plainly_what_they_learn_of_each_other() -> None:
    study = STUDIES["two"]
    trial = drawn(5, study, 10, 20)
    ledger = simulate(study, {name: _frame(trial, name) for name in trial.names}, seed=3).ledger["north"]
    assert any("how many records the other party has" in line for line in ledger)
    assert any("Every change in the other's turn is a move of the other's records" in line for line in ledger)


def _frame(trial: Trial, name: str) -> pa.Table:
    table = trial.tables[name]
    assert table is not None
    cells = {
        column.name: [tree.labels[code] for code in table.codes[place]]
        for place, (column, tree) in enumerate(zip(table.quasi, table.trees, strict=True))
    }
    for values in table.carried:
        cells[values.column.name] = [values.labels[code] for code in values.codes]
    cells["patient"] = [str(row) for row in range(table.rows)]
    return pa.table({column.name: cells[column.name] for column in trial.study.columns})


def test_fewer_than_k_records_in_all_end_the_run() -> None:
    with pytest.raises(Unmet, match="fewer than k = 30 records"):
        drawn(0, study_of("cluster", k=30), 2, 4)


def test_an_infeasible_l_names_the_largest_feasible_one() -> None:
    people: dict[str, list[Person]] = {name: [(age, "F", "flu") for age in range(3)] for name in SITES}
    people["east"].append((4, "M", "none"))
    with pytest.raises(Unmet, match=r"l = 2 cannot be kept: in column 'ill' all records together reach 1\.11"):
        trial_of(study_of("cluster", privacy="l = 2"), people)


def test_more_suppression_than_the_study_allows_ends_the_run_with_what_would_do() -> None:
    people: dict[str, list[Person]] = {
        "east": [(0, "F", "flu")],
        "north": [(15, "M", "flu")],
        "south": [(8, "F", "flu")],
    }
    with pytest.raises(Unmet, match=r"3 of 3 records would be suppressed, more than suppression = 0\.5"):
        trial_of(study_of("cluster", k=3, privacy="[utility]\nsuppression = 0.5"), people)


def without_values(study: Study) -> Study:
    return replace(study, columns=tuple(replace(each, values=None) for each in study.columns))


def without_weight(study: Study) -> Study:
    return replace(study, columns=tuple(replace(each, weight=0) for each in study.columns))


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (study_of("cluster", privacy='l = 2\ndiversity = "entropy"'), "l by frequency"),
        (study_of("cluster", PAIR, options='calls = "ring"'), "three parties or more"),
        (study_of("cluster", options='calls = "turn"\nalpha = "private"'), 'is for calls = "ring"'),
        (without_values(study_of("cluster", privacy="l = 2")), "list its values in the study"),
        (without_weight(study_of("cluster")), "every quasi column has weight = 0"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anyone_is_dialled(study: Study, says: str) -> None:
    with pytest.raises(InputError, match=says):
        of_study(study)


@pytest.mark.parametrize("many", [1 << 40, 2**64 - 50])
def test_joint_numbers_that_no_tables_have_end_the_run(many: int) -> None:
    study = STUDIES["three"]
    trial = drawn(1, study)

    async def role(channel: Channel) -> object:
        table = trial.tables[channel.me]
        assert table is not None
        if channel.me == "east":
            return await secure_sum.total(channel.at("meet"), np.array([many], dtype=np.uint64))
        return await JointCounts.add_up(SecureBlocks.over(channel).at("meet"), study, table)

    error = run_parties(dict.fromkeys(SITES, role))["north"].error
    assert isinstance(error, Aborted)
    assert "the joint numbers are impossible" in str(error)


def test_a_sensitive_value_that_occurs_less_than_never_ends_the_run() -> None:
    study = STUDIES["l"]
    trial = drawn(1, study)

    async def role(channel: Channel) -> object:
        table = trial.tables[channel.me]
        assert table is not None
        if channel.me == "east":
            lie = np.array([5, -99, 0, 0, 0, 0], dtype=np.int64)
            return await secure_sum.total(channel.at("meet"), lie.astype(np.uint64))
        return await JointCounts.add_up(SecureBlocks.over(channel).at("meet"), study, table)

    error = run_parties(dict.fromkeys(SITES, role))["north"].error
    assert isinstance(error, Aborted)
    assert "the joint numbers are impossible" in str(error)


def one_class(study: Study) -> tuple[ClusterProblem, PublicClusters]:
    problem = ClusterProblem.of(study, [column.tree() for column in study.quasi], None)
    roots = np.array([[tree.root for tree in problem.trees]], dtype=np.int32)
    return problem, PublicClusters(np.array([9]), problem.flat(roots))


def test_one_class_that_falls_short_of_l_cannot_be_mended() -> None:
    problem, clusters = one_class(study_of("cluster"))
    nobody = np.zeros((1, 0), dtype=np.int64)
    pairs = diversity.Pairs(np.array([0]), nobody, np.zeros((1, 0, 1), dtype=bool))
    with pytest.raises(Unmet, match="fall short of l"):
        diversity.merge(problem, clusters, np.ones((1, 1), dtype=bool), pairs, pairs.lacking)


@pytest.mark.parametrize(("number", "nodes"), [(9, [0, 0]), (0, [10**6, 0]), (0, [-2, 0]), (0, [0]), (0, [0, 0, 0])])
def test_a_search_in_a_cluster_or_below_a_node_that_is_none_is_refused(number: int, nodes: list[int]) -> None:
    problem, clusters = one_class(study_of("cluster"))
    codes, label = np.zeros((2, 3), dtype=np.int32), np.zeros(3, dtype=np.int64)

    async def role(channel: Channel) -> object:
        if channel.me == "east":
            ask = paper.Removal(done=False, cluster=number, nodes=np.array(nodes, dtype="<i4").tobytes())
            await channel.at("turn", "ask", 0).broadcast(ask)
            return None
        party = SearchParty(SecureBlocks.over(channel), problem, codes, SILENT, Disclosures())
        await paper._answer_all(party.at("turn"), label, clusters, "east")
        return None

    error = run_parties(dict.fromkeys(SITES, role))["north"].error
    assert isinstance(error, PeerError)
    assert error.party == "east"
    assert "does not exist" in str(error)


def test_a_party_whose_clusters_differ_is_named() -> None:
    async def role(channel: Channel) -> None:
        await agree(channel.at("agree"), bytes([channel.me == "b"]) * 32)

    error = run_parties(dict.fromkeys("abc", role))["a"].error
    assert isinstance(error, PeerError)
    assert error.party == "b"


def state_of(sizes: Sequence[int], nodes: Sequence[int]) -> State:
    return State(Vector(np.array(sizes, dtype=np.uint64)), np.array(nodes, dtype="<i4").tobytes())


def test_a_state_that_no_turn_could_leave_is_refused() -> None:
    study = study_of("cluster")
    problem = ClusterProblem.of(study, [column.tree() for column in study.quasi], None)
    roots = [tree.root for tree in problem.trees]
    before = PublicClusters(np.array([4, 5]), problem.flat(np.array([roots, roots], dtype=np.int32)))
    held = OwnRecords.of(problem, np.array([[1, 9], [0, 1]], dtype=np.int32), np.array([1, 1]), 2)
    said = read_state(write_state(problem, before), problem, before, held, "x", "turn")
    assert said.digest() == before.digest()
    for sizes, nodes, reason in (
        ((4, 5, 6), (*roots, *roots, *roots), "3 clusters"),
        ((4, 5), (*roots, *roots, *roots), "2 clusters of 6 nodes"),
        ((4, 5, 0), (*roots, *roots), "3 clusters of 4 nodes"),
        ((4, 6), (*roots, *roots), "another number of records"),
        ((4, 5), (*roots, roots[0], 99), "none of its hierarchy"),
        ((4, 5), (*roots, roots[0], -1), "none of its hierarchy"),
        ((4, 5), (*roots, 1, roots[1]), "leave out records of this party"),
    ):
        with pytest.raises(PeerError, match=reason):
            read_state(state_of(sizes, nodes), problem, before, held, "x", "turn")
    with pytest.raises(PeerError, match="another number of records"):  # where clusters may have any size, none below 0
        read_state(state_of((2**64 - 1, 10), (*roots, *roots)), problem, before, held, "x", "turn")
    with pytest.raises(PeerError, match="leave out records of this party"):
        read_state(state_of((8, 1), (*roots, *roots)), problem, before, held, "x", "turn")
    lift = np.where(
        np.arange(len(problem.forest.cost)) == 0, problem.forest.parent, np.arange(len(problem.forest.cost))
    )
    with pytest.raises(PeerError, match="site_l does not let"):
        hidden = state_of((4, 5), (0, roots[1], *roots))
        read_state(hidden, replace(problem, lift=lift.astype(np.int32)), before, held, "x", "turn")


@pytest.mark.few(1)
@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("options", ["", 'calls = "ring"'])
def test_many_clusters_are_said_in_several_messages(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = drawn(5, study_of("cluster", options=options), 10, 14)
    whole = harness.run(trial)
    monkeypatch.setattr(state, "STATE_BYTES", 3 * 16)  # three clusters of two columns
    parts = harness.run(trial)
    assert harness.answers(trial, parts) == harness.answers(trial, whole)
    assert harness.spent(parts).rounds == harness.spent(whole).rounds
    said = [[line.size for line in harness.lines(ends) if line.tag == "cluster.state"] for ends in (whole, parts)]
    assert len(said[1]) > len(said[0])
    assert max(said[1]) < max(said[0])


def test_a_row_that_is_none_is_refused() -> None:
    async def role(channel: Channel) -> None:
        for raw in (b"", b"\x00", b"\x92\x05\x90", b"\x92\x00\x91\xa1x"):
            with pytest.raises(PeerError, match="no row"):
                rows.read_row(channel.at("x"), raw, 5, 2)

    run_parties(dict.fromkeys("abc", role))["a"].unwrap()


@pytest.mark.usefixtures("same_draws")
def test_every_value_of_the_sensitive_column_survives() -> None:
    trial = drawn(9, STUDIES["three"], 10, 20)
    tables = [table for table in trial.tables.values() if table is not None]
    expected = Counter(
        values.labels[code] for table in tables for values in table.carried for code in values.codes.tolist()
    )
    assert Counter(row["ill"] for row in rows_of(released(trial))) == expected
    assert set(expected) <= set(ILLS)


def test_the_protocol_is_listed() -> None:
    assert of_study(STUDIES["three"]) is cluster.PROTOCOL


@pytest.mark.thorough
def test_every_message_is_declared_in_the_script_and_one_that_is_not_is_found() -> None:
    trials = [drawn(1, study, 8, 14) for name, study in STUDIES.items() if name in ("l", "two", "shuffled", "ring")]
    trials += [case.smallest() for case in CLUSTER_CASES]
    for trial in trials:
        said = harness.lines(harness.run(trial))
        assert strays(trial.study, trial.protocol, said, finished=True) == []
    shown = next(line for line in said if line.tag == "cluster.state")
    moved = [replace(line, step="cluster/elsewhere") if line is shown else line for line in said]
    odd = strays(trial.study, trial.protocol, moved, finished=True)
    assert any("declares no 'cluster.state' there" in sentence for sentence in odd)
