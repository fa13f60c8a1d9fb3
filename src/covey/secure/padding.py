"""Rows of equal length, so that nobody sees which is which, and dummies, so that nobody sees how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from covey.errors import InputError

LENGTH_BYTES = 4


def pad(rows: Sequence[bytes], count: int, length: int) -> list[bytes]:
    """Rows of equal length, dummies added: four bytes with the length and one, zero for a dummy; the row; zeros."""
    if len(rows) > count:
        raise InputError(f"{len(rows)} rows, but only {count} may be submitted: raise the agreed number")
    longest = max(map(len, rows), default=0)
    if longest > length:
        raise InputError(f"a row of {longest} bytes; the agreed length is {length}")
    filled = [(len(row) + 1).to_bytes(LENGTH_BYTES, "big") + row + bytes(length - len(row)) for row in rows]
    return filled + [bytes(LENGTH_BYTES + length)] * (count - len(rows))


def unpad(padded: bytes) -> bytes | None:
    """The row in its padding, or None for a dummy. Raises `InputError` for padding that we would not make."""
    marked = int.from_bytes(padded[:LENGTH_BYTES], "big")
    end = LENGTH_BYTES + max(0, marked - 1)
    if end > len(padded) or any(padded[end:]):
        raise InputError("a row whose padding is wrong")
    return padded[LENGTH_BYTES:end] if marked else None
