"""Recognition: an owner of exact columns finds its own people's rows in the release; every party is told how many.

Source    ours; one exchange right before the approval, in every run in which an owner of columns publishes exact ones.
Roles     each owner of exact columns counts its people and tells every other party; the rest listen.
Security  the owner knows each of its people's exact values, and of the labels of each one's row what the protocol
          shows it. People of whom it knows the same are counted together. So the number is never below that of the
          people whom the owner could find, and none means none. Above none the run ends before any row is opened,
          unless the study allows the columns with a reason (`singles_out`).
Not       an owner that tells a false number deceives the others; it reads nothing that the release would not show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey import measures
from covey.arrays import Ints, Longs
from covey.errors import Aborted, Unmet
from covey.hierarchy import Flat, Hierarchy
from covey.plain import listed, plural
from covey.protocols.protocol import Recognition
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders
from covey.secure.declare import RELEASE, Cost, Leakage, Traffic
from covey.study import Study
from covey.table import Values, group
from covey.wire import FRAME_BYTES, Channel, Count, Message, gather, while_sending

STEP, TAG = "recognised", "columns.recognised"
MESSAGE_BYTES = FRAME_BYTES + 58

LEAKAGE = Leakage(
    everyone=(
        "how many of its people {owners} could find in the release by its exact columns, alone or among fewer than {k} "
        "rows; and that the run ends for it where the study does not allow that",
    ),
    about=RELEASE,
)
COUNTED = Leakage(everyone=("that {found}",), about=RELEASE)
COST = Cost(
    lambda parties, owners: Traffic(int(owners > 1), owners * (parties - 1), owners * (parties - 1) * MESSAGE_BYTES)
)
"""A round more where several owners wait for each other."""


class RecognisedPeople(Message, tag=TAG):
    """The number of people whom the sender counted; how many it finds alone, and among fewer than k rows."""

    people: Count
    alone: Count
    few: Count
    allowed: bool
    """True if the study allows it for all columns that add to these numbers."""


def among_few(known: Sequence[Ints | Longs], k: int) -> tuple[int, int]:
    """Returns the number of rows alone in these columns, and of those among fewer than k."""
    sizes = np.bincount(_alike(known))
    return int((sizes == 1).sum()), int(sizes[sizes < k].sum())


def count(study: Study, known: Sequence[Ints | Longs], carried: Sequence[Values]) -> Recognition | None:
    """Counts an owner's people, who all may be released; None for an owner without exact columns.

    `known` has what the owner knows of the labels of each one's row, `carried` its exact columns; rows in one order.
    """
    if not carried:
        return None
    k, people = study.privacy.k, len(carried[0].codes)
    if not people:
        return Recognition(0, 0, 0)
    labels = [*known, np.zeros(people, dtype=np.int32)]
    found = among_few([*labels, *(values.codes for values in carried)], k)
    allowed = [study.column(values.column.name).singles_out is not None for values in carried]
    excused = [values.codes for values, reason in zip(carried, allowed, strict=True) if reason]
    if among_few([*labels, *excused], k) == found:
        return Recognition(people, *found)
    blamed = [values for values, reason in zip(carried, allowed, strict=True) if not reason]
    losses = {values.column.name: loss_of_generalizing(labels, values, k) for values in blamed}
    return Recognition(people, *found, losses)


def loss_of_generalizing(known: Sequence[Ints | Longs], values: Values, k: int) -> float:
    """Returns the LM of a column if it is generalized, among rows of equal labels, until k rows or more are alike."""
    tree = values.column.hierarchy
    codes = {label: code for code, label in enumerate(tree.labels[: tree.codes])} if isinstance(tree, Hierarchy) else {}
    if not isinstance(tree, Hierarchy) or not codes.keys() >= set(values.labels):
        tree = Flat().close(values.labels)
        codes = {label: code for code, label in enumerate(tree.labels[: tree.codes])}
    leaves = np.array([codes[label] for label in values.labels])[values.codes]
    labels = _alike(known)
    nodes = np.full(len(leaves), tree.root)
    for level in reversed(range(tree.height)):
        finer = tree.up[level, leaves]
        number = _alike([labels, finer])
        small = np.bincount(labels, weights=np.bincount(number)[number] < k)[labels] > 0
        nodes = np.where(small, nodes, finer)
    return float(measures.lm(tree)[nodes].mean())


def _alike(columns: Sequence[Ints | Longs]) -> Longs:
    return group([codes.astype(np.int32) for codes in columns], len(columns[0]))[0]


def owners(study: Study) -> tuple[str, ...]:
    """Returns the owners who count; none where rows are split."""
    return exact_holders(study) if study.partition == "vertical" else ()


def asked(study: Study) -> dict[str, object]:
    """Returns the numbers of `LEAKAGE`."""
    return {"owners": listed(exact_holders(study)), "k": study.privacy.k}


async def exchange(channel: Channel, study: Study, own: Recognition | None) -> dict[str, Recognition]:
    """Tells every party our numbers, if we have exact columns, and returns those of all owners, by name."""
    names = owners(study)
    if (own is not None) != (channel.me in names):
        raise TypeError(f"party {channel.me!r} has to count the people whom it recognises, if it has exact columns")

    async def tell() -> None:
        if own is not None:
            await channel.broadcast(RecognisedPeople(own.people, own.alone, own.few, not own.losses))

    async def hear(owner: str) -> Recognition:
        told = await channel.receive(owner, RecognisedPeople)
        blamed = [column.name for column in exact_columns(study, owner) if column.singles_out is None]
        if not told.alone <= told.few <= told.people or (told.few and told.allowed and not _reasons(study, owner)):
            raise channel.refusal(owner, "numbers of people whom it recognises that cannot be")
        return Recognition(told.people, told.alone, told.few, {} if told.allowed else dict.fromkeys(blamed))

    others = [owner for owner in names if owner != channel.me]
    heard = await while_sending(tell(), gather(*map(hear, others)))
    found = dict(zip(others, heard, strict=True))
    if own is not None:
        found[channel.me] = own
    return {owner: found[owner] for owner in names}


def spelled(study: Study, found: Mapping[str, Recognition]) -> str:
    """The numbers in words, an owner after the other."""
    return "; ".join(_spelled(study, owner, each) for owner, each in found.items())


def _spelled(study: Study, owner: str, found: Recognition) -> str:
    columns = listed([column.name for column in exact_columns(study, owner)])
    k, people = study.privacy.k, plural(found.people, "person", "people")
    if not found.few:
        return f"by its exact {columns}, {owner} would find none of its {people} among fewer than {k} rows"
    verdict = "the study does not allow it" if found.losses else "the study allows it"
    return (
        f"by its exact {columns}, {owner} would find {found.alone:,} of its {people} alone and {found.few:,} among "
        f"fewer than {k} rows; {verdict}"
    )


def warnings(study: Study, found: Mapping[str, Recognition]) -> tuple[str, ...]:
    """A warning of each owner who finds people, with the study's reasons why it may."""
    return tuple(
        f"{_spelled(study, owner, each)} ({_reasons(study, owner)}); {owner} reads the other parties' cells of these "
        "people"
        for owner, each in found.items()
        if each.few
    )


def _reasons(study: Study, owner: str) -> str:
    allowed = [column for column in exact_columns(study, owner) if column.singles_out is not None]
    return "; ".join(f"{column.name}: {column.singles_out}" for column in allowed)


def require_allowed(study: Study, found: Mapping[str, Recognition], party: str) -> None:
    """Raises where somebody finds people by columns for which the study does not allow it.

    Raises Unmet, with the ways out, at a party that finds some, and Aborted at the others.
    """
    if party in found and found[party].losses:
        raise Unmet(_refusal(study, party, found[party]))
    for owner, each in found.items():
        if each.losses:
            raise Aborted(_refusal(study, owner, each), resumable=False)


def _refusal(study: Study, owner: str, found: Recognition) -> str:
    ways = [
        f"make {name} quasi"
        + ("" if loss is None else f" (at this run's labels it would lose {loss:.0%} of its detail)")
        for name, loss in found.losses.items()
    ]
    keys = ", ".join(f"[columns.{name}]" for name in found.losses)
    return (
        f"{_spelled(study, owner, found)}. So nothing was released: {owner} would read the other parties' cells of "
        f"these people. The ways out: {'; '.join(ways)}; leave the column out; or, if all parties accept it, give the "
        f'reason under {keys}: singles_out = "…"'
    )
