"""Leakage of the counts that `cluster` opens, taken together: sets of fewer than k records that can be counted.

Every count that the guarded schedule opens is of k records or more, but groups overlap. An insider who subtracts one
opened count from another that contains it, or solves for all of them, may find how many records lie in a smaller set.
`python -m benchmarks cluster_overlaps` counts such sets on a part of Adult: of the strict schedule, of the guarded one
without regrouping, and of the guarded one. Moves of single records, which come later, are not counted. What is found
is how many records of all parties together lie in some corner of the quasi columns, never a sensitive value and never
whose they are.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks import _adult
from benchmarks._measuring import Row, keep
from benchmarks.protocol_cluster import Run
from covey.anonymizers.kernels import Forest
from covey.arrays import Bits, Floats, Ints, Longs
from covey.compiled import jit
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of
from covey.protocols.cluster_rows import divide, guarded, ideal
from covey.protocols.cluster_rows.kernels import Children, child_place, count_below
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters


@jit
def places_of(
    trees: Forest, children: Children, codes: Ints, label: Longs, slot: Longs, boxes: Ints, places: Longs
) -> Longs:
    """For each column and record the number of the child that it lies below, -1 where none was asked for."""
    found = np.full(codes.shape, -1, np.int64)
    for record in range(codes.shape[1]):
        asked = slot[label[record]]
        if asked < 0:
            continue
        for column in range(codes.shape[0]):
            if places[asked, column] >= 0:
                child = child_place(trees, children, boxes[asked, column], codes[column, record])
                found[column, record] = places[asked, column] + child
    return found


@dataclass
class Recorder:
    """Every opened set of records, as a row of bits."""

    strict: bool
    last: Longs = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    opened: list[Bits] = field(default_factory=list)

    def count(
        self, trees: Forest, children: Children, codes: Ints, label: Longs, slot: Longs, boxes: Ints, places: Longs,
        total: int,
    ) -> Longs:  # fmt: skip
        """Counts as the protocol does, and remembers who lay where."""
        self.last = places_of(trees, children, codes, label, slot, boxes, places)
        return count_below(trees, children, codes, label, slot, boxes, places, total)

    def scores(
        self, problem: ClusterProblem, below: divide.ChildNodes, apart: Bits, count: Longs, sizes: Longs, boxes: Ints
    ) -> Floats:
        """Scores as the protocol does, and remembers what was opened for it, unless the counts are rough."""
        if not self.strict:
            self._remember(apart)
        return SCORES(problem, below, apart, count, sizes, boxes)

    def carry_out(
        self, problem: ClusterProblem, clusters: PublicClusters, may_cut: Bits, cuts: divide.BestCuts
    ) -> divide.DividedClusters:
        """Cuts as the protocol does, and remembers the parts, whose sizes are known in any case."""
        cell = cuts.below.cell
        self._remember(cuts.separate & (cuts.column[cell // problem.columns] == cell % problem.columns))
        return CARRY_OUT(problem, clusters, may_cut, cuts)

    def _remember(self, opened: Bits) -> None:
        for column in self.last:
            self.opened += [column == child for child in np.unique(column[column >= 0]) if opened[child]]


SCORES, CARRY_OUT = divide.scores, divide.carry_out


def measure(rows: int, k: int, regroupings: int, *, strict: bool = False) -> Row:
    """Opened counts, sets of fewer than k that one subtraction shows, and those that all equations determine."""
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        study = Run("guarded", k, 3).study(Path(folder))
        hands = deal(study, str(_adult.TABLE), seed=seed_of(1))
        tables = [load_table(study, name, hand.slice(0, rows // 3)) for name, hand in hands.items()]
    codes = np.concatenate([table.codes for table in tables if table is not None], axis=1)
    problem = ClusterProblem.of(study, [column.tree() for column in study.quasi], None)
    recorder = Recorder(strict)
    with (
        mock.patch.object(divide, "count_below", recorder.count),
        mock.patch.object(divide, "scores", recorder.scores),
        mock.patch.object(divide, "carry_out", recorder.carry_out),
        mock.patch.object(guarded, "REGROUPINGS", regroupings),
        mock.patch.object(guarded, "SWEEPS", 0),
    ):
        _, clusters = ideal.search(problem, {"all": np.ascontiguousarray(codes)}, strict=strict)
    opened = np.unique(np.array([np.ones(codes.shape[1], dtype=bool), *recorder.opened]), axis=0)
    atoms, weight = np.unique(opened, axis=1, return_counts=True)
    small, covered = subtracted(atoms, weight, k)
    solved = determined(atoms)
    fewer = solved & (weight < k)
    return {
        "rows": codes.shape[1], "k": k, "schedule": "strict" if strict else "guarded", "regroupings": regroupings,
        "lm before moves": round(problem.loss(clusters), 4),
        "different opened counts": len(opened), "regions": len(weight),
        "sets below k by one subtraction": small, "records in them": covered,
        "regions below k": int((weight < k).sum()), "of these determined": int(fewer.sum()),
        "records in those": int(weight[fewer].sum()), "single records among them": int((fewer & (weight == 1)).sum()),
    }  # fmt: skip


def subtracted(atoms: Bits, weight: Longs, k: int) -> tuple[int, int]:
    """Counts the different sets below k that are the difference of two opened ones, and the records in any of them."""
    rows = atoms.astype(np.float64)
    sizes = (rows @ weight).astype(np.int64)
    found: set[bytes] = set()
    covered = np.zeros(len(weight), dtype=bool)
    for number in range(len(rows)):
        within = (rows * weight) @ rows[number]
        inner = np.flatnonzero((within == sizes) & (sizes < sizes[number]) & (sizes[number] - sizes < k))
        for other in inner:
            rest = atoms[number] & ~atoms[other]
            found.add(rest.tobytes())
            covered |= rest
    return len(found), int(weight[covered].sum())


def determined(atoms: Bits) -> Bits:
    """The regions whose number follows from all opened counts: no solution of the homogeneous system moves them."""
    rows = atoms.astype(np.float64)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    free = vectors[:, values < 1e-8 * values.max()]
    return np.asarray((free**2).sum(axis=1) < 1e-7)


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/cluster_overlaps.json."""
    if not _adult.is_here():
        return
    for rows in map(int, os.environ.get("COVEY_BENCH_ROWS", "1500").split(",")):
        for k in (10, 50):
            for regroupings, strict in ((0, True), (0, False), (guarded.REGROUPINGS, False)):
                row = measure(rows, k, regroupings, strict=strict)
                keep("cluster_overlaps", "overlaps", row, ("rows", "k", "schedule", "regroupings"))
