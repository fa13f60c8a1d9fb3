"""The journals of every protocol, on the sample that shows it: how much a party reads, and how much it keeps of that.

    python -m benchmarks journals [ROWS [PROTOCOL…]]

Each party has its first ROWS rows (300 unless said otherwise). `all` is the journal from which a run can be replayed,
`hashes` that of a run with `--journal 0`, from which it can be resumed; each is the largest of any party. A collection
is left out: it keeps all that it reads, because a respondent who has left cannot say it again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from tests.harness.harness import answers
from tests.harness.harness import run as run_trial
from tests.harness.trial import Trial

from benchmarks._measuring import print_figures
from covey.party.record.names import JOURNAL
from covey.party.session.data import load_table
from covey.party.session.journal import EVERYTHING
from covey.party.simulate.demo import prepare
from covey.protocols import of_study
from covey.sizes import spell
from covey.sources.source import connect
from covey.study import Study

PROTOCOLS = ("count", "suppress", "cluster", "generalize", "federate")
ROWS = 300


def run(arguments: list[str]) -> None:
    """Measures everything and prints a table."""
    rows = int(arguments[0]) if arguments else ROWS
    print_figures((f"{name}, {rows} rows each", figure(sample(name, rows))) for name in arguments[1:] or PROTOCOLS)


def figure(trial: Trial) -> str:
    """The most that any party reads, and the largest journals."""
    read, sizes = 0, []
    with tempfile.TemporaryDirectory() as root:
        for limit in (EVERYTHING, 0):
            folder = Path(root, str(limit))
            ends = run_trial(trial, seed=1, folder=folder, limit=limit)
            answers(trial, ends)
            sizes.append(max((folder / name / JOURNAL).stat().st_size for name in ends))
            read = max(
                sum(
                    entry.size
                    for pair, entries in end.transcript.entries.items()
                    for entry in entries
                    if pair[1] == name
                )
                for name, end in ends.items()
            )
    return f"reads {spell(read)}, all {spell(sizes[0])}, hashes {spell(sizes[1])}"


def sample(protocol: str, rows: int) -> Trial:
    """The protocol's demonstration, with the first rows of each party."""
    with tempfile.TemporaryDirectory() as folder:
        demo = prepare(protocol, Path(folder, "demo"))
        tables = {
            party.name: load_table(demo.study, party.name, _first(demo.study, party.name, demo.data, rows))
            for party in demo.study.parties
        }
    return Trial(demo.study, of_study(demo.study), tables, {}, lambda name, finished: None)


def _first(study: Study, party: str, data: dict[str, str], rows: int) -> pa.Table | None:
    if party not in data:
        return None
    names = [column.name for column in study.held_by(party)]
    return pa.Table.from_batches(connect(data[party]).batches(names)).rename_columns(names).slice(0, rows)
