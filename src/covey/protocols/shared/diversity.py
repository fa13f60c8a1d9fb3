"""l by frequency where parties count jointly: as a fraction of small numbers, and looked at once more at the end."""

from __future__ import annotations

import math
from fractions import Fraction

from covey.anonymizers.constraints import SLACK
from covey.errors import Aborted
from covey.protocols.protocol import Figures
from covey.study import Study
from covey.study.ratio import at_least, exactly

FINEST = 16
"""The largest denominator of l: what is tested grows with it, and what is too large to be tested is opened."""


def fraction(wanted: float) -> Fraction:
    """l as parties count with it: what the study asks for, or the next larger fraction of small numbers."""
    return at_least(wanted, FINEST)


def part_as_l(part: float) -> Fraction:
    """The part of a class that may be one party's, as an l of which the parties are the values."""
    return at_least(1 / exactly(part), FINEST)


def feasible(records: int, most: int) -> float:
    """The largest l, to two decimals, that can be asked of so many records of which the commonest value has `most`."""
    reached = Fraction(records, max(most, 1))
    kept = max(Fraction(math.floor(reached * below), below) for below in range(1, FINEST + 1))
    return math.floor(kept * 100) / 100


def require_diverse(study: Study, figures: Figures | None) -> None:
    """Raises Aborted where the opened classes do not keep l: who did not keep to the protocol cannot be told."""
    wanted, reached = study.privacy.l, None if figures is None else figures.l_reached
    if wanted is not None and (reached is None or reached < wanted - SLACK):
        reason = (
            f"the opened classes do not keep l = {wanted:g}: a party did not keep to the protocol; nothing is written"
        )
        raise Aborted(reason, resumable=False)
