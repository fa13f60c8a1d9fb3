"""Drafts a first study file from a look at the data: guessed roles, spellings and hierarchies, each with its reason.

columns   the values of each column, counted; columns that name a person, and those that say the same
spelling  missing values, numbers and dates as people write them
trees     hierarchies made from values: numbers in public steps, dates, codes, categories grouped
roles     the role of each column
draft     the study file

A guess is a starting point for a person who knows the data. In doubt a column is quasi: a column that is generalized by
mistake costs utility, one that is published by mistake harms people.
"""

from covey.guess.draft import (
    Draft,
    Looked,
    compose,
    draft,
    draft_of,
    look_at,
    name_of,
    refuse_names,
    section_of,
    told_apart,
    write_draft,
)
from covey.guess.roles import Guess

__all__ = [
    "Draft",
    "Guess",
    "Looked",
    "compose",
    "draft",
    "draft_of",
    "look_at",
    "name_of",
    "refuse_names",
    "section_of",
    "told_apart",
    "write_draft",
]
