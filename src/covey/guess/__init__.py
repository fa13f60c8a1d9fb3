"""Drafts a first study file from a look at the data: guessed roles, spellings and hierarchies, each with its reason.

columns   the values of each column, counted; columns that name a person, and those that say the same
spelling  dates, numbers, times of day and lists as people write them
missing   cells that mean "no value"
likeness  what names of columns and values look like: names, prose, numbers of persons, addresses
trees     hierarchies made from values: numbers in public steps, dates, codes, categories grouped
opening   columns published as they are, within bounds
roles     the role of each column; choice which of them stay, by trials
text      the study file; draft all of it together

Values decide, names may only hold back. In doubt a column waits for an answer: one that is left out by mistake costs
utility, one that is published by mistake harms people.
"""

from covey.guess.draft import Draft, Looked, compose, draft, draft_of, look_at, name_of, refuse_names, write_draft
from covey.guess.roles import Guess
from covey.guess.text import section_of, told_apart

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
