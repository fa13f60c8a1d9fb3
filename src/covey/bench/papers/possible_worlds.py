"""The experiment on several views of one table: what tables could lie behind them (Tassa & Gudes, section 8.2.1).

Players of the paper's algorithm see a sequence of clusterings, each one an anonymized view of the same table. Examples
1 and 2 are the paper's own, with its tables 2 to 4 and figures 1 and 2. Beyond them, small random tables: every table
of that size is held against what was seen, so that worlds are counted and not estimated. Somebody who knows the
algorithm rules out more: worlds of which it would have published something else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations, product

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.clusters import Clusters, agglomerate, clusters_of
from covey.anonymizers.constraints import limits_of
from covey.anonymizers.kernels import forest
from covey.anonymizers.problem import Problem
from covey.anonymizers.sequential import SWEEPS, first_labels, split_large
from covey.anonymizers.sweeping import sweep
from covey.arrays import Ints
from covey.bench.findings import Claim, Experiment, Findings, ResultTable, Setting
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

Values = frozenset[object]
GeneralizedRecord = tuple[Values, ...]
"""The values that a record may have in each column."""
View = tuple[GeneralizedRecord, ...]
"""A table, generalized: its records in an order that says nothing."""
TableCodes = tuple[int, ...]
"""A table as the sorted numbers of its records' cells."""

K = 2
KNOWN = "mondrian"
"""The algorithm whose releases are looked at by somebody who knows it."""


# -- the paper's notions


def intersection(edge: Sequence[GeneralizedRecord]) -> GeneralizedRecord:
    """Lemma 8.5: the values that a record below all of these may have in each column."""
    return tuple(frozenset.intersection(*column) for column in zip(*edge, strict=True))


def edges(views: Sequence[View]) -> Iterator[tuple[int, ...]]:
    """Definition 8.4: one record of each view, where some record lies below all of them."""
    for places in product(*(range(len(view)) for view in views)):
        if all(intersection([view[place] for view, place in zip(views, places, strict=True)])):
            yield places


def matchings(views: Sequence[View]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Definition 8.6: as many edges as there are records, of which no two share one."""
    found, records = set(edges(views)), range(len(views[0]))
    for orders in product(permutations(records), repeat=len(views) - 1):
        chosen = tuple(zip(records, *orders, strict=True))
        if found.issuperset(chosen):
            yield chosen


def world(views: Sequence[View], matching: Iterable[Sequence[int]]) -> tuple[GeneralizedRecord, ...]:
    """Definition 8.8: the records that a perfect matching leaves possible."""
    return tuple(intersection([view[place] for view, place in zip(views, edge, strict=True)]) for edge in matching)


def tables_in(found: Iterable[GeneralizedRecord]) -> int:
    """The number of tables that a possible world stands for, record by record."""
    return math.prod(len(values) for record in found for values in record)


def _records(*rows: tuple[Iterable[object], ...]) -> View:
    return tuple(tuple(frozenset(values) for values in row) for row in rows)


EXAMPLE_1 = (
    _records(("a", "x", "12"), ("b", "x", "12"), ("a", "y", "12")),
    _records(("ab", "x", "1"), ("ab", "x", "2"), ("ab", "y", "2")),
    _records(("a", "xy", "1"), ("b", "xy", "2"), ("a", "xy", "2")),
)
"""Table 2: three views of (a, x, 1), (b, x, 2), (a, y, 2)."""
EXAMPLE_2 = (
    _records(*((range(low, high + 1), "mf") for low, high in ((10, 15), (10, 15), (20, 22), (20, 22)))),
    _records(*((range(low, high + 1), sex) for low, high, sex in ((10, 20, "m"), (15, 22, "f")) * 2)),
)
"""Table 3: two views of (10, m), (15, f), (20, m), (22, f)."""
TRUE, ARTIFACT = ((0, 0), (1, 1), (2, 2), (3, 3)), ((0, 0), (1, 2), (2, 1), (3, 3))
"""Figure 2: the matching of the families, and the other one that it shows."""
TABLE_4 = (
    _records((range(10, 16), "m"), ((15,), "f"), ((20,), "m"), (range(20, 23), "f")),
    _records((range(10, 16), "m"), (range(10, 16), "m"), (range(20, 23), "f"), (range(20, 23), "f")),
)


# -- small tables, and every table that could lie behind what was seen


_TREES = (
    Hierarchy.from_paths([(f"{value}", f"{value // 2}+", "*") for value in range(4)]),
    Hierarchy.from_paths([("x", "*"), ("y", "*")]),
    Hierarchy.from_paths([("1", "*"), ("2", "*")]),
)
_CELLS: tuple[tuple[int, ...], ...] = tuple(product(*(range(tree.codes) for tree in _TREES)))


@dataclass(frozen=True)
class SeenTable:
    """A small table, and what two onlookers make of its release and of the views before it."""

    views: int
    last: int
    """The tables that could lie behind the last view."""
    every: int
    """Those that could lie behind all views."""
    certain_last: int
    """Its distinct records that every table behind the last view has."""
    certain_every: int
    published: int
    """The tables that could lie behind the release of a known algorithm."""
    same: int
    """Those of which that algorithm publishes the same."""
    certain_same: int


def _problem(table: TableCodes) -> Problem:
    codes = np.array([_CELLS[cell] for cell in table], dtype=np.int32).T
    costs, scale = integer_costs(_TREES)
    return Problem(_TREES, np.ascontiguousarray(codes), np.ones(len(table), dtype=np.int64), costs, scale, K)


def covers(boxes: Ints) -> list[frozenset[int]]:
    """The cells below each of these boxes (boxes x columns)."""

    def is_below(cell: Sequence[int], box: Sequence[int]) -> bool:
        parts = _TREES, box, cell
        return all(tree.first[node] <= code <= tree.last[node] for tree, node, code in zip(*parts, strict=True))

    return [frozenset(place for place, cell in enumerate(_CELLS) if is_below(cell, box)) for box in boxes.tolist()]


def lies_behind(table: TableCodes, view: Sequence[frozenset[int]]) -> bool:
    """True if each record of the table can be one of the view's: a perfect matching, by augmenting paths."""
    holder: dict[int, int] = {}

    def place(record: int, tried: set[int]) -> bool:
        for number, cells in enumerate(view):
            if table[record] in cells and number not in tried:
                tried.add(number)
                if number not in holder or place(holder[number], tried):
                    holder[number] = record
                    return True
        return False

    return all(place(record, set()) for record in range(len(table)))


def _views(problem: Problem, seed: int) -> Iterator[list[frozenset[int]]]:
    """The clusterings that the paper's algorithm shows: the first, one after each sweep, and the last."""
    random = np.random.default_rng(seed)
    trees, limits, nothing = forest(problem), limits_of(problem), np.zeros((problem.records, 0), dtype=np.int64)
    label = first_labels(limits, nothing, problem.records, random, problem.records // K)
    state = clusters_of(trees, limits, problem.codes, nothing, label)
    offsets = np.cumsum([0, *(tree.nodes for tree in _TREES)])[:-1]

    def shown(clusters: Clusters) -> list[frozenset[int]]:
        return covers(np.repeat(clusters.box - offsets, clusters.size, axis=0))

    yield shown(state)
    for _ in range(SWEEPS):
        moved = sweep(state, trees, limits, 0, problem.records)
        state, splits = split_large(state, trees, limits, random)
        if not moved and not splits:
            break
        yield shown(state)
    agglomerate(state, trees, limits.k)
    yield shown(state)


def _published(table: TableCodes) -> tuple[tuple[int, ...], ...]:
    """The boxes that the known algorithm publishes, one for each record, in a fixed order; `*` for a withheld one."""
    found = anonymize(_problem(table), KNOWN, threads=1)
    shown = np.repeat(found.nodes, found.sizes(), axis=0).tolist()
    withheld = [[tree.root for tree in _TREES]] * (len(table) - len(shown))
    return tuple(sorted(map(tuple, [*shown, *withheld])))


def _look(records: int, seed: int) -> SeenTable:
    random = np.random.default_rng(seed)
    table = tuple(sorted(np.minimum(*random.integers(len(_CELLS), size=(2, records))).tolist()))
    everything = list(combinations_with_replacement(range(len(_CELLS)), records))
    views = list(_views(_problem(table), seed))
    last = [each for each in everything if lies_behind(each, views[-1])]
    every = [each for each in last if all(lies_behind(each, view) for view in views[:-1])]
    release = _published(table)
    shown = covers(np.array(release))
    published = [each for each in everything if lies_behind(each, shown)]
    same = [each for each in published if _published(each) == release]
    return SeenTable(
        len(views), len(last), len(every), _certain(last), _certain(every), len(published), len(same), _certain(same)
    )


def _certain(worlds: Sequence[TableCodes]) -> int:
    """The number of distinct records that all of these tables have."""
    return len(frozenset.intersection(*map(frozenset, worlds)))


# -- what was found


def run(setting: Setting) -> Findings:
    """Counts the worlds of the paper's examples and of small random tables."""
    setting.tell("possible worlds of the paper's examples")
    counts = len(list(edges(EXAMPLE_1))), len(list(matchings(EXAMPLE_1))), len(list(matchings(EXAMPLE_2)))
    pairs = len(list(edges(EXAMPLE_2)))
    worlds = world(EXAMPLE_2, TRUE), world(EXAMPLE_2, ARTIFACT)
    records, tables = (5, 4) if setting.quick else (6, 20)
    seen = []
    for number in range(tables):
        setting.tell(f"every table of {records} records behind what is seen of one, {number + 1} of {tables}")
        seen.append(_look(records, setting.seed + number))
    examples = ResultTable(
        "Examples 1 and 2: edges, perfect matchings and possible worlds",
        ("example", "views", "edges", "perfect matchings", "tables in the world shown"),
        (
            ("1 (Table 2, Figure 1)", 3, counts[0], counts[1], None),
            ("2, the families (Tables 3 and 4, Figure 2)", 2, pairs, counts[2], tables_in(worlds[0])),
            ("2, the other matching", 2, pairs, counts[2], tables_in(worlds[1])),
        ),
    )  # fmt: skip
    small = ResultTable.of(
        f"Tables of {records} records with {len(_CELLS)} possible values, k = {K}: tables that could lie behind",
        seen,
        {
            "views": "views", "the last view": "last", "all views": "every",
            "records certain from the last": "certain_last", "from all": "certain_every",
            f"a release of {KNOWN}": "published", f"knowing {KNOWN}": "same", "records certain then": "certain_same",
        },
        note="A record is certain if every table that could lie behind has it.",
    )  # fmt: skip
    return Findings(
        tables=(examples, small),
        claims=tuple(_claims(counts, worlds, seen)),
        notes=("worlds are counted by trying every table of that size: that is why the tables are so small",),
    )


def _claims(
    counts: tuple[int, int, int], worlds: Sequence[Sequence[GeneralizedRecord]], seen: Sequence[SeenTable]
) -> Iterator[Claim]:
    yield Claim(
        "Example 1, Table 2 and Figure 1", "four hyperedges, one of which stands for no record",
        f"{counts[0]} hyperedges, {counts[1]} of their sets are perfect matchings",
        "yes" if counts[0] == 4 and counts[1] >= 1 else "no",
    )  # fmt: skip
    fits = counts[2] == 24 and tables_in(worlds[1]) == 324 and tuple(worlds) == TABLE_4
    yield Claim(
        "Example 2, Tables 3 and 4 and Figure 2", "24 perfect matchings; the other one in the figure has 324 worlds",
        f"{counts[2]} perfect matchings, {tables_in(worlds[1])} worlds; Table 4 comes out "
        f"{'as printed' if tuple(worlds) == TABLE_4 else 'otherwise'}",
        "yes" if fits else "no",
    )  # fmt: skip
    more = sum(each.certain_every > each.certain_last for each in seen)
    left = _mean(lambda each: each.every / each.last, seen)
    yield Claim.counted(
        "section 8.2.1", "that a record is in the table cannot be inferred from the views before the last",
        len(seen) - more, len(seen),
        f"of the tables behind the last view {left:.0%} lie behind all views; in {more} of {len(seen)} tables more "
        "records become certain",
    )  # fmt: skip
    kept = _mean(lambda each: each.same / each.published, seen)
    surer = sum(each.certain_same > 0 for each in seen)
    yield Claim.counted(
        "a question of ours", "who knows the algorithm learns no more from a release than what it says",
        sum(each.same == each.published for each in seen), len(seen),
        f"of the tables that a release of {KNOWN} allows, {kept:.0%} are published so; in {surer} of {len(seen)} "
        "cases a record is certain then",
    )  # fmt: skip


def _mean(of: Callable[[SeenTable], float], seen: Sequence[SeenTable]) -> float:
    return sum(map(of, seen)) / len(seen)


EXPERIMENT = Experiment(
    about="what tables could lie behind several views of one: the paper's examples, and small tables tried out",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, section 8.2.1",
    run=run,
)
