"""What a run among all parties said and cost, added up over the parties' own notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from tests.harness.parties import Outcome

from covey.protocols.shared.columns import recognition
from covey.study import Study
from covey.wire import Message
from covey.wire.frame import read
from covey.wire.message import decode, tag_of

T = TypeVar("T")
M = TypeVar("M", bound=Message)

Said = dict[str, list[tuple[str, str, int, bytes]]]


@dataclass(frozen=True)
class Spent:
    """Rounds, messages and bytes of one run."""

    rounds: int
    messages: int
    bytes: int


def with_recognition(cost: Spent, study: Study) -> Spent:
    """The same with the numbers that owners of exact columns tell everyone before the approval."""
    owners = recognition.owners(study)
    more = recognition.COST.of(len(study.parties), len(owners))
    return Spent(cost.rounds + more.rounds, cost.messages + more.messages, cost.bytes + more.bytes)


def spent(outcomes: Mapping[str, Outcome[T]]) -> Spent:
    """The run's cost, every message counted once although two parties saw it."""
    messages: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes.values():
        messages |= outcome.tally.messages
        sizes |= outcome.tally.bytes
    return Spent(max(outcome.tally.rounds for outcome in outcomes.values()), messages.total(), sizes.total())


def said(outcomes: Mapping[str, Outcome[T]]) -> Said:
    """What each party said, by step: two runs with one answer here said the same, bit for bit."""
    return {
        name: sorted(
            (entry.header.recipient, entry.header.step, entry.header.number, entry.digest)
            for entry in outcome.notebook.sent_entries
        )
        for name, outcome in outcomes.items()
    }


def shapes(outcomes: Mapping[str, Outcome[T]]) -> dict[str, list[tuple[str, str, str, int, int]]]:
    """What is left of a run for somebody who sees only lengths: recipient, step, type, number and size."""
    return {
        name: sorted((e.header.recipient, e.header.step, e.header.tag, e.header.number, e.size) for e in entries)
        for name, entries in ((name, outcome.notebook.sent_entries) for name, outcome in outcomes.items())
    }


def heard(outcome: Outcome[T], sender: str, kind: type[M]) -> list[M]:
    """The messages of one type that this party had of that sender: its view."""
    letters = [read(raw) for raw in outcome.notebook.letters.get(sender, [])]
    return [decode(kind, letter.payload) for letter in letters if letter.header.tag == tag_of(kind)]
