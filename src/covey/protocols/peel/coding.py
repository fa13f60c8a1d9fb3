"""Words of hierarchy digits: the key of a record at a node is a choice of the word's bits, so it costs nothing.

The digit of a column's level is the place of a record's label among the children of its label one level higher. A
column's word has the digits from the root down: the key on a level is the word without the digits below that level.
A label that stands on several levels has digits of 0 bits there; the leaf for missing values is a child of the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.errors import Aborted, InputError
from covey.hierarchy import Hierarchy

WIDEST = 62
"""Bits of one column's word, at most."""


@dataclass(frozen=True)
class ColumnCoding:
    """The words of one column: the word of each leaf, and the bits above each level's end."""

    leaves: Words
    ends: tuple[int, ...]
    """By level: how many bits of the word, from the first, make the key there; 0 at the root."""

    @property
    def width(self) -> int:
        """The number of bits of a word."""
        return self.ends[0]

    @classmethod
    def of(cls, tree: Hierarchy, name: str) -> ColumnCoding:
        """Returns the coding of a tree. Raises InputError where its digits need too many bits."""
        word, ends = np.zeros(tree.codes, np.uint64), [0]
        for level in range(tree.height - 1, -1, -1):
            places = _places(tree, level)
            bits = int(places.max()).bit_length()
            word = word << np.uint64(bits) | places.astype(np.uint64)
            ends.append(ends[-1] + bits)
        if ends[-1] > WIDEST:
            raise InputError(
                f"column {name!r}: the levels of its hierarchy need {ends[-1]} bits, and {WIDEST} is the most; "
                "leave out levels, or give labels fewer children"
            )
        return cls(word, tuple(reversed(ends)))

    def at(self, words: Words, level: int) -> Words:
        """Returns the words with zeros in place of the digits below a level."""
        below = np.uint64(self.width - self.ends[level])
        return np.asarray(words >> below << below, np.uint64)


@dataclass(frozen=True)
class Coding:
    """Words of whole records: the words of all columns, side by side; bit 0 is the first bit of the first column."""

    trees: tuple[Hierarchy, ...]
    columns: tuple[ColumnCoding, ...]

    @classmethod
    def of(cls, trees: Sequence[Hierarchy], names: Sequence[str]) -> Coding:
        """Returns the coding of the quasi columns, which are named in errors."""
        return cls(tuple(trees), tuple(ColumnCoding.of(*pair) for pair in zip(trees, names, strict=True)))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first bit of each column, and the number of all bits."""
        return tuple(np.cumsum([0, *(column.width for column in self.columns)]).tolist())

    @property
    def width(self) -> int:
        """The number of bits of a record's word."""
        return self.starts[-1]

    def words(self, codes: Ints) -> list[Words]:
        """Returns each column's words, from leaf codes (columns x records)."""
        return [column.leaves[leaves] for column, leaves in zip(self.columns, codes, strict=True)]

    def key(self, node: Sequence[int]) -> Longs:
        """Returns the bits of a word that make the key at a node (a level of each column)."""
        ranges = zip(
            self.starts, (column.ends[level] for column, level in zip(self.columns, node, strict=True)), strict=False
        )
        return np.concatenate([np.arange(0), *(np.arange(start, start + width) for start, width in ranges)])

    def masks(self, nodes: Ints) -> Bits:
        """Returns for each bit of a word (rows) and each node if the key there has it."""
        masks = np.zeros((self.width, len(nodes)), dtype=bool)
        for place, node in enumerate(nodes.tolist()):
            masks[self.key(node), place] = True
        return masks

    def digits(self) -> list[tuple[int, int, slice]]:
        """Returns the column, the level and the bits of each digit, from each column's root down."""
        return [
            (number, level, slice(start + column.ends[level + 1], start + column.ends[level]))
            for number, (start, column) in enumerate(zip(self.starts, self.columns, strict=False))
            for level in range(len(column.ends) - 2, -1, -1)
        ]

    def labels(self, bits: Bits, levels: Ints) -> Ints:
        """Returns the tree node of each cell (columns x records), from opened bits (bits x records) and levels.

        Bits below a level count as 0. Raises Aborted for digits that no label has.
        """
        labels = np.empty(levels.shape, np.int32)
        for number, (tree, column) in enumerate(zip(self.trees, self.columns, strict=True)):
            words = np.zeros(bits.shape[1], np.uint64)
            for bit in bits[self.starts[number] : self.starts[number + 1]]:
                words = words << np.uint64(1) | bit.astype(np.uint64)
            for level in np.unique(levels[number]).tolist():
                here = np.flatnonzero(levels[number] == level)
                known, leaf = np.unique(column.at(column.leaves, level), return_index=True)
                place = np.minimum(np.searchsorted(known, column.at(words[here], level)), len(known) - 1)
                if (known[place] != column.at(words[here], level)).any():
                    raise Aborted(
                        "a class has a label that no hierarchy of the study has: a holder did not share what the "
                        "study says; nothing is written",
                        resumable=False,
                    )
                labels[number, here] = tree.up[level][leaf[place]]
        return labels


def _places(tree: Hierarchy, level: int) -> Longs:
    """Returns for each leaf the place of its label among the children of the label one level higher."""
    order = np.lexsort((tree.up[level], tree.up[level + 1]))
    parent, child = tree.up[level + 1][order], tree.up[level][order]
    first = np.r_[True, parent[1:] != parent[:-1]]
    number = np.cumsum(np.r_[True, child[1:] != child[:-1]] | first) - 1
    places = np.empty(tree.codes, np.int64)
    places[order] = number - np.maximum.accumulate(np.where(first, number, 0))
    return places


def bits_of(words: Words, width: int) -> Bits:
    """Returns the bits (bits x records) of words as a box opens them: 64 bits a machine word."""
    chunks, bits = np.atleast_2d(words), np.zeros((width, words.shape[-1]), dtype=bool)
    for bit in range(width):
        chunk, place = divmod(bit, 64)
        bits[bit] = chunks[chunk] >> np.uint64(min(width - 64 * chunk, 64) - 1 - place) & np.uint64(1)
    return bits


def side_by_side(columns: Sequence[Words], widths: Sequence[int]) -> Words:
    """Returns words of several columns as a box shares them: the bits of one behind those of the other."""
    bits = np.concatenate([bits_of(*column) for column in zip(columns, widths, strict=True)])
    chunks = np.zeros((max(1, -(-len(bits) // 64)), bits.shape[1]), np.uint64)
    for place, bit in enumerate(bits):
        chunks[place // 64] = chunks[place // 64] << np.uint64(1) | bit.astype(np.uint64)
    return chunks
