"""`cluster` on Adult, rows dealt at random, one exchange a turn: loss, time, rounds and openings.

`python -m benchmarks cluster` runs the parties as processes over TLS on loopback. Set COVEY_BENCH_CLUSTER to choose:
a list like `turn:10:3,turn:50:5` of calls, k and parties; `turn:10:3:l=3` asks for l with occupation as the sensitive
column, `turn:10:3:rows=200000` resamples Adult to so many rows, a tenth of all cells drawn anew.
COVEY_BENCH_LATENCY=30ms slows every line.

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
from covey.party.simulate.deal import deal, seed_of
from covey.study import Study
from covey.wire import parse_latency

ALONE = {
    (3, 10): 0.1126, (3, 50): 0.2140, (5, 10): 0.1351, (5, 50): 0.2541, (10, 10): 0.1728, (10, 50): 0.3179,
}  # fmt: skip
PAPERS_CALLS = 200_000
DEFAULT = ",".join(f"turn:{k}:{m}" for k in (50, 10) for m in (3, 5))
KEYS = ("calls", "k", "parties", "extra", "latency")


@dataclass(frozen=True)
class Run:
    """One measured run."""

    calls: str
    k: int
    parties: int
    extra: str = ""

    @classmethod
    def parse(cls, text: str) -> Run:
        calls, k, parties, *extra = text.split(":")
        return cls(calls, int(k), int(parties), "".join(extra))

    @property
    def rows(self) -> int | None:
        """The number of rows to which Adult is resampled, if it is."""
        return int(self.extra.removeprefix("rows=")) if self.extra.startswith("rows=") else None

    def study(self, folder: Path) -> Study:
        """Adult with this run's parameters, in a folder of its own."""
        diverse = self.extra.startswith("l=")
        quasi = [name for name in _adult.QUASI if not (diverse and name == "occupation")]
        asked = self.extra.replace("=", " = ") if self.extra not in ("", "l=1") and self.rows is None else ""
        head = _adult.head("cluster", "horizontal", self.k, f'calls = "{self.calls}"')
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
            "calls": self.calls, "k": self.k, "parties": self.parties, "extra": self.extra, "latency": latency,
            "lm": done.lm, "alone": None if self.extra else ALONE.get((self.parties, self.k)),
            "opened": done.ledger_line("all of this in numbers: "), "load before": before,
            "MB of memory": peak_megabytes(resource.RUSAGE_CHILDREN),
            "hops : rounds": PAPERS_CALLS * 2 * self.parties // int(str(done.summary["rounds"])),
            **done.figures("rows", "k_reached", "l_reached", "classes", "seconds", "rounds", "messages", "bytes"),
        }  # fmt: skip


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/cluster.json."""
    if not _adult.is_here():
        return
    latency = parse_latency(os.environ.get("COVEY_BENCH_LATENCY", "0ms"))
    for text in arguments or os.environ.get("COVEY_BENCH_CLUSTER", DEFAULT).split(","):
        keep("cluster", "runs", Run.parse(text).measure(latency), KEYS)
