"""The probability that a stranger finds a person in the release.

The prosecutor knows that the person is in the release and searches its class. The journalist only knows that the
person is in the population, and the marketer wants as many people as possible: both search all people whom a class's
labels could mean. Without the original these are taken to be the released people alone, which is the worst case.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.judge.verdict import Risk, Risks


def judge_risk(sizes: Longs, k: int, meant: Longs | None) -> Risks:
    """The three risks; `meant` says how many originals each class's labels cover."""
    searched = sizes if meant is None else np.maximum(meant, 1)
    journalist = _risk(sizes, searched, k)
    return Risks(
        prosecutor=_risk(sizes, sizes, k),
        journalist=journalist,
        marketer=journalist.average,
        population="the release" if meant is None else "the original",
    )


def _risk(sizes: Longs, searched: Longs, k: int) -> Risk:
    rows = int(sizes.sum())
    return Risk(
        highest=1 / int(searched.min()),
        average=float((sizes / searched).sum() / rows),
        at_risk=int(sizes[searched < k].sum()) / rows,
    )
