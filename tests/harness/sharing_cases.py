"""What the harness tries besides `tests.harness.cases`: the forms for two parties, and the paper's rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tests.harness import canaries
from tests.harness.network import seed_of
from tests.harness.spent import Spent
from tests.harness.trial import Case, Marked, Trial, of_block

from covey.arrays import Bits, Words
from covey.crypto.rng import Rng, Stream
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.cluster_rows import ancestor, rings
from covey.protocols.as_printed.cluster_rows.descent import NOTHING, Nodes
from covey.secure import conjunction, match
from covey.secure.match import Text
from covey.wire import Channel

PAIR = ("a", "b")
THREE = ("a", "b", "c")


def _stream(seed: int, *labels: str) -> Stream:
    return Rng(seed_of(seed)).stream("trial", *labels)


def _bits(text: str) -> Bits:
    return np.array([mark == "1" for mark in text])


# -- match


def _match(texts: Mapping[str, Sequence[Text]]) -> Trial:
    async def role(channel: Channel, mine: Sequence[Text]) -> object:
        found = await match.matches(channel, mine)
        return None if found is None else found.tolist()

    width, declared = len(next(iter(texts.values()))), match.COST
    cost = Spent(declared.rounds(width), declared.messages(width), declared.bytes(width))
    return of_block("match", texts, role, dict.fromkeys(texts, match.ideal(texts).tolist()), cost)


def _draw_texts(seed: int) -> Trial:
    stream = _stream(seed, "match")
    width = 1 + stream.below(20)
    choices: tuple[Text, ...] = (None, b"x", b"y")
    return _match({name: [choices[stream.below(3)] for _ in range(width)] for name in PAIR})


def _marked_match() -> Marked:
    words = {name: canaries.texts(name) for name in PAIR}
    return Marked(_match({name: [word.encode() for word in own] for name, own in words.items()}), texts=words)


MATCH = Case(
    "match",
    _draw_texts,
    lambda: _match({"a": [b"x", None], "b": [b"x", b"y"]}),
    lambda: (
        _match({"a": [b"x", b"y", None], "b": [b"x", b"z", b"u"]}),
        _match({"a": [b"u", None, None], "b": [b"u", None, None]}),
    ),
    _marked_match,
)


# -- the AND and the ancestor of two


def _and_of_two(bits: Mapping[str, Bits]) -> Trial:
    async def role(channel: Channel, mine: Bits) -> object:
        found = await conjunction.conjoin(channel, mine, receiver="b")
        return None if found is None else found.tolist()

    width, declared = len(next(iter(bits.values()))), conjunction.COST
    cost = Spent(declared.rounds(2, width, True), declared.messages(2, width, True), declared.bytes(2, width, True))
    return of_block("and of two", bits, role, {"a": None, "b": conjunction.ideal(bits).tolist()}, cost)


def _draw_two(seed: int) -> Trial:
    stream = _stream(seed, "and of two")
    width = 1 + stream.below(20)
    return _and_of_two({name: stream.words(width) % np.uint64(4) > 0 for name in PAIR})


AND_OF_TWO = Case(
    "and of two",
    _draw_two,
    lambda: _and_of_two({"a": _bits("11"), "b": _bits("10")}),
    lambda: (
        _and_of_two({"a": _bits("1100"), "b": _bits("1000")}),
        _and_of_two({"a": _bits("1011"), "b": _bits("1000")}),
    ),
)

_TREE = Hierarchy.from_paths([[leaf, group, "*"] for leaf, group in ("aA", "bA", "cB", "dB", "eB")])


def _ancestor_of_two(nodes: Mapping[str, Nodes]) -> Trial:
    async def role(channel: Channel, mine: Nodes) -> object:
        found = await ancestor.common(channel, [_TREE], mine)
        return None if found is None else found.tolist()

    first = next(iter(nodes.values()))
    size = (2, ancestor.places([_TREE], ancestor.roots([_TREE], len(first)), 2), first.size)
    declared = ancestor.COST
    cost = Spent(declared.rounds(*size), declared.messages(*size), declared.bytes(*size))
    answer = ancestor.ideal([_TREE], nodes).tolist()
    return of_block("ancestor of two", nodes, role, dict.fromkeys(nodes, answer), cost)


def _nodes(*codes: int) -> Nodes:
    return np.array([[code] for code in codes], dtype=np.int32)


def _draw_nodes(seed: int) -> Trial:
    stream = _stream(seed, "ancestor of two")
    clusters = 1 + stream.below(5)
    return _ancestor_of_two({name: _nodes(*(stream.below(6) - 1 for _ in range(clusters))) for name in PAIR})


ANCESTOR_OF_TWO = Case(
    "ancestor of two",
    _draw_nodes,
    lambda: _ancestor_of_two({"a": _nodes(0, NOTHING), "b": _nodes(1, 2)}),
    lambda: (
        _ancestor_of_two({"a": _nodes(0, 2, NOTHING), "b": _nodes(1, 3, 4)}),
        _ancestor_of_two({"a": _nodes(1, 4, NOTHING), "b": _nodes(0, 3, 4)}),
    ),
)


# -- the paper's rings


def _ring_sum(vectors: Mapping[str, Words]) -> Trial:
    async def role(channel: Channel, mine: Words) -> object:
        return (await rings.total(channel, mine)).tolist()

    n, width, declared = len(vectors), len(next(iter(vectors.values()))), rings.SUM_COST
    cost = Spent(declared.rounds(n, width), declared.messages(n, width), declared.bytes(n, width))
    return of_block("ring sum", vectors, role, dict.fromkeys(vectors, rings.ideal_total(vectors).tolist()), cost)


def _draw_vectors(seed: int) -> Trial:
    stream = _stream(seed, "ring sum")
    width = 1 + stream.below(30)
    return _ring_sum({name: stream.words(width) for name in THREE})


def _marked_ring_sum() -> Marked:
    figures = {name: canaries.numbers(name) for name in THREE}
    return Marked(_ring_sum({name: np.array(own, dtype=np.uint64) for name, own in figures.items()}), numbers=figures)


def _words(*numbers: int) -> Words:
    return np.array(numbers, dtype=np.uint64)


RING_SUM = Case(
    "ring sum",
    _draw_vectors,
    lambda: _ring_sum({"a": _words(1), "b": _words(2), "c": _words(3)}),
    lambda: (
        _ring_sum({"a": _words(5, 0), "b": _words(1, 7), "c": _words(1, 1)}),
        _ring_sum({"a": _words(0, 8), "b": _words(0, 0), "c": _words(7, 0)}),
    ),
    _marked_ring_sum,
)


def _ring_and(bits: Mapping[str, Bits]) -> Trial:
    async def role(channel: Channel, mine: Bits) -> object:
        return (await rings.conjoin(channel, mine)).tolist()

    n, width, declared = len(bits), len(next(iter(bits.values()))), rings.AND_COST
    cost = Spent(declared.rounds(n, width), declared.messages(n, width), declared.bytes(n, width))
    return of_block("ring and", bits, role, dict.fromkeys(bits, rings.ideal_and(bits).tolist()), cost)


def _draw_ring_bits(seed: int) -> Trial:
    stream = _stream(seed, "ring and")
    width = 1 + stream.below(40)
    return _ring_and({name: stream.words(width) % np.uint64(4) > 0 for name in THREE})


RING_AND = Case(
    "ring and",
    _draw_ring_bits,
    lambda: _ring_and({"a": _bits("11"), "b": _bits("11"), "c": _bits("10")}),
    lambda: (
        _ring_and({"a": _bits("1100"), "b": _bits("1010"), "c": _bits("1111")}),
        _ring_and({"a": _bits("1000"), "b": _bits("1000"), "c": _bits("1000")}),
    ),
)

SHARING_CASES = (MATCH, AND_OF_TWO, ANCESTOR_OF_TWO, RING_SUM, RING_AND)
