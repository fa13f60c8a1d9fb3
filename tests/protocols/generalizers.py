"""Table 1 of Jiang and Clifton as two parties hold it, and runs of the rounds alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard
from tests.papers.test_paper_002 import AREAS, POSITIONS, ROWS, SALARIES

from covey.arrays import Longs
from covey.party.session.data import load_table
from covey.protocols.as_printed.generalize import rounds
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import Grouped, Regrouped, Resized, Sizes
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import Round
from covey.protocols.shared.columns import meeting
from covey.study import Study
from covey.table import Table
from covey.wire import Channel

STUDY = """
[study]
name = "faculty"
protocol = "generalize"
partition = "vertical"
[privacy]
k = {k}
[protocol]
as_printed = true
{options}
[columns.id]
role = "key"
[columns.AREA]
role = "quasi"
hierarchy = "area.csv"
[columns.POSITION]
role = "quasi"
hierarchy = "position.csv"
[columns.SALARY]
role = "quasi"
hierarchy = "salary.csv"
[parties.p1]
columns = ["AREA", "POSITION"]
[parties.p2]
columns = ["SALARY"]
"""


def lay_out(folder: Path, *, k: int = 3, options: str = "") -> Path:
    """The study of Table 1 and both parties' files in a folder; the study's path."""
    files = {
        "area.csv": [f"{leaf};{above};*" for above, leaves in AREAS.items() for leaf in leaves],
        "position.csv": [f"{leaf};{above};*" for above, leaves in POSITIONS.items() for leaf in leaves],
        "salary.csv": [
            f"{leaf};{low};{high};*" for high, below in SALARIES.items() for low, own in below.items() for leaf in own
        ],
        "p1.csv": ["id,AREA,POSITION", *(f"{n},{row[0]},{row[1]}" for n, row in enumerate(ROWS, start=1))],
        "p2.csv": ["id,SALARY", *(f"{n},{row[2]}" for n, row in enumerate(ROWS, start=1))],
        "study.toml": [STUDY.format(k=k, options=options)],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder / "study.toml"


def table_1(folder: Path, *, k: int = 3, options: str = "") -> tuple[Study, dict[str, Table]]:
    """The study, and each party's table in the order of the paper's ids."""
    study = Study.load(lay_out(folder, k=k, options=options))
    tables = {}
    for name in ("p1", "p2"):
        table = load_table(study, name, str(folder / f"{name}.csv"))
        assert table is not None
        tables[name] = table
    return study, tables


Outcomes = dict[str, Outcome[tuple[list[Round], Generalization]]]


def run_rounds(
    study: Study, tables: Mapping[str, Table], *, seed: int = 0, ids: Mapping[str, Sequence[str]] | None = None
) -> Outcomes:
    """The rounds alone, on tables that are aligned already."""
    parameters = Parameters.of(study)

    def role(name: str) -> Role[tuple[list[Round], Generalization]]:
        async def play(channel: Channel) -> tuple[list[Round], Generalization]:
            own = ids[name] if ids else meeting.keys_of(tables[name], name)
            local = Generalization.of(tables[name], parameters)
            played = await rounds.agree(channel, parameters, local, [each.encode() for each in own], lambda done: None)
            return played, local

        return play

    return run_parties({name: role(name) for name in tables}, seed=seed)


def groups_of(label: Longs) -> list[set[int]]:
    """A partition as sets of the paper's ids, in order of their smallest."""
    return sorted(({int(own) + 1 for own in np.flatnonzero(label == each)} for each in np.unique(label)), key=min)


def seen_lists(
    outcome: Outcome[object], peer: str, sizes: type[Sizes | Resized], points: type[Grouped | Regrouped]
) -> list[list[list[bytes]]]:
    """The lists of groups that a party had of its peer, one for each round, as lists of encrypted people."""
    rounds_of = []
    for size, listed in zip(heard(outcome, peer, sizes), heard(outcome, peer, points), strict=True):
        elements, members = list(listed.points), size.values.words.astype(int)
        rounds_of.append([elements[edge - own : edge] for edge, own in zip(np.cumsum(members), members, strict=True)])
    return rounds_of


def sent_out(outcome: Outcome[object], peer: str) -> list[list[list[bytes]]]:
    """What the peer sent of its own people."""
    return seen_lists(outcome, peer, Sizes, Grouped)


def sent_back(outcome: Outcome[object], peer: str) -> list[list[list[bytes]]]:
    """What the peer sent back of ours."""
    return seen_lists(outcome, peer, Resized, Regrouped)


def incidence(rows: Sequence[Sequence[bytes]], others: Sequence[Sequence[bytes]]) -> Longs:
    """How many elements each pair of groups shares."""
    return np.array([[len(set(row) & set(other)) for other in others] for row in rows])


def canonical(matrix: Longs) -> list[tuple[int, ...]]:
    """A matrix without the order of its rows and columns: the rows sorted, for the smallest order of columns.

    Enough to tell the small matrices of the tests apart: each row as its sorted counts, and each column likewise.
    """
    by_row = sorted(tuple(sorted(row)) for row in matrix.tolist())
    by_column = sorted(tuple(sorted(column)) for column in matrix.T.tolist())
    return [*by_row, *by_column]


def frame_of(cells: Mapping[str, Sequence[str]]) -> pa.Table:
    """A table of texts."""
    return pa.table({name: list(values) for name, values in cells.items()})
