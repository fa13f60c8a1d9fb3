"""The options, and the studies that the sealed `peel` refuses."""

from __future__ import annotations

from covey.errors import InputError
from covey.option import Choice, File
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.parties import COMPUTING, parties_of
from covey.protocols.peel.run import Run
from covey.protocols.peel.terms import REFUSED, Terms
from covey.protocols.shared.reference import read_reference
from covey.study import Study
from covey.study.insiders import OF_INSIDERS
from covey.study.requirements import Requirements
from covey.table import Table

CHECKS = ("trust", "detect")
CHEATING = Choice(
    "cheating", "trust", '"trust" (default, so far the only one): a computing party that cheats is not caught', CHECKS
)
FREQUENCIES = Choice(
    "frequencies",
    "staged",
    'where the list of nodes has its frequencies from: "staged" (default), the labels published so far; "reference", a '
    "public file",
    ("staged", "reference"),
)
REFERENCE = File("reference", "", "a file with public frequencies (column,value,count), with frequencies = reference")
REQUIREMENTS = Requirements(
    partition="horizontal",
    holders=(2, None),
    roles=("helper", "recipient"),
    withholds=True,
    privacy=("k", "l", "diversity", *OF_INSIDERS),
    unable=REFUSED,
    options=(CHEATING, COMPUTING, FREQUENCIES, REFERENCE),
)


def run_of(study: Study) -> Run:
    """Returns the run of a study. Raises InputError, or Unmet where fewer than three can compute, with what to do."""
    if CHEATING.of(study.options) == "detect":
        raise InputError('[protocol] cheating = "detect" is not part of this version; leave it out, or say "trust"')
    parties = parties_of(study)
    terms, staged = Terms.of(study), FREQUENCIES.of(study.options) == "staged"
    named = REFERENCE.of(study.options)
    if staged == bool(named):
        what = "leave out reference" if named else 'name a file, reference = "frequencies.csv"'
        raise InputError(f'[protocol] frequencies = "{FREQUENCIES.of(study.options)}": {what}')
    return Run(study, terms, parties, None if staged else read_reference(study, terms.trees, named))


def accepts(study: Study, own: Table) -> None:
    """Raises InputError for a holder's texts that are too long to be shared."""
    Cells.of(study).fits(own)
