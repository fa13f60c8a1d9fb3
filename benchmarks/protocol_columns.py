"""`cluster` on Adult with its columns split: loss, time, rounds and bytes, with the pivot and with an evaluator.

`python -m benchmarks columns` runs the parties as processes over TLS on loopback. Set COVEY_BENCH_COLUMNS to choose: a
list like `pivot:10:2,evaluator:50:3` of form, k and holders (`exact` for the paper's algorithm on the whole table).
COVEY_BENCH_LATENCY=30ms slows every line. COVEY_BENCH_ROWS takes a part of the table, drawn once.

`COVEY_BENCH_COLUMNS=beside:10,beside:50 python -m benchmarks columns` puts `generalize` on the same split in two, in
the clear (tests hold runs equal to that): losses only.

*Sequential* is the centralized algorithm on the same columns, the mean of seeds 1 to 5. *Calls* are what the paper's
Algorithm 4 would take: one secure sum, 2m messages one after the other, for each record in each sweep.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from covey.party.record.folder import RunFolder
from covey.party.session.data import load_table
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import Setting, simulate
from covey.protocols import of_study
from covey.study import Study
from covey.wire import parse_latency

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "columns.json"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SPLITS = {
    2: (QUASI[:4], QUASI[4:]),
    3: (QUASI[:3], QUASI[3:6], QUASI[6:]),
    4: (QUASI[:2], QUASI[2:4], QUASI[4:6], QUASI[6:]),
}
SWEEPS = 9
"""Of the paper's algorithm: n times this many calls."""
BESIDE = {
    "generalize": "",
    "generalize, peel, finished cells": 'local = "peel"\nvariant = "finished-cells"',
    "pivot": "",
}
"""What is put on the same split, and its options."""
DEFAULT = ",".join(f"{form}:{k}:{m}" for k in (10, 50) for m in (2, 3, 4) for form in ("pivot", "evaluator"))


@dataclass(frozen=True)
class Run:
    """One measured run."""

    form: str
    k: int
    holders: int

    @classmethod
    def parse(cls, text: str) -> Run:
        form, k, holders = text.split(":")
        return cls(form, int(k), int(holders))

    def study(self, folder: Path) -> Study:
        """Adult with this run's parameters, in a folder of its own; the first holder has the salary too."""
        shutil.copytree(DATA, folder, dirs_exist_ok=True)
        columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in QUASI)
        parties = "".join(
            f"[parties.p{place}]\ncolumns = {[*own, *(['salary-class'] if not place else [])]}\n"
            for place, own in enumerate(SPLITS[self.holders])
        )
        if self.form == "evaluator":
            parties += '[parties.judge]\nrole = "evaluator"\n'
        schedule = "exact" if self.form == "exact" else "guarded"
        (folder / "study.toml").write_text(
            '[study]\nname = "adult"\nprotocol = "cluster"\npartition = "vertical"\n'
            f'[privacy]\nk = {self.k}\n[protocol]\nschedule = "{schedule}"\n[columns.id]\nrole = "key"\n{columns}'
            f'[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n{parties}'
        )
        return Study.load(folder / "study.toml")

    def measure(self, latency: float, rows: int | None) -> dict[str, object]:
        """The run's summary, shortened."""
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            home = Path(folder)
            study = self.study(home / "study")
            out = home / "run"
            RunFolder(out).prepare()
            hands = write_columns(study, home, rows)
            summary = simulate(study, hands, out, Setting(seed=seed_of(1), latency=latency))
        loss = summary["loss"]
        parties = summary["per_party"]
        return {
            "form": self.form,
            "k": self.k,
            "holders": self.holders,
            "latency": latency,
            "lm": round(float(loss["lm"]), 4) if isinstance(loss, dict) else None,
            "calls": SWEEPS * int(str(summary["rows"])),
            **{key: summary[key] for key in ("rows", "k_reached", "classes", "seconds", "rounds", "messages", "bytes")},
            "phases": {each["name"]: each["seconds"] for each in summary.get("phases", [])},  # type: ignore[attr-defined]
            "parties": len(parties) if isinstance(parties, dict) else None,
        }


def write_columns(study: Study, folder: Path, rows: int | None) -> dict[str, str]:
    """Each holder's columns with a running number as the key; a part of the table if so many rows are asked for."""
    with (DATA / "adult.csv").open(encoding="utf-8") as stream:
        table = list(csv.DictReader(stream, delimiter=";"))
    if rows is not None:
        table = [table[row] for row in np.random.default_rng(0).permutation(len(table))[:rows]]
    paths = {}
    for party in study.holders:
        names = [column.name for column in study.held_by(party.name)]
        path = folder / f"{party.name}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(names)
            for number, row in enumerate(table):
                writer.writerow([f"{number:06d}" if name == "id" else row[name] for name in names])
        paths[party.name] = str(path)
    return paths


def beside(k: int, rows: int | None) -> Iterator[dict[str, object]]:
    """What `generalize` and the pivot's form lose on the split in two, as trusted parties would release."""
    for form, options in BESIDE.items():
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            home = Path(folder)
            study = Run("pivot", k, 2).study(home / "study")
            if form != "pivot":
                text = (home / "study" / "study.toml").read_text()
                text = text.replace('protocol = "cluster"', 'protocol = "generalize"')
                study = Study.parse(text.replace('schedule = "guarded"', options), home / "study")
            loaded = {name: load_table(study, name, path) for name, path in write_columns(study, home, rows).items()}
        tables = {name: table for name, table in loaded.items() if table is not None}
        figures = of_study(study).ideal(study, tables).figures
        if figures is not None:
            lm = round(float(figures.loss["lm"] or 0), 4)
            yield {
                "form": f"{form}, in the clear",
                "k": k,
                "holders": 2,
                "latency": 0.0,
                "rows": figures.rows,
                "lm": lm,
            }


def run_beside(k: int, rows: int | None) -> None:
    """The same, printed and kept."""
    for found in beside(k, rows):
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        known = [old for old in known if not same(old, found)] + [found]
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(f"{found['form']:32} k = {k}  LM {found['lm']:.4f}", flush=True)


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/columns.json."""
    if not (DATA / "adult.csv").exists():
        print("the Adult data (shared/data/adult) is not on this machine")
        return
    texts = os.environ.get("COVEY_BENCH_COLUMNS", DEFAULT).split(",")
    asked = os.environ.get("COVEY_BENCH_ROWS")
    for text in (each for each in texts if each.startswith("beside:")):
        run_beside(int(text.split(":")[1]), int(asked) if asked else None)
    wanted = [Run.parse(text) for text in texts if not text.startswith("beside:")]
    latency = parse_latency(os.environ.get("COVEY_BENCH_LATENCY", "0ms"))
    rows = asked
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    print("form        k   m     LM  seconds  rounds  calls/rounds      MB")
    for each in wanted:
        found = each.measure(latency, int(rows) if rows else None)
        known = [old for old in known if not same(old, found)] + [found]
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(line(found), flush=True)


def same(one: dict[str, object], other: dict[str, object]) -> bool:
    """Whether two results are of the same run."""
    return all(one.get(key) == other.get(key) for key in ("form", "k", "holders", "latency", "rows"))


def line(found: dict[str, object]) -> str:
    """One row of the table."""
    rounds, calls, size = (int(str(found[key])) for key in ("rounds", "calls", "bytes"))
    return (
        f"{found['form']:9} {found['k']!s:>4} {found['holders']!s:>3}  {found['lm']:.4f}  "
        f"{float(str(found['seconds'])):>7.1f} {rounds:>7} {calls // rounds:>13,} {size / 1e6:>7.0f}"
    )
