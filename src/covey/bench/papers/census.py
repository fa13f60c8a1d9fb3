"""The census tables on which experiments are made: Adult with all its columns if it is at hand, else with nine, else a
sample that ships; and a larger one that is made up, with the seven columns of the CENSUS table that a paper took from
IPUMS, whose licence does not let us hand it on.

Adult's hierarchies are ours, of heights 2 to 4 as in the papers (a leaf and the root included): numbers in bands;
fnlwgt in ten thousands, capital-gain in thousands and capital-loss in hundreds, each then in bands; the groupings of
`covey.samples.adult` for workclass, education, marital-status, occupation and native-country; a value or `*` for
relationship, race and sex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from covey.bench.dataset import Dataset, read_text, sample, shuffled
from covey.bench.findings import Setting
from covey.samples import adult
from covey.study.document import Document

NUMBERS = {
    "age": (17, 90, (5, 20)),
    "fnlwgt": (0, 149, (10, 50)),
    "education-num": (1, 16, (4,)),
    "capital-gain": (0, 100, (10, 50)),
    "capital-loss": (0, 44, (5, 15)),
    "hours-per-week": (1, 99, (10, 30)),
}
UNITS = {"fnlwgt": 10_000, "capital-gain": 1_000, "capital-loss": 100}
GROUPED = ("workclass", "education", "marital-status", "occupation", "native-country")
FLAT = ("relationship", "race", "sex")
SENSITIVE = "salary-class"
LIKE_CENSUS = ("age", "sex", "education", "marital-status", "race", "workclass", "native-country")
"""The columns of the table that is made up."""
_KINDS = 60
"""Kinds of people in it: those of one kind resemble each other."""


def census(setting: Setting) -> Dataset:
    """Returns the best table at hand, its rows in random order."""
    if setting.adult is not None:
        whole = setting.adult.parent / "adult-full" / "adult.csv.gz"
        for path in (whole, setting.adult / "adult.csv"):
            if path.exists():
                table = read_text(path)
                names = [name for name in (*NUMBERS, *GROUPED, *FLAT) if name in table.column_names]
                data = of_adult(table, names)
                about = f"Adult, {table.num_rows:,} rows, {len(names)} quasi columns, hierarchies of our own of heights"
                return replace(data, pooled=shuffled(data.pooled, setting.seed, "census"), about=f"{about} 2 to 4")
    data = sample()
    return replace(
        data, pooled=shuffled(data.pooled, setting.seed, "census"), about=f"the sample {data.name}, 3,000 rows"
    )


def made_up(setting: Setting, rows: int) -> Dataset:
    """Draws a table like a census: few values are frequent, and people of one kind resemble each other."""
    random = np.random.default_rng([setting.seed, rows])
    kind = np.minimum(*random.integers(_KINDS, size=(2, rows)))
    cells: dict[str, list[str]] = {}
    for name in LIKE_CENSUS[1:]:
        values = _values(name)
        likes = random.dirichlet(1 / np.arange(1, len(values) + 1), size=_KINDS)
        drawn = (likes.cumsum(axis=1)[kind] < random.random((rows, 1))).sum(axis=1)
        cells[name] = [values[min(place, len(values) - 1)] for place in drawn.tolist()]
    low, high, _ = NUMBERS["age"]
    typical = random.uniform(low + 5, high - 25, size=_KINDS)
    cells["age"] = np.clip(random.normal(typical[kind], 9), low, high).astype(int).astype(str).tolist()
    cells[SENSITIVE] = np.where(random.random(rows) < 0.25, ">50K", "<=50K").tolist()
    data = of_adult(pa.table(cells), LIKE_CENSUS)
    about = f"a made-up table like a census, {rows:,} rows, {len(LIKE_CENSUS)} quasi columns"
    return replace(data, name="made up", about=about)


def _values(name: str) -> list[str]:
    """The values of one of Adult's categorical columns."""
    if name in FLAT:
        return {"sex": ["Male", "Female"], "race": ["White", "Black", "Asian-Pac-Islander", "Other"]}[name]
    return [line.split(";")[0] for line in adult.files([])[f"hierarchies/{name}.csv"].decode().splitlines()]


def of_adult(table: pa.Table, quasi: Sequence[str], ages: Sequence[int] = NUMBERS["age"][2]) -> Dataset:
    """Describes these columns of Adult and its sensitive one; `ages` are the widths of the bands of ages."""
    cells = {name: table.column(name).to_pylist() for name in (*quasi, SENSITIVE)}
    for name in UNITS.keys() & cells.keys():
        cells[name] = [str(int(cell) // UNITS[name]) for cell in cells[name]]
    columns: Document = {}
    files = {}
    for name in quasi:
        column: Document = {"role": "quasi", "hierarchy": "flat"}
        if name in NUMBERS:
            low, high, steps = NUMBERS[name]
            column["hierarchy"] = {"min": low, "max": high, "steps": list(ages if name == "age" else steps)}
        elif name in FLAT:
            column["values"] = sorted(set(cells[name]))
        else:
            column["hierarchy"] = f"{name}.csv"
            files[f"{name}.csv"] = _hierarchy(name, set(cells[name]))
        columns[name] = column
    columns[SENSITIVE] = {"role": "sensitive", "values": ["<=50K", ">50K"]}
    return Dataset("adult", columns, files, pa.table(cells))


def _hierarchy(name: str, values: set[str]) -> bytes:
    """The lines of Adult's hierarchy file for the values that occur."""
    lines = adult.files([])[f"hierarchies/{name}.csv"].decode().splitlines()
    return "".join(f"{line}\n" for line in sorted(lines) if line.split(";")[0] in values).encode()
