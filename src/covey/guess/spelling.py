"""Spelling of a column: dates, numbers with their marks and units, times of day, lists or text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal

from covey import cells
from covey.guess import missing
from covey.guess.dates import ENOUGH, dates, frequent, in_several_orders

_UNIT = re.compile(r"[(+\-−]*\s*([^\d\s.,'’+()−-]{0,9}[.]?)\s*[+\-−]?\d[\d\s.,'’]*([^\d(),]*?)[)\-]*")
_CURRENCY_WORDS = """\
€ $ £ ¥ ₩ ₹ ₽ ₺ ₪ us$ r$ c$ a$ eur usd gbp jpy chf sfr fr. cad aud krw cny rmb inr sek nok dkk kr kr. pln zł czk kč huf
ft rub brl mxn try rs rs. 円 元 원 руб руб.
"""
_CURRENCIES = frozenset(_CURRENCY_WORDS.split())
_UNIT_WORDS = """\
% ‰ kg g mg µg μg ug ng l ml dl cl m cm mm km m² m2 cm² km² ha m³ s sec min h std hrs hours ms tage tag days day
jahre jahr j. y yr yrs years year ans an años anni wochen weeks monate months mois mmhg mmol/l mg/dl g/dl g/l
µmol/l iu/l u/l bpm /min °c °f c° kwh wh kw w v a mb gb kb km/h mph kcal kj pt pts lb lbs oz ft in inch
歳 才 岁 세 年 回 人 日 個 本 点 명 개 회 лет
"""
_UNITS = _CURRENCIES | frozenset(_UNIT_WORDS.split())


_LONGEST = 64
_MOST = 0.9  # of the rows with frequent texts are read by a format that is tried on all


@dataclass(frozen=True)
class Numbers:
    """Numbers of a column: their format (none for ours), each cell's number, and the evidence."""

    format: str | None
    values: dict[str, Decimal]
    evidence: tuple[str, ...] = ()


def numbers(counts: Mapping[str, int]) -> Numbers | None:
    """Returns the numbers that nearly all cells are, or None.

    `counts` has the rows of each cell that is not missing.
    """
    if any(len(text) > 1 and text[0] == "0" and text[1].isdigit() for text in counts):
        return None  # a leading zero is that of a code
    plain = {text: value for text in counts if (value := cells.number(text)) is not None}
    if len(plain) == len(counts):
        return Numbers(None, plain)
    sample = frequent(counts)
    unit, prefix = _unit(sample)
    formats = {}
    for figure in cells.NUMBER_FORMATS:
        written = figure if not unit else f"{unit} {figure}" if prefix else f"{figure} {unit}"
        if _rows(_read(sample, written), counts) >= _MOST * sum(sample.values()):
            formats[figure] = written, _read(counts, written)
    fitting = [figure for figure, (_, values) in formats.items() if len(values) == len(counts)]
    if fitting:
        figure, evidence = _chosen(fitting, counts, unit)
        written, values = formats[figure]
        return Numbers(written, values, (evidence or f"numbers written as {written}",))
    written, values = max(formats.values(), key=lambda candidate: _rows(candidate[1], counts), default=("", {}))
    unread = sum(counts.values()) - _rows(values, counts)
    if not values or unread > (1 - ENOUGH) * sum(counts.values()):
        return None
    evidence = f"numbers written as {written}; {unread:,} rows that are none are read as missing"
    return Numbers(f"{written}?", values, (evidence,))


def _read(texts: Iterable[str], written: str) -> dict[str, Decimal]:
    return {text: value for text in texts if (value := cells.formatted_number(text, written)) is not None}


def _rows(texts: Iterable[str], counts: Mapping[str, int]) -> int:
    return sum(counts[text] for text in texts)


def _chosen(fitting: Sequence[str], counts: Mapping[str, int], unit: str) -> tuple[str, str]:
    """Returns one of the formats that read every cell, and the evidence."""
    figure = next((figure for figure in ("1,234.5", "1.234,5") if figure in fitting), fitting[0])
    if "1234.5" in fitting:  # no commas: a point before three digits is decimal, but in sums of money
        if unit.casefold() not in _CURRENCIES or "1.234,5" not in fitting or not any("." in text for text in counts):
            return "1234.5", "" if unit else "numbers with other signs or digits"
        figure = "1.234,5"
    mark, name = (",", "comma") if figure == "1,234.5" else (".", "point")
    rows = sum(count for text, count in counts.items() if mark in text)
    if figure not in ("1,234.5", "1.234,5") or not rows:
        return figure, ""
    doubt = f"; it could be a decimal {name} too" if len(fitting) > 1 else ""
    return figure, f"a {name} before each three digits in {rows:,} rows{doubt}"


def _unit(counts: Mapping[str, int]) -> tuple[str, bool]:
    """Returns the most frequent unit, and True if it stands before the number."""
    rows: dict[tuple[str, bool], int] = {}
    for text, count in counts.items():
        match = _UNIT.fullmatch(text) if len(text) <= _LONGEST else None
        prefix, suffix = (match[1].strip(), match[2].strip()) if match else ("", "")
        if (prefix or suffix).casefold() in _UNITS and not (prefix and suffix):
            key = prefix or suffix, bool(prefix)
            rows[key] = rows.get(key, 0) + count
    return max(rows, key=lambda key: rows[key], default=("", False))


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
