"""Rows that stay in the engine: the same release, the same figures and the same errors as from memory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.harness.engines import COLUMNS, HEAD, people

import covey
from covey import bounds, counting, publish_large
from covey import table as tables
from covey.errors import InputError, Unmet
from covey.measures import em, lm
from covey.schema import Role
from covey.sources import connect, engine
from covey.study import Study


def stored(table: pa.Table, folder: Path, kind: str) -> Path:
    if kind == "csv":
        csv.write_csv(table, folder / "table.csv", csv.WriteOptions(quoting_style="all_valid"))
        return folder / "table.csv"
    if kind == "parquet":
        parquet.write_table(table, folder / "table.parquet")
        return folder / "table.parquet"
    (folder / "table" / "age=30").mkdir(parents=True)  # a name that must not become a column
    third = table.num_rows // 3
    parquet.write_table(table.slice(third), folder / "table" / "b.parquet")
    parquet.write_table(table.slice(0, third), folder / "table" / "age=30" / "a.parquet")
    return folder / "table"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "asked", "algorithm"),
    [
        ("csv", "", "peel"),
        ("parquet", "l = 2\n", "peel"),
        ("folder", "t = 0.4\n", "peel"),
        pytest.param("folder", "", "mondrian", marks=pytest.mark.thorough),
        pytest.param("csv", "l = 2\n", "hilbert", marks=pytest.mark.thorough),
    ],
)
def test_a_release_from_the_engine_is_the_one_from_memory(
    kind: str, asked: str, algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if asked:
        monkeypatch.setattr(engine, "MOST_SPELLINGS", 5)  # plain columns are read cell by cell
    study, table = Study.parse(HEAD + asked + COLUMNS), people(400)
    data = stored(table, tmp_path, kind)
    ordered = table if kind != "folder" else pa.concat_tables([table.slice(0, 133), table.slice(133)])
    expected = covey.anonymize(ordered, study, algorithm)
    found = covey.anonymize_on_engine(data, study, tmp_path / "out", algorithm)
    assert (tmp_path / "out" / "release.csv").read_bytes() == expected.content
    mine, other = found.describe(), expected.figures.describe()
    assert {**mine, "seconds": 0} == {**other, "seconds": 0}
    assert found.dropped > 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == mine
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([data.name, "out"])  # nothing is left


def test_rows_of_one_tuple_are_dealt_to_classes_as_in_memory(tmp_path: Path) -> None:
    """One tuple has more rows than its class needs, and what the others lack is taken from it."""
    study = Study.parse(
        '[study]\nname = "split"\n[privacy]\nk = 3\n[columns.age]\nrole = "quasi"\n'
        'hierarchy = { min = 0, max = 7, steps = [2, 4] }\n[columns.note]\nrole = "plain"\n'
    )
    table = pa.table({"age": ["1"] * 9 + ["0"] * 2 + ["5"], "note": [f"n{place}" for place in range(12)]})
    data = stored(table, tmp_path, "parquet")
    covey.anonymize_on_engine(data, study, tmp_path / "out")
    assert (tmp_path / "out" / "release.csv").read_bytes() == covey.anonymize(table, study).content


def test_a_release_as_parquet_has_the_hash_of_its_csv(tmp_path: Path) -> None:
    study, table = Study.parse(HEAD + COLUMNS), people(100)
    data = stored(table, tmp_path, "folder")
    found = covey.anonymize_on_engine(data, study, tmp_path / "out", written="parquet")
    target = tmp_path / "out" / "release.parquet"
    assert covey.verify(target, study).answer
    assert covey.verify(tmp_path / "out", study).rows == found.rows  # the folder is one table
    content = covey.anonymize(table, study).content
    assert found.release_sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("column", "cell", "study"),
    [
        ("age", "old", HEAD + COLUMNS),
        ("age", "nan", HEAD + COLUMNS),
        ("ill", "rash", HEAD + COLUMNS),
        ("age", "", HEAD + COLUMNS.replace("steps = [5, 10, 20] }", 'steps = [5, 10, 20] }\nmissing = "error"')),
    ],
)
def test_an_error_is_the_one_from_memory(column: str, cell: str, study: str, tmp_path: Path) -> None:
    table = people(60)
    cells = [*table.column(column).to_pylist()[:-2], cell, cell]
    table = table.set_column(table.column_names.index(column), column, [pa.array(cells)])
    data = stored(table, tmp_path, "csv")
    said = []
    for work in (
        lambda: covey.anonymize(data, Study.parse(study)),
        lambda: covey.anonymize_on_engine(data, Study.parse(study), tmp_path / "out"),
    ):
        with pytest.raises(InputError) as error:
            work()
        said.append(str(error.value))
    assert said[0] == said[1]
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_is_refused_with_a_sentence(tmp_path: Path) -> None:
    study = Study.parse(HEAD + COLUMNS)
    data = stored(people(60), tmp_path, "csv")
    with pytest.raises(InputError, match="sequential cannot leave the rows in the engine"):
        covey.anonymize_on_engine(data, study, tmp_path / "out", "sequential")
    with pytest.raises(InputError, match="two columns are named 'age'"):
        (tmp_path / "twice.csv").write_text("age,age \n1,2\n")
        covey.anonymize_on_engine(tmp_path / "twice.csv", study, tmp_path / "out")
    with pytest.raises(InputError, match="has no Parquet file"):
        (tmp_path / "empty").mkdir()
        covey.anonymize_on_engine(tmp_path / "empty", study, tmp_path / "out")
    with pytest.raises(InputError, match=r"name one table \(.*empty/release.csv\)"):
        (tmp_path / "empty" / "release.csv").touch()
        covey.verify(tmp_path / "empty", study)
    with pytest.raises(InputError, match="has no column 'town'"):
        (tmp_path / "less.csv").write_text("age\n1\n")
        covey.anonymize_on_engine(tmp_path / "less.csv", study, tmp_path / "out")
    with pytest.raises(Unmet):
        covey.anonymize_on_engine(stored(people(3), tmp_path, "parquet"), study, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_drawn_order_is_of_the_same_rows(tmp_path: Path) -> None:
    study, data = Study.parse(HEAD + COLUMNS), stored(people(300), tmp_path, "parquet")
    for order in ("content", "random"):
        covey.anonymize_on_engine(data, study, tmp_path / order, written="parquet", order=order)
    sorted_rows, drawn = (parquet.read_table(tmp_path / order / "release.parquet").to_pylist() for order in
                          ("content", "random"))  # fmt: skip
    assert drawn != sorted_rows
    assert sorted(map(repr, drawn)) == sorted(map(repr, sorted_rows))
    with pytest.raises(InputError, match="needs the format parquet"):
        covey.anonymize_on_engine(data, study, tmp_path / "csv", order="random")


@pytest.mark.parametrize(("measure", "asked"), [("lm", ""), ("em", "l = 1.5\n")])
def test_more_tuples_than_memory_holds_begin_at_coarser_levels(
    measure: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are those of the judge and of a table in memory; no label is finer than its column's first level."""
    text = HEAD + asked + f'[utility]\nmeasure = "{measure}"\n' + COLUMNS
    study, table = Study.parse(text), people(900)
    data = stored(table, tmp_path, "parquet")
    whole = covey.anonymize_on_engine(data, study, tmp_path / "whole")
    monkeypatch.setattr(counting, "limit", lambda: 100_000)
    found = covey.anonymize_on_engine(data, study, tmp_path / "out")
    words = (
        r"the ([\d,]+) distinct tuples are more than the 204 that fit .* \((.*)\); ([\d,]+) tuples are left, and these "
        r"levels alone cost LM (0\.\d+)\. To keep every level: COVEY_MEMORY=1GB"
    )
    said = re.search(words, found.warnings[-1])
    assert said is not None, found.warnings
    levels = {name: int(level) for name, level in re.findall(r"'(\w+)' from level (\d)", said[2])}
    made, names = in_table(study, table), ("age", "town", "code")
    quasi = zip(names, made.trees, made.codes, strict=True)
    lifted = [tree.lifted(levels.get(name, 0))[codes] for name, tree, codes in quasi]
    sensitive = [made.carried[0].codes] if asked else []
    assert len(np.unique(np.stack([*lifted, *sensitive]), axis=1).T) == int(said[3].replace(",", "")) <= 204
    own = sum(lm(tree)[nodes].mean() for tree, nodes in zip(made.trees, lifted, strict=True)) / 3
    assert f"{own:.4f}" == said[4]
    texts = csv.ConvertOptions(column_types={name: pa.string() for name in names})
    released = csv.read_csv(tmp_path / "out" / "release.csv", convert_options=texts)
    for name, tree in zip(names, made.trees, strict=True):
        labels = set(released.column(name).to_pylist()) - {""}
        assert all(tree.level[tree.node(label.lstrip("'"))] >= levels.get(name, 0) for label in labels), name
    assert found.rows == whole.rows and not whole.warnings
    lost, before = found.loss["lm"], whole.loss["lm"]
    assert lost is not None and before is not None and lost >= (own if measure == "em" else max(own, before))
    assert found.loss == pytest.approx(loss_of(study, table, released), rel=1e-9)
    assert covey.verify(tmp_path / "out" / "release.csv", study).answer


def loss_of(study: Study, table: pa.Table, released: pa.Table) -> dict[str, float]:
    """The figures of a release by its labels and the distribution of the original, both counted here."""
    made = in_table(study, table)
    names = [column.name for column in study.quasi]
    nodes = [
        np.array([tree.node((label or "").lstrip("'")) for label in released.column(name).to_pylist()])
        for name, tree in zip(names, made.trees, strict=True)
    ]
    often = [np.bincount(codes, minlength=tree.codes) for codes, tree in zip(made.codes, made.trees, strict=True)]
    sizes = np.unique(np.stack(nodes), axis=1, return_counts=True)[1]
    return {
        "lm": float(np.mean([lm(tree)[own].mean() for tree, own in zip(made.trees, nodes, strict=True)])),
        "em": float(np.mean([em(tree, n)[own].mean() for tree, n, own in zip(made.trees, often, nodes, strict=True)])),
        "dm": float((sizes**2).sum()),
        "c_avg": float(sizes.mean() / study.privacy.k),
    }


def test_more_tuples_than_any_level_leaves_are_refused_with_what_would_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words are true: with the finest level of ages left out there are as many tuples as they say."""
    study, table = Study.parse(HEAD + COLUMNS), people(900)
    data = stored(table, tmp_path, "parquet")
    monkeypatch.setattr(counting, "limit", lambda: 4_900)
    with pytest.raises(InputError, match=r"distinct tuples, and 10 of 196 bytes each fit into memory") as error:
        covey.anonymize_on_engine(data, study, tmp_path / "out")
    assert "allow more (COVEY_MEMORY=1GB)" in str(error.value) and not (tmp_path / "out").exists()


def in_table(study: Study, rows: pa.Table) -> tables.Table:
    columns = study.of_role(Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    return tables.build(tables.read_source(connect(rows), columns), study)


def test_the_report_shows_the_release(tmp_path: Path) -> None:
    study, data = Study.parse(HEAD + COLUMNS), stored(people(100), tmp_path, "parquet")
    covey.anonymize_on_engine(data, study, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "May this be released?" in page and "`covey report" not in page and str(tmp_path) not in page


@pytest.mark.thorough
@pytest.mark.parametrize("kilobytes", [1, 6])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(kilobytes: int, tmp_path: Path) -> None:
    """A process whose files may not grow: the engine's own, and release.csv, which is larger."""
    data = stored(people(3000), tmp_path, "parquet")
    (tmp_path / "study.toml").write_text(HEAD + COLUMNS)
    code = (
        "import resource, sys; from covey.cli import main; import covey.publish_large, covey.anonymizers.peel; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({kilobytes * 1024},) * 2); main(sys.argv[1:])"
    )
    command = ["anonymize", "study.toml", "--data", str(data), "--out", "out", "--on-engine"]
    ended = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 2, ended
    said = " ".join(ended.stderr.split())
    assert "a file may not grow so large here" in said or "cannot be written (File too large)" in said, said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.toml", "table.parquet"]


def test_a_table_that_changes_while_it_is_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.parse(HEAD + COLUMNS)
    data = stored(people(200), tmp_path, "folder")
    search = publish_large.search  # type: ignore[attr-defined]

    def slowly(*arguments: object, **options: object) -> object:
        parquet.write_table(people(50, seed=1), data / "c.parquet")
        parquet.write_table(people(90, seed=2), data / "b.parquet")
        return search(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(publish_large, "search", slowly)
    with pytest.raises(InputError, match="has changed while it was read"):
        covey.anonymize_on_engine(data, study, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_progress_says_which_engine_works(tmp_path: Path) -> None:
    said: list[str] = []
    data = stored(people(60), tmp_path, "folder")
    covey.anonymize_on_engine(
        data, Study.parse(HEAD + COLUMNS), tmp_path / "out", progress=lambda words, part: said.append(words)
    )
    assert said[0] == "counting on DuckDB" and "writing on DuckDB" in said


@pytest.mark.thorough
def test_a_check_says_where_rows_are_counted_and_how_many_tuples_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything starts; the number of tuples is the one that `covey anonymize` finds, l included."""
    study, table = Study.parse(HEAD + "l = 1.5\n" + COLUMNS), people(900).drop_columns("name")
    columns = [replace(own, singles_out="made up") for own in study.columns if own.name != "name"]
    study = replace(study, columns=tuple(columns))
    data = stored(table, tmp_path, "folder")
    tuples = len(np.unique(np.stack([*(made := in_table(study, table)).codes, made.carried[0].codes]), axis=1).T)
    before = f"the rows stay on DuckDB, which counts them: {tuples:,} distinct tuples"
    assert covey.check(data, study).notes[-1] == before + "; 8,163,265 of 196 bytes each fit into memory"
    monkeypatch.setattr(counting, "limit", lambda: 100_000)
    assert covey.check(data, study).notes[-1] == before + (
        ", and 204 of 196 bytes each fit into memory: `covey anonymize` will publish columns from coarser levels on, "
        "and say which and at what loss; to keep every level: COVEY_MEMORY=1GB"
    )
    found = covey.anonymize_on_engine(data, study, tmp_path / "out")
    assert f"the {tuples:,} distinct tuples are more than the 204 that fit" in found.warnings[-1]


@pytest.mark.thorough
def test_nothing_of_spark_is_loaded_unless_it_is_named(tmp_path: Path) -> None:
    """A package of that name is there, so that nobody could fail to load it."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    (tmp_path / "study.toml").write_text(HEAD + COLUMNS)
    data = stored(people(30), tmp_path, "folder")
    code = (
        "import sys; import pyspark; del sys.modules['pyspark']; import covey, covey.cli, covey.sources.engine; "
        "from covey import check, anonymize_on_engine; from covey.study import Study; "
        "study = Study.load('study.toml'); "
        f"check({str(data)!r}, study); anonymize_on_engine({str(data)!r}, study, __import__('pathlib').Path('out')); "
        "assert 'pyspark' not in sys.modules"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr


def refuse(name: str, size: int) -> None:
    """Memory for no table."""
    raise bounds.too_large(name)


def test_a_csv_file_that_is_larger_than_memory_stays_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, table = Study.parse(HEAD + COLUMNS), people(100)
    data = stored(table, tmp_path, "csv")
    monkeypatch.setattr(bounds, "refuse_above", refuse)
    covey.anonymize_on_engine(data, study, tmp_path / "out")
    with pytest.raises(InputError, match="takes more than 4 GB of memory when it is read"):
        covey.anonymize(data, study)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_release_that_is_larger_than_memory_is_judged_and_evaluated_on_the_disk(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.parse(
        '[study]\nname = "large"\n[privacy]\nk = 4\n[columns.age]\nrole = "quasi"\n'
        'hierarchy = { min = 0, max = 99, steps = [5, 10] }\n[columns.ill]\nrole = "sensitive"\n'
    )
    rows, release = 6_400_000, tmp_path / f"release.{kind}"
    if kind == "csv":
        ill = "x" * 29
        release.write_text("age,ill\n" + f"5,{ill}\n15,{ill}\n" * (rows // 2))
    else:
        codes = pa.array(np.arange(rows) % 2, pa.int32())
        cells = {"age": ["5", "15"], "ill": ["a", "b"]}
        arrays = {name: pa.DictionaryArray.from_arrays(codes, pa.array(own)) for name, own in cells.items()}
        parquet.write_table(pa.table(arrays), release)
    monkeypatch.setenv("COVEY_MEMORY", "200MB")
    found = covey.verify(release, study)
    assert (found.answer, found.rows, found.k) == (True, rows, rows // 2)
    assert covey.evaluate(release, study).rows == rows
    with pytest.raises(InputError, match="takes more than 200 MB"):
        covey.anonymize(release, study)


@pytest.mark.thorough
def test_columns_of_several_files_are_known_by_their_names(tmp_path: Path) -> None:
    study, table = Study.parse(HEAD + COLUMNS), people(200)
    (tmp_path / "rows" / "year=2024").mkdir(parents=True)
    parquet.write_table(table.slice(0, 90), tmp_path / "rows" / "a.parquet")
    turned = table.slice(90).select([*reversed(table.column_names)])
    parquet.write_table(turned, tmp_path / "rows" / "year=2024" / "b.parquet")
    covey.anonymize_on_engine(tmp_path / "rows", study, tmp_path / "out")
    content = covey.anonymize(table, study).content
    assert (tmp_path / "out" / "release.csv").read_bytes() == content
    covey.anonymize_on_engine(f"{tmp_path}/rows/**/*.parquet", study, tmp_path / "again")
    assert (tmp_path / "again" / "release.csv").read_bytes() == content
    named = Study.parse(HEAD + COLUMNS + '[columns.year]\nrole = "plain"\n')
    for work in (covey.check, lambda data, study: covey.anonymize_on_engine(data, study, tmp_path / "no")):
        with pytest.raises(InputError, match=r"'year' stands in the names of some folders \(year=…/b.parquet\) and "):
            work(tmp_path / "rows", named)
    parquet.write_table(table.drop_columns("town"), tmp_path / "rows" / "c.parquet")
    with pytest.raises(InputError, match="rows"):
        covey.anonymize_on_engine(tmp_path / "rows", study, tmp_path / "no")


@pytest.mark.parametrize("many", [False, True])
def test_two_columns_of_one_name_in_parquet_are_refused(many: bool, tmp_path: Path) -> None:
    """DuckDB would rename the second, and nobody would know which of them is released."""
    (tmp_path / "rows").mkdir()
    parquet.write_table(
        pa.table([pa.array(["1"]), pa.array(["2"])], names=["age", "age"]), tmp_path / "rows" / "a.parquet"
    )
    data, study = tmp_path / "rows" if many else tmp_path / "rows" / "a.parquet", Study.parse(HEAD + COLUMNS)
    for work in (connect, lambda data: covey.anonymize_on_engine(data, study, tmp_path / "no")):
        with pytest.raises(InputError, match="two columns are named 'age'"):
            work(data)


def test_a_folder_that_memory_cannot_hold_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, data = Study.parse(HEAD + COLUMNS), stored(people(300), tmp_path, "folder")
    monkeypatch.setattr(bounds, "refuse_above", refuse)
    with pytest.raises(InputError, match="takes more than 4 GB of memory when it is read"):
        tables.read_source(connect(data), study.columns)
