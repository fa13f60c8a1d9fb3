"""Generalize: modes that publish the same, local anonymizers, variants, termination, and studies that it refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import protocol_generalize as adult
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.generalize_cases import (
    GENERALIZE_CASES,
    Person,
    draw_people,
    stream_of,
    study_of,
    tables_of,
    trial_of,
)
from tests.harness.harness import answers, lines, run
from tests.harness.parties import run_parties
from tests.harness.tiers import examples
from tests.protocols.generalizers import lay_out

import covey
from covey.anonymizers.problem import Partition
from covey.arrays import Longs
from covey.errors import InputError, Unmet
from covey.party.audit import folders as audit
from covey.party.plan import make_plan
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of
from covey.party.simulate.in_process import simulate
from covey.protocols import find
from covey.protocols.as_printed.generalize import ideal, local, threshold
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import Contingency, RoundInput
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table, group
from covey.wire import Channel

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult"
LOCALS = ("datafly", "peel", "sequential", "mondrian", "hilbert")
FEW = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

HEAD = """
[study]
name = "NAME"
protocol = "generalize"
partition = "vertical"
[privacy]
k = 2
[protocol]
as_printed = true
[columns.id]
role = "key"
"""


def some_tables(seed: int = 1, people: int = 40, **asked: object) -> tuple[Study, dict[str, Table]]:
    study = study_of(**asked)  # type: ignore[arg-type]
    return study, tables_of(study, draw_people(stream_of(seed, "tables"), people))


def ledger_of(study: Study, tables: dict[str, Table], name: str) -> list[str]:
    """What a party learned in a run."""
    return covey.simulate(study, {party: frame_of(table) for party, table in tables.items()}, seed=1).ledger[name]


# -- modes


def test_every_mode_publishes_the_same_and_says_less() -> None:
    releases, tags = {}, {}
    for mode in ("matrix", "threshold"):
        study, tables = some_tables(options=f'compare = "{mode}"')
        ends = run(trial_of(study, tables))
        releases[mode] = {canonical_csv(end.finished.release) for end in ends.values() if end.finished is not None}
        tags[mode] = {line.tag for line in lines(ends) if line.tag.startswith("generalize.")}
    assert releases["matrix"] == releases["threshold"]
    assert "generalize.grouped" in tags["matrix"]
    assert tags["threshold"] == {f"generalize.{tag}" for tag in ("shape", "key", "bits", "tests", "marks", "lost")}


def test_the_plan_says_who_learns_counts() -> None:
    assert make_plan(study_of(k=3), {"clinic": 2000, "billing": 1500}, 0.03, 1e7).forecast.rounds > 5
    for mode, counted in (("matrix", True), ("threshold", False)):
        found = make_plan(study_of(options=f'compare = "{mode}"'), {"clinic": 90, "billing": 90}, 0.03, 1e7).learns
        for owner in ("clinic", "billing"):
            assert any("shares with each of the other party's" in line for line in found[owner]) == counted
    with_recipient = make_plan(study_of(recipient=True), {"clinic": 90, "billing": 90}, 0.03, 1e7)
    assert not any("groups" in line for line in with_recipient.learns["registry"])


@pytest.mark.thorough
@pytest.mark.parametrize("k", [13, 30_000, 2_000_000_000])
def test_a_plan_takes_any_k_and_says_where_there_are_fewer_people(k: int) -> None:
    found = make_plan(study_of(k=k), {"clinic": 12, "billing": 12}, 0.03, 1e7).forecast
    assert "nothing would be released" in found.mind[0]
    many = make_plan(study_of(k=k), {"clinic": 4 * k, "billing": 4 * k}, 0.03, 1e7).forecast
    assert many.bytes > found.bytes and "nothing would be released" not in " ".join(many.mind)


def test_a_hidden_round_finds_what_the_counts_say_however_many_pairs_are_too_small() -> None:
    stream, outcomes = stream_of(1, "hidden"), set()
    for _ in range(12):
        labels = {name: np.sort(stream.words_below(3, 14).astype(np.int64)) for name in ("a", "b")}
        labels["b"] = labels["b"][stream.permutation(14)] if stream.below(3) else labels["a"]
        labels = {name: np.unique(label, return_inverse=True)[1] for name, label in labels.items()}
        bad = Contingency.of(labels["a"], labels["b"]).bad(3)
        outcomes.add(bad)
        found = run_parties({name: one_side(labels, name) for name in labels})
        assert {outcome.unwrap() for outcome in found.values()} == {bad == 0}
    assert 0 in outcomes
    assert len(outcomes) > 3


def one_side(labels: dict[str, Longs], name: str) -> Callable[[Channel], Awaitable[bool]]:
    other = "b" if name == "a" else "a"
    groups = {each: int(label.max()) + 1 for each, label in labels.items()}
    hand = RoundInput([b"%d" % n for n in range(14)], labels[name], groups[name], groups[other], 1)

    async def play(channel: Channel) -> bool:
        side = threshold.encryptor if name == "a" else threshold.adder
        return (await side(channel.at("round", 1), other, hand, 3)).compatible

    return play


# -- own columns


@pytest.mark.parametrize("name", LOCALS)
def test_any_local_anonymizer_gives_groups_of_k_that_only_grow_together(name: str) -> None:
    study, tables = some_tables(people=60, k=4, options=f'local = "{name}"')
    own = Generalization.of(tables["clinic"], Parameters.of(study))
    assert own.levels.shape == (2, 60)
    before, steps = own.groups(), 0
    assert np.bincount(before).min() >= 4
    while own.step():
        after, steps = own.groups(), steps + 1
        merged = [set(after[before == each]) for each in np.unique(before)]
        assert all(len(into) == 1 for into in merged), "a group was torn apart"
        before = after
    assert set(before) == {0}
    assert steps <= sum(tree.height for tree in own.trees)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LOCALS[1:])
def test_a_run_with_another_local_anonymizer_is_the_ideal_and_keeps_k(name: str) -> None:
    study, tables = some_tables(people=40, k=3, options=f'local = "{name}"')
    trial = trial_of(study, tables)
    assert answers(trial, run(trial)) == trial.ideal
    figures = ideal.ideal(study, tables).figures
    assert figures is not None
    assert figures.k_reached >= 3


def test_whom_a_local_anonymizer_withheld_is_suppressed_with_the_smallest_classes() -> None:
    nodes = np.zeros((2, 1), dtype=np.int32)
    partition = Partition(np.arange(6), np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 2, 1, 1]), nodes)
    own = np.array([0, 0, 0, 1, 1, 1, 1, -1])
    assert local._with_all(own, partition, 3).tolist() == [-1, -1, -1, 1, 1, 1, 1, -1]
    assert local._with_all(own[:-1], partition, 3).tolist() == own[:-1].tolist()
    assert local._with_all(np.full(3, -1), partition, 3).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("k", [3, 5])
def test_datafly_suppresses_up_to_k_who_stand_out_and_the_joint_run_is_the_ideal(k: int) -> None:
    study, tables = some_tables(people=40, k=k)
    trial = trial_of(study, tables)
    assert answers(trial, run(trial)) == trial.ideal
    figures = ideal.ideal(study, tables).figures
    assert figures is not None and figures.k_reached >= k


def test_a_column_that_matters_more_is_lifted_later_and_one_that_does_not_matter_first() -> None:
    text = (
        HEAD.replace("NAME", "weights")
        + """
[columns.one]
role = "quasi"
hierarchy = { min = 0, max = 15, steps = [4] }
WEIGHT
[columns.two]
role = "quasi"
hierarchy = { min = 0, max = 7, steps = [4] }
[columns.three]
role = "quasi"
hierarchy = { min = 0, max = 7, steps = [4] }
[parties.a]
columns = ["one", "two"]
[parties.b]
columns = ["three"]
"""
    )
    numbers = [str(n) for n in range(16)]
    frame = pa.table({"id": numbers, "one": numbers, "two": [str(n % 8) for n in range(16)]})
    lifted = {}
    for weight in ("", "weight = 4.0", "weight = 0"):
        study = Study.parse(text.replace("WEIGHT", weight))
        table = load_table(study, "a", frame)
        assert table is not None
        start = Generalization(table.trees, table.codes, tuple(c.weight for c in table.quasi),
                      np.zeros((2, 16), np.int64), np.ones(16, dtype=bool))  # fmt: skip
        lifted[weight] = start.most_distinct()
    assert lifted == {"": (0, 16 * 1024), "weight = 4.0": (1, 8 * 1024), "weight = 0": (0, local.MOST_DISTINCT)}


CLINIC_WITHOUT = (1.0, 0.0, 0.0, 1.0)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("weights", "variant"),
    [
        ((1e4,), "paper"),
        ((1e4,), "datafly"),
        ((1e-17,), "paper"),
        ((1e-11,), "datafly"),
        ((1e300, 1e-300, 0.0), "finished-cells"),
        (CLINIC_WITHOUT, "paper"),
        (CLINIC_WITHOUT, "datafly"),
    ],
)
def test_a_run_with_extreme_weights_ends_as_the_ideal_does(weights: tuple[float, ...], variant: str) -> None:
    study = study_of(options=f'variant = "{variant}"')
    weighed = [replace(own, weight=weights[place % len(weights)]) for place, own in enumerate(study.columns)]
    study = replace(study, columns=tuple(weighed))
    trial = trial_of(study, tables_of(study, draw_people(stream_of(3, "weights"), 12)))
    assert answers(trial, run(trial)) == trial.ideal


def test_a_study_without_any_weight_is_refused_before_anyone_meets() -> None:
    study = study_of()
    with pytest.raises(InputError, match="weight above 0"):
        Parameters.of(replace(study, columns=tuple(replace(own, weight=0.0) for own in study.columns)))


@pytest.mark.parametrize("weight", [0.0, 5e-324, 1e-11, 1.0, 1e4, 1e308])
def test_a_column_counts_for_nothing_at_its_root_only(weight: float) -> None:
    study = study_of()
    table = tables_of(study, draw_people(stream_of(1, "weight"), 8))["clinic"]
    start = np.zeros(table.codes.shape, np.int64)
    own = Generalization(table.trees, table.codes, (weight,) * len(start), start, np.ones(8, dtype=bool))
    for _ in range(sum(tree.height for tree in table.trees)):
        assert 1 <= own.most_distinct()[1] <= local.MOST_DISTINCT
        assert own.step()
    assert own.most_distinct() == (-1, 0) and not own.step()


# -- rounds


PEOPLE = st.lists(
    st.tuples(st.integers(0, 15), st.sampled_from("FM"), st.just("flu"), st.integers(0, 15), st.sampled_from("ab")),
    min_size=4,
    max_size=40,
)


@FEW
@given(PEOPLE, st.sampled_from(["paper", "datafly", "finished-cells"]), st.sampled_from(["datafly", "mondrian"]))
def test_a_run_ends_within_its_bound_and_every_class_has_k(people: list[Person], variant: str, own: str) -> None:
    study = study_of(k=3, options=f'variant = "{variant}"\nlocal = "{own}"')
    tables = tables_of(study, {f"P{n:02}": person for n, person in enumerate(people)})
    agreed = Parameters.of(study)
    left = [sum(tree.height for tree in table.trees) for table in tables.values()]
    clear = ideal.follow(agreed, tables)
    assert len(clear.rounds) <= agreed.cap
    if variant == "paper":
        assert len(clear.rounds) <= 1 + min(left)
    nodes = [row[~clear.withheld] for local in clear.locals.values() for row in local.nodes]
    classes = group(nodes, int((~clear.withheld).sum()))[0]
    assert np.bincount(classes)[np.unique(classes)].min() >= 3
    assert int(clear.withheld.sum()) < 3
    assert variant == "finished-cells" or not clear.withheld.any()


def test_finished_cells_lose_less_than_the_paper_s_rounds() -> None:
    losses: dict[str, float] = {}
    for variant in ("paper", "finished-cells"):
        study, tables = some_tables(seed=3, people=200, k=3, options=f'variant = "{variant}"')
        figures = ideal.ideal(study, tables).figures
        assert figures is not None
        losses[variant] = figures.loss["lm"] or 0.0
    assert losses["finished-cells"] < losses["paper"]


def test_who_is_left_over_is_withheld_and_counts_as_lost() -> None:
    """Seven alike at both parties, and one who is alone on the way up at either."""
    people: dict[str, Person] = {f"P{n}": (1, "F", "flu", 1, "a") for n in range(7)}
    people["Q"] = (1, "F", "none", 15, "a")
    people["R"] = (1, "F", "none", 15, "a")
    people["S"] = (15, "F", "none", 15, "a")
    study = study_of(k=2, options='variant = "finished-cells"')
    tables = tables_of(study, people)
    trial = trial_of(study, tables)
    ends = run(trial)
    assert answers(trial, ends) == trial.ideal
    figures = ideal.ideal(study, tables).figures
    assert figures is not None
    assert (figures.rows + figures.withheld, figures.withheld) == (10, 10 - figures.rows)
    told = any("left over and withheld" in line for line in ledger_of(study, tables, "clinic"))
    assert told == bool(figures.withheld)


# -- the release


def test_the_loss_is_in_the_ledger_before_anyone_approves() -> None:
    study, tables = some_tables()
    said = ledger_of(study, tables, "billing")
    figures = ideal.ideal(study, tables).figures
    assert figures is not None
    loss = next(place for place, line in enumerate(said) if f"(LM {figures.loss['lm']:.4f}; 1 is everything)" in line)
    assert loss < next(place for place, line in enumerate(said) if "approve the release" in line)


def test_only_the_recipient_gets_the_release_and_the_loss_is_told_to_nobody_else() -> None:
    study, tables = some_tables(recipient=True)
    ends = run(trial_of(study, tables))
    released = {name: end.finished.release is not None for name, end in ends.items() if end.finished is not None}
    assert released == {"billing": False, "clinic": False, "registry": True}
    assert not any("LM" in line for line in ledger_of(study, tables, "clinic"))
    assert not any(line.tag == "generalize.lost" for line in lines(ends))


def test_too_much_suppression_is_no() -> None:
    people: dict[str, Person] = {f"P{n}": (n, "FM"[n % 2], "flu", 15 - n, "ab"[n // 2 % 2]) for n in range(16)}
    study = study_of(k=9)
    result = ideal.ideal(replace(study, suppression=1.0), tables_of(study, people))
    assert result.figures is not None
    assert result.figures.classes == 1
    with pytest.raises(Unmet, match=r"16 of 16 records would be suppressed, more than suppression = 0.5 allows"):
        ideal.ideal(replace(study, suppression=0.5), tables_of(study, people))


def test_a_party_without_quasi_columns_fits_at_once() -> None:
    text = (
        HEAD.replace("NAME", "codes")
        + """
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 15, steps = [4] }
[columns.code]
role = "plain"
singles_out = "nobody is real"
[parties.a]
columns = ["age"]
[parties.b]
columns = ["code"]
"""
    )
    study = Study.parse(text)
    ids = [f"P{n}" for n in range(8)]
    data = {
        "a": pa.table({"id": ids, "age": [str(n) for n in range(8)]}),
        "b": pa.table({"id": ids, "code": [f"c{n % 3}" for n in range(8)]}),
    }
    release = covey.simulate(study, data, seed=1)
    assert sorted(release.arranged["age"].to_pylist()) == ["[0, 3]"] * 4 + ["[4, 7]"] * 4
    assert release.summary["k_reached"] == 4


@pytest.mark.few(2)
@pytest.mark.parametrize("recipient", ["", '[parties.registry]\nrole = "recipient"\n'], ids=["two", "three"])
@pytest.mark.parametrize("options", ["", 'compare = "threshold"', 'variant = "datafly"', 'variant = "finished-cells"'])
def test_an_audit_finds_the_declared_messages_and_equal_ledgers(options: str, recipient: str, tmp_path: Path) -> None:
    path = lay_out(tmp_path / "study", options=options)
    path.write_text(path.read_text() + recipient)
    data = {name: str(path.parent / f"{name}.csv") for name in ("p1", "p2")}
    simulate(Study.load(path), data, seed=seed_of(1), out=tmp_path / "out")
    found = audit.audit([tmp_path / "out"])
    assert [(each.scripted, each.wrong) for each in found] == [(True, ())] * (3 if recipient else 2)


def frame_of(table: Table) -> pa.Table:
    """The table's cells again."""
    quasi = zip(table.quasi, table.trees, table.codes, strict=True)
    cells = {column.name: [tree.labels[code] for code in own] for column, tree, own in quasi}
    cells |= {values.column.name: [values.labels[code] for code in values.codes] for values in table.carried}
    assert table.key is not None
    return pa.table({**cells, "patient": [table.key.labels[code] for code in table.key.codes]})


def test_every_type_of_message_is_reached_by_the_smallest_runs() -> None:
    tags = {line.tag for case in GENERALIZE_CASES for line in lines(run(case.smallest()))}
    own = {"sizes", "grouped", "resized", "regrouped", "verdict", "done", "key", "bits", "tests", "marks", "shape"}
    assert {f"generalize.{tag}" for tag in (*own, "distinct", "lost")} <= tags


# -- studies


def refused(**asked: object) -> str:
    with pytest.raises(InputError) as told:
        find("generalize").judge(study_of(**asked))  # type: ignore[arg-type]
    return str(told.value)


def test_finished_cells_cannot_hide_the_counts() -> None:
    assert "leave compare out" in refused(options='variant = "finished-cells"\ncompare = "threshold"')


@pytest.mark.parametrize("option", ['local = "kmeans"', 'variant = "other"', 'compare = "none"'])
def test_an_option_that_does_not_exist_is_refused_with_its_line(option: str) -> None:
    with pytest.raises(InputError, match=option.split(" ", maxsplit=1)[0]):
        study_of(options=option)


def test_l_is_refused_where_the_study_is_read() -> None:
    with pytest.raises(InputError, match="protocol 'generalize' cannot enforce l"):
        Study.parse(small_text().replace("k = 5", "k = 5\nl = 2"))


def small_text() -> str:
    """A study of two columns."""
    return (
        '[study]\nname = "t"\nprotocol = "generalize"\npartition = "vertical"\n[privacy]\nk = 5\n'
        '[columns.id]\nrole = "key"\n'
        '[columns.a]\nrole = "quasi"\nhierarchy = { min = 0, max = 9, steps = [5] }\n[columns.s]\nrole = "sensitive"\n'
        '[parties.x]\ncolumns = ["a"]\n[parties.y]\ncolumns = ["s"]\n'
    )


def test_a_domain_that_is_not_listed_and_a_second_recipient_are_refused() -> None:
    study = Study.parse(small_text().replace("hierarchy = { min = 0, max = 9, steps = [5] }", 'hierarchy = "flat"'))
    with pytest.raises(InputError, match=r"column 'a': .* needs a hierarchy that lists the whole domain"):
        find("generalize").judge(study)
    two = '[parties.r]\nrole = "recipient"\n[parties.q]\nrole = "recipient"\n'
    with pytest.raises(InputError, match="recipient"):
        find("generalize").judge(Study.parse(small_text() + two))


def test_fewer_people_in_common_than_k_is_no() -> None:
    study, tables = some_tables(people=4, k=3)
    few = {name: table.select(np.arange(4)[: 4 if name == "clinic" else 2]) for name, table in tables.items()}
    with pytest.raises(Unmet, match="fewer than k = 3"):
        ideal.ideal(study, few)


# -- Adult


@pytest.mark.slow
@pytest.mark.skipif(not ADULT.exists(), reason="Adult is looked for in ../shared/data/adult")
@pytest.mark.parametrize("options", ["", 'variant = "finished-cells"'])
def test_adult_is_the_ideal_and_passes_the_judge(options: str) -> None:
    study = adult.study_of(20, options)
    data = deal(study, adult.people())
    release = covey.simulate(study, data, seed=1)
    tables = {name: load_table(study, name, frame) for name, frame in data.items()}
    expected = ideal.ideal(study, {name: table for name, table in tables.items() if table is not None})
    assert expected.release is not None
    due = canonical_csv(arrange(expected.release))
    assert release.content == due
    assert covey.verify(release.table, study).answer
