"""Errors of the estimators of people who are unique in a population, on populations whose truth is known.

Each population is sampled ten times at each fraction; the table has the median of estimate over truth, and in brackets
the lowest and the highest. `covey evaluate` takes the last one. Adult (30,162 people, eight quasi columns) is taken
as a population where its file is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks._adult import QUASI, is_here, people
from covey.arrays import Longs
from covey.evaluation.population import uniques

FRACTIONS = (0.01, 0.05, 0.1, 0.3)
DRAWS = 10
PEOPLE = 60_000
SEED = 2026


def run(arguments: list[str]) -> None:
    """Print the table; no arguments."""
    heading = ("population", "unique", "sample", "Pitman", "Zayatz", "SNB", "taken")
    print("| " + " | ".join(heading) + " |\n| " + "--- | " * len(heading))
    for name, sizes in _populations():
        truth = int((sizes == 1).sum())
        of_class = np.repeat(np.arange(len(sizes)), sizes)
        for fraction in FRACTIONS:
            draws = np.random.default_rng(SEED)
            estimates = []
            for _ in range(DRAWS):
                sample = np.bincount(of_class[draws.random(len(of_class)) < fraction])
                estimates.append(uniques(sample[sample > 0], fraction))
            cells = [
                _spread([None if (guess := pick(estimate)) is None else guess / truth for estimate in estimates])
                for pick in PICKS
            ]
            print(f"| {name} | {truth:,} | {fraction:g} | {' | '.join(cells)} |", flush=True)


PICKS: tuple[Callable[..., float | None], ...] = (
    lambda estimate: estimate.pitman,
    lambda estimate: estimate.zayatz,
    lambda estimate: estimate.snb,
    lambda estimate: estimate.uniques,
)


def _populations() -> Iterator[tuple[str, Longs]]:
    """Class sizes of whole populations."""
    draws = np.random.default_rng(SEED)
    yield "negative binomial, shifted", 1 + draws.negative_binomial(0.8, 0.2, PEOPLE // 5)
    yield "Pitman's process", pitman_sizes(PEOPLE, draws)
    for name, power in (("Zipf, 1 / rank", 1.0), ("Zipf, 1 / root of the rank", 0.5)):
        weight = 1 / np.arange(1, PEOPLE + 1) ** power
        sizes = np.bincount(draws.choice(PEOPLE, PEOPLE, p=weight / weight.sum()))
        yield name, sizes[sizes > 0]
    if is_here():
        counted = people().group_by(list(QUASI)).aggregate([([], "count_all")])
        yield "Adult", np.asarray(counted["count_all"])


def pitman_sizes(people: int, draws: np.random.Generator, theta: float = 200.0, alpha: float = 0.4) -> Longs:
    """Class sizes of Pitman's own process: each person joins a class, as far as it is large, or begins one."""
    weight: list[float] = []
    members: list[int] = []
    for index in range(people):
        if draws.random() < (theta + alpha * len(weight)) / (theta + index):
            members.append(len(weight))
            weight.append(1)
            continue
        group = members[int(draws.random() * index)]
        while draws.random() < alpha / weight[group]:
            group = members[int(draws.random() * index)]
        members.append(group)
        weight[group] += 1
    return np.array(weight, dtype=np.int64)


def _spread(parts: list[float | None]) -> str:
    finite = [part for part in parts if part is not None]
    if not finite:
        return "none"
    return f"{np.median(finite):.2f} ({min(finite):.2f} to {max(finite):.2f})"
