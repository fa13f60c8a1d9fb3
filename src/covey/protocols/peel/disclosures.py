"""All that a run opens, by key, and the one table of sentences that plans, ledgers and reports print."""

from __future__ import annotations

from covey.mpc import Disclosure

LEAVE = Disclosure("leave")
CLASSES = Disclosure("classes")
NARROWED = Disclosure("narrowed")
EMPTY = Disclosure("empty")
FITS = Disclosure("fits")
ALONE = Disclosure("alone")
CELLS = Disclosure("cells")
LENGTH = Disclosure("length")
LARGEST = Disclosure("largest")
RECOGNISED = Disclosure("recognised")
IN_RANGE = Disclosure("range")
SENTENCES = {
    "total": "whether all holders together have {k} records or more; if so how many",
    "range": "for each holder, if all its cells are such as the study knows; if not, the run ends",
    "length": "the length of the longest cell, in bytes and rounded up to a power of two",
    "largest": "how many records the holder with the most has; with public sizes, how many each holder has",
    "common": "whether {k} people or more are common to all holders; if so how many, and to nobody which",
    "empty": "which places of a shuffled list are empty records, which fill every holder's table to the same size",
    "fits": "which letters are no answers to the study, by their place on the board",
    "order": "the order of shuffled records, which is random whatever the records are",
    "leave": "at which nodes records leave, how many, and their places in a list that nobody can link",
    "classes": "for each record that leaves: the node where it leaves, and its labels there",
    "narrowed": "for each class the narrowest label of each column that covers all its records",
    "alone": "for each exact column without a reason in the study, if one released record alone has its value",
    "recognised": "to each owner of exact columns, how many of its own people it would find alone, or among few rows",
    "cells": "the released cells, after everybody approved",
}
"""What everybody learns, as the end of a sentence."""


def total(k: int) -> Disclosure:
    """Returns what the opening of the number of records says."""
    return Disclosure("total", {"k": k})


def common(k: int) -> Disclosure:
    """Returns what an opening about the number of common people says."""
    return Disclosure("common", {"k": k})
