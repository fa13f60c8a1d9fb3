"""Leakage and cost of a protocol, declared beside its roles in a form that tests and ledgers read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Generic, ParamSpec

import msgspec

from covey.errors import InputError, counted
from covey.plain import listed, wrapped

P = ParamSpec("P")

TAKING_PART = "Who took part"
TOTALS = "How many records there are"
SEARCH = "On the way to the classes"
RELEASE = "The release"
TOPICS = (TAKING_PART, TOTALS, SEARCH, RELEASE)
"""The topics of a ledger's facts, in the order in which a reader sees them."""

_LARGE = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
_EXACT_BELOW = 10_000


@dataclass(frozen=True)
class Leakage:
    """Sentences that say, for each role, what a run teaches it; `everyone` holds for all roles.

    A `{placeholder}` stands for a number of the run: `"the total of {cells} counts"`.
    """

    everyone: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] | None = None
    about: str = SEARCH
    """The topic under which a reader finds the sentences."""

    def __post_init__(self) -> None:
        for sentence in (*self.everyone, *(line for lines in self.by_role.values() for line in lines)):
            _placeholders(sentence)

    @property
    def by_role(self) -> Mapping[str, tuple[str, ...]]:
        """The sentences that hold for one role only."""
        return self.roles or {}

    def sentences(self, role: str = "everyone", **numbers: object) -> list[str]:
        """The sentences for that role, filled in with the run's numbers. A number that is missing is an error."""
        lines = [*self.everyone, *self.by_role.get(role, ())]
        missing = {name for line in lines for name in _placeholders(line)} - set(numbers)
        if missing:
            raise InputError(f"the ledger needs {', '.join(sorted(missing))}")
        spelled = {name: f"{value:,}" if type(value) is int else value for name, value in numbers.items()}
        return [counted(line.format(**spelled)) for line in lines]


Lesson = tuple[Leakage, Mapping[str, object]]
"""A step's leakage, and the numbers that its sentences mention."""


class Fact(msgspec.Struct, frozen=True):
    """A fact that a run taught: its topic, the fact in words, and the parties that learned it."""

    about: str
    fact: str
    learned_by: list[str]


def facts(by_party: Mapping[str, Sequence[str]], topics: Mapping[str, str]) -> list[Fact]:
    """Every fact once, by topic, from each party's sentences ("north learned the total.").

    `topics` has the topic of a fact; a fact without one is of the search.
    """
    found: dict[str, list[str]] = {}
    for name, sentences in by_party.items():
        for sentence in sentences:
            found.setdefault(sentence.removeprefix(f"{name} learned ").removesuffix("."), []).append(name)
    made = [Fact(topics.get(fact, SEARCH), fact, names) for fact, names in found.items()]
    return sorted(made, key=lambda each: TOPICS.index(each.about) if each.about in TOPICS else len(TOPICS))


def tell(facts: Sequence[Fact], parties: int, width: int, head: str, spell: Callable[[str], str]) -> list[str]:
    """Lines of that width: the facts of all that many parties, or of some, below a head that names who learns them."""
    lines = []
    for learners in dict.fromkeys(tuple(fact.learned_by) for fact in facts):
        who = "every party" if len(learners) == parties else listed(learners)
        lines.append(wrapped(head.format(who), width))
        own = [fact.fact for fact in facts if tuple(fact.learned_by) == learners]
        lines += [wrapped(spell(fact), width, "  - ", "    ") for fact in own]
    return lines


def rounded(text: str) -> str:
    """The text with large numbers as people say them: about 2.0 million, about 32,000. The ledger has them exactly."""
    return _LARGE.sub(_say, text)


def _say(found: re.Match[str]) -> str:
    value = int(found[0].replace(",", ""))
    if value < _EXACT_BELOW:
        return found[0]
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if value >= unit:
            return f"about {value / unit:.1f} {name}"
    return f"about {round(value, 2 - len(str(value))):,}"


@dataclass(frozen=True)
class Traffic:
    """Rounds, messages and bytes on the wire among all parties, frames' overhead included."""

    rounds: int = 0
    messages: int = 0
    bytes: int = 0

    @staticmethod
    def exchange(parties: int, size: int, messages: int = 1) -> Traffic:
        """A round in which every party sends every other so many messages, of `size` bytes together."""
        pairs = parties * (parties - 1)
        return Traffic(1, pairs * messages, pairs * size)

    def __add__(self, after: Traffic) -> Traffic:
        """Both, one after the other."""
        return Traffic(self.rounds + after.rounds, self.messages + after.messages, self.bytes + after.bytes)


@dataclass(frozen=True)
class Cost(Generic[P]):
    """The traffic of one run of given sizes. Tests hold rounds and messages to be exact and bytes to be within 2%."""

    of: Callable[P, Traffic]

    def rounds(self, *args: P.args, **kwargs: P.kwargs) -> int:
        """The rounds of such a run."""
        return self.of(*args, **kwargs).rounds

    def messages(self, *args: P.args, **kwargs: P.kwargs) -> int:
        """The messages of such a run."""
        return self.of(*args, **kwargs).messages

    def bytes(self, *args: P.args, **kwargs: P.kwargs) -> int:
        """The bytes of such a run."""
        return self.of(*args, **kwargs).bytes


def _placeholders(sentence: str) -> list[str]:
    names = [name for _, name, _, _ in Formatter().parse(sentence) if name is not None]
    if any(not name.isidentifier() for name in names):
        raise InputError("a ledger's placeholder is a plain name")
    return names
