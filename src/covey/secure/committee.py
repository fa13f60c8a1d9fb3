"""Committee: trustees make a key that no one has, and open for one party what was encrypted under it.

Source    Pedersen 1991 with Feldman's commitments, no dealer. Each trustee first commits to its polynomial by a hash,
          so that nobody chooses its part after having seen the others'; an echo of everything that was shown keeps
          a trustee from showing different things to different peers.
Roles     the trustees, any number; an opener, who is none of them, learns the key and later has ciphertexts opened.
Security  fewer than `threshold` trustees learn nothing of the key or of what is opened: parts of an opening go to the
          opener only, never from trustee to trustee. Whoever deals a wrong share, shows others something else, or
          sends a wrong part of an opening is named, and the run ends before the part is used.
Not       a trustee that falls silent ends the founding; after that, any `threshold` are enough. Trustees open what
          the opener asks for: who may ask for what, and how often, is the protocol's to say. An opener and
          `threshold` trustees together open everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from covey.crypto.elgamal import Ciphertexts
from covey.crypto.group import Points
from covey.crypto.threshold import CommitteeKey, Trustee
from covey.secure.declare import Leakage
from covey.secure.lists import Elements
from covey.wire import FRAME_BYTES, Bytes32, Bytes64, Channel, Message

HASH_BYTES = FRAME_BYTES + 70
DEALT_BYTES = FRAME_BYTES + 190
KEY_BYTES = FRAME_BYTES + 60
PROOF_BYTES = FRAME_BYTES + 150

LEAKAGE = Leakage(
    everyone=("the committee's public key, of which {threshold} of {trustees} trustees hold the secret together",)
)
OPENING_LEAKAGE = Leakage(
    roles={
        "opener": ("what {count} ciphertexts hold that it had opened",),
        "trustee": ("the first halves of {count} ciphertexts, which say nothing of what they hold",),
    }
)


class Committed(Message, tag="committee.committed"):
    """The hash of what the sender is about to deal."""

    digest: Bytes32


class Dealt(Message, tag="committee.dealt"):
    """Commitments to the sender's polynomial, the proof that it knows it, and the recipient's share alone."""

    commitments: Points
    knows: Bytes64
    share: Bytes32


class Echoed(Message, tag="committee.echoed"):
    """The hash of all commitments that the sender was shown: equal for all, or somebody showed two faces."""

    digest: Bytes32


class Founded(Message, tag="committee.founded"):
    """The commitments to the joint polynomial."""

    commitments: Points


class Asked(Elements, tag="committee.asked"):
    """First halves of the ciphertexts that are to be opened."""


class Unlocked(Elements, tag="committee.unlocked"):
    """The sender's part of the opening, for each ciphertext."""


class Proved(Message, tag="committee.proved"):
    """The proof that the part was made with the sender's share."""

    proof: bytes


async def found(channel: Channel, members: Sequence[str], threshold: int, *, opener: str | None = None) -> Trustee:
    """Makes the committee's key, and tells the opener. Every member has to call it, at a step of its own.

    Raises `PeerError` with the name of a member that dealt wrongly; `InputError` where this party is no member.
    """
    raise NotImplementedError


async def learn(channel: Channel, members: Sequence[str], threshold: int) -> CommitteeKey:
    """The key that the members have made, for the opener, who calls this while they call `found`.

    Raises `PeerError` where the members do not agree.
    """
    raise NotImplementedError


async def serve(channel: Channel, trustee: Trustee, opener: str, due: int) -> Points:
    """A trustee's part in one opening of `due` ciphertexts; answers the first halves that it unlocked.

    Raises `PeerError` where the opener asks for more, fewer, or for one twice.
    """
    raise NotImplementedError


async def unlock(channel: Channel, key: CommitteeKey, helpers: Mapping[str, int], ciphertexts: Ciphertexts) -> Points:
    """The committee's secret key times each ciphertext's first half, for the opener.

    `helpers` are `key.threshold` trustees with their places. `opened` of `covey.crypto.elgamal` takes the answer, beside
    that of the opener's own key where there is one. Raises `PeerError` with the name of a helper whose part is wrong.
    """
    raise NotImplementedError


def places(members: Sequence[str]) -> dict[str, int]:
    """Each member's place: 1, 2, … in sorted order, the same for everyone."""
    return {name: place for place, name in enumerate(sorted(members), start=1)}
