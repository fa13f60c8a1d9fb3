"""The experiment of `generalize`: the paper's example, what the release loses by variant, what a run costs by mode.

The paper has no measurements; it has an example, theorems and claims about what its protocol would publish.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import covey
from covey import samples
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.bench.findings import Cell, Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.crypto.commutative import BlindingKey
from covey.crypto.group import hash_to_group
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.option import Value
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal
from covey.protocols.generalize import ideal
from covey.protocols.generalize.contingency import labels_of, laid_out
from covey.protocols.generalize.local import Generalization
from covey.protocols.generalize.parameters import Parameters
from covey.protocols.shared import columns
from covey.samples.adult import COLUMNS
from covey.study import Study
from covey.table import Table

VARIANTS = ("paper", "datafly", "finished-cells")
LOCALS = ("datafly", "peel")
_ADULT_DAYS = "10 to 16 days for 30,162 rows"

_EXAMPLE = """
[study]
name = "faculty"
protocol = "generalize"
partition = "vertical"
[privacy]
k = 3
[protocol]
OPTIONS
[columns.id]
role = "key"
[columns.area]
role = "quasi"
hierarchy = { prefix = [1] }
values = ["D1", "D2", "D3", "I1", "I2", "O1", "O2"]
[columns.position]
role = "quasi"
hierarchy = { prefix = [1] }
values = ["P1", "P2", "P3", "A1", "A2"]
[columns.salary]
role = "quasi"
hierarchy = { min = 0, max = 179, steps = [30, 60] }
[parties.p1]
columns = ["area", "position"]
[parties.p2]
columns = ["salary"]
"""
_AREA = ("D1", "I1", "D2", "I1", "I2", "O1", "O2", "O2", "D3", "I2", "I2", "I1")
_POSITION = ("P2", "P1", "P2", "P1", "P3", "A2", "A2", "A2", "P2", "P1", "P3", "P3")
_SALARY = ("89", "90", "94", "77", "149", "14", "16", "15", "99", "77", "134", "144")
"""Table 1 in short: areas by field, positions by rank, salaries in thousands above one (15.5 is 16 here)."""


_LEAVES = ((0, 8), (1, 6), (2, 8), (3, 6))
_FOUR = (
    '[study]\nname = "four"\nprotocol = "generalize"\npartition = "vertical"\n[privacy]\nk = 5\n'
    '[protocol]\nvariant = "datafly"\n[columns.id]\nrole = "key"\n'
    + "".join(
        f'[columns.c{n}]\nrole = "quasi"\nhierarchy = {{ min = 0, max = {most - 1}, steps = {steps} }}\n'
        for (n, most), steps in zip(_LEAVES, ([2, 4], [3], [2, 4], [3]), strict=True)
    )
    + '[parties.a]\ncolumns = ["c0", "c1"]\n[parties.b]\ncolumns = ["c2", "c3"]\n'
)
"""Four columns of small numbers, two at each party: where Datafly and its simulation part now and then."""


def run(setting: Setting) -> Findings:
    """The whole experiment."""
    setting.tell("generalize: the paper's example")
    example, claims = _example()
    setting.tell("generalize: tables on which simulating Datafly is not Datafly")
    claims += _not_the_same(60 if setting.quick else 400, setting.seed)
    study, hands, on = _people(setting)
    ks = (5, 20) if setting.quick else (5, 10, 20, 50, 100)
    losses, plot = _losses(setting, study, hands, ks)
    costs, whole = _costs(setting, study, hands)
    claims.append(whole)
    return Findings(
        tables=(example, losses, costs),
        plots=(plot,),
        claims=tuple(claims),
        notes=(
            on,
            "losses are of the ideal release, which a run's equals to the byte; costs are of runs with both parties in "
            "this process, on all cores",
            *(("in quick mode two values of k, and costs on people that are fewer",) if setting.quick else ()),
        ),
    )


def _frames() -> dict[str, pa.Table]:
    ids = [str(number) for number in range(1, 13)]
    return {
        "p1": pa.table({"id": ids, "area": list(_AREA), "position": list(_POSITION)}),
        "p2": pa.table({"id": ids, "salary": list(_SALARY)}),
    }


def _tables(study: Study, frames: Mapping[str, pa.Table]) -> dict[str, Table]:
    loaded = {name: load_table(study, name, frame) for name, frame in frames.items()}
    return {name: table for name, table in loaded.items() if table is not None}


def _example() -> tuple[Grid, list[Claim]]:
    rows: list[tuple[Cell, ...]] = []
    published = {}
    for title, options in (
        ("as the paper", 'leakage = "matrix"'),
        ("simulating Datafly, ties to the last", 'variant = "datafly"\nties = "last"'),
        ("finished cells", 'variant = "finished-cells"'),
    ):
        study = Study.parse(_EXAMPLE.replace("OPTIONS", options))
        release = covey.simulate(study, _frames(), seed=1)
        run = ideal.follow(Parameters.of(study), _tables(study, _frames()))
        bad = ", then ".join(str(found.bad(3)) for found in run.counts)
        classes = Counter(zip(*(column.to_pylist() for column in release.table.columns), strict=True))
        published[title] = classes
        rows.append((title, len(run.rounds), bad, len(classes), min(classes.values()), round(release.loss.lm or 0, 4)))
    head = ("variant", "rounds", "pairs with 1 or 2 people", "classes", "smallest", "loss (lm)")
    grid = Grid("Table 1 of the paper, k = 3, between two parties", head, tuple(rows))
    expected = {
        ("D*", "P*", "[60, 119]"),
        ("I*", "P*", "[60, 119]"),
        ("I*", "P*", "[120, 179]"),
        ("O*", "A*", "[0, 59]"),
    }
    fits = set(published["as the paper"]) == expected and rows[0][1] == 2
    table_2 = {
        ("D*", "P2", "[60, 119]"),
        ("I*", "P1", "[60, 119]"),
        ("I*", "P3", "[120, 179]"),
        ("O*", "A2", "[0, 59]"),
    }
    same = set(published["simulating Datafly, ties to the last"]) == table_2
    in_order, anew = _read_off(anew=False), _read_off(anew=True)
    return grid, [
        Claim(
            "section 3.1, Table 3",
            "two rounds, four classes of three",
            f"{rows[0][1]} rounds, {rows[0][3]} classes of {rows[0][4]}",
            "yes" if fits else "no",
        ),
        Claim(
            "section 2, Table 2",
            "one owner's Datafly publishes these four classes",
            "the variant that simulates Datafly publishes them, ties to the last column; Table 2 prints one salary "
            "a level too low, and ids",
            "in part" if same else "no",
        ),
        Claim(
            "Algorithm 2, steps 6 to 8",
            "a party cannot link its people to values of the other's but within k",
            f"with the list back in order, as the algorithm has it, it reads the fellows of {in_order} of 12 people in "
            f"the other's groups; with the list laid out anew its guess is right for {anew}",
            "no",
        ),
    ]


def _read_off(*, anew: bool) -> int:
    """For how many of its people P1 reads off who shares P2's group with them, taking its list to be in its order."""
    study = Study.parse(_EXAMPLE.replace("OPTIONS", ""))
    tables = _tables(study, _frames())
    first, second = (Generalization.of(tables[name], Parameters.of(study)).groups() for name in ("p1", "p2"))
    rng = Rng(Secret(bytes(32)))
    mine, theirs = (BlindingKey(rng.stream("key", name)) for name in ("p1", "p2"))
    people = hash_to_group([b"%d" % number for number in range(12)], "example")
    order, sizes = laid_out(first, 4, rng.stream("order"))
    back = theirs.blind(mine.blind(people.take(order)))
    if anew:
        back = back.take(laid_out(labels_of(sizes), 4, rng.stream("anew"))[0])
    believed = dict(zip(back, order.tolist(), strict=True))
    other = list(mine.blind(theirs.blind(people)))
    read = {own: {believed[other[n]] for n in np.flatnonzero(second == second[own])} for own in range(12)}
    truth = {own: set(np.flatnonzero(second == second[own]).tolist()) for own in range(12)}
    return sum(any(own in read[n] and read[n] == truth[own] for n in range(12)) for own in range(12))


def _not_the_same(trials: int, seed: int) -> list[Claim]:
    """How often the variant that simulates Datafly publishes something else than Datafly on the pooled table."""
    study = Study.parse(_FOUR)
    parameters = Parameters.of(study)
    random = np.random.default_rng(seed)
    differs = above = 0
    for _ in range(trials):
        cells = {f"c{n}": random.integers(0, most, (2, 60)).min(axis=0).astype(str).tolist() for n, most in _LEAVES}
        frames = {
            "a": pa.table({"id": _ids(60), "c0": cells["c0"], "c1": cells["c1"]}),
            "b": pa.table({"id": _ids(60), "c2": cells["c2"], "c3": cells["c3"]}),
        }
        tables = _tables(study, frames)
        run = ideal.follow(parameters, tables)
        mine = np.concatenate([run.locals[name].levels[:, 0] for name in parameters.owners])
        pooled = np.array(_pooled_levels(tables))
        differs += bool((mine != pooled).any())
        above += bool((mine > pooled).any())
    return [
        Claim(
            "section 4",
            "a variant in which only the most distinct column rises publishes what Datafly publishes",
            f"another release in {differs} of {trials} random tables; it is nowhere more general in {trials - above}: "
            "each side starts where it is k-anonymous by itself",
            "in part" if differs else "yes",
        )
    ]


def _ids(count: int) -> list[str]:
    return [f"P{number:06}" for number in range(count)]


def _pooled_levels(tables: Mapping[str, Table]) -> list[int]:
    pooled = _pooled(tables)
    levels: list[int] = anonymize(build(pooled).problem, "datafly").notes["levels"]  # type: ignore[assignment]
    return levels


def _pooled(tables: Mapping[str, Table]) -> Table:
    """Both parties' quasi columns of the same people, the first party's first."""
    first = next(iter(tables.values()))
    return replace(
        first,
        quasi=tuple(column for table in tables.values() for column in table.quasi),
        trees=tuple(tree for table in tables.values() for tree in table.trees),
        codes=np.concatenate([table.codes for table in tables.values()]),
        carried=(),
        key=None,
    )


def _people(setting: Setting) -> tuple[Study, dict[str, pa.Table], str]:
    """The study and the parties' tables that losses and costs are measured on, and a sentence that names them."""
    if setting.adult is not None and (study := _adult(setting.adult)) is not None:
        table = _read(setting.adult / "adult.csv")
        table = table.append_column("person", pa.array(_ids(table.num_rows)))
        return study, deal(study, table), f"on Adult, {table.num_rows:,} people, eight columns split four and four"
    folder = samples.path("clinic-billing")
    study = Study.load(folder / "study.toml")
    frames = {party.name: _read(folder / f"{party.name}.csv") for party in study.holders}
    return study, frames, "on the sample clinic-billing; Adult is not at hand (`covey data fetch adult`)"


def _read(path: Path) -> pa.Table:
    delimiter = ";" if b";" in path.read_bytes()[:200] else ","
    names = path.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(delimiter)
    return pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


def _adult(folder: Path) -> Study | None:
    """Adult's study with the first four columns at one party; None where the folder has no hierarchies."""
    agreed = folder / "study.toml"
    quasi = COLUMNS[:8]
    parties = f"[parties.first]\ncolumns = {list(quasi[:4])}\n[parties.second]\ncolumns = {[*quasi[4:], COLUMNS[8]]}\n"
    head = '[study]\nname = "adult"\nprotocol = "generalize"\npartition = "vertical"\n'
    key = '[columns.person]\nrole = "key"\n'
    if agreed.is_file():
        text = agreed.read_text(encoding="utf-8").replace('[study]\nname = "adult"\n', head)
        return Study.parse(text + key + parties, folder)
    if not all((folder / f"{name}.csv").is_file() for name in quasi):
        return None
    listed = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in quasi)
    sensitive = f'[columns.{COLUMNS[8]}]\nrole = "sensitive"\n'
    return Study.parse(f"{head}[privacy]\nk = 5\n{listed}{sensitive}{key}{parties}", folder)


def _with(study: Study, k: int, **options: Value) -> Study:
    return replace(study, privacy=replace(study.privacy, k=k), options=options)


def _losses(setting: Setting, study: Study, frames: Mapping[str, pa.Table], ks: tuple[int, ...]) -> tuple[Grid, Plot]:
    rows: list[tuple[Cell, ...]] = []
    points: dict[str, list[tuple[float, float]]] = {}
    for k in ks:
        setting.tell(f"generalize: losses at k = {k}")
        tables = _tables(_with(study, k), frames)
        pooled = _pooled(_common(_with(study, k), tables))
        problem = build(pooled, k=k).problem
        row: dict[str, float] = {"Datafly, pooled": anonymize(problem, "datafly").loss(problem)}
        for local in LOCALS:
            for variant in VARIANTS:
                figures = ideal.ideal(_with(study, k, local=local, variant=variant), tables).figures
                row[f"{local}, {variant}"] = (figures.loss["lm"] or 0.0) if figures is not None else 1.0
        for name, loss in row.items():
            points.setdefault(name, []).append((float(k), loss))
        rows.append((k, *(round(loss, 4) for loss in row.values())))
    grid = Grid("What the release loses (lm), by local anonymizer and variant", ("k", *points), tuple(rows))
    curves = tuple(Curve(name, tuple(own)) for name, own in points.items())
    return grid, Plot("Loss by k", "k", "loss (lm)", curves, log_x=True)


def _common(study: Study, tables: Mapping[str, Table]) -> dict[str, Table]:
    common = columns.common_rows(study, tables)
    return {name: common[name] for name in Parameters.of(study).owners}


def _costs(setting: Setting, study: Study, frames: Mapping[str, pa.Table]) -> tuple[Grid, Claim]:
    """Runs in each mode; on the whole table but in quick mode."""
    least = min(frame.num_rows for frame in frames.values())
    people = min(least, 1500) if setting.quick else least
    used = {name: frame.slice(0, people) if least > people else frame for name, frame in frames.items()}
    rows: list[tuple[Cell, ...]] = []
    seconds = 0.0
    for options in ({}, {"leakage": "matrix"}, {"leakage": "one-sided"}, {"leakage": "threshold"},
                    {"local": "peel", "variant": "finished-cells"}):  # fmt: skip
        title = ", ".join(options.values()) or "auto"
        setting.tell(f"generalize: a run of {people:,} people, {title}")
        begun = time.perf_counter()
        try:
            release = covey.simulate(_with(study, 5, **options), used, seed=setting.seed)
        except InputError as refused:
            rows.append((title, str(refused), None, None, None))
            continue
        spent = time.perf_counter() - begun
        seconds = seconds or spent
        summary = release.summary
        size = round(int(str(summary["bytes"])) / 1e6, 1)
        rows.append((title, round(spent, 1), int(str(summary["rounds"])), size, round(release.loss.lm or 0.0, 4)))
    head = ("mode", "seconds", "rounds of messages", "MB", "loss (lm)")
    found = f"{seconds:.0f} s for {people:,} people, both parties on this machine, by ristretto255"
    whole = not setting.quick and people > 30_000
    claim = Claim(
        "Tassa & Gudes on this kind of protocol", f"{_ADULT_DAYS}, by 1024-bit homomorphic encryptions, estimated",
        found, "no" if whole else "not tried",
    )  # fmt: skip
    return Grid(f"What a run costs, k = 5, {people:,} people", head, tuple(rows)), claim


EXPERIMENT = Experiment(
    name="generalize",
    about="two parties with columns: the paper's example, what variants lose, what a run costs",
    source="Jiang & Clifton, Privacy-Preserving Distributed k-Anonymity",
    run=run,
)
