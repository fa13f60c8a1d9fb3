"""Peel: the parties publish what a trusted party would, whatever the mode, and open no more than they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.joint import outcomes_of
from tests.harness.network import seed_of
from tests.harness.parties import run_parties
from tests.harness.spent import heard, spent
from tests.harness.tiers import THOROUGH, few_first
from tests.protocols.peelers import (
    Person,
    draw_people,
    expected,
    frame_of,
    list_of,
    names_of,
    study_of,
    tables_of,
    visit,
)

import covey
from covey import samples
from covey.anonymizers.constraints import limits_of
from covey.anonymizers.pace import never, silent
from covey.anonymizers.peel import lattice
from covey.anonymizers.peel.strip import strip
from covey.anonymizers.problem import Problem
from covey.crypto.field import F61, Field
from covey.errors import InputError, Unmet
from covey.measures import integer_costs
from covey.party.plan import make_plan
from covey.party.session.data import load_table
from covey.protocols import of_study, peel
from covey.protocols.peel import purity, search, supply, two_party, visits
from covey.protocols.peel.ideal import admits
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.tuples import Lattice, buckets, marks, match
from covey.protocols.shared.peeling import classes, marginals, nodes
from covey.protocols.shared.peeling.marginals import RARE, WITHHELD, Marginals, study_seed, to_open
from covey.protocols.shared.peeling.synthetic import distinct, synthesize
from covey.secure import coin, threshold_test
from covey.secure.threshold_test import Prepared
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import group
from covey.wire import Channel, chunks

MODES = ("visit", "skip", "wave")
OFF = "k_insider = 1"
"""Nothing is asked against insiders, so that the release does not depend on who holds what."""


def simulated(study: Study, people: Mapping[str, list[Person]], seed: int = 1) -> covey.Release:
    return covey.simulate(study, {name: frame_of(study, own) for name, own in people.items()}, seed=seed)


def agrees(study: Study, people: Mapping[str, list[Person]]) -> covey.Release:
    """A run whose release and figures are the trusted party's."""
    real, ideal = simulated(study, people), peel.ideal(study, tables_of(study, people))
    assert canonical_csv(arrange(real.table)) == canonical_csv(arrange(ideal.release))
    for outcome in outcomes_of(real).values():
        assert outcome.finished.figures == ideal.figures
    return real


@settings(max_examples=6 if THOROUGH else 3, deadline=None)
@given(st.integers(3, 6), st.integers(2, 25), st.integers(2, 6), st.sampled_from(MODES), st.integers(0, 10**6))
def test_the_parties_publish_what_a_trusted_party_would(parties: int, rows: int, k: int, mode: str, seed: int) -> None:
    study = study_of(parties, k=k, options=f'mode = "{mode}"\nbuckets = 1')
    agrees(study, draw_people(parties, rows, seed))


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("privacy", few_first(["l = 1.5\nk_insider = 1", "", "l = 1.5", "l = 2", "k_insider = 2"]))
def test_every_mode_keeps_every_constraint_as_a_trusted_party_would(mode: str, privacy: str) -> None:
    study = study_of(3, k=4, privacy=privacy, options=f'mode = "{mode}"')
    figures = outcomes_of(agrees(study, draw_people(3, 50, 5)))["p0"].finished.figures
    assert figures is not None
    assert figures.k_reached >= 4
    assert study.privacy.l is None or (figures.l_reached or 0) >= study.privacy.l


@pytest.mark.few(1)
@pytest.mark.parametrize(("parties", "asked", "mode"), [(3, 3, "visit"), (4, 2, "skip"), (5, 3, "wave")])
def test_a_class_may_be_one_partys_alone_but_not_nearly(parties: int, asked: int, mode: str) -> None:
    options = f'mode = "{mode}"\ninsider = "none-or-many"'
    study = study_of(parties, k=4, privacy=f"k_insider = {asked}", options=options)
    people = draw_people(parties, 40, 6)
    tables = tables_of(study, people)
    agrees(study, people)
    done = {name: outcome.unwrap() for name, outcome in visit(study, tables).items()}
    own = np.stack([
        np.bincount(each.own.label[each.own.label >= 0], weights=each.own.counts[each.own.label >= 0],
                    minlength=len(each.classes.sizes))
        for each in done.values()
    ])  # fmt: skip
    others = own.sum(axis=0) - own
    assert ((others == 0) | (others >= asked)).all()
    free = visit(study_of(parties, k=4, privacy="k_insider = 1", options=options), tables)["p0"].unwrap()
    assert len(free.classes.sizes) > len(done["p0"].classes.sizes)


@pytest.mark.few(1)
@pytest.mark.parametrize(("k", "privacy", "mode"), [(3, "", "visit"), (5, "", "wave"), (4, "k_insider = 2", "visit")])
def test_two_parties_agree_with_a_trusted_one(k: int, privacy: str, mode: str) -> None:
    study = study_of(2, k=k, privacy=privacy, options=f'mode = "{mode}"\nbuckets = 1')
    for seed in (1, 2):
        real = agrees(study, draw_people(2, 50, seed))
        assert any("a total gives it away" in line for line in real.ledger["p0"])


@pytest.mark.parametrize("chunk", [1, 4, 5, 1 << 17])
def test_many_tuples_that_one_of_two_has_alone_are_named_in_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 8 * chunk)
    tables = {
        "a": [np.arange(10, dtype=np.uint64).reshape(2, 5), np.zeros((1, 0), dtype=np.uint64)],
        "b": [np.array([[7], [8]], dtype=np.uint64), np.array([[3, 4]], dtype=np.uint64)],
    }

    async def role(channel: Channel) -> list[list[list[int]]]:
        keys = tables[channel.me]
        counts = [np.full(each.shape[1], 3, dtype=np.int64) for each in keys]
        return [each.tolist() for each in await two_party.name_own(channel.at("alone"), keys, counts, 3)]

    outcomes = run_parties(dict.fromkeys("ab", role))
    for outcome in outcomes.values():
        assert outcome.unwrap() == [[[0, 1, 2, 3, 4, 7], [5, 6, 7, 8, 9, 8]], [[3, 4]]]
    assert spent(outcomes).rounds == 1
    assert spent(outcomes).messages == -(-10 // chunk) + -(-4 // chunk)


@pytest.mark.thorough
def test_ten_parties_agree_with_a_trusted_one() -> None:
    agrees(study_of(10, k=5, options='mode = "wave"'), draw_people(10, 12, 3))


def test_windows_of_few_tests_publish_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "WINDOW", 700)
    for mode in ("skip", "wave"):
        agrees(study_of(3, k=3, options=f'mode = "{mode}"\nbuckets = 1'), draw_people(3, 60, 11))


def test_values_that_no_study_lists_leave_by_shuffle_and_nobodys_size_is_told() -> None:
    study = study_of(3, note=True)
    people = draw_people(3, 8, 2)
    real = agrees(study, {**people, "p1": people["p1"][:3]})
    rows = int(str(real.summary["rows"]))
    assert any(f"(p0: {rows}, p1: {rows}, p2: {rows})" in line for line in real.ledger["p0"])


def test_public_sizes_need_no_dummies() -> None:
    real = agrees(study_of(3, note=True, head='sizes = "public"'), draw_people(3, 8, 2))
    assert any(", and none of these is empty" in line for line in real.ledger["p0"])


def test_a_party_whose_records_are_all_elsewhere_too_changes_nothing() -> None:
    people = draw_people(3, 20, 8)
    split = {**people, "p0": people["p0"][:1], "p1": people["p1"] + people["p0"][1:]}
    study = study_of(3, privacy=OFF)
    assert canonical_csv(arrange(simulated(study, people).table)) == canonical_csv(
        arrange(simulated(study, split).table)
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_clear_peeling_is_the_centralized_ones_on_the_same_list(seed: int) -> None:
    study = study_of(3, k=3 + seed % 3, privacy=OFF)
    tables = tables_of(study, draw_people(3, 40, seed))
    listed = list_of(study, tables)
    trees, params = tables["p0"].trees, Parameters.of(study)
    codes = np.concatenate([table.codes for table in tables.values()], axis=1)
    boxes, sizes, mine = classes.peel(trees, listed, codes, params.k, admits(params, list(tables.values())))
    own, first = group([*codes], codes.shape[1])
    costs, scale = integer_costs(trees)
    problem = Problem(trees, np.ascontiguousarray(codes[:, first]), np.bincount(own), costs, scale, study.privacy.k)
    from covey.anonymizers.peel.atoms import cut

    atoms = cut(problem)
    label = strip(problem, atoms, limits_of(problem), listed, silent, never)
    theirs = label[np.searchsorted(atoms.item, own)]
    pairs = {(a, b) for a, b in zip(mine.tolist(), theirs.tolist(), strict=True)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert all((a == -1) == (b == 0) for a, b in pairs)
    assert len(boxes) == len(sizes)


@pytest.mark.few(2)
@pytest.mark.parametrize("per_record", [1, 4])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_more_is_opened_than_a_plain_simulation_opens(per_record: int, seed: int) -> None:
    """A version that hashed all records anew, not only those in impure buckets, published the same and opened more."""
    study = study_of(3, k=3, privacy=OFF, options=f"buckets = {per_record}")
    tables = tables_of(study, draw_people(3, 120 if per_record == 1 else 40, seed))
    done = [outcome.unwrap() for outcome in visit(study, tables, seed=seed).values()]
    assert done[0].openings == done[1].openings == done[2].openings
    assert done[0].openings == expected(study, tables, done[0].nodes, done[0].seed)
    assert done[0].openings.heavy > 0 or per_record > 1
    assert done[0].openings.impure > 0 or per_record > 1
    assert done[0].openings.tuples == len(done[0].classes.sizes)


def test_waves_name_tuples_that_are_not_published_and_the_ledger_says_how_many() -> None:
    people = draw_people(3, 200, 3)
    study = study_of(3, k=3, privacy=OFF, options='mode = "wave"')
    done = next(iter(visit(study, tables_of(study, people)).values())).unwrap()
    unpublished = done.openings.tuples - len(done.classes.sizes)
    assert unpublished > 0
    lines = simulated(study, people).ledger["p1"]
    assert any(f"of which {unpublished:,} are not in the release" in line for line in lines)
    assert any("when a batch of tests begins" in line for line in lines)
    calm = simulated(study_of(3, k=3, privacy=OFF), people).ledger["p1"]
    assert any("by name, all in the release" in line for line in calm)
    assert not any("batch of tests" in line for line in calm)


def test_waves_take_fewer_rounds_than_skips_and_skips_fewer_than_visits() -> None:
    people = draw_people(3, 200, 3)
    studies = [study_of(3, k=3, privacy=OFF, options=f'mode = "{mode}"') for mode in MODES]
    rounds = [simulated(study, people).summary["rounds"] for study in studies]
    assert rounds[2] < rounds[1] <= rounds[0]  # type: ignore[operator]


@pytest.mark.thorough
def test_diversity_costs_four_exchanges_where_a_tuple_is_found_whatever_its_size() -> None:
    people = draw_people(3, 200, 3)
    plain = simulated(study_of(3, k=3, privacy=OFF), people)
    diverse = simulated(study_of(3, k=3, privacy=f"l = 2\n{OFF}"), people)
    told = next(line for line in diverse.ledger["p0"] if "the tests of l in numbers" in line)
    assert int(re.findall(r"(\d+) combinations", told)[0]) > 50
    extra = int(str(diverse.summary["rounds"])) - int(str(plain.summary["rounds"]))
    assert extra < 120  # it was 420 when sizes were compared one after the other, each test prepared when needed


@pytest.mark.few(1)
@pytest.mark.parametrize(("parties", "mode"), [(3, "visit"), (4, "skip"), (5, "wave")])
def test_the_cost_is_that_of_the_declared_blocks_for_the_runs_public_sizes(parties: int, mode: str) -> None:
    study = study_of(parties, k=3, privacy=OFF, options=f'mode = "{mode}"\nbuckets = 1')
    outcomes = visit(study, tables_of(study, draw_people(parties, 40, 2)))
    sizes = [outcome.unwrap().sizes for outcome in outcomes.values()]
    assert all(sorted(each.prepared) == sorted(sizes[0].prepared) for each in sizes)
    assert all(replace(each, prepared=[]) == replace(sizes[0], prepared=[]) for each in sizes)
    real = spent(outcomes)
    assert real.messages == sizes[0].messages(parties) + coin.COST.messages(parties)
    assert real.bytes == pytest.approx(sizes[0].bytes(parties) + coin.COST.bytes(parties), rel=0.02)
    least, most = sizes[0].rounds(parties)
    assert least <= real.rounds - coin.COST.rounds(parties) <= most
    assert sizes[0].examined


def test_long_vectors_of_an_examination_travel_in_chunks_at_the_declared_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(4, k=3, privacy=OFF, options='mode = "wave"\nbuckets = 1')
    tables = tables_of(study, draw_people(4, 24, 2))
    whole = visit(study, tables)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 40)
    outcomes = visit(study, tables)
    noted = outcomes["p0"].unwrap().sizes
    assert spent(outcomes).messages == noted.messages(4) + coin.COST.messages(4) > spent(whole).messages
    assert spent(outcomes).rounds == spent(whole).rounds
    sizes = [each["p0"].unwrap().classes.sizes for each in (whole, outcomes)]
    assert sizes[0] == sizes[1]
    heard_of = [message for peer in ("p1", "p2", "p3") for message in heard(outcomes["p0"], peer, purity.Shares)]
    assert max(len(message.shares.words) for message in heard_of) == 5


def test_few_tests_are_prepared_that_nobody_needs() -> None:
    study = study_of(3, k=3)
    done = visit(study, tables_of(study, draw_people(3, 300, 4)))["p0"].unwrap()
    assert done.openings.tests <= done.made <= 1.6 * done.openings.tests


@pytest.mark.thorough
def test_no_more_tests_are_in_memory_than_the_stock_however_many_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supply, "STOCK", 500)
    monkeypatch.setattr(supply, "BATCH", 64)
    monkeypatch.setattr(supply, "SMALLEST", 16)
    monkeypatch.setattr(search, "CHUNK", 200)
    held: list[int] = []
    prepare = threshold_test.prepare

    async def noted(channel: Channel, bound: int, width: int, field: Field | None = None) -> Prepared:
        made = await prepare(channel, bound, width, field)
        if channel.me == "p0":
            held.append(width)
        return made

    taken = supply.Supply.take
    most: list[int] = []

    async def counted(self: supply.Supply, width: int) -> Prepared:
        found = await taken(self, width)
        if self.channel.me == "p0":
            most.append(self.made - self._taken + width)
        return found

    monkeypatch.setattr(threshold_test, "prepare", noted)
    monkeypatch.setattr(supply.Supply, "take", counted)
    needed = []
    for rows in (40, 400):
        held.clear()
        most.clear()
        study = study_of(3, k=3, options='mode = "wave"\nbuckets = 16')
        needed.append(visit(study, tables_of(study, draw_people(3, rows, 1)))["p0"].unwrap().openings.tests)
        assert sum(held) >= needed[-1]
        assert max(held) <= 64
        assert max(most) <= 500 + 200
    assert needed[1] > 2 * 700


def test_fewer_records_than_k_end_the_run_with_the_answer_no() -> None:
    with pytest.raises(Unmet, match="fewer than k = 40"):
        simulated(study_of(3, k=40), draw_people(3, 5, 0))


def test_a_table_that_cannot_be_diverse_is_not_released() -> None:
    people: dict[str, list[Person]] = {name: [(1, "F", "a", "flu")] * 4 for name in names_of(3)}
    with pytest.raises(Unmet, match="no class keeps"):
        simulated(study_of(3, k=3, privacy="l = 2"), people)


@pytest.mark.parametrize(
    ("parties", "asked", "named"),
    [
        (2, {"privacy": "most_of_a_class = 0.7"}, "between two parties cannot keep most_of_a_class"),
        (2, {"options": 'mode = "skip"'}, "between two parties"),
        (2, {"k": 256}, "k above 255"),
        (3, {"k": 4, "privacy": "k_insider = 3", "options": 'insider = "clip"'}, "no class could reach k"),
        (3, {"options": "buckets = 0"}, "buckets must be a whole number"),
        (3, {"options": 'insider = "all"'}, "one of none-or-many, clip"),
        (2, {"privacy": 'l = 2\ndiversity = "entropy"'}, 'cannot keep diversity = "entropy"; .* which implies it'),
        (3, {"privacy": 'l_insider = 2\ndiversity = "distinct"'}, "l_insider is kept by frequency"),
    ],
)
def test_studies_that_it_cannot_run_are_refused_with_what_to_change(
    parties: int, asked: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        of_study(study_of(parties, **asked))


def test_a_domain_that_the_study_does_not_list_is_refused() -> None:
    study = study_of(3)
    flat = replace(study.column("town"), values=None)
    from covey.hierarchy import Flat

    opened = replace(flat, hierarchy=Flat())
    columns = tuple(opened if column.name == "town" else column for column in study.columns)
    with pytest.raises(InputError, match=r"'town'.*lists the whole domain"):
        of_study(replace(study, columns=columns))


def test_one_frequent_value_is_withheld_wherever_a_column_has_a_rare_one() -> None:
    study = study_of(3)
    heavy = [np.array([True, True, False]), np.array([True, True]), np.array([False, False]), np.array([True, False])]
    opened = to_open(study, heavy)
    assert [int(column.sum()) for column in opened] == [1, 2, 0, 0]
    assert all(not (o & ~h).any() for o, h in zip(opened, heavy, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(opened, to_open(study, heavy), strict=True))


def test_withheld_values_get_their_likely_share_of_what_was_not_opened() -> None:
    marginals = Marginals(100, 5, (np.array([60, RARE, WITHHELD, RARE]), np.array([100]), np.array([RARE, RARE])))
    assert marginals.weights(0).tolist() == [120, 4, 72, 4]
    assert marginals.weights(1).tolist() == [200]
    first, second = marginals.weights(2).tolist()
    assert first == second > 0
    tight = Marginals(62, 9, (np.array([60, RARE, WITHHELD]),)).weights(0)
    assert tight.tolist() == [240, 4, 4]


def test_synthetic_tables_have_the_public_frequencies() -> None:
    study = study_of(3)
    trees = tables_of(study, draw_people(3, 2, 0))["p0"].trees
    counts = tuple(np.full(tree.codes, 10, dtype=np.int64) for tree in trees)
    codes, number = distinct(synthesize(trees, Marginals(3000, 3, counts), 3000, seed_of(1)))
    assert number.sum() == 3000
    for column, tree in enumerate(trees):
        seen = np.bincount(codes[column], weights=number, minlength=tree.codes)
        assert seen.min() > 0.5 * 3000 / tree.codes


def test_a_lattice_that_is_too_large_to_be_listed_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(3)
    tables = tables_of(study, draw_people(3, 100, 1))
    whole = list_of(study, tables)
    monkeypatch.setattr(lattice, "LISTED", 1)
    searched = list_of(study, tables)
    assert len(searched) > 1
    assert np.array_equal(searched[-1], whole[-1])
    assert len({tuple(node) for node in searched.tolist()} & {tuple(node) for node in whole.tolist()}) > 1
    agrees(study, draw_people(3, 100, 1))


@pytest.mark.thorough
def test_of_a_lattice_that_is_searched_the_finest_node_is_always_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(3)
    tables = tables_of(study, draw_people(3, 100, 1))
    monkeypatch.setattr(nodes, "WHOLE", 0)
    monkeypatch.setattr(nodes, "FEW", 0)
    monkeypatch.setitem(nodes.EFFORTS, "normal", nodes.Effort(10.0, 2))
    alone = list_of(study, tables)
    monkeypatch.setattr(lattice, "LISTED", 1)
    searched = list_of(study, tables)
    assert searched.tolist() == [[0] * alone.shape[1], *alone.tolist()]


@pytest.mark.thorough
@pytest.mark.parametrize("effort", ["quick", "thorough"])
def test_with_another_effort_the_parties_visit_another_list_and_publish_what_a_trusted_party_would(
    effort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, value in (("WHOLE", 0), ("FEW", 0), ("MANY", 1)):
        monkeypatch.setattr(nodes, limit, value)
    study, people = study_of(3, k=4), draw_people(3, 300, 1)
    other = replace(study, effort=effort)
    normal, asked = (len(list_of(each, tables_of(each, people))) for each in (study, other))
    assert asked < normal if effort == "quick" else asked > normal
    real = agrees(other, people)
    assert any(f"at up to {asked} levels of generalization" in line for line in real.ledger["p0"])


@pytest.mark.thorough
def test_sixteen_columns_need_a_search_and_two_limbs_and_are_peeled_as_by_a_trusted_party() -> None:
    columns = [f"c{place}" for place in range(16)]
    values = [f"v{place}" for place in range(20)]
    listed = ", ".join(f'"{value}"' for value in values)
    text = '[study]\nname = "wide"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 3\n'
    text += "".join(f'[columns.{c}]\nrole = "quasi"\nhierarchy = "flat"\nvalues = [{listed}]\n' for c in columns)
    study = Study.parse(text + "".join(f"[parties.{name}]\n" for name in names_of(3)))
    random = np.random.default_rng(1)
    kinds = random.integers(20, size=(8, 16))

    def rows() -> pa.Table:
        cells = kinds[random.integers(8, size=30)]
        cells = np.where(random.random(cells.shape) < 0.05, random.integers(20, size=cells.shape), cells)
        return pa.table({c: [values[code] for code in cells[:, place]] for place, c in enumerate(columns)})

    frames = {name: rows() for name in names_of(3)}
    tables = {name: table for name, frame in frames.items() if (table := load_table(study, name, frame)) is not None}
    assert len(Lattice.of(tables["p0"].trees).limbs(np.zeros(16, dtype=np.int32))) > 1
    real, ideal = covey.simulate(study, frames, seed=1), peel.ideal(study, tables)
    assert canonical_csv(arrange(real.table)) == canonical_csv(arrange(ideal.release))
    assert ideal.figures is not None
    assert ideal.figures.classes > 4


@pytest.mark.parametrize(
    "other",
    [
        study_of(3, options='mode = "wave"\nbuckets = 9'),
        study_of(3, options='mode = "visit"'),
        study_of(5),
        replace(study_of(3), name="another name"),
        replace(study_of(3), suppression=0.5),
        replace(study_of(3), partition="vertical"),
    ],
    ids=["mode", "a default said aloud", "parties", "name", "suppression", "partition"],
)
def test_the_list_and_what_is_withheld_follow_from_the_columns_and_k_alone(
    other: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "WHOLE", 0)
    study, people = study_of(3), draw_people(3, 60, 1)
    tables = tables_of(study, people)
    known = marginals.ideal(study, list(tables.values()), True)
    again = marginals.ideal(other, list(tables.values()), True)
    assert all(np.array_equal(a, b) for a, b in zip(known.counts, again.counts, strict=True))
    trees = tables["p0"].trees
    assert np.array_equal(nodes.list_nodes(study, trees, known, 2000), nodes.list_nodes(other, trees, again, 2000))
    assert study_seed(study) == study_seed(other)


def test_another_k_or_weight_has_a_list_of_its_own() -> None:
    study = study_of(3)
    heavier = tuple(replace(column, weight=2.0) if column.name == "town" else column for column in study.columns)
    seeds = [study_seed(each) for each in (study, study_of(3, k=4), replace(study, columns=heavier))]
    assert len({seed.reveal() for seed in seeds}) == 3


def test_six_records_lose_no_more_jointly_than_one_owner_would_lose() -> None:
    study = study_of(3, options='leftover = "merge"')
    people = {
        name: [(5 + place, "F", "c", "flu"), (30 + place, "M", "d", "none")] for place, name in enumerate(names_of(3))
    }
    tables = tables_of(study, people)
    figures = peel.ideal(study, tables).figures
    alone = covey.anonymize(pa.concat_tables([frame_of(study, own) for own in people.values()]), study)
    assert figures is not None
    assert figures.classes == 2
    assert figures.loss["lm"] == pytest.approx(alone.loss.lm)
    levels = [tree.levels for tree in tables["p0"].trees]
    assert len(list_of(study, tables)) == int(np.prod(levels))


def test_a_budget_of_nodes_keeps_those_that_publish_most_and_the_root() -> None:
    study = study_of(3, options="nodes = 3")
    listed = list_of(study, tables_of(study, draw_people(3, 100, 1)))
    assert len(listed) <= 4
    assert listed[-1].tolist() == [4, 1, 1]


@pytest.mark.parametrize("seed", range(4))
def test_items_are_found_in_the_boxes_that_hold_them_and_in_no_others(seed: int) -> None:
    study, random = study_of(3), np.random.default_rng(seed)
    trees = tables_of(study, draw_people(3, 10, 1))["p0"].trees
    lattice = Lattice.of(trees)
    codes = np.stack([random.integers(0, tree.codes, 80) for tree in trees]).astype(np.int32)
    counts, boxes, levels = random.integers(1, 4, 80), [], []
    for level in np.unique([[random.integers(0, tree.levels) for tree in trees] for _ in range(9)], axis=0):
        here = np.stack([tree.up[own][column] for tree, own, column in zip(trees, level, codes, strict=True)], axis=1)
        some = np.unique(here, axis=0)[:: 1 + seed]
        boxes.append(some)
        levels.append(np.repeat(level[np.newaxis], len(some), axis=0))
    level, box = np.concatenate(levels).astype(np.int32), np.concatenate(boxes).astype(np.int32)
    inside = np.ones((len(box), codes.shape[1]), dtype=bool)
    for column, tree in enumerate(trees):
        inside &= tree.up[level[:, column][:, None], codes[column]] == box[:, column][:, None]
    records, place = lattice.lie_in(level, box, codes, counts)
    assert np.array_equal(records, inside @ counts)
    assert np.array_equal(place >= 0, inside.any(axis=0))
    assert all(inside[own, item] for item, own in enumerate(place) if own >= 0)
    nothing = lattice.lie_in(level[:0], box[:0], codes, counts)
    assert len(nothing[0]) == 0 and (nothing[1] == -1).all()


def test_tuples_are_numbers_and_back_also_where_one_limb_does_not_do() -> None:
    study = study_of(3)
    table = tables_of(study, draw_people(3, 40, 1))["p0"]
    lattice = Lattice.of(table.trees * 12)
    codes = np.concatenate([table.codes] * 12)
    levels = np.zeros(36, dtype=np.int32)
    keys = lattice.keys(levels, codes)
    assert len(keys) == len(lattice.limbs(levels)) > 1
    assert keys.max() < F61.prime
    boxes, real = lattice.boxes(levels, keys)
    assert real.all()
    assert np.array_equal(boxes, codes.T)
    unique = np.unique(keys, axis=1)
    assert (match(keys, unique) >= 0).all()
    assert np.array_equal(unique[:, match(keys, unique)], keys)
    assert match(keys + np.uint64(1), unique).max() == -1 or (match(unique[:, :1], unique) == 0).all()


def test_buckets_look_random_and_differ_between_tables() -> None:
    keys = np.arange(5000, dtype=np.uint64)[np.newaxis]
    one, other = buckets(seed_of(1), 100, keys, 1), buckets(seed_of(1), 100, keys, 2)
    assert abs(np.bincount(one, minlength=100) - 50).max() < 35
    assert 20 < (one == other).sum() < 90
    assert len(np.unique(marks(seed_of(1), keys, 1))) == 5000


def test_a_plan_warns_of_repeated_releases() -> None:
    forecast = peel.PROTOCOL.foresee(study_of(3, k=3), dict.fromkeys(names_of(3), 200))
    assert any("count them" in line for line in forecast.mind)


@pytest.mark.thorough
def test_a_plan_recommends_waves_on_a_slow_line_and_visits_on_a_fast_one() -> None:
    text = (samples.path("hospitals") / "study.toml").read_text().replace('"cluster"', '"peel"').replace("l = 2 ", "# ")
    visits, waves = (
        Study.parse(f'{text}\n[protocol]\nmode = "{mode}"\n', samples.path("hospitals")) for mode in ("visit", "wave")
    )
    rows = dict.fromkeys(("north", "south", "east"), 200)
    slow = make_plan(visits, rows, 2.0, 1e7)
    assert slow.advice is not None
    assert 'mode = "wave"' in slow.advice
    assert "the ledger says more" in slow.advice
    assert list(slow.choices) == ['mode = "visit"', 'mode = "skip"', 'mode = "wave"']
    assert slow.choices['mode = "wave"'] < slow.choices['mode = "visit"'] == slow.seconds
    fast = make_plan(waves, rows, 0.0, 1e9)
    assert fast.advice is not None
    assert 'mode = "visit"' in fast.advice
    assert "teaches less" in fast.advice
    assert make_plan(visits, rows, 0.0, 1e9).advice is None
    between_two = make_plan(study_of(2, k=10), dict.fromkeys(names_of(2), 100), 0.0, 1e9)
    assert 'mode = "skip"' not in between_two.choices
    assert between_two.describe(0)["advice"] is None
