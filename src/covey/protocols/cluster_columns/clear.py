"""What a trusted party would answer: every holder's search side by side, its questions answered in the clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from covey.arrays import Longs
from covey.protocols.cluster_columns.asking import Least, Question, Say, Search, Tell, least_of

Watch = Callable[[Mapping[str, Question]], None]
"""Is shown every question as each holder puts it, before it is answered."""


def play(searches: Mapping[str, Search], watch: Watch = lambda questions: None) -> Longs:
    """Each record's class. Holders in the order of their names; the search of each is driven to its end."""
    names = sorted(searches)
    questions = {name: next(searches[name]) for name in names}
    while True:
        first = questions[names[0]]
        watch(questions)
        if isinstance(first, Least):
            asked = [question for question in questions.values() if isinstance(question, Least)]
            answer = least_of(first.starts, np.sum([each.shares for each in asked], axis=0, dtype=np.uint32))
        elif isinstance(first, Say):
            said = [question.mine for question in questions.values() if isinstance(question, Say)]
            answer = next(each for each in said if each is not None)
        else:
            told = [questions[names[who]] for who in first.by.tolist()]
            parts = [each.mine[place] for place, each in enumerate(told) if isinstance(each, Tell)]
            answer = np.concatenate([part for part in parts if part is not None] or [np.zeros(0, np.int64)])
        ends = {}
        for name in names:
            try:
                questions[name] = searches[name].send(answer.copy())
            except StopIteration as end:
                ends[name] = end.value
        if ends:
            return np.asarray(ends[names[0]], dtype=np.int64)
