"""Decimals of a study as fractions of small numbers, which protocols can count with; never less is asked for."""

from __future__ import annotations

import math
from fractions import Fraction


def at_least(limit: float | Fraction, denominator: int) -> Fraction:
    """The smallest fraction with at most that denominator that is no less than the limit."""
    exact = exactly(limit)
    if exact.denominator <= denominator:
        return exact
    return min(Fraction(math.ceil(exact * divisor), divisor) for divisor in range(1, denominator + 1))


def exactly(limit: float | Fraction) -> Fraction:
    """The decimal that is written."""
    return limit if isinstance(limit, Fraction) else Fraction(repr(limit))


def at_most(limit: float, denominator: int) -> Fraction:
    """The largest fraction with at most that denominator that is no more than the limit."""
    return -at_least(-limit, denominator)
