"""The experiment of `cluster` for columns: the paper's Figures 7 and 8 in form, its claim of privacy, and `generalize`.

Figures 7, 8   SMC calls of the paper's Algorithm 4 (one for each record and sweep, and one for each merger, as its
               section 7.2 counts them) against n and k, beside our comparisons and rounds for a release of that kind.
Loss           beside the centralized algorithm, two to four holders.
Section 8.3    the attack that the paper calls useless, on what its pivot opens and on what an evaluator sees.
Generalize     on the same split in two: what each loses.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.arrays import Longs
from covey.bench.findings import Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.bench.papers import columns_attack as attack
from covey.bench.papers.census import Census, census
from covey.bench.papers.columns_attack import Score, Sight
from covey.crypto.rng import derive
from covey.party.session.data import load_table
from covey.party.simulate.deal import seed_of
from covey.party.simulate.in_process import simulate
from covey.protocols import find
from covey.protocols.cluster_columns import argmin, ideal, release
from covey.protocols.cluster_columns.algorithm import search
from covey.protocols.cluster_columns.own_columns import OwnColumns
from covey.protocols.cluster_columns.parameters import Parameters
from covey.protocols.cluster_columns.questions import ArgMin, Question
from covey.protocols.cluster_columns.randomness import public_draws
from covey.protocols.shared import columns
from covey.study import Study
from covey.table import Table, group

KEY = "record"
PAPERS_CASE, PAPERS_CALLS = (40_000, 100), 360_000


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rows: tuple[int, ...]
    ks: tuple[int, ...]
    attacked: int
    runs: int

    @classmethod
    def of(cls, setting: Setting, table: Census) -> Scale:
        """As much as the setting allows, and the table has."""
        whole = table.table.num_rows
        if setting.quick:
            return cls(tuple(sorted({min(whole, n) for n in (1000, 2000, 3000)})), (10, 50), min(whole, 600), 600)
        rows = tuple(sorted({min(whole, n) for n in (10_000, 20_000, 30_000, 40_000)}))
        return cls(rows, (10, 50, 100), min(whole, 2000), min(whole, 5000))


def study_of(
    table: Census, folder: Path, k: int, holders: int, protocol: str = "cluster", *, evaluator: bool = False,
    options: str = "",
) -> Study:  # fmt: skip
    """A study of the table with its columns dealt out in turn; the last holder has the sensitive ones too."""
    known = table.study(folder, k, 2)
    quasi = [column.name for column in known.quasi]
    exact = [column.name for column in known.released if column.name not in quasi]
    size = -(-len(quasi) // holders)
    parts = [quasi[place * size : (place + 1) * size] for place in range(holders)]
    parts[-1] += exact
    names = "".join(f"[parties.p{number}]\ncolumns = {part}\n" for number, part in enumerate(parts))
    last = '[parties.judge]\nrole = "evaluator"\n' if evaluator else ""
    head = f'[study]\nname = "columns"\nprotocol = "{protocol}"\npartition = "vertical"\n[privacy]\nk = {k}\n'
    key = f'[columns.{KEY}]\nrole = "key"\n'
    body = "\n".join(line for line in table.columns.splitlines() if not line.startswith("site"))
    return Study.parse(f"{head}[protocol]\n{options}\n{key}{body}\n{names}{last}", folder)


def hands_of(table: Census, study: Study, rows: int) -> dict[str, pa.Table]:
    """Each holder's columns of the first so many people."""
    part = table.table.slice(0, rows)
    part = part.append_column(KEY, pa.array([f"{number:06d}" for number in range(part.num_rows)]))
    return {p.name: part.select([column.name for column in study.held_by(p.name)]) for p in study.holders}


def tables_of(table: Census, study: Study, rows: int) -> dict[str, Table]:
    """The same as the parties read them."""
    read = {name: load_table(study, name, hand) for name, hand in hands_of(table, study, rows).items()}
    return {name: own for name, own in read.items() if own is not None}


@dataclass
class Counted:
    """What a search asked for."""

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
        """Of a run: aligning, two for each comparison, one for each word, comparing labels, figures, votes, rows."""
        return 3 + 2 * self.comparisons + self.told + 4


@dataclass(frozen=True)
class Found:
    """One search in the clear."""

    n: int
    k: int
    holders: int
    lm: float
    central: float
    sweeps: int
    seconds: float
    counted: Counted

    @property
    def calls(self) -> int:
        """The paper's SMC calls: each record in each sweep of its algorithm, and the mergers."""
        return self.n * self.sweeps + self.counted.merging


def run(setting: Setting) -> Findings:
    """Measures everything."""
    table = census(setting)
    scale = Scale.of(setting, table)
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        home = Path(folder)
        costs = list(_costs(setting, table, scale, home))
        losses = list(_losses(setting, table, scale, home))
        scores = list(_attacks(setting, table, scale, home))
        beside = list(_beside(setting, table, scale, home))
        runs = list(_runs(setting, table, scale, home))
    return Findings(
        tables=(
            _cost_table(costs),
            _loss_table(losses),
            _attack_table(scores),
            _beside_table(beside),
            runs_table(runs),
        ),
        plots=tuple(_plots(costs)),
        claims=tuple(_claims(costs, losses, scores, beside)),
        notes=(
            f"measured on {table.about}; columns dealt out in the table's order",
            "seconds are of one core of this machine, with whatever else it was doing",
            "calls are counted from the sweeps of the centralized algorithm, which decides what the paper's does",
        ),
    )


def searched(table: Census, study: Study, rows: int, counted: Counted) -> tuple[dict[str, OwnColumns], Longs]:
    """The search in the clear: tests hold a run of the pivot's form equal to it."""
    common = columns.common_rows(study, tables_of(table, study, rows))
    parameters = Parameters.of(study)
    own = {name: OwnColumns.of(parameters, part, name) for name, part in common.items()}
    ids = columns.keys_of(common[parameters.pivot], parameters.pivot)
    label = ideal.play(
        {name: search(part, name, public_draws(ids), public_draws(ids)) for name, part in own.items()}, counted.watch
    )
    return own, label


def one(table: Census, folder: Path, rows: int, k: int, holders: int, seed: int) -> Found:
    """What a search finds and takes, beside the centralized algorithm."""
    study, counted = study_of(table, folder, k, holders), Counted()
    begun = time.perf_counter()
    own, label = searched(table, study, rows, counted)
    seconds = time.perf_counter() - begun
    sizes = np.bincount(label).astype(np.int64)
    lost = sum(release.own_loss(part.table, part.nodes(label), sizes)[0] for part in own.values())
    known = table.study(folder, k, 2)
    whole = load_table(known, "p00", table.table.slice(0, rows))
    if whole is None:
        raise TypeError("a holder has a table")
    problem = build(whole, k=k).problem
    tries = [anonymize(problem, "sequential", seed=seed + each) for each in range(3)]
    central = float(np.mean([each.loss(problem) for each in tries]))
    sweeps = int(np.median([int(str(each.notes["sweeps"])) for each in tries]))
    lm = lost / (int(sizes.sum()) * len(study.quasi))
    return Found(rows, k, holders, lm, central, sweeps, seconds, counted)


def _costs(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Found]:
    for rows in scale.rows:
        for k in scale.ks:
            setting.tell(f"columns split in two, n = {rows:,}, k = {k}")
            yield one(table, home / "cost", rows, k, 2, setting.seed)


def _losses(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Found]:
    rows = scale.rows[-1]
    for holders in (3, 4):
        for k in scale.ks[:2]:
            setting.tell(f"columns split in {holders}, n = {rows:,}, k = {k}")
            yield one(table, home / "loss", rows, k, holders, setting.seed)


@dataclass(frozen=True)
class Attacked:
    """What an onlooker makes of what it sees."""

    onlooker: str
    holders: int
    score: Score


@dataclass
class Onlooker:
    """Who adds up: the pivot, which knows the rows and subtracts its own; or the evaluator, which guesses the order."""

    pivot: str
    seed: int
    plain: list[Sight] = field(default_factory=list)
    disguised: list[Sight] = field(default_factory=list)

    def watch(self, questions: Mapping[str, Question]) -> None:
        """Looks at one batch of moves."""
        asked = {name: each for name, each in questions.items() if isinstance(each, ArgMin)}
        first = asked.get(self.pivot)
        if first is None or first.batch is None:
            return
        batch, total = first.batch, argmin.add_up([each.shares for each in asked.values()])
        self.plain.append(Sight.of(batch.records, batch.starts, batch.candidates, total, first.shares))
        disguise = argmin.Disguise.draw(derive(seed_of(self.seed), "look", len(self.plain)), batch.starts)
        worn = disguise.wear(total, noisy=True)
        nothing = np.zeros_like(worn)
        if len(set(np.diff(batch.starts).tolist())) == 1:  # rows of one width: in any order they fit the batch
            self.disguised.append(Sight.of(batch.records, batch.starts, batch.candidates, worn, nothing))


def _attacks(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Attacked]:
    for holders in (2, 3):
        setting.tell(f"who is alike elsewhere, {holders} holders, n = {scale.attacked:,}")
        study = study_of(table, home / "attack", 6, holders)
        common = columns.common_rows(study, tables_of(table, study, scale.attacked))
        parameters = Parameters.of(study)
        own = {name: OwnColumns.of(parameters, part, name) for name, part in common.items()}
        onlooker = Onlooker(parameters.pivot, setting.seed)
        ids = columns.keys_of(common[parameters.pivot], parameters.pivot)
        ideal.play(
            {name: search(part, name, public_draws(ids), public_draws(ids)) for name, part in own.items()},
            onlooker.watch,
        )
        others = [codes for name, part in common.items() if name != parameters.pivot for codes in part.codes]
        truth = group(others, scale.attacked)[0]
        for name, sights in (("the pivot", onlooker.plain[:60]), ("an evaluator", onlooker.disguised[:60])):
            yield Attacked(name, holders, attack.score(*attack.alike(sights, 16), truth))


@dataclass(frozen=True)
class Beside:
    """What a release of the same split loses."""

    way: str
    k: int
    lm: float
    classes: int


def _beside(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Beside]:
    rows = scale.rows[-1] if setting.quick else scale.rows[-2]
    ways = {
        "cluster": ("cluster", ""),
        "generalize, paper": ("generalize", 'variant = "paper"'),
        "generalize, finished-cells": ("generalize", 'variant = "finished-cells"'),
    }
    for k in scale.ks:
        for way, (protocol, options) in ways.items():
            setting.tell(f"{way}, n = {rows:,}, k = {k}")
            study = study_of(table, home / "beside", k, 2, protocol, options=options)
            figures = find(protocol, "vertical").ideal(study, tables_of(table, study, rows)).figures
            if figures is not None:
                yield Beside(way, k, float(figures.loss["lm"] or 0), figures.classes)


@dataclass(frozen=True)
class Ran:
    """A real run, all parties in this process."""

    form: str
    k: int
    n: int
    lm: float
    seconds: float
    rounds: int
    bytes: int


def _runs(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Ran]:
    for form in ("pivot", "evaluator"):
        for k in scale.ks[:2]:
            setting.tell(f"a run with {'a pivot' if form == 'pivot' else 'an evaluator'}, n = {scale.runs:,}, k = {k}")
            study = study_of(table, home / "run", k, 2, evaluator=form == "evaluator")
            begun = time.perf_counter()
            done = simulate(study, hands_of(table, study, scale.runs), seed=setting.seed)
            took = time.perf_counter() - begun
            rounds, size = (int(str(done.summary[key])) for key in ("rounds", "bytes"))
            yield Ran(form, k, scale.runs, float(done.loss.lm or 0), took, rounds, size)


def _cost_table(costs: list[Found]) -> Grid:
    head = (
        "n",
        "k",
        "sweeps L",
        "SMC calls",
        "our comparisons",
        "our rounds",
        "MB of a holder",
        "seconds",
        "calls : rounds",
    )
    rows = tuple(
        (
            each.n, each.k, each.sweeps, each.calls, each.counted.comparisons, each.counted.rounds,
            round(4 * each.counted.prices / 1e6, 1), round(each.seconds, 1), round(each.calls / each.counted.rounds),
        )
        for each in costs
    )  # fmt: skip
    return Grid("Figures 7 and 8 in form, columns split in two", head, rows)


def _loss_table(losses: list[Found]) -> Grid:
    head = ("holders", "n", "k", "LM", "centralized sequential", "ratio")
    rows = tuple(
        (each.holders, each.n, each.k, round(each.lm, 4), round(each.central, 4), round(each.lm / each.central, 3))
        for each in losses
    )
    return Grid("Loss beside the centralized algorithm (mean of three seeds)", head, rows)


def _attack_table(scores: list[Attacked]) -> Grid:
    head = ("onlooker", "holders", "pairs claimed", "precision", "recall", "by guessing")
    rows = tuple(
        (each.onlooker, each.holders, each.score.claims, round(each.score.precision, 4), round(each.score.recall, 4),
         round(each.score.base, 4))
        for each in scores
    )  # fmt: skip
    return Grid("Who can tell which people share the other holders' values", head, rows)


def _beside_table(beside: list[Beside]) -> Grid:
    rows = tuple((each.way, each.k, round(each.lm, 4), each.classes) for each in beside)
    return Grid("Beside generalize on the same split", ("protocol", "k", "LM", "classes"), rows)


def runs_table(runs: list[Ran]) -> Grid:
    """What real runs cost."""
    head = ("form", "k", "n", "LM", "seconds", "rounds", "MB")
    rows = tuple(
        (each.form, each.k, each.n, round(each.lm, 4), round(each.seconds, 1), each.rounds, round(each.bytes / 1e6, 1))
        for each in runs
    )
    return Grid("Real runs of two holders, all parties in one process", head, rows)


def _plots(costs: list[Found]) -> Iterator[Plot]:
    ks = sorted({each.k for each in costs})
    calls = tuple(Curve(f"k = {k}", tuple((each.n, float(each.calls)) for each in costs if each.k == k)) for k in ks)
    rounds = tuple(
        Curve(f"k = {k}", tuple((each.n, float(each.counted.rounds)) for each in costs if each.k == k)) for k in ks
    )
    yield Plot("Figures 7 and 8 in form, columns split: SMC calls", "n", "calls", calls)
    yield Plot("Rounds of ours", "n", "rounds", rounds)


def _claims(costs: list[Found], losses: list[Found], scores: list[Attacked], beside: list[Beside]) -> Iterator[Claim]:
    rates = [each.calls / each.n for each in costs]
    yield Claim(
        "Figures 7 and 8",
        "with columns split, SMC calls grow linearly with n",
        f"n times L, with L between {min(each.sweeps for each in costs)} and {max(each.sweeps for each in costs)}",
        "yes" if max(rates) < 2 * min(rates) else "in part",
    )
    largest = max(costs, key=lambda each: (each.n, each.k))
    same = (largest.n, largest.k) == PAPERS_CASE and PAPERS_CALLS / 2 <= largest.calls <= 2 * PAPERS_CALLS
    yield Claim(
        "section 9.2.2",
        f"Algorithm 4 takes {PAPERS_CALLS:,} secure sums for n = {PAPERS_CASE[0]:,} and k = {PAPERS_CASE[1]}, one "
        "after the other: 12 hours on a WAN",
        f"{largest.calls:,} for n = {largest.n:,} and k = {largest.k}; in batches {largest.counted.rounds:,} rounds, "
        f"{largest.calls / largest.counted.rounds:,.0f} times fewer",
        "yes" if same else "in part",
    )
    worst = max(each.lm / each.central for each in (*costs, *losses))
    yield Claim(
        "Theorem 4.1, for columns",
        "the outcome does not depend on the number of players, or on the split",
        f"as a distribution; single outcomes cost up to {worst:.3f} times what centralized sequential costs on average",
        "yes" if worst < 1.05 else "in part",
    )
    pivot = min(each.score.precision for each in scores if each.onlooker == "the pivot")
    other = max(each.score.recall for each in scores if each.onlooker != "the pivot")
    yield Claim(
        "section 8.3",
        "the attack on what the pivot opens is completely useless under LM",
        f"the pivot tells who shares the others' values with a precision of {pivot:.3f} or more; an evaluator finds "
        f"{other:.3f} of them or less",
        "no" if pivot > 0.5 else "yes",
    )
    lm = {(each.way, each.k): each.lm for each in beside}
    best = [k for k in sorted({each.k for each in beside}) if lm["cluster", k] < min(
        value for (way, other_k), value in lm.items() if way != "cluster" and other_k == k)]  # fmt: skip
    yield Claim(
        "section 9.1, of Jiang and Clifton's protocol",
        "local recoding by clustering loses less than generalizing each side by itself",
        f"at {len(best)} of {len({each.k for each in beside})} k",
        "yes" if len(best) == len({each.k for each in beside}) else "in part" if best else "no",
    )


EXPERIMENT = Experiment(
    name="columns",
    about="columns split: rounds beside the paper's secure sums, loss, who learns who is alike, and generalize",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 4",
    run=run,
)
