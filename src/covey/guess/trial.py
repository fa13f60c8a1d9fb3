"""A draft tried on the data before anybody sees it: what would be left of its columns, and who would be singled out.

Labels of quasi columns are borne by k rows or more, and so are two of them together. A label and the value of an open
column can be one row's alone: open columns lose values, or are held back, until that happens to few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from covey import table
from covey.anonymizers import anonymize
from covey.anonymizers.build import build, class_of_row
from covey.arrays import Bits, Ints
from covey.schema import Role
from covey.sources import Source
from covey.study import Study

MOST_ROWS = 10_000  # that a trial reads: a part of a larger table, in which more people are alone
_GOAL = 0.045  # of the rows may be alone in two published cells; fewer in a small table, where chance does more
_DEAD = 0.9  # of a column's detail lost
_PUBLISHED = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)


@dataclass(frozen=True)
class Trial:
    """The outcome of a trial: the published cells of each column as codes, and what the quasi columns lose."""

    cells: Mapping[str, Ints]
    lost: Mapping[str, float]  # by quasi column
    suppressed: Mapping[str, float]  # by quasi column: the part of the rows that say nothing
    rows: int

    def dead(self) -> list[str]:
        """Returns the quasi columns of which little is left, the worst first."""
        dead = [name for name, lost in self.lost.items() if lost >= _DEAD or self.suppressed[name] > 0.5]
        return sorted(dead, key=lambda name: -self.lost[name])

    @property
    def tolerated(self) -> float:
        """Returns the part of the rows that may be alone in two cells of the trial."""
        return _GOAL - 0.5 / math.sqrt(max(self.rows, 400))

    def alone(self) -> dict[tuple[str, str], Bits]:
        """Returns the rows that are alone in a pair of cells, by pair of columns of which one is open."""
        opened = [name for name in self.cells if name not in self.lost]
        pairs = [*combinations(opened, 2), *((one, other) for one in self.lost for other in opened)]
        return {pair: _alone(self.cells[pair[0]], self.cells[pair[1]]) for pair in pairs}


def _alone(one: Ints, other: Ints) -> Bits:
    both = one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other
    _, place, counts = np.unique(both, return_inverse=True, return_counts=True)
    return np.asarray(counts[place] == 1)


def run(text: str, files: Mapping[str, str], sources: Sequence[Source], effort: str) -> Trial:
    """Tries a study on rows of the tables. Raises Unmet where its l cannot be kept."""
    study = Study.parse(text, files={path: content.encode() for path, content in files.items()})
    columns = study.of_role(*_PUBLISHED)
    reading = table.read(_sample(sources, [column.name for column in columns]), columns, "the table")
    built = build(table.build(reading, study))
    found = anonymize(built.problem, options={"effort": effort})
    group = class_of_row(built, found)
    rows = np.flatnonzero(group >= 0)
    nodes = found.nodes[group[rows]]
    cells: dict[str, Ints] = {values.column.name: values.codes[rows] for values in built.table.carried}
    lost, suppressed = {}, {}
    for place, (column, tree) in enumerate(zip(built.table.quasi, built.table.trees, strict=True)):
        code = nodes[:, place]
        cells[column.name] = code
        lost[column.name] = float(np.mean((tree.sizes[code] - 1) / max(int(tree.sizes[tree.root]) - 1, 1)))
        suppressed[column.name] = float(np.mean(code == tree.root))
    return Trial(cells, lost, suppressed, len(rows))


def _sample(sources: Sequence[Source], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields every row, or as many evenly chosen ones as a trial reads."""
    step = -(-sum(source.rows for source in sources) // MOST_ROWS) or 1
    for source in sources:
        for batch in source.batches(names):
            yield batch if step == 1 else batch.take(pa.array(range(0, batch.num_rows, step)))
