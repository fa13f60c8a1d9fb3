"""The ledger's sentences: what a run teaches each role, step by step."""

from __future__ import annotations

from covey.protocols.peel_columns import marginals
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.shared import columns
from covey.secure.declare import Leakage

_CLASSES = (
    "at each of at most {nodes} generalizations, in turn, which of the common people are alike in everyone's columns "
    "there, wherever {k} or more of those in play are: the classes with their members, and so of everyone else that it "
    "was in no such group",
    "which classes have the same labels in everyone's columns",
)
_WINDOW = (
    "groups of {k} or more people who were alike when a window of {window} generalizations began, also those of which "
    "an earlier class then took members and that were not published",
)
_DIVERSE = ("that every class keeps l, and nothing about groups of {k} or more that do not",)
_SIZES = (
    "how many people are in play at each of at most {nodes} visits, and at each visit the sizes of all groups of "
    "people who are alike there in all columns together, in a fresh random order; no value, no column, no person, and "
    "not that two visits speak of the same person, except as far as sizes tell: a group that is much larger than all "
    "others, or that stays of the same size, is likely the same people at the next visit",
    "how many classes have the same labels",
)
_VALUES = (
    "within each group of {k} or more people how often each unnamed sensitive value occurs, so also how many of these "
    "groups do not keep l",
)
_LEFTOVER = ("which class each person joins who is left over",)
_PRICES = (
    "for each unnamed person who is left over the order of the unnamed classes by what joining them costs, and how far "
    "apart these prices are in proportion",
)
_LABELS = (
    "of each of its own people the class in the release, and with it the others' generalized values, and which exact "
    "values occur in that class",
)
COUNTED = Leakage(
    roles={
        "holder": (
            "in numbers: {visits} visits, {groups} groups of {k} or more that became classes, and {unpublished} that "
            "did not",
        ),
        "evaluator": ("in numbers: {visits} visits, with {people} people in play in all of them together",),
    }
)
FIGURES = Leakage(roles={"holder": ("what all other holders' columns lose together, as figures of the release",)})


def before(params: Parameters) -> list[tuple[Leakage, dict[str, object]]]:
    """The leakage of the marginals and the visits, known before the first of them."""
    holder: tuple[str, ...] = _CLASSES
    evaluator: tuple[str, ...] = _SIZES
    if params.window > 1:
        holder = (*holder, *_WINDOW)
    if params.rule is not None:
        holder, evaluator = (*holder, *_DIVERSE), (*evaluator, *_VALUES)
    if params.merge:
        holder, evaluator = (*holder, *_LEFTOVER), (*evaluator, *_PRICES)
    leaves = sum(column.tree().codes for column in params.study.quasi)
    known: dict[str, object] = {"nodes": params.nodes + 1, "k": params.k, "window": params.window}
    return [
        (marginals.LEAKAGE, {"leaves": leaves, "k": params.k}),
        (Leakage(roles={"holder": holder, "evaluator": evaluator}), known),
    ]


def of_release(params: Parameters, rows: int) -> tuple[Leakage, dict[str, object]]:
    """The leakage of the opening: whoever gets the release learns it, a holder also the class of each of its people."""
    known: dict[str, object] = {"rows": rows, "pairing": columns.pairing(params.study)}
    counted = ("that {rows} rows are released",)
    if params.recipient is None:
        return Leakage(roles={"holder": (*columns.LEAKAGE.everyone, *_LABELS), "evaluator": counted}), known
    roles = {"holder": counted, "evaluator": counted, "recipient": columns.LEAKAGE.everyone}
    return Leakage(roles=roles), known


def mind(params: Parameters) -> tuple[str, ...]:
    """Things to think of before a run."""
    return (
        f"{params.evaluator} must not put together what it sees with any holder: the two could compare it with "
        "guesses, and learn the other holders' values of everyone. Agree on that in writing, and choose a party that "
        "none of the holders controls",
    )


def in_short() -> dict[str, tuple[str, ...]]:
    """The lessons of each role in any study, for the comparison of protocols."""
    holder = marginals.LEAKAGE.by_role["holder"]
    return {"each holder of columns": (*columns.MEETING, *holder, *_CLASSES), "the evaluator": _SIZES}
