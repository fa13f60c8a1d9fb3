"""Diversity before anything is submitted: classes that fall short are merged, and nobody sees by which value.

Source    ours; the paper leaves it open. The members' marks of a sensitive value add up to its encrypted count. By
          frequency, each count is tested against every number that is too large; all tests of a class and column come
          in random order, so that only the number of too frequent values is opened. By distinct values, the number of
          counts that are zero is opened. A class that fails joins a neighbour on the line and is tested again: sums
          are added up, and respondents are not asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts
from covey.protocols.as_printed.collect.answers import Layout
from covey.protocols.as_printed.collect.line import merge
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.as_printed.collect.zero_test import Tester


async def settle(
    tester: Tester, parameters: Parameters, layout: Layout, places: Longs, group: Longs, sums: list[Ciphertexts]
) -> tuple[Longs, list[Ciphertexts], int]:
    """The classes and their sums once all are diverse, and how many classes had fallen short on the way."""
    untested = list(range(len(sums)))
    short = 0
    while untested:
        sizes = np.bincount(group)
        failed = await failed_of(
            tester, parameters, layout, [sums[own] for own in untested], [int(sizes[own]) for own in untested]
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
    tester: Tester, parameters: Parameters, layout: Layout, sums: Sequence[Ciphertexts], sizes: Sequence[int]
) -> list[int]:
    """The places of those classes that are not diverse."""
    tests: list[Ciphertexts] = []
    groups: list[int] = []
    owner: list[tuple[int, int]] = []
    for own, (total, size) in enumerate(zip(sums, sizes, strict=True)):
        for first, values in layout.values:
            counts = total.slice(first - 1, first - 1 + values)
            excessive = range(1) if parameters.diversity == "distinct" else range(most(parameters, size) + 1, size + 1)
            if not len(excessive):
                continue
            for number in excessive:
                tests.append(counts.plus_numbers([-number] * values) if number else counts)
            groups.append(values * len(excessive))
            owner.append((own, values))
    if not tests:
        return []
    zeros = await tester.zeros_in(Ciphertexts.join(tests), groups)
    return sorted(
        {own for (own, values), found in zip(owner, zeros, strict=True) if not _passes(parameters, values, found)}
    )


def most(parameters: Parameters, size: int) -> int:
    """The most members of a class that may share a value."""
    return size if parameters.l is None else int(size / parameters.l)


def _passes(parameters: Parameters, values: int, zeros: int) -> bool:
    if parameters.diversity == "distinct":
        return parameters.l is None or values - zeros >= parameters.l
    return zeros == 0


def is_diverse(parameters: Parameters, counts: Sequence[int]) -> bool:
    """The same test on plain counts, for the ideal."""
    if parameters.diversity == "distinct":
        return parameters.l is None or sum(count > 0 for count in counts) >= parameters.l
    return max(counts) <= most(parameters, sum(counts))
