"""A release as several Parquet files: the rows, the order and the hash of one file, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.consortium import RELEASE, found, run_together
from tests.harness.engines import COLUMNS, HEAD, as_folder, people
from typer.testing import CliRunner

import covey
from covey.cli import app
from covey.errors import CoveyError, InputError
from covey.files import ReleaseFormat
from covey.party.audit.folders import audit
from covey.party.record.signatures import vouch
from covey.sources.parquetfile import PartsWriter, read_back
from covey.sources.release import release_digest
from covey.study import Study


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("rows", "parts", "taken"), [(10, 3, 4), (10, 3, 100), (12, 4, 3), (2, 5, 1), (1, 1, 1), (0, 3, 1), (7, 7, 2)]
)
def test_parts_have_the_rows_in_their_order_and_nearly_as_many(
    rows: int, parts: int, taken: int, tmp_path: Path
) -> None:
    table = pa.table({"cell": pa.array([f"r{number}" for number in range(rows)], pa.string()).dictionary_encode()})
    writer = PartsWriter(tmp_path / "parts", rows, parts)
    for first in range(0, max(rows, 1), taken):
        writer.take(table.slice(first, taken))
    writer.close()
    files = sorted((tmp_path / "parts").iterdir())
    sizes = [parquet.read_metadata(file).num_rows for file in files]
    assert len(sizes) == max(1, min(parts, rows)) and max(sizes) - min(sizes) <= 1
    found = [cell for part in read_back(files) for cell in part.column("cell").to_pylist()]
    assert found == [f"r{number}" for number in range(rows)]
    assert parquet.read_schema(files[0]).field("cell").type == pa.string()  # for readers that know no dictionary


@pytest.fixture(scope="module")
def expected() -> covey.Release:
    return covey.anonymize(people(300), Study.parse(HEAD + COLUMNS))


def in_order(folder: Path) -> str:
    """The rows as two files have them."""
    rows = people(300)
    return str(as_folder(pa.concat_tables([rows.slice(150), rows.slice(0, 150)]), folder))


@pytest.mark.thorough
def test_parts_are_the_release_of_one_file_for_every_command(expected: covey.Release, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(HEAD + COLUMNS)
    out, study, run = tmp_path / "out", str(tmp_path / "study.toml"), CliRunner()
    command = ["anonymize", study, "--data", in_order(tmp_path / "rows"), "--out", str(out), "--format", "parquet"]
    made = run.invoke(app, [*command, "--parts", "3", "--json"])
    assert made.exit_code == 0, made.output
    parts = [f"release.parquet/part-0000{number}.parquet" for number in range(3)]
    assert files_in(out) == [*parts, "report.html", "study.toml", "summary.json"]
    assert json.loads(made.stdout)["release_sha256"] == expected.figures.release_sha256
    assert release_digest(out / "release.parquet") == hashlib.sha256(expected.content).hexdigest()
    for release in (out / "release.parquet", out):
        judged = run.invoke(app, ["verify", str(release), "--study", study, "--json"])
        assert judged.exit_code == 0 and json.loads(judged.stdout)["rows"] == expected.figures.rows
    evaluated = run.invoke(app, ["evaluate", str(out / "release.parquet"), "--study", study, "--out", str(out)])
    assert evaluated.exit_code == 0 and json.loads((out / "evaluation.json").read_text())["release_sha256"]
    page = covey.make_report(out).read_text()
    assert "covey verify release.parquet" in page and "sha256sum" not in page and "was changed" not in page
    exported = run.invoke(app, ["export", str(out), str(tmp_path / "again.csv")])
    assert exported.exit_code == 0 and (tmp_path / "again.csv").read_bytes() == expected.content
    exported = run.invoke(app, ["export", str(tmp_path / "again.csv"), str(tmp_path / "b.parquet"), "--parts", "2"])
    assert exported.exit_code == 0 and files_in(tmp_path / "b.parquet") == ["part-00000.parquet", "part-00001.parquet"]
    assert release_digest(tmp_path / "b.parquet") == expected.figures.release_sha256


@pytest.mark.thorough
def test_a_disk_that_fills_up_leaves_an_earlier_release_and_no_part(
    expected: covey.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, data, out = Study.parse(HEAD + COLUMNS), in_order(tmp_path / "rows"), tmp_path / "out"
    covey.anonymize_on_engine(data, study, out, written="parquet", parts=2)
    before = {name: (out / name).read_bytes() for name in files_in(out)}
    take = PartsWriter.take

    def full(self: PartsWriter, rows: pa.Table) -> None:
        take(self, rows)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(PartsWriter, "take", full)
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\); is the disk full"):
            covey.anonymize_on_engine(data, study, out, written="parquet", parts=3, force=True)
        with pytest.raises(InputError, match="is the disk full"):
            covey.anonymize_on_engine(data, study, tmp_path / "new", written="parquet", parts=3)
    assert {name: (out / name).read_bytes() for name in files_in(out)} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows"]
    covey.anonymize_on_engine(data, study, out, written="parquet", parts=3, force=True)
    assert release_digest(out / "release.parquet") == expected.figures.release_sha256
    covey.anonymize_on_engine(data, study, out, force=True)
    assert not (out / "release.parquet").exists() and (out / "release.csv").read_bytes() == expected.content


def test_parts_that_cannot_be_are_refused(tmp_path: Path) -> None:
    for wanted, parts, said in (("csv", 2, "release.csv is one file"), ("parquet", 10_001, "from 1 to 10,000 parts")):
        with pytest.raises(InputError, match=said):
            ReleaseFormat(wanted, parts)  # type: ignore[arg-type]
    (tmp_path / "mine.parquet").mkdir()
    (tmp_path / "mine.parquet" / "letter.txt").write_text("mine")
    (tmp_path / "release.csv").write_text("age\n5\n")
    run = CliRunner()
    for target, more, said in (
        ("mine.parquet", ("--parts", "2", "--force"), "has other files than the parts of a release"),
        ("mine.parquet", ("--force",), "is a folder"),
        ("mine.csv", ("--parts", "2"), "several parts are Parquet files in a folder"),
    ):
        ended = run.invoke(app, ["export", str(tmp_path / "release.csv"), str(tmp_path / target), *more])
        assert isinstance(ended.exception, InputError) and said in str(ended.exception)
    assert (tmp_path / "mine.parquet" / "letter.txt").read_text() == "mine"


@pytest.mark.thorough
def test_a_party_of_a_run_may_have_its_release_in_parts(tmp_path: Path) -> None:
    """The others have release.csv; all sign one hash, and the audit reads the parts."""
    sites = found(tmp_path)
    jobs = {name: site.job() for name, site in sites.items()}
    jobs["north"] = replace(jobs["north"], written=ReleaseFormat("parquet", 2))
    ended = run_together(jobs)
    assert not any(isinstance(each, CoveyError) for each in ended.values()), ended
    out = sites["north"].out
    assert not (out / "release.csv").exists()
    assert files_in(out / "release.parquet") == ["part-00000.parquet", "part-00001.parquet"]
    assert release_digest(out / "release.parquet") == hashlib.sha256(RELEASE.encode()).hexdigest()
    folders = [site.out for site in sites.values()]
    assert [each.wrong for each in audit(folders)] == [(), (), ()]
    study = Study.load(out / "study.toml")
    assert vouch(sites["south"].out / "certificate.json", str(out / "release.parquet"), study).wrong == ()
    assert "covey verify release.parquet" in (out / "report.html").read_text()
    part = out / "release.parquet" / "part-00001.parquet"
    whole = part.read_bytes()
    for spoil in (
        lambda: parquet.write_table(pa.table({"age": ["*"], "count": ["7"]}), part),
        lambda: part.write_bytes(whole[:-9]),
        part.unlink,
        lambda: (part.write_bytes(whole), (part.parent / "more.parquet").write_bytes(whole)),
    ):
        spoil()
        assert any("release.parquet: was altered" in sentence for sentence in audit([out])[0].wrong)
