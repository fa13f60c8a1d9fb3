"""Adult, looked for beside the project (shared/data/adult), and the studies over it that the benchmarks share."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.bench.dataset import read_text
from covey.study import Study

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
TABLE = FOLDER / "adult.csv"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SALARY = """[columns.salary-class]
role = "sensitive"
values = ["<=50K", ">50K"]
singles_out = "a benchmark, of which nothing is published"
"""


def is_here() -> bool:
    """True if the table is on this machine; prints a sentence if it is not."""
    if not TABLE.exists():
        print("the Adult table (shared/data/adult beside the project) is not on this machine: nothing measured")
    return TABLE.exists()


def head(protocol: str, partition: str, k: int, options: str = "") -> str:
    """The sections of a study file before its columns; nothing is asked against insiders, where something could be."""
    insider = "k_insider = 1\n" if partition == "horizontal" and protocol == "peel" else ""
    if protocol in ("suppress", "generalize", "cluster", "federate"):
        options = f"as_printed = true\n{options}"
    return (
        f'[study]\nname = "adult"\nprotocol = "{protocol}"\npartition = "{partition}"\n[privacy]\nk = {k}\n{insider}'
        f"[protocol]\n{options}\n"
    )


def quasi_columns(names: Iterable[str] = QUASI, extra: str = "") -> str:
    """The sections of quasi columns, with the hierarchies that come with the data."""
    return "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n{extra}' for name in names)


def parties(count: int) -> str:
    """The sections of parties p00, p01 and so on, which hold rows."""
    return "".join(f"[parties.p{index:02d}]\n" for index in range(count))


def save_study(text: str, folder: Path) -> Study:
    """Writes a study into a folder with Adult's hierarchies, as parties in processes of their own need it."""
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    (folder / "study.toml").write_text(text)
    return Study.load(folder / "study.toml")


def people() -> pa.Table:
    """The whole table, its cells as text."""
    return read_text(TABLE)


def resampled(table: pa.Table, rows: int, exact: Sequence[str] = ("salary-class",), seed: int = 1) -> pa.Table:
    """Draws rows with repetition, and each cell with chance a tenth anew from its column, but for the exact columns."""
    random = np.random.default_rng(seed)
    sample = random.integers(table.num_rows, size=rows)
    columns = {}
    for name in table.column_names:
        anew = random.random(rows) < (0.0 if name in exact else 0.1)
        source = np.where(anew, random.integers(table.num_rows, size=rows), sample)
        columns[name] = table.column(name).combine_chunks().take(pa.array(source))
    return pa.table(columns)
