"""One `[columns.NAME]` table: role, hierarchy, missing values, weight."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import cast, get_args

from covey.cells import (
    NUMBER_FORMATS,
    Kind,
    Unit,
    canonical,
    check_date_format,
    check_number_format,
    clean,
    finest_unit,
    spell,
)
from covey.errors import InputError
from covey.hierarchy import Coding, Flat, Hierarchy, Interval, Open, Prefix, dates, numbers, parse, public_step
from covey.schema import OTHER, Column, Distance, MissingPolicy, Role, Unlisted, close_over
from covey.study.folder import Folder
from covey.study.section import Section
from covey.study.texts import LONGEST_LABEL, read_answers, read_texts

_CODING_KEYS = ("bottom", "top", "round", "age_on")
_NUMBER_KEYS = ("min", "max", "steps", "unit", *_CODING_KEYS)
_DATE_KEYS = ("date", "min", "max")


def read_column(name: str, section: Section, folder: Folder, language: str) -> Column:
    """The column as its table has it; every problem is noted in the section."""
    if "role" not in section:
        section.problem(f"needs a role: one of {', '.join(Role)}")
    role = Role(section.choice("role", tuple(Role)) or Role.PLAIN)
    declared = cast("Kind | None", section.choice("type", get_args(Kind)))
    hierarchy = _hierarchy(section, folder, declared)
    kind: Kind = hierarchy.kind if hierarchy is not None else (declared or "text")
    values = _values(section, folder, kind)
    if values is not None and hierarchy is not None and not isinstance(hierarchy, Hierarchy):
        hierarchy = _closed(section, hierarchy, values)
    if role is Role.QUASI and hierarchy is None and "hierarchy" not in section:
        section.problem('a quasi column needs a hierarchy: a file, {min, max, steps}, {prefix}, {date} or "flat"')
    if section.flag("site") and role is not Role.QUASI:
        section.problem("site = true is for quasi columns", "site")
    coding = _coding(section) if hierarchy is not None and kind == "number" else None
    weight = section.number("weight", low=0)
    column = Column(
        name=name,
        role=role,
        hierarchy=hierarchy,
        kind=kind,
        missing=cast("MissingPolicy", section.choice("missing", get_args(MissingPolicy)) or "value"),
        null=frozenset(clean(text) for text in section.texts("null") or ()),
        values=values,
        site=bool(section.flag("site")),
        singles_out=_reason(section, role),
        weight=1.0 if weight is None else float(weight),
        distance=cast("Distance", section.choice("distance", get_args(Distance)) or "equal"),
        format=_format(section, kind, age=coding is not None and coding.age_on is not None),
        coding=coding,
        l=_of_sensitive(section, role, "l", low=1),
        t=_of_sensitive(section, role, "t", low=0, high=1),
        label=read_texts(section, "label", language, LONGEST_LABEL),
        answers=read_answers(section, _leaves(hierarchy, values), kind),
        question=section.text("question") or "",
        cut=section.whole("cut", low=1),
        unlisted=cast("Unlisted", section.choice("unlisted", get_args(Unlisted)) or "refuse"),
    )
    if column.question and role is not Role.ASK:
        section.problem('question is for columns with role = "ask"', "question")
    if column.cut is not None and kind != "text":
        section.problem("cut is for codes, which are texts", "cut")
    for key in ("missing", "unlisted"):
        if getattr(column, key) == OTHER and not column.lists(OTHER):
            section.problem(f"{key} = {OTHER!r} needs a hierarchy, or a list of values, that has {OTHER!r}", key)
    return column


def _leaves(hierarchy: Hierarchy | Open | None, values: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Every value of the column, where they are listed."""
    return hierarchy.labels[: hierarchy.leaves] if isinstance(hierarchy, Hierarchy) else values


def _reason(section: Section, role: Role) -> str | None:
    """The reason why one row alone may bear a published value of the column."""
    reason = section.text("singles_out")
    if reason is not None and not reason.strip():
        section.problem(
            'singles_out needs a reason that readers of the release accept: singles_out = "…"', "singles_out"
        )
    if reason is not None and role in (Role.IDENTIFIER, Role.KEY):
        section.problem(f"singles_out is for published columns; a column of role {role} is not", "singles_out")
    return reason


def _of_sensitive(section: Section, role: Role, key: str, *, low: float, high: float = math.inf) -> float | None:
    """The column's own l or t."""
    limit = section.number(key, low=low, high=high)
    if limit is not None and role is not Role.SENSITIVE:
        section.problem(f"{key} is for sensitive columns", key)
    return limit


def _format(section: Section, kind: Kind, *, age: bool) -> str | None:
    """The way in which the data spells numbers or dates, where that is not ours."""
    spelling = section.text("format")
    if spelling is None:
        return None
    if kind == "number" and not age:
        try:
            check_number_format(spelling)
        except ValueError:
            formats = ", ".join(map(repr, NUMBER_FORMATS))
            section.problem(
                f"format of numbers must be one of {formats}: the spelling of 1234.5 in the data; a unit may stand "
                "before or after it: '1234.5 %'",
                "format",
            )
    elif kind == "date" or age:
        try:
            check_date_format(spelling)
        except ValueError as error:
            section.problem(f"format {spelling!r} is no order of dates; {error}", "format")
        if age and _finest(section) != "day":
            section.problem("age_on needs a format with a day: DD.MM.YYYY", "format")
    else:
        section.problem('format is for numbers and dates: add type = "number" or "date", or a hierarchy', "format")
    return spelling


def _finest(section: Section) -> Unit:
    """The unit at which the column's format reads dates."""
    try:
        return finest_unit(section.text("format"))
    except ValueError:
        return "day"  # the format is refused under its own name


def _hierarchy(section: Section, folder: Folder, declared: Kind | None) -> Hierarchy | Open | None:
    spec = section.raw("hierarchy")
    try:
        if spec is None:
            return None
        if spec == "flat":
            return Flat(declared or "text")
        if spec == "interval":
            return _interval(section)
        if isinstance(spec, str):
            return parse(folder.read(spec), spec, declared or "text")
        if isinstance(spec, dict) and "prefix" in spec:
            return _prefix(section, spec)
        if isinstance(spec, dict) and "date" in spec:
            return _dates(section, spec)
        if isinstance(spec, dict) and any(key in spec for key in ("min", "max", *_CODING_KEYS)):
            return _numbers(section, spec)
    except InputError as error:
        section.problem(str(error), "hierarchy")
        return None
    section.problem(
        'hierarchy must be a file, "flat", "interval", {min, max, steps}, {prefix = […]} or {date = […], min, max}',
        "hierarchy",
    )
    return None


def _numbers(section: Section, spec: dict[str, object]) -> Hierarchy:
    _only(spec, _NUMBER_KEYS)
    steps = spec.get("steps", [])
    if not isinstance(steps, list):
        raise InputError("steps must be a list of numbers: steps = [5, 10, 20]")
    coding = _coded(spec)
    low = _end(spec, "min", coding.bottom, Decimal(0) if coding.age_on is not None else None)
    high = _end(spec, "max", coding.top, None)
    unit = _decimal(spec.get("unit", 1), "unit")
    return numbers(low, high, [_decimal(step, "steps") for step in steps], unit, coding)


def _end(spec: dict[str, object], key: str, coded: Decimal | None, default: Decimal | None) -> Decimal:
    """The least or the greatest leaf: the one given, or the one beyond the coding."""
    value = _decimal(spec[key], key) if key in spec else default if coded is None else coded
    if value is None:
        counterpart = "bottom" if key == "min" else "top"
        raise InputError(f"a hierarchy of numbers needs its {key}, or {counterpart} to code everything beyond it")
    if coded is not None and (value > coded if key == "min" else value < coded):
        raise InputError(f"{key} = {spell(value)} leaves nothing to code: it is not beyond {spell(coded)}")
    return value if coded is None else coded


def _coding(section: Section) -> Coding | None:
    spec = section.raw("hierarchy")
    coded = isinstance(spec, dict) and any(key in spec for key in _CODING_KEYS)
    return _coded(cast("dict[str, object]", spec)) if coded else None


def _coded(spec: dict[str, object]) -> Coding:
    """The coding that a hierarchy of numbers asks for."""
    born, rounded = spec.get("age_on"), spec.get("round", False)
    if born is not None and type(born) is not date:
        raise InputError("age_on must be the day on which ages are counted: age_on = 2026-01-01")
    if not isinstance(rounded, bool):
        raise InputError("round must be true or false; numbers are rounded to multiples of unit")
    top, bottom = (_decimal(spec[key], key) if key in spec else None for key in ("top", "bottom"))
    if top is not None and bottom is not None and bottom >= top:
        raise InputError(f"bottom = {spell(bottom)} is not below top = {spell(top)}")
    return Coding(bottom, top, _decimal(spec.get("unit", 1), "unit") if rounded else None, born)


def _prefix(section: Section, spec: dict[str, object]) -> Prefix:
    _only(spec, ("prefix",))
    keep = spec["prefix"]
    if not isinstance(keep, list) or not all(isinstance(part, int) and not isinstance(part, bool) for part in keep):
        raise InputError("prefix must be a list of lengths: prefix = [4, 3, 2]")
    return Prefix(tuple(keep))


def _dates(section: Section, spec: dict[str, object]) -> Hierarchy:
    _only(spec, _DATE_KEYS)
    units, first, last = spec["date"], spec.get("min"), spec.get("max")
    if not isinstance(units, list) or not all(isinstance(unit, str) for unit in units):
        raise InputError('date must be a list of units: date = ["month", "quarter", "year"]')
    if type(first) is not date or type(last) is not date:
        raise InputError("a hierarchy of dates needs its first and last day: min = 2024-01-01, max = 2025-12-31")
    return dates(units, first, last, _finest(section))


def _interval(section: Section) -> Interval:
    low, high = _range(section)
    setting = section.raw("step")
    if setting is not None:
        step = _decimal(setting, "step")
        if step <= 0:
            raise InputError("step must be above 0")
        return Interval(low, high, step)
    if low is None or high is None:
        raise InputError(
            "intervals end at public steps, never at a person's value: add step = 5, or the range that the column "
            "could have, as range = [0, 100]"
        )
    return Interval(low, high, public_step(low, high))


def _range(section: Section) -> tuple[Decimal, Decimal] | tuple[None, None]:
    ends = section.raw("range")
    if ends is None:
        return None, None
    if not isinstance(ends, list) or len(ends) != 2:
        raise InputError("range must be two numbers: range = [17, 90]")
    low, high = _decimal(ends[0], "range"), _decimal(ends[1], "range")
    if low > high:
        raise InputError(f"range begins at {spell(low)}, above its end {spell(high)}")
    return low, high


_DIGITS = 15


def _decimal(value: object, key: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key} must be a number")
    number = Decimal(str(value))
    if not number.is_finite():
        raise InputError(f"{key} must be finite")
    if number and (abs(number.adjusted()) > _DIGITS or -int(number.as_tuple().exponent) > _DIGITS):
        raise InputError(f"{key} has too many digits; at most {_DIGITS} are read before and after the point")
    return number


def _only(spec: dict[str, object], keys: tuple[str, ...]) -> None:
    for key in spec:
        if key not in keys:
            raise InputError(f"unknown key {key!r} in hierarchy; known are {', '.join(keys)}")


def _values(section: Section, folder: Folder, kind: Kind) -> tuple[str, ...] | None:
    """The listed domain: a list in the study, or a file with one value a line."""
    raw = section.raw("values")
    if raw is None:
        return None
    if isinstance(raw, str):
        try:
            raw = [line for line in folder.read(raw).decode("utf-8-sig").splitlines() if line.strip()]
        except (InputError, UnicodeDecodeError) as error:
            section.problem(f"values: {error}", "values")
            return None
    scalars = isinstance(raw, list) and all(isinstance(part, str | int | float) for part in raw)
    if not isinstance(raw, list) or not raw or not scalars:
        section.problem('values must list the column\'s values: values = ["none", "flu"]', "values")
        return None
    values = tuple(canonical(clean(str(part)), kind) for part in raw)
    if len(set(values)) != len(values):
        section.problem("values lists something twice", "values")
    reserved = ("", "*")
    if any(value in reserved for value in values):
        section.problem("values cannot list the empty text or *: they mean a missing and a suppressed value", "values")
    return tuple(value for value in dict.fromkeys(values) if value not in reserved)


def _closed(section: Section, hierarchy: Open, values: tuple[str, ...]) -> Hierarchy | Open:
    try:
        return close_over(hierarchy, values)
    except InputError as error:
        section.problem(str(error), "values")
        return hierarchy
