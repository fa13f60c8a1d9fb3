"""Opening a channel: the parties exchange public keys, so that every pair has a secret of its own.

A party's handshake speaks on a channel of its own over the same link, with `plain_channel`: nothing but
what it asks for is taken off the lines, so that the session's channel goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable

from covey.crypto.agreement import AgreementKey
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError
from covey.wire.channel import PATIENCE, SILENCE, Channel, Session
from covey.wire.link import Link
from covey.wire.message import Bytes32, Message
from covey.wire.record import Nothing, Recorder, Tally

BEFORE_SESSION = bytes(16)
"""The session id of what is said before the parties have agreed on one."""

_KEY_STEP = "keys"


class SessionPublicKey(Message, tag="covey.public-key"):
    """The sender's X25519 key for this session."""

    key: Bytes32


def plain_channel(
    link: Link,
    rng: Rng,
    *,
    session: bytes = BEFORE_SESSION,
    silence: float = SILENCE,
    patience: float = PATIENCE,
) -> Channel:
    """A channel without pairwise secrets, for handshakes; its messages count in no tally but its own."""
    parts = Session(link, session, rng, Nothing(), silence=silence, patience=patience)
    return Channel(parts)


async def open_channel(
    link: Link,
    rng: Rng,
    *,
    session: bytes,
    recorder: Recorder,
    silence: float = SILENCE,
    patience: float = PATIENCE,
    sign: Callable[[bytes], bytes] | None = None,
    verify: Callable[[str, bytes, bytes], bool] | None = None,
    attempt: bytes = b"",
) -> Channel:
    """The channel of a session, on which roles run: keys are agreed on, depth and tally stand at zero.

    The exchange of keys is recorded like any other message, so that a resumed session has the same secrets.
    Over a `ResumedLink`, this and the role go on where they were interrupted.
    With `sign` and `verify` every message is signed by its sender, and one that is not is refused.
    Raises `PeerError` for a public key that is of small order or a copy of ours.
    """
    parts = Session(
        link, session, rng, recorder, silence=silence, patience=patience, attempt=attempt, sign=sign, verify=verify
    )
    own = AgreementKey(rng.stream("agreement"))
    shared: dict[str, Secret] = {}
    for peer, public in (await Channel(parts).at(_KEY_STEP).exchange(SessionPublicKey(own.public))).items():
        try:
            shared[peer] = own.shared(public.key, session)
        except InputError as error:
            raise PeerError(party=peer, step=_KEY_STEP, reason=str(error)) from None
    parts.shared = shared
    parts.tally = Tally()
    return Channel(parts)
