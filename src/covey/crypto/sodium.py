"""The door to libsodium, the system's or rbcl's: whole arrays at a time, on every core.

A call through ctypes lets other threads run, so that threads share a long array evenly. Only this module
sees addresses; what it is given has been checked for length and content by `covey.crypto.group`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from covey.errors import InputError

ELEMENT = 32
"""Bytes of a scalar and of a point."""

HASH = 64
"""Bytes that are mapped to a point, or reduced to a scalar."""

_GRAIN = 256
"""Below this many elements a thread costs more than it saves."""

_SYSTEMS = ("libsodium.so.26", "libsodium.so.23")
"""The system's library, newest first: both have ristretto255."""


def load(names: Sequence[str] = _SYSTEMS) -> tuple[ctypes.CDLL, str]:
    """The library, and where it comes from: the system's, which its distributor keeps up to date, or else rbcl's.

    rbcl brings version 1.0.18 and unpacks it to a temporary file. Raises InputError where neither can be loaded.
    """
    for name in names:
        try:
            library = ctypes.CDLL(name)
            if library.sodium_init() >= 0 and hasattr(library, "crypto_core_ristretto255_from_hash"):
                return library, name
        except (OSError, AttributeError):
            continue
    try:
        import rbcl.rbcl

        brought: ctypes.CDLL = rbcl.rbcl._sodium
    except (OSError, ImportError):
        raise InputError(
            "libsodium cannot be loaded: the system has none, and rbcl cannot unpack its own to the temporary folder "
            "(mounted noexec?); install libsodium (Debian: libsodium23), or set TMPDIR to another folder"
        ) from None
    unpacked = vars(sys.modules["rbcl._sodium"]).get("lib_path")
    if isinstance(unpacked, str) and os.path.basename(unpacked).startswith("tmp"):  # noqa: PTH119 - no pathlib here
        # rbcl loads what it unpacked and leaves it behind: megabytes for each process
        with contextlib.suppress(OSError):
            os.unlink(unpacked)  # noqa: PTH108
    return brought, "rbcl"


_LIBRARY, _ = load()


@dataclass(frozen=True)
class Operand:
    """An array that a function walks along, `step` bytes at a time; a step of zero stays where it is."""

    data: bytes
    step: int = ELEMENT


def same(data: bytes) -> Operand:
    """One value for every call."""
    return Operand(data, 0)


def compute(name: str, count: int, *operands: Operand) -> bytes:
    """`count` elements, each what the named function makes of the operands' next values.

    A function that reports the identity has written it, all zeros, so its report is not needed here.
    """
    out = bytearray(ELEMENT * count)
    _walk(name, count, out, operands)
    return bytes(out)


def valid_points(data: bytes) -> list[bool]:
    """For each 32 bytes: are they the canonical encoding of an element of the group? The identity is one.

    The library overlooks the highest bit, which is never set in a canonical encoding: so we look at it here,
    or every element would have two encodings, and a repeated one would pass for new.
    """
    codes = _walk("crypto_core_ristretto255_is_valid_point", len(data) // ELEMENT, None, (Operand(data),))
    return [code == 1 and last < 0x80 for code, last in zip(codes, data[ELEMENT - 1 :: ELEMENT], strict=True)]


def cores() -> int:
    """The number of threads that can compute at the same time here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(count: int, work: Callable[[int, int], list[int]], grain: int = _GRAIN) -> list[int]:
    """Runs `work(first, last)` over parts of 0 to count on every core, and joins the answers in order."""
    workers = min(cores(), max(1, count // grain))
    if workers == 1:
        return work(0, count)
    edges = [count * part // workers for part in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(work, edges[:-1], edges[1:])
        return [code for part in parts for code in part]


def _walk(name: str, count: int, out: bytearray | None, operands: tuple[Operand, ...]) -> list[int]:
    if not count:
        return []
    function = _LIBRARY[name]  # by index: a new handle each time, so that its types are ours alone
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_void_p] * (len(operands) + (out is not None))
    held = [ctypes.c_char_p(operand.data) for operand in operands]
    starts = [(ctypes.cast(pointer, ctypes.c_void_p).value or 0) for pointer in held]
    steps = [operand.step for operand in operands]
    if out is not None:
        starts.insert(0, ctypes.addressof(ctypes.c_char.from_buffer(out)))
        steps.insert(0, ELEMENT)

    def part(first: int, last: int) -> list[int]:
        walks = [
            range(start + first * step, start + last * step, step) if step else [start] * (last - first)
            for start, step in zip(starts, steps, strict=True)
        ]
        return list(map(function, *walks))

    return spread(count, part)
