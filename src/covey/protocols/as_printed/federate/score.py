"""The choice of a cut: the candidates, and what each provider adds to a candidate's score.

Source    Takenouchi, Kawamura & Ohsuga, section 5.2. S(c) = -alpha L(c) / max L + (1 - alpha) times the mean, over the
          providers, of DE(c, n) / max DE(n): L the sum of distances of the dividing provider's users to the cut, DE the
          entropy of dummy users in the halves. The maxima are over the group's own candidates.
Changed   the paper's DE does not weigh the halves by their sizes, and prefers unequal shares of dummies at times (20
          and 80 users with 30% and 67.5% dummies score more than 60% in both); weighted, it is largest if and only if
          the shares are equal. Candidates are quantiles by default: few enough that their numbers say little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Floats, Longs
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import UNIT, OwnUsers


@dataclass(frozen=True)
class CandidateCuts:
    """The candidates of one group, those to be preferred among equals first."""

    codes: Longs
    """The lowest code of the upper half of each."""
    upper: Longs
    """The number of members of each upper half."""
    size: int

    def __len__(self) -> int:
        return len(self.codes)

    def upper_halves(self, values: Longs) -> Bits:
        """Cuts x members: which members, whose codes these are, lie in the upper half of each cut."""
        return np.asarray(values[np.newaxis] >= self.codes[:, np.newaxis])


def candidates(params: Parameters, values: Longs) -> CandidateCuts:
    """The cuts of a group whose members have these codes: at quantiles, or at every value but the lowest."""
    distinct, counts = np.unique(values, return_counts=True)
    size = len(values)
    below = np.cumsum(counts)[:-1]
    codes = distinct[1:]
    if params.candidates and len(codes) > params.candidates:
        aims = size * np.arange(1, params.candidates + 1) / (params.candidates + 1)
        after = np.clip(np.searchsorted(below, aims), 1, len(below) - 1)
        near = np.where(aims - below[after - 1] <= below[after] - aims, after - 1, after)
        chosen = np.unique(near)
        codes, below = codes[chosen], below[chosen]
    order = np.lexsort((codes, np.abs(size - 2 * below)))
    return CandidateCuts(codes[order], (size - below)[order], size)


def of_divider(
    params: Parameters, own: OwnUsers, column: int, members: Longs, values: Longs, cuts: CandidateCuts
) -> Longs:
    """The dividing provider's part of each score, in a group whose members have these codes in the column."""
    dummy, place = ~own.member[members], own.axes[column].place
    distinct, counts = np.unique(values[~dummy], return_counts=True)
    # L(c): the distances of all its users to each cut, as a sum over the distinct codes times their counts
    distance = np.abs(place[distinct][np.newaxis] - place[cuts.codes][:, np.newaxis]) @ counts
    middle = -params.alpha * _part(distance.astype(np.float64))
    upper_dummies = (cuts.upper_halves(values) & dummy).sum(axis=1)
    return _whole(middle + _spread_of_dummies(params, cuts.size, cuts.upper, int(dummy.sum()), upper_dummies))


def of_other(params: Parameters, size: int, upper: Longs, dummies: int, upper_dummies: Longs) -> Longs:
    """Another provider's part of each score, from the numbers of members and of its dummies in the upper half."""
    return _whole(_spread_of_dummies(params, size, upper, dummies, upper_dummies))


def _spread_of_dummies(params: Parameters, size: int, upper: Longs, dummies: int, upper_dummies: Longs) -> Floats:
    entropy = dummy_entropy(size, upper, dummies, upper_dummies, weighted=params.weighted)
    return (1 - params.alpha) / len(params.providers) * _part(entropy)


def dummy_entropy(size: int, upper: Longs, dummies: int, upper_dummies: Longs, *, weighted: bool) -> Floats:
    """DE of each candidate; `upper` members and `upper_dummies` of the `dummies` lie in its upper half."""
    answer = np.zeros(len(upper))
    for members, made_up in ((upper, upper_dummies), (size - upper, dummies - upper_dummies)):
        share = made_up / np.maximum(members, 1)
        term = np.where(share > 0, -share * np.log(np.where(share > 0, share, 1.0)), 0.0)
        answer += term * (members / max(size, 1) if weighted else 1.0)
    return answer


def _part(values: Floats) -> Floats:
    """Each as a part of the largest; none is left if the largest is zero."""
    most = float(values.max(initial=0.0))
    return values / most if most > 0 else np.zeros(len(values))


def _whole(values: Floats) -> Longs:
    return np.rint(values * UNIT).astype(np.int64)
