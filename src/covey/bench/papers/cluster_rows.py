"""The experiment of `cluster` for rows: the paper's Figures 3 and 5 to 8 in form, and which of its claims hold.

Figure 3       LM and EM against k: sequential, mondrian and hilbert as in the paper, and our peel and guarded cluster.
Figures 5 to 8 seconds, sweeps L, SMC calls and rounds of the paper's algorithm against n and k, five parties. A call is
               counted for each examined record whose removal changes its party's own closure (section 4.2); a search in
               the trees takes one step or more, so the paper's own count is this or more. Rounds are those of the exact
               schedule: three for each turn and each split.
Both schedules  run for real, all parties in this process: rounds, bytes, exact records shown.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.build import Built, build
from covey.anonymizers.clusters import clusters_of
from covey.anonymizers.constraints import limits_of
from covey.anonymizers.figures import figures
from covey.anonymizers.kernels import forest
from covey.anonymizers.merging import agglomerate
from covey.anonymizers.sequential import SWEEPS, first_labels, split_large
from covey.anonymizers.sweeping import sweep
from covey.bench.findings import Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.bench.papers.census import Census, census
from covey.party.session.data import load_table
from covey.party.simulate.in_process import simulate
from covey.protocols.cluster_rows import clear, release
from covey.protocols.cluster_rows.ground import lay_ground
from covey.protocols.cluster_rows.kernels import Children
from covey.protocols.cluster_rows.sweep import find_critical
from covey.study import Study
from covey.table import Table

PARTIES = 5
ALGORITHMS = ("sequential", "mondrian", "hilbert", "peel")
GUARDED = "cluster, guarded"


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rows: tuple[int, ...]
    ks: tuple[int, ...]
    loss_ks: tuple[int, ...]
    runs: int  # rows of the real runs


def scale_of(setting: Setting, table: Census) -> Scale:
    """As much as the setting allows, and the table has."""
    whole = table.table.num_rows
    if setting.quick:
        rows = tuple(sorted({min(whole, number) for number in (1000, 2000, 3000)}))
        return Scale(rows, (10, 50), (10, 25, 50), min(whole, 1000))
    rows = tuple(sorted({min(whole, number) for number in (10_000, 20_000, 30_000, whole)}))
    return Scale(rows, (10, 50, 100), (10, 25, 50, 100), min(whole, 10_000))


@dataclass(frozen=True)
class Lost:
    """What a release of one way loses."""

    way: str
    k: int
    lm: float
    em: float


@dataclass(frozen=True)
class Cost:
    """What the paper's algorithm takes."""

    n: int
    k: int
    seconds: float
    sweeps: int
    calls: int
    rounds: int


def run(setting: Setting) -> Findings:
    """Measures everything."""
    table = census(setting)
    scale = scale_of(setting, table)
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        home = Path(folder)
        losses = list(_losses(setting, table, scale, home))
        costs = list(_costs(setting, table, scale, home))
        runs = list(_runs(setting, table, scale, home))
    return Findings(
        tables=(_loss_table(losses), _cost_table(costs), runs_table(runs)),
        plots=(*_loss_plots(losses), *_cost_plots(costs)),
        claims=(*_claims(losses, costs), _claim_of_runs(runs)),
        notes=(
            f"measured on {table.about}; {PARTIES} parties",
            "seconds are of one core of this machine, with whatever else it was doing",
            "LM is what every way lowers; EM is that of the same release",
        ),
    )


def _built(table: Census, folder: Path, rows: int, k: int) -> Built:
    study = table.study(folder, k, PARTIES)
    loaded = load_table(study, "p00", table.table.slice(0, rows))
    if loaded is None:
        raise TypeError("a holder has a table")
    return build(loaded, k=k)


def _losses(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Lost]:
    rows = max(scale.rows)
    for k in scale.loss_ks:
        built = _built(table, home / "loss", rows, k)
        for name in ALGORITHMS:
            setting.tell(f"loss of {name}, n = {rows:,}, k = {k}")
            found = figures(built, anonymize(built.problem, name, seed=setting.seed)).loss
            yield Lost(name, k, found.lm, found.em)
        setting.tell(f"loss of {GUARDED}, n = {rows:,}, k = {k}")
        study = table.study(home / "guarded", k, PARTIES)
        yield _guarded(study, table.tables(study, rows), k)


def _guarded(study: Study, tables: Mapping[str, Table], k: int) -> Lost:
    """What the guarded schedule releases, found in the clear: tests hold a run equal to it."""
    trees = next(iter(tables.values())).trees
    ground = lay_ground(study, trees, None)
    labels, clusters = clear.search(ground, {name: table.codes for name, table in tables.items()}, False)
    classes = release.Classes.of(clusters, next(iter(labels.values())))
    leaves = [
        np.sum([np.bincount(table.codes[place], minlength=tree.codes) for table in tables.values()], axis=0)
        for place, tree in enumerate(trees)
    ]
    loss = release.figures(ground, classes, leaves).loss
    return Lost(GUARDED, k, float(loss["lm"] or 0), float(loss["em"] or 0))


def _costs(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Cost]:
    for rows in scale.rows:
        for k in scale.ks:
            setting.tell(f"the paper's algorithm, n = {rows:,}, k = {k}")
            yield sequential_run(_built(table, home / "cost", rows, k), rows, k, setting.seed)


def sequential_run(built: Built, rows: int, k: int, seed: int) -> Cost:
    """One run of the paper's algorithm, its SMC calls and our rounds counted."""
    problem = built.problem
    trees, limits = forest(problem), limits_of(problem)
    random = np.random.default_rng(seed)
    item = random.permutation(np.repeat(np.arange(problem.items), problem.counts))
    codes = np.ascontiguousarray(problem.codes[:, item])
    nothing = np.zeros((len(item), 0), dtype=np.int64)
    ends = np.linspace(0, len(item), PARTIES + 1).astype(int)
    children = Children.of(trees)
    state = clusters_of(trees, limits, codes, nothing, first_labels(limits, nothing, len(item), random))
    calls, rounds, seconds, sweeps = 0, 3, 0.0, 0
    for _ in range(SWEEPS):
        moved, sweeps = 0, sweeps + 1
        for start, stop in pairwise(ends):
            own = np.ascontiguousarray(codes[:, start:stop])
            critical = find_critical(trees, children, own, state.label[start:stop].copy(), len(state.size)).record
            calls += len(np.unique(critical[critical >= 0]))
            begun = time.perf_counter()
            moved += sweep(state, trees, limits, int(start), int(stop))
            seconds += time.perf_counter() - begun
            rounds += 3
        state, splits = split_large(state, trees, limits, random)
        rounds += 3 if splits else 0
        if not moved and not splits:
            break
    begun = time.perf_counter()
    agglomerate(state, trees, limits.k)
    return Cost(rows, k, seconds + time.perf_counter() - begun, sweeps, calls, rounds)


@dataclass(frozen=True)
class Ran:
    """A real run."""

    schedule: str
    k: int
    n: int
    lm: float
    seconds: float
    rounds: int
    bytes: int
    exact: int
    """Exact records of others that were shown."""


def _runs(setting: Setting, table: Census, scale: Scale, home: Path) -> Iterator[Ran]:
    for schedule in ("guarded", "exact"):
        for k in scale.ks[:2]:
            setting.tell(f"a run, schedule {schedule}, n = {scale.runs:,}, k = {k}")
            study = table.study(home / "run", k, PARTIES, options=f'schedule = "{schedule}"')
            begun = time.perf_counter()
            done = simulate(study, table.hands(study, scale.runs), seed=setting.seed)
            took = time.perf_counter() - begun
            shown = sum(map(exact_records, done.ledger["p00"]))
            rounds, size = (int(str(done.summary[key])) for key in ("rounds", "bytes"))
            yield Ran(schedule, k, scale.runs, float(done.loss.lm or 0), took, rounds, size, shown)


def exact_records(sentence: str) -> int:
    """How many exact records of others a sentence of a ledger says were shown."""
    found = re.search(r"exact record: ([\d,]+) times", sentence)
    return int(found[1].replace(",", "")) if found else 0


def _loss_table(losses: list[Lost]) -> Grid:
    ks = sorted({each.k for each in losses})
    ways = (*ALGORITHMS, GUARDED)
    found = {(each.way, each.k): each for each in losses}
    rows = tuple(
        (way, *(f"{found[way, k].lm:.4f} / {found[way, k].em:.3f}" for k in ks)) for way in ways
    )  # fmt: skip
    return Grid("Figure 3 in form: LM / EM", ("", *(f"k = {k}" for k in ks)), rows)


def _loss_plots(losses: list[Lost]) -> Iterator[Plot]:
    picks: dict[str, Callable[[Lost], float]] = {"LM": lambda each: each.lm, "EM": lambda each: each.em}
    for name, pick in picks.items():
        curves = tuple(
            Curve(way, tuple((each.k, pick(each)) for each in losses if each.way == way))
            for way in (*ALGORITHMS, GUARDED)
        )
        yield Plot(f"Figure 3 in form: {name}", "k", name, curves)


def _cost_table(costs: list[Cost]) -> Grid:
    head = ("n", "k", "seconds", "sweeps L", "SMC calls", "hops, 2m each", "our rounds", "hours at 30 ms a hop")
    rows = tuple(
        (
            each.n, each.k, round(each.seconds, 2), each.sweeps, each.calls, 2 * PARTIES * each.calls, each.rounds,
            round(2 * PARTIES * each.calls * 0.03 / 3600, 1),
        )
        for each in costs
    )  # fmt: skip
    return Grid("Figures 5 to 8 in form, rows split", head, rows)


def _cost_plots(costs: list[Cost]) -> Iterator[Plot]:
    ks = sorted({each.k for each in costs})
    picks: dict[tuple[str, str], Callable[[Cost], float]] = {
        ("Figure 5 in form: runtime", "seconds"): lambda each: each.seconds,
        ("Figure 6 in form: sweeps", "L"): lambda each: each.sweeps,
        ("Figures 7 and 8 in form: SMC calls", "calls"): lambda each: each.calls,
        ("Rounds of the exact schedule for the same labels", "rounds"): lambda each: each.rounds,
    }
    for (title, y), pick in picks.items():
        curves = tuple(
            Curve(f"k = {k}", tuple((each.n, float(pick(each))) for each in costs if each.k == k)) for k in ks
        )
        yield Plot(title, "n", y, curves)


def runs_table(runs: list[Ran]) -> Grid:
    """What real runs cost and showed."""
    head = ("schedule", "k", "n", "LM", "seconds", "rounds", "MB", "exact records shown")
    rows = tuple(
        (
            each.schedule, each.k, each.n, round(each.lm, 4), round(each.seconds, 1), each.rounds,
            round(each.bytes / 1e6, 1), each.exact,
        )
        for each in runs
    )  # fmt: skip
    return Grid("Real runs, all parties in one process", head, rows)


def _claims(losses: list[Lost], costs: list[Cost]) -> Iterator[Claim]:
    at = {(each.way, each.k): each.lm for each in losses}
    ks = sorted({each.k for each in losses})
    beaten = [k for k in ks if at["sequential", k] < min(at["mondrian", k], at["hilbert", k])]
    yield Claim(
        "Figure 3, section 9.1",
        "sequential clustering loses less than Mondrian and Hilbert clustering",
        f"at {len(beaten)} of {len(ks)} k",
        "yes" if len(beaten) == len(ks) else "in part" if beaten else "no",
    )
    best = [k for k in ks if at["sequential", k] <= min(at["peel", k], at[GUARDED, k])]
    yield Claim(
        "beside Figure 3; a question of ours",
        "nothing loses less than sequential clustering",
        f"our peel or guarded cluster loses less at {len(ks) - len(best)} of {len(ks)} k",
        "yes" if len(best) == len(ks) else "in part" if best else "no",
    )
    sweeps = [each.sweeps for each in costs]
    inside = sum(6 <= each <= 10 for each in sweeps)
    yield Claim(
        "Figure 6",
        "L always lies between 6 and 10, whatever n and k",
        f"L lies between {min(sweeps)} and {max(sweeps)} with a cap of {SWEEPS}: sweeps also follow a split",
        "yes" if inside == len(sweeps) else "in part" if inside else "no",
    )
    yield _linear(costs)
    fewer = all(
        one.calls > other.calls
        for one in costs
        for other in costs
        if one.n == other.n and one.k < other.k
    )  # fmt: skip
    yield Claim(
        "Figures 7 and 8", "SMC calls fall with k", "they do at every n" if fewer else "not at every n",
        "yes" if fewer else "in part",
    )  # fmt: skip
    ratio = min(2 * PARTIES * each.calls / each.rounds for each in costs)
    yield Claim(
        "section 7.1", "Algorithm 3 takes O(n L T m) messages, most of them one after the other",
        f"as it is written, yes; the exact schedule decides the same in at least {ratio:,.0f} times fewer rounds",
        "in part",
    )  # fmt: skip


def _linear(costs: list[Cost]) -> Claim:
    """Whether calls per record stay the same as n grows."""
    spread = []
    for k in sorted({each.k for each in costs}):
        rates = [each.calls / each.n for each in costs if each.k == k]
        spread.append(max(rates) / min(rates))
    return Claim(
        "Figures 7 and 8", "SMC calls grow linearly with n",
        f"calls per record differ by a factor of {max(spread):.2f} at most between the smallest n and the largest",
        "yes" if max(spread) < 1.25 else "in part" if max(spread) < 2 else "no",
    )  # fmt: skip


def _claim_of_runs(runs: list[Ran]) -> Claim:
    shown = {name: sum(each.exact for each in runs if each.schedule == name) for name in ("exact", "guarded")}
    return Claim(
        "section 8.2.1",
        "a player learns sizes and closures of clusters, which tell little of single records",
        f"what the paper's algorithm opens was another party's exact record {shown['exact']:,} times; with the guarded "
        f"schedule {shown['guarded']:,} times",
        "no" if shown["exact"] else "yes",
    )


EXPERIMENT = Experiment(
    name="cluster",
    about="rows split: what the paper's algorithm and ours lose, how many rounds they take, what they show",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases",
    run=run,
)
