"""A table of Apache Spark whose rows stay there: Spark counts and joins; Covey gets tuples and their numbers.

The table is one of a running session of this process, of a cluster (`spark://HOST:PORT?table=NAME`), of a Spark Connect
server (`sc://HOST:PORT?table=NAME`), or Parquet files that the workers can read (`?parquet=PATH`). What is ours there
are temporary views. A session that we found is left as it was; one that we began is ended. A release of one owner is
written by Spark as Parquet, and sorted by DuckDB on this machine; for that the workers need a disk that they share with
it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from covey.addresses import name_of, taken_apart
from covey.crypto.rng import fresh_seed
from covey.errors import InputError
from covey.sources.duck import Duck
from covey.sources.folders import NO_CELL, FolderColumns, folder_columns, rows_of_files
from covey.sources.writing import ReleasedRows, WritableRows

if TYPE_CHECKING:
    Session = Any  # Spark is an extra
    Frame = Any

T = TypeVar("T")

LONELY_SECONDS = 60.0
"""The time after which a cluster without any worker is given up,"""
LOOK_SECONDS = 2.0
"""and how often one looks."""
_SCHEME = re.compile("^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")
_TABLES = ("table", "query", "parquet")
_CONNECT = ("use_ssl", "token", "user_id", "user_agent", "session_id", "grpc_max_message_size")
"""Options that Spark Connect takes in an address."""
_FLOATING = ("float", "double")
_NUMERIC = (*_FLOATING, "tinyint", "smallint", "int", "bigint", "decimal")
_OURS = {
    "spark.app.name": "covey",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class SparkRows(WritableRows):
    """The rows of a table of Spark."""

    ENGINE = "Spark"
    TEXT = "STRING"
    HASH = "CAST(conv(substr(md5({}), 1, 15), 16, 10) AS DECIMAL(20, 0))"

    def __init__(self, url: str, scratch: Path) -> None:
        table = SparkTable(url)
        super().__init__(table.name)
        self._opened, self._scratch, self._session = table, scratch, table.session
        self._prefix = f"covey_{fresh_seed().reveal().hex()[:32]}_"
        self._views: list[str] = []
        self._frames: list[Frame] = []
        self._end = weakref.finalize(self, _end, table, self._prefix, self._views, self._frames)
        try:
            frame = self._explained(table.frame)
            self._explained(lambda: self._view("given", table.placed(frame)))
            kinds = dict(frame.dtypes)
            if len(kinds) < len(frame.columns):
                self._hold(frame.columns, (), ())  # refuses two columns of one name
            floating = [name for name, kind in kinds.items() if kind in _FLOATING]
            self._hold(tuple(kinds), floating, [name for name, kind in kinds.items() if kind.startswith(_NUMERIC)])
            self._reasons = table.folders.refused
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._end()

    @staticmethod
    def quoted(column: str) -> str:
        return "`" + column.replace("`", "``") + "`"

    @property
    def stamped(self) -> bool:
        return self._opened.in_files

    def state(self, columns: Sequence[str]) -> bytes:
        """A hash of the files' sizes and times of change, where the table is files. They are looked up anew."""
        if not self.stamped:
            return super().state(columns)
        files = self._explained(lambda: self._opened.files().toArrow()).to_pylist()
        return hashlib.sha256(repr(sorted(tuple(file.values()) for file in files)).encode()).digest()

    def _dealing_order(self, cells: Sequence[str]) -> Sequence[str]:
        return ("given.covey_file", "given.covey_row") if self._opened.in_files else super()._dealing_order(cells)

    def write(self, target: Path, released: ReleasedRows, *, shuffled: bool) -> None:
        query = self._dealt(released)
        parts = self._scratch / "parts"
        duck = Duck(self.name, self._scratch)
        try:
            self._explained(lambda: self._session.sql(query).write.mode("overwrite").parquet(parts.absolute().as_uri()))
            files = sorted(parts.glob("*.parquet"))
            if not (parts / "_SUCCESS").exists() or not files:
                raise InputError(
                    f"{self.name}: Spark wrote the rows where this machine does not see them; choose an --out on a "
                    "disk that all workers share with it"
                )
            duck.write(target, released.columns, rows_of_files(files), shuffled=shuffled)
        finally:
            duck.close()
            shutil.rmtree(parts, ignore_errors=True)

    def _arrow(self, query: str, texts: Collection[str] = ()) -> pa.Table:
        return self._explained(lambda: self._session.sql(query).toArrow())

    def _give(self, name: str, columns: Mapping[str, pa.Array]) -> None:
        table = pa.table(dict(columns))
        content = (
            table if table.num_rows else pa.table({key: pa.nulls(1, values.type) for key, values in columns.items()})
        )

        def give() -> None:  # Connect takes no table without rows
            frame = self._session.createDataFrame(content)
            self._view(name, frame if table.num_rows else frame.where("false"))

        self._explained(give)

    def _keep(self, name: str, query: str) -> None:
        self._explained(lambda: self._view(name, self._kept(self._session.sql(query).persist())))

    def _kept(self, frame: Frame) -> Frame:
        self._frames.append(frame)
        return frame

    def _view(self, name: str, frame: Frame) -> None:
        frame.createOrReplaceTempView(self._prefix + name)
        self._views.append(name)

    def _explained(self, work: Callable[[], T]) -> T:
        return self._opened.explained(work)


def read_address(url: str) -> tuple[str, str, Mapping[str, str]]:
    """The kind of server, its host with the options of Spark Connect, and the table.

    Raises InputError that names an option that Spark would not get.
    """
    base, request, parameters = taken_apart(url, _TABLES)
    scheme, _, location = base.partition("://")
    host, _, path = location.partition("/")
    options = [option for option in path.split(";")[1:] if option] if scheme == "sc" else []
    unknown = [name_of(option) for option in parameters]
    unknown += [name_of(option) for option in options if name_of(option) not in _CONNECT]
    if unknown:
        raise InputError(f"{scheme}://…: option {unknown[0]!r} cannot be used; correct or remove it")
    if "@" in host or "#" in base or (path and not (scheme == "sc" and path.startswith(";"))):
        raise InputError(
            f"{scheme}://…: has more than a place; write {scheme}://HOST:PORT?table=NAME (options of Spark Connect: "
            "sc://HOST:PORT/;use_ssl=true?table=NAME)"
        )
    return scheme, f"{host}/{path}" if path else host, request


class SparkTable:
    """The session that has a table, and the name under which it has it."""

    def __init__(self, url: str) -> None:
        scheme, host, self.asked = read_address(url)
        address = f"{scheme}://{host.partition('/')[0]}"
        keys = [key for key in ("table", "query", "parquet") if key in self.asked]
        if len(keys) != 1:
            raise InputError(
                f"{address}: say which table with ?table=NAME, ?parquet=PATH or ?query=SELECT… (one of them)"
            )
        self.name = address if keys == ["query"] else f"{address}?{keys[0]}={self.asked[keys[0]]}"
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise InputError("Spark needs an extra: pip install 'covey[spark]', and Java 17 or later") from None
        self.folders = FolderColumns()
        self.ours = False
        self._lonely = threading.Event()
        self.session = self.explained(lambda: self._begun(SparkSession, scheme, host))

    def _begun(self, sessions: Any, scheme: str, host: str) -> Session:
        """The running session where no place is named, or one of our own there."""
        active = sessions.getActiveSession()
        if active is not None and not host:
            return active
        if scheme == "sc":
            self.ours = True
            return sessions.builder.remote(f"sc://{host}").getOrCreate()
        master = f"spark://{host}" if host else "local[*]"
        if active is not None and active.sparkContext.master != master:
            raise InputError(
                f"{self.name}: this process has a session on another cluster; end it first, or name no place"
            )
        self.ours = active is None
        building = sessions.builder.master(master)
        for key, value in _OURS.items():
            building = building.config(key, value)
        if not host or host.startswith(("127.", "localhost")):
            building = building.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        with _quiet():
            session = building.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        return session

    def close(self) -> None:
        """Ends the session if it is ours."""
        if self.ours:
            self.ours = False
            with contextlib.suppress(Exception):  # it may have broken off
                self.session.stop()

    def frame(self) -> Frame:
        """The table, with the columns that stand in the names of folders."""
        if self.in_files:
            return self._with_folders(self._files())
        return (
            self.session.sql(self.asked["query"]) if "query" in self.asked else self.session.table(self.asked["table"])
        )

    def _files(self) -> Frame:
        return self.session.read.option("recursiveFileLookup", "true").parquet(self.asked["parquet"])

    def _with_folders(self, frame: Frame) -> Frame:
        """The rows of files with the columns in folders' names. Spark's own reading makes 3 of `03`."""
        from pyspark.sql import functions

        def decoded(text: Any) -> Any:
            return functions.url_decode(functions.regexp_replace(text, "[+]", "%2B")) if escaped else text

        addresses = frame.inputFiles()
        escaped = any("%" in address for address in addresses)
        paths = [unquote(urlsplit(address).path).split("/") for address in addresses]
        parts = _SCHEME.sub("", self.asked["parquet"]).rstrip("/").split("/")
        self.folders = folder_columns(paths, parts, frame.columns)
        path = decoded(functions.col("_metadata.file_path"))  # an address, in which names are escaped once more
        cells = {
            name: decoded(functions.regexp_extract(path, pattern, 1)) for name, pattern in self.folders.patterns.items()
        }
        empty = functions.lit(NO_CELL)
        return frame.select("*", *(functions.nullif(cell, empty).alias(name) for name, cell in cells.items()))

    @property
    def in_files(self) -> bool:
        """True if the table is files, in which every row has a place."""
        return "parquet" in self.asked

    def placed(self, frame: Frame) -> Frame:
        """The table with each row's place, if it is files."""
        if not self.in_files:
            return frame
        return frame.selectExpr("*", "_metadata.file_path AS covey_file", "_metadata.row_index AS covey_row")

    def files(self) -> Frame:
        """The files of the table as they are now, with their sizes and times."""
        columns = "_metadata.file_path", "_metadata.file_size", "unix_micros(_metadata.file_modification_time) AS time"
        return self._files().selectExpr(*columns).distinct()

    def explained(self, work: Callable[[], T]) -> T:
        """The outcome of some work of Spark's, or its error as a sentence of ours."""
        try:
            with self._watched():
                return work()
        except InputError:
            raise
        except Exception as error:  # Spark's own words quote cells, and take pages
            if self._lonely.is_set():
                raise InputError(
                    f"{self.name}: the cluster has had no worker for {LONELY_SECONDS:g} s; start its workers, and run "
                    "it again. Nothing was written"
                ) from None
            raise InputError(
                f"{self.name}: Spark failed ({type(error).__name__}); is the table there, and do all "
                "workers run and have room on their disks? Nothing was written"
            ) from None

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Ends Spark's work for us on a cluster without workers, which would wait for ever."""
        session = getattr(self, "session", None)
        context = getattr(session, "_sc", None)
        if context is None or not self.ours or context.master.startswith("local"):
            yield
            return
        finished = threading.Event()

        def watch() -> None:
            idle_seconds = 0.0
            while not finished.wait(LOOK_SECONDS):
                with contextlib.suppress(Exception):  # the session may be ending
                    idle_seconds = (
                        idle_seconds + LOOK_SECONDS if context._jsc.sc().getExecutorMemoryStatus().size() <= 1 else 0.0
                    )
                    if idle_seconds >= LONELY_SECONDS:
                        self._lonely.set()
                        context.cancelAllJobs()

        watching = threading.Thread(target=watch, name="covey-spark", daemon=True)
        watching.start()
        try:
            yield
        finally:
            finished.set()
            watching.join()


def _end(table: SparkTable, prefix: str, views: Sequence[str], frames: Sequence[Frame]) -> None:
    """Removes our views and what they kept, and ends the session if it is ours."""
    with contextlib.suppress(Exception):  # a session that has broken off has no views either
        for frame in frames:
            frame.unpersist()
        for name in set(views):
            table.session.catalog.dropTempView(prefix + name)
    table.close()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what Java says when it starts off our terminal; what goes wrong is raised."""
    descriptor = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(descriptor, 2)
        os.close(descriptor)
        os.close(nowhere)
