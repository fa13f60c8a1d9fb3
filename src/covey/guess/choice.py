"""The columns that a draft publishes, chosen by trials: at most eight quasi, and open ones while few rows are alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from covey.errors import InputError, Unmet
from covey.guess.columns import ColumnValues
from covey.guess.roles import MOST_QUASI, SURPLUS, TELLING, Guess, as_role, fewer_values, hold_back, without_surplus
from covey.guess.trial import Trial
from covey.schema import Role

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
        chosen: frozenset[str],
    ) -> None:
        self.guesses, self._columns, self._k, self._attempt, self._chosen = list(guesses), columns, k, attempt, chosen
        self._as_quasi, self._effort = as_quasi, "quick"
        self._place = {each.name: place for place, each in enumerate(guesses)}

    def settle(self) -> list[Guess]:
        """Returns the guesses, with those held back that ruin others or single people out."""
        while any(each.role is Role.QUASI for each in self.guesses):
            trial = self._tried()
            if trial is None:
                break
            dead = [name for name in trial.dead() if name not in self._chosen]
            if dead and len(trial.lost) > 1:
                self._hold_back(dead[0], "beside the others little would be left of it", SURPLUS)
            elif not self._narrow(trial):
                if self._effort == "normal":
                    break
                self._effort = "normal"
        return self.guesses

    def _tried(self) -> Trial | None:
        """The trial of these guesses, without l where none can be kept; None where the table cannot be anonymized."""
        for keep in (True, False):
            self.guesses = [
                replace(each, lines=tuple(line for line in each.lines if keep or not line.startswith("l = ")))
                for each in self.guesses
            ]
            try:
                return self._attempt(self.guesses, self._effort)
            except (Unmet, InputError):
                continue
        return None

    def _narrow(self, trial: Trial) -> bool:
        """Takes values from the open column that singles out the most rows; returns False where few are singled out."""
        alone = {pair: rows for pair, rows in trial.alone().items() if rows.any()}
        if not alone or np.logical_or.reduce(list(alone.values())).mean() <= trial.tolerated:
            return False
        opened = {name for pair in alone for name in pair if name not in trial.lost} - self._chosen
        if not opened:
            return False
        rows = {
            name: np.logical_or.reduce([each for pair, each in alone.items() if name in pair]).sum()
            for name in sorted(opened)
        }
        free = MOST_QUASI - len(trial.lost)
        for name in sorted(rows, key=lambda name: -rows[name])[: max(1, len(rows) // 4)]:
            place, column = self._place[name], self._columns[self._place[name]]
            values = len(np.unique(trial.cells[name]))
            found = fewer_values(column, self._k, max(2, values * 2 // 3)) if values > 2 else None
            found = None if found == self.guesses[place] else found
            if free > 0 and self.guesses[place].role is Role.PLAIN and len(rows) <= 2 * free:
                free -= 1
                self.guesses[place] = self._as_quasi(column)
            elif found is None:
                self._hold_back(name, "it and another column would single people out", TELLING)
            else:
                self.guesses[place] = found
        return True

    def _hold_back(self, name: str, why: str, question: str) -> None:
        place = self._place[name]
        self.guesses[place] = hold_back(self.guesses[place], self._columns[place], why, question)


def ensure_quasi(guesses: Sequence[Guess], columns: Sequence[ColumnValues], k: int, ages_on: date) -> list[Guess]:
    """The guesses; where no column is known to others, the open ones are quasi: in doubt a column is to hide."""
    if any(each.role is Role.QUASI for each in guesses):
        return list(guesses)
    return without_surplus(
        [
            as_role(column, Role.QUASI, k, ages_on) if each.fate == "open" else each
            for each, column in zip(guesses, columns, strict=True)
        ],
        columns,
    )
