"""A Spark cluster of a master and two workers: three parties on three engines, and workers that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.harness.engines import (
    COLUMNS,
    HEAD,
    SparkCluster,
    as_csv,
    as_folder,
    people,
    postgres_server,
    spark_cluster,
    spark_connect,
)
from tests.protocols.peelers import COLUMNS as SMALL
from tests.protocols.peelers import NOTE, draw_people, frame_of, names_of
from tests.protocols.peelers import study_of as small_study

import covey
from covey.study import Study

pytestmark = pytest.mark.timeout(3600)  # Java begins slowly on a busy machine

JOINT = (
    '[study]\nname = "small"\nprotocol = "cluster"\npartition = "horizontal"\n[privacy]\nk = 4\n'
    '[protocol]\nas_printed = true\ncalls = "turn"\n' + SMALL + NOTE
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkCluster]:
    for name in ("SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS", "PYTHONPATH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # as they are again at the end
    with spark_cluster() as running:
        yield running


def call(*arguments: object, patience: float = 60.0) -> subprocess.Popen[str]:
    """The command line in a process of its own, which waits so long for a cluster without workers."""
    code = (
        "import sys; from covey.sources import spark; from covey.cli import main; "
        f"spark.LONELY_SECONDS = {patience}; main(sys.argv[1:])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.thorough
def test_a_release_from_a_cluster_is_the_one_from_memory(cluster: SparkCluster, tmp_path: Path) -> None:
    """A master and two workers; the rows of files have an order there, too, so that the bytes are the same."""
    (tmp_path / "study.toml").write_text(HEAD + COLUMNS)
    rows = people(300)
    data = f"{cluster.url}?parquet={as_folder(rows, tmp_path / 'rows')}"
    with call("anonymize", tmp_path / "study.toml", "--data", data, "--out", tmp_path / "out") as running:
        said = running.communicate()
        assert running.returncode == 0, said
    assert (tmp_path / "out" / "release.csv").read_bytes() == released_from_memory(rows)


@pytest.mark.slow
def test_a_release_from_spark_connect_is_the_one_from_memory(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(HEAD + COLUMNS)
    rows = people(300)
    with spark_connect() as url:
        data = f"{url}?parquet={as_folder(rows, tmp_path / 'rows')}"
        with call("anonymize", tmp_path / "study.toml", "--data", data, "--out", tmp_path / "out") as running:
            said = running.communicate()
            assert running.returncode == 0, said
    assert (tmp_path / "out" / "release.csv").read_bytes() == released_from_memory(rows)


def released_from_memory(rows: pa.Table) -> bytes:
    """The release of the rows in the order that they have in two files."""
    half = rows.num_rows // 2
    in_files = pa.concat_tables([rows.slice(half), rows.slice(0, half)])
    return covey.anonymize(in_files, Study.parse(HEAD + COLUMNS)).content


@pytest.mark.slow
@pytest.mark.postgres
def test_a_run_of_parties_on_three_engines_gives_the_release_of_files(cluster: SparkCluster, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(JOINT + "".join(f"[parties.{name}]\n" for name in names_of(3)))
    tables = {name: frame_of(small_study(3, note=True), own) for name, own in draw_people(3, 60, 8).items()}
    files = {name: str(as_csv(table, tmp_path / f"{name}.csv")) for name, table in tables.items()}
    folders = {name: str(as_folder(tables[name], tmp_path / name)) for name in ("p0", "p2")}
    with postgres_server() as server:
        engines = {
            "p0": folders["p0"],
            "p1": server.store("p1", tables["p1"]),
            "p2": f"{cluster.url}?parquet={folders['p2']}",
        }
        for out, data in {"files": files, "engines": engines}.items():
            given = [part for name, where in data.items() for part in ("--data", f"{name}={where}")]
            with call("simulate", tmp_path / "study.toml", *given, "--in-process", "--out", tmp_path / out) as running:
                said = running.communicate()
                assert running.returncode == 0, said
    released = [(tmp_path / out / "release.csv").read_bytes() for out in ("files", "engines")]
    assert released[0] == released[1]


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_time_and_nothing_else(cluster: SparkCluster, tmp_path: Path) -> None:
    study, rows = HEAD + COLUMNS, people(2000)
    (tmp_path / "study.toml").write_text(study)
    data = f"{cluster.url}?parquet={as_folder(rows, tmp_path / 'rows')}"
    with call("anonymize", tmp_path / "study.toml", "--data", data, "--out", tmp_path / "out") as running:
        await_executor(cluster, running)
        os.kill(cluster.worker(1), signal.SIGKILL)
        said = running.communicate()
        assert running.returncode == 0, said
    expected = covey.anonymize(rows, Study.parse(study))
    assert (tmp_path / "out" / "release.csv").read_bytes().count(b"\n") == expected.arranged.num_rows + 1
    assert covey.verify(tmp_path / "out" / "release.csv", Study.parse(study)).answer


@pytest.mark.slow
def test_a_cluster_without_workers_is_given_up_in_a_sentence(cluster: SparkCluster, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(HEAD + COLUMNS)
    data = f"{cluster.url}?parquet={as_folder(people(2000), tmp_path / 'rows')}"
    command = ("anonymize", tmp_path / "study.toml", "--data", data, "--out", tmp_path / "out")
    with call(*command, patience=6.0) as running:
        await_executor(cluster, running)
        for number in (1, 2):
            os.kill(cluster.worker(number), signal.SIGKILL)
        said = running.communicate()
    assert running.returncode == 2, said
    assert "the cluster has had no worker for 6 s; start its workers, and run it again" in " ".join(said[1].split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows", "study.toml"]  # nothing is left


def await_executor(cluster: SparkCluster, running: subprocess.Popen[str]) -> None:
    """Returns once the cluster works for the command."""
    logs = [cluster.folder / f"worker-{number}.log" for number in (1, 2)]
    while not all("Asked to launch executor" in log.read_text() for log in logs):
        assert running.poll() is None, running.communicate()
        time.sleep(0.2)
