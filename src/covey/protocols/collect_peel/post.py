"""Post among trustees: the collector carries their letters, sealed, and sees only how large they are.

Each pair has a secret from its keys for letters; a letter is encrypted under it with a nonce that follows from its
content, so that a trustee that plays its role again after a crash never encrypts two things under one nonce.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Annotated

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Meta

from covey.crypto.letter import LetterKey
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError
from covey.wire import Channel, Message, Nothing, Session, gather
from covey.wire.link import StandingLines

LARGEST = 1 << 21
_NONCE, _FOREVER = 12, 400 * 86400.0


class TrusteeParcel(Message, tag="collect.post"):
    """A sealed letter of one trustee to another."""

    sealed: Annotated[bytes, Meta(min_length=28, max_length=LARGEST)]


class TrusteeLink(StandingLines):
    """One trustee's lines to the others, by way of the collector."""

    def __init__(self, channel: Channel, hub: str, secrets: Mapping[str, Secret]) -> None:
        self.me, self.peers = channel.me, tuple(sorted(secrets))
        self._channel, self._hub, self._secrets = channel, hub, secrets

    async def send(self, peer: str, frame: bytes) -> None:
        """Seals a frame and gives it to the collector."""
        key = derive(self._secrets[peer], "post", self.me, peer)
        nonce = hmac.digest(derive(key, "nonce").reveal(), frame, hashlib.sha256)[:_NONCE]
        sealed = nonce + AESGCM(key.reveal()).encrypt(nonce, frame, None)
        await self._channel.at("to", peer).send(self._hub, TrusteeParcel(sealed))

    async def receive(self, peer: str) -> bytes:
        """The next frame of that peer."""
        at = self._channel.at("from", peer)
        sealed = (await at.receive(self._hub, TrusteeParcel, patience=_FOREVER)).sealed
        key = derive(self._secrets[peer], "post", peer, self.me)
        try:
            return AESGCM(key.reveal()).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except InvalidTag:
            raise PeerError(party=self._hub, step=at.step, reason=f"it altered a letter of {peer}") from None


def private_channel(channel: Channel, hub: str, own: LetterKey, keys: Mapping[str, bytes]) -> Channel:
    """A channel among these trustees; `keys` has the public key of each, ours included."""
    if keys.get(channel.me) != own.public:
        raise PeerError(party=hub, step="trustees", reason="it lists us with another key than ours")
    try:
        secrets = {
            name: own.shared(key, "collect post", channel.session) for name, key in keys.items() if name != channel.me
        }
    except InputError as error:
        raise PeerError(party=hub, step="trustees", reason=f"it lists a trustee with what is no key: {error}") from None
    link = TrusteeLink(channel.at("post"), hub, secrets)
    rng = channel.rng.child("private")
    session = Session(link, channel.session, rng, Nothing(), secrets, silence=_FOREVER, patience=_FOREVER)
    return Channel(session, "private")


async def carry(channel: Channel, names: tuple[str, ...]) -> None:
    """The collector's part: carries letters between these trustees for as long as it is let."""

    async def line(sender: str, recipient: str) -> None:
        at = channel.at("post")
        while True:
            parcel = await at.at("to", recipient).receive(sender, TrusteeParcel, patience=_FOREVER)
            await at.at("from", sender).send(recipient, parcel)

    await gather(*(line(sender, recipient) for sender in names for recipient in names if sender != recipient))
