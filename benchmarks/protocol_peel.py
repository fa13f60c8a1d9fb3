"""`peel` on Adult: its loss beside that of parties alone, what a run costs, and what an insider can rule out.

`tls`: the parties are processes over TLS, with and without latency, and the release is compared with the trusted
party's. `plan`: what a party foresees from its own rows. `growth`: larger tables like Adult, all parties in one
process over memory. `efforts`: what each effort (`[utility] effort`) sends and loses, in one process as well; `lend`:
the same without and with lending. The table is looked for beside the project (shared/data/adult). `python -m benchmarks
peel loss|tls|plan|growth|efforts|lend|memory|insider` runs a part, `… peel tls 10:3:wave:0` one point of it (k,
parties, mode, latency in ms), `tls 10:3:wave:30:20mbit` one on a line of that bandwidth; what was measured before is
kept beside it.

Before and after in one run: COVEY_BENCH_BEFORE names another tree of the project, such as one that `git worktree add
../before COMMIT` has made. Each point of `tls` is then measured twice, by that tree's `covey simulate` and by this
one's, one after the other, with the same study, rows and seed. A tree compiles its kernels in its first run: run its
`covey demo --protocol peel` before.
"""

from __future__ import annotations

import math
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import covey
from benchmarks import _adult
from benchmarks._measuring import ROOT, Row, apart, earlier_tree, load, over_tls, peak_megabytes, run_parts
from covey.arrays import Ints
from covey.bench.dataset import load as load_all
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.measures import lm
from covey.party.simulate.deal import deal, seed_of
from covey.protocols import find
from covey.protocols.peel.cost import foresee
from covey.protocols.peel.ideal import admits
from covey.protocols.peel.ideal import ideal as trusted
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.tuples import Lattice, buckets
from covey.protocols.shared.peeling import marginals
from covey.protocols.shared.peeling.classes import peel
from covey.protocols.shared.peeling.marginals import study_seed
from covey.protocols.shared.peeling.narrowing import narrowed
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.release import Release
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table

CANDIDATES = 20_000
ARX_POOLED = {10: 0.0744, 50: 0.1439}
"""ARX's local recoding of all rows, which needs somebody to trust: measured once, elsewhere, not by this benchmark."""
ARX_ALONE = {10: {3: 0.1126, 5: 0.1351, 10: 0.1728}, 50: {3: 0.2140, 5: 0.2541, 10: 0.3179}}
"""The same for each party's own rows, put together; rows dealt at random."""
DEFAULT = ",".join(f"{k}:{m}:wave:{ms}" for m in (3, 5, 10) for k in (10, 50) for ms in (0, 30)) + (
    ",10:3:visit:0,50:3:visit:0,10:3:visit:30,10:3:skip:0,10:2:wave:0,50:2:wave:0"
    ",10:3:wave:30:20mbit,50:3:wave:30:20mbit,50:10:wave:30:20mbit"
)
PLANNED = "10:3:wave,50:3:wave,50:10:wave"
GROWTH = "30000:10:wave,100000:10:wave,300000:10:wave,1000000:10:wave,30000:50:wave,100000:50:wave,300000:50:wave"
EFFORTS = "10:quick,10:normal,10:thorough,50:quick,50:normal,50:thorough"
LENT = "10:false,10:true,50:false,50:true"
KEYS = (
    "k",
    "effort",
    "lend",
    "parties",
    "dealt",
    "mode",
    "latency ms",
    "bandwidth",
    "tree",
    "rows",
    "buckets per record",
)
"""The keys of a row; a second measurement with the same keys replaces the first."""


def study_text(k: int, parties: int, options: str = "") -> str:
    """Adult among so many parties, as a study file."""
    head = _adult.head("peel", "horizontal", k, options)
    return head + _adult.quasi_columns() + _adult.SALARY + _adult.parties(parties)


def study_of(k: int, parties: int, options: str = "") -> Study:
    """The same as a study."""
    return Study.parse(study_text(k, parties, options), _adult.FOLDER)


def tables_of(study: Study, skew: str | None = None) -> dict[str, Table]:
    """The parties' tables, as their roles read them."""
    return load_all(study, deal(study, str(_adult.TABLE), skew=skew, seed=seed_of(1)))


def loss_of(tables: list[Table], k: int, study: Study) -> tuple[float, int]:
    """The records' summed loss after a clear peeling of these tables with their own list, and how many there are."""
    params = Parameters.of(study)
    listed = list_nodes(study, tables[0].trees, marginals.ideal(study, tables, params.pairs), params.nodes)
    codes = np.concatenate([table.codes for table in tables], axis=1)
    boxes, sizes, klass = peel(tables[0].trees, listed, codes, params.k, admits(params, tables))
    labels = narrowed(np.stack(boxes), tables[0].trees, codes, klass)
    per_class = sum(lm(tree)[labels[:, c]] for c, tree in enumerate(tables[0].trees)) / len(_adult.QUASI)
    records = sum(table.rows for table in tables)
    return float(np.dot(per_class, sizes)) + records - sum(sizes), records


def measure_loss(asked: list[str]) -> Iterator[Row]:
    """Peel's release, which is the pooled one's, cluster's, and parties alone whose releases are put together.

    Points are k, parties and how rows are dealt, as in `10:3:random` or `50:5:age`.
    """
    every = [f"{k}:{parties}:{dealt}" for k in (10, 50) for parties in (3, 5, 10) for dealt in ("random", "age")]
    for text in asked or every:
        k, parties, dealt = int(text.split(":")[0]), int(text.split(":")[1]), text.split(":")[2]
        skew = None if dealt == "random" else dealt
        study = study_of(k, parties)
        tables = tables_of(study, skew)
        joint, records = loss_of(list(tables.values()), k, study)
        alone = sum(loss_of([table], k, study)[0] for table in tables.values())
        clustered = find("cluster", "horizontal").ideal(replace(study, protocol="cluster", options={}), tables).figures
        yield {
            "k": k, "parties": parties, "dealt": skew or "at random", "peel": round(joint / records, 4),
            "cluster": None if clustered is None else round(float(clustered.loss["lm"] or 0.0), 4),
            "peel alone, put together": round(alone / records, 4),
            "ARX pooled, from baselines": ARX_POOLED[k],
            "ARX alone, from baselines": None if skew else ARX_ALONE[k][parties],
        }  # fmt: skip


def one_tls(text: str, tree: str | None = None) -> Row:
    """One run by this tree or by an earlier one; CPU of all processes, divided, and the largest one's memory."""
    k, parties, mode, latency, *line = text.split(":")
    bandwidth, which = (line[0] if line else None), {} if tree is None else {"tree": "before"}
    before = load()
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        study = _adult.save_study(study_text(int(k), int(parties), f'mode = "{mode}"'), Path(scratch, "study"))
        dealt = deal(study, str(_adult.TABLE), seed=seed_of(1))
        by = ROOT if tree is None else Path(tree)
        done = over_tls(study, dealt, Path(scratch, "out"), float(latency) / 1000, bandwidth, by)
    ideal = trusted(study, load_all(study, dealt))
    return {
        "k": int(k), "parties": int(parties), "mode": mode, "latency ms": int(latency), "bandwidth": bandwidth,
        **which, "lm": done.lm,
        "as the trusted party's": ideal.release is not None and canonical_csv(arrange(ideal.release)) == done.release,
        "rounds": done.summary["rounds"], "MB a party": round(done.megabytes / int(parties)),
        "s": done.summary["seconds"], "CPU s a party": round(done.cpu / int(parties), 1),
        "MB of memory, the largest party": peak_megabytes(resource.RUSAGE_CHILDREN),
        "opened": done.ledger_line("in numbers: "), "load before": before,
    }  # fmt: skip


def one_plan(text: str) -> Row:
    """The plan of a run (k, parties and mode), which the first party makes from its own rows."""
    k, parties, mode, *_ = text.split(":")
    study = study_of(int(k), int(parties), f'mode = "{mode}"')
    tables = tables_of(study)
    plan = foresee(study, {name: table.rows for name, table in tables.items()}, next(iter(tables.values())))
    return {
        "k": int(k), "parties": int(parties), "mode": mode, "rounds": plan.rounds,
        "MB a party": round(plan.bytes / int(parties) / 1e6),
    }  # fmt: skip


def in_process(study: Study, rows: int) -> tuple[Release, Row]:
    """Runs all parties in this process on Adult resampled to so many rows; the release, and what the run took."""
    data = deal(study, _adult.resampled(_adult.people(), rows), seed=seed_of(1))
    before, held = load(), peak_megabytes()
    begun, worked = time.perf_counter(), time.process_time()
    release = covey.simulate(study, data, seed=1)
    seconds, work = time.perf_counter() - begun, time.process_time() - worked
    numbers = next(line for line in release.ledger["p00"] if "in numbers" in line)
    return release, {
        "tests": int(numbers.partition("in numbers: ")[2].split()[0]), "s, all in one process": round(seconds, 1),
        "CPU s a party": round(work / 3, 1), "MB of memory, all parties": peak_megabytes(),
        "MB of these before the run": held, "load before": before,
    }  # fmt: skip


def one_growth(text: str) -> Row:
    """One run of three parties in this process: rows, k and mode; CPU is divided by the number of parties."""
    rows, k, mode = text.split(":")
    release, took = in_process(study_of(int(k), 3, f'mode = "{mode}"'), int(rows))
    return {
        "rows": int(rows), "k": int(k), "parties": 3, "mode": mode, "lm": round(release.loss.lm or 0.0, 4),
        "rounds": release.summary["rounds"], "MB a party": round(int(str(release.summary["bytes"])) / 3e6), **took,
    }  # fmt: skip


def one_effort(text: str) -> Row:
    """One run of three parties in this process: k and the effort."""
    k, effort = text.split(":")
    return {"effort": effort, **_sent(int(k), replace(study_of(int(k), 3, 'mode = "wave"'), effort=effort))}


def one_lending(text: str) -> Row:
    """One run of three parties in this process: k, and whether classes lend."""
    k, lend = text.split(":")
    return {"lend": lend, **_sent(int(k), study_of(int(k), 3, f'mode = "wave"\nlend = {lend}'))}


def _sent(k: int, study: Study) -> Row:
    """What a run of three parties in waves sends and loses."""
    release = covey.simulate(study, deal(study, str(_adult.TABLE), seed=seed_of(1)), seed=1)
    return {
        "k": k, "parties": 3, "mode": "wave", "lm": round(release.loss.lm or 0.0, 5),
        "rounds": release.summary["rounds"], "MB a party": round(int(str(release.summary["bytes"])) / 3e6),
    }  # fmt: skip


def one_memory(text: str) -> Row:
    """One run of three parties in this process on 10,000 rows, with so many buckets per record: more tests alone."""
    _, took = in_process(study_of(10, 3, f'mode = "wave"\nbuckets = {text}'), 10_000)
    return {"k": 10, "parties": 3, "mode": "wave", "rows": 10_000, "buckets per record": int(text), **took}


def measure(one: Callable[[str], Row], every: str) -> Callable[[list[str]], Iterator[Row]]:
    """The part that measures each of these points in a process of its own, or those that are asked for."""
    return lambda asked: (apart(one, text) for text in asked or every.split(","))


def measure_tls(asked: list[str]) -> Iterator[Row]:
    """Each point of `tls`, by this tree alone or by COVEY_BENCH_BEFORE's and then by this one's."""
    earlier = earlier_tree()
    trees = [None] if earlier is None else [str(earlier), None]
    return (apart(one_tls, text, tree) for text in asked or DEFAULT.split(",") for tree in trees)


def measure_insider(asked: list[str]) -> Iterator[Row]:
    """An insider's attack: where it has k - 1 records of a light bucket, nobody else has one left there.

    The insider has half of the records, as with two parties: the larger its part, the more it learns. A fifth of the
    candidates are people of the others, the rest are like the insider's own people but for one cell.
    """
    for k in (10, 50):
        study = study_of(k, 3)
        tables = tables_of(study)
        nodes = list_nodes(study, tables["p0"].trees, marginals.ideal(study, list(tables.values()), True), 2000)
        for per_record in (1, 4, 16, None):
            found, wrong = rule_out(study, tables, nodes, per_record)
            yield {
                "k": k, "buckets per record": per_record or "one per tuple", "candidates": CANDIDATES,
                "ruled out": found, "of these wrongly": wrong,
            }  # fmt: skip


def rule_out(study: Study, tables: dict[str, Table], nodes: Ints, per_record: int | None) -> tuple[int, int]:
    """Counts the candidates whom the insider rules out as other parties' people, and those of them that they have."""
    k, trees = study.privacy.k, tables["p0"].trees
    lattice, seed = Lattice.of(trees), derive(study_seed(study), "insider")
    codes = np.concatenate([table.codes for table in tables.values()], axis=1)
    mine = np.zeros(codes.shape[1], dtype=bool)
    mine[Rng(seed).stream("mine").permutation(len(mine))[: len(mine) // 2]] = True
    others = codes[:, ~mine]
    true = others[:, Rng(seed).stream("true").permutation(others.shape[1])[: CANDIDATES // 5]]
    invented = _relatives(codes[:, mine], [tree.codes for tree in trees], CANDIDATES - true.shape[1], seed)
    people = np.concatenate([true, invented], axis=1)
    known = {tuple(person) for person in others.T.tolist()}
    real = np.array([tuple(person) in known for person in people.T.tolist()])
    left, open_case = np.ones(codes.shape[1], dtype=bool), np.ones(people.shape[1], dtype=bool)
    out = np.zeros(people.shape[1], dtype=bool)
    for number, levels in enumerate(nodes):
        if int(left.sum()) < k:
            break
        keys, theirs = lattice.keys(levels, codes), lattice.keys(levels, people)
        _, exact = np.unique(np.concatenate([keys, theirs], axis=1)[0], return_inverse=True)
        size = int(left.sum()) * (per_record or 0)
        bucket = exact
        if per_record is not None and math.prod(lattice.sizes(levels)) > size:
            bucket = np.concatenate([buckets(seed, size, each, number) for each in (keys, theirs)])
        rows, cases = bucket[: len(left)], bucket[len(left) :]
        width = int(bucket.max()) + 1
        total = np.bincount(rows[left], minlength=width)
        own = np.bincount(rows[left & mine], minlength=width)
        empty = (total < k) & (own == k - 1)
        out |= open_case & empty[cases]
        count = np.bincount(exact[: len(left)][left], minlength=int(exact.max()) + 1)
        open_case &= ~(count >= k)[exact[len(left) :]]
        left &= ~(count >= k)[exact[: len(left)]]
    return int(out.sum()), int((out & real).sum())


def _relatives(own: Ints, domains: list[int], number: int, seed: Secret) -> Ints:
    """People like the insider's own, but for one cell: those whom it is most likely to rule out."""
    stream = Rng(seed).stream("relatives")
    people = own[:, stream.words_below(own.shape[1], number).astype(np.int64)].copy()
    column = stream.words_below(len(domains), number).astype(np.int64)
    for place, domain in enumerate(domains):
        here = np.flatnonzero(column == place)
        people[place, here] = stream.words_below(domain, len(here)).astype(np.int32)
    return people


PARTS = {
    "loss": measure_loss,
    "tls": measure_tls,
    "plan": measure(one_plan, PLANNED),
    "growth": measure(one_growth, GROWTH),
    "efforts": measure(one_effort, EFFORTS),
    "lend": measure(one_lending, LENT),
    "memory": measure(one_memory, "1,4,16,64"),
    "insider": measure_insider,
}


def run(arguments: list[str]) -> None:
    """Measures a part, or some points of it, or all; results/peel.json keeps the rows."""
    if _adult.is_here():
        run_parts("peel", PARTS, KEYS, arguments)
