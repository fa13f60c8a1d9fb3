"""A comparison of a study's page with what a server sends, or with a file."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

from covey.errors import InputError
from covey.files import read_bytes

LARGEST = 1 << 24
SECONDS = 30.0


def fetch(where: str) -> bytes:
    """The page at an address, or in a file. Raises InputError that says why there is none."""
    if "://" not in where:
        return read_bytes(Path(where), "name the page's address or file", LARGEST)
    if not where.startswith(("https://", "http://")):
        raise InputError(f"--check {where}: must begin with https://, or name a file")
    try:
        with urllib.request.urlopen(where, timeout=SECONDS) as answer:  # noqa: S310 - only these two schemes
            content: bytes = answer.read(LARGEST)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise InputError(f"--check {where}: cannot be fetched ({getattr(error, 'reason', error)})") from None
    return content


def compare(due: bytes, found: bytes) -> str | None:
    """The difference between two pages, in a sentence; None if there is none."""
    if found == due:
        return None
    ours, theirs = due.splitlines(), found.splitlines()
    line = next((place for place, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    where = f"line {line + 1} is the first that differs" if line is not None else "one is longer than the other"
    data = [next((each for each in page if b'id="study"' in each), b"") for page in (ours, theirs)]
    rest = [[each for each in page if b'id="study"' not in each] for page in (ours, theirs)]
    if rest[0] == rest[1] and data[0] != data[1]:
        return f"the program is the study's, but its questions, keys or texts are others ({where}): do not answer in it"
    return f"is another page than the study's ({where}): do not answer in it"
