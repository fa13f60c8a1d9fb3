"""A trusted party's release: the same rounds in the clear, on both parties' people at once.

It shares the work on a party's own columns with the protocol, and none of its messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Bits
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import Contingency
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import Round, endless, observer_moves
from covey.protocols.protocol import Result
from covey.protocols.shared.columns import meeting, release
from covey.study import Study
from covey.table import Table


@dataclass
class ClearRun:
    """All rounds of a run, the counts that each compared, and both parties' columns at the end."""

    locals: dict[str, Generalization]
    rounds: list[Round] = field(default_factory=list)
    counts: list[Contingency] = field(default_factory=list)

    @property
    def withheld(self) -> Bits:
        """The people who are left out, fewer than k; the same people at both parties."""
        return next(iter(self.locals.values())).pool


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The release that a trusted party would make."""
    common = meeting.common_rows(study, tables)
    run = follow(Parameters.of(study), common)
    kept = np.flatnonzero(~run.withheld)
    nodes = {name: local.nodes[:, kept] for name, local in run.locals.items()}
    held = {name: table.select(kept) for name, table in common.items()}
    return release.ideal_result(study, held, nodes, withheld=int(run.withheld.sum()))


def follow(parameters: Parameters, tables: Mapping[str, Table]) -> ClearRun:
    """The rounds of a run on aligned tables."""
    first, second = (Generalization.of(tables[name], parameters) for name in parameters.owners)
    run = ClearRun({parameters.observer: first, parameters.partner: second})
    for _ in range(parameters.cap):
        mine, theirs = first.groups(), second.groups()
        counts, groups = Contingency.of(mine, theirs), (int(mine.max()) + 1, int(theirs.max()) + 1)
        run.rounds.append(Round(len(mine), groups, parameters.mode_of(groups)))
        run.counts.append(counts)
        if parameters.variant == "finished-cells":
            done = counts.done(parameters.k)
            first.settle(done)
            second.settle(done)
            if int(first.pool.sum()) < parameters.k:
                return run
        elif counts.bad(parameters.k) == 0:
            first.pool[:] = second.pool[:] = False
            return run
        _move(parameters, first, second)
    raise endless(parameters)


def _move(parameters: Parameters, first: Generalization, second: Generalization) -> None:
    """Generalizes after a round that did not fit: both parties, or in the variant `datafly` one."""
    if parameters.variant != "datafly":
        first.step()
        second.step()
    elif observer_moves(first.most_distinct()[1], second.most_distinct()[1]):
        first.step()
    else:
        second.step()
