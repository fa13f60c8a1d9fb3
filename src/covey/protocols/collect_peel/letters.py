"""Letters of a respondent to the trustees: a share of every number of its record, sealed to each.

A letter opens for its trustee alone, and only as that handle's answer to that study: whoever copies it, sends it again
under another handle or to another collection is left out. The board is the list of all that came; its lines are hashes
without handles, which may be shown to everyone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from covey.arrays import Words
from covey.crypto import letter, sharing
from covey.crypto.letter import LetterKey
from covey.crypto.rng import Label, Rng, spell
from covey.crypto.scalar_field import FQ, numbers
from covey.errors import InputError
from covey.wire import Bytes32, Message

LARGEST = 1 << 18
Sealed = Annotated[bytes, Meta(min_length=letter.OVERHEAD, max_length=LARGEST)]


class RespondentLetters(Message, tag="collect.answer"):
    """A respondent's letters, in the order of the trustees' names."""

    letters: Annotated[list[Sealed], Meta(min_length=1, max_length=16)]


def write(
    study_hash: str, handle: str, record: Sequence[int], keys: Mapping[str, bytes], rng: Rng
) -> RespondentLetters:
    """The letters of one record to these trustees."""
    names = sorted(keys)
    shares = sharing.share(numbers(record), sharing.threshold(len(names)), len(names), rng.stream("shares"), FQ)
    return RespondentLetters(
        [
            letter.seal(FQ.pack(own), keys[name], rng.stream("letter", name), *_context(study_hash, handle, name))
            for name, own in zip(names, shares, strict=True)
        ]
    )


def read(study_hash: str, handle: str, me: str, key: LetterKey, sealed: bytes, width: int) -> Words | None:
    """Our shares of that respondent's record; None for what is no letter of it to us."""
    try:
        found = FQ.unpack(key.open(sealed, *_context(study_hash, handle, me)))
    except InputError:
        return None
    return found if len(found) == width else None


def line(handle: str, answer: RespondentLetters) -> bytes:
    """The board's line for an answer: a hash that says nothing of handle or answer to who does not know them."""
    return line_of(handle, [hashlib.sha256(each).digest() for each in answer.letters])


def line_of(handle: str, digests: Sequence[bytes]) -> bytes:
    """The same from the letters' hashes."""
    return hashlib.sha256(spell("collect line/1", handle, *digests)).digest()


def board(study_hash: str, lines: Sequence[bytes]) -> bytes:
    """The hash of the whole board."""
    return hashlib.sha256(spell("collect board/1", bytes.fromhex(study_hash), *sorted(lines))).digest()


def pack(answer: RespondentLetters) -> bytes:
    """An answer as it is kept."""
    return msgspec.msgpack.encode(answer.letters)


def unpack(raw: bytes, trustees: int) -> RespondentLetters:
    """A kept answer. Raises InputError unless it has a letter for each trustee."""
    try:
        found = msgspec.msgpack.decode(raw, type=Annotated[list[Sealed], Meta(max_length=16)])
    except (msgspec.MsgspecError, ValueError):
        found = []
    if len(found) != trustees:
        raise InputError(f"an answer has a sealed letter for each of {trustees} trustees")
    return RespondentLetters(found)


def _context(study_hash: str, handle: str, trustee: str) -> tuple[Label, ...]:
    return ("collect answer", bytes.fromhex(study_hash), handle, trustee)


class Receipt(Message, tag="collect.receipt"):
    """The board's line for an answer that has come."""

    line: Bytes32
