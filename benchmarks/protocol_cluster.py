"""`cluster` on Adult, rows dealt at random: loss, time, rounds and openings of the schedules, beside what peers reach.

`python -m benchmarks cluster` runs the parties as processes over TLS on loopback. Set COVEY_BENCH_CLUSTER to choose:
a list like `guarded:10:3,exact:50:5` of schedule, k and parties; `guarded:10:3:l=3` asks for l (`l=1`: for none) with
occupation as the sensitive column, `guarded:10:3:k_insider=5` for k toward insiders, `guarded:10:3:rows=200000`
resamples Adult to so many rows, a tenth of all cells drawn anew. `central:peel:10:l=3` is a centralized algorithm with
the same sensitive column. COVEY_BENCH_LATENCY=30ms slows every line.

*Alone* is each party's own ARX local recoding, concatenated (measured once, on the same rows and hierarchies). *Hops*
is what the paper's rings would take: its AND calls for n = 30,162, k = 50 and five parties, 2m messages each, one after
the other.
"""

from __future__ import annotations

import os
import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _adult
from benchmarks._measuring import Row, keep, load, over_tls, peak_megabytes
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of
from covey.study import Study
from covey.wire import parse_latency

ALONE = {
    (3, 10): 0.1126, (3, 50): 0.2140, (5, 10): 0.1351, (5, 50): 0.2541, (10, 10): 0.1728, (10, 50): 0.3179,
}  # fmt: skip
PAPERS_CALLS = 200_000
DEFAULT = ",".join(
    [
        *(f"guarded:{k}:{m}" for k in (10, 50) for m in (3, 5, 10)),
        *(f"exact:{k}:{m}" for k in (50, 10) for m in (3, 5)),
        *(f"strict:{k}:3" for k in (10, 50)),
        *("guarded:10:3:l=1", "guarded:10:3:l=2", "guarded:10:3:l=3", "guarded:10:3:k_insider=5"),
        *(f"central:{name}:10:l={asked}" for name in ("peel", "mondrian", "sequential") for asked in (1, 2, 3)),
    ]
)
KEYS = ("schedule", "k", "parties", "extra", "latency")


@dataclass(frozen=True)
class Run:
    """One measured run."""

    schedule: str
    k: int
    parties: int
    extra: str = ""

    @classmethod
    def parse(cls, text: str) -> Run:
        schedule, k, parties, *extra = text.split(":")
        return cls(schedule, int(k), int(parties), "".join(extra))

    @property
    def rows(self) -> int | None:
        """The number of rows to which Adult is resampled, if it is."""
        return int(self.extra.removeprefix("rows=")) if self.extra.startswith("rows=") else None

    def study(self, folder: Path) -> Study:
        """Adult with this run's parameters, in a folder of its own."""
        diverse = self.extra.startswith("l=")
        quasi = [name for name in _adult.QUASI if not (diverse and name == "occupation")]
        asked = self.extra.replace("=", " = ") if self.extra not in ("", "l=1") and self.rows is None else ""
        head = _adult.head("cluster", "horizontal", self.k, f'schedule = "{self.schedule}"')
        head = head.replace("k_insider = 1\n", "") if "k_insider" in asked else head
        head = head.replace("[protocol]", f"{asked}\n[protocol]")
        sensitive = self.occupation() if diverse else _adult.SALARY
        return _adult.save_study(head + _adult.quasi_columns(quasi) + sensitive + _adult.parties(self.parties), folder)

    def occupation(self) -> str:
        """Occupation as the sensitive column, its values listed."""
        lines = (_adult.FOLDER / "occupation.csv").read_text(encoding="utf-8").splitlines()
        values = ", ".join(f'"{line.split(";")[0]}"' for line in lines)
        return f'[columns.occupation]\nrole = "sensitive"\nvalues = [{values}]\n'

    def measure(self, latency: float) -> Row:
        """Runs the parties and shortens the summary."""
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            home = Path(folder)
            study = self.study(home / "study")
            data = deal(study, str(_adult.TABLE), seed=seed_of(1))
            if self.rows is not None:
                each = self.rows // self.parties
                data = {name: _adult.resampled(own, each, (), own.num_rows) for name, own in data.items()}
            before = load()
            done = over_tls(study, data, home / "run", latency)
        return {
            "schedule": self.schedule, "k": self.k, "parties": self.parties, "extra": self.extra, "latency": latency,
            "lm": done.lm, "alone": None if self.extra else ALONE.get((self.parties, self.k)),
            "opened": done.ledger_line("all of this in numbers: "), "load before": before,
            "MB of memory": peak_megabytes(resource.RUSAGE_CHILDREN),
            "hops : rounds": PAPERS_CALLS * 2 * self.parties // int(str(done.summary["rounds"])),
            **done.figures("rows", "k_reached", "l_reached", "classes", "seconds", "rounds", "messages", "bytes"),
        }  # fmt: skip


def centrally(text: str) -> Row:
    """The loss of a centralized algorithm on all rows, with l for occupation."""
    _, algorithm, k, extra = text.split(":")
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        study = Run("guarded", int(k), 3, extra).study(Path(folder))
        table = load_table(study, "p00", str(_adult.TABLE))
    if table is None:
        raise TypeError("every party of a study by rows has a table")
    problem = build(table).problem
    lm = anonymize(problem, algorithm, threads=1).loss(problem)
    return {"algorithm": algorithm, "k": int(k), "extra": extra, "lm": round(lm, 4)}


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/cluster.json."""
    if not _adult.is_here():
        return
    latency = parse_latency(os.environ.get("COVEY_BENCH_LATENCY", "0ms"))
    for text in arguments or os.environ.get("COVEY_BENCH_CLUSTER", DEFAULT).split(","):
        if text.startswith("central:"):
            keep("cluster", "central", centrally(text), ("algorithm", "k", "extra"))
        else:
            keep("cluster", "runs", Run.parse(text).measure(latency), KEYS)
