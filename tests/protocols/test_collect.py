"""`collect`: its grid, its positions and classes, diversity, private retrieval, and what it loses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.collect_cases import HUB, Person, names_of, study_of, trial_of
from tests.harness.harness import answers, run, spent
from tests.harness.leaks import Tape
from tests.harness.parties import SESSION, Role, run_parties
from tests.harness.tiny_keys import TINY
from tests.harness.trial import Trial
from tests.protocols.collectors import Seen, anyone, drawn_positions, finished, ranks, seen

from covey import samples
from covey.crypto.gentry_ramzan import Chunks
from covey.errors import InputError, PeerError, Unmet
from covey.hierarchy import Hierarchy
from covey.judge import verify
from covey.measures import lm
from covey.option import Value
from covey.party.simulate.letters import load_rows
from covey.party.simulate.respondents import simulate
from covey.protocols.as_printed.collect import attack, committee, fetch, ideal, keys
from covey.protocols.as_printed.collect import parameters as parameters_module
from covey.protocols.as_printed.collect.bounds import Search
from covey.protocols.as_printed.collect.cost import foresee
from covey.protocols.as_printed.collect.grid import Grid, choose_levels
from covey.protocols.as_printed.collect.line import boxes, cut_line, merge
from covey.protocols.as_printed.collect.parameters import Parameters, trees_of
from covey.protocols.as_printed.collect.release import expect
from covey.secure import approval
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.wire import Channel, frame
from covey.wire.message import tag_of

__all__ = ["seen"]


def survey() -> Study:
    return Study.load(samples.path("survey") / "study.toml")


# -- the grid


def test_each_column_enters_the_survey_at_the_finest_level_that_keeps_the_product() -> None:
    study = survey()
    grid = Parameters.of(study).grid
    assert grid.cells <= 1 << 14
    sides = [[len(np.unique(row)) for row in tree.up] for tree in trees_of(study)]
    for column, level in enumerate(grid.levels):
        if level:
            finer = grid.cells // sides[column][level] * sides[column][level - 1]
            assert finer > 1 << 14, f"column {column} could have been finer"


def test_a_column_says_nothing_only_when_there_is_no_other_way() -> None:
    assert choose_levels([[100, 10, 1], [100, 1]], 1000) == [1, 0]
    assert choose_levels([[100, 10, 1], [100, 1]], 100) in ([2, 0], [0, 1])
    with pytest.raises(InputError, match="coarsest"):
        choose_levels([[10, 5], [10, 5]], 20)


def test_every_cell_has_a_rank_of_its_own_and_where_sides_are_equal_the_next_cell_is_a_neighbour() -> None:
    uneven = Grid.of(trees_of(study_of(3, protocol="grid = 64")), 64)
    assert sorted(uneven.ranks.ravel().tolist()) == list(range(uneven.cells))
    grid = Grid.of([trees_of(study_of(3))[0]] * 2, 64)
    assert grid.sides == (8, 8)
    along = np.unravel_index(np.argsort(grid.ranks.ravel()), grid.sides)
    for one, other in pairwise(np.stack(along, axis=1).tolist()):
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1


def test_records_below_one_node_of_the_grid_share_a_cell() -> None:
    study = study_of(3, protocol="grid = 16")
    grid = Parameters.of(study).grid
    codes = np.array([[0, 3, 4, 0], [0, 0, 0, 1]], dtype=np.int32)
    assert grid.sides == (8, 2)
    first, second, third, fourth = grid.rank(codes).tolist()
    assert first == second and len({first, third, fourth}) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("rho = [5, 5]", "rho"),
        ("rho = [300, 0]", "rho"),
        ("rho = [0, 1, 2]", "rho"),
        ("b = -1", "b must"),
        ('grid = "fine"', "grid"),
        ("grid = 1", "grid"),
        ("jitter = true", "low of 1"),
        ("jitter = 1", "jitter"),
        ("committee = 0", "committee"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_what_to_write(options: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Parameters.of(study_of(4, protocol=options))


def test_a_study_that_cannot_be_counted_unseen_is_refused() -> None:
    with pytest.raises(InputError, match='take diversity = "frequency" with the same l'):
        Parameters.of(study_of(4, privacy='l = 2\ndiversity = "entropy"'))


# -- real runs


@pytest.mark.thorough
def test_real_equals_what_follows_from_the_positions_that_were_opened(seen: Seen) -> None:
    for seed in range(4):
        study = study_of(11)
        trial = trial_of(study, anyone(seed, 11))
        got = answers(trial, finished(trial, seed))[HUB]
        pooled = [table for _, table in sorted(trial.tables.items()) if table is not None]
        due = ideal.release(study, pooled, seen.last).release
        assert due is not None
        assert got == canonical_csv(arrange(due))


@pytest.mark.thorough
def test_positions_keep_the_order_of_cells_and_ties(seen: Seen) -> None:
    study = study_of(12)
    trial = trial_of(study, anyone(7, 12))
    finished(trial)
    cells = ranks(study, trial, names_of(12))
    for one in range(12):
        for other in range(12):
            if cells[one] == cells[other]:
                assert seen.last[one] == seen.last[other]
            elif cells[one] < cells[other]:
                assert seen.last[one] <= seen.last[other]
    parameters = Parameters.of(study)
    assert seen.last.min() >= 0 and seen.last.max() <= parameters.largest_image


@pytest.mark.thorough
def test_jitter_hides_ties_and_keeps_the_order(seen: Seen) -> None:
    study = study_of(10, protocol="grid = 16\ncommittee = 3\nrho = [50, 250]\njitter = true")
    people = [(1, "F", "good")] * 5 + [(5, "F", "bad")] * 5
    trial = trial_of(study, people)
    finished(trial)
    cells = ranks(study, trial, names_of(10))
    first, second = (seen.last[cells == own] for own in sorted(set(cells.tolist())))
    assert len(set(first.tolist())) > 1 and first.max() - first.min() < 100
    assert first.max() < second.min()


@pytest.mark.thorough
def test_rounds_messages_and_bytes_are_about_what_the_plan_says() -> None:
    study = study_of(12, protocol="grid = 64\ncommittee = 3")
    trial = trial_of(study, anyone(3, 12))
    real, planned = spent(finished(trial)), foresee(study, dict.fromkeys(names_of(12), 1))
    votes, voted = approval.COST.messages(13), approval.COST.bytes(13)  # in a mesh everyone tells everyone
    assert real.rounds == pytest.approx(planned.rounds, rel=0.25)
    assert real.messages - votes == pytest.approx(planned.messages, rel=0.2)
    assert real.bytes - voted == pytest.approx(planned.bytes, rel=0.2)


def test_who_names_the_session_does_not_name_the_trustees() -> None:
    """In one and the same session, trustees and the retrieval's matrix follow from what respondents bring."""

    parameters = Parameters.of(study_of(9))

    async def collect(channel: Channel) -> keys.Enrolment:
        return await keys.enrol(channel, parameters)

    async def respond(channel: Channel) -> keys.Membership:
        return await keys.join(channel, parameters, HUB)

    roles: dict[str, Role[keys.Enrolment | keys.Membership]] = {HUB: collect, **dict.fromkeys(names_of(9), respond)}
    drawn = {}
    for seed in range(3):
        ends = run_parties(roles, seed=seed)
        made = ends.pop(HUB).unwrap()
        assert isinstance(made, keys.Enrolment)
        assert made.trustees == keys.chosen(keys.lot_of(SESSION, made.letters), names_of(9), 3)[0]
        assert {end.unwrap().lot for end in ends.values()} == {made.lot}
        drawn[made.trustees] = fetch.seed_of(made.lot)
    assert len(drawn) == len(set(drawn.values())) == 3


def test_fewer_respondents_than_k_get_nothing_released() -> None:
    study = study_of(3, k=4)
    assert foresee(study, dict.fromkeys(names_of(3), 1)).mind[0].startswith("fewer than k")
    ends = run(without_ideal(study, anyone(1, 3)))
    assert isinstance(ends[HUB].error, Unmet) and "fewer than k" in str(ends[HUB].error)
    assert all(end.finished is None for end in ends.values())


# -- diversity


def test_a_class_whose_members_answer_alike_joins_a_neighbour_and_nothing_else_changes() -> None:
    people = [(1, "F", "good")] * 3 + [(30, "M", "good"), (29, "M", "bad"), (29, "M", "fair")]
    study = study_of(6, privacy="l = 1.4")
    trial = trial_of(study, people)
    ends = finished(trial)
    assert answers(trial, ends) == trial.ideal
    end = ends[HUB].finished
    assert end is not None and end.figures is not None
    assert end.figures.classes == 1 and (end.figures.l_reached or 0) >= 1.4


def test_an_l_that_is_no_small_fraction_is_kept_as_it_is_written() -> None:
    """By 4/3, the nearest one with a small denominator, three of four could have answered alike."""
    people = [(1, "F", "good")] * 3 + [(1, "F", "bad")] + [(29, "M", "bad")] * 3 + [(29, "M", "good")]
    study = study_of(8, k=4, privacy="l = 1.334")
    trial = trial_of(study, people)
    tables = [table for _, table in sorted(trial.tables.items()) if table is not None]
    released = ideal.release(study, tables, ranks(study, trial, names_of(8))).release
    assert released is not None and verify(released, study).answer


def test_distinct_values_are_counted_unseen() -> None:
    people = [(1, "F", "good")] * 3 + [(30, "M", "good"), (29, "M", "bad"), (29, "M", "fair")]
    study = study_of(6, privacy='l = 2\ndiversity = "distinct"')
    trial = trial_of(study, people)
    assert answers(trial, finished(trial)) == trial.ideal


@pytest.mark.thorough
def test_where_not_even_everyone_is_diverse_nothing_is_released() -> None:
    people = [(1, "F", "good")] * 5 + [(30, "M", "bad")]
    trial = trial_of(study_of(6, privacy="l = 1.1"), people)
    assert answers(trial, finished(trial)) == trial.ideal
    with pytest.raises(Unmet, match="lower l"):
        trial_of(study_of(6, privacy="l = 2"), people)
    ends = run(without_ideal(study_of(6, privacy="l = 2"), people))
    assert isinstance(ends[HUB].error, Unmet)
    assert all(end.finished is None for end in ends.values())


def without_ideal(study: Study, people: list[Person]) -> Trial:
    """A trial of a study that cannot be kept: a trusted party would release nothing."""
    return replace(trial_of(study_of(len(people), k=2), people), study=study)


def test_merging_takes_the_nearer_neighbour_and_numbers_the_classes_anew() -> None:
    places = np.array([0, 1, 10, 11, 13, 14], dtype=np.int64)
    group = np.array([0, 0, 1, 1, 2, 2], dtype=np.int64)
    assert merge(places, group, [1]).tolist() == [0, 0, 1, 1, 1, 1]
    assert merge(places, group, [0]).tolist() == [0, 0, 0, 0, 1, 1]
    assert merge(places, group, [0, 2]).tolist() == [0] * 6
    with pytest.raises(Unmet):
        merge(places, np.zeros(6, dtype=np.int64), [0])


# -- boxes


def test_the_search_ends_with_the_common_ancestor_for_any_minimum_and_maximum() -> None:
    tree = trees_of(study_of(3))[0]
    most = 0
    for lowest in range(tree.codes):
        for highest in range(lowest, tree.codes):
            search, asked = Search(tree), 0
            while questions := search.questions():
                for at_top, code in questions:
                    asked += 1
                    search.learn(at_top, code, highest <= code if at_top else lowest > code)
            due = tree.common_ancestor(np.array([lowest], np.int32), np.array([highest], np.int32))
            assert search.node == int(due[0])
            most = max(most, asked)
    assert most <= 2 * 5  # two binary searches over 32 codes


# -- private retrieval


WIDE = """
[study]
name = "wide"
protocol = "collect"
partition = "respondents"
[privacy]
k = 2
[protocol]
as_printed = true
grid = 20000
committee = 3
[columns.income]
role = "quasi"
hierarchy = { min = 0, max = 199, steps = [10, 50] }
missing = "error"
[columns.area]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10] }
missing = "error"
[columns.mood]
role = "plain"
[parties.office]
role = "collector"
"""


@pytest.mark.slow
def test_a_fine_grid_is_read_privately_and_gives_the_same_release() -> None:
    study = Study.parse(WIDE)
    assert Parameters.of(study).private_retrieval
    people = pa.table(
        {"income": ["3", "3", "150", "150"], "area": ["7", "7", "99", "99"], "mood": ["a", "b", "c", "d"]}
    )
    release = simulate(study, people, seed=4)
    assert sorted(zip(*release.arranged.to_pydict().values(), strict=True)) == [
        ("150", "99", "c"), ("150", "99", "d"), ("3", "7", "a"), ("3", "7", "b"),
    ]  # fmt: skip


# -- what it loses


@pytest.mark.parametrize("k", [5, 10, 20])
def test_random_numbers_cost_at_most_two_percent_beside_the_curve_itself(k: int) -> None:
    study = survey()
    table = load_rows(study, str(samples.path("survey") / "survey.csv"))
    parameters, trees = Parameters.of(study), trees_of(study)
    cells = parameters.grid.rank(table.codes)

    def lost(positions: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> float:
        order = np.argsort(positions, kind="stable")
        group = cut_line(positions[order], k)
        nodes = boxes(trees, table.codes[:, order], group)
        cost = sum(lm(tree)[nodes[:, column]] for column, tree in enumerate(trees))
        return float(np.dot(cost, np.bincount(group)))

    central = lost(cells)
    ratios = [lost(drawn_positions(parameters, cells, seed)) / central for seed in range(10)]
    assert np.mean(ratios) < 1.02
    assert max(ratios) < 1.03


@pytest.mark.thorough
def test_the_simulated_attack_follows_rho_and_knows_that_b_does_not_help_against_anchors() -> None:
    def success(**options: Value) -> attack.Success:
        study = replace(survey(), options=options)
        trees = trees_of(study)
        return attack.simulate(Parameters.of(study), trees, attack.people(trees, 400))

    fine, narrow, few = success(), success(rho=(200, 500)), success(b=1)
    assert narrow.all > fine.all > fine.both > fine.alone
    assert narrow.anchors[10] > fine.anchors[10] > fine.anchors[100]
    assert abs(few.anchors[10] - fine.anchors[10]) < 0.03  # b helps not against anchors


@pytest.mark.parametrize("people", [700, 1300])
def test_the_attack_is_tried_on_classes_of_any_size_before_a_run_and_in_it(people: int) -> None:
    study = study_of(0, k=601, protocol="grid = 16\nspare = 50")
    parameters, trees = Parameters.of(study), trees_of(study)
    sizes = np.array([people])
    nodes = np.array([[tree.root for tree in trees]], dtype=np.int32)
    assert 0 <= expect(parameters, trees, nodes, sizes).all <= 1
    assert any("simulated people" in sentence for sentence in foresee(study, {"respondents": people}).mind)


def test_fewer_people_than_a_class_has_end_no_simulated_attack() -> None:
    study = study_of(0, k=601)
    trees = trees_of(study)
    assert 0 <= attack.simulate(Parameters.of(study), trees, attack.people(trees, 600)).all <= 1


@pytest.mark.parametrize(("k", "tried"), [(3, 600), (400, 800), (10**9, 4_799)])
def test_the_attack_is_tried_on_as_many_people_as_it_can_afford(k: int, tried: int) -> None:
    parameters = Parameters.of(study_of(0, k=k))
    assert attack.sample_size(parameters, 10**9) == tried
    assert attack.sample_size(parameters, 500) == 500


def test_the_attack_draws_its_numbers_in_lots_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = attack.edge(0, 300, 50, np.random.default_rng(1))
    monkeypatch.setattr(attack, "_DRAWN", 120)
    assert attack.edge(0, 300, 50, np.random.default_rng(1)) == whole


# -- the other scheme


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dealt key that is made in no time, and protects nothing."""
    monkeypatch.setattr(parameters_module, "DEALT_BITS", TINY)


DEALT = 'grid = 16\ncommittee = 3\nscheme = "paillier"'


TWO_CROWDS = [
    (1, "F", "good"),
    (2, "F", "bad"),
    (1, "F", "fair"),
    (29, "M", "fair"),
    (30, "M", "good"),
    (28, "M", "bad"),
]
PAPERS_OWN = f'{DEALT}\nshares = "asmuth-bloom"\nretrieval = "gentry-ramzan"\nthreshold = 3'


@pytest.mark.few(1)
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "options", [DEALT, f'{DEALT}\nshares = "asmuth-bloom"', f"{DEALT}\nthreshold = 3", PAPERS_OWN],
    ids=["shamir", "asmuth and bloom", "all three open", "the paper's own path"],
)  # fmt: skip
def test_under_a_dealt_key_the_release_is_the_same(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "chunks_of", lambda own: Chunks(own.grid.cells, own.entry_bytes, TINY, TINY))
    trial = trial_of(study_of(6, protocol=options), TWO_CROWDS)
    assert answers(trial, finished(trial)) == trial.ideal


@pytest.mark.slow
def test_the_papers_own_path_with_keys_of_full_length() -> None:
    trial = trial_of(study_of(6, protocol=PAPERS_OWN), TWO_CROWDS)
    assert answers(trial, finished(trial)) == trial.ideal


@pytest.mark.few(1)
@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_as_many_trustees_open_as_the_study_says(threshold: int) -> None:
    study = study_of(6, protocol=f"grid = 16\ncommittee = 3\nthreshold = {threshold}")
    tape = Tape([HUB, *names_of(6)])
    ends = run(trial_of(study, TWO_CROWDS), network=tape)
    assert all(end.error is None for end in ends.values())
    asked = {to for _, to, raw in tape.frames if frame.read(frame.split(raw)[1]).header.tag == tag_of(committee.Asked)}
    assert len(asked) == threshold
    mind = " ".join(foresee(study, dict.fromkeys(names_of(6), 1)).mind)
    assert f"{threshold} of 3 trustees" in mind
    assert ("so few trustees and the collector together open everything" in mind) == (threshold == 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("threshold = 6", "threshold = 6 is more than the committee of 5"),
        ('shares = "asmuth-bloom"', 'add scheme = "paillier"'),
        ('retrieval = "gentry-ramzan"\ngrid = 5000', "reads from 4,096 cells at most"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: str, said: str) -> None:
    study = study_of(3, protocol=options)
    if "grid" in options:
        ages = replace(study.column("age"), hierarchy=Hierarchy.from_paths([(str(age), "*") for age in range(2500)]))
        study = replace(study, columns=tuple(ages if each.name == "age" else each for each in study.columns))
    with pytest.raises(InputError, match=said):
        Parameters.of(study)


@pytest.mark.usefixtures("tiny")
def test_a_query_that_is_none_is_refused_and_its_sender_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "chunks_of", lambda own: Chunks(own.grid.cells, own.entry_bytes, TINY, TINY))
    original = fetch._spelled
    monkeypatch.setattr(fetch, "_spelled", lambda number, chunks: original(4 if number > 1 << 200 else number, chunks))
    trial = trial_of(study_of(6, protocol='grid = 16\ncommittee = 3\nretrieval = "gentry-ramzan"'), TWO_CROWDS)
    ends = run(trial)
    assert isinstance(ends[HUB].error, PeerError) and "modulus is the product of two primes" in str(ends[HUB].error)


@pytest.mark.usefixtures("tiny")
def test_a_dealt_key_needs_someone_who_deals() -> None:
    ends = run(without_ideal(study_of(3, k=2, protocol=DEALT), anyone(1, 3)))
    assert isinstance(ends[HUB].error, Unmet) and "to deal the key" in str(ends[HUB].error)
