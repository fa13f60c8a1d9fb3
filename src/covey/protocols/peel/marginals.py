"""Marginals, jointly: how many records there are, and how many have each value that k or more have, but for some."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.arrays import Bits, Longs, Words
from covey.errors import Aborted, PeerError, Unmet
from covey.protocols.shared.peeling.marginals import Marginals, count_leaves, to_open
from covey.protocols.shared.peeling.pairs import pairs_of
from covey.secure import sum as secure_sum
from covey.secure import threshold_test
from covey.secure.declare import TOTALS, Leakage
from covey.study import Study
from covey.table import Table
from covey.wire import Bytes32, Channel, Message

T = TypeVar("T", bound=np.generic)

Reaches = Callable[[Channel, Words], Awaitable[Bits]]
"""A joint test: where the parties' numbers add up to k or more."""

_MOST_RECORDS = 1 << 30

LEAKAGE = Leakage(
    everyone=(
        "how many records all parties have together",
        "which of the {leaves} values of the quasi columns {k} or more records have, and how many records have each of "
        "these; one such value is left out in every column that also has a rarer one",
    ),
    about=TOTALS,
)


class Listed(Message, tag="peel.listed"):
    """The hash of the list of nodes as the sender computed it."""

    digest: Bytes32


PAIRS = Leakage(
    everyone=("which of {cells} pairs of values, of two quasi columns each, {k} or more records have; not how many",)
)


async def total(channel: Channel, k: int, table: Table) -> int:
    """The number of all parties' records. Raises Unmet if there are fewer than k."""
    mine = np.array([table.records], dtype=np.uint64)
    records = int((await secure_sum.total(channel.at("total"), mine))[0])
    if records < k:
        raise Unmet(f"the parties together have fewer than k = {k} records; nothing can be released")
    if records >= _MOST_RECORDS:
        raise Aborted("the number of records is impossibly large; nothing was released", resumable=False)
    return records


async def learn(channel: Channel, study: Study, table: Table, records: int, reaches: Reaches, pairs: bool) -> Marginals:
    """The public part of the frequencies of values, and of `pairs` of them."""
    k = study.privacy.k
    own = count_leaves(table.trees, table.codes, table.counts)
    both = [pair.count(table.trees, table.codes, table.counts) for pair in pairs_of(table.trees)] if pairs else []
    flat = np.concatenate(own).astype(np.uint64)
    tested = _split(await reaches(channel.at("frequent"), np.concatenate([flat, *both]).astype(np.uint64)), own + both)
    heavy, shared = tested[: len(own)], tested[len(own) :]
    opened = to_open(study, heavy)
    which = np.concatenate(opened)
    totals = np.zeros(len(flat), dtype=np.int64)
    totals[which] = (await secure_sum.total(channel.at("counts"), flat[which])).astype(np.int64)
    return Marginals.of(records, k, _split(totals, own), heavy, opened, shared)


def by_shares(k: int) -> Reaches:
    """A test among three or more, prepared when it is needed."""

    async def reaches(channel: Channel, mine: Words) -> Bits:
        prepared = await threshold_test.prepare(channel.at("before"), k, len(mine))
        return await threshold_test.reaches(channel.at("test"), prepared, mine)

    return reaches


async def agree(channel: Channel, digest: bytes) -> None:
    """Returns if every party has the same list of nodes. Raises PeerError that names the first that has not."""
    for party, theirs in (await channel.exchange(Listed(digest))).items():
        if theirs.digest != digest:
            reason = "it lists other nodes than we do: it runs another version, or did not keep to the protocol"
            raise PeerError(party=party, step=channel.step, reason=reason)


def _split(flat: NDArray[T], like: list[Longs]) -> list[NDArray[T]]:
    """A row of numbers cut into columns of these lengths."""
    return np.split(flat, np.cumsum([len(column) for column in like])[:-1])
