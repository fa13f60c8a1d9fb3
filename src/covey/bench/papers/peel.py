"""The experiment of `peel`: its loss against k beside `cluster` and parties alone, and what a run costs.

Loss       of what a trusted party would publish (`ideal`), which tests hold equal to a run, byte for byte; rows dealt
           at random and by a column. *Alone* is each party's own centralized peeling, the releases put together.
Runs       for real, all parties in this process: rounds, bytes, seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.build import build, figures
from covey.bench.dataset import Dataset, PartitionedStudy
from covey.bench.findings import Claim, Experiment, Findings, Plot, ResultTable, Setting, curves
from covey.bench.papers.census import census

PARTIES = 3
PEEL, CLUSTER, ALONE = WAYS = ("peel", "cluster", "each alone")
AT_RANDOM, BY_AGE = DEALT = ("at random", "by age")

Losses = dict[tuple[str, str, int], float]
"""LM by way of publishing, way of dealing the rows, and k."""


def run(setting: Setting) -> Findings:
    """Measures the losses and runs."""
    data = census(setting)
    rows = min(data.pooled.num_rows, 2_000 if setting.quick else 30_000)
    losses = {(way, dealt, k): lm for way, dealt, k, lm in _losses(setting, data, rows)}
    runs = list(_runs(setting, data, (150, 450) if setting.quick else (1_000, 10_000)))
    costs = ResultTable("What a run takes (k = 10)", ("rows", "rounds", "MB, all parties", "seconds"), tuple(runs))
    return Findings(
        tables=(_loss_table(losses), costs),
        plots=tuple(
            Plot(
                f"Loss against k, rows dealt {dealt}", "k", "LM",
                curves((way, k, lm) for (way, how, k), lm in losses.items() if how == dealt), log_x=True,
            )
            for dealt in DEALT
        ),
        claims=tuple(_claims(losses)),
        notes=(
            f"measured on {data.about}; {rows:,} rows, {PARTIES} parties",
            "seconds are of all parties in one process, with whatever else this machine was doing",
        ),
    )  # fmt: skip


def _losses(setting: Setting, data: Dataset, rows: int) -> Iterator[tuple[str, str, int, float]]:
    ages = [float(cell) for cell in data.pooled.column("age").slice(0, rows).to_pylist()]
    orders = {AT_RANDOM: None, BY_AGE: np.argsort(ages, kind="stable").tolist()}
    for k in (5, 10, 50) if setting.quick else (5, 10, 25, 50, 100):
        for dealt, order in orders.items():
            parts = data.deal_rows(PARTIES, rows, order)
            for way in (PEEL, CLUSTER):
                setting.tell(f"loss of {way}, rows dealt {dealt}, k = {k}")
                found = data.split_rows(way, k, parts).ideal().figures
                if found is not None:
                    yield way, dealt, k, float(found.loss["lm"] or 0.0)
            setting.tell(f"loss of each party alone, rows dealt {dealt}, k = {k}")
            yield ALONE, dealt, k, _alone(data.split_rows(PEEL, k, parts), k, setting.seed)


def _alone(ready: PartitionedStudy, k: int, seed: int) -> float:
    """The mean loss over the parties' own releases."""
    lost = 0.0
    for table in ready.tables.values():
        built = build(table, k=k)
        lost += table.rows * figures(built, anonymize(built.problem, PEEL, seed=seed)).loss.lm
    return lost / sum(ready.rows.values())


def _runs(setting: Setting, data: Dataset, sizes: Sequence[int]) -> Iterator[tuple[int, int, float, float]]:
    for rows in sizes:
        setting.tell(f"a run, n = {rows:,}, k = 10")
        done = data.split_rows(PEEL, 10, data.deal_rows(PARTIES, min(rows, data.pooled.num_rows))).run(setting.seed)
        yield rows, done.rounds, done.megabytes, done.seconds


def _loss_table(losses: Losses) -> ResultTable:
    ways = [(way, dealt) for dealt in DEALT for way in WAYS]
    rows = tuple((k, *(losses.get((*way, k)) for way in ways)) for k in _ks(losses))
    return ResultTable("Loss (LM)", ("k", *(f"{way}, dealt {dealt}" for way, dealt in ways)), rows)


def _ks(losses: Losses) -> list[int]:
    return sorted({k for _, _, k in losses})


def _claims(losses: Losses) -> Iterator[Claim]:
    apart = max(abs(losses[PEEL, AT_RANDOM, k] - losses[PEEL, BY_AGE, k]) for k in _ks(losses))
    yield Claim(
        "our note, section 1", "the release does not depend on who holds which rows",
        f"LM differs by {apart:.1e} at most between the two ways of dealing", "yes" if apart < 1e-12 else "no",
    )  # fmt: skip
    pairs = [(dealt, k) for dealt in DEALT for k in _ks(losses)]
    for way, name in ((CLUSTER, "cluster"), (ALONE, "parties that publish alone")):
        below = sum(losses[PEEL, *pair] < losses.get((way, *pair), np.inf) for pair in pairs)
        yield Claim.counted("our note, section 9", f"peel loses less than {name}", below, len(pairs))


EXPERIMENT = Experiment(
    about="the loss of our own protocol beside cluster's and that of parties alone, and what a run costs",
    source="",
    run=run,
)
