"""The leakage of `peel`: what a run teaches each party, in sentences with the run's numbers."""

from __future__ import annotations

from covey.protocols.peel import marginals
from covey.protocols.peel.classes import Openings
from covey.protocols.peel.diversity import opened_from
from covey.protocols.peel.parameters import Parameters
from covey.protocols.shared import rows
from covey.secure import coin
from covey.secure.declare import Leakage

VISITS = Leakage(
    everyone=(
        "at each of at most {nodes} generalizations, in turn, which tuples {k} or more of the remaining records share "
        "and how many share each: the classes of the release; and so of every other tuple there that fewer did",
        "of each bucket of tuples that was tested whether {k} or more of the remaining records were in it, and if so "
        "whether they were alike; never how many, nor whose",
    )
)
TWO = Leakage(
    everyone=(
        "the other party's part of every number above and below: with two parties a total gives it away; the other's "
        "number of records of each opened value and in each class",
        "which tuples the other party has {k} or more records of by itself, where tuples are hashed",
    )
)
SKIP = Leakage(everyone=("these bits also for tuples that an earlier class of the same window then took records from",))
WAVE = Leakage(
    everyone=(
        "tuples that {k} or more records shared when their window began, also those of which a class then took records "
        "and that were not published; of these not how many records they had",
    )
)
DIVERSE = Leakage(
    everyone=(
        "of tuples that {k} or more records share whether each sensitive value has at most 1/{l} of them, and between "
        "which powers of two times {k} their number lies; of those that {large} or more share the number of records "
        "per value",
    )
)
INSIDER = Leakage(everyone=("that of each party at most {most} records were counted towards {k}",))
SHARED = Leakage(
    everyone=(
        "of tuples that {k} or more records share whether every party finds there no record of others or {many} or "
        "more; of those that fall short not for which party, but a party with {many} or more of a tuple's records then "
        "knows that others have some, and fewer than {many}",
    )
)
SHARED_OF_TWO = Leakage(
    everyone=(
        "of tuples that {k} or more records share, and of which it has none or {many} or more, whether the other party "
        "has fewer than {many}, but some",
    )
)
LEFTOVER = Leakage(
    everyone=(
        "of each record that is left over at the end which class it joins and how far that class's labels are widened "
        "for it; not whose it is, as long as one other mixer is honest",
    )
)
LEFTOVER_OF_TWO = Leakage(
    everyone=(
        "of each record that is left over at the end which class it joins and how far that class's labels are widened "
        "for it, and with two parties also whose it is: what is not ours is the other's",
    )
)
COUNTED = Leakage(
    everyone=(
        "in numbers: {tests} bits of buckets and tuples; {heavy} hashed buckets with {k} or more records, of which "
        "{impure} held several tuples; {tuples} tuples named, of which {unpublished} were not published",
    )
)
COUNTED_DIVERSE = Leakage(
    everyone=(
        "in numbers: {asked} tuples tested for diversity, of which {failed} fell short; of {opened} the numbers of "
        "records per value were opened",
    )
)

LEAKAGE = Leakage(everyone=(*marginals.LEAKAGE.everyone, *VISITS.everyone, *rows.LEAKAGE.everyone))
"""The leakage of a run in visit mode without further constraints, before its numbers are known."""


def before(params: Parameters, nodes: int) -> list[tuple[Leakage, dict[str, object]]]:
    """The leakage of the visits, known before the first of them."""
    k = params.k
    lines: list[tuple[Leakage, dict[str, object]]] = [(coin.LEAKAGE, {}), (VISITS, {"nodes": nodes, "k": k})]
    if params.mode == "skip":
        lines.append((SKIP, {}))
    if params.mode == "wave":
        lines.append((WAVE, {"k": k}))
    if params.diverse is not None:
        lines.append((DIVERSE, {"k": k, "l": f"{float(params.diverse):g}", "large": opened_from(k, params.diverse)}))
    if params.none_or_many is not None:
        lines.append((SHARED_OF_TWO if params.two else SHARED, {"many": params.none_or_many, "k": k}))
    if params.most_of_one is not None:
        lines.append((INSIDER, {"most": params.most_of_one, "k": k}))
    if params.merge:
        lines.append((LEFTOVER_OF_TWO if params.two else LEFTOVER, {}))
    return lines


def after(params: Parameters, openings: Openings, classes: int) -> list[tuple[Leakage, dict[str, object]]]:
    """The numbers of what the visits opened, known after the last of them."""
    numbers: dict[str, object] = {
        "tests": openings.tests,
        "heavy": openings.heavy,
        "impure": openings.impure,
        "tuples": openings.tuples,
        "unpublished": openings.tuples - classes,
        "k": params.k,
    }
    lines = [(COUNTED, numbers)]
    if params.diverse is not None:
        watched = openings.diversity
        lines.append((COUNTED_DIVERSE, {"asked": watched.tuples, "failed": watched.failed, "opened": watched.opened}))
    return lines
