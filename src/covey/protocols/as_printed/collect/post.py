"""Post: respondents write to each other through the collector, who sees who writes to whom, when and how much.

Respondents reach nobody but the collector. Each has a key for letters, which the collector hands on; a letter is sealed
to its reader and bound to session, writer, reader and its number. A `PostLink` is a link like any other, so that
a block of `covey.secure` runs over it unchanged. A collector that lies about keys could read letters: it is taken to be
curious, not to cheat (docs/protocols/collect-curve.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from covey.crypto.elgamal import KeyShare
from covey.crypto.group import Point
from covey.crypto.rng import Label
from covey.crypto.seal import Sealed, seal, unseal
from covey.errors import InputError
from covey.wire import Channel, Message, Nothing, Session, gather
from covey.wire.link import StandingLines

LARGEST_LETTER = 1 << 16


class Parcel(Message, tag="collect.parcel"):
    """A sealed letter."""

    sealed: Annotated[bytes, Meta(min_length=48, max_length=LARGEST_LETTER)]


class HubLink(StandingLines):
    """Lines to or from the collector itself: nothing is sealed on these."""

    def __init__(self, channel: Channel, peers: Iterable[str]) -> None:
        self.me, self.peers = channel.me, tuple(sorted(peers))
        self._channel = channel

    async def send(self, peer: str, frame: bytes) -> None:
        """Gives a frame to that peer."""
        await self._channel.at("hub").send(peer, Parcel(frame))

    async def receive(self, peer: str) -> bytes:
        """The next frame of that peer."""
        return (await self._channel.at("hub").receive(peer, Parcel)).sealed


class PostLink(HubLink):
    """One respondent's lines to some others, by way of the collector, and to the collector itself."""

    def __init__(self, channel: Channel, hub: str, own: KeyShare, keys: Mapping[str, Point]) -> None:
        super().__init__(channel, {hub, *keys} - {channel.me})
        self._hub, self._own, self._keys = hub, own, keys
        self._written = dict.fromkeys(self.peers, 0)
        self._read = dict.fromkeys(self.peers, 0)

    async def send(self, peer: str, frame: bytes) -> None:
        """Seals a frame to its reader and gives it to the collector."""
        if peer == self._hub:
            return await super().send(peer, frame)
        number = self._written[peer]
        self._written[peer] = number + 1
        at = self._channel.at("to", peer)
        sealed = seal([frame], self._keys[peer], at.rng.stream("letter", number), *_context(at, self.me, peer, number))
        await at.send(self._hub, Parcel(sealed.rows()[0]))
        return None

    async def receive(self, peer: str) -> bytes:
        """The next frame of that peer."""
        if peer == self._hub:
            return await super().receive(peer)
        at = self._channel.at("from", peer)
        number = self._read[peer]
        parcel = await at.receive(self._hub, Parcel)
        self._read[peer] = number + 1
        try:
            sealed = Sealed.parse([parcel.sealed])
            return unseal(sealed, self._own.surrender(), *_context(at, peer, self.me, number))[0]
        except InputError as error:
            raise at.refusal(peer, f"its letter does not open: {error}") from None


def hub_channel(channel: Channel, peers: Sequence[str]) -> Channel:
    """The collector's end of a channel among these respondents, where it takes part itself."""
    link = HubLink(channel.at("post"), peers)
    return Channel(Session(link, channel.session, channel.rng.child("private"), Nothing()), "private")


def private_channel(channel: Channel, hub: str, own: KeyShare, keys: Mapping[str, Point]) -> Channel:
    """A channel among these respondents and the collector, over the post; `keys` has each one's key for letters."""
    link = PostLink(channel.at("post"), hub, own, keys)
    return Channel(Session(link, channel.session, channel.rng.child("private"), Nothing()), "private")


async def carry(channel: Channel, lines: Sequence[tuple[str, str]], letters: int) -> None:
    """The collector's part: so many letters on each line, from a writer to a reader.

    A letter is carried once all of its turn are there, so that nobody is waited for who waits for another's letter.
    """

    async def fetch(sender: str, recipient: str) -> Parcel:
        return await channel.at("post", "to", recipient).receive(sender, Parcel)

    for _ in range(letters):
        parcels = await gather(*(fetch(*line) for line in lines))
        await gather(
            *(
                channel.at("post", "from", sender).send(recipient, parcel)
                for (sender, recipient), parcel in zip(lines, parcels, strict=True)
            )
        )


def _context(channel: Channel, sender: str, recipient: str, number: int) -> tuple[Label, ...]:
    return ("collect post", channel.session, sender, recipient, number)
