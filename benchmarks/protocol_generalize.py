"""`generalize` on Adult: loss beside centralized Datafly, what a run costs in each mode, and a round of a million ids.

Columns are split four and four. Each timed run is a process of its own, so that its memory is its own: both parties in
one process over memory (CPU and memory are then of both together), or a process each over TLS. Adult is looked for
beside the project (shared/data/adult). `python -m benchmarks generalize loss|splits|cost|tls|growth` runs a part;
`… cost K OPTIONS` and `… growth IDS LEAKAGE` measure one row anew. What was measured before is kept.
"""

from __future__ import annotations

import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.harness.network import seed_of as test_seed
from tests.harness.parties import SESSION
from tests.harness.town import Town

import covey
from benchmarks import _adult
from benchmarks._adult import QUASI
from benchmarks._measuring import Row, apart, load, load_roster, over_tls, run_parts, save_roster
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.bench.dataset import load as load_all
from covey.crypto.rng import Rng, derive
from covey.party.simulate.deal import deal
from covey.protocols.as_printed.generalize import ideal, matrix
from covey.protocols.as_printed.generalize.matrix import RoundInput
from covey.study import Study
from covey.table import build as as_table
from covey.table import read
from covey.wire import Meeting, Nothing, on_own_thread, open_channel

KS = (5, 20, 100)
VARIANTS = ("paper", "datafly", "finished-cells")
SIDES = ("first", "second")
SIZES = (10_000, 100_000, 300_000, 1_000_000)


def study_text(k: int, options: str = "", order: tuple[str, ...] = QUASI) -> str:
    """Adult with its columns split four and four, as a study file."""
    head = _adult.head("generalize", "vertical", k, options)
    first, second = json.dumps(order[:4]), json.dumps([*order[4:], "salary-class"])
    parties = f"[parties.first]\ncolumns = {first}\n[parties.second]\ncolumns = {second}\n"
    key = '[columns.person]\nrole = "key"\n'
    return head + _adult.quasi_columns(order) + _adult.SALARY + key + parties


def study_of(k: int, options: str = "", order: tuple[str, ...] = QUASI) -> Study:
    """The same as a study."""
    return Study.parse(study_text(k, options, order), _adult.FOLDER)


def people() -> pa.Table:
    """Adult with a number for each person."""
    table = _adult.people()
    return table.append_column("person", pa.array([f"P{number:06}" for number in range(table.num_rows)]))


def loss_of(study: Study, table: pa.Table) -> float:
    """The loss of the ideal release, which a run's equals to the byte."""
    figures = ideal.ideal(study, load_all(study, deal(study, table))).figures
    return float(figures.loss["lm"] or 0.0) if figures else 1.0


def central(k: int, order: tuple[str, ...], table: pa.Table, ties: str) -> float:
    """The loss of Datafly on the pooled table."""
    text = f'[study]\nname = "adult"\n[privacy]\nk = {k}\n{_adult.quasi_columns(order)}'
    study = Study.parse(text, _adult.FOLDER)
    built = build(as_table(read(table.select(list(order)).to_batches(), study.columns, "adult"), study))
    return anonymize(built.problem, "datafly", options={"ties": ties}).loss(built.problem)


def measure_loss(asked: list[str]) -> Iterator[Row]:
    """Measures the loss of the release, by local anonymizer and variant."""
    table = people()
    for k in KS:
        row: Row = {"k": k, "centralized datafly": round(central(k, QUASI, table, "first"), 4)}
        for local in ("datafly", "peel", "mondrian"):
            for variant in VARIANTS:
                study = study_of(k, f'local = "{local}"\nvariant = "{variant}"')
                row[f"{local}, {variant}"] = round(loss_of(study, table), 4)
        yield row


def measure_splits(asked: list[str]) -> Iterator[Row]:
    """The same for every way to split the columns four and four, at k = 5: the middle and the ends."""
    table = people()
    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    worse = 0
    for first in combinations(QUASI, 4):
        order = (*first, *(name for name in QUASI if name not in first))
        for variant in VARIANTS:
            found[variant].append(loss_of(study_of(5, f'variant = "{variant}"', order), table))
        worse += found["datafly"][-1] > central(5, order, table, "first") + 1e-9
    for variant, losses in found.items():
        middle = round(float(np.median(losses)), 4)
        yield {"variant": variant, "least": round(min(losses), 4), "median": middle, "most": round(max(losses), 4)}
    yield {"splits": len(found["paper"]), "variant datafly loses more than centralized": worse}


def one_run(k: int, options: str) -> Row:
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
    (5, 'compare = "threshold"'),
    (5, 'variant = "datafly"'), (5, 'variant = "finished-cells"'),
    (5, 'local = "peel"\nvariant = "finished-cells"'), (20, 'local = "peel"\nvariant = "finished-cells"'),
)  # fmt: skip


def measure_cost(asked: list[str]) -> Iterator[Row]:
    """Measures runs over memory, each in a process of its own; asked for are k and options."""
    for k, options in [(int(asked[0]), " ".join(asked[1:]))] if asked else SETTINGS:
        yield apart(one_run, k, options)


def measure_tls(asked: list[str]) -> Iterator[Row]:
    """Measures runs with a process for each party over TLS, both on the same two cores."""
    for k, latency in ((5, 0.0), (20, 0.0), (100, 0.0), (5, 0.03)):
        with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
            study = _adult.save_study(study_text(k), Path(scratch, "study"))
            done = over_tls(study, deal(study, people()), Path(scratch, "out"), latency)
        yield {
            "k": k, "options": "", "latency ms": round(latency * 1000), "s": done.summary["seconds"],
            "rounds of messages": done.summary["rounds"], "MB": done.megabytes, "lm": done.lm,
        }  # fmt: skip


def one_round(size: int) -> Row:
    """One comparison by lists of that many ids: a process for each party, over TLS, both on the same cores."""
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as folder:
        town = Town.found(SIDES, Path(folder))
        save_roster(town.roster, Path(folder))
        before = load()
        with ThreadPoolExecutor() as pool:
            started = [pool.submit(apart, one_side, name, folder, size) for name in SIDES]
            sides = [{key: float(str(value)) for key, value in side.result().items()} for side in started]
    seconds, work = max(side["seconds"] for side in sides), sum(side["work"] for side in sides)
    return {
        "ids": size, "s": round(seconds, 1), "CPU s": round(work, 1),
        "cores busy": round(work / seconds, 2), "microseconds of CPU an id": round(work / size * 1e6),
        "MB of memory, each party": [round(side["peak"] / 1e3) for side in sides],
        "of which before": [round(side["before"] / 1e3) for side in sides],
        "MB sent": round(sum(side["sent"] for side in sides) / 1e6, 1), "load before": before,
    }  # fmt: skip


def one_side(name: str, folder: str, size: int) -> Row:
    """Plays one party of it; a thousand people to a group."""
    return asyncio.run(_side(name, Path(folder), size))


async def _side(name: str, folder: Path, size: int) -> Row:
    stream = Rng(test_seed(1)).stream("growth", name)
    groups = max(2, size // 1000)
    ids = [b"%09d" % number for number in range(size)]
    hand = RoundInput(ids, stream.words_below(groups, size).astype(np.int64), groups, groups, 1)
    [peer] = (other for other in SIDES if other != name)
    roster = load_roster(folder)
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    async with on_own_thread(lambda: Meeting(name, roster, certificate=certificate, key=key).held(120)) as link:
        channel = await open_channel(link, Rng(derive(test_seed(2), name)), session=SESSION, recorder=Nothing())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun, worked = time.perf_counter(), time.process_time()
        await matrix.compare(channel.at("round", 1), peer, hand, 5)
        seconds, work = time.perf_counter() - begun, time.process_time() - worked
        channel.finish()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sent = channel.tally.bytes[name, peer]
    return {"seconds": seconds, "work": work, "peak": peak, "before": before, "sent": sent}


def measure_growth(asked: list[str]) -> Iterator[Row]:
    """Measures one round of so many ids."""
    for size in [int(asked[0])] if asked else SIZES:
        yield one_round(size)


PARTS = {
    "loss": measure_loss,
    "splits": measure_splits,
    "cost": measure_cost,
    "tls": measure_tls,
    "growth": measure_growth,
}
KEYS = ("k", "options", "latency ms", "variant", "splits", "ids")


def run(arguments: list[str]) -> None:
    """Measures a part, or one point of it, or all; results/generalize.json keeps the rows."""
    if _adult.is_here():
        run_parts("generalize", PARTS, KEYS, arguments)
