"""The leakage of `peel`: what a run teaches each party, in sentences with the run's numbers."""

from __future__ import annotations

from covey.plain import plural, some
from covey.protocols.peel import marginals
from covey.protocols.peel.classes import Openings
from covey.protocols.peel.diversity import opened_from
from covey.protocols.peel.lending_rules import limits, stages
from covey.protocols.peel.parameters import Parameters
from covey.protocols.shared import rows
from covey.protocols.shared.peeling import narrowing
from covey.secure import coin
from covey.secure.declare import Leakage, Lesson

VISITS = Leakage(
    everyone=(
        "the classes of the release one after the other, at up to {nodes} levels of generalization: which combinations "
        "of values {k} or more of the remaining records share, and how many share each. Everyone then knows that fewer "
        "share any other combination there",
        "for each group of combinations that is tested: whether {k} or more of the remaining records are in it and, if "
        "so, whether all of them have the same values; never how many they are, nor whose",
    )
)
VISITS_LENDING = Leakage(
    everyone=(
        "the classes of the release one after the other, at up to {nodes} levels of generalization: which combinations "
        "of values {k} or more records share, of those in no class yet and of some that earlier classes do not need. "
        "Everyone then knows that fewer share any other combination there",
        "for each group of combinations that is tested: whether {k} or more of these records are in it and, if so, "
        "whether all of them have the same values; never how many they are, nor whose",
    )
)
TWO = Leakage(
    everyone=(
        "the other party's share of every number in this list, because with two parties a total gives it away; so, how "
        "many records the other has of each value that is opened, and in each class",
        "which combinations the other party has {k} or more records of by itself, where combinations are hashed into "
        "groups",
    )
)
SKIP = Leakage(
    everyone=("the same answers also for combinations that lost records to a class of the same batch of tests",)
)
WAVE = Leakage(
    everyone=(
        "which combinations {k} or more records share when a batch of tests begins, also if a class then takes some of "
        "these records and the combination is not published; of such a combination not how many records it has",
    )
)
DIVERSE = Leakage(
    everyone=(
        "for combinations that {k} or more records share: whether {kept}, and how many they are to within a factor of "
        "two; from {large} records on, how many have each value",
    )
)
DIVERSE_ONLY = Leakage(
    everyone=("for combinations that {k} or more records share: whether {kept}; no more of their sensitive values",)
)
LEND = Leakage(
    everyone=(
        "for combinations that {k} or more records share if some are counted that earlier classes do not need: whether "
        "{k} share it without these, too. If not, and it becomes a class, it has some of them; not how many, nor from "
        "which classes",
        "of each class: the smallest number, from {low} on, with which it has {k} records if each party's count for it "
        "at most, which says roughly how the class is spread over the parties, not over which; and how many records it "
        "does not lend, {k} or more. How many it has is known after the last visit",
        "at {stages} places of the list: whether {k} or more records are in no class yet and, if so, roughly how many",
        "which of its own records were lent, and to which class",
    )
)
REST = Leakage(
    everyone=(
        "whether what is left over at the end keeps t together with 1, 2, 4 … of the classes found before, which are "
        "then released as one class without labels; so, what those classes were and how many records each had",
    )
)
BESIDE = Leakage(
    everyone=(
        "for combinations that {k} or more records share: whether, for every party, each sensitive value has at most "
        "1/{l} of the records that are not that party's, and how many records there are to within a factor of two; "
        "from {large} records on, how many of each value each party has",
    )
)
SPLIT = Leakage(
    everyone=(
        "for combinations that {k} or more records share: whether no party has more than {part} of these records, and "
        "how many they are to within a factor of two; from {large} records on, how many each party has",
    )
)
INSIDER = Leakage(everyone=("that the records of one party count towards {k} as {most} at most",))
SHARED = Leakage(
    everyone=(
        "for combinations that {k} or more records share: whether some party would see records of others there, but "
        "fewer than {many}; not which party. A party that has {many} or more of these records then knows that the "
        "others have {few}",
    )
)
SHARED_OF_TWO = Leakage(
    everyone=(
        "for combinations that {k} or more records share, and of which it has none, or {many} or more: whether the "
        "other party has {few}",
    )
)
LEFTOVER = Leakage(
    everyone=(
        "for each record that is left over at the end: which class it joins, and how far that class's labels are "
        "widened for it; not whose it is, as long as one other party or more shuffles honestly",
    )
)
LEFTOVER_OF_TWO = Leakage(
    everyone=(
        "for each record that is left over at the end: which class it joins, how far that class's labels are widened "
        "for it and, with two parties, also whose it is: what is not ours is the other's",
    )
)
COUNTED = Leakage(
    everyone=(
        "all of this in numbers: {tests}; {heavy} with {k} or more records{impure}; {named} by name{unpublished}",
    )
)
COUNTED_DIVERSE = Leakage(everyone=("the tests of {what} in numbers: {asked}{failed}{opened}",))

LEAKAGE = Leakage(
    everyone=(
        *marginals.LEAKAGE.everyone,
        *marginals.PAIRS.everyone,
        *VISITS.everyone,
        *narrowing.LEAKAGE.everyone,
        *rows.LEAKAGE.everyone,
    )
)
"""The leakage of a run in visit mode without further constraints, before its numbers are known."""


def before(params: Parameters, nodes: int) -> list[Lesson]:
    """The leakage of the visits, known before the first of them."""
    k = params.k
    visits = VISITS_LENDING if params.lend else VISITS
    lines: list[Lesson] = [(coin.LEAKAGE, {}), (visits, {"nodes": nodes, "k": k})]
    if params.mode == "skip":
        lines.append((SKIP, {}))
    if params.mode == "wave":
        lines.append((WAVE, {"k": k}))
    if params.asks_l or params.near is not None:
        alone = params.two or (not params.conditions(None).sized and params.near is None)
        large = opened_from(k, params.diverse)
        lines.append((DIVERSE_ONLY if alone else DIVERSE, {"k": k, "kept": _kept(params), "large": large}))
    if params.near is not None:
        lines.append((REST, {}))
    if params.lend:
        low = limits(k, params.parties, params.none_or_many or 1)[0]
        lines.append((LEND, {"k": k, "low": low, "stages": len(stages(nodes))}))
    for asked, part in ((params.diverse_beside, BESIDE), (params.split, SPLIT)):
        if asked is not None:
            spelled = {"l": f"{float(asked):g}", "part": f"{float(1 / asked):.3g}"}
            lines.append((part, {"k": k, "large": opened_from(k, asked), **spelled}))
    if params.none_or_many is not None:
        many = params.none_or_many
        few = "exactly one" if many == 2 else f"some, but fewer than {many}"
        lines.append((SHARED_OF_TWO if params.two else SHARED, {"many": many, "k": k, "few": few}))
    if params.most_of_one is not None:
        lines.append((INSIDER, {"most": params.most_of_one, "k": k}))
    if params.refine:
        lines.append((narrowing.LEAKAGE_BEFORE_MERGE if params.merge else narrowing.LEAKAGE, {}))
    if params.merge:
        lines.append((LEFTOVER_OF_TWO if params.two else LEFTOVER, {}))
    return lines


def _kept(params: Parameters) -> str:
    """Words for what is tested of a combination's sensitive values."""
    parts = []
    if params.diverse is not None:
        parts.append(f"each sensitive value has at most 1/{float(params.diverse):g} of these records")
    if params.distinct is not None:
        parts.append(f"each sensitive column has at least {params.distinct} different values there")
    if params.entropy is not None:
        least = float(params.entropy.least)
        parts.append(f"the values of each sensitive column have the entropy of l = {least:g} there, measured coarsely")
    if params.near is not None:
        parts.append(f"their sensitive values are within t = {float(params.near):g} of the whole table's")
    return ", and ".join(parts)


def after(params: Parameters, openings: Openings, classes: int) -> list[Lesson]:
    """The numbers of what the visits opened, known after the last of them."""
    impure, hidden = openings.impure, openings.tuples - classes
    published = f", of which {plural(hidden, 'is', 'are')} not in the release" if hidden else ", all in the release"
    numbers: dict[str, object] = {
        "tests": some(openings.tests, "yes-or-no answer"),
        "heavy": some(openings.heavy, "group"),
        "impure": f", of which {impure:,} held several combinations" if impure else "",
        "named": some(openings.tuples, "combination"),
        "unpublished": published if openings.tuples else "",
        "k": params.k,
    }
    lines: list[Lesson] = [(COUNTED, numbers)]
    values = [name for name, asked in (("l", params.asks_l), ("t", params.near is not None)) if asked]
    for what, each, asked, seen in (
        (" and ".join(values), "have each value", values, openings.diversity),
        ("l_insider", "of each value each party has", params.diverse_beside, openings.beside),
        ("most_of_a_class", "each party has", params.split, openings.split),
    ):
        if asked:
            failed = f", of which {seen.failed:,} fell short" if seen.failed else ", none of which fell short"
            opened = f"; for {seen.opened:,} of them also how many records {each}" if seen.opened else ""
            figures = {"asked": some(seen.tuples, "combination"), "failed": failed if seen.tuples else ""}
            lines.append((COUNTED_DIVERSE, {"what": what, "opened": opened, **figures}))
    return lines
