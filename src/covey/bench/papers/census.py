"""The table on which `cluster` is measured: Adult with all its columns if it is at hand, else with nine, else a sample.

Adult's hierarchies are ours, of heights 2 to 4 as in the paper (a leaf and the root included): numbers in bands; fnlwgt
in ten thousands, capital-gain in thousands and capital-loss in hundreds, each then in bands; the groupings of
`covey.samples.adult` for workclass, education, marital-status, occupation and native-country; a value or `*` for
relationship, race and sex.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from covey import samples
from covey.bench.findings import Setting
from covey.crypto.rng import Rng
from covey.party.session.data import load_table
from covey.party.simulate.deal import seed_of
from covey.samples import adult
from covey.study import Study
from covey.table import Table

NUMBERS = {
    "age": (17, 90, [5, 20]),
    "fnlwgt": (0, 149, [10, 50]),
    "education-num": (1, 16, [4]),
    "capital-gain": (0, 100, [10, 50]),
    "capital-loss": (0, 44, [5, 15]),
    "hours-per-week": (1, 99, [10, 30]),
}
UNITS = {"fnlwgt": 10_000, "capital-gain": 1_000, "capital-loss": 100}
GROUPS = {
    "workclass": adult.WORKCLASS,
    "education": adult.EDUCATION,
    "marital-status": adult.MARITAL,
    "occupation": adult.OCCUPATION,
    "native-country": adult.COUNTRY,
}
FLAT = ("relationship", "race", "sex")
SALARY = '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n'


@dataclass(frozen=True)
class Census:
    """A table as text, in random order, and what a study needs to know of its columns."""

    about: str
    columns: str
    files: Mapping[str, str]
    table: pa.Table

    def study(self, folder: Path, k: int, parties: int, privacy: str = "", options: str = "") -> Study:
        """A joint study of the table in a folder of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        head = '[study]\nname = "census"\nprotocol = "cluster"\npartition = "horizontal"\n'
        names = "".join(f"[parties.p{number:02d}]\n" for number in range(parties))
        text = f"{head}[privacy]\nk = {k}\n{privacy}\n[protocol]\n{options}\n{self.columns}{names}"
        (folder / "study.toml").write_text(text, encoding="utf-8")
        return Study.load(folder / "study.toml")

    def hands(self, study: Study, rows: int) -> dict[str, pa.Table]:
        """The first so many rows, dealt out evenly."""
        names = [party.name for party in study.parties]
        each = -(-rows // len(names))
        part = self.table.slice(0, rows)
        return {name: part.slice(place * each, each) for place, name in enumerate(names)}

    def tables(self, study: Study, rows: int) -> dict[str, Table]:
        """The same as the parties read them."""
        read = {name: load_table(study, name, hand) for name, hand in self.hands(study, rows).items()}
        return {name: table for name, table in read.items() if table is not None}


def census(setting: Setting) -> Census:
    """The best table at hand."""
    if setting.adult is not None:
        whole = setting.adult.parent / "adult-full" / "adult.csv.gz"
        for path in (whole, setting.adult / "adult.csv"):
            if path.exists():
                return _adult(path, setting.seed)
    folder = samples.path("hospitals")
    parties = [_read(path) for path in sorted(folder.glob("*.csv"))]
    study = (folder / "study.toml").read_text(encoding="utf-8")
    columns = study[study.index("[columns.") : study.index("[parties.")]
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in (folder / "hierarchies").glob("*.csv")
    }
    table = {name: [cell for part in parties for cell in part[name]] for name in parties[0]}
    return Census("the sample hospitals, 3,000 rows", columns, files, _shuffled(table, setting.seed))


def _adult(path: Path, seed: int) -> Census:
    table = _read(path)
    for name, unit in UNITS.items():
        if name in table:
            table[name] = [str(int(cell) // unit) for cell in table[name]]
    quasi = [name for name in (*NUMBERS, *GROUPS, *FLAT) if name in table]
    text, files = "", {}
    for name in quasi:
        text += f'[columns.{name}]\nrole = "quasi"\n'
        if name in NUMBERS:
            low, high, steps = NUMBERS[name]
            text += f"hierarchy = {{ min = {low}, max = {high}, steps = {steps} }}\n"
        elif name in FLAT:
            values = ", ".join(f'"{value}"' for value in sorted(set(table[name])))
            text += f'hierarchy = "flat"\nvalues = [{values}]\n'
        else:
            files[f"{name}.csv"] = _tree(GROUPS[name], set(table[name]))
            text += f'hierarchy = "{name}.csv"\n'
    rows = len(table["age"])
    kept = {name: table[name] for name in (*quasi, "salary-class")}
    about = f"Adult, {rows:,} rows, {len(quasi)} quasi columns, hierarchies of our own of heights 2 to 4"
    return Census(about, text + SALARY, files, _shuffled(kept, seed))


def _tree(groups: object, values: set[str]) -> str:
    """The lines of a hierarchy file; a value that no group has is a group of its own."""
    found = {path[0]: path for path in _paths(groups)}
    between = len(next(iter(found.values()))) - 2
    lines = [found.get(value, (value, *["other"] * between, "*")) for value in sorted(values)]
    return "".join(";".join(line) + "\n" for line in lines)


def _paths(groups: object, above: tuple[str, ...] = ()) -> Iterable[tuple[str, ...]]:
    """The leaves of nested groups, each with what is above it."""
    if isinstance(groups, dict):
        for name, below in groups.items():
            yield from _paths(below, (name, *above))
    elif isinstance(groups, tuple):
        for value in groups:
            yield (value, *above, "*")


def _read(path: Path) -> dict[str, list[str]]:
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8").splitlines()
    names, *rows = csv.reader(lines, delimiter=";" if ";" in lines[0] else ",")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _shuffled(table: Mapping[str, list[str]], seed: int) -> pa.Table:
    whole = pa.table(dict(table))
    order = Rng(seed_of(seed)).stream("census").permutation(whole.num_rows)
    return whole.take(pa.array(order))
