"""Diversity before anything is submitted: classes that fall short are merged, and nobody sees in which value.

Source    ours; the paper leaves it open. The members' marks of a sensitive value add up to how many have it, encrypted.
          By frequency: is a value's number one of those that are too many? All these tests of a class and column are
          brought into random order, so that only how many values are too frequent is opened. By distinct values: how
          many of the numbers are zero. A class that fails joins a neighbour on the line, and is tested again; the sums
          are added up, and respondents are not asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts
from covey.protocols.collect.answers import Layout
from covey.protocols.collect.divide import merge
from covey.protocols.collect.terms import Terms
from covey.protocols.collect.zeros import Tester


async def settle(
    tester: Tester, terms: Terms, layout: Layout, places: Longs, group: Longs, sums: list[Ciphertexts]
) -> tuple[Longs, list[Ciphertexts], int]:
    """The classes and their sums once all are diverse, and how many classes had fallen short on the way."""
    untested = list(range(len(sums)))
    short = 0
    while untested:
        sizes = np.bincount(group)
        failed = await failed_of(
            tester, terms, layout, [sums[own] for own in untested], [int(sizes[own]) for own in untested]
        )
        failing = [untested[place] for place in failed]
        short += len(failing)
        if not failing:
            break
        merged = merge(places, group, failing)
        starts = np.searchsorted(group, np.arange(len(sums)))
        number = merged[starts]
        parts = [np.flatnonzero(number == own).tolist() for own in range(int(merged.max()) + 1)]
        sums = [reduce(Ciphertexts.plus, (sums[own] for own in part)) for part in parts]
        group, untested = merged, [own for own, part in enumerate(parts) if len(part) > 1]
    return group, sums, short


async def failed_of(
    tester: Tester, terms: Terms, layout: Layout, sums: Sequence[Ciphertexts], sizes: Sequence[int]
) -> list[int]:
    """Which of these classes are not diverse."""
    tests: list[Ciphertexts] = []
    groups: list[int] = []
    owner: list[tuple[int, int]] = []
    for own, (total, size) in enumerate(zip(sums, sizes, strict=True)):
        for first, values in layout.values:
            counts = total.slice(first - 1, first - 1 + values)
            excessive = range(1) if terms.diversity == "distinct" else range(most(terms, size) + 1, size + 1)
            if not len(excessive):
                continue
            for number in excessive:
                tests.append(counts.plus_numbers([-number] * values) if number else counts)
            groups.append(values * len(excessive))
            owner.append((own, values))
    if not tests:
        return []
    zeros = await tester.zeros_in(Ciphertexts.join(tests), groups)
    return sorted({own for (own, values), found in zip(owner, zeros, strict=True) if not _passes(terms, values, found)})


def most(terms: Terms, size: int) -> int:
    """How many members of a class may share a value."""
    return size if terms.l is None else int(size / terms.l)


def _passes(terms: Terms, values: int, zeros: int) -> bool:
    if terms.diversity == "distinct":
        return terms.l is None or values - zeros >= terms.l
    return zeros == 0


def is_diverse(terms: Terms, counts: Sequence[int]) -> bool:
    """The same on numbers that are seen: for the ideal."""
    if terms.diversity == "distinct":
        return terms.l is None or sum(count > 0 for count in counts) >= terms.l
    return max(counts) <= most(terms, sum(counts))
