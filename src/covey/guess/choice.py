"""The columns that a draft publishes, chosen by trials: at most eight quasi, and open ones while few rows are alone.

A draft is tried on the data before anybody sees it. Labels of quasi columns are borne by k rows or more, and so are two
of them together. A label and the value of an open column can be one row's alone: open columns lose values, or are held
back, until that happens to few rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations

import numpy as np
import pyarrow as pa

from covey import table
from covey.anonymizers import anonymize
from covey.anonymizers.build import build, class_of_row
from covey.arrays import Bits, Ints
from covey.errors import InputError, Unmet
from covey.guess.columns import ColumnValues
from covey.guess.roles import MOST_QUASI, SURPLUS, TELLING, Guess, as_role, fewer_values, hold_back, without_surplus
from covey.schema import Role
from covey.sources import Source
from covey.study import Study

MOST_ROWS = 10_000  # that a trial reads: a part of a larger table, in which more people are alone
_GOAL = 0.045  # of the rows may be alone in two published cells; fewer in a small table, where chance does more
_DEAD = 0.9  # of a column's detail lost
_PUBLISHED = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)


@dataclass(frozen=True)
class Trial:
    """The outcome of a trial: published cells as codes, and the loss of each quasi column."""

    cells: Mapping[str, Ints]
    losses: Mapping[str, float]  # by quasi column
    suppressed: Mapping[str, float]  # by quasi column: the part of the rows that say nothing
    rows: int

    def dead(self) -> list[str]:
        """Returns the quasi columns of which little is left, the worst first."""
        dead = [name for name, loss in self.losses.items() if loss >= _DEAD or self.suppressed[name] > 0.5]
        return sorted(dead, key=lambda name: -self.losses[name])

    @property
    def tolerated(self) -> float:
        """Returns the part of the rows that may be alone in two cells."""
        return _GOAL - 0.5 / math.sqrt(max(self.rows, 400))

    def alone(self) -> dict[tuple[str, str], Bits]:
        """Returns the rows that are alone in two cells, by pair of columns with an open one."""
        open_columns = [name for name in self.cells if name not in self.losses]
        pairs = [*combinations(open_columns, 2), *((first, second) for first in self.losses for second in open_columns)]
        return {pair: _alone(self.cells[pair[0]], self.cells[pair[1]]) for pair in pairs}


def _alone(first: Ints, second: Ints) -> Bits:
    pairs = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
    _, index, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(counts[index] == 1)


def run(text: str, files: Mapping[str, str], sources: Sequence[Source], effort: str) -> Trial:
    """Tries a study on rows of the tables. Raises Unmet where its l cannot be kept."""
    study = Study.parse(text, files={path: content.encode() for path, content in files.items()})
    columns = study.of_role(*_PUBLISHED)
    reading = table.read(_sample(sources, [column.name for column in columns]), columns, "the table")
    built = build(table.build(reading, study))
    partition = anonymize(built.problem, options={"effort": effort})
    group = class_of_row(built, partition)
    rows = np.flatnonzero(group >= 0)
    nodes = partition.nodes[group[rows]]
    cells: dict[str, Ints] = {values.column.name: values.codes[rows] for values in built.table.carried}
    losses, suppressed = {}, {}
    for index, (column, tree) in enumerate(zip(built.table.quasi, built.table.trees, strict=True)):
        code = nodes[:, index]
        cells[column.name] = code
        losses[column.name] = float(np.mean((tree.sizes[code] - 1) / max(int(tree.sizes[tree.root]) - 1, 1)))
        suppressed[column.name] = float(np.mean(code == tree.root))
    return Trial(cells, losses, suppressed, len(rows))


def _sample(sources: Sequence[Source], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields every row, or as many evenly chosen ones as a trial reads."""
    step = -(-sum(source.rows for source in sources) // MOST_ROWS) or 1
    for source in sources:
        for batch in source.batches(names):
            yield batch if step == 1 else batch.take(pa.array(range(0, batch.num_rows, step)))


Attempt = Callable[[Sequence[Guess], str], Trial]
"""Tries guesses with an effort: quick while columns change, then as a release is searched, whose labels are finer."""


class Choice:
    """The guesses of one table, changed trial by trial."""

    def __init__(
        self,
        guesses: Sequence[Guess],
        columns: Sequence[ColumnValues],
        k: int,
        as_quasi: Callable[[ColumnValues], Guess],
        attempt: Attempt,
        fixed: frozenset[str],
    ) -> None:
        self.guesses, self._columns, self._k, self._attempt, self._chosen = list(guesses), columns, k, attempt, fixed
        self._as_quasi, self._effort = as_quasi, "quick"
        self._place = {guess.name: index for index, guess in enumerate(guesses)}

    def settle(self) -> list[Guess]:
        """Returns the guesses, with those held back that ruin others or single people out."""
        while any(guess.role is Role.QUASI for guess in self.guesses):
            trial = self._tried()
            if trial is None:
                break
            dead = [name for name in trial.dead() if name not in self._chosen]
            if dead and len(trial.losses) > 1:
                self._hold_back(dead[0], "beside the others little would be left of it", SURPLUS)
            elif not self._narrow(trial):
                if self._effort == "normal":
                    break
                self._effort = "normal"
        return self.guesses

    def _tried(self) -> Trial | None:
        """The trial of these guesses, without l where none can be kept. None where the table cannot be anonymized."""
        for keep in (True, False):
            self.guesses = [
                replace(guess, lines=tuple(line for line in guess.lines if keep or not line.startswith("l = ")))
                for guess in self.guesses
            ]
            try:
                return self._attempt(self.guesses, self._effort)
            except (Unmet, InputError):
                continue
        return None

    def _narrow(self, trial: Trial) -> bool:
        """Takes values from the open column that singles out the most rows. Returns False where few are singled out."""
        singled = {pair: rows for pair, rows in trial.alone().items() if rows.any()}
        if not singled or np.logical_or.reduce(list(singled.values())).mean() <= trial.tolerated:
            return False
        candidates = {name for pair in singled for name in pair if name not in trial.losses} - self._chosen
        if not candidates:
            return False
        rows = {
            name: np.logical_or.reduce([mask for pair, mask in singled.items() if name in pair]).sum()
            for name in sorted(candidates)
        }
        free = MOST_QUASI - len(trial.losses)
        for name in sorted(rows, key=lambda name: -rows[name])[: max(1, len(rows) // 4)]:
            index, column = self._place[name], self._columns[self._place[name]]
            values = len(np.unique(trial.cells[name]))
            guess = fewer_values(column, self._k, max(2, values * 2 // 3)) if values > 2 else None
            guess = None if guess == self.guesses[index] else guess
            if free > 0 and self.guesses[index].role is Role.PLAIN and len(rows) <= 2 * free:
                free -= 1
                self.guesses[index] = self._as_quasi(column)
            elif guess is None:
                self._hold_back(name, "it and another column would single people out", TELLING)
            else:
                self.guesses[index] = guess
        return True

    def _hold_back(self, name: str, reason: str, question: str) -> None:
        index = self._place[name]
        self.guesses[index] = hold_back(self.guesses[index], self._columns[index], reason, question)


def ensure_quasi(guesses: Sequence[Guess], columns: Sequence[ColumnValues], k: int, ages_on: date) -> list[Guess]:
    """The guesses. Where no column is known to others, the open ones are quasi: in doubt a column is to hide."""
    if any(guess.role is Role.QUASI for guess in guesses):
        return list(guesses)
    return without_surplus(
        [
            as_role(column, Role.QUASI, k, ages_on) if guess.fate == "open" else guess
            for guess, column in zip(guesses, columns, strict=True)
        ],
        columns,
    )
