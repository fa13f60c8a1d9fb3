"""`cluster` on Adult, rows dealt at random: loss, time, rounds and openings of the schedules, beside what peers reach.

`python -m benchmarks cluster` runs the parties as processes over TLS on loopback. Set COVEY_BENCH_CLUSTER to choose:
a list like `guarded:10:3,exact:50:5` of schedule, k and parties; `guarded:10:3:l=3` asks for l with occupation as the
sensitive column, `guarded:10:3:k_insider=5` for k toward insiders, `guarded:10:3:rows=200000` resamples Adult to so
many rows, a tenth of all cells drawn anew. COVEY_BENCH_LATENCY=30ms slows every line.

*Alone* is each party's own ARX local recoding, concatenated (measured once, on the same rows and hierarchies). *Hops*
is what the paper's rings would take: its AND calls for n = 30,162, k = 50 and five parties, 2m messages each, one after
the other.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.party.record.folder import RunFolder
from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.party.simulate.processes import Setting, simulate
from covey.study import Study
from covey.wire import parse_latency

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "cluster.json"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
ALONE = {
    (3, 10): 0.1126, (3, 50): 0.2140, (5, 10): 0.1351, (5, 50): 0.2541, (10, 10): 0.1728, (10, 50): 0.3179,
}  # fmt: skip
PAPERS_CALLS = 200_000
DEFAULT = ",".join(
    [
        *(f"guarded:{k}:{m}" for k in (10, 50) for m in (3, 5, 10)),
        *(f"exact:{k}:{m}" for k in (50, 10) for m in (3, 5)),
        *("guarded:10:3:l=2", "guarded:10:3:l=3", "guarded:10:3:k_insider=5"),
    ]
)
SALARY = '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n'


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
        """How many rows Adult is resampled to, if it is."""
        return int(self.extra.removeprefix("rows=")) if self.extra.startswith("rows=") else None

    def study(self, folder: Path) -> Study:
        """Adult with this run's parameters, in a folder of its own."""
        shutil.copytree(DATA, folder, dirs_exist_ok=True)
        diverse = self.extra.startswith("l=")
        quasi = [name for name in QUASI if not (diverse and name == "occupation")]
        columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in quasi)
        columns += self.occupation() if diverse else SALARY
        asked = self.extra.replace("=", " = ") if self.extra and self.rows is None else ""
        parties = "".join(f"[parties.p{number:02d}]\n" for number in range(self.parties))
        (folder / "study.toml").write_text(
            '[study]\nname = "adult"\nprotocol = "cluster"\npartition = "horizontal"\n'
            f'[privacy]\nk = {self.k}\n{asked}\n[protocol]\nschedule = "{self.schedule}"\n{columns}{parties}'
        )
        return Study.load(folder / "study.toml")

    def occupation(self) -> str:
        """Occupation as the sensitive column, its values listed."""
        lines = (DATA / "occupation.csv").read_text(encoding="utf-8").splitlines()
        values = ", ".join(f'"{line.split(";")[0]}"' for line in lines)
        return f'[columns.occupation]\nrole = "sensitive"\nvalues = [{values}]\n'

    def measure(self, latency: float) -> dict[str, object]:
        """The run's summary, shortened."""
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            home = Path(folder)
            study = self.study(home / "study")
            out = home / "run"
            RunFolder(out).prepare()
            dealt = deal(study, str(DATA / "adult.csv"), seed=seed_of(1))
            if self.rows is not None:
                dealt = {name: resample(hand, self.rows // self.parties) for name, hand in dealt.items()}
            hands = write_hands(dealt, out)
            summary = simulate(study, hands, out, Setting(seed=seed_of(1), latency=latency))
        ledger = summary["ledger"]
        opened = [line for line in ledger if "learned in all" in str(line)] if isinstance(ledger, list) else []
        loss = summary["loss"]
        return {
            "schedule": self.schedule,
            "k": self.k,
            "parties": self.parties,
            "extra": self.extra,
            "latency": latency,
            "lm": round(float(loss["lm"]), 4) if isinstance(loss, dict) else None,
            "alone": None if self.extra else ALONE.get((self.parties, self.k)),
            "opened": str(opened[0]).split("in all: ")[1] if opened else "",
            "MB of memory": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000,
            **{
                key: summary[key]
                for key in ("rows", "k_reached", "l_reached", "classes", "seconds", "rounds", "messages", "bytes")
            },
        }


def resample(hand: pa.Table, rows: int) -> pa.Table:
    """So many rows drawn from a party's own with repetition, of which each cell is drawn anew with chance a tenth."""
    random = np.random.default_rng(hand.num_rows)
    columns = {}
    drawn = random.integers(0, hand.num_rows, rows)
    for name in hand.column_names:
        anew = random.random(rows) < 0.1
        columns[name] = hand.column(name).take(np.where(anew, random.integers(0, hand.num_rows, rows), drawn))
    return pa.table(columns)


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/cluster.json."""
    if not (DATA / "adult.csv").exists():
        print("the Adult data (shared/data/adult) is not on this machine")
        return
    wanted = [Run.parse(text) for text in os.environ.get("COVEY_BENCH_CLUSTER", DEFAULT).split(",")]
    latency = parse_latency(os.environ.get("COVEY_BENCH_LATENCY", "0ms"))
    print("schedule    k   m     LM   alone  seconds  rounds   hops/rounds      MB")
    for each in wanted:
        found = each.measure(latency)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        known = [old for old in known if not same(old, found)] + [found]
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(line(found), flush=True)


def same(one: dict[str, object], other: dict[str, object]) -> bool:
    """Whether two results are of the same run."""
    return all(one.get(key, "") == other.get(key) for key in ("schedule", "k", "parties", "extra", "latency"))


def line(found: dict[str, object]) -> str:
    """One row of the table."""
    rounds, parties, size = (int(str(found[key])) for key in ("rounds", "parties", "bytes"))
    hops = PAPERS_CALLS * 2 * parties // rounds
    alone = f"{found['alone']:.4f}" if isinstance(found["alone"], float) else "     -"
    return (
        f"{found['schedule']:8} {found['k']!s:>4} {parties:>3}  {found['lm']:.4f}  {alone}  "
        f"{float(str(found['seconds'])):>7.1f} {rounds:>7} {hops:>13,} {size / 1e6:>7.0f}  {found['extra']}\n"
        f"    {found['opened']}"
    )
