"""The ledger's sentences: what a run with columns split teaches, step by step."""

from __future__ import annotations

from covey.protocols.as_printed.cluster_columns.parameters import Parameters
from covey.protocols.shared.columns import joining, meeting, release
from covey.secure.declare import RELEASE, Leakage, Lesson

HOLDERS = ("pivot", "holder")

_LABELS = (
    "at every step of the search: which of the common records are in one class; so, roughly, which of its own people "
    "are alike in everyone's columns together",
)
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

FIGURES = Leakage(
    everyone=("the figures of the release before it is opened: rows, classes, k reached and loss",), about=RELEASE
)


def of_search(parameters: Parameters) -> Leakage:
    """The leakage of the search for clusters, by role."""
    common = _LABELS if parameters.study.privacy.l is None else (*_LABELS, *_DIVERSITY)
    opened = _OPENED_OF_TWO if len(parameters.holders) == 2 else _OPENED
    return Leakage(roles={"holder": common, "pivot": (*common, *opened)})


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers that the sentences mention."""
    return {"others": len(parameters.holders) - 1}


def of_release(parameters: Parameters, rows: int) -> Lesson:
    """The leakage of the opening: everyone learns the release, a holder also the class of each of its people."""
    both = Leakage(joining.LEAKAGE.everyone, dict.fromkeys(HOLDERS, _CLASSES), RELEASE)
    return both, {"rows": rows, "pairing": release.pairing(parameters.study)}


def mind(parameters: Parameters) -> tuple[str, ...]:
    """Things to think of before a run."""
    return (f"{parameters.pivot} learns which people share the others' exact values",)


def in_short() -> dict[str, tuple[str, ...]]:
    """The lessons of each role in any study, for the comparison of protocols."""
    return {"each holder of columns": (*meeting.MEETING, *_LABELS), "the pivot": _OPENED}
