"""A round on the wire: one message to each neighbour, with what all strands have for it; and lines outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Words
from covey.errors import InputError, PeerError
from covey.mpc.parcels import Part
from covey.wire import Channel, Vector, gather

NOTHING = np.zeros(0, np.uint64)
_FEW = 1 << 16
"""Words that every line takes at once."""


@dataclass(frozen=True)
class Parcel:
    """Words that a strand sends in a round, and the number that it is due, by party."""

    sent: Mapping[str, Words] = field(default_factory=dict)
    due: Mapping[str, int] = field(default_factory=dict)


Answer = Mapping[str, Words]
"""What a strand is sent in a round, by party."""


async def send(channel: Channel, peer: str, parts: Sequence[Words]) -> Words:
    """Sends words in one message, or in chunks if they are many."""
    filled = [part.reshape(-1) for part in parts if part.size]
    await channel.send_all(peer, Part, Vector(filled[0] if len(filled) == 1 else np.concatenate(filled)))
    return NOTHING


async def receive(channel: Channel, peer: str, due: int, patience: float | None = None) -> Words:
    """Returns a peer's words. Raises `PeerError` for another number of them than is due."""
    return (await channel.receive_all(peer, Part, due, patience=patience)).words


class Lines:
    """A party's lines to its two neighbours, and to those who do not compute."""

    def __init__(self, channel: Channel, previous: str, following: str) -> None:
        self._channel, self.previous, self.following = channel, previous, following

    async def carry(self, parcels: Sequence[Parcel], digest: Words) -> list[Answer]:
        """Returns what the others have for each parcel. Raises `PeerError` if a neighbour's digest is another one."""
        neighbours = (self.previous, self.following)
        outgoing: dict[str, list[Words]] = {peer: [digest] for peer in neighbours if digest.size}
        due: dict[str, int] = {peer: digest.size for peer in neighbours if digest.size}
        for parcel in parcels:
            for peer, words in parcel.sent.items():
                self._once(peer, outgoing)
                outgoing.setdefault(peer, []).append(words)
            for peer, size in parcel.due.items():
                self._once(peer, due)
                due[peer] = due.get(peer, 0) + size
        heard = await self._exchanged(outgoing, due)
        for peer in neighbours if digest.size else ():
            if not np.array_equal(heard[peer][: digest.size], digest):
                reason = "its public decisions differ from ours; compare versions of Covey and the study"
                raise PeerError(party=peer, step=self._channel.step, reason=reason)
        starts = dict.fromkeys(due, 0) | (dict.fromkeys(neighbours, digest.size) if digest.size else {})
        answers: list[Answer] = []
        for parcel in parcels:
            answer: dict[str, Words] = {}
            for peer, size in parcel.due.items():
                answer[peer] = heard[peer][starts[peer] : starts[peer] + size]
                starts[peer] += size
            answers.append(answer)
        return answers

    async def _exchanged(self, outgoing: Mapping[str, list[Words]], sizes: Mapping[str, int]) -> dict[str, Words]:
        """Returns the words of a round; many of them are sent while others are read, so that no line is full."""
        if sum(part.size for parts in outgoing.values() for part in parts) > _FEW:
            sending = [send(self._channel, peer, parts) for peer, parts in outgoing.items()]
            reading = [receive(self._channel, peer, size) for peer, size in sizes.items()]
            return dict(zip(sizes, (await gather(*sending, *reading))[len(sending) :], strict=True))
        for peer, parts in outgoing.items():  # one after the other: a task for each costs as much as the round
            await send(self._channel, peer, parts)
        return {peer: await receive(self._channel, peer, size) for peer, size in sizes.items()}

    def _once(self, peer: str, parts: Mapping[str, object]) -> None:
        """Raises `InputError` for a second parcel of a party outside, which knows no rounds."""
        if peer in parts and peer not in (self.previous, self.following):
            raise InputError(f"two columns of {peer!r} in one round: join them, or take one after the other")
