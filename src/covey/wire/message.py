"""A message is a frozen, tagged struct; decoding it is validating it.

A decoder accepts exactly the declared fields, in their declared types and bounds, and nothing else, so
that role code never meets a value that it would have to doubt. The sizes of fields are declared beside
them, with `Meta(max_length=…)` or the types below. A class with `pack` and `unpack` may be a field: a vector,
points of a group; a secret has neither, and so is never sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, ClassVar, Protocol, TypeVar, dataclass_transform, runtime_checkable

import msgspec
import numpy as np
from msgspec import Meta

from covey.arrays import Words

Bytes16 = Annotated[bytes, Meta(min_length=16, max_length=16)]
Bytes32 = Annotated[bytes, Meta(min_length=32, max_length=32)]
Bytes64 = Annotated[bytes, Meta(min_length=64, max_length=64)]
Count = Annotated[int, Meta(ge=0, lt=1 << 48)]
Name = Annotated[str, Meta(min_length=1, max_length=64)]

PAYLOAD_BYTES = 16 << 20
"""No message is larger than this; longer vectors travel as a stream of chunks."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class _Frozen(msgspec.StructMeta):
    """Tells type checkers that subclasses are frozen without saying so again."""


class Message(msgspec.Struct, metaclass=_Frozen, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """A message of one party to another in a step. Subclasses give their tag: `class Deal(Message, tag="and.deal")`."""


M = TypeVar("M", bound=Message)


@runtime_checkable
class Packed(Protocol):
    """A field that travels as bytes, and is checked when it is read from them."""

    def pack(self) -> bytes | memoryview:
        """The bytes: equal values have equal bytes."""

    @classmethod
    def unpack(cls, raw: bytes) -> Packed:
        """The value in these bytes. Raises `ValueError`, without quoting them, if there is none."""


class Vector:
    """A vector of integers modulo 2^64, sent as eight little-endian bytes each."""

    __slots__ = ("words",)
    item_bytes: ClassVar[int] = 8

    def __init__(self, words: Words) -> None:
        self.words = words

    def slice(self, first: int, last: int) -> Vector:
        """The words from `first` up to but not including `last`."""
        return Vector(self.words[first:last])

    @classmethod
    def join(cls, parts: Iterable[Vector]) -> Vector:
        """One vector after the other."""
        return cls(np.concatenate([part.words for part in parts]))

    def pack(self) -> memoryview:
        """Eight bytes for each."""
        return np.ascontiguousarray(self.words, dtype="<u8").view(np.uint8).data

    @classmethod
    def unpack(cls, raw: bytes) -> Vector:
        """The vector in these bytes."""
        if len(raw) % 8:
            raise ValueError("a vector's bytes are a multiple of eight")
        return cls(np.frombuffer(raw, dtype="<u8").astype(np.uint64, copy=False))

    def __len__(self) -> int:
        return len(self.words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and np.array_equal(self.words, other.words)

    def __hash__(self) -> int:
        return hash(self.words.tobytes())

    def __repr__(self) -> str:
        return f"Vector({len(self)} words)"


def tag_of(kind: type[Message]) -> str:
    """The tag that names this type of message on the wire."""
    return str(kind.__struct_config__.tag)


def encode(message: Message) -> bytes:
    """The message's bytes: equal messages have equal bytes."""
    return _ENCODER.encode(message)


def decode(kind: type[M], payload: bytes | memoryview) -> M:
    """The message in these bytes. Raises `ValueError`, without quoting the bytes, if they are no such message."""
    try:
        message: M = _decoder(kind).decode(payload)
        return message
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        # msgspec's text names types, bounds and the field's path, never a value, unless it is a foreign tag.
        reason = "" if "Invalid value" in str(error) else f": {str(error)[:200]}"
        raise ValueError(f"not a well-formed {tag_of(kind)}{reason}") from None


def _pack(value: object) -> bytes | memoryview:
    if isinstance(value, Packed):
        return value.pack()
    raise NotImplementedError(f"{type(value).__name__} is never sent")


def _unpack(kind: type, value: object) -> Packed:
    if not issubclass(kind, Packed) or not isinstance(value, bytes):
        raise ValueError("expected bytes")
    return kind.unpack(value)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_pack)


@lru_cache(maxsize=1024)
def _decoder(kind: type[M]) -> msgspec.msgpack.Decoder[M]:
    return msgspec.msgpack.Decoder(kind, dec_hook=_unpack)
