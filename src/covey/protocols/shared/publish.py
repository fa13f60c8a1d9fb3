"""The release and its figures, from classes and rows: one definition for every protocol and for its ideal.

A class is a node in each quasi column and a number of records. Its rows carry their other cells as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from covey import measures
from covey.arrays import Bits, Floats, Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.measures import diversity_of
from covey.protocols.protocol import Figures, Preview, Result
from covey.study import Study
from covey.table import labelled

SHOWN = 12
"""Classes that a person sees before deciding,"""
SMALLEST = 3
"""and how many of them are the smallest that there are."""


def figures(
    study: Study, trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs, *, withheld: int = 0, em: float | None = None
) -> Figures:
    """The figures of these classes (classes x columns), of which none is empty; withheld records are fully lost.

    Raises Unmet where more records end suppressed, at every root or withheld, than the study allows.
    """
    rows = int(sizes.sum())
    at_root = _at_root(trees, nodes)
    require_little_suppressed(study, fully_generalized(trees, nodes, sizes) + withheld, rows + withheld)
    lost = sum(_lost(trees, nodes, sizes)) / len(trees)
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        withheld=withheld,
        suppressed_cells=int((at_root.sum(axis=1) * sizes).sum()),
        loss=losses(study, (lost + withheld) / (rows + withheld), sizes, withheld=withheld, em=em),
    )


def preview(study: Study, trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs, withheld: int = 0) -> Preview:
    """A look at these classes before their rows are opened: each column's loss, and some classes by their labels."""
    records = int(sizes.sum()) + withheld
    lost = [(own + withheld) / records for own in _lost(trees, nodes, sizes)]
    shown = [tuple(tree.labels[node] for tree, node in zip(trees, row, strict=True)) for row in nodes.tolist()]
    order = np.array(sorted(range(len(shown)), key=shown.__getitem__))
    blurred = np.sum([measures.lm(tree)[nodes[:, place]] for place, tree in enumerate(trees)], axis=0)
    chosen = order[some(sizes[order], blurred[order])].tolist()
    return Preview(
        losses=dict(zip((column.name for column in study.quasi), lost, strict=True)),
        classes=tuple((shown[place], int(sizes[place])) for place in chosen),
    )


def some(sizes: Longs, blurred: Floats | Bits) -> Longs:
    """A few of these classes: the smallest, of these the most exact ones, and others from the first to the last.

    The others are large ones rather than small ones.
    """
    ends = np.cumsum(sizes)
    evenly = np.searchsorted(ends, np.linspace(0, ends[-1] - 1, SHOWN - SMALLEST), side="right")
    return np.union1d(np.lexsort((blurred, sizes))[:SMALLEST], evenly)


def losses(
    study: Study, lm: float, sizes: Longs, *, withheld: int = 0, em: float | None = None
) -> dict[str, float | None]:
    """The losses that a summary names, from the loss by LM and the classes' sizes."""
    return {
        "lm": lm,
        "em": em,
        "dm": float(measures.discernibility(sizes, withheld)),
        "c_avg": measures.average_class(sizes, study.privacy.k),
    }


def fully_generalized(trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs) -> int:
    """The number of records that are at the root of every column that has more than one value."""
    several = np.array([tree.nodes > 1 for tree in trees])
    if not several.any():
        return 0
    return int(sizes[_at_root(trees, nodes)[:, several].all(axis=1)].sum())


def require_little_suppressed(study: Study, lost: int, records: int) -> None:
    """Raises Unmet, with the limit that would do, where more records are suppressed than the study allows."""
    if lost > study.suppression * records:
        raise Unmet(
            f"{lost:,} of {records:,} records would be suppressed, more than suppression = {study.suppression:g} "
            f"allows; {math.ceil(lost / records * 1000) / 1000:g} would do, or a smaller k"
        )


def result(
    study: Study,
    trees: Sequence[Hierarchy],
    nodes: Ints,
    klass: Longs,
    cells: Mapping[str, Sequence[str]],
    known: Figures,
) -> Result:
    """The release of rows of these classes with these cells; `known` are the figures but for the l that is reached."""
    shown = {
        column.name: labelled(np.ascontiguousarray(nodes[klass, place]), tree.labels)
        for place, (column, tree) in enumerate(zip(study.quasi, trees, strict=True))
    }
    return Result(table(study, shown, cells), replace(known, l_reached=diversity(study, klass, cells)))


def table(study: Study, shown: Mapping[str, pa.Array], cells: Mapping[str, Sequence[str]]) -> pa.Table:
    """The released table in the study's order of columns: generalized ones as arrays, the others as texts."""
    columns = dict(shown)
    columns.update({name: pa.array(texts, pa.string()).dictionary_encode() for name, texts in cells.items()})
    return pa.table({column.name: columns[column.name] for column in study.released})


def diversity(study: Study, klass: Longs, cells: Mapping[str, Sequence[str]]) -> float | None:
    """The l that every class reaches in every sensitive column; None where no column is sensitive."""
    return least_diversity(study, (_histograms(klass, cells[column.name]) for column in study.sensitive))


def least_diversity(study: Study, histograms: Iterable[Longs]) -> float | None:
    """The same from each sensitive column's histograms (classes x values); classes without records do not count."""
    reached = [
        diversity_of(row, study.privacy.diversity) for counts in histograms for row in counts[counts.sum(axis=1) > 0]
    ]
    return min(reached, default=math.inf) if study.sensitive else None


def _lost(trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs) -> list[float]:
    """The cells that each column loses, by LM."""
    return [float(measures.lm(tree)[nodes[:, place]] @ sizes) for place, tree in enumerate(trees)]


def _histograms(klass: Longs, texts: Sequence[str]) -> Longs:
    code = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    counts = np.zeros((int(klass.max(initial=-1)) + 1, len(code)), dtype=np.int64)
    np.add.at(counts, (klass, np.array([code[text] for text in texts], dtype=np.int64)), 1)
    return counts


def _at_root(trees: Sequence[Hierarchy], nodes: Ints) -> Bits:
    """The cells (classes x columns) that are suppressed: a column with a single value loses nothing at its root."""
    roots = np.array([tree.root if tree.nodes > 1 else -1 for tree in trees])
    return np.asarray(nodes == roots)
