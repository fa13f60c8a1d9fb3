"""What a run with columns split teaches, step by step, in the ledger's sentences."""

from __future__ import annotations

from covey.protocols.cluster_columns.terms import BLOCK, Terms
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


def of_search(terms: Terms) -> Leakage:
    """What the search for clusters teaches each role."""
    common: tuple[str, ...] = _LABELS
    if terms.fewest is not None:
        common = (*_DIVISION, *common)
    if terms.study.privacy.l is not None:
        common = (*common, *(_REFUSED_CUTS if terms.fewest is not None else ()), *_DIVERSITY)
    roles: dict[str, tuple[str, ...]] = {"holder": common, "pivot": common}
    if terms.evaluator is not None:
        roles["evaluator"] = _EVALUATOR
    else:
        roles["pivot"] = (*common, *(_OPENED_OF_TWO if len(terms.holders) == 2 else _OPENED))
    return Leakage(roles=roles)


def numbers(terms: Terms) -> dict[str, object]:
    """What the sentences mention."""
    return {"k": terms.k, "block": BLOCK * terms.k, "others": len(terms.holders) - 1}


def of_release(terms: Terms, rows: int) -> tuple[Leakage, dict[str, object]]:
    """What the opening teaches: everyone the release, a holder also in which class each of its people is."""
    both = Leakage(columns.LEAKAGE.everyone, dict.fromkeys(HOLDERS, _CLASSES))
    return both, {"rows": rows, "pairing": columns.pairing(terms.study)}


def mind(terms: Terms) -> tuple[str, ...]:
    """What to think of before a run."""
    if terms.evaluator is not None:
        return (
            f"{terms.evaluator} must not put together what it sees with any holder: agree on that in writing, and "
            "choose a party that none of them controls",
        )
    return (
        f"without an evaluator {terms.pivot} learns which people share the others' exact values; a party without data, "
        'role = "evaluator", prevents that',
    )


def in_short() -> dict[str, tuple[str, ...]]:
    """What each role learns in any study, for the comparison of protocols."""
    return {
        "each holder of columns": (*columns.MEETING, *_DIVISION, *_LABELS),
        "the pivot, where no evaluator is named": _OPENED,
        "the evaluator": _EVALUATOR,
    }
