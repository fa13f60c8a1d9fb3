"""Ciphertexts of Paillier as they travel: not checked yet, because only a key can tell what is one.

Nothing computes with `Residues`: `PublicKey.accept` turns them into `Ciphertexts`, or refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable

from covey.errors import InputError


class Residues:
    """Numbers of equal width. A field of this type may be sent."""

    __slots__ = ("data", "width")

    def __init__(self, data: bytes, width: int) -> None:
        if not 0 < width < 1 << 16 or len(data) % width:
            raise InputError(f"numbers of {width} bytes each, {len(data)} in all")
        self.data, self.width = data, width

    @property
    def item_bytes(self) -> int:
        """The bytes of each number."""
        return self.width

    @classmethod
    def join(cls, parts: Iterable[Residues]) -> Residues:
        """One list after the other."""
        known = list(parts)
        return cls(b"".join(part.data for part in known), known[0].width)

    def slice(self, first: int, last: int) -> Residues:
        """The numbers from `first` up to but not including `last`."""
        return Residues(self.data[first * self.width : last * self.width], self.width)

    def pack(self) -> bytes:
        """Two bytes for the width, then the numbers, little-endian."""
        return self.width.to_bytes(2, "little") + self.data

    @classmethod
    def unpack(cls, raw: bytes) -> Residues:
        """The numbers in these bytes."""
        try:
            return cls(raw[2:], int.from_bytes(raw[:2], "little"))
        except InputError as error:
            raise ValueError(str(error)) from None

    def __len__(self) -> int:
        return len(self.data) // self.width

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Residues) and (self.width, self.data) == (other.width, other.data)

    def __hash__(self) -> int:
        return hash((self.width, self.data))

    def __repr__(self) -> str:
        return f"Residues({len(self)} of {self.width} bytes)"
