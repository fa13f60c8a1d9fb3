"""Trees over numbers, with labels that read as intervals: `{ min = 17, max = 90, steps = [5, 10, 20] }`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from covey.cells import SUPPRESSED, spell
from covey.errors import InputError
from covey.hierarchy.tree import Hierarchy, check_size


def numbers(low: Decimal, high: Decimal, steps: Sequence[Decimal], unit: Decimal = Decimal(1)) -> Hierarchy:
    """The values low, low + unit, … high; above them intervals that begin at multiples of each step.

    The first and last interval of a level are cut to the domain, so that every label is true.
    """
    if not (low.is_finite() and high.is_finite() and unit.is_finite() and unit > 0):
        raise InputError("min, max and unit must be finite numbers, and unit above 0")
    if high < low:
        raise InputError(f"min = {spell(low)} is above max = {spell(high)}")
    if low % unit != 0 or high % unit != 0:
        raise InputError(f"min and max must be multiples of unit = {spell(unit)}")
    finer = unit
    for step in steps:
        if not step.is_finite() or step <= finer or step % finer != 0:
            raise InputError(f"steps must grow, each a multiple of the one before: {spell(step)} after {spell(finer)}")
        finer = step
    count = int((high - low) / unit) + 1
    check_size(count, "the hierarchy of numbers")
    paths = []
    for index in range(count):
        value = low + index * unit
        intervals = [_interval(value, step, low, high, unit) for step in steps]
        paths.append([spell(value), *intervals, SUPPRESSED])
    return Hierarchy.from_paths(paths, "number")


def _interval(value: Decimal, step: Decimal, low: Decimal, high: Decimal, unit: Decimal) -> str:
    start = value - (value % step if value >= 0 or value % step == 0 else value % step + step)
    return label(max(start, low), min(start + step - unit, high))


def label(low: Decimal, high: Decimal) -> str:
    """An interval as a release writes it; a single value is just that value."""
    return spell(low) if low == high else f"[{spell(low)}, {spell(high)}]"
