"""Spelling of a column: dates, numbers, times of day, lists or text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from decimal import Decimal

from covey import cells
from covey.guess import missing
from covey.guess.dates import ENOUGH, dates, in_several_orders
from covey.guess.numbers import numbers

_SEPARATORS = ("|", ";", ",")
_SOME_LISTS = 0.05  # of the rows hold several codes
_CODE = re.compile(r"[A-Z0-9][A-Za-z0-9.:/_+-]{0,11}")
_WORD = re.compile(r"[^\d|;,]{1,40}")


@dataclass(frozen=True)
class Spelling:
    """The kind and format of a column's values, the missing ones, and the evidence."""

    kind: cells.Kind = "text"
    format: str | None = None  # of numbers or dates, where it is not ours
    null: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    finest: cells.Unit = "day"  # that dates have
    has_times: bool = False  # dates have a time of day, which is dropped
    clock: bool = False  # texts are times of day
    lists: str | None = None  # texts are lists of codes, with this mark between them


def spelling(counts: Mapping[str, int], name: str = "") -> Spelling:
    """Returns how a column's values are written; `counts` has the rows of each text."""
    null = missing.words(counts, among_words=False)
    values = _without(null, counts)
    return _dates(values, counts, null, name) or _numbers(values, counts, null) or _texts(counts)


def _without(null: Set[str], counts: Mapping[str, int]) -> dict[str, int]:
    return {text: count for text, count in counts.items() if text not in null}


def _dates(values: Mapping[str, int], counts: Mapping[str, int], null: Set[str], name: str) -> Spelling | None:
    zeros = {text for text in values if missing.is_no_day(text)}
    column = dates(_without(zeros, values), name)
    if column is None:
        return None
    evidence = _with_null(null | zeros | missing.days(column.labels), counts, column.evidence)
    return Spelling("date", column.format, *evidence, cells.finest_unit(column.format), column.has_times)


def _numbers(values: Mapping[str, int], counts: Mapping[str, int], null: Set[str]) -> Spelling | None:
    column = numbers(values) if values else None
    if column is None:
        return None
    rows: dict[Decimal, int] = {}
    for text, value in column.values.items():
        rows[value] = rows.get(value, 0) + counts[text]
    codes = set(missing.numbers(rows))
    null = null | {text for text, value in column.values.items() if value in codes}
    return Spelling("number", column.format, *_with_null(null, counts, column.evidence))


def _texts(counts: Mapping[str, int]) -> Spelling:
    null = missing.words(counts, among_words=True)
    values = _without(null, counts)
    rows = sum(values.values())
    clock = bool(rows) and sum(values[text] for text in values if cells.is_clock(text)) >= ENOUGH * rows
    lists = None if clock else _separator(values)
    evidence: tuple[str, ...] = ()
    if clock:
        evidence = ("times of day",)
    elif lists is not None:
        evidence = (f"lists of codes with {lists} between them: a whole list is often one person's own",)
    elif in_several_orders(values):
        evidence = ("these are dates written in several ways: write them in one way, so that months are released",)
    return Spelling("text", None, *_with_null(null, counts, evidence), clock=clock, lists=lists)


def _with_null(
    null: Set[str], counts: Mapping[str, int], evidence: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the texts that mean missing, in order, and the evidence with them."""
    texts = tuple(sorted(null))
    rows = sum(counts[text] for text in texts)
    return texts, (*evidence, *([f"{', '.join(texts)} in {rows:,} rows is read as missing"] if texts else []))


def _separator(values: Mapping[str, int]) -> str | None:
    """Returns the mark between the codes or words of cells that are lists, or None."""
    for mark in _SEPARATORS:
        lists = {text for text in values if mark in text}
        if not lists or sum(values[text] for text in lists) < _SOME_LISTS * sum(values.values()):
            continue
        parts = {part for text in values for part in map(str.strip, text.split(mark))} - {""}
        coded = all(_CODE.fullmatch(part) and (part.isupper() or not part.isalpha()) for part in parts)
        worded = mark != "," and all(_WORD.fullmatch(part) or _CODE.fullmatch(part) for part in parts)
        if (coded or worded) and len(parts) < sum(text.count(mark) + 1 for text in lists):
            return mark
    return None
