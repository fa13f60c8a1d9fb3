"""The independent judge: what a release keeps, recomputed from the files alone.

judge      the questions, in order, and the answer
tuples     a table as its distinct rows; the original
released   the released table as the study reads it, its classes counted
diversity  how many sensitive values hide in a class, and how near they are to the whole table's
singled_out  rows that one published cell, or two, single out
risk       how likely a stranger is to find a person, and a provider to learn that a user is in the release
loss       what the release has lost, by every measure
matching   every released row needs an original of its own
verdict    what was asked, what was reached, and all figures

It shares no code with what it judges: it counts, measures and reads cells by itself, and believes nothing that an
algorithm says of its work. Only what the parties agreed on (study, schema, hierarchies)
and the reading of files are common.
"""

from covey.judge.verdict import Diversity, Matched, Requirement, Risk, Risks, Verdict, VerifiedLoss
from covey.judge.verification import verify

__all__ = ["Diversity", "Matched", "Requirement", "Risk", "Risks", "Verdict", "VerifiedLoss", "verify"]
