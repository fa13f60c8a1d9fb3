"""State: a party's shares as bytes and back, so that a run that was cut off goes on from there.

The bytes are as secret as what they share: whoever has those of two parties has the table. They are sealed before they
are written.
"""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np

from covey.errors import InputError
from covey.mpc.box import Box
from covey.mpc.planes import blocks
from covey.mpc.shared import Shared


class _Column(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    copies: int
    width: int
    records: int
    planes: bytes


def freeze(*columns: Shared) -> bytes:
    """Returns this party's shares of these columns."""
    parts = [
        _Column(len(column.planes), column.width, column.records, np.ascontiguousarray(column.planes, "<u8").tobytes())
        for column in columns
    ]
    return msgspec.msgpack.encode(parts)


def hashes(*columns: Shared) -> tuple[bytes, ...]:
    """Returns a hash of each share of these columns: what a party has in common with the previous one, and the next."""
    digests = [hashlib.sha256() for _ in columns[0].planes]
    for column in columns:
        for digest, planes in zip(digests, column.cut().planes, strict=True):
            digest.update(b"%d records of %d bits;" % (column.records, column.width))
            digest.update(np.ascontiguousarray(planes, "<u8").tobytes())
    return tuple(digest.digest() for digest in digests)


def thaw(box: Box, raw: bytes) -> list[Shared]:
    """Returns the columns in these bytes. Raises `InputError` if they are no state of such a box."""
    try:
        parts = msgspec.msgpack.decode(raw, type=list[_Column])
    except msgspec.MsgspecError:
        parts = []
    sizes = [8 * part.copies * part.width * blocks(part.records) for part in parts]
    if not parts or any(
        len(part.planes) != size or part.copies != len(box.ones) or min(part.width, part.records) < 0
        for part, size in zip(parts, sizes, strict=True)
    ):
        raise InputError("the state of the run was changed, or is of another kind of run: begin a new session")
    shapes = [(part.copies, part.width, blocks(part.records)) for part in parts]
    planes = [np.frombuffer(part.planes, "<u8").astype(np.uint64) for part in parts]
    return [
        Shared(box, words.reshape(shape), part.records)
        for words, shape, part in zip(planes, shapes, parts, strict=True)
    ]
