"""`peel` on Adult: its loss beside that of parties alone, what a run costs, and what an insider can rule out.

`tls`: the parties are processes over TLS, with and without latency, and the release is compared with the trusted
party's. `growth`: larger tables like Adult, all parties in one process over memory. The table is looked for beside the
project (shared/data/adult). `python -m benchmarks peel loss|tls|growth|memory|insider` runs a part, `… benchmarks peel
tls 10:3:wave:0` one point of it (k, parties, mode, latency in ms); what was measured before is kept beside it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import covey
from covey.arrays import Ints
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.measures import lm
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.party.simulate.processes import Setting, simulate
from covey.protocols import find
from covey.protocols.peel.ideal import admits
from covey.protocols.peel.ideal import ideal as trusted
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.tuples import Lattice, buckets
from covey.protocols.shared.peeling import marginals
from covey.protocols.shared.peeling.classes import peel
from covey.protocols.shared.peeling.marginals import study_seed
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "peel.json"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
CANDIDATES = 20_000
ARX_POOLED = {10: 0.0744, 50: 0.1439}
"""ARX's local recoding of all rows, which needs somebody to trust: measured once, elsewhere, not by this benchmark."""
ARX_ALONE = {10: {3: 0.1126, 5: 0.1351, 10: 0.1728}, 50: {3: 0.2140, 5: 0.2541, 10: 0.3179}}
"""The same for each party's own rows, put together; rows dealt at random."""
DEFAULT = ",".join(f"{k}:{m}:wave:{ms}" for m in (3, 5, 10) for k in (10, 50) for ms in (0, 30)) + (
    ",10:3:visit:0,50:3:visit:0,10:3:visit:30,10:3:skip:0,10:2:wave:0,50:2:wave:0"
)
GROWTH = "30000:10:wave,100000:10:wave,300000:10:wave,1000000:10:wave,30000:50:wave,100000:50:wave,300000:50:wave"
KEYS = ("k", "parties", "dealt", "mode", "latency ms", "rows", "buckets per record")
"""What a row is of; a second measurement of the same replaces the first."""
Row = dict[str, object]


def study_text(k: int, parties: int, options: str = "") -> str:
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in QUASI)
    head = f'[study]\nname = "adult"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = {k}\n'
    rest = '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n'
    named = "".join(f"[parties.p{place}]\n" for place in range(parties))
    return f"{head}[protocol]\n{options}\n{columns}{rest}{named}"


def study_of(k: int, parties: int, options: str = "") -> Study:
    return Study.parse(study_text(k, parties, options), ADULT)


def hands(study: Study, skew: str | None = None) -> dict[str, Table]:
    dealt = deal(study, str(ADULT / "adult.csv"), skew=skew, seed=seed_of(1))
    tables = {name: load_table(study, name, frame) for name, frame in dealt.items()}
    return {name: table for name, table in tables.items() if table is not None}


def loss_of(tables: list[Table], k: int, study: Study) -> tuple[float, int]:
    """The records' summed loss after a clear peeling of these tables with their own list, and how many there are."""
    params = Parameters.of(study)
    listed = list_nodes(study, tables[0].trees, marginals.ideal(study, tables), params.nodes)
    codes = np.concatenate([table.codes for table in tables], axis=1)
    boxes, sizes, _ = peel(tables[0].trees, listed, codes, params.k, admits(params, tables))
    per_class = sum(lm(tree)[np.stack(boxes)[:, c]] for c, tree in enumerate(tables[0].trees)) / len(QUASI)
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
        tables = hands(study, skew)
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


def measure_tls(asked: list[str]) -> Iterator[Row]:
    """Processes over TLS on this machine: k, parties, mode and latency in ms, as in `10:3:wave:0`."""
    for text in asked or DEFAULT.split(","):
        yield _in_process_of_its_own("one-tls", text)


def one_tls(text: str) -> Row:
    """One run; CPU of all parties' processes, divided, and the largest one's memory."""
    k, parties, mode, latency = text.split(":")
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        shutil.copytree(ADULT, Path(scratch, "study"))
        Path(scratch, "study", "study.toml").write_text(study_text(int(k), int(parties), f'mode = "{mode}"'))
        study = Study.load(Path(scratch, "study", "study.toml"))
        dealt = deal(study, str(ADULT / "adult.csv"), seed=seed_of(1))
        paths = write_hands(dealt, Path(scratch, "hands"))
        summary = simulate(study, paths, Path(scratch, "out"), Setting(seed=seed_of(1), latency=float(latency) / 1000))
        released = Path(scratch, "out", "release.csv").read_bytes()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    tables = {name: table for name, hand in dealt.items() if (table := load_table(study, name, hand)) is not None}
    ideal, loss, ledger = trusted(study, tables), summary["loss"], summary["ledger"]
    numbers = next(str(line) for line in ledger if "in numbers" in str(line)) if isinstance(ledger, list) else ""
    return {
        "k": int(k), "parties": int(parties), "mode": mode, "latency ms": int(latency),
        "lm": round(float(loss["lm"]), 4) if isinstance(loss, dict) else None,
        "as the trusted party's": ideal.release is not None and canonical_csv(arrange(ideal.release)) == released,
        "rounds": summary["rounds"], "MB a party": round(int(str(summary["bytes"])) / int(parties) / 1e6),
        "s": summary["seconds"], "CPU s a party": round((spent.ru_utime + spent.ru_stime) / int(parties), 1),
        "MB of memory, the largest party": round(spent.ru_maxrss / 1e3),
        "opened": numbers.partition("in numbers: ")[2], "load before": _load(),
    }  # fmt: skip


def measure_growth(asked: list[str]) -> Iterator[Row]:
    """Adult resampled with a tenth of its cells redrawn, three parties in one process: rows, k, mode."""
    for text in asked or GROWTH.split(","):
        yield _in_process_of_its_own("one-growth", text)


def one_growth(text: str) -> Row:
    """One run of all parties in this process; CPU and memory divided by their number."""
    rows, k, mode = text.split(":")
    study = study_of(int(k), 3, f'mode = "{mode}"')
    data = deal(study, resampled(int(rows)), seed=seed_of(1))
    begun, worked = time.perf_counter(), time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    release = covey.simulate(study, data, seed=1)
    seconds, work = time.perf_counter() - begun, time.process_time() - worked
    numbers = next(line for line in release.ledger["p0"] if "in numbers" in line)
    tests = int(numbers.partition("in numbers: ")[2].split()[0])
    return {
        "rows": int(rows), "k": int(k), "parties": 3, "mode": mode, "lm": round(release.loss.lm or 0.0, 4),
        "tests": tests, "rounds": release.summary["rounds"],
        "MB a party": round(int(str(release.summary["bytes"])) / 3e6), "CPU s a party": round(work / 3, 1),
        "s, all in one process": round(seconds, 1),
        "MB of memory, all parties": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "MB of these before the run": round(before / 1e3), "load before": _load(),
    }  # fmt: skip


def measure_memory(asked: list[str]) -> Iterator[Row]:
    """The same table with more and more buckets: what grows is the number of tests alone."""
    for text in asked or ["1", "4", "16", "64"]:
        yield _in_process_of_its_own("one-memory", text)


def one_memory(text: str) -> Row:
    """One run of three parties in this process on 10,000 rows."""
    study = study_of(10, 3, f'mode = "wave"\nbuckets = {text}')
    data = deal(study, resampled(10_000), seed=seed_of(1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    release = covey.simulate(study, data, seed=1)
    numbers = next(line for line in release.ledger["p0"] if "in numbers" in line)
    return {
        "k": 10, "parties": 3, "mode": "wave", "rows": 10_000, "buckets per record": int(text),
        "tests": int(numbers.partition("in numbers: ")[2].split()[0]),
        "MB of memory, all parties": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "MB of these before the run": round(before / 1e3),
    }  # fmt: skip


def resampled(rows: int) -> pa.Table:
    """Rows of Adult drawn anew, a tenth of the cells each from its column alone."""
    whole = pyarrow.csv.read_csv(ADULT / "adult.csv", parse_options=pyarrow.csv.ParseOptions(delimiter=";"))
    random = np.random.default_rng(1)
    drawn = random.integers(whole.num_rows, size=rows)
    columns = {}
    for name in (*QUASI, "salary-class"):
        column = whole.column(name).cast(pa.string()).combine_chunks()
        elsewhere = random.random(rows) < (0.0 if name == "salary-class" else 0.1)
        columns[name] = column.take(pa.array(np.where(elsewhere, random.integers(whole.num_rows, size=rows), drawn)))
    return pa.table(columns)


def _in_process_of_its_own(what: str, text: str) -> Row:
    call = [sys.executable, "-m", "benchmarks.protocol_peel", what, text]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _load() -> float:
    """How many processes waited for this machine's cores before and during the run."""
    return round(os.getloadavg()[1], 1)


def measure_insider() -> Iterator[Row]:
    """An insider's attack: where it has k - 1 records of a light bucket, nobody else has one left there.

    The insider has half of the records, as with two parties: the larger its part, the more it learns. A fifth of the
    candidates are people of the others, the rest are like the insider's own people but for one cell.
    """
    for k in (10, 50):
        study = study_of(k, 3)
        tables = hands(study)
        nodes = list_nodes(study, tables["p0"].trees, marginals.ideal(study, list(tables.values())), 2000)
        for per_record in (1, 4, 16, None):
            found, wrong = rule_out(study, tables, nodes, per_record)
            yield {
                "k": k, "buckets per record": per_record or "one per tuple", "candidates": CANDIDATES,
                "ruled out": found, "of these wrongly": wrong,
            }  # fmt: skip


def rule_out(study: Study, tables: dict[str, Table], nodes: Ints, per_record: int | None) -> tuple[int, int]:
    """How many candidates the insider rules out as other parties' people, and how many of them they do have."""
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
        if per_record is not None and lattice.domain(levels) > size:
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


PARTS: dict[str, Callable[[list[str]], Iterator[Row]]] = {
    "loss": measure_loss,
    "tls": measure_tls,
    "growth": measure_growth,
    "memory": measure_memory,
    "insider": lambda asked: measure_insider(),
}


def run(asked: list[str] | None = None) -> None:
    """Measures, prints and keeps the figures; a part may be followed by the points that are wanted of it."""
    if not (ADULT / "adult.csv").exists():
        print("the Adult table (shared/data/adult beside the project) is not on this machine: nothing measured")
        return
    for name in [asked[0]] if asked else list(PARTS):
        for row in PARTS[name](asked[1:] if asked else []):
            print(row, flush=True)
            _keep(name, row)


def _keep(part: str, row: Row) -> None:
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    others = [old for old in kept.get(part, []) if any(old.get(key) != row.get(key) for key in KEYS)]
    kept[part] = [*others, row]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    ONE = {"one-tls": one_tls, "one-growth": one_growth, "one-memory": one_memory}
    if sys.argv[1:] and sys.argv[1] in ONE:
        print(json.dumps(ONE[sys.argv[1]](sys.argv[2])))
    else:
        run(sys.argv[1:])
