"""The options, and the studies that the sealed `peel` refuses."""

from __future__ import annotations

from dataclasses import replace

from covey.errors import InputError
from covey.option import Choice, File, Text
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.parties import COMPUTING, parties_of
from covey.protocols.peel.run import Run
from covey.protocols.peel.terms import REFUSED, Terms
from covey.protocols.shared.domains import NOBODY_IN_COMMON
from covey.protocols.shared.reference import read_reference
from covey.study import Study
from covey.study.insiders import OF_INSIDERS
from covey.study.requirements import Requirements
from covey.table import Table

CHEATING = Choice(
    "cheating",
    "detect",
    'a computing party that deviates: "detect" (default) stops the run before anything wrong is opened; "trust" does '
    "not check, and sends less than half",
    ("detect", "trust"),
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
EVERYBODY = "each holder has columns of every person, so no class has people whom it does not know; leave it out"
OF_COLUMNS = replace(
    REQUIREMENTS,
    partition="vertical",
    empty=NOBODY_IN_COMMON,
    privacy=("k", "l", "diversity"),
    unable={**REFUSED, **dict.fromkeys(OF_INSIDERS, EVERYBODY)},
)

WEB = Text("web", "", "the address of the page in which people answer in a browser: https://survey.example.org", 200)
PAGE = Text("page", "", "the hash of that page's program, as `covey collect page` says it")
OF_RESPONDENTS = Requirements(
    partition="respondents",
    holders=(0, None),
    empty="a respondent answers with one row",
    roles=("collector", "trustee"),
    needs=("collector",),
    withholds=True,
    unable=REFUSED,
    options=(CHEATING, FREQUENCIES, REFERENCE, WEB, PAGE),
)


def run_of(study: Study) -> Run:
    """Returns the run of a study. Raises InputError, or Unmet where fewer than three can compute, with what to do."""
    parties = parties_of(study)
    terms, staged = Terms.of(study), FREQUENCIES.of(study.options) == "staged"
    named = REFERENCE.of(study.options)
    if staged == bool(named):
        what = "leave out reference" if named else 'name a file, reference = "frequencies.csv"'
        raise InputError(f'[protocol] frequencies = "{FREQUENCIES.of(study.options)}": {what}')
    reference = None if staged else read_reference(study, terms.trees, named)
    return Run(study, terms, parties, reference, CHEATING.of(study.options) == "detect")


def accepts(study: Study, own: Table) -> None:
    """Raises InputError for a holder's texts that are too long to be shared."""
    Cells.of(study).fits(own)
