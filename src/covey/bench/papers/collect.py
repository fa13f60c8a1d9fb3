"""Xue and others put to the test: what positions conceal, how well they keep distances, and what the classes lose.

Everything but the last table is computed in the clear, with random numbers drawn as a run draws them: a release follows
from the positions alone. The last table is of real runs, in one process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey import samples
from covey.arrays import Ints, Longs
from covey.bench.findings import Cell, Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.hierarchy import Hierarchy, numbers
from covey.measures import lm
from covey.party.simulate.respondents import load_rows, simulate
from covey.protocols.collect import attack, privacy
from covey.protocols.collect.grid import Grid as Cells
from covey.protocols.collect.line import boxes, cut_line
from covey.protocols.collect.parameters import Parameters, trees_of
from covey.samples import adult
from covey.sources.source import connect
from covey.study import Study

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
PAPER_RHO = (200, 500)


@dataclass(frozen=True)
class People:
    """Records as leaf codes, in random order, and their trees."""

    about: str
    trees: tuple[Hierarchy, ...]
    codes: Ints
    study: Study
    table: pa.Table

    def first(self, count: int, seed: int = 1) -> Ints:
        """That many of them; drawn with repetition where there are fewer."""
        if count <= self.codes.shape[1]:
            return self.codes[:, :count]
        draws = np.random.default_rng(seed)
        return self.codes[:, draws.integers(0, self.codes.shape[1], count)]


@dataclass(frozen=True)
class Line:
    """Some people on the curve through a grid."""

    trees: tuple[Hierarchy, ...]
    codes: Ints
    grid: Cells

    @cached_property
    def cells(self) -> Longs:
        """Each one's cell."""
        return self.grid.rank(self.codes)

    def positions(self, low: int, high: int, seed: int) -> Longs:
        """The positions of a run with these random numbers."""
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
    """All of it."""
    people = _people(setting)
    setting.tell("what positions conceal")
    concealed = [_table_2(setting), _table_3(setting)]
    setting.tell("how well positions keep distances")
    kept = _table_4(people, setting)
    setting.tell("what the classes lose")
    plots, ratios = _figure_5(people, setting)
    setting.tell("what the collector finds out")
    attacked = _attacks(people, setting)
    setting.tell("real runs")
    real = _real(people, setting)
    return Findings(
        tables=(*concealed, kept, attacked, real),
        plots=plots,
        claims=_claims(ratios, attacked),
        notes=(
            people.about,
            "GCP counts a published node's leaves; the paper counts intervals of taxonomy-ordered codes, which are no "
            "nodes: its own reading is in the table of real runs' neighbours as 'GCP, intervals'.",
            "Sizes above the table's are drawn from it with repetition.",
        ),
    )


def _people(setting: Setting) -> People:
    if setting.adult is not None and (setting.adult / "adult.csv").is_file():
        return _adult(setting.adult / "adult.csv", setting.seed)
    folder = samples.path("survey")
    study = Study.load(folder / "study.toml")
    rows = load_rows(study, str(folder / "survey.csv"))
    order = np.random.default_rng(setting.seed).permutation(rows.rows)
    table = _text(str(folder / "survey.csv"), [column.name for column in study.columns]).take(pa.array(order))
    about = "The sample `survey`, 800 people: Adult is not at hand (`covey data fetch adult`)."
    return People(about, trees_of(study), rows.codes[:, order], study, table)


def _adult(path: Path, seed: int) -> People:
    """Six columns of Adult: age in years, the others by groupings of ours."""
    flat = {"sex": ("Female", "Male"), "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")}
    trees = {"age": numbers(Decimal(17), Decimal(90), [Decimal(5), Decimal(10), Decimal(20)])}
    trees |= {name: Hierarchy.from_paths([(value, "*") for value in values]) for name, values in flat.items()}
    trees["marital-status"] = Hierarchy.from_paths(
        [(value, group, "*") for group, values in adult.MARITAL.items() for value in values]
    )
    for name, realms in (("education", adult.EDUCATION), ("occupation", adult.OCCUPATION)):
        trees[name] = Hierarchy.from_paths(
            [
                (value, f"{group} ", f"{realm}  ", "*")
                for realm, groups in realms.items()
                for group, values in groups.items()
                for value in values
            ]
        )
    table = _text(str(path), list(COLUMNS))
    codes = np.stack([trees[name].encode(table.column(name).to_pylist()) for name in COLUMNS])
    whole = np.flatnonzero((codes >= 0).all(axis=0))
    order = np.random.default_rng(seed).permutation(whole)
    chosen = tuple(trees[name] for name in COLUMNS)
    about = f"Adult, {len(whole):,} rows, columns {', '.join(COLUMNS)}."
    kept = table.take(pa.array(order))
    return People(about, chosen, np.ascontiguousarray(codes[:, order]), _study_of(trees), kept)


def _study_of(trees: Mapping[str, Hierarchy]) -> Study:
    """A study of these columns, for real runs."""
    text = '[study]\nname = "adult"\nprotocol = "collect"\npartition = "respondents"\n[privacy]\nk = 10\n'
    text += '[parties.collector]\nrole = "collector"\n'
    for name in trees:
        text += f'[columns.{name}]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["a"]\nmissing = "error"\n'
    study = Study.parse(text)
    columns = tuple(
        replace(column, hierarchy=trees[column.name], kind=trees[column.name].kind, values=None)
        for column in study.columns
    )
    return replace(study, columns=columns)


def _text(path: str, names: list[str]) -> pa.Table:
    whole = pa.Table.from_batches(connect(path).batches(names)).rename_columns(names)
    return pa.table({name: whole.column(name).cast(pa.string()) for name in names})


def _table_2(setting: Setting) -> Grid:
    rows = [_chances(setting, rho, 200, 100, printed) for rho, printed in PRINTED_2.items()]
    return _concealment("Table II: the chance of guessing a cell from its position, b = 200, c = 100", rows)


def _table_3(setting: Setting) -> Grid:
    rows = [_chances(setting, (100, 300), b, c, printed) for (b, c), printed in PRINTED_3.items()]
    return _concealment("Table III: the same with rho = 100-300", rows)


def _concealment(title: str, rows: Sequence[tuple[Cell, ...]]) -> Grid:
    head = ("rho", "b", "c", "printed", "paper's formula", "an outsider", "the collector", "measured")
    note = "The collector drew half of every joint number, so that its chance is about twice the printed one."
    return Grid(title, head, tuple(rows), note)


def _chances(setting: Setting, rho: tuple[int, int], b: int, c: int, printed: float) -> tuple[Cell, ...]:
    trials = 4000 if setting.quick else 20_000
    draws = np.random.default_rng(setting.seed)
    found = [round(chance(*rho, b + c), 4) for chance in _FORMULAS]
    measured = attack.interior(*rho, b + c - c // 2, c // 2 or 50, draws, trials) if c else None
    return (f"{rho[0]}-{rho[1]}", b, c, printed, *found, None if measured is None else round(measured, 4))


_FORMULAS = (privacy.paper_chance, privacy.outsider_chance, privacy.collector_chance)


def _table_4(people: People, setting: Setting) -> Grid:
    codes = people.first(2000)
    triples = 100_000 if setting.quick else 1_000_000
    grids = {"2^14": Cells.of(people.trees, 1 << 14), "2^18": Cells.of(people.trees, 1 << 18)}
    rows: list[tuple[Cell, ...]] = []
    for rho, printed in PRINTED_4.items():
        found = [
            round(preserved(line.cells, line.positions(*rho, setting.seed), triples, setting.seed), 6)
            for line in (Line(people.trees, codes, grid) for grid in grids.values())
        ]
        rows.append((f"{rho[0]}-{rho[1]}", printed, *found))
    head = ("rho", "printed", *(f"{grid.cells:,} cells" for grid in grids.values()))
    note = "The paper does not say how fine its grid is. Near 1 for any fine grid: a weak measure of utility."
    return Grid("Table IV: triples whose relative distances positions keep (DPR)", head, tuple(rows), note)


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
    grid = Cells.of(people.trees, 1 << 14)
    line = Line(people.trees, people.first(2000), grid)
    runs = 2 if setting.quick else 8

    def ours(rho: tuple[int, int], k: int, own: Line = line) -> float:
        return float(np.mean([own.loss(own.positions(*rho, setting.seed + seed), k) for seed in range(runs)]))

    sizes_of_k = (5, 10, 20, 50) if setting.quick else (5, 10, 15, 20, 25, 50, 100)
    by_k = {k: (line.loss(line.cells, k), ours(PAPER_RHO, k), line.loss(line.cells, k, "order")) for k in sizes_of_k}
    widths = (50, 100, 200, 300, 400, 500, 700)
    by_variance = {width**2 / 12: ours((350 - width // 2, 350 + width // 2), 10) for width in widths}
    by_mean = {mean: ours((mean - 150, mean + 150), 10) for mean in (150, 200, 250, 300, 350, 450)}
    counts = (5000, 20_000) if setting.quick else (10_000, 20_000, 30_000, 40_000, 50_000)
    by_size: dict[int, tuple[float, float]] = {}
    for count in counts:
        own = Line(people.trees, people.first(count, setting.seed), grid)
        by_size[count] = own.loss(own.cells, 10), ours(PAPER_RHO, 10, own)
    central = by_k[10][0]
    plots = (
        Plot("Figure 5a: GCP against k", "k", "GCP", _curves(by_k, ("the curve itself", "ours", "order only"))),
        Plot("Figure 5b: GCP against the variance of rho", "variance", "GCP",
             (Curve("ours", tuple(by_variance.items())), Curve("the curve itself", tuple((x, central) for x in
        by_variance)))), Plot("Figure 5c: GCP against the mean of rho", "mean", "GCP",
             (Curve("ours", tuple(by_mean.items())), Curve("the curve itself", tuple((x, central) for x in by_mean)))),
        Plot("Figure 5d: GCP against the number of people", "people", "GCP",
             _curves(by_size, ("the curve itself", "ours"))),
    )  # fmt: skip
    ratios = {
        "worst": max(ours_ / central_ for central_, ours_, _ in by_k.values()),
        "order": max(order / central_ for central_, _, order in by_k.values()),
        "variance": max(by_variance.values()) / min(by_variance.values()),
        "mean": max(by_mean.values()) / min(by_mean.values()),
        "intervals": line.paper_loss(line.cells, 10),
        "nodes": central,
        "shrinks": by_size[counts[-1]][0] / by_size[counts[0]][0],
    }
    return plots, ratios


def _curves(points: Mapping[int, tuple[float, ...]], labels: Sequence[str]) -> tuple[Curve, ...]:
    return tuple(
        Curve(label, tuple((float(x), values[place]) for x, values in points.items()))
        for place, label in enumerate(labels)
    )


def _attacks(people: People, setting: Setting) -> Grid:
    """What the collector guesses right, for several choices of the study's options."""
    count = 500 if setting.quick else 1000
    rows: list[tuple[Cell, ...]] = []
    for rho, b, k, most in (
        ((0, 300), 200, 10, 1 << 14), ((0, 300), 200, 5, 1 << 14), ((0, 300), 200, 20, 1 << 14),
        ((100, 300), 760, 10, 1 << 14), ((200, 500), 1035, 10, 1 << 14), ((0, 300), 200, 10, 1 << 10),
        ((0, 300), 200, 10, 1 << 18),
    ):  # fmt: skip
        grid = Cells.of(people.trees, most)
        found = attack.simulate(_terms(k, rho, b, grid), people.trees, people.first(count), setting.seed)
        shown = (found.alone, found.position, found.both, found.all, found.anchors[1], found.anchors[10])
        rows.append((f"{rho[0]}-{rho[1]}", b, k, grid.cells, *(round(part, 3) for part in shown)))
    head = ("rho", "b", "k", "cells", "class alone", "position", "both", "everyone's", "beside one", "10 away")
    note = (
        f"The part of {count:,} people whose cell a semi-honest collector guesses right, and that of a person beside, "
        "or ten cells from, someone whose cell it knows."
    )
    return Grid("What the collector finds out", head, tuple(rows), note)


def _terms(k: int, rho: tuple[int, int], b: int, grid: Cells) -> Parameters:
    return Parameters(
        k=k, low=rho[0], high=rho[1], b=b, jitter=False, committee=5, cut="fall", scheme="elgamal", grid=grid,
        l=None, diversity="frequency", watched=(), row_bytes=0,
    )  # fmt: skip


def _real(people: People, setting: Setting) -> Grid:
    """Whole runs: what they lose beside the curve itself, and what they take."""
    rows: list[tuple[Cell, ...]] = []
    cells = 1 << 10 if setting.quick else 1 << 14
    count = min(120 if setting.quick else 600, people.codes.shape[1])
    for k in (5, 10) if setting.quick else (5, 10, 20):
        study = replace(people.study, privacy=replace(people.study.privacy, k=k), options={"grid": cells})
        release = simulate(study, people.table.slice(0, count), seed=setting.seed)
        line = Line(people.trees, people.first(count), Parameters.of(study).grid)
        central, own, summary = line.loss(line.cells, k), release.loss.lm or 0.0, release.summary
        per_party = summary["per_party"]
        size = sum(each["bytes"] for each in per_party.values()) if isinstance(per_party, dict) else 0
        intervals = round(line.paper_loss(line.cells, k), 4)
        rows.append(
            (k, count, line.grid.cells, round(own, 4), round(central, 4), intervals, round(size / count / 1000))
        )
    head = ("k", "respondents", "cells", "GCP of the release", "GCP of the curve", "GCP, intervals", "kB each")
    return Grid("Real runs beside the curve itself", head, tuple(rows), "The same people on the same grid.")


def _claims(ratios: Mapping[str, float], attacked: Grid) -> tuple[Claim, ...]:
    worst = max(float(row[7] or 0) for row in attacked.rows)
    return (
        Claim("Section 4.2, Tables II and III", "a position conceals its cell with 90% or more",
              f"the collector's chance is twice the printed one, and up to {worst:.0%} with all positions and classes",
              "no"),
        Claim("Table IV", "positions keep relative distances almost always", "so they do, for any fine grid", "yes"),
        Claim("Figure 5a", "the release loses as little as FALL's",
              f"at most {ratios['worst'] - 1:.1%} more than the curve itself",
              "yes" if ratios["worst"] < 1.02 else "in part"),
        Claim("Figure 5a", "order alone loses much more", f"it loses {ratios['order'] - 1:.0%} more at most",
              "yes" if ratios["order"] > 1.2 else "no"),
        Claim("Figures 5b and 5c", "a larger variance costs, a larger mean helps",
              f"GCP differs by {ratios['variance'] - 1:.1%} and {ratios['mean'] - 1:.1%} over the ranges tried",
              "in part"),
        Claim("Figure 5d", "GCP falls as people grow in number", f"to {ratios['shrinks']:.0%} of its first value",
              "yes" if ratios["shrinks"] < 1 else "no"),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="collect",
    about="what positions conceal and keep, what the classes lose, and what the collector really finds out",
    source="Xue et al., Distributed privacy preserving data collection (paper 001): Tables II to IV, Figure 5",
    run=run,
)
