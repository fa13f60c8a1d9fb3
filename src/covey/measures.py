"""Information loss, each measure one small function of a tree, or of class sizes.

Per cell, for a node B of a tree over the domain A (in the literature's names):

    lm          (|B| - 1) / (|A| - 1); also NCP, and GCP for its mean over a table
    em          H(X | B) in bits: what is left unknown of the value, under the column's distribution
    em-monotone Pr(B) H(X | B): never falls on the way up, where plain EM may
    precision   level(B) / height: the tree measure
    entropy     -log2 Pr(x | B) for the record's own value x: the non-uniform entropy measure of Gionis and Tassa

A record's loss is the mean over its columns, a table's the mean over its records; a withheld record is lost in full.

Per table: discernibility DM, average class size C_avg. The judge has these and more by code of its own (`judge.loss`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from covey.arrays import Floats, Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy

OBJECTIVES = ("lm", "em", "em-monotone", "precision", "entropy")
"""The measures that a search may lower; the last depends on a record's own value, so that no node has one cost."""
CELL_MEASURES = ("lm", "em", "em-monotone", "precision")
_EXACT_BELOW = 2**32
_FIXED_POINT = 2**32


def lm(tree: Hierarchy) -> Floats:
    """Each node's LM: a leaf costs 0, the root 1."""
    domain = tree.sizes[tree.root] - 1
    cost = (tree.sizes - 1) / domain if domain > 0 else np.zeros(tree.nodes)
    cost[: tree.codes] = 0.0
    if tree.nodes > 1:
        cost[tree.root] = 1.0
    return np.asarray(cost, dtype=np.float64)


def precision(tree: Hierarchy) -> Floats:
    """Each node's level as a part of the height: the tree measure."""
    return tree.level / max(tree.height, 1)


def em(tree: Hierarchy, counts: Longs) -> Floats:
    """Each node's H(X | B) in bits. `counts` says how often each leaf code occurs in the table."""
    total, entropy = _entropy_below(tree, counts)
    return np.divide(entropy, total, out=np.zeros(tree.nodes), where=total > 0)


def em_monotone(tree: Hierarchy, counts: Longs) -> Floats:
    """Each node's Pr(B) H(X | B)."""
    _, entropy = _entropy_below(tree, counts)
    return entropy / max(int(counts.sum()), 1)


def entropy(tree: Hierarchy, counts: Longs) -> Floats:
    """Each node's log2 N(B), less the mean of log2 n_x over the table.

    That is no node's loss, but over all records of a table it adds up to the non-uniform entropy: the records' own part
    is the same whatever is published.
    """
    weight = counts.astype(np.float64)
    prior = weight @ np.log2(np.maximum(weight, 1)) / max(weight.sum(), 1.0)
    return np.asarray(np.log2(np.maximum(_sums_below(tree, weight), 1)) - prior, dtype=np.float64)


def _entropy_below(tree: Hierarchy, counts: Longs) -> tuple[Floats, Floats]:
    """For each node, N(B) = sum of n_x below it, and N(B) H(X | B) = N log2 N - sum of n_x log2 n_x."""
    weight = counts.astype(np.float64)
    terms = np.where(weight > 0, weight * np.log2(np.maximum(weight, 1)), 0.0)
    total, sums_below = _sums_below(tree, weight), _sums_below(tree, terms)
    entropy = np.where(total > 0, total * np.log2(np.maximum(total, 1)), 0.0) - sums_below
    return total, np.maximum(entropy, 0.0)


def _sums_below(tree: Hierarchy, leaf_values: Floats) -> Floats:
    prefix = np.concatenate([[0.0], np.cumsum(leaf_values)])
    return np.asarray(prefix[tree.last + 1] - prefix[tree.first], dtype=np.float64)


def node_costs(tree: Hierarchy, measure: str, counts: Longs | None = None) -> Floats:
    """Each node's cost by a named measure, at most 1 under lm and precision."""
    if measure in ("lm", "ncp", "gcp"):
        return lm(tree)
    if measure == "precision":
        return precision(tree)
    if measure in ("em", "em-monotone", "entropy"):
        if counts is None:
            raise InputError(f"measure {measure!r} needs the values' frequencies; use lm or precision here")
        measures = {"em": em, "em-monotone": em_monotone, "entropy": entropy}[measure]
        return measures(tree, counts)
    raise InputError(f"measure {measure!r} is not known; choose one of {', '.join(CELL_MEASURES)}")


def integer_costs(
    trees: Sequence[Hierarchy],
    measure: str = "lm",
    counts: Sequence[Longs] | None = None,
    weights: Sequence[float] | None = None,
) -> tuple[tuple[Longs, ...], int]:
    """The node costs of each column as integers, and the integer that stands for a cost of 1.

    Integer costs make every sum exact, so that two machines take the same decision. Under LM with equal
    weights the unit is lcm(|A_j| - 1) and nothing is rounded; else, or where that is too large, it is 2^-32.
    """
    scale = _FIXED_POINT
    if measure in ("lm", "ncp", "gcp") and (weights is None or all(weight == weights[0] for weight in weights)):
        unit = math.lcm(*(max(int(tree.sizes[tree.root]) - 1, 1) for tree in trees))
        scale = unit if unit < _EXACT_BELOW else _FIXED_POINT
        weights = None
    mean = 1.0 if weights is None else sum(weights) / len(weights)
    result = []
    for column, tree in enumerate(trees):
        column_counts = None if counts is None else counts[column]
        weight = 1.0 if weights is None else weights[column] / mean
        result.append(np.rint(node_costs(tree, measure, column_counts) * weight * scale).astype(np.int64))
    return tuple(result), scale


def discernibility(class_sizes: Longs, withheld: int = 0) -> int:
    """DM: every record costs its class's size, a withheld one the whole table."""
    sizes = class_sizes.astype(object)
    rows = int(sum(sizes)) + withheld
    return int(sum(size * size for size in sizes)) + withheld * rows


def average_class(class_sizes: Longs, k: int) -> float:
    """C_avg: the mean class size over k."""
    return float(class_sizes.mean() / k) if len(class_sizes) else math.inf


def diversity_of(counts: Longs, kind: str) -> float:
    """The l of a class with these counts of sensitive values, by the named definition."""
    size = int(counts.sum())
    if size == 0:
        return 0.0
    if kind == "frequency":
        return size / int(counts.max())
    if kind == "distinct":
        return float(np.count_nonzero(counts))
    shares = counts[counts > 0] / size
    return math.exp(-float(shares @ np.log(shares)))
