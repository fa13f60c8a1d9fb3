"""Runs beside their plans: the samples' first rows, and made-up tables that are wide or long."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.harness.harness import answers, run, spent
from tests.harness.spent import Spent
from tests.harness.trial import Trial

from covey.party.session.data import load_table
from covey.party.simulate.demo import prepare
from covey.protocols import Forecast, of_study
from covey.sources.source import connect
from covey.study import Study


@dataclass(frozen=True)
class Compared:
    """A plan, and what the run took."""

    plan: Forecast
    run: Spent

    def off(self) -> dict[str, float]:
        """How many times the plan the run took: rounds, messages, bytes."""
        names = ("rounds", "messages", "bytes")
        return {name: round(getattr(self.run, name) / getattr(self.plan, name), 2) for name in names}


def compare(trial: Trial, *, own: bool = True) -> Compared:
    """Runs the trial, and plans it with its first holder's own records where the protocol looks at these."""
    ends = run(trial, seed=1)
    answers(trial, ends)
    return Compared(plan_of(trial, own=own), spent(ends))


def plan_of(trial: Trial, *, own: bool = True) -> Forecast:
    """The plan of a trial, with the numbers of rows as they are."""
    held = {name: table for name, table in trial.tables.items() if table is not None}
    rows = {name: table.rows for name, table in held.items()}
    if own and trial.protocol.rehearse is not None:
        return trial.protocol.rehearse(trial.study, rows, next(iter(held.values())))
    return trial.protocol.foresee(trial.study, rows)


def sample(protocol: str, rows: int, partition: str = "", options: str = "") -> Trial:
    """A protocol's demonstration, with the first rows of each party."""
    with tempfile.TemporaryDirectory() as folder:
        shown = prepare(protocol, Path(folder, "demo"))
        tables = {}
        for party in shown.study.parties:
            frame = None
            if party.name in shown.data:
                names = [column.name for column in shown.study.held_by(party.name)]
                batches = connect(shown.data[party.name]).batches(names)
                frame = pa.Table.from_batches(batches).rename_columns(names).slice(0, rows)
            tables[party.name] = load_table(shown.study, party.name, frame)
    return Trial(shown.study, of_study(shown.study), tables, {}, lambda name, finished: None)


def made_up(
    protocol: str, columns: int, rows: int, *, parties: int = 3, k: int = 5, options: str = "", apart: int = 3
) -> Trial:
    """Rows of several parties: numbers at most `apart` from one of each record's own, and a sensitive value."""
    text = f'[study]\nname = "made up"\nprotocol = "{protocol}"\npartition = "horizontal"\nrows_at_most = {rows}\n'
    text += f"[privacy]\nk = {k}\n[protocol]\n{options}\n"
    for place in range(columns):
        text += f'[columns.q{place}]\nrole = "quasi"\nhierarchy = {{ min = 0, max = 19, steps = [5, 10] }}\n'
    text += '[columns.ill]\nrole = "sensitive"\nvalues = ["a", "b", "c", "d"]\n'
    text += "".join(f"[parties.p{place}]\n" for place in range(parties))
    study = Study.parse(text)
    random = np.random.default_rng(1)
    tables = {}
    for party in study.parties:
        near = random.integers(0, 20, rows) + random.integers(-apart, apart + 1, (columns, rows))
        cells = {f"q{place}": own.astype(str) for place, own in enumerate(np.clip(near, 0, 19))}
        frame = pa.table({**cells, "ill": np.array(["a", "b", "c", "d"])[random.integers(0, 4, rows)]})
        tables[party.name] = load_table(study, party.name, frame)
    return Trial(study, of_study(study), tables, {}, lambda name, finished: None)
