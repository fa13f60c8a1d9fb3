"""Peeling by a trusted party, in plain dicts and lists. It shares no code with the rule, the box and the coding.

Given are records, each label's path to the root, what every class keeps, and a policy: which nodes come next.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Record:
    """One record: its labels on each level of each column, its holder, its sensitive values, its cell."""

    paths: tuple[tuple[str, ...], ...]
    holder: int
    values: tuple[str, ...]
    cell: int


@dataclass(frozen=True)
class Asked:
    """What a study asks of every class, as it is written."""

    k: int
    holders: int
    k_insider: int
    most_of_a_class: Fraction | None
    l: Fraction | None  # noqa: E741
    distinct: bool
    l_insider: Fraction | None


Node = tuple[int, ...]
Class = tuple[Node, tuple[str, ...], list[Record]]
Policy = Callable[[Sequence[Class], int], Sequence[Node]]
"""Returns the nodes of the next window, from the classes so far and the number of records left; none at the end."""


def kept(members: Sequence[Record], asked: Asked) -> bool:
    """Returns True if these records may be a class."""
    size, held = len(members), Counter(record.holder for record in members)
    others = [size - held[holder] for holder in range(asked.holders)]
    good = size >= asked.k and all(number in (0, *range(asked.k_insider, size + 1)) for number in others)
    if asked.most_of_a_class is not None:
        good &= max(held.values()) <= asked.most_of_a_class * size
    for column in range(len(members[0].values)):
        seen = Counter(record.values[column] for record in members)
        if asked.l is not None:
            good &= len(seen) >= asked.l if asked.distinct else max(seen.values()) * asked.l <= size
        for holder in range(asked.holders if asked.l_insider is not None else 0):
            rest = [record.values[column] for record in members if record.holder != holder]
            good &= max(Counter(rest).values(), default=0) * (asked.l_insider or 0) <= len(rest)
    return good


def peeled(records: Sequence[Record], asked: Asked, by_node: bool, policy: Policy) -> tuple[list[Class], list[int]]:
    """Returns the classes, and how many records were left before each window."""
    left, classes, history = list(records), list[Class](), list[int]()
    least = asked.k if asked.holders < 2 else max(asked.k, asked.k_insider)
    while len(left) >= least and (nodes := policy(classes, len(left))):
        history.append(len(left))
        picked: dict[int, tuple[Node, tuple[str, ...]]] = {}
        for node in nodes:
            for labels, members in grouped(left, {record.cell: labels_at(record, node) for record in left}).items():
                tests_all = by_node or len(nodes) == 1
                if kept(members, asked) if tests_all else len(members) >= least:
                    for record in members:
                        picked.setdefault(record.cell, (node, labels))
        pickers = [record for record in left if record.cell in picked]
        for (node, labels), members in grouped(pickers, picked).items():
            if kept(members, asked):
                classes.append((node, labels, members))
        gone = {record.cell for _, _, members in classes for record in members}
        left = [record for record in left if record.cell not in gone]
    return classes, history


def grouped(records: Sequence[Record], keys: Mapping[int, Key]) -> dict[Key, list[Record]]:
    """Returns the records by their key; keys are given by cell."""
    groups = defaultdict(list)
    for record in records:
        groups[keys[record.cell]].append(record)
    return groups


def labels_at(record: Record, node: Node) -> tuple[str, ...]:
    """Returns the labels of a record at a node."""
    return tuple(path[level] for path, level in zip(record.paths, node, strict=True))


def narrowest(members: Sequence[Record]) -> tuple[str, ...]:
    """Returns in each column the first label on the way up that all records have."""
    columns = zip(*(record.paths for record in members), strict=True)
    return tuple(next(labels[0] for labels in zip(*paths, strict=True) if len(set(labels)) == 1) for paths in columns)
