"""The ledger's sentences: what a run teaches, step by step."""

from __future__ import annotations

from covey.protocols.cluster_rows import diversity
from covey.protocols.cluster_rows.parameters import Parameters
from covey.protocols.shared import insiders
from covey.protocols.shared.diversity import fraction
from covey.secure.declare import Leakage
from covey.study import Study

SETUP = Leakage(everyone=("the joint number of records{frequencies}",))
SETUP_OF_TWO = Leakage(
    everyone=("the other party's number of records{frequencies}: with two parties a total gives the other's away",)
)
GUARDED = Leakage(
    everyone=(
        "of each group of {twice} records or more on the way to the classes, and for each column, which nodes below "
        "the group's own have fewer than {k} records, not how many; and the numbers of records below the others; as "
        "groups overlap, differences of these numbers may be of fewer (schedule strict opens no such numbers)",
        "the size and the closure of every cluster after each turn, all of {k} records or more; whose turn it was, and "
        "so, from what changed, roughly which records the mover moved",
        "in its own turns: what the closure of a cluster would be without one of its own records, where {k} or more "
        "remain",
        "nothing more on the way, as long as no more than {colluders} of the {parties} parties put together what "
        "they hold",
    )
)
STRICT = Leakage(
    everyone=(
        "of each group of {twice} records or more on the way to the classes, and for each column, which nodes below "
        "the group's own have fewer than {k} records, and of the others which doubling of {k} they reach, not how many "
        "they have",
        "the size and the closure of every group that is formed, all of {k} records or more; groups are nested, so "
        "that no difference of sizes is of fewer",
        "nothing more on the way, as long as no more than {colluders} of the {parties} parties put together what "
        "they hold",
    )
)
STRICT_OF_TWO = Leakage(
    everyone=(
        "of each group of {twice} records or more on the way to the classes, and for each column, below which nodes "
        "both parties have {half} records or more, and which doublings of that",
        "the size and the closure of every group that is formed, all of {k} records or more, and with that the other "
        "party's number of records in each",
        "in which groups the other party has no record, and the other's own closure where it has none itself",
    )
)
GUARDED_OF_TWO = Leakage(
    everyone=(
        "of each group of {twice} records or more on the way to the classes, and for each column, below which nodes "
        "both parties have {half} records or more, and there the other's number of records",
        "the size and the closure of every cluster after each turn, all of {k} records or more, and with that the "
        "other party's number of records in each; every change in the other's turn is a move of the other's records",
        "in which clusters the other party has no record, and the other's own closure where it has none itself",
        "in its own turns: what the closure of a cluster would be without one of its own records, where {k} or more "
        "remain",
    )
)
EXACT = Leakage(
    everyone=(
        "the size and the closure of every cluster at the start, after each turn and each split, also of clusters of a "
        "few records; whose turn it was",
        "in its own turns: the closure of the others' records in each cluster, also where that is a single record",
        "nothing more on the way, as long as no more than {colluders} of the {parties} parties put together what "
        "they hold",
    )
)
EXACT_OF_TWO = Leakage(
    everyone=(
        "the size and the closure of every cluster after each turn and each split, also of clusters of a few records, "
        "and with that the other party's number of records in each; every change in the other's turn is a move of the "
        "other's records",
        "the closure of the other's records in each cluster, also where that is a single record",
    )
)
PAPER = Leakage(
    everyone=(
        "the size and the closure of every cluster after each turn and each split, also of clusters of a few records; "
        "whose turn it was",
        "each cluster in which the mover examines a record that matters to its own closure, and the cluster's closure "
        "without it, also where that is a single record; so a part of the mover's number of records, blurred: a sweep "
        "examines a random part of them",
        "if it is a party's neighbour in the ring and colludes with the other neighbour: that party's answers",
    )
)
OPENED_EXACTLY = Leakage(
    everyone=(
        "in all: {closures} closures; how often one that a party was shown was another party's exact record: "
        "{exactly} times in answer to a mover's question, and {single} times as a cluster of one record, of which "
        "everyone is shown the closure; all parties together",
    )
)
DIVERSITY = Leakage(
    everyone=(
        "which sensitive values were too frequent in which classes, and which of the nearest classes would make up for "
        "it; such classes were merged; of classes (or of several that were merged) of {large} records or more, how "
        "many records carry which value",
    )
)
SLACK = Leakage(
    everyone=(
        "once, before records move within l: how far each class is from too many records of each sensitive value, in "
        "steps ({steps}), so that a party which sees a record join a class may guess at its value",
    )
)
DIVERSITY_OF_TWO = Leakage(
    everyone=(
        "the other party's number of records of each sensitive value in each class, also in those that were then "
        "merged for l",
    )
)
SITES = Leakage(
    everyone=(
        "which nodes of the columns that may tell a site are supported by some sites but fewer than {sites}, and which "
        "published combinations of them would be",
    )
)
MERGED = Leakage(everyone=("which classes showed some party fewer than {fewest} records of others, and were merged",))
OPENED = Leakage(
    everyone=(
        "in all: {tests} answers whether a count reaches k, {counts} counts, {closures} closures, each of "
        "{smallest} records or more; no other party's exact record",
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


def before(study: Study) -> list[tuple[Leakage, dict[str, object]]]:
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
    if parameters.k_insider > 1:
        found.append((MERGED, known))
    return [*found, *((each, known) for each in insiders.before(study))]


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers that the sentences mention."""
    k, parties, wanted = parameters.k, parameters.parties, parameters.l
    parts = ["how often each value of each quasi column occurs"] if parameters.entropy else []
    parts += ["how often each sensitive value occurs"] if wanted is not None else []
    return {
        "k": k,
        "twice": 2 * k,
        "half": -(-k // 2),
        "parties": parties,
        "colluders": (parties - 1) // 2,
        "frequencies": "".join(f", and {part}" for part in parts),
        "sites": parameters.site_l,
        "large": diversity.LARGE,
        "steps": "" if wanted is None else ", ".join(map(str, diversity.steps_of(fraction(wanted)))),
        "fewest": parameters.k_insider,
    }
