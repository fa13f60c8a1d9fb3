"""Shuffling by sharing anew: each group of t + 1 trustees permutes the rows and shares them again, once.

The permutation of a pass is known to its group; any t trustees miss a group, so they do not know the order at the end.
Each row carries a checksum under secret weights, which are the same all along; at the end a
random combination of what the checksums are wrong by is shared anew and opened, which must be nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.rng import Rng, derive
from covey.crypto.scalar_field import FQ, ScalarElements, numbers
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.secure import coin, shares
from covey.secure.equals.supply import TripleShares, TripleSupply
from covey.secure.equals.trustees import Trustees
from covey.wire import Bytes32, Channel, Chunk, Message, gather


class GroupSeed(Message, tag="equals.group-seed"):
    """The seed of the permutations of a group that the sender and the reader are in."""

    seed: Bytes32


class Reshared(Chunk[ScalarElements], tag="equals.reshared"):
    """Shares of the sender's part of shuffled rows."""

    values: ScalarElements


@dataclass(frozen=True)
class Shuffler:
    """All that a trustee needs to take part in shuffles."""

    seeds: Mapping[tuple[str, ...], Secret]
    """For each group that we are in, the seed of its permutations."""
    weights: Words
    """Our shares of the checksum's weights, as many as the widest rows have columns."""

    @classmethod
    async def meet(cls, channel: Channel, trustees: Trustees, supply: TripleSupply, width: int) -> Shuffler:
        """Agrees on everything, once. The first of each group draws its seed."""
        at = channel.at("groups")

        async def agree(number: int, group: tuple[str, ...]) -> list[tuple[tuple[str, ...], Secret]]:
            own = at.at(number)
            if trustees.me not in group:
                return []
            if trustees.me != group[0]:
                return [(group, Secret((await own.receive(group[0], GroupSeed)).seed))]
            seed = own.rng.stream("seed").bytes(32)
            await gather(*(own.send(other, GroupSeed(seed)) for other in group[1:]))
            return [(group, Secret(seed))]

        agreed = await gather(*(agree(number, group) for number, group in enumerate(trustees.groups)))
        seeds = dict(pair for each in agreed for pair in each)
        return cls(seeds, supply.take(width).first)

    async def shuffle(self, channel: Channel, trustees: Trustees, rows: Words) -> Words:
        """The rows (rows x columns) in another order. Raises Aborted if a trustee altered one."""
        width = rows.shape[1]
        local = self._checksum(rows, width)
        dealing = trustees.dealing(channel.at("sum"), "checksum")
        checksum = await shares.reduce(channel.at("sum"), TripleShares, ScalarElements, dealing, local)
        mixed = await self._pass_all(channel, trustees, np.column_stack([rows, checksum]))
        await self._check(channel.at("check"), trustees, mixed, width)
        return mixed[:, :width]

    def _checksum(self, rows: Words, width: int) -> Words:
        """Our shares, of the high degree, of each row's checksum."""
        return np.asarray(FQ.combine(self.weights[np.newaxis, :width], np.ascontiguousarray(rows[:, :width].T))[0])

    async def _pass_all(self, channel: Channel, trustees: Trustees, rows: Words) -> Words:
        for number, group in enumerate(trustees.groups):
            rows = await self._pass(channel.at("pass", number), trustees, group, rows)
        return rows

    async def _pass(self, channel: Channel, trustees: Trustees, group: Sequence[str], rows: Words) -> Words:
        """One group permutes the rows and shares them anew."""
        dealing, me = trustees.dealing(channel, "pass"), trustees.me
        own: list[Words] = []
        sending = []
        if me in group:
            seed = derive(self.seeds[tuple(group)], channel.session, channel.step)
            order = Rng(seed).stream("order").permutation(len(rows))
            weight = sharing.weights([trustees.places[name] for name in group], FQ)[list(group).index(me)]
            parcels, mine = dealing.deal(FQ.scale(rows[order].ravel(), weight))
            own.append(mine)
            sending = [channel.send_all(name, Reshared, ScalarElements(part)) for name, part in parcels.items()]

        async def read(dealer: str) -> list[Words]:
            if dealing.derives(dealer, me):
                return [dealing.derived(dealer, rows.size)]
            return [(await channel.receive_all(dealer, Reshared, rows.size)).words]

        async def send() -> list[Words]:
            await gather(*sending)
            return []

        parts = await gather(send(), *(read(dealer) for dealer in group if dealer != me))
        total = shares.total([*own, *(part for each in parts for part in each)], FQ)
        return total.reshape(rows.shape)

    async def _check(self, channel: Channel, trustees: Trustees, mixed: Words, width: int) -> None:
        """Opens a random combination of what the checksums are wrong by: nothing, if nobody altered a row.

        It is shared anew before it is opened: a plain sum could be made nothing by whoever speaks last.
        """
        drawn = FQ.draw(Rng(await coin.toss(channel.at("coin"))).stream("weights"), len(mixed))
        wrong = FQ.subtract(self._checksum(mixed, width), np.ascontiguousarray(mixed[:, width]))
        total = numbers([int((drawn * wrong).sum()) % FQ.prime])
        dealing = trustees.dealing(channel.at("total"), "total")
        shared = await shares.reduce(channel.at("total"), TripleShares, ScalarElements, dealing, total)
        if (await trustees.open(channel.at("open"), shared))[0]:
            raise Aborted(
                "the rows after a shuffle are not those before it: a trustee did not keep to the protocol; nothing "
                "more is opened",
                resumable=False,
            )
