"""A frame is one message with its address, and reads the same for everyone who holds its bytes.

    sequence   8 bytes   position among the frames that this sender put on this line: the line's order
    letter     the rest; what is journaled and, after a cut, sent again byte for byte:
      signed  64 bytes   the sender's signature, so that it cannot deny what it said, also where the run ends early;
                         zeros where it signs nothing
      length   2 bytes   of the header
      header             msgpack array, see `Header`; then zeros, so that most frames have the same overhead
      salt    16 bytes   from the sender's rng, so that nobody can guess a message from its hash
      payload            the message

A signature is on the head of a chain: the hash of this letter and of all before it that the sender sent to the same
recipient at the same step. The first `SIGNED` letters of a step carry one each, and then every `SIGNED`-th.

On a byte stream each frame is preceded by its length in 4 bytes, which is checked before anything is
allocated. `FRAME_BYTES` is the overhead of a frame, that length included; names and steps of unusual
length add multiples of 64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from covey.wire.message import PAYLOAD_BYTES, Bytes16, Name

VERSION = 3
FRAME_BYTES = 256
LENGTH_BYTES = 4
SEQUENCE_BYTES = 8
SALT_BYTES = 16
SIGNATURE_BYTES = 64
UNSIGNED = bytes(SIGNATURE_BYTES)
SIGNED = 64
NO_HEAD = bytes(32)
"""The head of a step at which nothing was said yet."""
STEP_LENGTH = 160
_GRAIN = 64
_PREAMBLE = LENGTH_BYTES + SEQUENCE_BYTES
MAX_FRAME = PAYLOAD_BYTES + 4 * FRAME_BYTES

Step = Annotated[str, Meta(max_length=STEP_LENGTH)]
Small = Annotated[int, Meta(ge=0, lt=1 << 32)]


class Header(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The address of a message: sender, recipient and step.

    `number` counts the sender's frames to this recipient at this step. It depends on the protocol alone, not on the
    order of arrival or on interruptions. `depth` is the length of the longest chain of messages that ends in this one.
    """

    version: Small
    session: Bytes16
    sender: Name
    recipient: Name
    step: Step
    tag: Name
    number: Small
    depth: Annotated[int, Meta(ge=1, lt=1 << 32)]


@dataclass(frozen=True, slots=True)
class Letter:
    """A frame without its place on the line: the unit of transcript, journal and replay."""

    header: Header
    raw: memoryview
    """The letter's bytes: secret, like what they say."""
    payload: memoryview
    digest: bytes

    @property
    def size(self) -> int:
        """Bytes on the wire, with the frame's overhead."""
        return self.raw.nbytes + _PREAMBLE

    @property
    def signature(self) -> bytes:
        """The sender's signature on `statement(head)`."""
        return bytes(self.raw[:SIGNATURE_BYTES])


def is_signed(number: int) -> bool:
    """Returns True for a letter of that number at its step if it carries a signature."""
    return number < SIGNED or number % SIGNED == SIGNED - 1


def follow(head: bytes, digest: bytes) -> bytes:
    """Returns the head of a step's chain behind one more letter."""
    return hashlib.sha256(head + digest).digest()


def write(
    header: Header,
    salt: bytes,
    payload: bytes,
    sign: Callable[[bytes], bytes] | None = None,
    step_head: bytes = NO_HEAD,
) -> Letter:
    """Seals a message into a letter, signed if its number is; `step_head` is its step's head before."""
    head = _HEADER_ENCODER.encode(header)
    body = _body_at(len(head))
    padding = bytes(body - SIGNATURE_BYTES - SALT_BYTES - 2 - len(head))
    address = b"".join((len(head).to_bytes(2, "big"), head, padding, salt))
    hashing = hashlib.sha256(address)
    hashing.update(payload)
    own, signature = hashing.digest(), UNSIGNED
    if sign is not None and is_signed(header.number):
        signature = sign(statement(follow(step_head, own)))
    raw = b"".join((signature, address, payload))
    return Letter(header, memoryview(raw), memoryview(raw)[body:], own)


def statement(head: bytes) -> bytes:
    """The bytes that a sender signs for a head; the headers of its letters name session, sender and recipient."""
    return b"covey message/2 " + head


def earlier_statement(digest: bytes) -> bytes:
    """The bytes that a sender signed for each letter up to version 2 of the wire."""
    return b"covey message/1 " + digest


def read(raw: bytes | memoryview) -> Letter:
    """The letter in these bytes. Raises `ValueError`, without quoting them, if they are none."""
    view = memoryview(raw)
    if not FRAME_BYTES - _PREAMBLE <= view.nbytes <= MAX_FRAME:
        raise ValueError(f"a frame of {view.nbytes} bytes")
    start = SIGNATURE_BYTES + 2
    head = int.from_bytes(view[SIGNATURE_BYTES:start], "big")
    body = _body_at(head)
    if view.nbytes < body:
        raise ValueError("a frame cut short in its header")
    try:
        header = _HEADER_DECODER.decode(view[start : start + head])
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        raise ValueError("a frame whose header is malformed") from None
    if any(view[start + head : body - SALT_BYTES]):
        raise ValueError("a frame whose header has something behind it")
    return Letter(header, view, view[body:], digest(view))


def _body_at(head: int) -> int:
    """The place of the payload in a letter whose header takes that many bytes."""
    filled = SIGNATURE_BYTES + 2 + head + SALT_BYTES + _PREAMBLE
    return max(FRAME_BYTES, filled + -filled % _GRAIN) - _PREAMBLE


def digest(raw: bytes | memoryview) -> bytes:
    """SHA-256 of a letter's bytes without the signature, which stands for it in transcripts."""
    return hashlib.sha256(memoryview(raw)[SIGNATURE_BYTES:]).digest()


def place(sequence: int, letter: bytes | memoryview) -> bytes:
    """The frame that carries this letter as the line's `sequence`-th."""
    return b"".join(((sequence % (1 << 64)).to_bytes(SEQUENCE_BYTES, "big"), letter))


def split(frame: bytes) -> tuple[int, memoryview]:
    """The sequence number and the letter's bytes. Raises `ValueError` for a frame that is too short or too long."""
    if not SEQUENCE_BYTES < len(frame) <= MAX_FRAME:
        raise ValueError(f"a frame of {len(frame)} bytes")
    return int.from_bytes(frame[:SEQUENCE_BYTES], "big"), memoryview(frame)[SEQUENCE_BYTES:]


_HEADER_ENCODER = msgspec.msgpack.Encoder()
_HEADER_DECODER = msgspec.msgpack.Decoder(Header)
