"""All that a run opens, by key, and the one table of sentences that plans, ledgers and reports print."""

from __future__ import annotations

from collections.abc import Sequence

from covey.mpc import Disclosure, Opening, totals

LEAVE = Disclosure("leave")
CLASSES = Disclosure("classes")
NARROWED = Disclosure("narrowed")
EMPTY = Disclosure("empty")
ALONE = Disclosure("alone")
CELLS = Disclosure("cells")
SENTENCES = {
    "total": "whether all holders together have {k} records or more; if so how many, and the longest cell's length",
    "empty": "which places of a shuffled list are empty records, which fill every holder's table to the same size",
    "order": "the order of shuffled records, which is random whatever the records are",
    "leave": "how many records leave at each window of nodes, and their places in a list that nobody can link",
    "classes": "for each record that leaves: the node where it leaves, and its labels there",
    "narrowed": "for each class the narrowest label of each column that covers all its records",
    "alone": "for each exact column, if one released record alone has its value",
    "cells": "the released cells, after everybody approved",
}
"""What everybody learns, as the end of a sentence."""


def total(k: int) -> Disclosure:
    """Returns what the opening of the number of records says."""
    return Disclosure("total", {"k": k})


def sentences(ledger: Sequence[Opening]) -> list[str]:
    """Returns a sentence for each kind of opening, in the order of the first."""
    return [SENTENCES[entry.key].format(**entry.numbers) for entry in totals(ledger)]
