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
from tests.harness.cluster_cases import same_choices
from tests.harness.hospitals import SITES, Person, draw_people, stream_of, study_of, tables_of, trial_of

import covey
from covey.arrays import Bits
from covey.judge import verify
from covey.protocols.as_printed import cluster_rows as cluster
from covey.protocols.as_printed.cluster_rows import diversity as diverse
from covey.protocols.as_printed.cluster_rows import party
from covey.protocols.as_printed.cluster_rows.range_tests import RangeTests
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
    same_choices(monkeypatch)
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
