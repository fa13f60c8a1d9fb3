"""The experiment of `cluster` for rows: the paper's Figures 3 to 8 in form, and which of its claims hold.

Figures 3, 4   LM and EM against k: sequential, mondrian and hilbert as in the paper, and our peel;
               on Adult and on a made-up table in place of the paper's CENSUS. Sequential lowers LM, EM, or the
               non-uniform entropy.
Figures 5 to 8 seconds, sweeps L, SMC calls and rounds of the paper's algorithm against n and k, five parties. A call is
               counted for each examined record whose removal changes its party's own closure (section 4.2); a search in
               the trees takes one step or more, so the paper's own count is this or more. Rounds are those of one
               exchange a turn: three for each turn and each split.
Runs           for real with one exchange a turn, all parties in this process: rounds, bytes, exact records shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.build import Built, build, figures
from covey.anonymizers.clusters import agglomerate, clusters_of
from covey.anonymizers.constraints import limits_of
from covey.anonymizers.kernels import forest
from covey.anonymizers.sequential import SWEEPS, first_labels, split_large
from covey.anonymizers.sweeping import sweep
from covey.bench.dataset import Dataset, MeasuredRun
from covey.bench.findings import Claim, Experiment, Findings, Plot, ResultTable, Setting, curves
from covey.bench.papers.census import census, made_up
from covey.bench.papers.critical_records import find_critical
from covey.option import Value
from covey.protocols.as_printed.cluster_rows.kernels import Children

PARTIES = 5
BY_EM, BY_ENTROPY = "sequential, by EM", "sequential, by entropy"
ALGORITHMS: dict[str, tuple[str, dict[str, Value]]] = {
    "sequential": ("sequential", {}),
    BY_EM: ("sequential", {"objective": "em"}),
    BY_ENTROPY: ("sequential", {"objective": "entropy"}),
    "mondrian": ("mondrian", {}),
    "hilbert": ("hilbert", {}),
    "peel": ("peel", {}),
}
MADE_UP = 100_000


@dataclass(frozen=True)
class Scale:
    """The sizes that are measured."""

    rows: tuple[int, ...]
    ks: tuple[int, ...]
    loss_ks: tuple[int, ...]
    run_rows: int


def scale_of(setting: Setting, whole: int) -> Scale:
    """Returns as much as the setting allows and the table has."""
    if setting.quick:
        rows = tuple(sorted({min(whole, number) for number in (1000, 2000)}))
        return Scale(rows, (10, 50), (10, 25, 50), min(whole, 600))
    rows = tuple(sorted({min(whole, number) for number in (10_000, 20_000, 30_000, whole)}))
    return Scale(rows, (10, 50, 100), (10, 25, 50, 100), min(whole, 10_000))


def second_scale(setting: Setting) -> Scale:
    """The sizes that are measured on the made-up table; no runs are made there."""
    return (
        Scale((1000, 2000), (10, 50), (10, 50), 0)
        if setting.quick
        else Scale((25_000, 50_000, MADE_UP), (10, 50, 100), (10, 50, 100), 0)
    )


@dataclass(frozen=True)
class PaperCost:
    """The cost of the paper's algorithm."""

    n: int
    k: int
    seconds: float
    sweeps: int
    calls: int
    rounds: int

    @property
    def hops(self) -> int:
        """Messages one after the other: a call goes round the ring of parties twice."""
        return 2 * PARTIES * self.calls

    @property
    def hours(self) -> float:
        """The time of the hops at 30 ms each."""
        return self.hops * 0.03 / 3600


Losses = dict[tuple[str, int], tuple[float, float]]
"""LM and EM by way of publishing and k."""


@dataclass(frozen=True)
class CensusFigures:
    """The figures of the paper that one table stands for."""

    data: Dataset
    losses: Losses
    costs: list[PaperCost]
    loss_figure: str
    calls_figure: str


@dataclass(frozen=True)
class RealRun:
    """A real run; `exact` is the number of exact records of others that it showed."""

    k: int
    n: int
    done: MeasuredRun
    exact: int


def run(setting: Setting) -> Findings:
    """Measures losses, costs and real runs."""
    data = census(setting)
    scale, second = scale_of(setting, data.pooled.num_rows), second_scale(setting)
    tables = [
        _figures(setting, data, scale, "Figure 3", "Figure 7"),
        _figures(setting, made_up(setting, max(second.rows)), second, "Figure 4", "Figure 8"),
    ]
    runs = list(_runs(setting, data, scale))
    return Findings(
        tables=(
            *(_loss_table(each) for each in tables), *(_cost_table(each) for each in tables), _run_table(runs),
        ),
        plots=tuple(plot for each in tables for plot in (*_loss_plots(each), *_cost_plots(each))),
        claims=(*(claim for each in tables for claim in _claims(each)), _claim_of_runs(runs)),
        notes=(
            f"Figures 3 and 7 are measured on {data.about}; {PARTIES} parties",
            f"Figures 4 and 8 on {tables[1].data.about}, in place of the paper's CENSUS; columns resemble its own, "
            "frequencies are ours",
            "seconds are of one core of this machine, with whatever else it was doing",
            f"every way lowers LM, but for {BY_EM} and {BY_ENTROPY} (the non-uniform entropy); LM and EM are those of "
            "the same release",
        ),
    )  # fmt: skip


def _figures(setting: Setting, data: Dataset, scale: Scale, losses: str, calls: str) -> CensusFigures:
    return CensusFigures(data, dict(_losses(setting, data, scale)), list(_costs(setting, data, scale)), losses, calls)


def _claims(each: CensusFigures) -> Iterator[Claim]:
    yield from _loss_claims(each)
    yield from _cost_claims(each)


def _losses(setting: Setting, data: Dataset, scale: Scale) -> Iterator[tuple[tuple[str, int], tuple[float, float]]]:
    rows = max(scale.rows)
    for k in scale.loss_ks:
        built = build(data.whole(k, rows), k=k)
        for name, (algorithm, options) in ALGORITHMS.items():
            setting.tell(f"loss of {name}, n = {rows:,}, k = {k}")
            found = figures(built, anonymize(built.problem, algorithm, seed=setting.seed, options=options)).loss
            yield (name, k), (found.lm, found.em)


def _costs(setting: Setting, data: Dataset, scale: Scale) -> Iterator[PaperCost]:
    for rows in scale.rows:
        for k in scale.ks:
            setting.tell(f"the paper's algorithm, n = {rows:,}, k = {k}")
            yield _sequential_run(build(data.whole(k, rows), k=k), rows, k, setting.seed)


def _sequential_run(built: Built, rows: int, k: int, seed: int) -> PaperCost:
    """Runs the paper's algorithm once and counts its SMC calls and our rounds."""
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
            critical = find_critical(trees, children, own, state.label[start:stop].copy(), len(state.size))
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
    return PaperCost(rows, k, seconds + time.perf_counter() - begun, sweeps, calls, rounds)


def _runs(setting: Setting, data: Dataset, scale: Scale) -> Iterator[RealRun]:
    parts = data.deal_rows(PARTIES, scale.run_rows)
    for k in scale.ks[:2]:
        setting.tell(f"a run, one exchange a turn, n = {scale.run_rows:,}, k = {k}")
        done = data.split_rows("cluster", k, parts, {"calls": "turn"}).run(setting.seed)
        shown = done.learned("exactly") + done.learned("single")
        yield RealRun(k, scale.run_rows, done, shown)


def _loss_table(each: CensusFigures) -> ResultTable:
    losses = each.losses
    ks = sorted({k for _, k in losses})
    rows = tuple((way, *(f"{losses[way, k][0]:.4f} / {losses[way, k][1]:.3f}" for k in ks)) for way in ALGORITHMS)
    return ResultTable(f"{each.loss_figure} in form: LM / EM", ("", *(f"k = {k}" for k in ks)), rows)


def _loss_plots(each: CensusFigures) -> Iterator[Plot]:
    for place, name in enumerate(("LM", "EM")):
        points = curves((way, k, found[place]) for (way, k), found in each.losses.items())
        yield Plot(f"{each.loss_figure} in form: {name}", "k", name, points)


def _cost_table(each: CensusFigures) -> ResultTable:
    return ResultTable.of(
        f"Figures 5, 6 and {each.calls_figure[-1]} in form, rows split, on {each.data.name}",
        each.costs,
        {
            "n": "n", "k": "k", "seconds": "seconds", "sweeps L": "sweeps", "SMC calls": "calls",
            "hops, 2m each": "hops", "our rounds": "rounds", "hours at 30 ms a hop": "hours",
        },
    )  # fmt: skip


def _cost_plots(found: CensusFigures) -> Iterator[Plot]:
    name = found.data.name
    picks: dict[tuple[str, str], Callable[[PaperCost], float]] = {
        (f"Figure 5 in form: runtime, {name}", "seconds"): lambda each: each.seconds,
        (f"Figure 6 in form: sweeps, {name}", "L"): lambda each: each.sweeps,
        (f"{found.calls_figure} in form: SMC calls", "calls"): lambda each: each.calls,
        (f"Rounds of one exchange a turn for the same labels, {name}", "rounds"): lambda each: each.rounds,
    }
    for (title, y), pick in picks.items():
        yield Plot(title, "n", y, curves((f"k = {each.k}", each.n, pick(each)) for each in found.costs))


def _run_table(runs: list[RealRun]) -> ResultTable:
    return ResultTable.of(
        "Real runs, all parties in one process",
        runs,
        {
            "k": "k", "n": "n", "LM": "done.lm", "seconds": "done.seconds",
            "rounds": "done.rounds", "MB": "done.megabytes", "exact records shown": "exact",
        },
    )  # fmt: skip


def _loss_claims(each: CensusFigures) -> Iterator[Claim]:
    losses, where = each.losses, f"{each.loss_figure}, section 9.1"
    ks = sorted({k for _, k in losses})
    lm, em = ({place: found[which] for place, found in losses.items()} for which in (0, 1))
    for name, own, found in (("LM", "sequential", lm), ("EM", BY_EM, em)):
        beaten = sum(found[own, k] < min(found["mondrian", k], found["hilbert", k]) for k in ks)
        yield Claim.counted(
            where, f"sequential clustering loses less {name} than Mondrian and Hilbert clustering",
            beaten, len(ks), f"at {beaten} of {len(ks)} k",
        )  # fmt: skip
    best = sum(lm["sequential", k] <= lm["peel", k] for k in ks)
    yield Claim.counted(
        f"beside {each.loss_figure}; a question of ours", "nothing loses less than sequential clustering",
        best, len(ks), f"our peel loses less at {len(ks) - best} of {len(ks)} k",
    )  # fmt: skip


def _cost_claims(found: CensusFigures) -> Iterator[Claim]:
    costs, on = found.costs, f"on {found.data.name}"
    sweeps = [each.sweeps for each in costs]
    yield Claim.counted(
        f"Figure 6, {on}", "L always lies between 6 and 10, whatever n and k",
        sum(6 <= each <= 10 for each in sweeps), len(sweeps),
        f"L lies between {min(sweeps)} and {max(sweeps)} with a cap of {SWEEPS}: sweeps also follow a split",
    )  # fmt: skip
    spread = 1.0
    for k in {each.k for each in costs}:
        rates = [each.calls / each.n for each in costs if each.k == k]
        spread = max(spread, max(rates) / min(rates))
    yield Claim(
        found.calls_figure, "SMC calls grow linearly with n",
        f"calls per record differ by a factor of {spread:.2f} at most between the smallest n and the largest",
        "yes" if spread < 1.25 else "in part" if spread < 2 else "no",
    )  # fmt: skip
    fewer = all(one.calls > other.calls for one in costs for other in costs if one.n == other.n and one.k < other.k)
    yield Claim(
        found.calls_figure, "SMC calls fall with k", "they do at every n" if fewer else "not at every n",
        "yes" if fewer else "in part",
    )  # fmt: skip
    ratio = min(each.hops / each.rounds for each in costs)
    yield Claim(
        f"section 7.1, {on}", "Algorithm 3 takes O(n L T m) messages, most of them one after the other",
        f"the same labels come about in at least {ratio:,.0f} times fewer exchanges, with one exchange a turn",
        "yes" if ratio < 1.5 else "no",
    )  # fmt: skip


def _claim_of_runs(runs: list[RealRun]) -> Claim:
    shown = sum(each.exact for each in runs)
    return Claim(
        "section 8.2.1",
        "a player learns sizes and closures of clusters, which tell little of single records",
        f"what the paper's algorithm opens was another party's exact record {shown:,} times",
        "no" if shown else "yes",
    )


EXPERIMENT = Experiment(
    about="rows split: what the paper's algorithm and ours lose, how many rounds they take, what they show",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases",
    run=run,
)
