"""Engines for tables: a PostgreSQL server and a Spark cluster of our own, and tables put on them."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.harness.certificates import Identity, make_identity

ROOT = Path(__file__).parents[2]
HEAD = '[study]\nname = "large"\n[privacy]\nk = 4\n'
COLUMNS = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [5, 10, 20] }
[columns.town]
role = "quasi"
hierarchy = "flat"
missing = "value"
null = ["NA"]
[columns.code]
role = "quasi"
hierarchy = { prefix = [2, 1] }
[columns.ill]
role = "sensitive"
values = ["flu", "ulcer", "none"]
[columns.'a "note']
role = "plain"
singles_out = "made up"
missing = "drop"
[columns.amount]
role = "plain"
singles_out = "made up"
"""


def people(rows: int, seed: int = 0) -> pa.Table:
    """Cells as people write them: spaces, two Unicode forms, numbers in several spellings, formulas, none at all."""
    draws = np.random.default_rng(seed)
    spelled = np.array(["{}", " {}", "{}.0", "0{}", "{} "])
    ages = [spelled[draws.integers(5)].format(age) for age in draws.integers(0, 100, rows)]
    towns = draws.choice(["Köln", "Ko\u0308ln", " Rom", "Rom", "NA", "", "-2+3"], rows)
    notes = [None if draws.random() < 0.05 else f"=n{number % 9}" for number in range(rows)]
    return pa.table({
        "name": [f"p{number}" for number in range(rows)],
        "age": ages,
        "town": towns,
        "code": draws.choice(["110", "111", "120", "210", "211"], rows),
        "ill": draws.choice([" flu", "flu", "ulcer", "none"], rows),
        'a "note': notes,
        "amount": [f"{number}" for number in draws.integers(0, 1000, rows)],
    })  # fmt: skip


@dataclass(frozen=True)
class PostgresServer:
    """A server on a socket of its own."""

    folder: Path
    user: str
    port: int = 5432

    @property
    def url(self) -> str:
        """Its address, as `--data` takes it but for the table."""
        return f"postgres://{self.user}@/postgres?host={self.folder}"

    def run(self, statements: str) -> None:
        """Runs statements that have no answer."""
        with psycopg.connect(
            host=str(self.folder), port=self.port, user=self.user, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statements)

    def store(self, name: str, table: pa.Table, **kinds: str) -> str:
        """Makes a table, of texts but for the columns whose types are named; its address."""
        columns = {column: column.replace('"', '""') for column in table.column_names}
        listed = ", ".join(f'"{quoted}" {kinds.get(column, "text")}' for column, quoted in columns.items())
        self.run(f"drop table if exists {name}; create table {name} ({listed})")
        with (
            psycopg.connect(host=str(self.folder), user=self.user, dbname="postgres", autocommit=True) as connection,
            connection.cursor() as cursor,
            cursor.copy(f"copy {name} from stdin") as stream,
        ):
            for row in zip(*(table.column(column).to_pylist() for column in columns), strict=True):
                stream.write_row(row)
        return f"{self.url}&table={name}"


@dataclass(frozen=True)
class GuardedServer:
    """A server on loopback, which takes a user with a password over TLS alone; `other` vouches for another one."""

    port: int
    certificate: Path
    other: Path
    password: str = "geheim/Wort#7"
    user: str = "steward"

    def address(self, **options: str) -> str:
        """Its address, with options of libpq, but for the table."""
        return f"postgres://{self.user}@localhost:{self.port}/postgres?{urlencode(options, quote_via=quote)}"


@contextmanager
def guarded_server(folder: Path) -> Iterator[GuardedServer]:
    """A server with a certificate, and a table `stays` that its user may read."""
    identities = [make_identity(name, folder, host="localhost") for name in ("server", "other")]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    guarded = GuardedServer(port, identities[0].certificate, identities[1].certificate)
    with postgres_server(port, identities[0]) as server:
        server.run(f"""
            create role {guarded.user} login password '{guarded.password}';
            create table stays (age int, code text);
            insert into stays select number % 20, 'c' || number % 3 from generate_series(1, 200) as number;
            grant select on stays to {guarded.user};
        """)  # noqa: S608
        yield guarded


@contextmanager
def postgres_server(port: int | None = None, identity: Identity | None = None) -> Iterator[PostgresServer]:
    """A server for as long as the context lasts; as root it runs as the package's user, since it refuses root.

    With a port it is on loopback, too, with this certificate, for those who know their password.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL server: scripts/install-system.sh installs one")
    where = found[-1].parent
    folder = Path(tempfile.mkdtemp(prefix="covey-pg-"))
    su: list[str] = []
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        su = ["runuser", "-u", "postgres", "--"]

    def call(*command: str) -> None:
        subprocess.run([*su, *command], check=True, capture_output=True, cwd=folder)

    user = "postgres" if su else pwd.getpwuid(os.geteuid()).pw_name
    data = str(folder / "data")
    call(str(where / "initdb"), "-D", data, "-A", "trust", "-U", user, "-E", "UTF8", "--locale=C")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    if port is not None and identity is not None:
        for name, file in (("server.crt", identity.certificate), ("server.key", identity.key)):
            shutil.copy(file, folder / name)
            (folder / name).chmod(0o600)
            if su:
                os.chown(folder / name, owner.pw_uid, owner.pw_gid)
        (folder / "data" / "pg_hba.conf").write_text(
            "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
        )
        options = (
            f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off -c ssl=on "
            f"-c ssl_cert_file={folder}/server.crt -c ssl_key_file={folder}/server.key"
        )
    call(str(where / "pg_ctl"), "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield PostgresServer(folder, user, port or 5432)
    finally:
        call(str(where / "pg_ctl"), "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def as_csv(table: pa.Table, path: Path) -> Path:
    """The table as a CSV file."""
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="all_valid"))
    return path


def as_folder(table: pa.Table, folder: Path) -> Path:
    """The table as two Parquet files in a folder, the second rows first."""
    folder.mkdir(parents=True)
    half = table.num_rows // 2
    parquet.write_table(table.slice(half), folder / "a.parquet")
    parquet.write_table(table.slice(0, half), folder / "b.parquet")
    return folder


SMALL_TABLES = "spark.sql.shuffle.partitions 2\nspark.sql.codegen.wholeStage false\nspark.default.parallelism 2\n"
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


@dataclass(frozen=True)
class SparkCluster:
    """A master and two workers."""

    folder: Path
    url: str

    def worker(self, number: int) -> int:
        """The process number of the first or the second worker."""
        return int((self.folder / f"worker-{number}.pid").read_text())


@contextmanager
def spark_cluster(folder: Path | None = None) -> Iterator[SparkCluster]:
    """A cluster for as long as the context lasts, started by scripts/spark-cluster.sh; it works in the folder.

    Without a folder it is for small tables: it compiles little and cuts them into few parts, also for its clients.
    """
    require_spark()
    place = Path(tempfile.mkdtemp(prefix="covey-spark-")) if folder is None else folder
    if folder is None:
        (place / "conf").mkdir()
        (place / "conf" / "spark-defaults.conf").write_text(SMALL_TABLES)
        os.environ |= {"SPARK_CONF_DIR": str(place / "conf"), "JAVA_TOOL_OPTIONS": QUICK_START}
    script = ROOT / "scripts" / "spark-cluster.sh"
    with subprocess.Popen([str(script), str(place), sys.executable], stdout=subprocess.DEVNULL) as running:
        try:
            while not (place / "url").exists():
                assert running.poll() is None, "the cluster did not start"
                time.sleep(0.2)
            yield SparkCluster(place, (place / "url").read_text().strip())
        finally:
            running.terminate()
            running.wait()
            shutil.rmtree(place, ignore_errors=True)


@contextmanager
def spark_connect() -> Iterator[str]:
    """A Spark Connect server for as long as the context lasts, on loopback; its address."""
    require_spark()
    import pyspark

    pytest.importorskip("grpc", reason="no Spark Connect: scripts/install-spark.sh installs it")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": port,
                "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
                "spark.sql.shuffle.partitions": 2}  # fmt: skip
    home = Path(pyspark.__file__).parent
    command = [
        str(home / "bin" / "spark-submit"), "--master", "local[2]",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")), "spark-internal",
    ]  # fmt: skip
    environment = {**os.environ, "SPARK_HOME": str(home), "JAVA_TOOL_OPTIONS": QUICK_START}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            while True:
                assert running.poll() is None, "the server did not start"
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.5)
            yield f"sc://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait()


def require_spark() -> None:
    """Finds Spark, in a Python of its own beside ours, for this process and its children; else skips the test."""
    for made in sorted((ROOT / ".venvs" / "spark").glob("lib/python*/site-packages")):
        if str(made) not in sys.path:
            sys.path.append(str(made))  # behind ours, which stay those that are tested
        listed = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        if str(made) not in listed:
            os.environ["PYTHONPATH"] = os.pathsep.join([*listed, str(made)])
    pytest.importorskip("pyspark", reason="no Spark: scripts/install-spark.sh installs it")
    if shutil.which("java") is None:
        pytest.skip("no Java, which Spark needs: scripts/install-spark.sh installs it")
