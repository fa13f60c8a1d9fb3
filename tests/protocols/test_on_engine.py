"""Parties whose rows stay on an engine: the release is the one from CSV files, and Covey sees tuples and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.harness.cluster_cases import same_choices
from tests.harness.engines import PostgresServer, as_csv, as_folder, postgres_server, require_spark
from tests.protocols.peelers import Person, draw_people, frame_of, study_of

import covey
from covey import counting
from covey.arrays import Longs
from covey.counting import CarriedOnEngine
from covey.errors import InputError
from covey.party.identity import keys as keyring
from covey.party.session import data as session_data
from covey.party.session.binding import data_digest
from covey.party.session.data import KeptCounts, load_table
from covey.protocols import of_study
from covey.protocols.protocol import Seat
from covey.protocols.shared.records import public_order
from covey.schema import Role
from covey.sources import engine
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import CarriedCells, Table


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


def counted(study: Study, party: str, data: object) -> Table:
    table = load_table(study, party, data)  # type: ignore[arg-type]
    assert table is not None and table.on_engine is not None
    return table


def test_counts_are_those_of_files(tmp_path: Path) -> None:
    study = Study.parse(
        '[study]\nname = "n"\nprotocol = "count"\npartition = "horizontal"\n[privacy]\nk = 3\n[parties.p0]\n'
        '[parties.p1]\n[columns.age]\nrole = "quasi"\nhierarchy = { min = 0, max = 39, steps = [5, 10] }\n'
    )
    tables = {name: frame_of(study, own) for name, own in draw_people(2, 40, 1).items()}
    expected = covey.simulate(study, tables, seed=1)
    data = {name: str(as_folder(table, tmp_path / name)) for name, table in tables.items()}
    assert counted(study, "p0", data["p0"]).rows < 40
    assert covey.simulate(study, data, seed=1).content == expected.content


def test_the_datas_hash_knows_every_cell_and_no_order(tmp_path: Path) -> None:
    study, keys = study_of(3, note=True, protocol="cluster"), keyring.make("p0")
    table = frame_of(study, draw_people(1, 30, 4)["p0"])

    def digest(name: str, rows: pa.Table) -> bytes:
        return data_digest(counted(study, "p0", str(as_folder(rows, tmp_path / name))), keys)

    first = digest("first", table)
    assert digest("turned", table.take(list(reversed(range(30))))) == first
    notes = table.column("note").to_pylist()
    swapped = table.set_column(4, "note", [pa.array([notes[1], notes[0], *notes[2:]])])
    assert digest("swapped", swapped) != first
    assert digest("fewer", table.slice(0, 29)) != first


def test_a_table_that_changes_during_a_run_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows, of the same tuples, with one other note: nothing but the hash knows."""
    study = study_of(3, k=3, note=True, protocol="cluster")
    tables = {name: frame_of(study, own) for name, own in draw_people(3, 20, 5).items()}
    data = {name: str(as_folder(table, tmp_path / name)) for name, table in tables.items()}
    approve = Seat.records.fget  # type: ignore[attr-defined]

    def late(seat: Seat) -> Table:
        other = tables["p2"].slice(10)
        notes = [*other.column("note").to_pylist()[:-1], "another"]
        parquet.write_table(other.set_column(4, "note", [pa.array(notes)]), tmp_path / "p2" / "a.parquet")
        return approve(seat)  # type: ignore[no-any-return]

    monkeypatch.setattr(Seat, "records", property(late))
    with pytest.raises(InputError, match="p2: has changed while it was read"):
        covey.simulate(study, data, seed=1)


def test_an_error_is_the_one_from_a_file(tmp_path: Path) -> None:
    study = study_of(3, note=True, protocol="cluster")
    table = frame_of(study, draw_people(1, 20, 6)["p0"])
    strange = table.set_column(2, "town", [pa.array(["x", *table.column("town").to_pylist()[1:]])])
    said = []
    for data in (as_csv(strange, tmp_path / "p0.csv"), as_folder(strange, tmp_path / "p0")):
        with pytest.raises(InputError) as error:
            load_table(study, "p0", str(data))
        said.append(str(error.value).replace(str(data), ""))
    assert said[0] == said[1]


def test_a_run_that_was_cut_off_does_not_count_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, keys = study_of(3, note=True, protocol="cluster"), keyring.make("p0")
    table = frame_of(study, draw_people(1, 30, 4)["p0"])
    data, kept = str(as_folder(table, tmp_path / "p0")), KeptCounts(tmp_path / "counts", keys.journal)
    first = load_table(study, "p0", data, kept)
    assert first is not None and b"note 1" not in kept.path.read_bytes()
    times = []
    group = engine.EngineRows.group

    def counting(self: engine.EngineRows, grouped: engine.GroupedColumns) -> int:
        times.append(1)
        return group(self, grouped)

    monkeypatch.setattr(engine.EngineRows, "group", counting)
    again = load_table(study, "p0", data, kept)
    assert again is not None and not times
    assert data_digest(again, keys) == data_digest(first, keys)
    klass = first.codes[0].astype(np.int64) % 3 - 1
    cells = [each.with_class(klass) for each in (first, again)]
    assert [each.columns[1].labels for each in cells] == [cells[0].columns[1].labels] * 2
    assert (cells[0].columns[1].codes == cells[1].columns[1].codes).all()
    parquet.write_table(table.slice(10), Path(data) / "a.parquet")
    other = load_table(study, "p0", data, kept)
    assert other is not None and times == [1] and other.records == 35
    sealed = KeptCounts(kept.path, keyring.make("p1").journal)
    assert sealed.read() is None  # nobody else can read them


@pytest.mark.postgres
@pytest.mark.thorough
def test_a_table_of_a_server_that_changes_during_a_run_ends_it(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many rows, of the same tuples, with one other note: nothing but the hash knows."""
    study = study_of(3, k=3, note=True, protocol="cluster")
    tables = {name: frame_of(study, own) for name, own in draw_people(3, 20, 5).items()}
    data = {name: str(as_csv(table, tmp_path / f"{name}.csv")) for name, table in tables.items()}
    data["p2"] = server.store("changing", tables["p2"])
    approve = Seat.records.fget  # type: ignore[attr-defined]

    def late(seat: Seat) -> Table:
        server.run("update changing set note = 'another' where ctid = (select min(ctid) from changing)")
        return approve(seat)  # type: ignore[no-any-return]

    monkeypatch.setattr(Seat, "records", property(late))
    with pytest.raises(InputError, match="changing: has changed while it was read"):
        covey.simulate(study, data, seed=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # Spark's own calls
@pytest.mark.parametrize("kind", ["files", "table"])
def test_a_table_of_spark_that_changes_during_a_run_ends_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many rows, of the same tuples, with one other note: files are known by their times, a table by its hash."""
    require_spark()
    from pyspark.sql import SparkSession

    study = study_of(3, k=3, note=True, protocol="cluster")
    tables = {name: frame_of(study, own) for name, own in draw_people(3, 20, 5).items()}
    data = {name: str(as_csv(table, tmp_path / f"{name}.csv")) for name, table in tables.items()}
    notes = tables["p2"].column("note").to_pylist()
    other = tables["p2"].set_column(4, "note", [pa.array([*notes[:-1], "another"])])
    folder = as_folder(tables["p2"], tmp_path / "p2")
    session = None
    if kind == "files":
        data["p2"], said = f"spark://?parquet={folder}", "p2: has changed while it was read"
    else:
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        session.read.parquet(str(folder)).createOrReplaceTempView("given_rows")
        session.sql("CREATE OR REPLACE TEMP VIEW changing AS SELECT * FROM given_rows")
        data["p2"], said = "spark://?table=changing", "changing: has changed while it was read"
    approve = Seat.records.fget  # type: ignore[attr-defined]

    def late(seat: Seat) -> Table:
        parquet.write_table(other.slice(10), folder / "a.parquet")
        return approve(seat)  # type: ignore[no-any-return]

    monkeypatch.setattr(Seat, "records", property(late))
    try:
        with pytest.raises(InputError, match=said):
            covey.simulate(study, data, seed=1)
    finally:
        if session is not None:
            session.stop()


def test_more_tuples_than_memory_holds_are_refused_with_what_would_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parties have agreed on levels, so that none begins at a coarser one by itself."""
    study = study_of(3, protocol="cluster")
    folder = as_folder(frame_of(study, draw_people(1, 200, 4)["p0"]), tmp_path / "p0")
    monkeypatch.setattr(counting, "limit", lambda: 24_500)
    with pytest.raises(InputError, match=r"has [\d,]+ distinct tuples, and 50 of 196 bytes each fit") as error:
        load_table(study, "p0", str(folder))
    assert "without the finest level of 'age' (LM 0.103 there)" in str(error.value)


def test_more_rows_than_memory_holds_are_refused_before_they_are_read_where_a_protocol_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, told = study_of(3), list[str]()
    folder = as_folder(frame_of(study, draw_people(1, 200, 4)["p0"]), tmp_path / "p0")
    monkeypatch.setattr(session_data, "limit", lambda: 500_000)
    with pytest.raises(InputError, match=r"has 200 rows; protocol peel works on single records .* 100 fit into memory"):
        load_table(study, "p0", str(folder), notice=told.append)
    assert not told
    monkeypatch.setattr(session_data, "limit", lambda: 1_000_000)
    assert load_table(study, "p0", str(folder)) is not None


def test_where_rows_are_worked_on_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    folder = str(as_folder(frame_of(study_of(3, protocol="cluster"), draw_people(1, 20, 4)["p0"]), tmp_path / "p0"))
    found = load_table(study_of(3, protocol="cluster"), "p0", folder, notice=told.append)
    counted_there = [
        f"{folder}: the rows stay on DuckDB, which counts them",
        f"{folder}: is counted: {found.rows if found else 0} distinct tuples of 20 rows",
    ]
    assert told == [
        *counted_there,
        f"{folder}: protocol cluster moves single records: it makes them of the tuples, and takes about 140 kB of "
        "memory for them; their other columns stay on DuckDB",
    ]
    del told[:]
    load_table(
        replace(
            study_of(2, protocol="cluster"),
            protocol="suppress",
            options={"as_printed": True, "encryption": "elgamal", "compare": "bins"},
        ),
        "p0",
        folder,
        notice=told.append,
    )
    assert told == [f"{folder}: protocol suppress works on single records, so all rows are read into memory"]


def clustered(privacy: str = "", *, note: bool = False) -> Study:
    return study_of(3, k=4, privacy=privacy, note=note, protocol="cluster")


def in_public_order(study: Study, rows: pa.Table) -> pa.Table:
    """The rows in the order that `cluster` gives to those of an engine: by content, then by a public permutation."""
    made = load_table(study, "p0", rows)
    assert made is not None and made.rows == rows.num_rows
    carried = sorted(made.carried, key=lambda own: own.column.role is not Role.SENSITIVE)
    cells = [[own.labels[code] for code in own.codes.tolist()] for own in carried]
    content = sorted(range(made.rows), key=lambda row: (made.codes[:, row].tolist(), [own[row] for own in cells]))
    return rows.take([content[place] for place in public_order(made.rows).tolist()])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("privacy", "note"),
    [("l = 1.5", True), ("", False), ("", True)],
)
def test_cluster_with_rows_on_an_engine_gives_the_release_of_files_and_of_a_trusted_party(
    privacy: str, note: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records have no order on an engine: the files have the one that `cluster` gives them."""
    if note:
        monkeypatch.setattr(engine, "MOST_SPELLINGS", 5)
    same_choices(monkeypatch)
    study = clustered(privacy, note=note)
    crowd: list[Person] = [(7, "F", "a", "flu"), (7, "F", "a", "none")] * 12  # so many do not fit into one class
    people = {name: own + crowd for name, own in draw_people(3, 30, 3).items()}
    tables = {name: frame_of(study, own) for name, own in people.items()}
    files = {name: in_public_order(study, table) for name, table in tables.items()}
    folders = {name: str(as_folder(table, tmp_path / name)) for name, table in tables.items()}
    whole = counted(study, "p0", folders["p0"])
    assert whole.rows < whole.records == len(people["p0"])
    assert [own.column.name for own in whole.carried] == (["ill"] if privacy else [])  # the rest stays on the engine
    dealt: list[int] = []
    carried = CarriedOnEngine.carried

    def watched(own: CarriedOnEngine, klass: Longs) -> CarriedCells:
        dealt.append(int(klass.max()))
        return carried(own, klass)

    monkeypatch.setattr(CarriedOnEngine, "carried", watched)
    found = covey.simulate(study, {**folders, "p1": files["p1"]}, seed=1)
    expected = covey.simulate(study, files, seed=1)
    assert found.content == expected.content
    differing = {"seconds", "bytes", "phases", "warnings", "session"}
    first, other = ({key: own for key, own in run.summary.items() if key not in differing} for run in (found, expected))
    assert first == other
    assert len(dealt) == 2
    if privacy == "l = 1.5":
        assert max(dealt) >= (found.figures.classes or 0), "no tuple has gone to several classes: it is too easy"
    held = {name: load_table(study, name, table) for name, table in files.items()}
    due = of_study(study).ideal(study, {name: own for name, own in held.items() if own is not None}).release
    assert due is not None and found.content == canonical_csv(arrange(due))


def test_more_records_than_memory_holds_are_refused_where_a_protocol_moves_single_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(as_folder(frame_of(study_of(3, protocol="cluster"), draw_people(1, 200, 4)["p0"]), tmp_path / "p0"))
    monkeypatch.setattr("covey.party.session.data.limit", lambda: 1_000_000)
    with pytest.raises(InputError, match=r"p0: has 200 rows; .*7,000 bytes for each, so that 142 fit .*=1GB\)"):
        load_table(clustered(), "p0", folder)


def test_a_plan_from_an_engine_is_of_as_many_records_as_one_from_a_file(tmp_path: Path) -> None:
    study, told = clustered(), list[str]()
    rows = frame_of(study, [person for person in draw_people(1, 40, 4)["p0"] for _ in range(3)])
    plans = [
        covey.plan(study, 120, party="p0", data=given)
        for given in (str(as_folder(rows, tmp_path / "p0")), in_public_order(study, rows))
    ]
    assert plans[0].describe(0) == plans[1].describe(0)
    load_table(study, "p0", str(tmp_path / "p0"), notice=told.append)
    assert told[1].endswith("distinct tuples of 120 rows")
