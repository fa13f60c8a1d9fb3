"""The ledger's sentences: what a run teaches, step by step."""

from __future__ import annotations

from covey.plain import plural, some
from covey.protocols.as_printed.cluster_rows import diversity
from covey.protocols.as_printed.cluster_rows.parameters import Parameters
from covey.protocols.shared import insiders
from covey.secure.declare import TOTALS, Leakage, Lesson
from covey.study import Study

_NOTHING_MORE = (
    "of how the classes are found no more than this, as long as no {colluders} of the {parties} parties put together "
    "what they know"
)

SETUP = Leakage(everyone=("how many records all parties have together{frequencies}",), about=TOTALS)
SETUP_OF_TWO = Leakage(
    everyone=(
        "how many records the other party has{frequencies}: with two parties a total gives the other's number away",
    ),
    about=TOTALS,
)
EXACT = Leakage(
    everyone=(
        "at the start, after each party's turn and after each split: the size and the labels of every class, also of "
        "classes with few records, or one",
        "in its own turns: the labels of the others' records in each class, also where that is a single record",
        _NOTHING_MORE,
    )
)
EXACT_OF_TWO = Leakage(
    everyone=(
        "after each party's turn and each split: the size and the labels of every class, also of classes with few "
        "records, or one; so, how many records the other party has in each. Every change in the other's turn is a move "
        "of the other's records",
        "the labels of the other's records in each class, also where that is a single record",
    )
)
PAPER = Leakage(
    everyone=(
        "after each party's turn and each split: the size and the labels of every class, also of classes with few "
        "records, or one",
        "each class in which the party whose turn it is examines a record without which its own labels would change, "
        "and the labels without that record, also where they are of a single record; so, roughly, a part of that "
        "party's number of records (a turn examines a random part of them)",
        "the answers of its neighbour in the ring, if it puts together what it knows with that party's other neighbour",
    )
)
OPENED_EXACTLY = Leakage(
    everyone=(
        "all of this in numbers: the labels of {closures}. How often they were another party's exact record, counted "
        "for all parties together: {exactly} in answer to a question of the party whose turn it was, and {single} as a "
        "class of one record, which everyone is shown",
    )
)
DIVERSITY = Leakage(
    everyone=(
        "which sensitive values are too frequent in which classes, and which of the nearest classes would make up for "
        "it (they are merged); where classes have {large} records or more, alone or merged, also how many have which "
        "value",
    )
)
DIVERSITY_OF_TWO = Leakage(
    everyone=(
        "how many records of each sensitive value the other party has in each class, also in classes that are then "
        "merged to keep l",
    )
)
SITES = Leakage(
    everyone=(
        "which values and ranges of the columns that may tell a site occur at some sites but at fewer than {sites}, "
        "and which published combinations of them would",
    )
)


class Times(int):
    """A number that a sentence spells as a number of times."""

    def __format__(self, spec: str) -> str:
        return plural(int(self), "time") if self else "never"


def opened_exactly(closures: int, exactly: int, single: int) -> Lesson:
    """The openings of a search that shows every group, and how often a group was another's exact record."""
    numbers = {"exactly": Times(exactly), "single": Times(single), "closures": some(closures, "group")}
    return OPENED_EXACTLY, numbers


def of_search(parameters: Parameters) -> Leakage:
    """The leakage of the search for clusters."""
    if parameters.calls == "ring":
        return PAPER
    return EXACT_OF_TWO if parameters.two else EXACT


def before(study: Study) -> list[Lesson]:
    """All that a run will teach, as far as it is known before, with what the sentences mention."""
    parameters = Parameters.of(study)
    known, two = numbers(parameters), parameters.two
    found = [(SETUP_OF_TWO if two else SETUP, known)]
    if parameters.site_l is not None:
        found.append((SITES, known))
    found.append((of_search(parameters), known))
    if parameters.l is not None:
        found.append((DIVERSITY_OF_TWO if two else DIVERSITY, known))
    return [*found, *((each, known) for each in insiders.before(study))]


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers that the sentences mention."""
    parts = ["how often each value of each quasi column occurs"] if parameters.entropy else []
    parts += ["how often each sensitive value occurs"] if parameters.l is not None else []
    return {
        "parties": parameters.parties,
        "colluders": (parameters.parties - 1) // 2 + 1,
        "frequencies": "".join(f", and {part}" for part in parts),
        "sites": parameters.site_l,
        "large": diversity.LARGE,
    }
