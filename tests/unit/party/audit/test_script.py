"""The script: messages that the protocol does not declare, or not so many, not there, not of that size, are named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.cases import CASES
from tests.harness.harness import lines, run

from covey.party.audit.script import strays
from covey.party.record.transcript import Entry

TRIAL = CASES["count"].smallest()
HONEST = lines(run(TRIAL))


def wrong(messages: list[Entry], *, finished: bool = True) -> list[str]:
    return strays(TRIAL.study, TRIAL.protocol, messages, finished=finished)


def place_of(tag: str) -> int:
    return next(place for place, line in enumerate(HONEST) if line.tag == tag)


def test_an_honest_run_is_as_declared() -> None:
    assert wrong(HONEST) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tag": "sum.open"}, "declares no 'sum.open' there"),
        ({"step": "elsewhere"}, "declares no 'sum.masked' there"),
        ({"size": 500}, "is not of the declared size"),
        ({"number": 1}, "missing or repeated"),
    ],
)
def test_a_message_out_of_the_script_is_named(changes: dict[str, object], sentence: str) -> None:
    place = place_of("sum.masked")
    changed = [*HONEST]
    changed[place] = replace(HONEST[place], **changes)  # type: ignore[arg-type]
    assert any(sentence in each for each in wrong(changed))


def test_one_message_too_many_is_named() -> None:
    again = replace(HONEST[place_of("sum.masked")], number=1)
    assert any("2 messages 'sum.masked', the protocol declares 1" in each for each in wrong([*HONEST, again]))


def test_a_missing_message_is_named_unless_the_run_ended_early() -> None:
    place = place_of("approval.vote")
    fewer = HONEST[:place] + HONEST[place + 1 :]
    assert any("'approval.vote' is missing" in each for each in wrong(fewer))
    assert wrong(fewer, finished=False) == []


def test_messages_of_one_step_come_in_the_order_of_their_causes() -> None:
    masked = HONEST[place_of("sum.masked")]
    later, earlier = replace(masked, depth=9), replace(masked, number=1, depth=2)
    assert any("out of order" in each for each in wrong([later, earlier], finished=False))
