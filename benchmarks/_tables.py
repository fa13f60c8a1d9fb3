"""The tables on which loss is measured: those beside the project (shared/data), and generated ones of other shapes."""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from covey.anonymizers.problem import Problem
from covey.arrays import Floats, Ints
from covey.hierarchy import Hierarchy, read
from covey.measures import integer_costs
from covey.study import Study

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
FILES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "adult": ("adult/adult.csv", "adult", ADULT),
    "adult-full": ("adult-full/adult.csv.gz", "adult", ADULT),
    "fars": (
        "fars/fars.csv",
        "fars",
        ("iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum", "iinjury"),
    ),
    "cmc": ("cmc/cmc.csv", "cmc", ("age", "Weducation", "children")),
}


@dataclass(frozen=True)
class Sample:
    """A table as leaf codes (columns x records), and its columns' hierarchies."""

    name: str
    trees: tuple[Hierarchy, ...]
    codes: Ints

    def problem(self, k: int) -> Problem:
        """The problem of one owner."""
        codes, counts = np.unique(self.codes, axis=1, return_counts=True)
        costs, scale = integer_costs(self.trees)
        return Problem(self.trees, np.ascontiguousarray(codes), counts.astype(np.int64), costs, scale, k)

    def study(self, k: int, suffix: str = "") -> Study:
        """The study of three parties that hold rows and ask nothing against insiders; columns' names end so."""
        text = (
            f'[study]\nname = "{self.name}"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = {k}\n'
            "k_insider = 1\n" + "".join(f"[parties.p{index}]\n" for index in range(3))
        )
        with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as folder:
            columns = FILES[self.name][2] if self.name in FILES else [f"c{index}" for index in range(len(self.trees))]
            for index, (column, tree) in enumerate(zip(columns, self.trees, strict=True)):
                text += f'[columns.{column}{suffix}]\nrole = "quasi"\nhierarchy = "c{index}.csv"\n'
                lines = [";".join(tree.labels[node] for node in path) for path in tree.up.T.tolist()]
                Path(folder, f"c{index}.csv").write_text("\n".join(lines) + "\n")
            return Study.parse(text, Path(folder))


def names() -> list[str]:
    """The tables that can be had on this machine; prints a sentence for each of the others."""
    local = [name for name, (file, _, _) in FILES.items() if (DATA / file).exists()]
    for name in FILES.keys() - set(local):
        print(f"the table {name} (shared/data beside the project) is not on this machine: not measured")
    return local + list(SHAPES)


def sample(name: str) -> Sample:
    """The table of that name."""
    if name in SHAPES:
        return SHAPES[name]()
    file, folder, columns = FILES[name]
    with gzip.open(DATA / file, "rt") if file.endswith("gz") else (DATA / file).open() as text:
        rows = list(csv.DictReader(text, delimiter=";"))
    trees = tuple(read(DATA / folder / f"{column}.csv") for column in columns)
    codes = [tree.encode([row[column] for row in rows]) for column, tree in zip(columns, trees, strict=True)]
    return Sample(name, trees, np.array(codes, dtype=np.int32))


def tree(leaves: int, branches: Sequence[int]) -> Hierarchy:
    """A hierarchy whose levels group so many nodes of the level below each, up to one root."""
    levels, labels, width = [np.arange(leaves)], [f"v{leaf}" for leaf in range(leaves)], 1
    for branch in (*branches, leaves):
        if len(np.unique(levels[-1])) > 1:
            width *= branch
            group = np.arange(leaves) // width
            levels.append(len(labels) + group)
            labels += [f"g{len(levels)}-{index}" for index in range(int(group.max()) + 1)]
    return Hierarchy([*labels[:-1], "*"], np.array(levels, dtype=np.int32))


def _few() -> Sample:
    leaves = (4, 6, 3, 8, 5)
    return Sample("few", tuple(tree(size, (2, 2)) for size in leaves), _like_people(leaves, 20_000, 60, 0.05))


def _distinct() -> Sample:
    leaves, random = (64, 100, 50, 120, 32), np.random.default_rng(1)
    codes = np.array([random.integers(size, size=8_000) for size in leaves], dtype=np.int32)
    return Sample("distinct", tuple(tree(size, (5, 4)) for size in leaves), codes)


def _skewed() -> Sample:
    leaves, random = (50, 40, 30, 60, 8, 5), np.random.default_rng(1)
    codes = np.array([random.choice(size, 15_000, p=_falling(size, 2.0)) for size in leaves], dtype=np.int32)
    return Sample("skewed", tuple(tree(size, (3, 3)) for size in leaves), codes)


def _wide() -> Sample:
    leaves = (2, 5, 8, 12, 4, 6, 3, 20, 9, 7, 5, 4, 3, 2, 16, 10, 6, 5, 3, 2, 8, 4)
    return Sample("wide", tuple(tree(size, (3, 2)) for size in leaves), _like_people(leaves, 10_000, 400, 0.04))


def _deep() -> Sample:
    leaves, random = (1024, 512, 2048, 256, 64), np.random.default_rng(1)
    whom = (300 * random.random(12_000) ** 2).astype(int)
    columns = []
    for size in leaves:
        noise = np.rint(random.normal(0, size / 40, len(whom))).astype(int)
        columns.append(np.clip(random.integers(size, size=300)[whom] + noise, 0, size - 1))
    return Sample("deep", tuple(tree(size, (2,) * 11) for size in leaves), np.array(columns, dtype=np.int32))


def _like_people(leaves: Sequence[int], rows: int, people: int, differs: float) -> Ints:
    """Records that are each like one of a few people, but for some cells."""
    random = np.random.default_rng(1)
    whom = (people * random.random(rows) ** 2).astype(int)
    columns = []
    for size in leaves:
        order, share = random.permutation(size), _falling(size, 1.3)
        typical, anew = random.choice(size, people, p=share), random.choice(size, rows, p=share)
        columns.append(order[np.where(random.random(rows) < differs, anew, typical[whom])])
    return np.array(columns, dtype=np.int32)


def _falling(values: int, power: float) -> Floats:
    share = 1.0 / np.arange(1, values + 1) ** power
    return np.asarray(share / share.sum(), dtype=np.float64)


SHAPES: dict[str, Callable[[], Sample]] = {
    "few": _few,
    "distinct": _distinct,
    "skewed": _skewed,
    "wide": _wide,
    "deep": _deep,
}
"""Few distinct records; all distinct; skewed; 22 columns; hierarchies of 7 to 12 levels."""
