"""A respondent's record: asked for column by column, or read from a file, and held to what the study allows.

Wrong values are refused with the allowed ones. What was answered never stands in an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.cells import MISSING, is_not_finite, number, spell
from covey.errors import InputError
from covey.files import read_bytes
from covey.hierarchy import Hierarchy, Interval
from covey.plain import plain
from covey.protocols import of_study
from covey.schema import Column
from covey.study import Study
from covey.table import Table, build, read

SHOWN = 40
LARGEST = 1 << 20
Ask = Callable[[str], str]


@dataclass(frozen=True)
class Question:
    """The question of a column, and its allowed answers."""

    column: Column
    language: str = "en"

    @property
    def text(self) -> str:
        """The question as a person reads it."""
        labels = dict(self.column.label)
        name = labels.get(self.language) or next(iter(labels.values()), self.column.name.replace("_", " "))
        optional = "" if self.column.missing == "error" else "; leave it empty if you would rather not say"
        return f"{name} ({self.allowed}{optional})"

    @property
    def allowed(self) -> str:
        """The allowed answers, in words."""
        if (ends := self._range) is not None:
            return f"a number from {spell(ends[0])} to {spell(ends[1])}"
        values = self.values
        if values is None:
            return "any text"
        if self.column.kind == "number" and _whole(values):
            numbers = sorted(int(value) for value in values)
            if numbers == list(range(numbers[0], numbers[-1] + 1)):
                return f"a whole number from {numbers[0]} to {numbers[-1]}"
        shown = ", ".join(map(plain, values[:SHOWN]))
        return shown if len(values) <= SHOWN else f"{shown} and {len(values) - SHOWN:,} more"

    @property
    def values(self) -> list[str] | None:
        """Everything that may be answered; None where the study lists nothing."""
        column = self.column
        if isinstance(column.hierarchy, Hierarchy):
            leaves = column.hierarchy.labels[: column.hierarchy.leaves]
            return [label for label in leaves if label != MISSING]
        return None if column.values is None else list(column.values)

    @property
    def _range(self) -> tuple[Decimal, Decimal] | None:
        """The least and the greatest number of a column that is published as intervals."""
        tree = self.column.hierarchy
        return (
            None if not isinstance(tree, Interval) or tree.low is None or tree.high is None else (tree.low, tree.high)
        )

    def read(self, answer: str) -> str:
        """The answer in the study's spelling. Raises InputError with what is allowed, and without the answer."""
        cell = self.column.read(answer)
        if cell == MISSING:
            if self.column.missing == "error":
                raise InputError(f"column {self.column.name!r} needs an answer: {self.allowed}")
            return MISSING
        values = self.values
        if values is not None and cell not in values:
            near = _same_letters(cell, values)
            if near is None:
                raise InputError(f"column {self.column.name!r} allows {self.allowed}")
            return near
        ends, found = self._range, number(cell)
        if ends is not None and (found is None or not ends[0] <= found <= ends[1]):
            raise InputError(f"column {self.column.name!r} allows {self.allowed}")
        if is_not_finite(cell) and self.column.kind == "number":
            raise InputError(f"column {self.column.name!r} allows {self.allowed}")
        return cell


def questions(study: Study) -> list[Question]:
    """The questions to a respondent: every column that matters to the release."""
    return [Question(column, study.language) for column in study.columns if column.released]


def ask_all(study: Study, ask: Ask, say: Callable[[str], None]) -> dict[str, str]:
    """Asks for every column until the answer is one that the study allows."""
    found: dict[str, str] = {}
    for question in questions(study):
        while question.column.name not in found:
            try:
                found[question.column.name] = question.read(ask(question.text))
            except InputError as error:
                say(str(error))
    return found


def load(study: Study, path: Path) -> dict[str, str]:
    """The record in a JSON file, {"column": value, …}. Raises InputError that names file and column."""
    try:
        content = json.loads(read_bytes(path, "name the file of a record", LARGEST))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise InputError(f'{path}: must be one object, {{"column": value, …}}')
    try:
        return accept(study, content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def accept(study: Study, content: Mapping[str, object]) -> dict[str, str]:
    """The record in an object. Raises InputError, naming the column and what is allowed."""
    asked = {question.column.name: question for question in questions(study)}
    known = {column.name for column in study.columns}
    for name in content:
        if name not in known:
            raise InputError(f"the study has no column {name!r}; it asks for {', '.join(asked)}")
    return {name: question.read(_text(name, content.get(name))) for name, question in asked.items()}


def table_of(study: Study, record: Mapping[str, str]) -> Table:
    """The record as a table of one row."""
    columns = study.columns
    cells = pa.table({column.name: _cell(record.get(column.name, MISSING)) for column in columns})
    table = build(read(cells.to_batches(), columns, "your record"), study)
    if table.rows != 1:
        raise InputError("your record lacks a value without which the study leaves rows out")
    return table


def require_sendable(study: Study, record: Mapping[str, str]) -> None:
    """Raises InputError for answers with which somebody could not take part to the end: before they are kept."""
    of_study(study).accepts(study, table_of(study, record))


def _cell(text: str) -> pa.Array:
    """A column of one text; made from its bytes, since `pa.array` would load pandas, which takes a second."""
    raw = text.encode()
    return pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, len(raw)], dtype=np.int32)), pa.py_buffer(raw))


def _text(name: str, value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"column {name!r}: give a text or a number")
    return str(value)


def _whole(values: list[str]) -> bool:
    return bool(values) and all(value.removeprefix("-").isdecimal() for value in values)


def _same_letters(cell: str, values: list[str]) -> str | None:
    """The one value that differs in nothing but capitals."""
    found = [value for value in values if value.casefold() == cell.casefold()]
    return found[0] if len(found) == 1 else None
