"""The ledger's sentences: what a run teaches, step by step."""

from __future__ import annotations

from covey.plain import plural, some
from covey.protocols.cluster_rows import diversity
from covey.protocols.cluster_rows.parameters import Parameters
from covey.protocols.cluster_rows.party import Disclosures
from covey.protocols.shared import insiders
from covey.protocols.shared.diversity import fraction
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
GUARDED = Leakage(
    everyone=(
        "for each group of {twice} records or more that is divided, and for each column: which values and ranges have "
        "fewer than {k} of its records, and how many records each of the others has. Groups overlap, so the difference "
        "of two of these numbers may be smaller than {k} (with schedule = 'strict' in the study no such number is "
        "opened)",
        "after each party's turn: the size and the labels of every class, all of {k} records or more; so, from what "
        "has changed, roughly which records that party has moved",
        "in its own turns: the labels that a class would have without one record of the party whose turn it is, where "
        "{k} or more remain",
        _NOTHING_MORE,
    )
)
STRICT = Leakage(
    everyone=(
        "for each group of {twice} records or more that is divided, and for each column: which values and ranges have "
        "fewer than {k} of its records, and how many the others have to within a factor of two, never exactly",
        "the size and the labels of every group that is formed, all of {k} records or more; groups lie within each "
        "other, so that no difference of two sizes is smaller than {k}",
        _NOTHING_MORE,
    )
)
STRICT_OF_TWO = Leakage(
    everyone=(
        "for each group of {twice} records or more that is divided, and for each column: in which values and ranges "
        "both parties have {half} records or more, and how many to within a factor of two",
        "the size and the labels of every group that is formed, all of {k} records or more; so, how many records the "
        "other party has in each",
        "in which groups the other party has no record; and in groups where it has none itself, the labels of the "
        "other's records alone",
    )
)
GUARDED_OF_TWO = Leakage(
    everyone=(
        "for each group of {twice} records or more that is divided, and for each column: in which values and ranges "
        "both parties have {half} records or more, and how many the other has there",
        "after each party's turn: the size and the labels of every class, all of {k} records or more; so, how many "
        "records the other party has in each. Every change in the other's turn is a move of the other's records",
        "in which classes the other party has no record; and in classes where it has none itself, the labels of the "
        "other's records alone",
        "in its own turns: the labels that a class would have without one record of the party whose turn it is, where "
        "{k} or more remain",
    )
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
SLACK = Leakage(
    everyone=(
        "once, before records move between classes that keep l: how many more records of each sensitive value each "
        "class may take, in steps ({steps}); so, a party that sees a record join a class may guess "
        "the sensitive value of that person",
    )
)
DIVERSITY_OF_TWO = Leakage(
    everyone=(
        "how many records of each sensitive value the other party has in each class, also in classes that are then "
        "merged to keep l",
    )
)
CLOSENESS = Leakage(
    everyone=(
        "which sensitive values are more frequent in which classes than in the whole table, and which classes have too "
        "much of these for t = {t} (they are merged); where classes have {large} records or more, also how many have "
        "which value",
    )
)
CLOSENESS_OF_TWO = Leakage(
    everyone=(
        "how many records of each sensitive value the other party has in each class, also in classes that are then "
        "merged to keep t",
    )
)
SITES = Leakage(
    everyone=(
        "which values and ranges of the columns that may tell a site occur at some sites but at fewer than {sites}, "
        "and which published combinations of them would",
    )
)
MERGED = Leakage(everyone=("in which classes some party sees fewer than {fewest} records of others (they are merged)",))
MERGED_OR_SPLIT = Leakage(
    everyone=(
        "in which classes some party sees fewer than {fewest} records of others, or has more than {part} of all (they "
        "are merged; not which of the two, nor which party)",
    )
)
OPENED = Leakage(
    everyone=(
        "all of this in numbers: {tests} whether a count reaches k, {counts}, and the labels of {closures}{smallest}; "
        "none is of a single record{inferred}",
    )
)


def of_search(parameters: Parameters) -> Leakage:
    """The leakage of the search for clusters."""
    among_many, of_two = {
        "guarded": (GUARDED, GUARDED_OF_TWO),
        "strict": (STRICT, STRICT_OF_TWO),
        "exact": (EXACT, EXACT_OF_TWO),
        "paper": (PAPER, PAPER),
    }[parameters.schedule]
    return of_two if parameters.two else among_many


def merged(parameters: Parameters) -> Leakage:
    """The leakage of merging for the sake of insiders."""
    return MERGED if parameters.most_of_a_class == 1 else MERGED_OR_SPLIT


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
    if parameters.moves_within_l:
        found.append((SLACK, known))
    if parameters.t is not None:
        found.append((CLOSENESS_OF_TWO if two else CLOSENESS, known))
    if parameters.merges_for_insiders:
        found.append((merged(parameters), known))
    return [*found, *((each, known) for each in insiders.before(study))]


def opened(disclosed: Disclosures, inferred: int) -> Lesson:
    """The openings of a search that divides groups, and how often another's exact record followed from them."""
    some_inferred = (
        f", but a party that takes its own records away can read some: at least {plural(inferred, 'time')}, all "
        "parties together, the exact quasi values of the one record of others in a group followed from the group's "
        "labels"
    )
    none_inferred = (
        ", and the parties found no group whose labels, with their own records taken away, give the exact quasi values "
        "of a single record of others"
    )
    least = f", each of {disclosed.smallest:,} records or more" if disclosed.counts or disclosed.closures else ""
    return OPENED, {
        "tests": some(disclosed.tests, "answer"),
        "counts": some(disclosed.counts, "count"),
        "closures": some(disclosed.closures, "group"),
        "smallest": least,
        "inferred": some_inferred if inferred else none_inferred,
    }


def opened_exactly(closures: int, exactly: int, single: int) -> Lesson:
    """The openings of a search that shows every group, and how often a group was another's exact record."""
    often = {"exactly": exactly, "single": single}
    times: dict[str, object] = {name: plural(each, "time") if each else "never" for name, each in often.items()}
    return OPENED_EXACTLY, times | {"closures": some(closures, "group")}


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers that the sentences mention."""
    k, parties, wanted = parameters.k, parameters.parties, parameters.l
    parts = ["how often each value of each quasi column occurs"] if parameters.entropy else []
    parts += ["how often each sensitive value occurs"] if wanted is not None or parameters.t is not None else []
    return {
        "k": k,
        "twice": 2 * k,
        "half": -(-k // 2),
        "parties": parties,
        "colluders": (parties - 1) // 2 + 1,
        "frequencies": "".join(f", and {part}" for part in parts),
        "sites": parameters.site_l,
        "large": diversity.LARGE,
        "t": "" if parameters.t is None else f"{parameters.t:g}",
        "steps": "" if wanted is None else ", ".join(map(str, diversity.steps_of(fraction(wanted)))),
        "fewest": parameters.k_insider,
        "part": f"{float(parameters.most_of_a_class):g}",
    }
