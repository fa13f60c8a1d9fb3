"""Decimals of a study as fractions of small numbers, which protocols can count with; never less is asked for."""

from __future__ import annotations

import math
from fractions import Fraction


def at_least(asked: float | Fraction, denominator: int) -> Fraction:
    """The smallest fraction with at most that denominator that is no less than what is written."""
    exact = exactly(asked)
    if exact.denominator <= denominator:
        return exact
    return min(Fraction(math.ceil(exact * below), below) for below in range(1, denominator + 1))


def exactly(asked: float | Fraction) -> Fraction:
    """The decimal that is written."""
    return asked if isinstance(asked, Fraction) else Fraction(repr(asked))


def at_most(asked: float, denominator: int) -> Fraction:
    """The largest fraction with at most that denominator that is no more than what is written."""
    return -at_least(-asked, denominator)
