"""One table dealt to a study's parties: its rows at random or by a column, or its columns as the study says."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from covey.arrays import Longs
from covey.crypto.rng import Rng, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.files import write_atomically
from covey.sources.source import Data, connect
from covey.study import Study


def seed_of(number: int) -> Secret:
    """The seed that a number on the command line stands for."""
    return Secret(hashlib.sha256(f"covey simulation seed {number}".encode()).digest())


def deal(study: Study, data: Data, *, skew: str | None = None, seed: Secret | None = None) -> dict[str, pa.Table]:
    """Each holder's part of the table, as text.

    Horizontal: rows at random, in equal shares; with `skew`, each party gets a range of that column's values.
    Vertical: the key and the party's columns of every row. Raises InputError for what cannot be dealt.
    """
    names = [column.name for column in study.columns]
    source = connect(data)
    whole = pa.Table.from_batches(source.batches(names)).rename_columns(names)
    holders = [party.name for party in study.holders]
    if study.partition == "vertical":
        if skew is not None:
            raise InputError("--skew is for a study whose rows are split; in this one the columns are")
        return {name: whole.select([column.name for column in study.held_by(name)]) for name in holders}
    if study.partition != "horizontal" or not holders:
        raise InputError("a table can be dealt only to a study's parties with rows or columns of their own")
    if whole.num_rows < len(holders):
        raise InputError(f"{source.name}: has {whole.num_rows} rows for {len(holders)} parties; each needs one")
    order = Rng(seed or fresh_seed()).stream("deal").permutation(whole.num_rows)
    if skew is not None:
        order = order[np.argsort(_ranks(study, whole, skew)[order], kind="stable")]
    shares = np.array_split(order, len(holders))
    return {name: whole.take(pa.array(np.sort(share))) for name, share in zip(holders, shares, strict=True)}


def write_hands(hands: Mapping[str, pa.Table], out: Path) -> dict[str, str]:
    """Writes each party's part as `data.csv` into its folder, for its eyes only; the paths by party."""
    paths = {}
    for name, hand in hands.items():
        sink = io.BytesIO()
        pyarrow.csv.write_csv(hand, sink)
        path = out / name / "data.csv"
        write_atomically(path, sink.getvalue(), 0o600)
        paths[name] = str(path)
    return paths


def _ranks(study: Study, whole: pa.Table, skew: str) -> Longs:
    """Each row's place in the column's order: its tree's where it has one, else the order of its values."""
    column = study.column(skew)
    cells = [column.read(cell) for cell in whole.column(skew).to_pylist()]
    if column.hierarchy is not None:
        return np.asarray(column.tree(sorted(set(cells))).encode(cells), dtype=np.int64)
    rank = {value: place for place, value in enumerate(sorted(set(cells)))}
    return np.array([rank[cell] for cell in cells], dtype=np.int64)
