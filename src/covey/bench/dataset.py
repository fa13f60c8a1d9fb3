"""One table on which all contenders are tried, and the study of each protocol over it.

Only a comparison on one machine pools a table. It never asks parties for what they may not pool.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

import covey
from covey import samples
from covey.crypto.rng import Rng
from covey.errors import InputError
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of
from covey.party.simulate.letters import load_rows
from covey.party.simulate.outcome import JointRun
from covey.protocols import Protocol, of_study
from covey.protocols.protocol import Result
from covey.release import Release
from covey.sources.source import connect
from covey.study import Study, document, insiders, requirements
from covey.study.document import Document
from covey.study.study import RESPONDENTS
from covey.table import Table

KEY = "record"
_SAMPLE = "hospitals"


@dataclass(frozen=True)
class MeasuredRun:
    """A run of all parties in this process, and the time that it took."""

    release: Release
    seconds: float

    @property
    def lm(self) -> float:
        """The loss of the release."""
        return float(self.release.loss.lm or 0.0)

    def learned(self, name: str) -> int:
        """A number of that name in what the parties learned. Raises InputError where no sentence has it."""
        run = self.release.writer
        found = [each.ledger.numbers.get(name) for each in run.outcomes.values()] if isinstance(run, JointRun) else []
        numbers = [number for number in found if isinstance(number, int)]
        if not numbers:
            raise InputError(f"the run tells no number {name!r}")
        return int(numbers[0])

    @property
    def megabytes(self) -> float:
        """The traffic of all parties together."""
        return int(str(self.release.summary["bytes"])) / 1e6

    @property
    def rounds(self) -> int:
        """The longest chain of messages that depend on each other."""
        return int(str(self.release.summary["rounds"]))


@dataclass(frozen=True)
class PartitionedStudy:
    """A study for one protocol, and the table of each party."""

    study: Study
    data: Mapping[str, pa.Table]

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows of each party."""
        return {name: part.num_rows for name, part in self.data.items()}

    @property
    def tables(self) -> dict[str, Table]:
        """Each party's table as its role reads it; that of all respondents together."""
        return load(self.study, self.data)

    def ideal(self) -> Result:
        """Returns what a trusted party would answer."""
        return of_study(self.study).ideal(self.study, self.tables)

    def run(self, seed: int = 1) -> MeasuredRun:
        """Runs all parties over memory and measures the time."""
        start = time.perf_counter()
        release = covey.simulate(self.study, self.data, seed=seed)
        return MeasuredRun(release, time.perf_counter() - start)


def load(study: Study, data: Mapping[str, pa.Table]) -> dict[str, Table]:
    """Reads each holder's table as its role would."""
    read = {
        name: load_rows(study, rows) if name == RESPONDENTS else load_table(study, name, rows)
        for name, rows in data.items()
    }
    return {name: table for name, table in read.items() if table is not None}


@dataclass(frozen=True)
class Dataset:
    """A pooled table, its columns in a study, and the owners of its rows."""

    name: str
    columns: Document
    files: Mapping[str, bytes]
    pooled: pa.Table
    sites: Mapping[str, pa.Table] = field(default_factory=dict)
    k: int = 5
    about: str = ""

    @property
    def quasi(self) -> list[str]:
        """The names of the quasi-identifiers."""
        return self._named("quasi")

    @property
    def exact(self) -> list[str]:
        """The names of the columns that are released as they are."""
        return self._named("sensitive", "plain")

    def _named(self, *roles: str) -> list[str]:
        return [name for name, column in self.columns.items() if _role(column) in roles]

    def released(self) -> Document:
        """Returns a copy of the sections of all columns that reach a release."""
        return copy.deepcopy({name: self.columns[name] for name in self.columns if name in {*self.quasi, *self.exact}})

    def study(
        self, k: int, parties: Document | None = None, *, protocol: str | None = None, partition: str = "horizontal",
        columns: Document | None = None, options: Document | None = None, files: Mapping[str, bytes] | None = None,
    ) -> Study:  # fmt: skip
        """Makes a study of these columns; without a protocol it is the study of somebody who holds everything.

        Nothing is asked against insiders: no other contender keeps anything of the kind.
        """
        head: Document = {"name": self.name, "partition": partition}
        privacy: Document = {"k": k}
        if protocol is not None:
            head["protocol"] = protocol
            declared = requirements.of_protocol(protocol)
            if any(
                insiders.KEY in declaration.privacy for declaration in declared if declaration.partition == partition
            ):
                privacy[insiders.KEY] = 1
            if any(each.option("as_printed") for each in declared if each.partition == partition != "respondents"):
                options = {"as_printed": True, **(options or {})}
        content: Document = {"study": head, "privacy": privacy, "protocol": options or {}}
        content |= {"columns": columns or self.released(), "parties": parties or {}}
        return save_study(content, {**self.files, **(files or {})})

    def whole(self, k: int, rows: int | None = None) -> Table:
        """Reads the first rows, or all, as one owner would."""
        return load_rows(self.study(k), self.pooled.slice(0, rows))

    def split_rows(
        self, protocol: str, k: int, parts: Mapping[str, pa.Table], options: Document | None = None
    ) -> PartitionedStudy:
        """Makes a study of parties that hold these rows."""
        study = self.study(k, {name: {} for name in parts}, protocol=protocol, options=options)
        return PartitionedStudy(study, parts)

    def deal_rows(self, parties: int, rows: int, order: Sequence[int] | None = None) -> dict[str, pa.Table]:
        """Deals the first rows evenly to parties p00, p01 and so on."""
        shares = np.array_split(np.arange(rows) if order is None else np.asarray(order), parties)
        return {f"p{index:02d}": self.pooled.take(pa.array(np.sort(share))) for index, share in enumerate(shares)}

    def split_columns(
        self, protocol: str, k: int, parts: Mapping[str, Iterable[str]], rows: int | None = None, *,
        parties: Document | None = None, columns: Document | None = None, options: Document | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> PartitionedStudy:  # fmt: skip
        """Makes a study of parties that hold these columns and a key."""
        holders: Document = {name: {"columns": list(names)} for name, names in parts.items()}
        described: Document = {KEY: {"role": "key"}, **(columns or self.released())}
        for column in described.values():
            if isinstance(column, dict):
                column.pop("site", None)  # it tells whose a row is; here everybody has a part of every row
                if _role(column) in ("sensitive", "plain"):
                    column.setdefault("singles_out", "a benchmark, of which nothing is published")
        study = self.study(
            k, {**holders, **(parties or {})}, protocol=protocol, partition="vertical", columns=described,
            options=options, files=files,
        )  # fmt: skip
        people = self.pooled.slice(0, rows)
        people = people.append_column(KEY, pa.array(identifiers(people.num_rows)))
        return PartitionedStudy(study, {name: people.select([KEY, *names]) for name, names in parts.items()})


def identifiers(rows: int) -> list[str]:
    """Returns a made-up key for each row."""
    return [f"{number:08d}" for number in range(rows)]


def save_study(content: Document, files: Mapping[str, bytes]) -> Study:
    """Reads a study from a document and its files, as from a folder."""
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        return document.save(content, files, Path(folder))


def sample() -> Dataset:
    """The dataset that ships: three hospitals."""
    folder = samples.path(_SAMPLE)
    study = Study.load(folder / "study.toml")
    return of_parties(study, {party.name: str(folder / f"{party.name}.csv") for party in study.holders})


def of_parties(study: Study, data: Mapping[str, str]) -> Dataset:
    """Builds the dataset of a study whose parties' tables are all on this machine."""
    parts = {name: read_text(path, [column.name for column in study.held_by(name)]) for name, path in data.items()}
    if study.partition == "vertical":
        return of_table(study, _join(study, parts))
    return _of_study(study, pa.concat_tables(parts.values()), parts)


def of_table(study: Study, table: pa.Table | str, seed: int = 1) -> Dataset:
    """Builds the dataset of one table, dealt to the study's parties, or to three."""
    pooled = table if isinstance(table, pa.Table) else read_text(table, [column.name for column in study.columns])
    if study.partition == "horizontal" and len(study.holders) > 1:
        return _of_study(study, pooled, deal(study, pooled, seed=seed_of(seed)))
    third = -(-pooled.num_rows // 3)
    order = shuffled(pooled, seed, "deal")
    sites = {name: order.slice(index * third, third) for index, name in enumerate(("first", "second", "third"))}
    return _of_study(study, pooled, sites)


def partition_for(data: Dataset, contender: Protocol, k: int) -> PartitionedStudy:
    """Divides the people as a protocol needs them, by rows or by columns."""
    protocol, demands = contender.name, contender.requirements
    if demands.partition == "respondents":
        parties: Document = {"collector": {"role": "collector"}}
        if "trustee" in demands.roles:
            parties |= {name: {"role": "trustee"} for name in ("first", "second", "third")}
        options: Document = {} if contender.printed is None else {"as_printed": True}
        study = data.study(k, parties, protocol=protocol, partition="respondents", options=options)
        return PartitionedStudy(study, {RESPONDENTS: data.pooled})
    if demands.partition == "horizontal":
        sites = dict(data.sites)
        if demands.holders[1] == 2 and len(sites) != 2:
            half = -(-data.pooled.num_rows // 2)
            order = shuffled(data.pooled, 1, "deal")
            sites = {"first": order.slice(0, half), "second": order.slice(half)}
        shown = dict(contender.demonstration.changes.get("protocol", {}))
        return data.split_rows(protocol, k, sites, cast("Document", shown))
    half = len(data.quasi) // 2
    parts = {"first": data.quasi[:half], "second": [*data.quasi[half:], *data.exact]}
    roles = demands.needs or (("helper",) if "helper" in demands.roles else ())
    others: Document = {f"the-{role}": {"role": role} for role in roles}
    if demands.option("population") is None:
        return data.split_columns(protocol, k, parts, parties=others)
    columns = data.released()
    for name in data.exact:  # the protocol counts the values of these columns jointly, so they must be listed
        values = sorted({str(cell) for cell in data.pooled.column(name).to_pylist() if cell})
        document.table(columns, name).setdefault("values", list(values))
    files = {"population.csv": ("\n".join(identifiers(data.pooled.num_rows)) + "\n").encode()}
    return data.split_columns(
        protocol, k, parts, parties=others, columns=columns, options={"population": "population.csv"}, files=files
    )


def read_text(path: str | Path, names: Sequence[str] | None = None) -> pa.Table:
    """Reads a table's cells as text: the named columns, or all."""
    source = connect(path)
    columns = list(source.columns if names is None else names)
    table = pa.Table.from_batches(source.batches(columns)).rename_columns(columns)
    return pa.table({name: table.column(name).cast(pa.string()) for name in columns})


def shuffled(table: pa.Table, seed: int, label: str) -> pa.Table:
    """Returns the table's rows in an order that the seed and the label determine."""
    return table.take(pa.array(Rng(seed_of(seed)).stream(label).permutation(table.num_rows)))


def _of_study(study: Study, pooled: pa.Table, sites: Mapping[str, pa.Table]) -> Dataset:
    certificates = {party.certificate.as_posix() for party in study.parties if party.certificate is not None}
    files = {name: file for name, file in study.files.items() if name not in certificates}
    columns = document.table(document.of(study), "columns")
    return Dataset(study.name, columns, files, pooled, sites, study.privacy.k)


def _join(study: Study, parts: Mapping[str, pa.Table]) -> pa.Table:
    """Joins the parties' columns of the people whom every party knows."""
    key = next(column.name for column in study.columns if column.role.value == "key")
    first, *tables = parts.values()
    for table in tables:
        first = first.join(table, keys=key, join_type="inner")
    return first.sort_by(key)


def _role(column: document.Value) -> str:
    return str(column.get("role", "plain")) if isinstance(column, dict) else "plain"
