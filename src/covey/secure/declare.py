"""Leakage and cost of a protocol, declared beside its roles in a form that tests and ledgers read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Generic, ParamSpec

from covey.errors import InputError

P = ParamSpec("P")


@dataclass(frozen=True)
class Leakage:
    """Sentences that say, for each role, what a run teaches it; `everyone` holds for all roles.

    A `{placeholder}` stands for a number of the run: `"the total of {cells} counts"`.
    """

    everyone: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] | None = None

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
        return [line.format(**numbers) for line in lines]


@dataclass(frozen=True)
class Cost(Generic[P]):
    """Rounds, messages and bytes on the wire of one run among all parties, frames' overhead included.

    Tests hold the rounds and messages to be exact and the bytes to be within 2%.
    """

    rounds: Callable[P, int]
    messages: Callable[P, int]
    bytes: Callable[P, int]


def _placeholders(sentence: str) -> list[str]:
    names = [name for _, name, _, _ in Formatter().parse(sentence) if name is not None]
    if any(not name.isidentifier() for name in names):
        raise InputError("a ledger's placeholder is a plain name")
    return names
