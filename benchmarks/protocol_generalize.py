"""`generalize` on Adult: loss beside centralized Datafly, what a run costs in each mode, and a round of a million ids.

Columns are split four and four. Each timed run is a process of its own, so that its memory is its own: both parties in
one process over memory (CPU and memory are then of both together), or a process each over TLS. Adult is looked for
beside the project (shared/data/adult). `python -m benchmarks generalize loss|splits|cost|tls|growth` runs a part;
`… one K OPTIONS` and `… round IDS LEAKAGE` measure one row anew. What was measured before is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from tests.harness.network import seed_of as test_seed
from tests.harness.parties import SESSION
from tests.harness.town import Town

import covey
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.crypto.rng import Rng, derive
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.party.simulate.processes import Setting, simulate
from covey.protocols.generalize import compare, ideal
from covey.protocols.generalize.compare import RoundInput
from covey.study import Study
from covey.table import Table, read
from covey.table import build as as_table
from covey.wire import Address, Contact, Nothing, connect, on_own_thread, open_channel

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "generalize.json"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
KS = (5, 20, 100)
VARIANTS = ("paper", "datafly", "finished-cells")
SIDES = ("first", "second")
SIZES = (10_000, 100_000, 300_000, 1_000_000)
GROWTH = (*((size, "one-sided") for size in SIZES), (1_000_000, "matrix"))


def study_text(k: int, options: str = "", order: tuple[str, ...] = QUASI) -> str:
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in order)
    head = f'[study]\nname = "adult"\nprotocol = "generalize"\npartition = "vertical"\n[privacy]\nk = {k}\n'
    rest = '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n[columns.person]\nrole = "key"\n'
    first, second = json.dumps(order[:4]), json.dumps([*order[4:], "salary-class"])
    parties = f"[parties.first]\ncolumns = {first}\n[parties.second]\ncolumns = {second}\n"
    return f"{head}[protocol]\n{options}\n{columns}{rest}{parties}"


def study_of(k: int, options: str = "", order: tuple[str, ...] = QUASI) -> Study:
    return Study.parse(study_text(k, options, order), ADULT)


def people() -> pa.Table:
    """Adult with a number for each person."""
    text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(QUASI, pa.string()))
    semicolons = pyarrow.csv.ParseOptions(delimiter=";")
    table = pyarrow.csv.read_csv(ADULT / "adult.csv", parse_options=semicolons, convert_options=text)
    return table.append_column("person", pa.array([f"P{number:06}" for number in range(table.num_rows)]))


def hands(study: Study, table: pa.Table) -> dict[str, Table]:
    loaded = {name: load_table(study, name, frame) for name, frame in deal(study, table).items()}
    return {name: own for name, own in loaded.items() if own is not None}


def central(k: int, order: tuple[str, ...], table: pa.Table, ties: str) -> float:
    """The loss of Datafly on the pooled table."""
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in order)
    study = Study.parse(f'[study]\nname = "adult"\n[privacy]\nk = {k}\n{columns}', ADULT)
    built = build(as_table(read(table.select(list(order)).to_batches(), study.columns, "adult"), study))
    return anonymize(built.problem, "datafly", options={"ties": ties}).loss(built.problem)


def measure_loss() -> Iterator[dict[str, object]]:
    """What the release loses, by local anonymizer and variant: of the ideal, which a run's equals to the byte."""
    table = people()
    for k in KS:
        row: dict[str, object] = {"k": k, "centralized datafly": round(central(k, QUASI, table, "first"), 4)}
        for local in ("datafly", "peel", "mondrian"):
            for variant in VARIANTS:
                study = study_of(k, f'local = "{local}"\nvariant = "{variant}"')
                figures = ideal.ideal(study, hands(study, table)).figures
                row[f"{local}, {variant}"] = round(float(figures.loss["lm"] or 0.0), 4) if figures else None
        yield row


def measure_splits() -> Iterator[dict[str, object]]:
    """The same for every way to split the columns four and four, at k = 5: the middle and the ends."""
    table = people()
    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    worse = 0
    for first in combinations(QUASI, 4):
        order = (*first, *(name for name in QUASI if name not in first))
        for variant in VARIANTS:
            study = study_of(5, f'variant = "{variant}"', order)
            figures = ideal.ideal(study, hands(study, table)).figures
            found[variant].append(float(figures.loss["lm"] or 0.0) if figures else 1.0)
        worse += found["datafly"][-1] > central(5, order, table, "first") + 1e-9
    for variant, losses in found.items():
        middle = round(float(np.median(losses)), 4)
        yield {"variant": variant, "least": round(min(losses), 4), "median": middle, "most": round(max(losses), 4)}
    yield {"splits": len(found["paper"]), "variant datafly loses more than centralized": worse}


def one_run(k: int, options: str) -> dict[str, object]:
    """One run over memory, in this process."""
    study = study_of(k, options)
    data = deal(study, people())
    begun, worked = time.perf_counter(), time.process_time()
    release = covey.simulate(study, data, seed=1)
    seconds, work = time.perf_counter() - begun, time.process_time() - worked
    numbers = next(line for line in release.ledger["first"] if "in numbers" in line)
    return {
        "k": k, "options": options.replace("\n", ", "), "lm": round(release.loss.lm or 0.0, 4),
        "rounds of messages": release.summary["rounds"], "MB": round(int(str(release.summary["bytes"])) / 1e6, 1),
        "s": round(seconds, 1), "CPU s": round(work, 1),
        "MB of memory": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "compared": numbers.split("in numbers: ")[1],
    }  # fmt: skip


SETTINGS = (
    *((k, "") for k in KS),
    (5, 'leakage = "matrix"'), (5, 'leakage = "one-sided"'),
    (5, 'variant = "datafly"'), (5, 'variant = "finished-cells"'),
    (5, 'local = "peel"\nvariant = "finished-cells"'), (20, 'local = "peel"\nvariant = "finished-cells"'),
)  # fmt: skip


def _alone(*call: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.protocol_generalize", *call],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    row: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return row


def measure_cost() -> Iterator[dict[str, object]]:
    for k, options in SETTINGS:
        yield _alone("run", str(k), options)


def measure_tls() -> Iterator[dict[str, object]]:
    """A process each over TLS, both on the same two cores."""
    for k, options, latency in ((5, "", 0.0), (20, "", 0.0), (100, "", 0.0), (5, "", 0.03)):
        with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
            shutil.copytree(ADULT, Path(scratch, "study"))
            Path(scratch, "study", "study.toml").write_text(study_text(k, options))
            study = Study.load(Path(scratch, "study", "study.toml"))
            paths = write_hands(deal(study, people()), Path(scratch, "hands"))
            summary = simulate(study, paths, Path(scratch, "out"), Setting(seed=seed_of(1), latency=latency))
        loss = summary["loss"]
        yield {
            "k": k, "options": options, "latency ms": round(latency * 1000), "s": summary["seconds"],
            "rounds of messages": summary["rounds"], "MB": round(int(str(summary["bytes"])) / 1e6, 1),
            "lm": round(float(loss["lm"]), 4) if isinstance(loss, dict) else None,
        }  # fmt: skip


def one_round(size: int, leakage: str) -> dict[str, object]:
    """One comparison by lists of that many ids: a process for each party, over TLS, both on the same cores."""
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as folder:
        town = Town.found(SIDES, Path(folder))
        roster = {name: str(contact.address) for name, contact in town.roster.items()}
        Path(folder, "roster.json").write_text(json.dumps(roster))
        call = [sys.executable, "-m", "benchmarks.protocol_generalize", "side"]
        load = os.getloadavg()[0]
        started = [
            subprocess.Popen([*call, name, folder, str(size), leakage], cwd=ROOT, stdout=subprocess.PIPE)
            for name in SIDES
        ]
        sides = [json.loads(process.communicate()[0]) for process in started]
    seconds, work = max(side["seconds"] for side in sides), sum(side["work"] for side in sides)
    return {
        "ids": size, "leakage": leakage, "s": round(seconds, 1), "CPU s": round(work, 1),
        "cores busy": round(work / seconds, 2), "microseconds of CPU an id": round(work / size * 1e6),
        "MB of memory, each party": [round(side["peak"] / 1e3) for side in sides],
        "of which before": [round(side["before"] / 1e3) for side in sides],
        "MB sent": round(sum(side["sent"] for side in sides) / 1e6, 1), "load before": round(load, 1),
    }  # fmt: skip


async def one_side(name: str, folder: Path, size: int, leakage: str) -> dict[str, float]:
    """One party of it; a thousand people to a group."""
    stream = Rng(test_seed(1)).stream("growth", name)
    groups = max(2, size // 1000)
    ids = [b"%09d" % number for number in range(size)]
    hand = RoundInput(ids, stream.words_below(groups, size).astype(np.int64), groups, groups, 1)
    [peer] = (other for other in SIDES if other != name)
    roster = {
        other: Contact.from_pem(other, (folder / f"{other}.pem").read_bytes(), Address.parse(address))
        for other, address in json.loads((folder / "roster.json").read_text()).items()
    }
    files = {"certificate": folder / f"{name}.pem", "key": folder / f"{name}.key"}
    async with on_own_thread(lambda: connect(name, roster, wait=120, **files)) as link:
        channel = await open_channel(link, Rng(derive(test_seed(2), name)), session=SESSION, recorder=Nothing())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun, worked = time.perf_counter(), time.process_time()
        at = channel.at("round", 1)
        if leakage == "matrix":
            await compare.matrix(at, peer, hand, 5)
        elif name == SIDES[0]:
            await compare.observe(at, peer, hand, 5)
        else:
            await compare.answer(at, peer, hand)
        seconds, work = time.perf_counter() - begun, time.process_time() - worked
        channel.finish()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sent = channel.tally.bytes[name, peer]
    return {"seconds": seconds, "work": work, "peak": peak, "before": before, "sent": sent}


def measure_growth() -> Iterator[dict[str, object]]:
    for size, leakage in GROWTH:
        yield one_round(size, leakage)


PARTS = {
    "loss": measure_loss,
    "splits": measure_splits,
    "cost": measure_cost,
    "tls": measure_tls,
    "growth": measure_growth,
}


def keep(part: str, rows: list[dict[str, object]], key: tuple[str, ...] = ()) -> None:
    """Keeps these rows; with a key in place of the one that it fits, beside the others."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if key:
        [new] = rows
        rows = [row for row in kept.get(part, []) if any(row.get(name) != new[name] for name in key)] + rows
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**kept, part: rows}, indent=1) + "\n")


def run(asked: list[str] | None = None) -> None:
    """Measures, prints and keeps the figures."""
    if not (ADULT / "adult.csv").exists():
        print("the Adult table (shared/data/adult beside the project) is not on this machine: nothing measured")
        return
    for name in asked or list(PARTS):
        rows = []
        for row in PARTS[name]():
            print(row, flush=True)
            rows.append(row)
            keep(name, rows)


def measure_one(part: str, row: dict[str, object], *key: str) -> None:
    print(row)
    keep(part, [row], key)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", k, options]:
            print(json.dumps(one_run(int(k), options)))
        case ["side", name, folder, size, leakage]:
            print(json.dumps(asyncio.run(one_side(name, Path(folder), int(size), leakage))))
        case ["one", k, options]:
            measure_one("cost", _alone("run", k, options), "k", "options")
        case ["round", size, leakage]:
            measure_one("growth", one_round(int(size), leakage), "ids", "leakage")
        case asked:
            run(asked)
