"""`cluster` on Adult, rows dealt at random: loss, time, rounds and openings of both schedules, beside what peers reach.

`python -m benchmarks cluster` runs the parties as processes over TLS on loopback. Set COVEY_BENCH_CLUSTER to choose:
a list like `guarded:10:3,exact:50:5` of schedule, k and parties; the default is what the issue's table asks for.
COVEY_BENCH_LATENCY=30ms slows every line.

*Alone* is each party's own ARX local recoding, concatenated (measured once, on the same rows and hierarchies). *Hops*
is what the paper's rings would take: its AND calls for n = 30,162, k = 50 and five parties, 2m messages each, one after
the other.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from covey.party.deal import deal, seed_of, write_hands
from covey.party.folder import RunFolder
from covey.party.simulate import Setting, simulate
from covey.study import Study
from covey.wire import parse_latency

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "cluster.json"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
ALONE = {
    (3, 10): 0.1126, (3, 50): 0.2140, (5, 10): 0.1351, (5, 50): 0.2541, (10, 10): 0.1728, (10, 50): 0.3179,
}  # fmt: skip
PAPERS_CALLS = 200_000
DEFAULT = ",".join(f"guarded:{k}:{m}" for k in (10, 50) for m in (3, 5, 10)) + ",exact:50:3,exact:50:5,exact:10:3"


@dataclass(frozen=True)
class Run:
    """One measured run."""

    schedule: str
    k: int
    parties: int

    @classmethod
    def parse(cls, text: str) -> Run:
        schedule, k, parties = text.split(":")
        return cls(schedule, int(k), int(parties))

    def study(self, folder: Path) -> Study:
        """Adult with this run's parameters, in a folder of its own."""
        shutil.copytree(DATA, folder, dirs_exist_ok=True)
        columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in QUASI)
        parties = "".join(f"[parties.p{number:02d}]\n" for number in range(self.parties))
        (folder / "study.toml").write_text(
            '[study]\nname = "adult"\nprotocol = "cluster"\npartition = "horizontal"\n'
            f'[privacy]\nk = {self.k}\n[protocol]\nschedule = "{self.schedule}"\n{columns}'
            f'[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n{parties}'
        )
        return Study.load(folder / "study.toml")

    def measure(self, latency: float) -> dict[str, object]:
        """The run's summary, shortened."""
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            home = Path(folder)
            study = self.study(home / "study")
            out = home / "run"
            RunFolder(out).prepare()
            hands = write_hands(deal(study, str(DATA / "adult.csv"), seed=seed_of(1)), out)
            summary = simulate(study, hands, out, Setting(seed=seed_of(1), latency=latency))
        ledger = summary["ledger"]
        opened = [line for line in ledger if "learned in all" in str(line)] if isinstance(ledger, list) else []
        loss = summary["loss"]
        return {
            "schedule": self.schedule,
            "k": self.k,
            "parties": self.parties,
            "latency": latency,
            "lm": round(float(loss["lm"]), 4) if isinstance(loss, dict) else None,
            "alone": ALONE.get((self.parties, self.k)),
            "opened": str(opened[0]).split("in all: ")[1] if opened else "",
            **{key: summary[key] for key in ("k_reached", "classes", "seconds", "rounds", "messages", "bytes")},
        }


def run() -> None:
    """Measures and prints; keeps the figures in results/cluster.json."""
    if not (DATA / "adult.csv").exists():
        print("the Adult data (shared/data/adult) is not on this machine")
        return
    wanted = [Run.parse(text) for text in os.environ.get("COVEY_BENCH_CLUSTER", DEFAULT).split(",")]
    latency = parse_latency(os.environ.get("COVEY_BENCH_LATENCY", "0ms"))
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    print("schedule    k   m     LM   alone  seconds  rounds   hops/rounds      MB")
    for each in wanted:
        found = each.measure(latency)
        known = [old for old in known if not same(old, found)] + [found]
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(line(found), flush=True)


def same(one: dict[str, object], other: dict[str, object]) -> bool:
    """Whether two results are of the same run."""
    return all(one.get(key) == other.get(key) for key in ("schedule", "k", "parties", "latency"))


def line(found: dict[str, object]) -> str:
    """One row of the table."""
    rounds, parties, size = (int(str(found[key])) for key in ("rounds", "parties", "bytes"))
    hops = PAPERS_CALLS * 2 * parties // rounds
    alone = f"{found['alone']:.4f}" if isinstance(found["alone"], float) else "     -"
    return (
        f"{found['schedule']:8} {found['k']!s:>4} {parties:>3}  {found['lm']:.4f}  {alone}  "
        f"{float(str(found['seconds'])):>7.1f} {rounds:>7} {hops:>13,} {size / 1e6:>7.0f}\n    {found['opened']}"
    )
