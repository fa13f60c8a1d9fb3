"""Generalization trees: read, made, checked, encoded.

tree      the encoded form that everything else uses
arx       ARX's files, read and written
numbers   {min, max, steps}; days, months, quarters, years
opened    flat values, prefix masks, intervals: domains that the study does not list
steps     intervals between public steps, where a protocol needs a domain
"""

from covey.hierarchy.arx import parse, read, write
from covey.hierarchy.numbers import Coding, dates, numbers
from covey.hierarchy.opened import Flat, Interval, Open, Prefix, public_step
from covey.hierarchy.tree import Hierarchy, Malformed

__all__ = [
    "Coding",
    "Flat",
    "Hierarchy",
    "Interval",
    "Malformed",
    "Open",
    "Prefix",
    "dates",
    "numbers",
    "parse",
    "public_step",
    "read",
    "write",
]
