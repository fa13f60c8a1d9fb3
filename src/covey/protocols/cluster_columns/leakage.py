"""The ledger's sentences: what a run with columns split teaches, step by step."""

from __future__ import annotations

from covey.protocols.cluster_columns.parameters import BLOCK, Parameters
from covey.protocols.shared import columns
from covey.secure.declare import Leakage

HOLDERS = ("pivot", "holder")

_LABELS = (
    "at every step of the search, which of the common records are in one cluster: so, roughly, which of its own people "
    "are alike in everyone's columns together",
)
_DIVISION = (
    "into which parts, of {k} records or more, the holders' single columns divide the records, cut by cut, and whose "
    "cut each was",
)
_REFUSED_CUTS = ("which cuts of the table were given up because a part would not have kept l",)
_DIVERSITY = (
    "that every cluster keeps l at every step; that the first clusters, and the halves of a cluster that is split, "
    "have about the same mix of sensitive values each, so that people whom chance put together are a little less "
    "likely to share one; and which clusters were not split because a half would not have kept l",
)
_OPENED_OF_TWO = (
    "what each record would cost each cluster in the other holder's columns: from that it can tell which people share "
    "the other's values exactly, before anything is generalized; if it knows the values of one of them, it knows them "
    "of all",
)
_OPENED = (
    "what each record would cost each cluster in the {others} other holders' columns together: from that it can tell "
    "which people share all of their values exactly, before anything is generalized; if it knows the values of one of "
    "them, it knows them of all",
)
_CLASSES = (
    "of each of its own people the class in the release, and with it the others' generalized values, and which exact "
    "values occur in that class",
)
_EVALUATOR = (
    "how many records and clusters are compared at each step, and in each comparison the order of unnamed prices and "
    "about how far apart they are; nothing that tells which person or cluster a price is about, as long as it does not "
    "put together what it sees with a holder",
)

FIGURES = Leakage(everyone=("the release's figures before it is opened: rows, classes, k reached and loss",))


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


def of_release(parameters: Parameters, rows: int) -> tuple[Leakage, dict[str, object]]:
    """The leakage of the opening: everyone learns the release, a holder also the class of each of its people."""
    both = Leakage(columns.LEAKAGE.everyone, dict.fromkeys(HOLDERS, _CLASSES))
    return both, {"rows": rows, "pairing": columns.pairing(parameters.study)}


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
        "each holder of columns": (*columns.MEETING, *_DIVISION, *_LABELS),
        "the pivot, where no evaluator is named": _OPENED,
        "the evaluator": _EVALUATOR,
    }
