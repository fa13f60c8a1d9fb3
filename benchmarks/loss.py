"""How good is good: the loss (LM) of our releases beside ARX's, a long search's, the best there is, and a lower bound.

Tables are Adult, FARS and CMC, where they are on this machine, and generated ones of other shapes (`_tables`). ARX's
figures and those of Covey 0.1.0 are published ones (published/loss.json). Loss does not depend on how busy a machine
is.

`python -m benchmarks loss` measures all of it, for hours if `search` is among it; one part or one point at a time:

    loss one fars:10           one owner (`covey anonymize`) at each effort, and before; fars:10:normal at that one
    loss joint fars:10         three parties that hold rows, k_insider = 1: the trusted party's release, as theirs is;
                               without narrowed labels, and before; beside ARX also under other names of the columns
    loss efforts fars:10       the same with the other efforts: shorter and longer lists of generalizations
    loss lend fars:10          the same where classes lend, for four ways to deal the rows: normal and thorough lists
    loss search fars:10:600    ten minutes (of CPU) of search from our own release on (long_search)
    loss exact                 small samples of CMC, solved by integer programming; and lower bounds
    loss diverse               Adult with distinct l = 2
    loss picture               draws what was kept to docs/images/how-good.svg

Before and after in one run: COVEY_BENCH_BEFORE names a tree of the project with the methods of 0.1.0, such as one that
`git worktree add ../before COMMIT^` has made, COMMIT being the one that says "what is new in 0.2.0". Without it nothing
is measured before. A tree compiles its kernels in its first run: measure a point twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from benchmarks._measuring import RESULTS, ROOT, Row, apart, earlier_tree, run_parts
from benchmarks._releases import OTHERS, jointly, jointly_before, one_owner
from benchmarks._tables import FILES, SHAPES, Sample, names, sample
from benchmarks.long_search import search_long
from covey.anonymizers.peel import EFFORTS, lattice, peel
from covey.anonymizers.problem import Problem, Sensitive

SIZES = (5, 10, 50, 100)
PUBLISHED = json.loads((Path(__file__).parent / "published" / "loss.json").read_text())
PICTURE = ROOT / "docs" / "images" / "how-good.svg"


BEFORE = "before"
"""The effort of Covey 0.1.0, which had one."""


def searched(name: str, k: int, seconds: float) -> Row:
    """The release of a long search."""
    problem = sample(name).problem(k)
    release = search_long(problem, seconds)
    return {
        "lm": round(release.loss, 5),
        "began": round(release.began, 5),
        "rounds": release.rounds,
        "seconds": seconds,
        "cpu": round(time.process_time()),
    }


def solve(problem: Problem, seconds: float) -> tuple[float | None, float]:
    """The least loss of a partition, or None where the time does not suffice, and a lower bound.

    A class publishes a box, one of the tuples of some node; a record costs what its box costs. So the problem is to
    open boxes and to give each record one that covers it, k to each that is open.
    """
    items = problem.items
    tuples: dict[tuple[int, ...], list[int]] = {}
    for levels in lattice.whole(problem):
        labels = np.stack([tree.up[levels[c]][problem.codes[c]] for c, tree in enumerate(problem.trees)], axis=1)
        for item, box in enumerate(map(tuple, labels.tolist())):
            tuples.setdefault(box, []).append(item)
    counts = problem.counts
    boxes = [(box, sorted(set(members))) for box, members in tuples.items()]
    boxes = [(box, members) for box, members in boxes if counts[members].sum() >= problem.k]
    price = [sum(int(problem.costs[c][node]) for c, node in enumerate(box)) for box, _ in boxes]
    root_cost = sum(int(cost[tree.root]) for cost, tree in zip(problem.costs, problem.trees, strict=True))
    pairs = [(number, item) for number, (_, members) in enumerate(boxes) for item in members]
    first_box, first_item = len(pairs), len(pairs) + len(boxes)
    width = first_item + items
    cost = np.array([price[number] for number, _ in pairs] + [0] * len(boxes) + [root_cost] * items, dtype=np.float64)
    covering = coo_array(
        (
            np.ones(len(pairs) + items),
            ([item for _, item in pairs] + list(range(items)), [*range(len(pairs)), *range(first_item, width)]),
        ),
        shape=(items, width),
    )
    filling = coo_array(
        (
            np.concatenate([np.ones(len(pairs)), np.full(len(boxes), -float(problem.k))]),
            (
                [number for number, _ in pairs] + list(range(len(boxes))),
                [*range(len(pairs)), *range(first_box, first_item)],
            ),
        ),
        shape=(len(boxes), width),
    )
    opening = coo_array(
        (
            np.concatenate([np.ones(len(pairs)), [-float(counts[item]) for _, item in pairs]]),
            ([*range(len(pairs))] * 2, [*range(len(pairs)), *(first_box + number for number, _ in pairs)]),
        ),
        shape=(len(pairs), width),
    )
    solution = milp(
        cost,
        integrality=np.ones(width, dtype=np.int64),
        bounds=Bounds(0, np.concatenate([[counts[item] for _, item in pairs], np.ones(len(boxes)), counts])),
        constraints=[
            LinearConstraint(covering, counts, counts),
            LinearConstraint(filling, 0, np.inf),
            LinearConstraint(opening, -np.inf, 0),
        ],
        options={"time_limit": seconds, "mip_rel_gap": 1e-6},
    )
    unit = problem.scale * problem.columns * problem.records
    best = float(solution.fun) / unit if solution.status == 0 else None
    bound = float(solution.mip_dual_bound) / unit if solution.mip_dual_bound is not None else 0.0
    return best, bound


def _points(arguments: list[str]) -> list[tuple[str, int, list[str]]]:
    if not arguments:
        return [(name, k, []) for name in names() for k in SIZES]
    return [(part[0], int(part[1]), part[2:]) for part in (text.split(":") for text in arguments)]


def _row(name: str, k: int, figures: Row) -> Row:
    """A point with ARX's figure, ours before, and the ratio to ARX's."""
    arx = PUBLISHED["arx"].get(name, {}).get(str(k))
    return {
        "table": name,
        "k": k,
        **figures,
        "arx": arx,
        "ratio": None if arx is None else round(float(str(figures["lm"])) / arx, 3),
    }


def _one(arguments: list[str]) -> Iterator[Row]:
    earlier = earlier_tree()
    for name, k, efforts in _points(arguments):
        for effort in efforts or (BEFORE, *EFFORTS):
            if effort != BEFORE:
                row = apart(one_owner, name, k, effort)
            elif earlier is not None:
                row = apart(one_owner, name, k, None, tree=earlier)
            else:
                print("COVEY_BENCH_BEFORE names no tree: not measured before")
                continue
            published = PUBLISHED["one owner before"].get(name, {}).get(str(k))
            yield _row(name, k, {"effort": effort, **row, "before": published})


def _joint(arguments: list[str]) -> Iterator[Row]:
    earlier = earlier_tree()
    for name, k, _ in _points(arguments):
        row = apart(jointly, name, k, _others(name), "normal")
        if earlier is not None:
            row["earlier"] = apart(jointly_before, name, k, tree=earlier)["lm"]
        yield _row(name, k, {**row, "before": PUBLISHED["joint before"].get(name, {}).get(str(k))})


def _joint_efforts(arguments: list[str]) -> Iterator[Row]:
    for name, k, efforts in _points(arguments):
        for effort in efforts or ("quick", "thorough"):
            yield _row(name, k, {"effort": effort, **apart(jointly, name, k, _others(name), effort)})


def _others(name: str) -> int:
    return OTHERS if name in PUBLISHED["arx"] else 0


def _search(arguments: list[str]) -> Iterator[Row]:
    for name, k, seconds in _points(arguments):
        yield _row(name, k, apart(searched, name, k, float(seconds[0]) if seconds else 300.0))


def _exact(arguments: list[str]) -> Iterator[Row]:
    """Samples of CMC: the best there is, and how far from it the peeling alone and the whole search end."""
    table = sample("cmc")
    for rows, k in ((30, 2), (60, 3), (120, 5), (240, 5), (240, 10)):
        sample_rows = np.random.default_rng(rows + k).permutation(table.codes.shape[1])[:rows]
        problem = Sample("cmc", table.trees, np.ascontiguousarray(table.codes[:, sample_rows])).problem(k)
        best, bound = solve(problem, float(arguments[0]) if arguments else 120.0)
        peeled, improved = (peel(problem, budget=budget).loss(problem) for budget in (0, None))
        yield {
            "table": f"cmc, {rows} rows",
            "k": k,
            "best": None if best is None else round(best, 5),
            "bound": round(bound, 5),
            "peeled": round(peeled, 5),
            "lm": round(improved, 5),
            "above": round(improved / (best or bound), 4) if best or bound else None,
        }


def _diverse(_arguments: list[str]) -> Iterator[Row]:
    """Adult, k = 10, distinct l = 2 on salary-class."""
    table, k = sample("adult"), 10
    import csv

    from benchmarks._tables import DATA

    with (DATA / "adult" / "adult.csv").open() as text:
        pay = np.array([int(row["salary-class"] == ">50K") for row in csv.DictReader(text, delimiter=";")], np.int32)
    codes, counts = np.unique(np.vstack([table.codes, pay]), axis=1, return_counts=True)
    base = table.problem(k)
    problem = replace(
        base, codes=np.ascontiguousarray(codes[:-1]), counts=counts.astype(np.int64), l=2.0, diversity="distinct",
        sensitive=(Sensitive(codes[-1].astype(np.int32), 2, name="salary-class"),),
    )  # fmt: skip
    arx = PUBLISHED["arx with distinct l = 2 on salary-class"]["adult"]["10"]
    lm = peel(problem, threads=2).loss(problem)
    yield {"table": "adult, l = 2 distinct", "k": k, "lm": round(lm, 5), "arx": arx, "ratio": round(lm / arx, 3)}


def _picture(_arguments: list[str]) -> Iterator[Row]:
    """Draws losses as parts of the long search's, or of the thorough one's where there was none."""
    results: dict[str, list[Row]] = json.loads((RESULTS / "loss.json").read_text())
    best: dict[tuple[object, object], float] = {}
    for part in ("one", "search"):
        for row in results.get(part, []):
            best[row["table"], row["k"]] = min(float(str(row["lm"])), best.get((row["table"], row["k"]), 9.0))
    points = [
        {
            "table": row["table"],
            "k": f"k = {row['k']}",
            "who": contender,
            "loss": float(str(value)) / best[row["table"], row["k"]],
        }
        for contender, part, key in (
            ("ARX", "joint", "arx"),
            ("three parties", "joint", "lm"),
            ("one owner", "one", "lm"),
        )
        for row in results.get(part, [])
        if row.get("effort", "normal") == "normal" and (value := row.get(key)) and (row["table"], row["k"]) in best
    ]
    chart = (
        alt.Chart(pd.DataFrame(points))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("loss:Q", scale=alt.Scale(zero=False), title="loss, as a multiple of the best that we know"),
            y=alt.Y("table:N", title=None, sort=[*FILES, *SHAPES]),
            color=alt.Color("who:N", title=None, legend=alt.Legend(orient="top")),
            shape=alt.Shape("who:N", title=None),
            row=alt.Row("k:N", title=None, sort=[f"k = {k}" for k in SIZES]),
        )
        .properties(width=600, height=130)
    )
    PICTURE.parent.mkdir(exist_ok=True)
    chart.save(PICTURE)
    yield {"table": "all", "k": 0, "points": len(points)}


PARTS = {
    "one": _one, "joint": _joint, "efforts": _joint_efforts, "search": _search, "exact": _exact,
    "diverse": _diverse, "picture": _picture,
}  # fmt: skip


def run(arguments: list[str]) -> None:
    """Measures one part (some points of it, if they are named), or all, and keeps every row."""
    run_parts("loss", PARTS, ("table", "k", "effort"), arguments)
