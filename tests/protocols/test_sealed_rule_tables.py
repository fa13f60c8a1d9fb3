"""The rule on real tables: the release of the reference, and its loss; skips where a table is absent."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.conftest import SHARED
from tests.protocols.sealed_runs import expected, released
from tests.reference.peeling import Asked
from tests.reference.studies import Drawn, records_of
from tests.unit.mpc.boxes import seeds_of

from covey.measures import lm
from covey.mpc import Clear
from covey.party.session.data import load_table
from covey.protocols.peel.terms import Terms
from covey.protocols.shared.peeling.marginals import count_leaves
from covey.study import Study

ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
TABLES = {
    "adult": ("adult/adult.csv", "adult", ADULT),
    "adult-full": ("adult-full/adult.csv.gz", "adult", ADULT),
    "fars": (
        "fars/fars.csv",
        "fars",
        ("iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum", "iinjury"),
    ),
    "cmc": ("cmc/cmc.csv", "cmc", ("age", "Weducation", "children")),
}


def dealt(name: str, k: int, privacy: str = "k_insider = 2") -> Drawn:
    """Returns a table dealt to three holders at random."""
    file, folder, quasi = TABLES[name]
    if not (SHARED / file).exists():
        pytest.skip(f"the table shared/data/{file} is not on this machine")
    columns = "".join(f'[columns.{column}]\nrole = "quasi"\nhierarchy = "{column}.csv"\n' for column in quasi)
    if folder == "adult":
        columns += '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n'
    head = f'[study]\nname = "{name}"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = {k}\n{privacy}\n'
    study = Study.parse(head + columns + "".join(f"[parties.h{holder}]\n" for holder in range(3)), SHARED / folder)
    content = (SHARED / file).read_bytes()
    content = gzip.decompress(content) if file.endswith(".gz") else content
    texts = pc.ConvertOptions(column_types={column.name: pa.string() for column in study.columns})
    table = pc.read_csv(pa.BufferReader(content), parse_options=pc.ParseOptions(delimiter=";"), convert_options=texts)
    table = table.select([column.name for column in study.columns])
    owner = np.random.default_rng(3).integers(0, 3, table.num_rows)
    free, tables = replace(study, protocol=None), []
    for holder in range(3):
        loaded = load_table(free, f"h{holder}", table.filter(pa.array(owner == holder)))
        assert loaded is not None
        tables.append(loaded)
    terms, asks = Terms.of(study), study.privacy
    asked = Asked(k, 3, asks.k_insider or 2, None, None if asks.l is None else Fraction(repr(asks.l)), False, None)
    return Drawn(study, terms, tuple(tables), tuple(records_of(terms, tables)), asked)


CASES = [
    ("cmc", 10, "staged", "k_insider = 2", 0.0934),
    pytest.param("cmc", 3, "staged", "k_insider = 1", 0.0310, marks=pytest.mark.thorough),
    pytest.param("adult", 10, "reference", "k_insider = 1", 0.0740, marks=pytest.mark.slow),
    pytest.param("adult", 10, "staged", "k_insider = 2", 0.0745, marks=pytest.mark.slow),
    pytest.param("adult", 50, "staged", "k_insider = 2", 0.1470, marks=pytest.mark.slow),
    pytest.param("adult-full", 10, "staged", "k_insider = 2", 0.0700, marks=pytest.mark.slow),
    pytest.param("fars", 10, "staged", "k_insider = 2", 0.1080, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "k", "frequencies", "privacy", "loss"), CASES)
def test_a_table_is_released_as_by_the_reference(
    name: str, k: int, frequencies: str, privacy: str, loss: float
) -> None:
    drawn = dealt(name, k, privacy)
    trees = drawn.terms.trees
    codes = np.concatenate([table.codes for table in drawn.tables], axis=1)
    known = tuple(count_leaves(trees, codes)) if frequencies == "reference" else None
    box = Clear(seeds_of(0))
    told = asyncio.run(released(box, -1, drawn, known, private=False))
    assert told == expected(drawn, known)
    lost = sum(
        len(cells) * sum(float(lm(tree)[tree.labels.index(label)]) for tree, label in zip(trees, labels, strict=True))
        for labels, _, cells in told[0]
    )
    found = (lost / len(trees) + told[2]) / len(drawn.records)
    print(f"{name} k={k} {frequencies} {privacy}: loss {found:.4f}, {box.rounds} rounds, {box.bytes / 3e6:.0f} MB")
    assert found <= loss
