"""Canaries: values that occur nowhere else, looked for wherever they must not be, in every spelling a leak might have.

A text is looked for in UTF-8 and UTF-16, as hexadecimal, base64 (at each of the three alignments), and by its plain
SHA-256; a number in eight bytes of either order, in decimal and in hexadecimal, and by the SHA-256 of its decimal.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.harness.network import seed_of

from covey.arrays import Words
from covey.crypto.rng import Rng

MANY = 1000
_KEY = 8


@dataclass(frozen=True)
class Sighting:
    """A canary that was found: whose it is, in which spelling, and where. The value itself is not repeated."""

    owner: str
    spelling: str
    where: str


def texts(owner: str, many: int = MANY) -> tuple[str, ...]:
    """Texts that a person could have written, and nobody has: long enough not to occur by chance."""
    stream = Rng(seed_of(77)).stream("canary", owner)
    return tuple(f"canary-{stream.bytes(10).hex()}-Ä" for _ in range(many))


def numbers(owner: str, many: int = MANY) -> tuple[int, ...]:
    """Numbers below 2^63 that do not occur by chance."""
    stream = Rng(seed_of(78)).stream("canary", owner)
    return tuple((1 << 62) | stream.below(1 << 62) for _ in range(many))


class Aviary:
    """All canaries of a trial, ready to be looked for in anything."""

    def __init__(self, words: Mapping[str, Iterable[str]], figures: Mapping[str, Iterable[int]]) -> None:
        self._known: dict[bytes, list[tuple[bytes, str, str]]] = {}
        for owner, values in words.items():
            for value in values:
                for spelling, pattern in spellings_of_text(value):
                    self._add(pattern, owner, spelling)
        for owner, values_ in figures.items():
            for number in values_:
                for spelling, pattern in spellings_of_number(number):
                    self._add(pattern, owner, spelling)
        keys = np.frombuffer(b"".join(self._known), dtype="<u8")
        self._keys: Words = np.sort(keys)

    def _add(self, pattern: bytes, owner: str, spelling: str) -> None:
        self._known.setdefault(pattern[:_KEY], []).append((pattern, owner, spelling))

    def look(self, content: bytes, where: str, *, except_of: str | None = None) -> list[Sighting]:
        """The canaries in these bytes; those of one party may be allowed there."""
        found = []
        for shift in range(_KEY):
            usable = (len(content) - shift) // _KEY * _KEY
            if usable <= 0:
                break
            window = np.frombuffer(content, dtype="<u8", count=usable // _KEY, offset=shift)
            if not self._keys.size:
                break
            nearest = np.minimum(np.searchsorted(self._keys, window), self._keys.size - 1)
            for place in np.flatnonzero(self._keys[nearest] == window):
                start = shift + int(place) * _KEY
                found += self._at(content, start, where, except_of)
        return found

    def _at(self, content: bytes, start: int, where: str, except_of: str | None) -> list[Sighting]:
        return [
            Sighting(owner, spelling, where)
            for pattern, owner, spelling in self._known[content[start : start + _KEY]]
            if owner != except_of and content.startswith(pattern, start)
        ]

    def look_into_folder(self, folder: Path, *, except_of: str | None = None) -> list[Sighting]:
        """The canaries in all files below a folder, and in their names."""
        found = []
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            found += self.look(name.encode(), f"the name {name}", except_of=except_of)
            if path.is_file():
                found += self.look(path.read_bytes(), name, except_of=except_of)
        return found


def spellings_of_text(text: str) -> list[tuple[str, bytes]]:
    """Every way in which a leak might spell a text."""
    plain = text.encode()
    return [
        ("UTF-8", plain),
        ("UTF-16-LE", text.encode("utf-16-le")),
        ("UTF-16-BE", text.encode("utf-16-be")),
        *_disguised(plain),
        *_hashed(plain),
    ]


def spellings_of_number(number: int) -> list[tuple[str, bytes]]:
    """Every way in which a leak might spell a number."""
    decimal = str(number).encode()
    return [
        ("little-endian", number.to_bytes(8, "little")),
        ("big-endian", number.to_bytes(8, "big")),
        ("decimal", decimal),
        ("hexadecimal", f"{number:x}".encode()),
        *_hashed(decimal),
    ]


def _disguised(plain: bytes) -> list[tuple[str, bytes]]:
    """In hexadecimal and in base64, wherever in a longer text it begins."""
    shapes = [("hexadecimal", plain.hex().encode()), ("hexadecimal", plain.hex().upper().encode())]
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + plain)
        inner = whole[4 if shift else 0 : -4]  # the edges depend on what stands beside
        shapes.append(("base64", inner))
    return shapes


def _hashed(plain: bytes) -> list[tuple[str, bytes]]:
    digest = hashlib.sha256(plain)
    return [("SHA-256", digest.digest()), ("SHA-256 in hexadecimal", digest.hexdigest().encode())]
