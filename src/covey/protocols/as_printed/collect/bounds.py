"""The classes' boxes: for each class and column the lowest node above all members, and no more than that takes.

Source    Xue and others, section 4.5, which finds each class's minimum and maximum by comparisons; their outcomes
          would give ranks away. Here it is a binary search on thermometers: their sum at a code is zero if all
          members lie above the code, and the class's size if none does. The outcome of every test follows from the
          minimum and the maximum. The search ends once these, whatever they are, have one common ancestor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Ints
from covey.crypto.elgamal import Ciphertexts
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.collect.answers import Layout
from covey.protocols.as_printed.collect.zero_test import Tester


@dataclass
class Search:
    """The bounds so far of one class's values in one column: the codes between which the lowest and the highest lie."""

    tree: Hierarchy
    lowest: list[int] = field(init=False)
    highest: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.lowest = [0, self.tree.codes - 1]
        self.highest = [0, self.tree.codes - 1]

    @property
    def node(self) -> int | None:
        """The lowest common ancestor, once it is certain."""
        inner, outer = (self.lowest[1], self.highest[0]), (self.lowest[0], self.highest[1])
        if inner[0] > inner[1]:
            return None
        ends = np.array([inner, outer], dtype=np.int32)
        ancestors = self.tree.common_ancestor(ends[:, 0], ends[:, 1])
        return int(ancestors[0]) if ancestors[0] == ancestors[1] else None

    def questions(self) -> list[tuple[bool, int]]:
        """The codes to test now: is nobody at or below it (for the lowest), is everybody (for the highest)?"""
        if self.node is not None:
            return []
        asked = []
        for highest, (first, last) in ((False, self.lowest), (True, self.highest)):
            if first < last:
                asked.append((highest, (first + last) // 2))
        return asked

    def learn(self, highest: bool, code: int, answer: bool) -> None:
        """Nobody, or everybody, is at or below the code; or not."""
        if highest:
            self.highest[1 if answer else 0] = code if answer else code + 1
        else:
            self.lowest[0 if answer else 1] = code + 1 if answer else code
        self.highest[0] = max(self.highest[0], self.lowest[0])
        self.lowest[1] = min(self.lowest[1], self.highest[1])


async def find(
    tester: Tester, layout: Layout, trees: Sequence[Hierarchy], sums: Sequence[Ciphertexts], sizes: Sequence[int]
) -> Ints:
    """Each class's nodes, classes x columns; `sums` are its members' marks, added up."""
    searches = [[Search(tree) for tree in trees] for _ in sums]
    while True:
        asked = [
            (own, column, highest, code)
            for own, columns in enumerate(searches)
            for column, search in enumerate(columns)
            for highest, code in search.questions()
        ]
        if not asked:
            return np.array([[search.node for search in columns] for columns in searches], dtype=np.int32)
        below = [_at(layout, sums[own], column, code) for own, column, _, code in asked]
        less = [-sizes[own] if highest else 0 for own, _, highest, _ in asked]
        answers = await tester.zeros(Ciphertexts.join(below).plus_numbers(less))
        for (own, column, highest, code), answer in zip(asked, answers.tolist(), strict=True):
            searches[own][column].learn(highest, code, answer)


def _at(layout: Layout, total: Ciphertexts, column: int, code: int) -> Ciphertexts:
    place = layout.thermometers[column] + code - 1  # the position, which stands first, is not among the sums
    return total.slice(place, place + 1)
