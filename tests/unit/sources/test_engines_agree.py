"""The engines agree: the same table gives the same tuples, the same release and the same errors as in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from tests.harness.engines import COLUMNS, HEAD, as_folder, people, postgres_server, require_spark

import covey
from covey import table
from covey.counting import CarriedOnEngine, CountedRows
from covey.errors import InputError
from covey.fitness import check
from covey.protocols.shared.records import one_by_one, public_order
from covey.schema import Column, Role
from covey.sources import connect, engine
from covey.sources.writing import open_rows
from covey.study import Study

Store = Callable[[pa.Table], str]
"""Puts a table on the engine; the words with which `--data` names it."""


@pytest.fixture(
    scope="module",
    params=[
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param(
            "spark",
            marks=[
                pytest.mark.slow,
                pytest.mark.filterwarnings("ignore::ResourceWarning"),
                pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),  # Spark's own calls
            ],
        ),
    ],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("tables")
    numbers = iter(range(1000))
    if request.param == "postgres":
        with postgres_server() as server:
            yield lambda rows: server.store(f"t{next(numbers)}", rows, **_typed(rows))
        return
    if request.param == "spark":
        require_spark()
    before = "spark://?parquet=" if request.param == "spark" else ""
    yield lambda rows: before + str(as_folder(rows, folder / f"t{next(numbers)}"))


def _typed(rows: pa.Table) -> dict[str, str]:
    return {name: "double precision" for name in rows.column_names if pa.types.is_floating(rows.column(name).type)}


def released(study: Study) -> tuple[Column, ...]:
    return study.of_role(Role.QUASI, Role.SENSITIVE, Role.PLAIN)


def in_memory(study: Study, rows: pa.Table) -> table.Table:
    return table.build(table.read_source(connect(rows), released(study)), study)


def counted(study: Study, data: str, folder: Path) -> CountedRows:
    return CountedRows.of(open_rows(data, folder), study, released(study))


def tuples_of(made: table.Table) -> Counter[tuple[int, ...]]:
    counts = [1] * made.rows if made.counts is None else made.counts.tolist()
    found: Counter[tuple[int, ...]] = Counter()
    for codes, count in zip(made.codes.T.tolist(), counts, strict=True):
        found[tuple(codes)] += count
    return found


@pytest.mark.few(1)
def test_tuples_and_carried_cells_are_those_of_memory(store: Store, tmp_path: Path) -> None:
    """Spaces, two Unicode forms, numbers in several spellings, formulas, missing values, and a float that is none."""
    study, rows = Study.parse(HEAD + COLUMNS + 'type = "number"\n'), people(200)
    cells = [None if place % 19 == 0 else float("nan") if place % 17 == 0 else float(place % 7) for place in range(200)]
    rows = rows.set_column(6, "amount", [pa.array(cells, pa.float64())])
    expected, found = in_memory(study, rows), counted(study, store(rows), tmp_path)
    with found.rows:
        assert tuples_of(found.table) == tuples_of(expected)
        assert (found.table.records, found.table.dropped) == (expected.records, expected.dropped)
        klass = found.table.codes[0].astype("int64") % 3 - 1
        own = CarriedOnEngine(found).carried(klass)
        other = expected.with_class(expected.codes[0].astype("int64") % 3 - 1)
        assert cells_of(own) == cells_of(other)


def cells_of(carried: table.CarriedCells) -> Counter[tuple[object, ...]]:
    """The number of records of each class with the same carried cells."""
    texts = [[each.labels[code] for code in each.codes.tolist()] for each in carried.columns]
    counts = [1] * len(carried.klass) if carried.counts is None else carried.counts.tolist()
    total: Counter[tuple[object, ...]] = Counter()
    for row, count in zip(zip(carried.klass.tolist(), *texts, strict=True), counts, strict=True):
        total[row] += count
    return total


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ["", "l = 1.5\n"])
def test_single_records_made_of_tuples_are_those_of_memory(
    store: Store, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever class each goes to, also where records of one tuple go to several and some to none."""
    monkeypatch.setattr(engine, "MOST_SPELLINGS", 30)  # amounts are read cell by cell
    study, rows = Study.parse(HEAD + asked + COLUMNS), people(200).set_column(1, "age", [pa.array(["7", "70"] * 100)])
    expected, found = in_memory(study, rows), counted(study, store(rows), tmp_path)
    with found.rows:
        assert found.read or found.rows.ENGINE == "Spark"  # whose estimate may be too low
        carried = [expected.values(name) for name in ("amount", 'a "note', "ill")]
        content = np.lexsort((*(np.array(each.labels)[each.codes] for each in carried), *expected.codes[::-1]))
        single = one_by_one(replace(found.table, on_engine=CarriedOnEngine(found)))
        alike = expected.select(content[public_order(expected.rows)])
        assert single.records == single.rows == expected.rows > found.table.rows
        assert np.array_equal(single.codes, alike.codes)
        draws = np.random.default_rng(0)
        for klass in (draws.integers(-1, 5, single.rows), np.zeros(single.rows, dtype=np.int64)):
            assert cells_of(single.with_class(klass)) == cells_of(alike.with_class(klass))


@pytest.mark.few(1)
@pytest.mark.parametrize("most", [1_000_000, 30])
def test_a_check_finds_on_the_engine_what_it_finds_in_memory(
    store: Store, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where columns have too many texts to be read: then of pairs only those of quasi columns are looked at."""
    monkeypatch.setattr(engine, "MOST_SPELLINGS", most)
    study, rows = Study.parse(HEAD + COLUMNS.replace('singles_out = "made up"\n', "")), people(200)
    strange = [*rows.column("ill").to_pylist()[:-3], "rash", " rash", "cough"]
    rows = rows.set_column(4, "ill", [pa.array(strange)])
    rows = rows.set_column(6, "amount", [pa.array(["", " ", *rows.column("amount").to_pylist()[2:]])])
    rows = rows.append_column("more", [pa.array(["x"] * 200)])
    expected = check(study, connect(rows))
    with open_rows(store(rows), tmp_path) as there:
        found = check(study, there)
    assert not found.fit and found.dropped > 0 and found.ignored == ("more",)
    assert "rows with a value of their own" in str(
        next(each for each in found.columns if each.name == "amount").problem
    )
    same = ("rows", "dropped", "columns", "ignored", "notes", "problem")
    assert [getattr(found, name) for name in same] == [getattr(expected, name) for name in same]
    assert found.risk == expected.risk
    plain = {'a "note', "amount"}
    pairs = [each for each in expected.separating if len(each.columns) == 1 or plain.isdisjoint(each.columns)]
    assert [each.columns for each in found.separating] == [each.columns for each in pairs]
    for each, other in zip(found.separating, pairs, strict=True):
        assert (each.distinctness, each.separation) == pytest.approx((other.distinctness, other.separation))


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ["", "l = 2\n"])
def test_a_release_has_the_classes_of_memory(store: Store, asked: str, tmp_path: Path) -> None:
    """Records of one tuple that go to several classes are dealt by a hash, where a table has no order."""
    study, rows = Study.parse(HEAD + asked + COLUMNS), people(300)
    expected = covey.anonymize(rows, study)
    found = covey.anonymize_on_engine(store(rows), study, tmp_path / "out")
    options = csv.ConvertOptions(column_types={name: pa.string() for name in expected.arranged.column_names})
    written = csv.read_csv(tmp_path / "out" / "release.csv", convert_options=options)
    quasi = [column.name for column in study.quasi]
    assert written.select(quasi).to_pylist() == expected.arranged.select(quasi).to_pylist()
    same = ("rows", "withheld", "dropped", "k_reached", "classes", "loss")
    assert {key: found.describe()[key] for key in same} == {key: expected.summary[key] for key in same}
    assert covey.verify(tmp_path / "out" / "release.csv", study).answer


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("age", "old", "column 'age' has 1 value in 2 rows that its hierarchy does not have"),
        ("age", "nan", "column 'age' has NaN or an infinity in 2 rows"),
        ("ill", "rash", "column 'ill' has 1 value in 2 rows that its list of values does not have"),
    ],
)
def test_an_error_names_as_many_rows(store: Store, column: str, cell: str, said: str, tmp_path: Path) -> None:
    rows, study = people(40), Study.parse(HEAD + COLUMNS)
    cells = [*rows.column(column).to_pylist()[:-2], cell, f" {cell}"]
    rows = rows.set_column(rows.column_names.index(column), column, [pa.array(cells)])
    with pytest.raises(InputError, match=said):
        in_memory(study, rows)
    with pytest.raises(InputError, match=said):
        covey.anonymize_on_engine(store(rows), study, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_columns_of_one_name_are_refused(store: Store, tmp_path: Path) -> None:
    data = store(pa.table({"age": ["1"], "age ": ["2"]}))
    with pytest.raises(InputError, match="two columns are named 'age'"):
        covey.anonymize_on_engine(data, Study.parse(HEAD + COLUMNS), tmp_path / "out")


def test_a_table_that_is_not_there_is_refused_in_a_sentence(store: Store, tmp_path: Path) -> None:
    data = store(pa.table({"age": ["1"]}))
    with pytest.raises(InputError, match="has no column 'town'"):
        covey.anonymize_on_engine(data, Study.parse(HEAD + COLUMNS), tmp_path / "out")
    with pytest.raises(InputError, match="nowhere"):
        covey.anonymize_on_engine(f"{data}nowhere", Study.parse(HEAD + COLUMNS), tmp_path / "out")


@pytest.mark.few(1)
def test_check_looks_at_the_table_where_it_is(store: Store) -> None:
    source = connect(store(people(30)))
    assert source.rows == 30
    assert sum(source.distinct(["code"])[1]) == 30
