"""Generalize: two parties with columns of the same people publish them together, generalized until they fit.

Source    Jiang & Clifton, Privacy-Preserving Distributed k-Anonymity (DPP2GA), Algorithm 2. Ours: alignment, who sees
          what (leakage), the proof of termination (`rounds`), the join, and the variants that it names as future work.
Roles     two owners of columns: the observer (the first that the study names) and the partner; optionally a recipient,
          who alone gets the release.
Security  semi-honest. Each party's own columns are k-anonymous before anything is said of them; a list of people
          travels under keys of one round, and whoever encrypts it second lays it out anew. So a ciphertext, in any
          round, is each person of a group of k or more with the same chance (the paper's theorems 4 and 5 say so; its
          proofs do not hold where fewer than k are left in a pair, the exchange within a group does).
Not       counts of pairs tell which of one's people share a value of the other's that is finer than the published one:
          the paper's definition does not see that; the ledger says it, and `threshold` avoids it. A party that lies
          about its groups changes the outcome; a class below k is noticed when the release is open, and not written.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.protocols.generalize import clear, leaks, plan, release, rounds
from covey.protocols.generalize.local import Local
from covey.protocols.generalize.terms import REQUIREMENTS, Terms
from covey.protocols.protocol import Demonstration, Protocol, Result, Role, Seat
from covey.protocols.shared import columns
from covey.study import Study
from covey.table import Table

LEAKAGE = leaks.LEAKAGE
COST = plan.COST


async def owner(seat: Seat) -> Result:
    """A party with columns: the observer and the partner alike."""
    study, channel, terms = seat.study, seat.channel, Terms.of(seat.study)
    among = channel.among(*terms.owners)
    seat.pace.phase("alignment")
    common = await columns.meet(seat, channel.at("meet"), *leaks.OWNERS)
    if common is None:
        raise TypeError("an owner has columns")

    seat.pace.phase("own columns")
    local = Local.of(common.table, terms)

    seat.pace.phase("rounds", terms.cap)
    for leakage, numbers in leaks.before(terms):
        seat.book.learns(leakage, **numbers)
    course = await rounds.agree(among, terms, local, [own.encode() for own in common.ids], seat.pace.reach)
    withheld = int(local.pool.sum())

    seat.pace.phase("release")
    if terms.recipient is None:
        counted, numbers = leaks.after(terms, course, withheld)
        seat.book.learns(counted, **numbers)
        await release.preview(seat, among.at("lost"), local)
    elif terms.variant == "finished-cells":
        seat.book.learns(leaks.LEFT, withheld=withheld)
        await channel.at("left").send(terms.recipient, release.Left(withheld))
    kept = np.flatnonzero(~local.pool)
    opened = await columns.join_rows(
        seat,
        channel.at("rows"),
        [common.ids[row] for row in kept.tolist()],
        np.ascontiguousarray(local.nodes[:, kept]),
        common.table.select(kept),
        recipient=terms.recipient,
    )
    return Result() if opened is None else release.result(study, opened, withheld)


async def recipient(seat: Seat) -> Result:
    """A party without columns, to whom the release goes."""
    study, channel, terms = seat.study, seat.channel, Terms.of(seat.study)
    seat.pace.phase("alignment")
    await columns.meet(seat, channel.at("meet"), *leaks.OWNERS)
    seat.pace.phase("rounds")
    for leakage, numbers in leaks.before(terms):
        seat.book.learns(leakage, **numbers)
    finishing = terms.variant == "finished-cells"
    withheld = await release.hear_of_left(channel.at("left"), terms) if finishing else 0
    if finishing:
        seat.book.learns(leaks.LEFT, withheld=withheld)
    seat.pace.phase("release")
    nothing = np.zeros((0, 0), dtype=np.int32)
    opened = await columns.join_rows(seat, channel.at("rows"), [], nothing, None, recipient=terms.recipient)
    if opened is None:
        raise TypeError("the recipient gets the rows")
    return release.result(study, opened, withheld)


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """What a trusted party would release: the same rounds in the clear."""
    terms = Terms.of(study)
    common = columns.common_rows(study, tables)
    course = clear.follow(terms, common)
    kept = np.flatnonzero(~course.withheld)
    nodes = {name: local.nodes[:, kept] for name, local in course.locals.items()}
    held = {name: table.select(kept) for name, table in common.items()}
    opened = columns.opened(study, columns.lanes_of(study, held, nodes))
    return release.result(study, opened, int(course.withheld.sum()))


def role_name(study: Study, party: str) -> str:
    """The name of a party's role."""
    holders = [each.name for each in study.holders]
    return "recipient" if party not in holders else "observer" if party == holders[0] else "partner"


def receives(study: Study, party: str) -> bool:
    """The recipient gets the release if there is one, else both owners."""
    alone = any(each.role == "recipient" for each in study.parties)
    return not alone or role_name(study, party) == "recipient"


def _role(study: Study, party: str) -> Role:
    return recipient if role_name(study, party) == "recipient" else owner


def _judge(study: Study) -> None:
    Terms.of(study)


PROTOCOL = Protocol(
    name="generalize",
    about="one k-anonymous table from columns that sit with two parties, generalized until they fit together",
    source="Jiang & Clifton, Privacy-Preserving Distributed k-Anonymity, DPP2GA",
    requirements=REQUIREMENTS,
    needs="two parties with columns of the same people and a key in common; hierarchies that list their whole domains",
    guarantees="k; each party sees the other's columns only as they are released, and nothing on the way that says who "
    "is in which of the other's groups",
    released_to="the recipient if the study names one, else both parties",
    phases=("alignment", "own columns", "rounds", "release"),
    leakage=LEAKAGE,
    role=_role,
    role_name=role_name,
    receives=receives,
    foresee=plan.foresee,
    # the default leaves little to look at
    demonstration=Demonstration(
        sample="clinic-billing", changes={"protocol": {"local": "peel", "variant": "finished-cells"}}
    ),
    ideal=ideal,
    judge=_judge,
    script=plan.script,
)
