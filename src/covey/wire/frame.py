"""A frame is one message with its address, and reads the same for everyone who holds its bytes.

    sequence   8 bytes   position among the frames that this sender put on this line: the line's order
    letter     the rest; what is hashed, journaled and, after a cut, sent again byte for byte:
      length   2 bytes   of the header
      header             msgpack array, see `Header`; then zeros, so that most frames have the same overhead
      salt    16 bytes   from the sender's rng, so that nobody can guess a message from its hash
      payload            the message

On a byte stream each frame is preceded by its length in 4 bytes, which is checked before anything is
allocated. `FRAME_BYTES` is the overhead of a frame, that length included; names and steps of unusual
length add multiples of 64.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from covey.wire.message import PAYLOAD_BYTES, Bytes16, Name

VERSION = 1
FRAME_BYTES = 256
LENGTH_BYTES = 4
SEQUENCE_BYTES = 8
SALT_BYTES = 16
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


def write(header: Header, salt: bytes, payload: bytes) -> Letter:
    """Seals a message into a letter."""
    head = _HEADER_ENCODER.encode(header)
    body = _body_at(len(head))
    padding = bytes(body - SALT_BYTES - 2 - len(head))
    raw = b"".join((len(head).to_bytes(2, "big"), head, padding, salt, payload))
    return Letter(header, memoryview(raw), memoryview(raw)[body:], digest(raw))


def read(raw: bytes | memoryview) -> Letter:
    """The letter in these bytes. Raises `ValueError`, without quoting them, if they are none."""
    view = memoryview(raw)
    if not FRAME_BYTES - _PREAMBLE <= view.nbytes <= MAX_FRAME:
        raise ValueError(f"a frame of {view.nbytes} bytes")
    head = int.from_bytes(view[:2], "big")
    body = _body_at(head)
    if view.nbytes < body:
        raise ValueError("a frame cut short in its header")
    try:
        header = _HEADER_DECODER.decode(view[2 : 2 + head])
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        raise ValueError("a frame whose header is malformed") from None
    if any(view[2 + head : body - SALT_BYTES]):
        raise ValueError("a frame whose header has something behind it")
    return Letter(header, view, view[body:], digest(view))


def _body_at(head: int) -> int:
    """The place of the payload in a letter whose header takes that many bytes."""
    filled = 2 + head + SALT_BYTES + _PREAMBLE
    return max(FRAME_BYTES, filled + -filled % _GRAIN) - _PREAMBLE


def digest(raw: bytes | memoryview) -> bytes:
    """SHA-256 of a letter's bytes, which stands for it in transcripts."""
    return hashlib.sha256(raw).digest()


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
