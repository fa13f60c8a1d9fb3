"""A prediction task: classifiers trained on the release, tested on original rows that were held back.

The held-back people are in the release too. So for each of them a released row that can be theirs (its labels cover
them, its sensitive values are the same, its labels are the narrowest) is taken out of what is learned from. Cells
become numbers that both tables have: a number is the middle of its label; text is, for each value and each inner node,
the part of the label's values below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covey.arrays import Floats, Ints, Longs
from covey.errors import InputError
from covey.evaluation.axes import Axis, sensitive_only
from covey.evaluation.findings import Prediction, Score
from covey.hierarchy import Hierarchy
from covey.schema import Role

Learned = tuple[Floats, Ints, Floats]
"""Rows as numbers, the answer of each, and how often each occurs."""
_TEST_PART = 0.3
_MOST_TESTED = 3_000
_MOST_TRAINED = 50_000
_MOST_VALUES = 30
_MOST_INDICATORS = 60


def predict(axes: Sequence[Axis], target: str, released: Longs, original: Longs, seed: int) -> Prediction:
    """The scores of gradient boosting and logistic regression. Raises InputError if the task makes no sense."""
    learners = _learners(seed)
    outcome = next((axis for axis in axes if axis.name == target), None)
    if outcome is None:
        names = ", ".join(repr(axis.name) for axis in axes)
        raise InputError(f"--target {target}: the release has no such column that can be predicted; it has {names}")
    if np.any(outcome.first != outcome.last):
        raise InputError(f"--target {target}: the release generalizes this column; name one that is published as it is")
    draws = np.random.default_rng(seed)
    held_back, originals = _hold_back(original, draws)
    published = _without(axes, held_back, released)
    features = [axis for axis in axes if axis is not outcome]
    table = _Table(features, original)
    answers = outcome.first[outcome.released], outcome.original
    common = np.intersect1d(answers[0][published > 0], answers[1][originals > 0])
    if not 2 <= len(common) <= _MOST_VALUES:
        raise InputError(
            f"--target {target}: a prediction needs 2 to {_MOST_VALUES} values that both tables have, here are "
            f"{len(common)}"
        )
    test = np.flatnonzero((held_back > 0) & np.isin(answers[1], common))
    train = [
        _sample(np.where(np.isin(answer, common), counts, 0), draws)
        for answer, counts in zip(answers, (published, originals), strict=True)
    ]
    tested = table.original(test), answers[1][test], held_back[test].astype(float)
    learned = [
        (table.released(np.flatnonzero(train[0])), answers[0][train[0] > 0], train[0][train[0] > 0].astype(float)),
        (table.original(np.flatnonzero(train[1])), answers[1][train[1] > 0], train[1][train[1] > 0].astype(float)),
    ]
    share = np.bincount(tested[1], weights=tested[2])
    return Prediction(
        target=target,
        values=len(common),
        trained_on=int(train[0].sum()),
        tested_on=int(tested[2].sum()),
        guessing=float(share.max() / share.sum()),
        scores=tuple(_score(name, make, learned, tested) for name, make in learners),
    )


def _learners(seed: int) -> list[tuple[str, Any]]:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise InputError("predictions need scikit-learn: pip install 'covey[evaluate]'") from None

    def logistic() -> Any:
        return make_pipeline(
            SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=500)
        )

    return [
        ("gradient boosting", lambda: HistGradientBoostingClassifier(random_state=seed, max_iter=60)),
        ("logistic regression", logistic),
    ]


def _score(name: str, make: Any, learned: list[Learned], tested: Learned) -> Score:
    from threadpoolctl import threadpool_limits

    auc, accuracy = [], []
    for table, answer, weight in learned:
        model = make()
        last = "" if not hasattr(model, "steps") else f"{model.steps[-1][0]}__"
        with threadpool_limits(1):  # small tables: threads would wait for each other on a machine that is in use
            model.fit(table, answer, **{f"{last}sample_weight": weight})
            chance = model.predict_proba(tested[0])
        accuracy.append(float(np.average(model.classes_[np.argmax(chance, axis=1)] == tested[1], weights=tested[2])))
        auc.append(area(chance, model.classes_, tested[1], tested[2]))
    return Score(name, auc[0], auc[1], accuracy[0], accuracy[1])


def area(chance: Floats, classes: Ints, answer: Ints, weight: Floats) -> float:
    """The area under the curve; for several values the mean, one against the rest."""
    areas = []
    for column, value in enumerate(classes.tolist()):
        positive = answer == value
        if positive.any() and not positive.all():
            areas.append(_area(chance[:, column], positive.astype(float), weight))
    return float(np.mean(areas)) if areas else 0.5


def _area(score: Floats, positive: Floats, weight: Floats) -> float:
    """The chance that a positive row is scored above a negative one, ties counting half."""
    values, index = np.unique(score, return_inverse=True)
    up = np.bincount(index, weights=weight * positive, minlength=len(values))
    down = np.bincount(index, weights=weight * (1 - positive), minlength=len(values))
    negatives = np.cumsum(down) - down
    return float(up @ (negatives + down / 2) / (up.sum() * down.sum()))


def _hold_back(original: Longs, draws: np.random.Generator) -> tuple[Longs, Longs]:
    """Counts, for each distinct row, how many are held back and how many are left."""
    rows = int(original.sum())
    number = min(int(rows * _TEST_PART), _MOST_TESTED)
    people = np.repeat(np.arange(len(original)), original)[draws.permutation(rows)[:number]]
    held_back = np.bincount(people, minlength=len(original)).astype(np.int64)
    return held_back, original - held_back


def _without(axes: Sequence[Axis], held_back: Longs, released: Longs) -> Longs:
    """The released rows without one for each person held back."""
    remaining = released.copy()
    quasi = [axis for axis in axes if axis.column.role is Role.QUASI]
    secret = sensitive_only(axes)
    narrow = sum(
        (np.log(np.maximum(axis.last - axis.first + 1, 1))[axis.released] for axis in quasi), np.zeros(len(remaining))
    )
    order = np.argsort(narrow, kind="stable")
    ends = [(axis.first[axis.released[order]], axis.last[axis.released[order]]) for axis in (*secret, *quasi)]
    for person in np.flatnonzero(held_back).tolist():
        fits = remaining[order] > 0
        for axis, (first, last) in zip((*secret, *quasi), ends, strict=True):
            position = axis.original[person]
            fits &= (first <= position) & (position <= last)
        count = int(held_back[person])
        for row in order[fits]:
            part = min(count, int(remaining[row]))
            remaining[row] -= part
            count -= part
            if not count:
                break
    return remaining


def _sample(counts: Longs, draws: np.random.Generator) -> Longs:
    """At most fifty thousand of the rows."""
    if counts.sum() <= _MOST_TRAINED:
        return counts
    return draws.multinomial(_MOST_TRAINED, counts / counts.sum()).astype(np.int64)


class _Table:
    """The other columns of both tables as numbers."""

    def __init__(self, axes: Sequence[Axis], counts: Longs) -> None:
        self.blocks = [(axis, *_numbers(axis, counts)) for axis in axes]

    def released(self, rows: Longs) -> Floats:
        return np.concatenate([block[axis.released[rows]] for axis, block, _ in self.blocks], axis=1)

    def original(self, rows: Longs) -> Floats:
        return np.concatenate([block[axis.original[rows]] for axis, _, block in self.blocks], axis=1)


def _numbers(axis: Axis, counts: Longs) -> tuple[Floats, Floats]:
    """Per label and per place: a column's numbers."""
    middle = axis.midpoints()
    if middle is not None:
        return middle[0][:, None], middle[1][:, None]
    columns = [(np.arange(axis.width) == position).astype(float) for position in _frequent(axis, counts)]
    tree = axis.column.hierarchy
    if isinstance(tree, Hierarchy) and axis.width in (tree.leaves, tree.codes, tree.codes + 1):
        for node in range(tree.codes, tree.nodes - 1):
            leaves = np.zeros(axis.width)
            leaves[tree.first[node] : tree.last[node] + 1] = 1
            columns.append(leaves)
    indicators = columns[:_MOST_INDICATORS]
    return np.stack([axis.shares(indicator) for indicator in indicators], axis=1), np.stack(indicators, axis=1)


def _frequent(axis: Axis, counts: Longs) -> list[int]:
    counted = np.bincount(axis.original, weights=counts, minlength=axis.width)
    return [int(position) for position in np.argsort(-counted, kind="stable")[:_MOST_VALUES]]
