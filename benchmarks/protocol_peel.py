"""`peel` on Adult: three holders as processes over TLS, and what a plan foretells of the same run.

`python -m benchmarks peel` measures every point, `… peel 10:2:30:100mbit` one: k, `k_insider`, latency in ms and, if it
is limited, the bandwidth of the line. The table is looked for beside the project (shared/data/adult). The release is
compared with the trusted party's.

Before and after in one run: COVEY_BENCH_BEFORE names another tree of the project, such as `git worktree add ../before
COMMIT` has made, with the options of its time. Each point is then measured by that tree's `covey simulate` first.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import _adult
from benchmarks._measuring import ROOT, Row, apart, earlier_tree, load, over_tls, peak_megabytes, run_parts
from covey.bench.dataset import load as load_all
from covey.party.simulate.deal import deal, seed_of
from covey.protocols import of_study
from covey.sources.release import arrange, canonical_csv

HOLDERS = 3
POINTS = ("10:1:0", "10:2:0", "50:2:0")
KEYS = ("k", "k_insider", "latency ms", "bandwidth", "tree")
"""The keys of a row; a second measurement with the same keys replaces the first."""


def study_text(k: int, insider: int) -> str:
    """Returns the study file of Adult among three holders."""
    head = _adult.head("peel", "horizontal", k).replace("k_insider = 1", f"k_insider = {insider}")
    return head + _adult.quasi_columns() + _adult.SALARY + _adult.parties(HOLDERS)


def one(text: str, tree: str | None = None) -> Row:
    """Returns one run by this tree or by an earlier one; CPU of all processes, divided, and the largest's memory."""
    k, insider, latency, *line = text.split(":")
    before = load()
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        study = _adult.save_study(study_text(int(k), int(insider)), Path(scratch, "study"))
        dealt = deal(study, str(_adult.TABLE), seed=seed_of(1))
        by = ROOT if tree is None else Path(tree)
        done = over_tls(study, dealt, Path(scratch, "out"), float(latency) / 1000, line[0] if line else None, by)
    ideal = None if tree else of_study(study).ideal(study, load_all(study, dealt)).release
    return {
        "k": int(k), "k_insider": int(insider), "latency ms": int(latency), "bandwidth": line[0] if line else None,
        **({"tree": "before"} if tree else {}), "lm": done.lm,
        **({} if ideal is None else {"as the trusted party's": canonical_csv(arrange(ideal)) == done.release}),
        "rounds": done.summary["rounds"], "MB a party": round(done.megabytes / HOLDERS),
        "s": done.summary["seconds"], "CPU s a party": round(done.cpu / HOLDERS, 1),
        "MB of memory, the largest party": peak_megabytes(resource.RUSAGE_CHILDREN), "load before": before,
    }  # fmt: skip


def measure(asked: list[str]) -> Iterator[Row]:
    """Measures each point, by COVEY_BENCH_BEFORE's tree if it is named, and then by this one."""
    earlier = earlier_tree()
    trees = [None] if earlier is None else [str(earlier), None]
    return (apart(one, text, tree) for text in asked or POINTS for tree in trees)


def run(arguments: list[str]) -> None:
    """Measures all points, or those that are named; results/peel.json keeps the rows."""
    if _adult.is_here():
        run_parts("peel", {"tls": measure}, KEYS, ["tls", *arguments])
