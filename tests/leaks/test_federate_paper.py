"""On the paper's own calls the lists' lengths tell numbers too: what they tell, the ledger says."""

from __future__ import annotations

from functools import cache

import pytest
from tests.harness.federate_cases import GYM, INSURER, Users, draw_users, study_of, tables_of, trial_of
from tests.harness.harness import End, lines, run
from tests.harness.network import seed_of
from tests.harness.trial import Trial

from covey.crypto.group import POINT_BYTES
from covey.crypto.rng import Rng
from covey.party.record.transcript import Entry
from covey.protocols.as_printed.federate import leakage
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.secure import lists

PEOPLE, COMMON, EXTRA = 24, 10, 6
OPTIONS = 'candidates = 2\nschedule = "paper"'


def users() -> Users:
    return draw_users(Rng(seed_of(3)).stream("paper"), PEOPLE, COMMON, EXTRA)


@cache
def ends(delta: float) -> dict[str, End]:
    study, people = study_of(PEOPLE, k=3, delta=delta, options=OPTIONS), users()
    if delta > 0.7:
        return run(trial_of(study, people))
    names = [party.name for party in study.parties]
    tables = tables_of(study, people)
    none = dict.fromkeys(names)
    return run(Trial(study, trial_of(study_of(PEOPLE), people).protocol, {**none, **tables}, none, lambda *_: None))


def said(delta: float, sender: str) -> dict[str, int]:
    """How long each list is that a provider sends, by its step: what the other sees without a key."""
    return {line.step: length(line) for line in lines(ends(delta)) if line.tag == BLINDED and line.sender == sender}


BLINDED = "cardinality.blinded"


def length(line: Entry) -> int:
    return round((line.size - lists.MESSAGE_BYTES) / POINT_BYTES)


def ledger(schedule: str = "paper") -> str:
    params = Parameters.of(study_of(PEOPLE, options=f'schedule = "{schedule}"'))
    parts = [leakage.of_meeting(params), *leakage.before(params), leakage.of_release(params)]
    return " | ".join(line for part in parts for line in part.by_role[leakage.PROVIDER])


@pytest.mark.parametrize("delta", [0.95, 0.5])
def test_all_users_of_the_other_are_counted_even_where_delta_then_fails(delta: float) -> None:
    for name in (GYM, INSURER):
        assert said(delta, name)["federate/divide/root/common"] == COMMON + EXTRA
    assert (ends(delta)[GYM].finished is None) is (delta == 0.5)
    assert "where k holds, also how many users the other provider has in all" in ledger()


def test_halves_of_refused_cuts_show_how_many_users_the_divider_has_there() -> None:
    steps = {line.step for line in lines(ends(0.95))}
    tested = {step: count for name in (GYM, INSURER) for step, count in said(0.95, name).items() if "/verify/" in step}
    refused = [step for step in tested if f"{step.partition('/verify/')[0]}/halves" not in steps]
    assert refused
    assert "even if the cut is then refused" in ledger()
    assert "what fails: k in which half, or delta" in ledger() and "not what fails" not in ledger()


def test_each_class_shows_how_many_users_of_each_value_the_other_has() -> None:
    counted = {step: count for step, count in said(0.95, INSURER).items() if step.startswith("federate/release/count/")}
    ill = [row[-1] for row in users()[INSURER].values()]
    for place, value in enumerate(("no", "yes")):
        assert sum(count for step, count in counted.items() if step.endswith(f"/{place}")) == ill.count(value)
    assert sum(counted.values()) > COMMON
    assert "in each class, common or not; where the exact values are the other's, for each combination" in ledger()


def test_the_level_schedule_says_none_of_it() -> None:
    assert "not what fails" in ledger("level")
    assert "how many users the other" not in ledger("level")
