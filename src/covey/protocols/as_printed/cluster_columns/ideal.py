"""A trusted party's release: every holder's search side by side, its questions answered in the clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import derive
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.protocols.as_printed.cluster_columns.algorithm import search
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns
from covey.protocols.as_printed.cluster_columns.parameters import Parameters
from covey.protocols.as_printed.cluster_columns.questions import ArgMin, Question, Search, row_argmin
from covey.protocols.as_printed.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.protocol import Result
from covey.protocols.shared.columns import meeting, release
from covey.study import Study
from covey.table import Table

Watch = Callable[[Mapping[str, Question]], None]
"""Is shown every question as each holder puts it, before it is answered."""


def ideal(study: Study, tables: Mapping[str, Table], lasting: Secret | None = None) -> Result:
    """The release that a trusted party would make: the same search, with every price in the clear.

    Where l is kept, `lasting` is the pivot's secret, from which it deals out clusters; without it, one is made up.
    """
    parameters, common = Parameters.of(study), meeting.common_rows(study, tables)
    rows = next(iter(common.values())).rows
    if rows < parameters.k:
        raise Unmet(
            f"the holders have {rows:,} records in common, fewer than k = {parameters.k}; nothing can be released"
        )
    own = {name: OwnColumns.of(parameters, table, name) for name, table in common.items()}
    own[parameters.pivot].require_diverse()
    ids = meeting.keys_of(common[parameters.pivot], parameters.pivot)
    secret = lasting or derive(Secret(bytes(SECRET_BYTES)), "a trusted party", study.study_hash)
    label = play({name: search(part, public_draws(ids), pivot_draws(part, ids, secret)) for name, part in own.items()})
    nodes = {name: np.ascontiguousarray(part.nodes(label)[label].T) for name, part in own.items()}
    return release.ideal_result(study, common, nodes)


def play(searches: Mapping[str, Search], watch: Watch = lambda questions: None) -> Longs:
    """Each record's class. Holders in the order of their names; the search of each is driven to its end."""
    names = sorted(searches)
    questions = {name: next(searches[name]) for name in names}
    while True:
        first = questions[names[0]]
        watch(questions)
        if isinstance(first, ArgMin):
            asked = [question for question in questions.values() if isinstance(question, ArgMin)]
            answer = row_argmin(first.starts, np.sum([each.shares for each in asked], axis=0, dtype=np.uint32))
        else:
            said = [question.mine for question in questions.values() if not isinstance(question, ArgMin)]
            answer = next(each for each in said if each is not None)
        ends = {}
        for name in names:
            try:
                questions[name] = searches[name].send(answer.copy())
            except StopIteration as end:
                ends[name] = end.value
        if ends:
            return np.asarray(ends[names[0]], dtype=np.int64)
