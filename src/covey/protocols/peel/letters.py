"""A respondent's letter: its record in three shares, of which each trustee gets two, sealed to it.

Any two trustees have all three shares, one alone has two random strings. A part opens for its trustee alone, and only
as the letter of that enrolment to that study: whoever copies it, or sends it to another collection, is left out. The
enrolment's key signs all three parts, so that nobody joins parts of two letters. The board lists what came; its lines
are hashes without handles, which may be shown to everyone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import Meta

from covey.arrays import Bits, Words
from covey.crypto import letter
from covey.crypto.letter import LetterKey
from covey.crypto.rng import Label, Rng, spell
from covey.errors import InputError
from covey.mpc.planes import packed
from covey.protocols.peel.coding import bits_of
from covey.wire import Bytes32, Bytes64

TRUSTEES = 3
LARGEST = 1 << 14
Sealed = Annotated[bytes, Meta(min_length=letter.OVERHEAD, max_length=LARGEST)]
Sign = Callable[[bytes], bytes]


class Letter(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A letter as it is handed in: a part for each trustee, in the order of their names."""

    parts: Annotated[list[Sealed], Meta(min_length=TRUSTEES, max_length=TRUSTEES)]
    key: Bytes32
    """The enrolment's key (ed25519)."""
    signature: Bytes64

    @property
    def digests(self) -> list[bytes]:
        """The hash of each part."""
        return [hashlib.sha256(part).digest() for part in self.parts]


def write(study_hash: str, handle: str, word: Words, width: int, keys: Mapping[str, bytes], rng: Rng,
          enrolment: tuple[bytes, Sign]) -> Letter:  # fmt: skip
    """Returns the letter of one record, a word of that width, to trustees with these keys."""
    size, (public, sign) = _bytes(width), enrolment
    shares = [rng.stream("share", number).bytes(size) for number in range(2)]
    shares.append(_xor(packed_word(word, width), *shares))
    parts = [
        letter.seal(
            shares[place] + shares[(place + 1) % TRUSTEES], keys[name], rng.stream("letter", name),
            *context(study_hash, handle, public, name),
        )
        for place, name in enumerate(sorted(keys))
    ]  # fmt: skip
    digests = [hashlib.sha256(part).digest() for part in parts]
    return Letter(parts, public, sign(statement(study_hash, handle, digests)))


def read(study_hash: str, handle: str, key: bytes, me: str, own: LetterKey, sealed: bytes, width: int) -> bytes | None:
    """Returns a trustee's two shares of a record, one behind the other; None for what is no letter of it to us."""
    try:
        content = own.open(sealed, *context(study_hash, handle, key, me))
    except InputError:
        return None
    return content if len(content) == 2 * _bytes(width) else None


def shares_of(contents: Sequence[bytes], width: int) -> Words:
    """Returns a trustee's shares (2 x bits x blocks) of records, from what `read` returns."""
    size = _bytes(width)
    octets = np.frombuffer(b"".join(contents), np.uint8).reshape(len(contents), 2, size)
    bits: Bits = np.unpackbits(octets, axis=2).astype(bool)[:, :, 8 * size - width :]
    planes = [[packed(bits[:, share, bit]) for bit in range(width)] for share in range(2)]
    return np.array(planes, np.uint64).reshape(2, width, -1)


def sealed_bytes(width: int) -> int:
    """Returns the size of a sealed part."""
    return letter.OVERHEAD + 2 * _bytes(width)


def line(handle: str, digests: Sequence[bytes]) -> bytes:
    """Returns the board's line for a letter: a hash that tells nothing to who knows neither."""
    return hashlib.sha256(spell("collect line/1", handle, *digests)).digest()


def board(study_hash: str, lines: Sequence[bytes]) -> bytes:
    """Returns the hash of the whole board."""
    return hashlib.sha256(spell("collect board/1", bytes.fromhex(study_hash), *sorted(lines))).digest()


def statement(study_hash: str, handle: str, digests: Sequence[bytes]) -> bytes:
    """Returns the bytes that an enrolment's key signs on its letter."""
    return spell("covey answer/1", study_hash, handle, *digests)


def is_signed(study_hash: str, handle: str, answer: Letter) -> bool:
    """Returns True if the key that a letter names has signed its parts."""
    return verifies(answer.key, answer.signature, statement(study_hash, handle, answer.digests))


def verifies(key: bytes, signature: bytes, content: bytes) -> bool:
    """Returns True if the owner of an ed25519 key signed that content."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (ValueError, InvalidSignature):
        return False
    return True


def pack(answer: Letter) -> bytes:
    """Returns a letter as it is handed in and kept."""
    return msgspec.msgpack.encode(answer)


def unpack(raw: bytes, width: int) -> Letter:
    """Returns a letter. Raises InputError unless it has three parts of the study's size."""
    try:
        answer = msgspec.msgpack.decode(raw, type=Letter)
    except (msgspec.MsgspecError, ValueError):
        answer = None
    if answer is None or any(len(part) != sealed_bytes(width) for part in answer.parts):
        raise InputError(f"an answer has a sealed part of {sealed_bytes(width)} bytes for each of {TRUSTEES} trustees")
    return answer


def context(study_hash: str, handle: str, key: bytes, trustee: str) -> tuple[Label, ...]:
    """Returns what a part is sealed under, besides its trustee's key."""
    return ("collect answer", bytes.fromhex(study_hash), handle, key, trustee)


def _bytes(width: int) -> int:
    return -(-width // 8)


def packed_word(word: Words, width: int) -> bytes:
    """Returns one word as bytes, its last bit the last of all."""
    bits = np.zeros(8 * _bytes(width), np.uint8)
    bits[len(bits) - width :] = bits_of(word.reshape(-1, 1), width)[:, 0]
    return np.packbits(bits).tobytes()


def _xor(first: bytes, *others: bytes) -> bytes:
    total = np.frombuffer(first, np.uint8)
    for other in others:
        total = total ^ np.frombuffer(other, np.uint8)
    return total.tobytes()
