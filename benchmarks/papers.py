"""The tables of `covey bench papers`, kept: the papers' figures in form, on Adult, as docs/protocols shows them.

`python -m benchmarks papers [NAME…]` runs whole experiments by their names in `covey bench`, without a name all of them
one by one: from a minute to a quarter of an hour (`cluster`) each. `--quick` is that of `covey bench`: smaller tables,
under five minutes for all. The tables of an experiment replace those that results/papers.json had of it. Seconds are
those of this machine.
"""

from __future__ import annotations

import json
import time
from collections import Counter

from benchmarks import _adult
from benchmarks._measuring import RESULTS, Row, load
from covey.bench.findings import Setting
from covey.bench.papers import MODULES, find

KEPT = RESULTS / "papers.json"


def run(arguments: list[str]) -> None:
    """Runs the experiments that are named, or all, and keeps their tables."""
    if not _adult.is_here():
        return
    quick = "--quick" in arguments
    for name in [argument for argument in arguments if argument != "--quick"] or MODULES:
        load_before, start = load(), time.process_time()
        setting = Setting(quick=quick, adult=_adult.FOLDER, tell=lambda sentence: print(sentence, flush=True))
        findings = find(name).run(setting)
        verdicts = Counter(str(claim.holds) for claim in findings.claims)
        description: Row = {
            "quick": quick,
            "CPU s": round(time.process_time() - start, 1),
            "load before": load_before,
            **verdicts,
        }
        tables_kept: dict[str, list[Row]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        tables_kept = {part: rows for part, rows in tables_kept.items() if part.partition(":")[0] != name} | {
            name: [description]
        }
        for table in findings.tables:
            tables_kept[f"{name}: {table.title}"] = [dict(zip(table.head, cells, strict=True)) for cells in table.rows]
        print(name, json.dumps(description), flush=True)
        KEPT.write_text(json.dumps(tables_kept, indent=1) + "\n")
