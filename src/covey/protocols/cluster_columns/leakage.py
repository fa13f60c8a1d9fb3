"""The ledger's sentences: what a run with columns split teaches, step by step."""

from __future__ import annotations

from covey.protocols.cluster_columns.parameters import BLOCK, Parameters
from covey.protocols.shared.columns import joining, meeting, release
from covey.secure.declare import RELEASE, Leakage, Lesson

HOLDERS = ("pivot", "holder")

_LABELS = (
    "at every step of the search: which of the common records are in one class; so, roughly, which of its own people "
    "are alike in everyone's columns together",
)
_DIVISION = (
    "how the records are first divided into parts of {k} records or more, cut by cut, each by a column of one holder, "
    "and whose cut each is",
)
_REFUSED_CUTS = ("which cuts of the table are given up because a part would not keep l",)
_DIVERSITY = (
    "that every class keeps l at every step; that the first classes, and the halves of a class that is split, have "
    "about the same mix of sensitive values each, so that people whom chance puts together are a little less likely to "
    "share one; and which classes are not split because a half would not keep l",
)
_OPENED_OF_TWO = (
    "how much each record would cost each class in the other holder's columns; so, which people share the other's "
    "values exactly, before anything is generalized: if it knows the values of one of them, it knows them of all",
)
_OPENED = (
    "how much each record would cost each class in the {others} other holders' columns together; so, which people "
    "share all of these values exactly, before anything is generalized: if it knows the values of one of them, it "
    "knows them of all",
)
_CLASSES = (
    "for each of its own people: the class in the release; so, the others' generalized values for that person, and "
    "which exact values occur in the class",
)
_EVALUATOR = (
    "how many records and classes are compared at each step; in each comparison the order of costs without names, and "
    "about how far apart they are; so also which records without names cost every class the same, and how many people "
    "are alike in everyone's columns together; not which person or class a cost is about, as long as it does not put "
    "together what it sees with a holder",
)

FIGURES = Leakage(
    everyone=("the figures of the release before it is opened: rows, classes, k reached and loss",), about=RELEASE
)


def of_search(parameters: Parameters) -> Leakage:
    """The leakage of the search for clusters, by role."""
    common: tuple[str, ...] = _LABELS
    if parameters.fewest is not None:
        common = (*_DIVISION, *common)
    if parameters.study.privacy.l is not None:
        common = (*common, *(_REFUSED_CUTS if parameters.fewest is not None else ()), *_DIVERSITY)
    roles: dict[str, tuple[str, ...]] = {"holder": common, "pivot": common}
    if parameters.evaluator is not None:
        roles["evaluator"] = _EVALUATOR
    else:
        roles["pivot"] = (*common, *(_OPENED_OF_TWO if len(parameters.holders) == 2 else _OPENED))
    return Leakage(roles=roles)


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers that the sentences mention."""
    return {"k": parameters.k, "block": BLOCK * parameters.k, "others": len(parameters.holders) - 1}


def of_release(parameters: Parameters, rows: int) -> Lesson:
    """The leakage of the opening: everyone learns the release, a holder also the class of each of its people."""
    both = Leakage(joining.LEAKAGE.everyone, dict.fromkeys(HOLDERS, _CLASSES), RELEASE)
    return both, {"rows": rows, "pairing": release.pairing(parameters.study)}


def mind(parameters: Parameters) -> tuple[str, ...]:
    """Things to think of before a run."""
    if parameters.evaluator is not None:
        return (
            f"{parameters.evaluator} must not put together what it sees with any holder: agree on that in writing, and "
            "choose a party that none of them controls",
        )
    return (
        f"without an evaluator {parameters.pivot} learns which people share the others' exact values; a party without "
        'data, role = "evaluator", prevents that',
    )


def in_short() -> dict[str, tuple[str, ...]]:
    """The lessons of each role in any study, for the comparison of protocols."""
    return {
        "each holder of columns": (*meeting.MEETING, *_DIVISION, *_LABELS),
        "the pivot, where no evaluator is named": _OPENED,
        "the evaluator": _EVALUATOR,
    }
