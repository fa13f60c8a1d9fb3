"""The ledger's sentences: what a run of `collect` teaches the collector and each respondent."""

from __future__ import annotations

from covey.plain import plural
from covey.protocols.as_printed.collect.attack import Success
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.secure.declare import RELEASE, SEARCH, TAKING_PART, Leakage, Lesson


def _collector(*sentences: str, about: str = SEARCH) -> Leakage:
    return Leakage(roles={"collector": sentences}, about=about)


def _respondent(*sentences: str, about: str = SEARCH) -> Leakage:
    return Leakage(roles={"respondent": sentences}, about=about)


ENROLMENT = Leakage(
    everyone=("that {respondents} respondents took part",),
    roles={
        "respondent": (
            "if it is one of the {trustees} trustees: the other trustees' names, and encrypted numbers to open for the "
            "collector, which tell a trustee nothing",
        ),
    },
    about=TAKING_PART,
)
POSITIONS = _collector(
    "by name each respondent's position on a line through {cells} cells (answers in one cell are alike, or nearly): "
    "who stands before whom, and about how far apart",
    "{ties}",
)
TIES = "exactly which respondents are in the same cell"
JITTERED = "roughly which respondents are in the same cell: positions there differ by less than {jitter}"

CHANCE = _collector(
    "so much that in a simulation of this study it guessed the exact cell of {all} of the respondents from all "
    "positions and classes, of {both} from each position and its class, and of {alone} from the class alone; next to "
    "someone whose cell it knows it guessed {near} right",
)
DIVERSE = _collector(
    "for each class, also for those that are then merged: how many values of a sensitive column too many of its "
    "members share, never which values",
)
DISTINCT = _collector(
    "for each class, also for those that are then merged: how many different values of a sensitive column its members "
    "have, never which",
)
MERGED = _collector("that {short} not diverse enough, and merged with a neighbour")
DIVERSE_ALREADY = _collector("that every class is diverse enough")
BOXES = _collector(
    "for each class and column what is needed to find the published label: at most the lowest and the highest value",
)
ROWS = Leakage(
    roles={
        "collector": (
            "the release, and by name the class that each respondent is in; not which of the class's rows is whose",
        ),
        "respondent": ("how many respondents are in its class, and nothing of what they answered",),
    },
    about=RELEASE,
)
LEFT = _collector(
    "who left before the end ({left} of them), by handle, and what they had sent until then", about=TAKING_PART
)
SMALLER = _collector(
    "for each class that lost a member: whether the others are diverse enough without it; where they are not, that "
    "tells something about the value of the one who left",
)
WITHHELD = _respondent("that its class is withheld, because too few of its members stayed", about=RELEASE)

LEAKAGE = Leakage(
    everyone=ENROLMENT.everyone,
    roles={
        "collector": (
            *POSITIONS.by_role["collector"][:1],
            *BOXES.by_role["collector"],
            *ROWS.by_role["collector"],
        ),
        "respondent": (*ENROLMENT.by_role["respondent"], *ROWS.by_role["respondent"]),
    },
)
"""The leakage of a run without further constraints, before its numbers are known."""


DEALT = _respondent(
    "if it is the one who dealt the key of the positions: enough to open every position that it would get to see",
)


def before(parameters: Parameters, respondents: int) -> list[Lesson]:
    """The leakage of a run, as far as the study and the number of respondents tell."""
    lines = [enrolment(parameters, respondents), *([(DEALT, {})] if parameters.dealt else []), positions(parameters)]
    if parameters.watched:
        lines.append((DISTINCT if parameters.diversity == "distinct" else DIVERSE, {}))
    return [*lines, (BOXES, {}), (ROWS, {})]


def merged(short: int) -> Lesson:
    """The leakage of settling which classes are diverse enough."""
    return (MERGED, {"short": plural(short, "class is", "classes are")}) if short else (DIVERSE_ALREADY, {})


def enrolment(parameters: Parameters, respondents: int) -> Lesson:
    """The leakage of enrolling."""
    trustees = min(parameters.committee, respondents)
    return ENROLMENT, {"respondents": f"{respondents:,}", "trustees": trustees}


def positions(parameters: Parameters) -> Lesson:
    """The leakage of opening the positions."""
    ties = JITTERED.format(jitter=f"{2 * parameters.low:,}") if parameters.jitter else TIES
    return POSITIONS, {"cells": f"{parameters.grid.cells:,}", "ties": ties}


def chance(success: Success) -> Lesson:
    """The leakage of positions and classes together, in figures."""
    near = success.anchors[min(success.anchors)]
    shown = {"all": success.all, "both": success.both, "alone": success.alone, "near": near}
    return CHANCE, {name: percent(value) for name, value in shown.items()}


def percent(part: float) -> str:
    """A part as a reader likes it: two digits that mean something."""
    return f"{100 * part:.2g}%" if part < 0.995 else f"{100 * part:.0f}%"
