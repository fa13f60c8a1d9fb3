"""The ledger's sentences: what a run teaches each role, step by step."""

from __future__ import annotations

from covey.protocols.peel_columns import marginals, pairs
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.shared.columns import joining, meeting, release
from covey.protocols.shared.peeling.pairs import cells_of
from covey.secure.declare import RELEASE, Leakage, Lesson

_CLASSES = (
    "the classes of the release with their members, one after the other, at up to {nodes} levels of generalization: "
    "which of the common people are alike in everyone's columns, wherever {k} or more of those who remain are; so, of "
    "everyone else, that fewer are like them",
    "which classes have the same labels in everyone's columns",
)
_WINDOW = (
    "groups of {k} or more people who are alike when a batch of {window} levels begins, also if an earlier class then "
    "takes some of them and the group is not published",
)
_DIVERSE = ("that every class keeps l, and nothing about groups of {k} or more that do not",)
_SIZES = (
    "at each of up to {nodes} levels of generalization: how many people remain, and the sizes of all groups of people "
    "who are alike in all columns together, in a fresh random order; no value, no column and no person. Only sizes may "
    "tell that two levels show the same people: a group that is much larger than all others, or that stays of the same "
    "size, likely has the same people at the next level",
    "how many classes have the same labels",
)
_VALUES = (
    "for each group of people who are alike, also of fewer than {k}: how often each sensitive value occurs in it, and "
    "how often values of several sensitive columns occur together, without telling which values; so also how many "
    "groups of {k} or more do not keep l",
)
_LEFTOVER = ("which class each person joins who is left over at the end",)
_PRICES = (
    "for each person who is left over, without a name: the order of the classes, without names, by what joining them "
    "costs, and how far apart these costs are in proportion. With a published release at hand, that may narrow this "
    "person's exact values in all quasi columns down beyond the label that the release gives",
)
_LABELS = (
    "for each of its own people: the class in the release; so, the others' generalized values for that person, and "
    "which exact values occur in the class",
)
COUNTED = Leakage(
    roles={
        "holder": (
            "all of this in numbers: {visits} levels of generalization, {groups} of {k} or more people that became "
            "classes, and {unpublished} that did not",
        ),
        "evaluator": (
            "all of this in numbers: {visits} levels of generalization, at which {people} remained, counted again at "
            "each",
        ),
    }
)
FIGURES = Leakage(
    roles={"holder": ("how much the other holders' columns lose together, as a figure of the release",)}, about=RELEASE
)


def before(params: Parameters, looks: bool) -> list[Lesson]:
    """The leakage of the marginals, the pairs where holders look at them, and the visits, known before all of these."""
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
    cells = cells_of([column.tree() for column in params.study.quasi])
    of_pairs: dict[str, object] = {"cells": cells, "k": params.k, "asked": len(pairs.questions(params))}
    learned = pairs.LEAKAGE if of_pairs["asked"] else Leakage(roles={"holder": pairs.LEAKAGE.by_role["holder"]})
    return [
        (marginals.LEAKAGE, {"leaves": leaves, "k": params.k}),
        *([(learned, of_pairs)] if looks else []),
        (Leakage(roles={"holder": holder, "evaluator": evaluator}), known),
    ]


def of_release(params: Parameters, rows: int) -> Lesson:
    """The leakage of the opening: whoever gets the release learns it, a holder also the class of each of its people."""
    known: dict[str, object] = {"rows": rows, "pairing": release.pairing(params.study)}
    counted = ("that {rows} rows are released",)
    if params.recipient is None:
        roles = {"holder": (*joining.LEAKAGE.everyone, *_LABELS), "evaluator": counted}
        return Leakage(roles=roles, about=RELEASE), known
    roles = {"holder": counted, "evaluator": counted, "recipient": joining.LEAKAGE.everyone}
    return Leakage(roles=roles, about=RELEASE), known


def mind(params: Parameters) -> tuple[str, ...]:
    """Things to think of before a run."""
    return (
        f"{params.evaluator} must not put together what it sees with any holder: the two would learn who has equal "
        "values in each other holder's columns, and from how frequent these are often the values themselves. Agree on "
        "that in writing, and choose a party that none of the holders controls",
    )


def in_short() -> dict[str, tuple[str, ...]]:
    """The lessons of each role in any study, for the comparison of protocols."""
    holder = (*marginals.LEAKAGE.by_role["holder"], *pairs.LEAKAGE.by_role["holder"])
    evaluator = (*pairs.LEAKAGE.by_role["evaluator"], *_SIZES)
    return {"each holder of columns": (*meeting.MEETING, *holder, *_CLASSES), "the evaluator": evaluator}
