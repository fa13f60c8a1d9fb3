"""Wizards: a hierarchy from a few fields, as the study has it, and the fields that would make one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import date

from covey.errors import InputError
from covey.study.editing import set_keys

UNITS = ("month", "quarter", "year", "half-decade", "decade")


def fields_of(spec: object) -> dict[str, str]:
    """The fields of the wizard that would make a hierarchy."""
    if not isinstance(spec, dict):
        return {}
    found = {name: str(value).lower() for name, value in spec.items() if not isinstance(value, list)}
    for name, field in (("steps", "steps"), ("prefix", "lengths")):
        if name in spec:
            found[field] = " ".join(map(str, spec[name]))
    return found | {f"unit-{unit}": "yes" for unit in spec.get("date", ())}


def with_hierarchy(text: str, name: str, spec: str, path: str) -> str:
    """The study's text with another hierarchy of a column."""
    typed = '"text"' if spec.startswith("{ prefix") else None
    changes: dict[str, str | None] = {"hierarchy": spec}
    if typed is not None and "type" in tomllib.loads(text)["columns"][name]:
        changes["type"] = typed
    return set_keys(text, ("columns", name), changes, path)


def made(kind: str, field: Callable[[str], str]) -> str:
    """The hierarchy that a wizard's fields describe, as the study has it."""
    if kind == "numbers":
        parts = [
            f"{name} = {_number(field(name), name)}" for name in ("min", "max", "bottom", "top", "unit") if field(name)
        ]
        parts = [f"age_on = {_day(field('age_on'), 'age_on')}", *parts] if field("age_on") else parts
        steps = ", ".join(_number(step, "steps") for step in field("steps").replace(",", " ").split())
        rounding = ["round = true"] if field("round") else []
        return "{ " + ", ".join([*parts, f"steps = [{steps}]", *rounding]) + " }"
    if kind == "dates":
        units = [f'"{unit}"' for unit in UNITS if field(f"unit-{unit}")]
        ends = [f"{name} = {_day(field(name), name)}" for name in ("min", "max")]
        return "{ date = [" + ", ".join(units) + "], " + ", ".join(ends) + " }"
    if kind == "prefix":
        lengths = [_number(each, "lengths") for each in field("lengths").replace(",", " ").split()]
        return "{ prefix = [" + ", ".join(lengths) + "] }"
    if kind == "flat":
        return '"flat"'
    raise InputError("choose one of the ways to make a hierarchy")


def _number(text: str, name: str) -> str:
    try:
        float(text)
    except ValueError:
        raise InputError(f"{name}: {text!r} is no number") from None
    return text.strip()


def _day(text: str, name: str) -> str:
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise InputError(f"{name}: write a day as 2024-12-31") from None
