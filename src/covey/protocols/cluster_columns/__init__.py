"""Cluster with columns split: holders of different columns of the same people publish one table by local recoding.

Source    Tassa & Gudes, Algorithm 4 and section 6.1, in a hundredth of its rounds (`algorithm`). The division into
          blocks, the batches and the evaluator are ours; where we depart from the paper, the module concerned says so.
Roles     holders of columns, two or more; one of them is the pivot: the first of the study, or who has the sensitive
          columns where l is asked for. Optionally an evaluator, a party without data.
Schedules guarded  (default) the table is divided along single columns first, into parts of k records or more, and
                   records move within blocks of a hundred times k.
          exact    the paper's random clusters over the whole table.
Security  semi-honest. Without an evaluator the pivot opens sums of prices, as in the paper, and can tell from them
          which people share the others' values: the ledger says so, `attack` does it. With one, nobody who knows people
          sees a price: the evaluator gets permuted, scaled, masked sums. It must not collude with a holder.
          Where l is kept, the pivot deals out clusters by sensitive values, with draws that it keeps to itself.
Not       all holders know at any time which records are in one cluster: that is what the algorithm decides on. Each
          learns, at the generalized level of the release, the others' values of its own people. k holds toward readers
          of the release. A party that lies changes the outcome unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from covey.crypto.rng import Rng, derive
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import InputError, Unmet
from covey.protocols.cluster_columns import clear, leaks, least, plan, release
from covey.protocols.cluster_columns.algorithm import search
from covey.protocols.cluster_columns.conversation import converse
from covey.protocols.cluster_columns.own import Own
from covey.protocols.cluster_columns.terms import REQUIREMENTS, Terms, deals, draws, keeper
from covey.protocols.protocol import Protocol, Result, Role, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.agree import agree
from covey.secure import coin
from covey.secure.declare import Leakage
from covey.study import Study
from covey.table import Table

__all__ = ["PROTOCOL", "evaluator", "holder", "ideal"]


async def holder(seat: Seat) -> Result:
    """A holder of columns, the pivot included: searches with the others, and shows its part of the release."""
    terms, channel = Terms.of(seat.study), seat.channel.at("cluster")
    seat.pace.phase("alignment")
    mine = await columns.meet(seat, channel.at("meet"), *leaks.HOLDERS)
    if mine is None:
        raise TypeError(f"party {seat.party!r} has no columns; its role is another")
    own = Own.of(terms, mine.table, seat.party)
    require_diverse(terms, own)
    among = channel.among(*terms.holders)
    seed = await coin.toss(among.at("coin")) if terms.evaluator is not None else None

    seat.book.learns(leaks.of_search(terms), **leaks.numbers(terms))
    course = search(own, seat.party, draws(mine.ids), dealing(own, mine.ids, seat.lasting))
    label = await converse(channel, terms, course, seed, seat.pace)
    await agree(among.at("agree"), hashlib.sha256(label.astype("<i8").tobytes()).digest())

    seat.pace.phase("release")
    nodes = own.nodes(label)
    seat.book.learns(leaks.FIGURES)
    sizes = np.bincount(label).astype(np.int64)
    known = await release.known_figures(channel.at("figures"), terms, sizes, nodes, mine.table)
    part = release.part_of(terms, seat.party, label, nodes, mine.table)
    return await release.publish(seat, channel.at("rows"), terms, part, known)


async def evaluator(seat: Seat) -> Result:
    """A party without data: says of unnamed sums which is the least, and gets the release like everyone."""
    terms, channel = Terms.of(seat.study), seat.channel.at("cluster")
    seat.pace.phase("alignment")
    await columns.meet(seat, channel.at("meet"), *leaks.HOLDERS)
    seat.book.learns(leaks.of_search(terms), **leaks.numbers(terms))
    seat.pace.phase("moves")
    async for _ in least.evaluate(channel.at("evaluate"), terms):
        pass
    seat.pace.phase("release")
    seat.book.learns(leaks.FIGURES)
    nothing, nobody = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int32)
    known = await release.known_figures(channel.at("figures"), terms, nothing, nobody, None)
    return await release.publish(seat, channel.at("rows"), terms, None, known)


def require_diverse(terms: Terms, own: Own) -> None:
    """Raises Unmet, with what would be feasible, if all common records as one class do not keep l."""
    if own.keeps_diversity(np.zeros(own.records, dtype=np.int64), 1):
        return
    wanted = terms.study.privacy.l
    reached = min(own.records / int(own.table.values(column.name).counts().max()) for column in terms.study.sensitive)
    raise Unmet(
        f"l = {wanted:g} cannot be kept: all common records together reach {np.floor(reached * 100) / 100:g}; "
        "lower l to that, or merge sensitive values"
    )


def dealing(own: Own, ids: Sequence[str], lasting: Secret) -> Rng:
    """With what the pivot deals out clusters: its secret where it does so by sensitive values."""
    return deals(lasting, ids, own.places) if own.keeps else draws(ids)


def ideal(study: Study, tables: Mapping[str, Table], lasting: Secret | None = None) -> Result:
    """What a trusted party would release: the same search, with every price in the clear.

    Where l is kept, `lasting` is the pivot's secret, from which it deals out clusters; without it, one is made up.
    """
    terms, common = Terms.of(study), columns.common_rows(study, tables)
    rows = next(iter(common.values())).rows
    if rows < terms.k:
        raise Unmet(f"the holders have {rows:,} records in common, fewer than k = {terms.k}; nothing can be released")
    own = {name: Own.of(terms, table, name) for name, table in common.items()}
    require_diverse(terms, own[terms.pivot])
    ids = columns.keys_of(common[terms.pivot], terms.pivot)
    secret = lasting or derive(Secret(bytes(SECRET_BYTES)), "a trusted party", study.study_hash)
    label = clear.play({n: search(part, n, draws(ids), dealing(part, ids, secret)) for n, part in own.items()})
    nodes = {name: np.ascontiguousarray(part.nodes(label)[label].T) for name, part in own.items()}
    return release.result(study, columns.opened(study, columns.lanes_of(study, common, nodes)))


def _role(study: Study, party: str) -> Role:
    """What a party of the study plays."""
    return evaluator if study.party(party).role == "evaluator" else holder


def _role_name(study: Study, party: str) -> str:
    """The name of that role."""
    terms = Terms.of(study)
    return "evaluator" if party == terms.evaluator else "pivot" if party == terms.pivot else "holder"


def _judge(study: Study) -> None:
    """Raises InputError for a study that cannot be run."""
    columns.require_listed(study)
    privacy = study.privacy
    if not any(column.weight for column in study.quasi):
        raise InputError("every quasi column has weight = 0: give one that matters a weight above 0")
    if sum(party.role == "evaluator" for party in study.parties) > 1:
        raise InputError('[parties] more than one has role = "evaluator"; one is enough')
    if keeper(study) is not None and privacy.diversity != "frequency":
        raise InputError("protocol 'cluster' keeps l by frequency; leave out diversity, or anonymize centrally")


PROTOCOL = Protocol(
    name="cluster",
    about="one k-anonymous, l-diverse table from columns that sit with any number of parties, by local recoding",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 4",
    requirements=REQUIREMENTS,
    needs="two or more parties with columns of the same people, and at best an evaluator without data; hierarchies "
    "that list their whole domains",
    guarantees="k and l by frequency; finer than generalize on the same split, which needs no evaluator and shows no "
    "party who is alike",
    released_to="every party",
    phases=("alignment", "division", "moves", "merging", "release"),
    leakage=Leakage(roles=leaks.in_short()),
    role=_role,
    role_name=_role_name,
    receives=lambda study, party: True,
    foresee=plan.foresee,
    ideal=ideal,
    judge=_judge,
)
