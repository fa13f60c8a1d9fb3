"""Evaluation of a release: what it is good for, and how exposed people are beyond k.

questions      the questions in order, and two sentences of verdict
axes           each released column beside the original's: one row of places, a label covers a stretch of them
distributions  one- and two-way tables, and errors of random COUNT queries
prediction     classifiers trained on the release and tested on originals that were held back
statistics     means and regression coefficients with intervals
population     population uniques by four estimators, and the chance of finding a person in a population
attacks        what a class tells of its members, and a record-linkage attack, carried out
findings       the figures, as one structure

Everything is computed where the original rows are; only figures leave. Who reads figures, as a report does, loads
`findings` alone; SciPy comes with `questions`.
"""

from covey.evaluation.findings import FILE, Evaluation

__all__ = ["FILE", "Evaluation"]
