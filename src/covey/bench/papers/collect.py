"""Xue and others put to the test: what positions conceal, how well they keep distances, and what the classes lose.

Everything but the last table is computed in the clear, with random numbers drawn as a run draws them: a release follows
from the positions alone. The last table is of real runs, in one process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from covey import samples
from covey.arrays import Ints, Longs
from covey.bench.dataset import Dataset, PartitionedStudy, of_table, read_text
from covey.bench.findings import Cell, Claim, Curve, Experiment, Findings, Plot, ResultTable, Setting, curves
from covey.bench.papers.census import of_adult
from covey.hierarchy import Hierarchy
from covey.measures import lm
from covey.party.simulate.letters import load_rows
from covey.protocols import of_study
from covey.protocols.as_printed.collect import attack, privacy
from covey.protocols.as_printed.collect.grid import Grid
from covey.protocols.as_printed.collect.line import boxes, cut_line
from covey.protocols.as_printed.collect.parameters import Parameters, on_trees, trees_of
from covey.study import Study
from covey.study.document import Document
from covey.study.study import RESPONDENTS

COLUMNS = ("age", "sex", "race", "marital-status", "education", "occupation")
PRINTED_2 = {
    (100, 200): 0.1192, (50, 250): 0.0598, (0, 300): 0.0399, (100, 400): 0.0664, (150, 450): 0.0797, (200, 500): 0.0929,
}  # fmt: skip
PRINTED_3 = {
    (200, 100): 0.0797, (200, 200): 0.0690, (200, 300): 0.0617, (200, 0): 0.0975, (300, 0): 0.0797, (400, 0): 0.0690,
}  # fmt: skip
PRINTED_4 = {
    (100, 200): 0.999525, (50, 250): 0.999174, (0, 300): 0.998411,
    (100, 400): 0.999223, (150, 450): 0.999438, (200, 500): 0.999536,
}  # fmt: skip
PATIENTS = (
    (35, 50), (40, 55), (45, 60), (45, 65), (55, 65), (60, 60),
    (60, 55), (65, 50), (55, 75), (60, 75), (65, 85), (70, 80),
)  # fmt: skip
FIGURE_1B = {("[35, 45]", "[50, 65]"), ("[55, 65]", "[50, 65]"), ("[55, 70]", "[75, 85]")}
FIGURE_1 = """
[study]
name = "Figure 1"
protocol = "collect"
partition = "respondents"
[privacy]
k = 4
[protocol]
as_printed = true
grid = 64
[columns.age]
role = "quasi"
hierarchy = "interval"
range = [35, 70]
step = 5
missing = "error"
[columns.weight]
role = "quasi"
hierarchy = "interval"
range = [50, 85]
step = 5
missing = "error"
[parties.office]
role = "collector"
"""
PAPER_RHO = (200, 500)
_CURVE = "the curve itself"


@dataclass(frozen=True)
class People:
    """Records in random order, as a dataset and as leaf codes, and their trees."""

    data: Dataset
    trees: tuple[Hierarchy, ...]
    codes: Ints

    def first(self, count: int, seed: int = 1) -> Ints:
        """Returns the codes of so many people, drawn with repetition where there are fewer."""
        if count <= self.codes.shape[1]:
            return self.codes[:, :count]
        draws = np.random.default_rng(seed)
        return self.codes[:, draws.integers(0, self.codes.shape[1], count)]


@dataclass(frozen=True)
class CurveOrder:
    """People in the order of the curve through a grid."""

    trees: tuple[Hierarchy, ...]
    codes: Ints
    grid: Grid

    @cached_property
    def cells(self) -> Longs:
        """The number of each person's cell on the curve."""
        return self.grid.rank(self.codes)

    def positions(self, low: int, high: int, seed: int) -> Longs:
        """Draws the positions of a run whose random steps lie between `low` and `high`."""
        draws = np.random.default_rng(seed)
        steps = draws.integers(low, high + 1, (2, self.grid.cells)).sum(axis=0)
        return np.cumsum(steps)[self.cells].astype(np.int64)

    def loss(self, places: Longs, k: int, cut: str = "fall") -> float:
        """GCP of the classes: the published node's share of the domain, a mean over cells."""
        order = np.argsort(places, kind="stable")
        if cut == "order":
            group = np.minimum(np.arange(len(order)) // k, len(order) // k - 1)
        else:
            group = cut_line(places[order], k)
        nodes = boxes(self.trees, self.codes[:, order], group)
        cost = sum(lm(tree)[nodes[:, column]] for column, tree in enumerate(self.trees))
        return float(np.dot(cost, np.bincount(group)) / (len(self.trees) * len(order)))

    def paper_loss(self, places: Longs, k: int) -> float:
        """The paper's own GCP: an interval of codes' share of the domain in every column, taxonomies or not."""
        order = np.argsort(places, kind="stable")
        group = cut_line(places[order], k)
        starts = np.searchsorted(group, np.arange(int(group.max()) + 1))
        cost = np.zeros(len(starts))
        for column, tree in enumerate(self.trees):
            own = self.codes[column, order]
            width = np.maximum.reduceat(own, starts) - np.minimum.reduceat(own, starts)
            cost += width / max(1, tree.codes - 1)
        return float(np.dot(cost, np.bincount(group)) / (len(self.trees) * len(order)))


def run(setting: Setting) -> Findings:
    """Measures what positions conceal and keep, what classes lose, and what the collector finds out."""
    people = _people(setting)
    figure, found = _figure_1()
    setting.tell("what positions conceal")
    concealed = [_table_2(setting), _table_3(setting)]
    setting.tell("how well positions keep distances")
    kept = _table_4(people, setting)
    setting.tell("what the classes lose")
    plots, ratios = _figure_5(people, setting)
    setting.tell("what the collector finds out")
    attacked = _attacks(people, setting)
    setting.tell("the other method")
    both = _side_by_side(people, setting)
    setting.tell("real runs")
    real = _real(people, setting)
    return Findings(
        tables=(figure, *concealed, kept, attacked, both, real),
        plots=plots,
        claims=(found, *_claims(ratios, concealed, kept, attacked)),
        notes=(
            people.data.about,
            "GCP counts a published node's leaves; the paper counts intervals of taxonomy-ordered codes, which are no "
            "nodes: its own reading is in the table of real runs' neighbours as 'GCP, intervals'.",
            "Sizes above the table's are drawn from it with repetition.",
        ),
    )


def _figure_1() -> tuple[ResultTable, Claim]:
    """The paper's twelve patients: their classes along the curve, with exact minima and maxima, which no run shows."""
    study, cells = Study.parse(FIGURE_1), np.array(PATIENTS)
    parameters = Parameters.of(study)
    names = [column.name for column in study.quasi]
    table = pa.table({name: [str(value) for value in own] for name, own in zip(names, cells.T.tolist(), strict=True)})
    codes = on_trees(study, load_rows(study, table)).codes
    ranks = parameters.grid.rank(codes)
    order = np.argsort(ranks, kind="stable")
    group = cut_line(ranks[order], parameters.k, parameters.cut)
    nodes = boxes(trees_of(study), codes[:, order], group)
    rows: list[tuple[Cell, ...]] = []
    for own, published in enumerate(nodes.tolist()):
        members = cells[order[group == own]]
        exact = [f"[{low}, {high}]" for low, high in zip(members.min(axis=0), members.max(axis=0), strict=True)]
        labels = [tree.labels[node] for tree, node in zip(trees_of(study), published, strict=True)]
        rows.append((len(members), *exact, *labels))
    head = ("patients", "age", "weight", "age, as released", "weight, as released")
    note = "Exact ends are two patients' own values: a run publishes steps of 5, on which these patients happen to lie."
    hits = sum((row[1], row[2]) in FIGURE_1B and row[0] == 4 for row in rows)
    claim = Claim.counted("Figure 1b", "the classes of the twelve patients", hits, len(FIGURE_1B),
                          f"{hits} of {len(rows)} classes have its intervals")  # fmt: skip
    return ResultTable("Figure 1: twelve patients in intervals", head, tuple(rows), note), claim


def _people(setting: Setting) -> People:
    """Six columns of Adult, or the sample that ships, in random order."""
    if setting.adult is not None:
        whole = read_text(setting.adult / "adult.csv")
        data = of_adult(whole, COLUMNS, (5, 10, 20))
        about = f"Adult, {whole.num_rows:,} rows, columns {', '.join(COLUMNS)}."
    else:
        folder = samples.path("survey")
        data = of_table(Study.load(folder / "study.toml"), str(folder / "survey.csv"))
        about = "The sample `survey`, 800 people: Adult is not at hand (`covey data fetch adult`)."
    order = np.random.default_rng(setting.seed).permutation(data.pooled.num_rows)
    data = replace(data, pooled=data.pooled.take(pa.array(order)), about=about)
    study = _study(data, 10)
    return People(data, trees_of(study), load_rows(study, data.pooled).codes)


def _study(data: Dataset, k: int, options: Document | None = None) -> Study:
    collector: Document = {"collector": {"role": "collector"}}
    method: Document = {"as_printed": True, **(options or {})}
    return data.study(k, collector, protocol="collect", partition="respondents", options=method)


def _table_2(setting: Setting) -> ResultTable:
    rows = [_chances(setting, rho, 200, 100, printed) for rho, printed in PRINTED_2.items()]
    return _concealment("Table II: the chance of guessing a cell from its position, b = 200, c = 100", rows)


def _table_3(setting: Setting) -> ResultTable:
    rows = [_chances(setting, (100, 300), b, c, printed) for (b, c), printed in PRINTED_3.items()]
    return _concealment("Table III: the same with rho = 100-300", rows)


def _concealment(title: str, rows: Sequence[tuple[Cell, ...]]) -> ResultTable:
    head = ("rho", "b", "c", "printed", "paper's formula", "an outsider", "the collector", "measured")
    note = "The collector drew half of every joint number, so that its chance is about twice the printed one."
    return ResultTable(title, head, tuple(rows), note)


def _chances(setting: Setting, rho: tuple[int, int], b: int, c: int, printed: float) -> tuple[Cell, ...]:
    trials = 4000 if setting.quick else 20_000
    draws = np.random.default_rng(setting.seed)
    found = [round(chance(*rho, b + c), 4) for chance in _FORMULAS]
    measured = attack.interior(*rho, b + c - c // 2, c // 2 or 50, draws, trials) if c else None
    return (f"{rho[0]}-{rho[1]}", b, c, printed, *found, None if measured is None else round(measured, 4))


_FORMULAS = (privacy.paper_chance, privacy.outsider_chance, privacy.collector_chance)


def _table_4(people: People, setting: Setting) -> ResultTable:
    codes = people.first(2000)
    triples = 100_000 if setting.quick else 1_000_000
    grids = {"2^14": Grid.of(people.trees, 1 << 14), "2^18": Grid.of(people.trees, 1 << 18)}
    rows: list[tuple[Cell, ...]] = []
    for rho, printed in PRINTED_4.items():
        found = [
            round(preserved(line.cells, line.positions(*rho, setting.seed), triples, setting.seed), 6)
            for line in (CurveOrder(people.trees, codes, grid) for grid in grids.values())
        ]
        rows.append((f"{rho[0]}-{rho[1]}", printed, *found))
    head = ("rho", "printed", *(f"{grid.cells:,} cells" for grid in grids.values()))
    note = "The paper does not say how fine its grid is. Near 1 for any fine grid: a weak measure of utility."
    return ResultTable("Table IV: triples whose relative distances positions keep (DPR)", head, tuple(rows), note)


def preserved(cells: Longs, places: Longs, triples: int, seed: int) -> float:
    """The part of triples in which the nearer of two neighbours stays the nearer one."""
    draws = np.random.default_rng(seed)
    chosen = np.sort(draws.integers(0, len(cells), (triples, 3)), axis=1)
    chosen = chosen[(np.diff(chosen, axis=1) > 0).all(axis=1)]
    one, two, three = (np.take_along_axis(cells[chosen], np.argsort(cells[chosen], axis=1), axis=1)).T
    own = np.take_along_axis(places[chosen], np.argsort(cells[chosen], axis=1), axis=1).T
    before = np.sign((two - one) - (three - two))
    after = np.sign((own[1] - own[0]) - (own[2] - own[1]))
    return float(np.mean((before == after) | (before == 0)))


def _figure_5(people: People, setting: Setting) -> tuple[tuple[Plot, ...], dict[str, float]]:
    """GCP against k, the variance, the mean and the number of people."""
    grid = Grid.of(people.trees, 1 << 14)
    line = CurveOrder(people.trees, people.first(2000), grid)
    runs = 4 if setting.quick else 8

    def ours(rho: tuple[int, int], k: int, own: CurveOrder = line) -> float:
        return float(np.mean([own.loss(own.positions(*rho, setting.seed + seed), k) for seed in range(runs)]))

    sizes_of_k = (5, 10, 20, 50) if setting.quick else (5, 10, 15, 20, 25, 50, 100)
    by_k = {k: (line.loss(line.cells, k), ours(PAPER_RHO, k), line.loss(line.cells, k, "order")) for k in sizes_of_k}
    widths = (50, 100, 200, 300, 400, 500, 700)
    by_variance = {width**2 / 12: ours((350 - width // 2, 350 + width // 2), 10) for width in widths}
    by_mean = {float(mean): ours((mean - 150, mean + 150), 10) for mean in (150, 200, 250, 300, 350, 450)}
    counts = (5000, 20_000) if setting.quick else (10_000, 20_000, 30_000, 40_000, 50_000)
    by_size: dict[int, tuple[float, float]] = {}
    for count in counts:
        own = CurveOrder(people.trees, people.first(count, setting.seed), grid)
        by_size[count] = own.loss(own.cells, 10), ours(PAPER_RHO, 10, own)
    central = by_k[10][0]

    def beside_curve(found: Mapping[float, float]) -> tuple[Curve, ...]:
        return curves([*(("ours", x, y) for x, y in found.items()), *((_CURVE, x, central) for x in found)])

    plots = (
        Plot("Figure 5a: GCP against k", "k", "GCP", _columns(by_k, (_CURVE, "ours", "order only"))),
        Plot("Figure 5b: GCP against the variance of rho", "variance", "GCP", beside_curve(by_variance)),
        Plot("Figure 5c: GCP against the mean of rho", "mean", "GCP", beside_curve(by_mean)),
        Plot("Figure 5d: GCP against the number of people", "people", "GCP", _columns(by_size, (_CURVE, "ours"))),
    )
    ratios = {
        "worst": max(ours_ / central_ for central_, ours_, _ in by_k.values()),
        "order": max(order / central_ for central_, _, order in by_k.values()),
        "variance": by_variance[max(by_variance)] / by_variance[min(by_variance)],
        "mean": by_mean[max(by_mean)] / by_mean[min(by_mean)],
        "intervals": line.paper_loss(line.cells, 10),
        "nodes": central,
        "shrinks": by_size[counts[-1]][0] / by_size[counts[0]][0],
    }
    return plots, ratios


def _columns(points: Mapping[int, Sequence[float]], labels: Sequence[str]) -> tuple[Curve, ...]:
    """One curve for each place in the values."""
    return curves((label, x, y) for x, values in points.items() for label, y in zip(labels, values, strict=True))


def _attacks(people: People, setting: Setting) -> ResultTable:
    """Measures what the collector guesses right, for several choices of the study's options."""
    count = 500 if setting.quick else 1000
    rows: list[tuple[Cell, ...]] = []
    for rho, b, k, most in (
        ((0, 300), 200, 10, 1 << 14), ((0, 300), 200, 5, 1 << 14), ((0, 300), 200, 20, 1 << 14),
        ((100, 300), 760, 10, 1 << 14), ((200, 500), 1035, 10, 1 << 14), ((0, 300), 200, 10, 1 << 10),
        ((0, 300), 200, 10, 1 << 18),
    ):  # fmt: skip
        grid = Grid.of(people.trees, most)
        found = attack.simulate(_parameters(k, rho, b, grid), people.trees, people.first(count), setting.seed)
        shown = (found.alone, found.position, found.both, found.all, found.anchors[1], found.anchors[10])
        rows.append((f"{rho[0]}-{rho[1]}", b, k, grid.cells, *(round(part, 3) for part in shown)))
    head = ("rho", "b", "k", "cells", "class alone", "position", "both", "everyone's", "beside one", "10 away")
    note = (
        f"The part of {count:,} people whose cell a semi-honest collector guesses right, and that of a person beside, "
        "or ten cells from, someone whose cell it knows."
    )
    return ResultTable("What the collector finds out", head, tuple(rows), note)


def _side_by_side(people: People, setting: Setting) -> ResultTable:
    """The paper's method beside peeling, on the same people: what each loses, and what the collector can guess."""
    count = min(500 if setting.quick else 1000, people.codes.shape[1])
    grid = Grid.of(people.trees, 1 << 14)
    codes = people.first(count)
    line = CurveOrder(people.trees, codes, grid)
    commonest = float(np.bincount(line.cells).max() / count)
    rows: list[tuple[Cell, ...]] = []
    for k in (5, 10, 20):
        parties: Document = {"collector": {"role": "collector"}}
        parties |= {name: {"role": "trustee"} for name in ("first", "second", "third")}
        study = people.data.study(k, parties, protocol="peel", partition="respondents")
        table = load_rows(study, people.data.pooled.slice(0, count))
        peeled = of_study(study).ideal(study, {RESPONDENTS: table}).figures
        found = attack.simulate(_parameters(k, (0, 300), 200, grid), people.trees, codes, setting.seed)
        lost = None if peeled is None else peeled.loss["lm"]
        curve = line.loss(line.positions(0, 300, setting.seed), k)
        rows.append((k, count, lost, curve, round(commonest, 3), round(found.all, 3)))
    head = ("k", "people", "LM, peel", "LM, curve", "cells guessed, peel", "cells guessed, curve")
    note = (
        "With peel the collector cannot tell whose row is whose: the best guess is the commonest cell. With the curve "
        "it guesses from everyone's positions and classes."
    )
    return ResultTable("Both methods side by side", head, tuple(rows), note)


def _parameters(k: int, rho: tuple[int, int], b: int, grid: Grid) -> Parameters:
    return Parameters(
        k=k, low=rho[0], high=rho[1], b=b, jitter=False, committee=5, cut="fall", scheme="elgamal", grid=grid,
        l=None, diversity="frequency", watched=(), row_bytes=0,
    )  # fmt: skip


def _real(people: People, setting: Setting) -> ResultTable:
    """Whole runs: what they lose beside the curve itself, and what they take."""
    rows: list[tuple[Cell, ...]] = []
    cells = 1 << 10 if setting.quick else 1 << 14
    count = min(80 if setting.quick else 600, people.codes.shape[1])
    for k in (5, 10) if setting.quick else (5, 10, 20):
        study = _study(people.data, k, {"grid": cells})
        done = PartitionedStudy(study, {RESPONDENTS: people.data.pooled.slice(0, count)}).run(setting.seed)
        line = CurveOrder(people.trees, people.first(count), Parameters.of(study).grid)
        central, intervals = line.loss(line.cells, k), line.paper_loss(line.cells, k)
        rows.append((k, count, line.grid.cells, done.lm, central, intervals, round(done.megabytes * 1000 / count)))
    head = ("k", "respondents", "cells", "GCP of the release", "GCP of the curve", "GCP, intervals", "kB each")
    return ResultTable("Real runs beside the curve itself", head, tuple(rows), "The same people on the same grid.")


def _claims(
    ratios: Mapping[str, float], concealed: Sequence[ResultTable], kept: ResultTable, attacked: ResultTable
) -> tuple[Claim, ...]:
    worst = max(float(row[7] or 0) for row in attacked.rows)
    rows = [row for table in concealed for row in table.rows]
    times = float(np.mean([float(row[6] or 0) / float(row[3] or 1) for row in rows]))
    alone = max(float(row[6] or 0) for row in rows)
    distances = min(float(cell or 0) for row in kept.rows for cell in row[2:])
    costs = (ratios["variance"] > 1) + (ratios["mean"] < 1)
    return (
        Claim("Sections VI-B and VII-A, Tables II and III", "a position conceals its cell with 90% or more",
              f"from one position the collector's chance is {times:.1f} times the printed one on average, {alone:.0%} "
              f"at most, and up to {worst:.0%} with all positions and classes",
              "yes" if max(alone, worst) <= 0.1 else "no"),
        Claim("Table IV", "positions keep relative distances almost always",
              f"in {distances:.2%} of all triples or more",
              "yes" if distances > 0.99 else "in part" if distances > 0.95 else "no"),
        Claim("Figure 5a", "the release loses as little as FALL's",
              f"at most {ratios['worst'] - 1:.1%} more than the curve itself",
              "yes" if ratios["worst"] < 1.02 else "in part"),
        Claim("Figure 5a", "order alone loses much more", f"it loses {ratios['order'] - 1:.0%} more at most",
              "yes" if ratios["order"] > 1.2 else "no"),
        Claim.counted("Figures 5b and 5c", "a larger variance costs, a larger mean helps", costs, 2,
                      f"from the smallest to the largest, GCP changes by {ratios['variance'] - 1:+.1%} with the "
                      f"variance and by {ratios['mean'] - 1:+.1%} with the mean"),
        Claim("Figure 5d", "GCP falls as people grow in number", f"to {ratios['shrinks']:.0%} of its first value",
              "yes" if ratios["shrinks"] < 1 else "no"),
    )  # fmt: skip


EXPERIMENT = Experiment(
    about="what positions conceal and keep, what the classes lose, and what the collector really finds out",
    source="Xue et al., Distributed privacy preserving data collection (paper 001): Tables II to IV, Figure 5",
    run=run,
)
