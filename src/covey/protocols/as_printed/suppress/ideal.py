"""The ideal: what a trusted party would publish. The paper's function on both tables, in plain lines.

A tuple is kept or suppressed whole. If every tuple occurs k times or more in both tables together, nothing changes.
Otherwise the keyholder's k rows of the least frequent tuples are suppressed, and of the rest what falls short of k.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from covey.arrays import Bits
from covey.errors import Unmet
from covey.protocols.as_printed.suppress.parameters import Parameters
from covey.protocols.as_printed.suppress.tuples import JointClasses, OwnReleasedRows, OwnTuples
from covey.protocols.protocol import Result
from covey.study import Study
from covey.table import Table


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The trusted party's release."""
    parameters = Parameters.of(study)
    owns = {name: OwnTuples.of(tables[name]) for name in parameters.holders}
    parts = parameters.parts({name: own.rows for name, own in owns.items()})
    kept = dict(zip(parts, decide(parameters.k, *(owns[name] for name in parts)), strict=True))
    released = [OwnReleasedRows.of(owns[name], kept[name], tables[name]) for name in parameters.holders]
    return JointClasses.of(study, [each.kept for each in released]).result(study, released)


def decide(k: int, keyholder: OwnTuples, comparer: OwnTuples) -> tuple[Bits, Bits]:
    """The rows of each that keep their tuples. Raises Unmet if there are fewer than k rows in all."""
    if keyholder.rows + comparer.rows < k:
        raise Unmet(f"the parties together have fewer than k = {k} rows; nothing can be released")
    mine = dict(zip(keyholder.keys, keyholder.counts.tolist(), strict=True))
    theirs = dict(zip(comparer.keys, comparer.counts.tolist(), strict=True))
    together = Counter(mine) + Counter(theirs)
    if all(count >= k for count in together.values()):
        return np.ones(keyholder.rows, dtype=bool), np.ones(comparer.rows, dtype=bool)
    if keyholder.rows < k:  # and so has the other: fewer than 2k rows, of which no other choice is k-anonymous
        return np.zeros(keyholder.rows, dtype=bool), np.zeros(comparer.rows, dtype=bool)
    given_up = keyholder.given_up(k)
    left = dict(zip(keyholder.keys, keyholder.remaining(given_up).tolist(), strict=True))
    kept = {key for key, count in left.items() if count and count + theirs.get(key, 0) >= k}
    keeps = np.array([key in kept for key in keyholder.keys], dtype=bool)
    other = np.array([key in kept or theirs[key] >= k for key in comparer.keys], dtype=bool)
    return keeps[keyholder.place] & ~given_up, other[comparer.place]
