"""`suppress` by number of rare rows and encryption, over TLS as processes; and Adult split in two.

Every tuple of the generated tables is rare at each party, and half of them occur at both, so that the number of rows is
the number of rare rows. `python -m benchmarks suppress cost ENCRYPTION ROWS…|adult` runs a part; what was measured
before is kept. The table Adult is looked for beside the project (shared/data/adult).
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks import _adult
from benchmarks._measuring import Row, load, over_tls, run_parts
from covey.party.simulate.deal import deal, seed_of
from covey.protocols.as_printed.suppress.layout import Bounds
from covey.protocols.as_printed.suppress.parameters import Parameters
from covey.study import Study

K = 10
SUBSETS = (
    ("sex", "race"),
    ("sex", "age"),
    ("sex", "race", "marital-status", "workclass"),
    ("sex", "age", "race"),
    _adult.QUASI,
)
_TICK = 0.2


PARTIES = "[parties.north]\n[parties.south]\n"


def head(encryption: str, k: int) -> str:
    """The sections of the study before its columns."""
    return _adult.head("suppress", "horizontal", k, f'encryption = "{encryption}"\ncompare = "bins"')


def measure_cost(encryption: str, rows: int) -> Row:
    """One run over TLS with so many rare rows at each party."""
    data = {
        name: pa.table({"x": [f"v{first + place}" for place in range(rows)]})
        for name, first in (("north", 0), ("south", rows // 2))
    }
    before = load()
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        path = Path(scratch, "study.toml")
        path.write_text(head(encryption, K) + '[columns.x]\nrole = "quasi"\nhierarchy = "flat"\n' + PARTIES)
        study = Study.load(path)
        with MemoryWatch() as watch:
            done = over_tls(study, data, Path(scratch, "out"))
    bounds = Bounds.of(Parameters.of(study), (rows, rows), (0, 0))
    return {
        "encryption": encryption, "rare rows a side": rows, "k": K, "comparisons": bounds.layout.comparisons,
        "seconds": round(done.seconds, 1), "seconds without start": done.summary["seconds"],
        "cpu seconds": round(done.cpu, 1), **done.figures("bytes", "rounds", "messages"),
        "largest process MB": round(watch.largest / 2**20), "all processes MB": round(watch.together / 2**20),
        "load before": before,
    }  # fmt: skip


class MemoryWatch:
    """Looks now and then at the memory of all processes below this one."""

    def __enter__(self) -> MemoryWatch:
        self.largest = self.together = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(_TICK):
            sizes = list(_resident(os.getpid()))
            self.largest = max(self.largest, *sizes, 0)
            self.together = max(self.together, sum(sizes))


def _resident(parent: int) -> Iterator[int]:
    """The resident memory of each descendant of a process, as the kernel tells it."""
    below: dict[int, list[int]] = {}
    size: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()
            size[int(entry.name)] = int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
        below.setdefault(int(state[1]), []).append(int(entry.name))
    pending = below.get(parent, [])
    while pending:
        process = pending.pop()
        yield size[process]
        pending += below.get(process, [])


def measure_adult(k: int, quasi: tuple[str, ...], encryption: str = "elgamal") -> Row:
    """Adult's rows dealt to two parties at random, by so many of its columns."""
    before = load()
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        text = head(encryption, k) + _adult.quasi_columns(quasi) + _adult.SALARY + PARTIES
        study = _adult.save_study(text, Path(scratch, "study"))
        done = over_tls(study, deal(study, str(_adult.TABLE), seed=seed_of(1)), Path(scratch, "out"))
    rows, cells = int(str(done.summary["rows"])), int(str(done.summary["suppressed_cells"]))
    return {
        "columns": " ".join(quasi), "k": k, "encryption": encryption, "rows": rows,
        "suppressed rows": cells // len(quasi), "suppressed share": round(cells / len(quasi) / rows, 4), "lm": done.lm,
        "seconds": round(done.seconds, 1), **done.figures("classes", "bytes"), "load before": before,
    }  # fmt: skip


def measure_costs(asked: list[str]) -> Iterator[Row]:
    """Costs of an encryption at these numbers of rare rows, or of both at all."""
    for encryption in asked[:1] or ("waters", "elgamal"):
        for rows in map(int, asked[1:] or ("100", "300", "1000", "10000")):
            yield measure_cost(encryption, rows)


def measure_adults(asked: list[str]) -> Iterator[Row]:
    """Losses on Adult, by columns and k."""
    for k in (5, 10) if _adult.is_here() else ():
        for quasi in SUBSETS:
            yield measure_adult(k, quasi)


def run(arguments: list[str]) -> None:
    """Measures what is asked for, and keeps it in results/suppress.json."""
    keys = ("encryption", "rare rows a side", "columns", "k")
    parts = {"cost": measure_costs, "adult": measure_adults}
    run_parts("suppress", parts, keys, arguments)
