"""l by frequency in `cluster` and `peel`: never less than was asked, and of few records no number is opened for it."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness import harness
from tests.harness.hospitals import SITES, Person, draw_people, stream_of, study_of, tables_of, trial_of
from tests.harness.tiers import few_first

import covey
from covey.arrays import Bits
from covey.errors import Aborted, InputError
from covey.judge import verify
from covey.protocols import cluster_rows as cluster
from covey.protocols import of_study
from covey.protocols.cluster_rows import diversity as diverse
from covey.protocols.cluster_rows import party
from covey.protocols.cluster_rows.range_tests import RangeTests
from covey.protocols.peel import diversity as peel_diverse
from covey.protocols.peel import search, two_party
from covey.protocols.shared import diversity
from covey.sources.release import arrange, canonical_csv
from covey.study import Study


def dealt(*classes: tuple[int, str, str]) -> dict[str, list[Person]]:
    """People of these ages and sexes, with an illness for each letter of a word, dealt out to the sites."""
    ills = {"n": "none", "f": "flu", "a": "asthma", "u": "ulcer"}
    people = [(age, sex, ills[letter]) for age, sex, word in classes for letter in word]
    return {name: people[place :: len(SITES)] for place, name in enumerate(SITES)}


def simulated(study: Study, people: dict[str, list[Person]]) -> covey.Release:
    columns = ("age", "sex", "ill")
    frames = {
        name: pa.table({"patient": [f"{name} {place}" for place in range(len(own))]}
        | {column: [str(person[place]) for person in own] for place, column in enumerate(columns)})
        for name, own in people.items()
    }  # fmt: skip
    return covey.simulate(study, frames, seed=1)


@pytest.mark.parametrize(
    ("asked", "counted"), [(3.333, (10, 3)), (2.02, (33, 16)), (2.857143, (43, 15)), (2.5, (5, 2)), (90.0, (90, 1))]
)
def test_l_is_counted_as_a_fraction_of_small_numbers_and_rounded_up(asked: float, counted: tuple[int, int]) -> None:
    assert diversity.fraction(asked) == Fraction(*counted)


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_the_l_that_a_refusal_names_can_be_kept(records: int, most: int) -> None:
    records = max(records, most)
    named = diversity.feasible(records, most)
    assert records / most - 1 / 16 - 0.01 < named <= records / most
    assert diversity.fraction(named) * most <= records


@pytest.mark.few(1)
@pytest.mark.parametrize("protocol", ["cluster", "peel"])
def test_a_class_that_keeps_nearly_l_is_not_released(protocol: str) -> None:
    """Of 20 records 7 have one value: 20 / 7 is less than 2.857143 by a millionth."""
    study = study_of(protocol, k=20, privacy="l = 2.857143")
    release = simulated(study, dealt((1, "F", "f" * 7 + "n" * 7 + "a" * 6), (12, "M", "fnau" * 5)))
    assert (release.figures.l_reached or 0) >= 2.857143
    assert verify(release.table, study).answer


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", [2, 2.857143])
def test_numbers_are_opened_of_as_many_records_as_the_ledger_says_and_of_no_fewer(
    asked: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[int]] = {"opened": [], "tested": [], "totals": []}
    opening, total = diverse.Counts.opened, RangeTests.total

    async def opened(self: diverse.Counts, tests: party.JointTests, asked: Bits) -> diverse.Counts:
        after = await opening(self, tests, asked)
        gone = (self.hidden > 0) & (after.hidden == 0)
        seen["opened"] += self.hidden[gone].tolist()
        seen["tested"] += after.hidden[asked & (after.hidden > 0)].tolist()
        return after

    async def counted(self: RangeTests, mine: np.ndarray) -> np.ndarray:
        seen["totals"].append(len(mine))
        return await total(self, mine)

    study, people = study_of("cluster", k=6, privacy=f"l = {asked}"), draw_people(stream_of(2, "large"), SITES, 20, 30)
    ideal = cluster.PROTOCOL.ideal(study, tables_of(study, people))
    monkeypatch.setattr(diverse, "LARGE", 9)
    monkeypatch.setattr(diverse.Counts, "opened", opened)
    monkeypatch.setattr(RangeTests, "total", counted)
    release = simulated(study, people)
    assert canonical_csv(arrange(release.table)) == canonical_csv(arrange(ideal.release))
    ledger = " ".join(str(line) for line in release.ledger["east"])
    said = re.search(r"where classes have (\d+) records or more, alone or merged", ledger)
    assert said is not None
    assert max(seen["tested"]) < int(said[1]) <= min(seen["opened"])
    assert len(seen["opened"]) == sum(seen["totals"])


def test_no_number_of_a_small_class_is_opened_whatever_l() -> None:
    study = study_of("cluster", k=4, privacy="l = 3.333")
    trial = trial_of(study, dealt((1, "F", "f" * 7 + "n" * 7 + "a" * 6), (12, "M", "fnau" * 5)))
    ends = harness.run(trial)
    assert harness.answers(trial, ends) == trial.ideal
    assert not [line.step for line in harness.lines(ends) if line.step.startswith("cluster/tests/open")]


@pytest.mark.parametrize(
    ("k", "asked", "large"), [(10, 2, 5120), (10, 3, 5120), (10, 2.5, 2560), (10, 2.02, 320), (5000, 2, 5000)]
)
def test_peel_says_from_how_many_records_on_it_opens_a_tuples_values(k: int, asked: float, large: int) -> None:
    assert peel_diverse.opened_from(k, diversity.fraction(asked)) == large


@pytest.mark.parametrize(("asked", "large"), [(2, 16), (1.5, 8)])
def test_peel_opens_the_values_of_as_large_tuples_as_the_ledger_says(
    asked: float, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peel_diverse, "LARGEST", 16)
    sizes = (4, 7, 8, 12, 15, 16, 20)
    people = dealt(*((age, "F", ("fnau" * size)[:size]) for age, size in enumerate(sizes)))
    release = simulated(study_of("peel", k=4, privacy=f"l = {asked}"), people)
    ledger = " ".join(str(line) for line in release.ledger["east"])
    assert f"from {large} records on, how many have each value" in ledger
    counted = re.search(r"(\d+) combinations, none of which fell short; for (\d+) of them also how many", ledger)
    assert counted is not None
    assert [int(each) for each in counted.groups()] == [len(sizes), sum(size >= large for size in sizes)]


def test_peel_never_writes_classes_that_do_not_keep_l(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lazy(self: search.Finder, channel: object, own: peel_diverse.Histograms) -> Bits:
        return np.ones(len(own.counts), dtype=bool)

    monkeypatch.setattr(search.Finder, "diverse", lazy)
    trial = trial_of(study_of("peel", k=4, privacy="l = 2"), dealt((1, "F", "ffffna"), (12, "M", "fnaufnau")))
    ends = harness.run(trial)
    assert all(isinstance(end.error, Aborted) and end.finished is None for end in ends.values())
    assert any("do not keep l = 2" in str(end.error) for end in ends.values())


TWO_KINDS = [
    (SITES, 'l = 2\ndiversity = "distinct"', "wave"),
    (SITES[:2], "l = 1.5", "visit"),
    (SITES[:2], 'l = 3\ndiversity = "distinct"', "wave"),
    (SITES, 'l = 3\ndiversity = "distinct"\nt = 0.4', "visit"),
    (SITES, 'l = 4\ndiversity = "distinct"', "skip"),
    (SITES[:2], "l = 2", "wave"),
]


@pytest.mark.parametrize(("names", "privacy", "mode"), few_first(TWO_KINDS, 2))
def test_peel_keeps_distinct_values_and_l_between_two(names: tuple[str, ...], privacy: str, mode: str) -> None:
    study = study_of("peel", names, k=3, privacy=privacy, options=f'mode = "{mode}"\nbuckets = 1')
    trial = trial_of(study, draw_people(stream_of(len(privacy), "two kinds"), names, 10, 16))
    ends = harness.run(trial)
    assert harness.answers(trial, ends) == trial.ideal
    release = ends[names[0]].finished
    assert release is not None
    assert release.release is not None
    assert verify(release.release, study).answer
    opened = [line.step for line in harness.lines(ends) if "/diverse/size" in line.step or "/huge" in line.step]
    assert "t =" in privacy or not opened, "how many records a tuple has does not matter for these"


def test_without_the_test_two_parties_publish_what_is_not_diverse(monkeypatch: pytest.MonkeyPatch) -> None:
    people = {"east": [(1, "F", "flu")] * 3 + [(12, "M", "none")] * 2, "north": [(12, "M", "ulcer")] * 3}
    study = study_of("peel", SITES[:2], k=3, privacy="l = 1.5\nk_insider = 1")
    assert trial_of(study, people).ideal != trial_of(study_of("peel", SITES[:2], k=3), people).ideal

    async def lazy(self: two_party.TwoPartyTests, channel: object, mine: np.ndarray) -> Bits:
        return np.ones(len(mine), dtype=bool)

    monkeypatch.setattr(two_party.TwoPartyTests, "none_negative", lazy)
    ends = harness.run(trial_of(study, people))
    assert any("do not keep l = 1.5" in str(end.error) for end in ends.values())


def test_two_parties_who_would_compare_too_many_sets_are_refused() -> None:
    ills = ", ".join(f'"ill {place}"' for place in range(40))
    text = (
        '[study]\nname = "s"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 5\nl = 4\n'
        'diversity = "distinct"\n[columns.sex]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["F", "M"]\n'
        f'[columns.ill]\nrole = "sensitive"\nvalues = [{ills}]\n[parties.a]\n[parties.b]\n'
    )
    with pytest.raises(InputError, match=r"takes 10,660 comparisons .* ask for diversity = .frequency."):
        of_study(Study.parse(text))
