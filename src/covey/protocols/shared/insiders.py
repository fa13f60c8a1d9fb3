"""Insiders: a party knows its own rows, subtracts them from a class, and sees the records of others that remain.

The *insider k* of a release is the fewest records of others that any party sees in a class where it sees some. Each
party finds its own from the classes' public sizes; the joint minimum is found by ANDs of bits "mine is t or more", so
that nobody learns whose it is, nor in which class. Two parties know each other's numbers, and compute it alone.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Aborted
from covey.protocols.protocol import LedgerWriter
from covey.secure.declare import Leakage
from covey.study import Study
from covey.study.insiders import asked

Conjoin = Callable[[Bits], Awaitable[Bits | None]]
"""A secure AND of everyone's bits, for everyone."""

BEFORE = Leakage(
    everyone=(
        "the insider k, which is the fewest records of others that any party sees in a class where it sees some; not "
        "who, nor where",
    )
)
REACHED = Leakage(everyone=("that the insider k is {insider}",))
UNPROTECTED = Leakage(
    everyone=(
        "perhaps single persons' sensitive values: the study has k_insider = 1, and a party that subtracts its own "
        "rows from a class may be left with one record of another party",
    )
)


def before(study: Study) -> tuple[Leakage, ...]:
    """The leakage that is known before the insider k is computed."""
    return (BEFORE, UNPROTECTED) if asked(study.privacy) == 1 else (BEFORE,)


async def learn(ledger: LedgerWriter, study: Study, conjoin: Conjoin, sizes: Longs, own: Longs) -> int:
    """The insider k of classes of these sizes, in which this party has `own` records; the ledger says so."""
    for known in before(study):
        ledger.learns(known)
    reached = await insider_k(conjoin, sizes, own, study.privacy.k, two=len(study.parties) == 2)
    ledger.learns(REACHED, insider=reached)
    return reached


def few_others(sizes: Longs, own: Longs, fewest: int) -> Bits:
    """The classes in which a party with these own records sees some of others, but fewer than that."""
    others = sizes - own
    return (others > 0) & (others < fewest)


async def insider_k(conjoin: Conjoin, sizes: Longs, own: Longs, k: int, *, two: bool) -> int:
    """The insider k of classes of these sizes, in which this party has `own` records.

    Bits for 1 to k are joined first, then for twice as many more, until one is not set: a class shows its records to
    whoever has none in it, so that some party's bit falls.
    """
    if two:
        return fewest_of_all(sizes, [own, sizes - own])
    mine = _fewest(sizes, own)
    first, width = 1, k
    while True:
        fine = await conjoin(np.arange(first, first + width) <= mine)
        if fine is None:
            raise TypeError("every party is a receiver here")
        if not fine.all():
            return first - 1 + int(np.argmin(fine))
        if first > sizes.max(initial=0):
            raise Aborted("the insider k is impossible: a party did not keep to the protocol", resumable=False)
        first, width = first + width, 2 * width


def fewest_of_all(sizes: Longs, owns: Sequence[Longs]) -> int:
    """The insider k, from everyone's records in each class: a trusted party's answer."""
    return int(min(_fewest(sizes, own) for own in owns))


def _fewest(sizes: Longs, own: Longs) -> float:
    """The fewest records of others in a class that has some; without end for a party that has all records."""
    others = sizes - own
    return float(others[others > 0].min()) if (others > 0).any() else math.inf


def foretell(study: Study, rows_of: Mapping[str, int]) -> int | None:
    """An estimate of the insider k from the numbers of rows, if classes have k to 2k - 1 records dealt at random.

    It is the fewest records of others that half a class or more is expected to show some party, and no fewer than the
    study asks for. None where there are too few rows to tell, or one party has all.
    """
    k, records = study.privacy.k, sum(rows_of.values())
    sizes = np.arange(k, 2 * k)
    classes = records / sizes.sum()  # of each size
    parts = [rows / records for rows in rows_of.values() if 0 < rows < records]
    for fewest in range(1, 2 * k):
        chances = [_chance(size, fewest, part) for size in sizes.tolist() if size >= fewest for part in parts]
        if classes * sum(chances) >= 0.5:
            return max(fewest, asked(study.privacy))
    return None


def _chance(size: int, others: int, part: float) -> float:
    """The chance that so many of a class's records are not a party's that has this part of all."""
    ways = math.lgamma(size + 1) - math.lgamma(others + 1) - math.lgamma(size - others + 1)
    return math.exp(ways + others * math.log(1 - part) + (size - others) * math.log(part))
