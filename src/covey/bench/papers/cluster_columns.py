"""The experiment of `cluster` for columns: the paper's Figures 7 and 8 in form, its claim of privacy, and `generalize`.

Figures 7, 8   SMC calls of the paper's Algorithm 4 (one for each record and sweep, and one for each merger, as its
               section 7.2 counts them) against n and k, beside our comparisons and rounds for a release of that kind;
               on Adult, and on a made-up table like a census.
Loss           beside the centralized algorithm, two to four holders.
Section 8.3    the attack that the paper calls useless, on what its pivot opens.
Beside         `generalize` on the same split in two: what each loses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.arrays import Longs
from covey.bench.dataset import Dataset, MeasuredRun, PartitionedStudy
from covey.bench.findings import Claim, Experiment, Findings, Plot, ResultTable, Setting, curves
from covey.bench.papers import columns_attack as attack
from covey.bench.papers.census import census, made_up
from covey.bench.papers.columns_attack import ClaimScore, Sight
from covey.protocols.as_printed.cluster_columns import argmin, ideal
from covey.protocols.as_printed.cluster_columns.algorithm import search
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns
from covey.protocols.as_printed.cluster_columns.parameters import Parameters
from covey.protocols.as_printed.cluster_columns.questions import ArgMin, Question
from covey.protocols.as_printed.cluster_columns.randomness import public_draws
from covey.protocols.shared.columns import meeting, parts
from covey.study.document import Document
from covey.table import Table, group

PAPERS_CASE, PAPERS_CALLS = (40_000, 100), 360_000
WAYS: dict[str, tuple[str, Document]] = {
    "peel, with a helper": ("peel", {}),
    "cluster": ("cluster", {}),
    "generalize, paper": ("generalize", {"variant": "paper"}),
    "generalize, finished-cells": ("generalize", {"variant": "finished-cells"}),
}


@dataclass(frozen=True)
class Scale:
    """The sizes that are measured."""

    rows: tuple[int, ...]
    ks: tuple[int, ...]
    attacked: int
    run_rows: int


def scale_of(setting: Setting, whole: int) -> Scale:
    """Returns as much as the setting allows and the table has."""
    if setting.quick:
        return Scale(tuple(sorted({min(whole, n) for n in (1000, 2000)})), (10, 50), min(whole, 400), 300)
    rows = tuple(sorted({min(whole, n) for n in (10_000, 20_000, 30_000, 40_000)}))
    return Scale(rows, (10, 50, 100), min(whole, 2000), min(whole, 5000))


def _split(
    data: Dataset, protocol: str, k: int, holders: int, rows: int, *, third: str = "",
    options: Document | None = None,
) -> PartitionedStudy:  # fmt: skip
    """Deals the columns out in turn; the last holder has the sensitive ones too."""
    size = -(-len(data.quasi) // holders)
    parts = {f"p{place}": data.quasi[place * size : (place + 1) * size] for place in range(holders)}
    parts[f"p{holders - 1}"] += data.exact
    judge: Document = {"judge": {"role": third}} if third else {}
    return data.split_columns(protocol, k, parts, rows, parties=judge, options=options)


@dataclass
class QuestionCount:
    """The questions that a search asked."""

    comparisons: int = 0
    told: int = 0
    prices: int = 0
    merging: int = 0

    def watch(self, questions: Mapping[str, Question]) -> None:
        """Counts one question."""
        question = next(iter(questions.values()))
        if isinstance(question, ArgMin):
            self.comparisons += 1
            self.prices += len(question.shares)
            self.merging += question.phase == "merging"
        else:
            self.told += 1

    @property
    def rounds(self) -> int:
        """Rounds of a run: aligning, two for each comparison, one for each word, labels, figures, votes, rows."""
        return 3 + 2 * self.comparisons + self.told + 4

    @property
    def megabytes(self) -> float:
        """The traffic of a holder: four bytes for each price."""
        return 4 * self.prices / 1e6


@dataclass(frozen=True)
class ClearSearch:
    """The outcome and the cost of one search in the clear, and the loss of the centralized algorithm."""

    n: int
    k: int
    holders: int
    lm: float
    central: float
    sweeps: int
    seconds: float
    asked: QuestionCount

    @property
    def calls(self) -> int:
        """The paper's SMC calls: each record in each sweep of its algorithm, and the mergers."""
        return self.n * self.sweeps + self.asked.merging

    @property
    def calls_per_round(self) -> float:
        """The paper's calls for each round of ours."""
        return self.calls / self.asked.rounds

    @property
    def ratio(self) -> float:
        """The loss beside that of the centralized algorithm."""
        return self.lm / self.central


@dataclass(frozen=True)
class Attack:
    """The success of the pivot, who guesses which people are alike."""

    holders: int
    score: ClaimScore


@dataclass(frozen=True)
class ProtocolLoss:
    """The loss of one protocol on the split in two."""

    way: str
    k: int
    lm: float
    classes: int


@dataclass(frozen=True)
class FormRun:
    """A real run."""

    k: int
    n: int
    done: MeasuredRun


def run(setting: Setting) -> Findings:
    """Measures costs, losses, the attack and real runs."""
    data = census(setting)
    scale = scale_of(setting, data.pooled.num_rows)
    costs = [_search(setting, data, rows, k, 2) for rows in scale.rows for k in scale.ks]
    second = made_up(setting, 2000 if setting.quick else 50_000)
    other = [
        _search(setting, second, rows, k, 2)
        for rows in (second.pooled.num_rows // 2, second.pooled.num_rows)
        for k in scale.ks[:2]
    ]
    losses = [_search(setting, data, scale.rows[-1], k, holders) for holders in (3, 4) for k in scale.ks[:2]]
    attacks = list(_attacks(setting, data, scale))
    beside = list(_beside(setting, data, scale))
    runs = list(_runs(setting, data, scale))
    plots = (
        Plot(
            "Figure 7 in form, columns split: SMC calls", "n", "calls",
            curves((f"k = {each.k}", each.n, each.calls) for each in costs),
        ),
        Plot(
            "Figure 8 in form, columns split: SMC calls", "n", "calls",
            curves((f"k = {each.k}", each.n, each.calls) for each in other),
        ),
        Plot("Rounds of ours", "n", "rounds", curves((f"k = {each.k}", each.n, each.asked.rounds) for each in costs)),
    )  # fmt: skip
    return Findings(
        tables=_tables(costs, other, losses, attacks, beside, runs),
        plots=plots,
        claims=tuple(_claims(costs, other, losses, attacks, beside)),
        notes=(
            f"measured on {data.about}; columns dealt out in the table's order",
            f"Figure 8 on {second.about}, in place of the paper's CENSUS",
            "seconds are of one core of this machine, with whatever else it was doing",
            "calls are counted from the sweeps of the centralized algorithm, which decides what the paper's does",
        ),
    )


def _play(
    ready: PartitionedStudy, watch: Callable[[Mapping[str, Question]], None]
) -> tuple[dict[str, Table], dict[str, OwnColumns], Longs]:
    """Searches in the clear; tests hold a run of the pivot's form equal to it."""
    common = meeting.common_rows(ready.study, ready.tables)
    parameters = Parameters.of(ready.study)
    own = {name: OwnColumns.of(parameters, part, name) for name, part in common.items()}
    ids = meeting.keys_of(common[parameters.pivot], parameters.pivot)
    label = ideal.play({name: search(part, public_draws(ids), public_draws(ids)) for name, part in own.items()}, watch)
    return common, own, label


def _search(setting: Setting, data: Dataset, rows: int, k: int, holders: int) -> ClearSearch:
    """Measures a search, and the centralized algorithm beside it."""
    setting.tell(f"columns split in {holders}, n = {rows:,}, k = {k}")
    ready, asked = _split(data, "cluster", k, holders, rows), QuestionCount()
    begun = time.perf_counter()
    _, own, label = _play(ready, asked.watch)
    seconds = time.perf_counter() - begun
    sizes = np.bincount(label).astype(np.int64)
    lost = sum(parts.own_loss(part.table, part.nodes(label), sizes)[0] for part in own.values())
    problem = build(data.whole(k, rows), k=k).problem
    tries = [anonymize(problem, "sequential", seed=setting.seed + each) for each in range(3)]
    central = float(np.mean([each.loss(problem) for each in tries]))
    sweeps = int(np.median([int(str(each.notes["sweeps"])) for each in tries]))
    lm = lost / (int(sizes.sum()) * len(data.quasi))
    return ClearSearch(rows, k, holders, lm, central, sweeps, seconds, asked)


def _attacks(setting: Setting, data: Dataset, scale: Scale) -> Iterator[Attack]:
    for holders in (2, 3):
        setting.tell(f"who is alike elsewhere, {holders} holders, n = {scale.attacked:,}")
        ready = _split(data, "cluster", 6, holders, scale.attacked)
        pivot, sights = Parameters.of(ready.study).pivot, list[Sight]()

        def watch(questions: Mapping[str, Question], pivot: str = pivot, sights: list[Sight] = sights) -> None:
            asked = {name: each for name, each in questions.items() if isinstance(each, ArgMin)}
            first = asked.get(pivot)
            if first is not None and first.batch is not None:
                total = argmin.add_up([each.shares for each in asked.values()])
                sights.append(Sight.of(first.batch.records, first.starts, first.batch.candidates, total, first.shares))

        common, _, _ = _play(ready, watch)
        others = [codes for name, part in common.items() if name != pivot for codes in part.codes]
        truth = group(others, scale.attacked)[0]
        yield Attack(holders, attack.score(*attack.alike(sights[:60], 16), truth))


def _beside(setting: Setting, data: Dataset, scale: Scale) -> Iterator[ProtocolLoss]:
    rows = scale.rows[-1] if setting.quick else scale.rows[-2]
    for k in scale.ks:
        for way, (protocol, options) in WAYS.items():
            setting.tell(f"{way}, n = {rows:,}, k = {k}")
            third = "helper" if protocol == "peel" else ""
            figures = _split(data, protocol, k, 2, rows, third=third, options=options).ideal().figures
            if figures is not None:
                yield ProtocolLoss(way, k, float(figures.loss["lm"] or 0), figures.classes)


def _runs(setting: Setting, data: Dataset, scale: Scale) -> Iterator[FormRun]:
    for k in scale.ks[:2]:
        setting.tell(f"a run, n = {scale.run_rows:,}, k = {k}")
        yield FormRun(k, scale.run_rows, _split(data, "cluster", k, 2, scale.run_rows).run(setting.seed))


def _tables(
    costs: list[ClearSearch],
    other: list[ClearSearch],
    losses: list[ClearSearch],
    attacks: list[Attack],
    beside: list[ProtocolLoss],
    runs: list[FormRun],
) -> tuple[ResultTable, ...]:
    calls = {
        "n": "n", "k": "k", "sweeps L": "sweeps", "SMC calls": "calls", "our comparisons": "asked.comparisons",
        "our rounds": "asked.rounds", "MB of a holder": "asked.megabytes", "seconds": "seconds",
        "calls : rounds": "calls_per_round",
    }  # fmt: skip
    return (
        ResultTable.of("Figure 7 in form, columns split in two", costs, calls),
        ResultTable.of("Figure 8 in form, columns split in two", other, calls),
        ResultTable.of("Loss beside the centralized algorithm (mean of three seeds)", losses, {
            "holders": "holders", "n": "n", "k": "k", "LM": "lm", "centralized sequential": "central", "ratio": "ratio",
        }),
        ResultTable.of("How well the pivot tells which people share the other holders' values", attacks, {
            "holders": "holders", "pairs claimed": "score.claims",
            "precision": "score.precision", "recall": "score.recall", "by guessing": "score.base",
        }),
        ResultTable.of("Beside generalize on the same split", beside, {
            "protocol": "way", "k": "k", "LM": "lm", "classes": "classes",
        }),
        ResultTable.of("Real runs of two holders, all parties in one process", runs, {
            "k": "k", "n": "n", "LM": "done.lm", "seconds": "done.seconds", "rounds": "done.rounds",
            "MB": "done.megabytes",
        }),
    )  # fmt: skip


def _claims(
    costs: list[ClearSearch],
    second: list[ClearSearch],
    losses: list[ClearSearch],
    attacks: list[Attack],
    beside: list[ProtocolLoss],
) -> Iterator[Claim]:
    for figure, counted in (("Figure 7", costs), ("Figure 8", second)):
        rates, sweeps = [each.calls / each.n for each in counted], [each.sweeps for each in counted]
        yield Claim(
            figure, "with columns split, SMC calls grow linearly with n",
            f"n times L, with L between {min(sweeps)} and {max(sweeps)}",
            "yes" if max(rates) < 2 * min(rates) else "in part",
        )  # fmt: skip
    largest = max(costs, key=lambda each: (each.n, each.k))
    rate = (largest.calls / largest.n) / (PAPERS_CALLS / PAPERS_CASE[0])
    yield Claim(
        "section 9.2.2",
        f"Algorithm 4 takes {PAPERS_CALLS:,} secure sums for n = {PAPERS_CASE[0]:,} and k = {PAPERS_CASE[1]}, one "
        "after the other: 12 hours on a WAN",
        f"{largest.calls:,} for n = {largest.n:,} and k = {largest.k}, {rate:.2f} times as many a record; in batches "
        f"{largest.asked.rounds:,} rounds, {largest.calls_per_round:,.0f} times fewer",
        "yes" if 0.5 <= rate <= 2 else "no",
    )
    worst = max(each.ratio for each in (*costs, *losses))
    yield Claim(
        "Theorem 4.1, for columns", "the outcome does not depend on the number of players, or on the split",
        f"as a distribution; single outcomes cost up to {worst:.3f} times what centralized sequential costs on average",
        "yes" if worst < 1.05 else "in part",
    )  # fmt: skip
    precision = min(each.score.precision for each in attacks)
    yield Claim(
        "section 8.3", "the attack on what the pivot opens is completely useless under LM",
        f"the pivot tells who shares the others' values with a precision of {precision:.3f} or more",
        "no" if precision > 0.5 else "yes",
    )  # fmt: skip
    lm = {(each.way, each.k): each.lm for each in beside}
    ks = {each.k for each in beside}
    coarse = [way for way in WAYS if way.startswith("generalize")]
    best = sum(lm["cluster", k] < min(lm[way, k] for way in coarse if (way, k) in lm) for k in ks)
    yield Claim.counted(
        "section 9.1, of Jiang and Clifton's protocol",
        "local recoding by clustering loses less than generalizing each side by itself",
        best, len(ks), f"at {best} of {len(ks)} k",
    )  # fmt: skip
    finer = sum(lm["peel, with a helper", k] < lm["cluster", k] for k in ks)
    yield Claim.counted(
        "ours", "with a helper, peel loses less than cluster on the same split",
        finer, len(ks), f"at {finer} of {len(ks)} k",
    )  # fmt: skip


EXPERIMENT = Experiment(
    about="columns split: rounds beside the paper's secure sums, loss, who learns who is alike, generalize",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 4",
    run=run,
)
