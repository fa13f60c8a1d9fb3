"""`suppress` by number of rare rows and encryption, over TLS as processes; and Adult split in two.

Every tuple of the generated tables is rare at each party, and half of them occur at both, so that the number of rows is
the number of rare rows. `python -m benchmarks suppress cost ENCRYPTION ROWS…|adult` runs a part; what was measured
before is kept. The table Adult is looked for beside the project (shared/data/adult).
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.party.simulate.processes import Setting, simulate
from covey.protocols.suppress.bounds import Bounds
from covey.protocols.suppress.terms import Terms
from covey.study import Study

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "suppress.json"
K = 10
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SUBSETS = (
    ("sex", "race"),
    ("sex", "age"),
    ("sex", "race", "marital-status", "workclass"),
    ("sex", "age", "race"),
    QUASI,
)
_TICK = 0.2


def head(encryption: str, k: int) -> str:
    return (
        f'[study]\nname = "bench"\nprotocol = "suppress"\n[privacy]\nk = {k}\n[protocol]\nencryption = "{encryption}"\n'
    )


def measure_cost(encryption: str, rows: int) -> dict[str, object]:
    """One run over TLS with so many rare rows at each party."""
    text = head(encryption, K) + '[columns.x]\nrole = "quasi"\nhierarchy = "flat"\n[parties.north]\n[parties.south]\n'
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        folder = Path(scratch)
        (folder / "study.toml").write_text(text)
        for name, first in (("north", 0), ("south", rows // 2)):
            (folder / f"{name}.csv").write_text("x\n" + "".join(f"v{first + place}\n" for place in range(rows)))
        study = Study.load(folder / "study.toml")
        data = {name: str(folder / f"{name}.csv") for name in ("north", "south")}
        with Watch() as watch:
            begun = time.perf_counter()
            summary = simulate(study, data, folder / "out", Setting())
            seconds = time.perf_counter() - begun
    bounds = Bounds.of(Terms.of(study), (rows, rows), (0, 0))
    return {
        "encryption": encryption,
        "rare rows a side": rows,
        "k": K,
        "comparisons": bounds.layout.comparisons,
        "seconds": round(seconds, 1),
        "seconds without start": summary["seconds"],
        "cpu seconds": round(watch.cpu, 1),
        "bytes": summary["bytes"],
        "rounds": summary["rounds"],
        "messages": summary["messages"],
        "largest process MB": round(watch.largest / 2**20),
        "all processes MB": round(watch.together / 2**20),
        "load before": watch.load,
    }


class Watch:
    """The memory of all processes below this one, looked at now and then, and their CPU time."""

    def __enter__(self) -> Watch:
        self.largest = self.together = 0
        self.cpu = -_children()
        self.load = round(os.getloadavg()[0], 1)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self.cpu += _children()

    def _look(self) -> None:
        while not self._end.wait(_TICK):
            sizes = list(_resident(os.getpid()))
            self.largest = max(self.largest, *sizes, 0)
            self.together = max(self.together, sum(sizes))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def measure_adult(k: int, quasi: tuple[str, ...], encryption: str = "elgamal") -> dict[str, object]:
    """Adult's rows dealt to two parties at random, by so many of its columns."""
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in quasi)
    rest = '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n'
    text = head(encryption, k) + columns + rest + "[parties.north]\n[parties.south]\n"
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        folder = Path(scratch)
        for name in quasi:
            (folder / f"{name}.csv").write_bytes((ADULT / f"{name}.csv").read_bytes())
        (folder / "study.toml").write_text(text)
        study = Study.load(folder / "study.toml")
        data = write_hands(deal(study, str(ADULT / "adult.csv"), seed=seed_of(1)), folder / "hands")
        begun = time.perf_counter()
        summary = simulate(study, data, folder / "out", Setting())
        seconds = time.perf_counter() - begun
    rows, cells = int(str(summary["rows"])), int(str(summary["suppressed_cells"]))
    return {
        "columns": " ".join(quasi),
        "k": k,
        "encryption": encryption,
        "rows": rows,
        "suppressed rows": cells // len(quasi),
        "suppressed share": round(cells / len(quasi) / rows, 4),
        "classes": summary["classes"],
        "lm": summary["loss"]["lm"] if isinstance(summary["loss"], dict) else None,
        "seconds": round(seconds, 1),
        "bytes": summary["bytes"],
        "load before": round(os.getloadavg()[0], 1),
    }


def keep(part: str, row: dict[str, object], same: tuple[str, ...]) -> None:
    """Adds a measurement to the results, in the place of an earlier one of the same."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    others = [old for old in found.get(part, []) if any(old[name] != row[name] for name in same)]
    found[part] = sorted([*others, row], key=lambda each: [str(each[same[0]]), each[same[1]]])
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(row), flush=True)


def run(arguments: list[str]) -> None:
    """Measures what is asked for, and writes it down."""
    if arguments[:1] == ["cost"]:
        for rows in map(int, arguments[2:]):
            keep("cost", measure_cost(arguments[1], rows), ("encryption", "rare rows a side"))
    elif arguments[:1] == ["adult"]:
        for k in (5, 10):
            for quasi in SUBSETS:
                keep("adult", measure_adult(k, quasi), ("columns", "k"))
    else:
        for encryption in ("waters", "elgamal"):
            run(["cost", encryption, "100", "300", "1000", "10000"])
        run(["adult"])
