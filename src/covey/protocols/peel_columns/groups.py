"""Groups of people, as the evaluator answers and as holders check them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs

Groups = list[Longs]
"""The members of each group: positions, or people."""


def of_numbers(number: Longs, least: int) -> Groups:
    """The positions that share a number, wherever `least` or more do."""
    order = np.argsort(number, kind="stable")
    ordered = number[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(order) else order[:0]
    return [members for members in np.split(order, starts[1:]) if len(members) >= max(least, 1)]


def pack(answers: Sequence[Groups]) -> bytes:
    """The groups of several visits: of each the number of groups, their sizes, and their members."""
    parts = [np.zeros(0, np.int64)]
    for groups in answers:
        parts += [np.array([len(groups), *map(len, groups)], np.int64), *groups]
    return np.concatenate(parts).astype("<u4").tobytes()


def unpack(raw: bytes, visits: int, people: int, least: int) -> list[Groups]:
    """The same back. Raises ValueError for what are no groups of `least` or more, no two of one visit with a member
    in common."""
    if len(raw) % 4:
        raise ValueError("bytes that are no numbers")
    words, at, answers = np.frombuffer(raw, dtype="<u4").astype(np.int64), 0, []
    for _ in range(visits):
        count = int(words[at]) if at < len(words) else people + 1
        sizes = words[at + 1 : at + 1 + count]
        if len(sizes) < count or (sizes < least).any() or sizes.sum() > people:
            raise ValueError(f"a group of fewer than {least}, or more members than there are")
        at += 1 + count
        members = words[at : at + int(sizes.sum())]
        if len(members) < sizes.sum() or (members >= people).any() or len(np.unique(members)) < len(members):
            raise ValueError("a member that there is not, or one twice")
        at += len(members)
        answers.append(list(np.split(members, np.cumsum(sizes)[:-1])) if count else [])
    if at != len(words):
        raise ValueError("more than was asked for")
    return answers
