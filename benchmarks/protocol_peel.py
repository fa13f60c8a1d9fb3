"""`peel` on Adult: three holders as processes over TLS, and what a plan foretells of the same run.

`python -m benchmarks peel` measures every point, `… peel 10:2:detect:30:100mbit` one: k, `k_insider`, `cheating`,
latency in ms and, if it is limited, the bandwidth of the line. The table is looked for beside the project
(shared/data/adult). The release is compared with the trusted party's.

Before and after in one run: COVEY_BENCH_BEFORE names another tree of the project, such as `git worktree add ../before
COMMIT` has made, with the environment in its `.venv` if there is one. Each point is then measured by that tree's `covey
simulate` first. `make bench-before` does all this for 0.2.0, at k = 10 and 50.
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
POINTS = ("10:1:detect:0", "10:2:detect:0", "10:2:trust:0", "50:2:detect:0", "50:2:trust:0")
KEYS = ("k", "k_insider", "cheating", "latency ms", "bandwidth", "tree")
"""The keys of a row; a second measurement with the same keys replaces the first."""


def study_text(k: int, insider: int, cheating: str = "detect") -> str:
    """Returns the study file of Adult among three holders."""
    head = _adult.head("peel", "horizontal", k, f'cheating = "{cheating}"').replace(
        "k_insider = 1", f"k_insider = {insider}"
    )
    return head + _adult.quasi_columns() + _adult.SALARY + _adult.parties(HOLDERS)


def one(text: str, tree: str | None = None) -> Row:
    """Returns one run by this tree or by an earlier one; CPU of all processes, divided, and the largest's memory."""
    k, insider, cheating, latency, *line = text.split(":")
    load_before = load()
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        written = study_text(int(k), int(insider), cheating)
        if tree is not None:  # keys that 0.2.0 did not know
            lines = written.splitlines(keepends=True)
            written = "".join(line for line in lines if not line.startswith(("singles_out", "cheating")))
        study = _adult.save_study(written, Path(scratch, "study"))
        hands = deal(study, str(_adult.TABLE), seed=seed_of(1))
        source = ROOT if tree is None else Path(tree)
        outcome = over_tls(study, hands, Path(scratch, "out"), float(latency) / 1000, line[0] if line else None, source)
    ideal = None if tree else of_study(study).ideal(study, load_all(study, hands)).release
    return {
        "k": int(k), "k_insider": int(insider), "cheating": cheating, "latency ms": int(latency),
        "bandwidth": line[0] if line else None, **({"tree": "before"} if tree else {}), "lm": outcome.lm,
        **({} if ideal is None else {"as the trusted party's": canonical_csv(arrange(ideal)) == outcome.release}),
        "soundness bits": outcome.summary.get("soundness_bits"), "rounds": outcome.summary["rounds"],
        "MB a party": round(outcome.megabytes / HOLDERS),
        "s": outcome.summary["seconds"], "CPU s a party": round(outcome.cpu / HOLDERS, 1),
        "MB of memory, the largest party": peak_megabytes(resource.RUSAGE_CHILDREN), "load before": load_before,
    }  # fmt: skip


def measure(points: list[str]) -> Iterator[Row]:
    """Measures each point, by COVEY_BENCH_BEFORE's tree if it is named, and then by this one."""
    earlier = earlier_tree()
    trees = [None] if earlier is None else [str(earlier), None]
    return (apart(one, text, tree) for text in points or POINTS for tree in trees)


def run(arguments: list[str]) -> None:
    """Measures all points, or those that are named; results/peel.json keeps the rows."""
    if _adult.is_here():
        run_parts("peel", {"tls": measure}, KEYS, ["tls", *arguments])
