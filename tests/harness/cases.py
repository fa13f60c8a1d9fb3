"""Everything that the harness tries: a protocol or a block joins by one line in `CASES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from tests.harness import canaries
from tests.harness.cluster_cases import CLUSTER_CASES
from tests.harness.collect_cases import COLLECT
from tests.harness.columns_cases import COLUMNS_CASES
from tests.harness.committee_cases import COMMITTEE_CASES
from tests.harness.federate_cases import FEDERATE_CASES
from tests.harness.generalize_cases import GENERALIZE_CASES
from tests.harness.network import seed_of
from tests.harness.peel_cases import PEEL_CASES
from tests.harness.peel_columns_cases import PEEL_COLUMNS_CASES
from tests.harness.peel_respondents_cases import PEEL_RESPONDENTS
from tests.harness.several_cases import SEVERAL_CASES
from tests.harness.sharing_cases import SHARING_CASES
from tests.harness.spent import Spent
from tests.harness.suppress_cases import SUPPRESS_CASES
from tests.harness.trial import Case, Marked, Trial, of_block, of_study

from covey.arrays import Bits, Ints, Words
from covey.crypto.rng import Rng, Stream
from covey.hierarchy import Hierarchy
from covey.protocols import count
from covey.protocols.as_printed.cluster_rows import ancestor
from covey.protocols.as_printed.federate import cardinality
from covey.secure import align, conjunction, join, shuffle
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.table import build, read
from covey.wire import Channel

Nodes = Ints
NAMES = ("a", "b", "c")


def _stream(seed: int, *labels: str) -> Stream:
    return Rng(seed_of(seed)).stream("trial", *labels)


# -- count


_STUDY = """
[study]
name = "ages"
protocol = "count"
partition = "horizontal"
[privacy]
k = 3
[protocol]
column = "age"
level = 1
[columns.patient]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10, 50] }
[columns.note]
role = "plain"
"""
_SITES = ("east", "north", "south")


def _ages(ages: Mapping[str, Sequence[int]], words: Mapping[str, Sequence[str]] | None = None) -> Trial:
    study = Study.parse(_STUDY + "".join(f"[parties.{name}]\n" for name in _SITES))
    tables = {}
    for name in _SITES:
        own = words[name] if words else [f"{name} {place}" for place in range(len(ages[name]))]
        frame = pa.table({"patient": own, "age": [str(age) for age in ages[name]], "note": own})
        tables[name] = build(read(frame.to_batches(), study.columns, name), study)
    bands = len(count.Bands.of(study).nodes)
    cost = Spent(count.COST.rounds(3, bands), count.COST.messages(3, bands), count.COST.bytes(3, bands))
    return of_study(study, count.PROTOCOL, tables, cost)


def _draw_ages(seed: int) -> Trial:
    stream = _stream(seed, "ages")
    return _ages({name: [stream.below(100) for _ in range(1 + stream.below(9))] + [31, 32, 33] for name in _SITES})


def _marked_ages() -> Marked:
    words = {name: canaries.texts(name) for name in _SITES}
    stream = _stream(0, "marked ages")
    ages = {name: [stream.below(100) for _ in words[name]] for name in _SITES}
    return Marked(_ages(ages, words), texts=words)


COUNT = Case(
    name="count",
    draw=_draw_ages,
    smallest=lambda: _ages({"east": [31], "north": [32], "south": [33]}),
    twins=lambda: (
        _ages({"east": [31, 32], "north": [33, 72], "south": [75, 79]}),
        _ages({"east": [75], "north": [31, 33, 34, 72], "south": [79]}),
    ),
    marked=_marked_ages,
)


# -- sum


def _sum(vectors: Mapping[str, Words]) -> Trial:
    width = len(next(iter(vectors.values())))
    n = len(vectors)
    total = secure_sum.ideal(vectors).tolist()

    async def role(channel: Channel, mine: Words) -> object:
        return (await secure_sum.total(channel, mine)).tolist()

    cost = Spent(
        *(part(n, width) for part in (secure_sum.COST.rounds, secure_sum.COST.messages, secure_sum.COST.bytes))
    )
    return of_block("sum", vectors, role, dict.fromkeys(vectors, total), cost)


def _draw_vectors(seed: int) -> Trial:
    stream = _stream(seed, "sum")
    width = 1 + stream.below(30)
    return _sum({name: stream.words(width) for name in NAMES})


def _marked_sum() -> Marked:
    figures = {name: canaries.numbers(name) for name in NAMES}
    return Marked(_sum({name: np.array(own, dtype=np.uint64) for name, own in figures.items()}), numbers=figures)


def _twin_sums() -> tuple[Trial, Trial]:
    return (
        _sum({"a": np.array([5, 0], np.uint64), "b": np.array([1, 7], np.uint64), "c": np.array([1, 1], np.uint64)}),
        _sum({"a": np.array([0, 8], np.uint64), "b": np.array([0, 0], np.uint64), "c": np.array([7, 0], np.uint64)}),
    )


SUM = Case("sum", _draw_vectors, lambda: _draw_vectors(1), _twin_sums, _marked_sum)


# -- conjunction


def _and(bits: Mapping[str, Bits]) -> Trial:
    width = len(next(iter(bits.values())))
    n = len(bits)
    answer = conjunction.ideal(bits).tolist()

    async def role(channel: Channel, mine: Bits) -> object:
        found = await conjunction.conjoin(channel, mine)
        return None if found is None else found.tolist()

    declared = conjunction.COST
    cost = Spent(declared.rounds(n, width), declared.messages(n, width), declared.bytes(n, width))
    return of_block("conjunction", bits, role, dict.fromkeys(bits, answer), cost)


def _draw_bits(seed: int) -> Trial:
    stream = _stream(seed, "and")
    width = 1 + stream.below(40)
    return _and({name: stream.words(width) % np.uint64(4) > 0 for name in NAMES})


def _marked_and() -> Marked:
    figures = {name: canaries.numbers(name) for name in NAMES}
    bits = {
        name: np.unpackbits(np.array(own, dtype="<u8").view(np.uint8)).astype(np.bool_) for name, own in figures.items()
    }
    return Marked(_and(bits), numbers=figures)


def _bits(text: str) -> Bits:
    return np.array([mark == "1" for mark in text])


CONJUNCTION = Case(
    "conjunction",
    _draw_bits,
    lambda: _and({"a": _bits("11"), "b": _bits("11"), "c": _bits("10")}),
    lambda: (
        _and({"a": _bits("1100"), "b": _bits("1010"), "c": _bits("1111")}),
        _and({"a": _bits("1000"), "b": _bits("1000"), "c": _bits("1000")}),
    ),
    _marked_and,
)


# -- ancestor


_TREE = Hierarchy.from_paths(
    [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"], ["e", "e-f", "*"], ["f", "e-f", "*"]]
)


def _ancestor(nodes: Mapping[str, Nodes]) -> Trial:
    trees = [_TREE]
    first = next(iter(nodes.values()))
    answer = ancestor.ideal(trees, nodes).tolist()

    async def role(channel: Channel, mine: Nodes) -> object:
        found = await ancestor.common(channel, trees, mine)
        return None if found is None else found.tolist()

    n, places = len(nodes), ancestor.places(trees, ancestor.roots(trees, len(first)), len(nodes))
    declared = ancestor.COST
    cost = Spent(
        declared.rounds(n, places, first.size),
        declared.messages(n, places, first.size),
        declared.bytes(n, places, first.size),
    )
    return of_block("ancestor", nodes, role, dict.fromkeys(nodes, answer), cost)


def _leaves(*codes: int) -> Nodes:
    return np.array([[code] for code in codes], dtype=np.int32)


def _draw_nodes(seed: int) -> Trial:
    stream = _stream(seed, "ancestor")
    clusters = 1 + stream.below(5)
    return _ancestor({name: _leaves(*(stream.below(6) for _ in range(clusters))) for name in NAMES})


ANCESTOR = Case(
    "ancestor",
    _draw_nodes,
    lambda: _ancestor({"a": _leaves(0), "b": _leaves(1), "c": _leaves(1)}),
    lambda: (
        _ancestor({"a": _leaves(0, 2), "b": _leaves(1, 2), "c": _leaves(1, 3)}),
        _ancestor({"a": _leaves(1, 3), "b": _leaves(0, 3), "c": _leaves(0, 2)}),
    ),
)


# -- shuffle


def _shuffle(rows: Mapping[str, Sequence[bytes]], length: int = 12) -> Trial:
    counts = {name: len(own) for name, own in rows.items()}
    everything = shuffle.ideal(rows)

    async def role(channel: Channel, mine: Sequence[bytes]) -> object:
        mixed = await shuffle.mix(channel.at("mix"), mine, counts=counts, length=length)
        return await shuffle.open_rows(channel.at("open"), mixed, approved=True)

    sizes, opening = [counts[name] for name in sorted(counts)], shuffle.OPENING_COST
    cost = Spent(
        shuffle.COST.rounds(sizes, length) + opening.rounds(len(rows)),
        shuffle.COST.messages(sizes, length) + opening.messages(len(rows)),
        shuffle.COST.bytes(sizes, length) + opening.bytes(len(rows)),
    )
    return of_block("shuffle", rows, role, dict.fromkeys(rows, everything), cost)


def _draw_rows(seed: int) -> Trial:
    stream = _stream(seed, "shuffle")
    return _shuffle({name: [stream.bytes(stream.below(12)) for _ in range(1 + stream.below(4))] for name in NAMES})


def _marked_shuffle() -> Marked:
    words = {name: canaries.texts(name) for name in NAMES}
    rows = {name: [word.encode() for word in own] for name, own in words.items()}
    return Marked(_shuffle(rows, 40), texts=words)


SHUFFLE = Case(
    "shuffle",
    _draw_rows,
    lambda: _shuffle({"a": [b"x"], "b": [b"y"], "c": [b"z"]}),
    lambda: (
        _shuffle({"a": [b"one", b"two"], "b": [b"three"], "c": [b"four"]}),
        _shuffle({"a": [b"four", b"three"], "b": [b"one"], "c": [b"two"]}),
    ),
    _marked_shuffle,
)


# -- align, cardinality


def _align(ids: Mapping[str, Sequence[str]]) -> Trial:
    async def role(channel: Channel, mine: Sequence[str]) -> object:
        return (await align.align(channel, mine)).rows.tolist()

    sizes = [len(ids[name]) for name in sorted(ids)]
    common = len(set.intersection(*(set(own) for own in ids.values())))
    cost = Spent(*(part(sizes, common) for part in (align.COST.rounds, align.COST.messages, align.COST.bytes)))
    return of_block("align", ids, role, align.ideal(ids), cost)


def _cardinality(ids: Mapping[str, Sequence[str]]) -> Trial:
    async def role(channel: Channel, mine: Sequence[str]) -> object:
        return await cardinality.count_common(channel, mine)

    sizes = [len(ids[name]) for name in sorted(ids)]
    declared = cardinality.COST
    cost = Spent(*(part(*sizes) for part in (declared.rounds, declared.messages, declared.bytes)))
    return of_block("cardinality", ids, role, dict.fromkeys(ids, cardinality.ideal(ids)), cost)


def _draw_ids(seed: int, names: Sequence[str]) -> dict[str, list[str]]:
    stream = _stream(seed, "ids")
    return {name: sorted({f"id {stream.below(8)}" for _ in range(6)}) for name in names}


def _marked_ids(names: Sequence[str], make: Callable[[Mapping[str, Sequence[str]]], Trial]) -> Marked:
    """Each party's own ids, and some that all have: the common ones belong to everyone, and are nobody's secret."""
    words = {name: canaries.texts(name) for name in names}
    return Marked(make({name: [*own, "common"] for name, own in words.items()}), texts=words)


ALIGN = Case(
    "align",
    lambda seed: _align(_draw_ids(seed, NAMES)),
    lambda: _align({"a": ["1", "2"], "b": ["1"], "c": ["1", "3"]}),
    lambda: (
        _align({"a": ["1", "2", "3"], "b": ["1", "7", "8"], "c": ["1", "9", "0"]}),
        _align({"a": ["1", "2", "3"], "b": ["1", "2", "8"], "c": ["1", "3", "8"]}),
    ),
    lambda: _marked_ids(NAMES, _align),
)
CARDINALITY = Case(
    "cardinality",
    lambda seed: _cardinality(_draw_ids(seed, NAMES[:2])),
    lambda: _cardinality({"a": ["1", "2"], "b": ["1"]}),
    lambda: (
        _cardinality({"a": ["1", "2", "3"], "b": ["1", "7"]}),
        _cardinality({"a": ["5", "6", "4"], "b": ["9", "4"]}),
    ),
    lambda: _marked_ids(NAMES[:2], _cardinality),
)


# -- join


@dataclass(frozen=True)
class _Owned:
    ids: Sequence[str]
    rows: Sequence[bytes]


def _join(tables: Mapping[str, _Owned]) -> Trial:
    async def role(channel: Channel, mine: _Owned) -> object:
        blended = await join.blend(channel.at("blend"), mine.ids, mine.rows)
        return await join.open_rows(channel.at("open"), blended, approved=True)

    whole = {name: dict(zip(own.ids, own.rows, strict=True)) for name, own in tables.items()}
    rows = len(next(iter(tables.values())).ids)
    books = [sorted(set(tables[name].rows)) for name in sorted(tables)]
    declared, opening = join.COST, join.OPENING_COST
    cost = Spent(
        declared.rounds(len(tables), rows, False) + opening.rounds(books, False),
        declared.messages(len(tables), rows, False) + opening.messages(books, False),
        declared.bytes(len(tables), rows, False) + opening.bytes(books, False),
    )
    return of_block("join", tables, role, dict.fromkeys(tables, join.ideal(whole)), cost)


def _draw_join(seed: int) -> Trial:
    stream = _stream(seed, "join")
    people = [f"person {number}" for number in range(1 + stream.below(4))]
    return _join({name: _Owned(people, [f"{name}{stream.below(3)}".encode() for _ in people]) for name in NAMES[:2]})


def _marked_join() -> Marked:
    people = canaries.texts("everyone", 200)
    tables = {name: _Owned(people, [f"{name}{place % 5}".encode() for place in range(200)]) for name in NAMES[:2]}
    return Marked(_join(tables), texts={"everyone": people})


JOIN = Case(
    "join",
    _draw_join,
    lambda: _join({"a": _Owned(["1"], [b"x"]), "b": _Owned(["1"], [b"y"])}),
    lambda: (
        _join({"a": _Owned(["1", "2"], [b"x", b"y"]), "b": _Owned(["2", "1"], [b"u", b"v"])}),
        _join({"a": _Owned(["3", "4"], [b"y", b"x"]), "b": _Owned(["3", "4"], [b"u", b"v"])}),
    ),
    _marked_join,
)

BLOCKS = (SUM, CONJUNCTION, ANCESTOR, SHUFFLE, ALIGN, CARDINALITY, JOIN, *COMMITTEE_CASES, *SHARING_CASES)
PROTOCOLS = (
    COUNT,
    COLLECT,
    PEEL_RESPONDENTS,
    *FEDERATE_CASES,
    *SEVERAL_CASES,
    *GENERALIZE_CASES,
    *CLUSTER_CASES,
    *COLUMNS_CASES,
    *PEEL_CASES,
    *PEEL_COLUMNS_CASES,
    *SUPPRESS_CASES,
)

CASES: dict[str, Case] = {case.name: case for case in (*BLOCKS, *PROTOCOLS)}
