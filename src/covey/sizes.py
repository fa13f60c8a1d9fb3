"""Sizes in bytes as people write and read them: 512MB, 16GB."""

from __future__ import annotations

import re

_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d{1,9})\s*(kB|MB|GB|TB)?", re.ASCII | re.IGNORECASE)


def read(text: str) -> int | None:
    """The bytes in `512MB`, `16 GB` or `0`. None for anything else, and for a number above 0 without its unit."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or not (match[2] or int(match[1]) == 0):
        return None
    units = {name.lower(): size for name, size in _UNITS.items()}
    return int(match[1]) * units.get((match[2] or "kB").lower(), 1)


def spell(count: float) -> str:
    """Bytes as people read them."""
    for unit, size in reversed(_UNITS.items()):
        if count >= size:
            return f"{count / size:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{count:,.0f} bytes"
