"""Openings as data: what was opened, how often and how much. Sentences are made of it last, by whoever prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Disclosure:
    """An opening's meaning for everybody: the key of a sentence, and numbers for it."""

    key: str
    numbers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Opening:
    """One opening as it happened: what it says, how many records of how many bits, after how many rounds, to whom.

    `to` is the number of the only party that reads it, or None if everybody does.
    """

    says: Disclosure
    records: int
    width: int
    round: int
    to: int | None = None


@dataclass(frozen=True)
class Total:
    """All openings of one key."""

    key: str
    numbers: Mapping[str, int]
    times: int
    records: int
    bits: int


def totals(ledger: Sequence[Opening]) -> list[Total]:
    """Returns a total for each key, in the order of first appearance; of its numbers the last ones count."""
    out: dict[str, Total] = {}
    for entry in ledger:
        key = entry.says.key
        old = out.get(key, Total(key, {}, 0, 0, 0))
        bits = old.bits + entry.records * entry.width
        out[key] = Total(key, {**old.numbers, **entry.says.numbers}, old.times + 1, old.records + entry.records, bits)
    return list(out.values())
