"""The experiment of `peel`: its loss against k beside `cluster` and parties alone, and what its modes cost and open.

Loss       of what a trusted party would publish (`ideal`), which tests hold equal to a run, byte for byte; rows dealt
           at random and by a column. *Alone* is each party's own centralized peeling, the releases put together.
Modes      run for real, all parties in this process: rounds, bytes, seconds, and what was opened beyond the release.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.anonymizers.figures import figures
from covey.bench.findings import Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.bench.papers.census import Census, census
from covey.party.session.data import load_table
from covey.party.simulate.in_process import simulate
from covey.protocols import find
from covey.study import Study
from covey.table import Table

PARTIES = 3
MODES = ("visit", "skip", "wave")
PEEL, CLUSTER, ALONE = "peel", "cluster", "each alone"
AT_RANDOM, BY_AGE = "at random", "by age"


@dataclass(frozen=True)
class Lost:
    """What one way of publishing loses."""

    way: str
    dealt: str
    k: int
    lm: float


@dataclass(frozen=True)
class Ran:
    """What a run in one mode took and opened."""

    mode: str
    rounds: int
    megabytes: float
    seconds: float
    impure: int
    unpublished: int
    release: str


def run(setting: Setting) -> Findings:
    """Measures everything."""
    table = census(setting)
    rows = min(table.table.num_rows, 3_000 if setting.quick else 30_000)
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        home = Path(folder)
        losses = list(_losses(setting, table, rows, home))
        runs = list(_runs(setting, table, min(rows, 900 if setting.quick else 10_000), home))
    return Findings(
        tables=(_loss_table(losses), _run_table(runs)),
        plots=(_loss_plot(losses, AT_RANDOM), _loss_plot(losses, BY_AGE)),
        claims=_claims(losses, runs),
        notes=(
            f"measured on {table.about}; {rows:,} rows, {PARTIES} parties",
            "seconds are of all parties in one process, with whatever else this machine was doing",
        ),
    )


def _losses(setting: Setting, table: Census, rows: int, home: Path) -> Iterator[Lost]:
    for k in (5, 10, 50) if setting.quick else (5, 10, 25, 50, 100):
        for dealt in (AT_RANDOM, BY_AGE):
            for way in (PEEL, CLUSTER):
                setting.tell(f"loss of {way}, rows dealt {dealt}, k = {k}")
                study = _study(table, home, k, way)
                found = find(way, "horizontal").ideal(study, _dealt(table, study, rows, dealt)).figures
                if found is not None:
                    yield Lost(way, dealt, k, float(found.loss["lm"] or 0.0))
            setting.tell(f"loss of each party alone, rows dealt {dealt}, k = {k}")
            yield Lost(ALONE, dealt, k, _alone(_dealt(table, _study(table, home, k, PEEL), rows, dealt), k, setting))


def _study(table: Census, home: Path, k: int, protocol: str, mode: str | None = None) -> Study:
    study = table.study(home, k, PARTIES)
    return replace(study, protocol=protocol, options={} if mode is None else {"mode": mode})


def _dealt(table: Census, study: Study, rows: int, dealt: str) -> dict[str, Table]:
    part = table.table.slice(0, rows)
    order = np.arange(rows)
    if dealt == BY_AGE:
        order = np.argsort([float(cell) for cell in part.column("age").to_pylist()], kind="stable")
    names = [party.name for party in study.parties]
    shares = zip(names, np.array_split(order, len(names)), strict=True)
    read = {name: load_table(study, name, part.take(pa.array(np.sort(share)))) for name, share in shares}
    return {name: own for name, own in read.items() if own is not None}


def _alone(tables: Mapping[str, Table], k: int, setting: Setting) -> float:
    """The mean loss of each party's own release."""
    lost = 0.0
    for table in tables.values():
        built = build(table, k=k)
        lost += table.rows * figures(built, anonymize(built.problem, "peel", seed=setting.seed)).loss.lm
    return lost / sum(table.rows for table in tables.values())


def _runs(setting: Setting, table: Census, rows: int, home: Path) -> Iterator[Ran]:
    for mode in MODES:
        setting.tell(f"a run in mode {mode}, n = {rows:,}, k = 10")
        study = _study(table, home, 10, PEEL, mode)
        begun = time.perf_counter()
        done = simulate(study, table.hands(study, rows), seed=setting.seed)
        seconds = time.perf_counter() - begun
        counted = next(line for line in next(iter(done.ledger.values())) if "in numbers" in line)
        impure = int(re.findall(r"of which (\d+) held several", counted)[0])
        unpublished = int(re.findall(r"of which (\d+) were not published", counted)[0])
        summary = done.summary
        rounds, megabytes = int(str(summary["rounds"])), int(str(summary["bytes"])) / 1e6
        yield Ran(mode, rounds, megabytes, seconds, impure, unpublished, str(summary["release_sha256"]))


def _loss_table(losses: list[Lost]) -> Grid:
    head = ("k", *(f"{way}, dealt {dealt}" for dealt in (AT_RANDOM, BY_AGE) for way in (PEEL, CLUSTER, ALONE)))
    found = {(each.way, each.dealt, each.k): round(each.lm, 4) for each in losses}
    rows = tuple(
        (k, *(found.get((way, dealt, k)) for dealt in (AT_RANDOM, BY_AGE) for way in (PEEL, CLUSTER, ALONE)))
        for k in sorted({each.k for each in losses})
    )
    return Grid("Loss (LM)", head, rows)


def _run_table(runs: list[Ran]) -> Grid:
    head = ("mode", "rounds", "MB, all parties", "seconds", "impure buckets opened", "tuples named, not published")
    rows = tuple(
        (each.mode, each.rounds, round(each.megabytes, 1), round(each.seconds, 1), each.impure, each.unpublished)
        for each in runs
    )
    return Grid("What a mode takes and opens (k = 10)", head, rows)


def _loss_plot(losses: list[Lost], dealt: str) -> Plot:
    curves = tuple(
        Curve(way, tuple((each.k, each.lm) for each in losses if (each.way, each.dealt) == (way, dealt)))
        for way in (PEEL, CLUSTER, ALONE)
    )
    return Plot(f"Loss against k, rows dealt {dealt}", "k", "LM", curves, log_x=True)


def _claims(losses: list[Lost], runs: list[Ran]) -> tuple[Claim, ...]:
    found = {(each.way, each.dealt, each.k): each.lm for each in losses}
    ks = sorted({each.k for each in losses})
    apart = max(abs(found[PEEL, AT_RANDOM, k] - found[PEEL, BY_AGE, k]) for k in ks)
    pairs = [(dealt, k) for dealt in (AT_RANDOM, BY_AGE) for k in ks]
    below_cluster = sum(found[PEEL, dealt, k] < found.get((CLUSTER, dealt, k), np.inf) for dealt, k in pairs)
    below_alone = sum(found[PEEL, dealt, k] < found[ALONE, dealt, k] for dealt, k in pairs)
    rounds = [each.rounds for each in runs]
    return (
        Claim(
            "our note, section 1", "the release does not depend on who holds which rows",
            f"LM differs by {apart:.1e} at most between the two ways of dealing", "yes" if apart < 1e-12 else "no",
        ),
        Claim(
            "our note, section 9", "peel loses less than cluster",
            f"in {below_cluster} of {len(pairs)} cases",
            "yes" if below_cluster == len(pairs) else "in part" if below_cluster else "no",
        ),
        Claim(
            "our note, section 9", "peel loses less than parties that publish alone",
            f"in {below_alone} of {len(pairs)} cases",
            "yes" if below_alone == len(pairs) else "in part" if below_alone else "no",
        ),
        Claim(
            "our note, section 5", "waves take fewer rounds than visits, and name tuples that are not published",
            f"{rounds[0]} rounds by visits, {rounds[-1]} by waves; {runs[-1].unpublished} tuples",
            "yes" if rounds[-1] < rounds[0] and not runs[0].unpublished else "in part",
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="peel",
    about="the loss of our own protocol beside cluster's and that of parties alone, and what its modes cost",
    source="",
    run=run,
)
