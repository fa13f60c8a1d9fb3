"""`peel` on Adult: its loss beside that of parties alone, what a run costs, and what an insider can rule out.

Each run is a process of its own, so that its memory is its own: all parties in one process over memory (CPU and memory
are then of all parties together, and divided), or processes over TLS with and without latency. The table is looked for
beside the project (shared/data/adult). `python -m benchmarks.peel loss|cost|tls|insider` runs a part.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import covey
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.measures import lm
from covey.party.data import load_table
from covey.party.deal import deal, seed_of, write_hands
from covey.party.simulate import Setting, simulate
from covey.protocols.peel import clear, marginals
from covey.protocols.peel.nodes import list_nodes, study_seed
from covey.protocols.peel.terms import Terms
from covey.protocols.peel.tuples import Grid, buckets
from covey.study import Study
from covey.table import Table

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "peel.json"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
CANDIDATES = 20_000
Longs = NDArray[np.int64]


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
    terms = Terms.of(study)
    listed = list_nodes(study, tables[0].trees, marginals.ideal(study, tables), terms.nodes)
    boxes, sizes, _ = clear.peel(terms, listed, tables)
    per_class = sum(lm(tree)[np.stack(boxes)[:, c]] for c, tree in enumerate(tables[0].trees)) / len(QUASI)
    records = sum(table.rows for table in tables)
    return float(np.dot(per_class, sizes)) + records - sum(sizes), records


def measure_loss() -> Iterator[dict[str, object]]:
    """Peel among m parties, whose release is the pooled one's, and parties alone whose releases are put together."""
    for k in (10, 50):
        for parties in (3, 5, 10):
            for skew in (None, "age"):
                study = study_of(k, parties)
                tables = hands(study, skew)
                joint, records = loss_of(list(tables.values()), k, study)
                alone = sum(loss_of([table], k, study)[0] for table in tables.values())
                yield {
                    "k": k, "parties": parties, "dealt": skew or "at random",
                    "peel": round(joint / records, 4), "alone, put together": round(alone / records, 4),
                }  # fmt: skip


def one_run(k: int, parties: int, mode: str) -> dict[str, object]:
    """One run over memory, in this process."""
    study = study_of(k, parties, f'mode = "{mode}"')
    data = deal(study, str(ADULT / "adult.csv"), seed=seed_of(1))
    begun, worked = time.perf_counter(), time.process_time()
    release = covey.simulate(study, data, seed=1)
    seconds, work = time.perf_counter() - begun, time.process_time() - worked
    summary = release.summary
    numbers = next(line for line in release.ledger["p0"] if "in numbers" in line)
    return {
        "k": k, "parties": parties, "mode": mode, "lm": round(release.loss.lm or 0.0, 4),
        "rounds": summary["rounds"], "MB a party": round(int(str(summary["bytes"])) / parties / 1e6),
        "CPU s a party": round(work / parties, 1), "s": round(seconds, 1),
        "MB of memory a party": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 / parties),
        "opened": numbers.split("in numbers: ")[1],
    }  # fmt: skip


def measure_cost() -> Iterator[dict[str, object]]:
    for parties in (3, 5, 10):
        for k in (10, 50):
            for mode in ("visit", "wave"):
                call = [sys.executable, "-m", "benchmarks.peel", "one", str(k), str(parties), mode]
                done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
                yield json.loads(done.stdout.splitlines()[-1])


def measure_tls() -> Iterator[dict[str, object]]:
    """Processes over TLS on this machine."""
    for k, mode, latency in ((10, "visit", 0.0), (10, "wave", 0.0), (10, "wave", 0.03), (50, "wave", 0.03)):
        with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
            shutil.copytree(ADULT, Path(scratch, "study"))
            Path(scratch, "study", "study.toml").write_text(study_text(k, 3, f'mode = "{mode}"'))
            study = Study.load(Path(scratch, "study", "study.toml"))
            paths = write_hands(deal(study, str(ADULT / "adult.csv"), seed=seed_of(1)), Path(scratch, "hands"))
            summary = simulate(study, paths, Path(scratch, "out"), Setting(seed=seed_of(1), latency=latency))
        loss = summary["loss"]
        yield {
            "k": k, "parties": 3, "mode": mode, "latency ms": round(latency * 1000), "s": summary["seconds"],
            "rounds": summary["rounds"], "lm": round(float(loss["lm"]), 4) if isinstance(loss, dict) else None,
        }  # fmt: skip


def measure_insider() -> Iterator[dict[str, object]]:
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


def rule_out(
    study: Study, tables: dict[str, Table], nodes: NDArray[np.int32], per_record: int | None
) -> tuple[int, int]:
    """How many candidates the insider rules out as other parties' people, and how many of them they do have."""
    k, trees = study.privacy.k, tables["p0"].trees
    grid, seed = Grid.of(trees), derive(study_seed(study), "insider")
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
        keys, theirs = grid.keys(levels, codes), grid.keys(levels, people)
        _, exact = np.unique(np.concatenate([keys, theirs], axis=1)[0], return_inverse=True)
        size = int(left.sum()) * (per_record or 0)
        bucket = exact
        if per_record is not None and grid.domain(levels) > size:
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


def _relatives(own: NDArray[np.int32], domains: list[int], number: int, seed: Secret) -> NDArray[np.int32]:
    """People like the insider's own, but for one cell: those whom it is most likely to rule out."""
    stream = Rng(seed).stream("relatives")
    people = own[:, stream.words_below(own.shape[1], number).astype(np.int64)].copy()
    column = stream.words_below(len(domains), number).astype(np.int64)
    for place, domain in enumerate(domains):
        here = np.flatnonzero(column == place)
        people[place, here] = stream.words_below(domain, len(here)).astype(np.int32)
    return people


PARTS = {"loss": measure_loss, "cost": measure_cost, "tls": measure_tls, "insider": measure_insider}


def run(asked: list[str] | None = None) -> None:
    """Measures, prints and keeps the figures."""
    if not (ADULT / "adult.csv").exists():
        print("the Adult table (shared/data/adult beside the project) is not on this machine: nothing measured")
        return
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in asked or list(PARTS):
        kept[name] = []
        for row in PARTS[name]():
            print(row, flush=True)
            kept[name].append(row)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one_run(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
    else:
        run(sys.argv[1:])
