"""Runs beside their plans: the samples' first rows, and made-up tables that are wide or long."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tests.harness import generalize_cases, suppress_cases
from tests.harness.federate_cases import lasting_of
from tests.harness.harness import answers, run, spent
from tests.harness.spent import Spent
from tests.harness.trial import Trial

from covey.party.session.data import load_table
from covey.party.simulate.demo import prepare
from covey.party.simulate.in_process import simulate
from covey.protocols import Forecast, of_study
from covey.protocols.as_printed.federate.cost import of_run
from covey.protocols.as_printed.federate.ideal import divide
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.sources.source import connect
from covey.study import Study
from covey.table import Table


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
    """Runs the trial, and plans it with its first holder's own records where the protocol looks at these.

    What a run costs to the message is taken from the trial, where it says so: other tests hold runs to that.
    """
    if trial.cost is not None:
        return Compared(plan_of(trial, own=own), trial.cost)
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


def sample(protocol: str, rows: int | None = None, options: str = "") -> Trial:
    """A protocol's demonstration, with the first rows of each party, or all of them."""
    with tempfile.TemporaryDirectory() as folder:
        shown = prepare(protocol, Path(folder, "demo"))
        if options:
            file = Path(folder, "demo", "sample", "study.toml")
            file.write_text(f"{file.read_text()}\n{options}\n")
            shown = replace(shown, study=Study.load(file))
        frames = {}
        for party in shown.study.holders:
            names = [column.name for column in shown.study.held_by(party.name)]
            batches = connect(shown.data[party.name]).batches(names)
            frames[party.name] = pa.Table.from_batches(batches).rename_columns(names)
    key = shown.study.key
    if key is not None and rows is not None:  # the same people of everyone
        known = set.intersection(*(set(frame[key.name].to_pylist()) for frame in frames.values()))
        some = pa.array(sorted(known)[:rows])
        frames = {name: frame.filter(pc.is_in(frame[key.name], value_set=some)) for name, frame in frames.items()}
    tables: dict[str, Table | None] = dict.fromkeys(party.name for party in shown.study.parties)
    for name, frame in frames.items():
        tables[name] = load_table(shown.study, name, frame.slice(0, rows))
    return _trial(shown.study, tables)


def made_up(
    protocol: str, columns: int, rows: int, *, parties: int = 3, k: int = 5, options: str = "", apart: int = 3
) -> Trial:
    """Rows of several parties: numbers at most `apart` from one of each record's own, and a sensitive value."""
    text = _study(protocol, "horizontal", columns, k, options, f"rows_at_most = {rows}")
    study = Study.parse(text + "".join(f"[parties.p{place}]\n" for place in range(parties)))
    random = np.random.default_rng(1)
    tables: dict[str, Table | None] = dict.fromkeys(party.name for party in study.parties)
    for party in study.holders:
        tables[party.name] = load_table(study, party.name, _people(random, columns, rows, apart))
    return _trial(study, tables)


def made_up_columns(
    protocol: str, columns: int, rows: int, *, holders: int = 2, k: int = 5, options: str = "", roles: str = ""
) -> Trial:
    """The same columns dealt to several holders, the first of whom has the sensitive value."""
    text = _study(protocol, "vertical", columns, k, options) + '[columns.id]\nrole = "key"\n'
    names = [f"p{place}" for place in range(holders)]
    held = {name: [f"q{place}" for place in range(columns) if place % holders == own] for own, name in enumerate(names)}
    held["p0"].append("ill")
    text += "".join(f"[parties.{name}]\ncolumns = {own}\n" for name, own in held.items())
    text += "".join(f'[parties.{role}]\nrole = "{role}"\n' for role in roles.split())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "population.csv").write_text("".join(f"{number}\n" for number in range(2 * rows)))
        study = Study.parse(text, folder)
    random = np.random.default_rng(1)
    whole = _people(random, columns, rows, 3)
    tables: dict[str, Table | None] = dict.fromkeys(party.name for party in study.parties)
    for place, (name, own) in enumerate(held.items()):
        strangers = place * rows // 2 if protocol == "federate" else 0
        ids = pa.array([str(number + strangers) for number in range(rows)])
        tables[name] = load_table(study, name, pa.table({"id": ids, **{each: whole[each] for each in own}}))
    return _trial(study, tables)


def survey(protocol: str, rows: int, columns: int = 0, *, k: int = 5) -> Compared:
    """A collection among so many respondents, of the demonstration or with made-up columns, beside its plan."""
    with tempfile.TemporaryDirectory() as folder:
        shown = prepare(protocol, Path(folder, "demo"))
        study = shown.study
        names = [column.name for column in study.columns]
        batches = connect(shown.data["respondents"]).batches(names)
        frame = pa.Table.from_batches(batches).rename_columns(names).slice(0, rows)
    if columns:
        options = "as_printed = true\ngrid = 4096" if protocol == "collect" else ""
        text = _study(of_study(study).name, "respondents", columns, k, options)
        text += "".join(f'[parties.{party.name}]\nrole = "{party.role}"\n' for party in study.parties)
        study = Study.parse(text)
        frame = _people(np.random.default_rng(1), columns, rows, 3)
    found = simulate(study, {"respondents": frame}, seed=1).summary
    taken = [int(str(found[name])) for name in ("rounds", "messages", "bytes")]
    return Compared(of_study(study).foresee(study, {"respondents": rows}), Spent(*taken))


def _study(protocol: str, partition: str, columns: int, k: int, options: str, head: str = "") -> str:
    ours = {"cluster": 'calls = "turn"' if partition == "horizontal" else "", "suppress": 'compare = "bins"'}
    if protocol in ("cluster", "suppress", "generalize", "federate"):
        options += f"\nas_printed = true\n{ours.get(protocol, '')}"
    text = f'[study]\nname = "made up"\nprotocol = "{protocol}"\npartition = "{partition}"\n{head}\n'
    text += f"[privacy]\nk = {k}\n[protocol]\n{options}\n"
    for place in range(columns):
        text += f'[columns.q{place}]\nrole = "quasi"\nhierarchy = {{ min = 0, max = 19, steps = [5, 10] }}\n'
    return text + '[columns.ill]\nrole = "sensitive"\nvalues = ["a", "b", "c", "d"]\nsingles_out = "nobody is real"\n'


def _people(random: np.random.Generator, columns: int, rows: int, apart: int) -> pa.Table:
    near = random.integers(0, 20, rows) + random.integers(-apart, apart + 1, (columns, rows))
    cells = {f"q{place}": own.astype(str) for place, own in enumerate(np.clip(near, 0, 19))}
    return pa.table({**cells, "ill": np.array(["a", "b", "c", "d"])[random.integers(0, 4, rows)]})


def _trial(study: Study, tables: Mapping[str, Table | None]) -> Trial:
    """A trial of the study's protocol, with its cost where that follows from the tables to the message."""
    held = {name: table for name, table in tables.items() if table is not None}
    count = EXACT.get(study.protocol or "")
    cost = None if count is None else count(study, held)
    return Trial(study, of_study(study), tables, {}, lambda name, finished: None, cost)


def _federated(study: Study, tables: Mapping[str, Table]) -> Spent:
    """The cost of the division that a trusted party finds with the harness's keys."""
    params = Parameters.of(study)
    owns = [OwnUsers.of(params, tables[name], lasting_of(name)) for name in params.providers]
    division = divide(params, owns)
    labels = sum(len(text) for own in owns for group in division.leaves for text in own.box(group.members))
    found = of_run(params, division, labels)
    return Spent(found.rounds, found.messages, found.bytes)


EXACT: Mapping[str, Callable[[Study, Mapping[str, Table]], Spent]] = {
    "federate": _federated,
    "generalize": generalize_cases.cost_of,
    "suppress": suppress_cases.cost_of,
}
