"""One table on which everyone is tried: pooled, or split among parties as each protocol needs it.

Only a comparison on one machine does this; what parties may not pool is never asked for here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from covey import samples
from covey.errors import InputError
from covey.party.session.respondents import RESPONDENTS
from covey.party.simulate import document
from covey.party.simulate.deal import deal, seed_of
from covey.party.simulate.document import Document
from covey.protocols import find
from covey.sources.source import connect
from covey.study import Study

_KEY = "record"
_SAMPLE = "hospitals"


@dataclass(frozen=True)
class Stage:
    """A study's columns and people; `sites` is how its rows lie with different owners."""

    name: str
    columns: Document
    files: Mapping[str, bytes]
    pooled: pa.Table
    sites: Mapping[str, pa.Table]
    k: int

    @property
    def quasi(self) -> list[str]:
        return [name for name, column in self.columns.items() if _role(column) == "quasi"]


@dataclass(frozen=True)
class Split:
    """A study of the stage's people for one protocol, and what each party holds."""

    study: Study
    data: Mapping[str, pa.Table]


def sample() -> Stage:
    """The stage that ships: three hospitals."""
    folder = samples.path(_SAMPLE)
    study = Study.load(folder / "study.toml")
    return stage(study, {party.name: str(folder / f"{party.name}.csv") for party in study.holders})


def stage(study: Study, data: Mapping[str, str]) -> Stage:
    """The stage of a study whose parties' tables are at hand."""
    if study.path is None:
        raise InputError("a comparison needs a study file")
    frames = {name: _text(study, path, [column.name for column in study.held_by(name)]) for name, path in data.items()}
    if study.partition == "vertical":
        return of_table(study, _join(study, frames))
    return _stage(study, pa.concat_tables(frames.values()), frames)


def of_table(study: Study, table: pa.Table | str, seed: int = 1) -> Stage:
    """The stage of one whole table, dealt at random to the study's parties, or to three."""
    whole = table if isinstance(table, pa.Table) else _text(study, table, [column.name for column in study.columns])
    holders = [party.name for party in study.holders]
    if study.partition == "horizontal" and len(holders) > 1:
        return _stage(study, whole, deal(study, whole, seed=seed_of(seed)))
    third = -(-whole.num_rows // 3)
    order = _shuffled(whole, seed)
    sites = {name: order.slice(place * third, third) for place, name in enumerate(("first", "second", "third"))}
    return _stage(study, whole, sites)


def one_owner(stage: Stage, k: int, scratch: Path) -> Study:
    """The study of someone who holds everything."""
    return document.save(_document(stage, None, "horizontal", k, _columns(stage)), stage.files, scratch)


def split(stage: Stage, protocol: str, partition: str, k: int, scratch: Path) -> Split:
    """The people under a protocol: rows to the sites (or to two, or one each), or columns to two, with a key."""
    needed = find(protocol, partition).requirements
    if partition == "horizontal":
        sites = dict(stage.sites)
        if needed.holders[1] == 2 and len(sites) != 2:
            half = -(-stage.pooled.num_rows // 2)
            order = _shuffled(stage.pooled, 1)
            sites = {"first": order.slice(0, half), "second": order.slice(half)}
        content = _document(stage, protocol, partition, k, _columns(stage))
        for name in sites:
            document.table(content, "parties", name)
        return Split(document.save(content, stage.files, scratch), sites)
    if partition == "respondents":
        content = _document(stage, protocol, partition, k, _columns(stage))
        document.table(content, "parties", "collector")["role"] = "collector"
        return Split(document.save(content, stage.files, scratch), {RESPONDENTS: stage.pooled})
    return _by_columns(stage, protocol, k, scratch)


def _by_columns(stage: Stage, protocol: str, k: int, scratch: Path) -> Split:
    """Half of the quasi-identifiers to one party, the others and all that is exact to another."""
    needed = find(protocol, "vertical").requirements
    half = len(stage.quasi) // 2
    exact = [name for name, column in stage.columns.items() if _role(column) in ("sensitive", "plain")]
    parts = {"first": stage.quasi[:half], "second": [*stage.quasi[half:], *exact]}
    columns: Document = {_KEY: {"role": "key"}, **_columns(stage)}
    content = _document(stage, protocol, "vertical", k, columns)
    for name, held in parts.items():
        document.table(content, "parties", name)["columns"] = list(held)
    files = dict(stage.files)
    keys = pa.array([f"{place:08d}" for place in range(stage.pooled.num_rows)])
    if "recipient" in needed.needs:
        document.table(content, "parties", "reader")["role"] = "recipient"
    if needed.option("population") is not None:
        _list_values(stage, columns, exact)
        document.table(content, "protocol")["population"] = "population.csv"
        files["population.csv"] = ("\n".join(keys.to_pylist()) + "\n").encode()
    whole = stage.pooled.append_column(_KEY, keys)
    return Split(
        document.save(content, files, scratch), {name: whole.select([_KEY, *held]) for name, held in parts.items()}
    )


def _list_values(stage: Stage, columns: Document, names: list[str]) -> None:
    """Lists what these columns hold, for a protocol that counts their values jointly."""
    for name in names:
        held = sorted({str(cell) for cell in stage.pooled.column(name).to_pylist() if cell})
        document.table(columns, name).setdefault("values", list(held))


def _document(stage: Stage, protocol: str | None, partition: str, k: int, columns: Document) -> Document:
    head: Document = {"name": stage.name, "partition": partition}
    if protocol is not None:
        head["protocol"] = protocol
    return {"study": head, "privacy": {"k": k}, "columns": columns}


def _columns(stage: Stage) -> Document:
    """The columns that reach a release."""
    kept = {name: column for name, column in stage.columns.items() if _role(column) not in ("identifier", "key")}
    return copy.deepcopy(kept)


def _stage(study: Study, pooled: pa.Table, sites: Mapping[str, pa.Table]) -> Stage:
    if study.path is None:
        raise InputError("a comparison needs a study file")
    content = document.read(study.path)
    certificates = {party.certificate.as_posix() for party in study.parties if party.certificate is not None}
    files = {name: file for name, file in study.files.items() if name not in certificates}
    return Stage(study.name, document.table(content, "columns"), files, pooled, sites, study.privacy.k)


def _join(study: Study, frames: Mapping[str, pa.Table]) -> pa.Table:
    """One table of the people whom every party knows."""
    key = next(column.name for column in study.columns if column.role.value == "key")
    first, *others = frames.values()
    for other in others:
        first = first.join(other, keys=key, join_type="inner")
    return first.sort_by(key)


def _text(study: Study, data: str, names: list[str]) -> pa.Table:
    return pa.Table.from_batches(connect(data).batches(names)).rename_columns(names)


def _shuffled(table: pa.Table, seed: int) -> pa.Table:
    from covey.crypto.rng import Rng

    return table.take(pa.array(Rng(seed_of(seed)).stream("deal").permutation(table.num_rows)))


def _role(column: document.Value) -> str:
    return str(column.get("role", "plain")) if isinstance(column, dict) else "plain"


def rows_of(split: Split) -> dict[str, int]:
    """How many rows each party holds."""
    return {name: frame.num_rows for name, frame in split.data.items()}


def concatenated(tables: list[pa.Table]) -> pa.Table:
    """Tables of equal columns one below the other, as text."""
    return pa.concat_tables(
        [pa.table({name: pc.cast(table.column(name), pa.string()) for name in table.column_names}) for table in tables]
    )
