"""Public data sets for a user with a network: fetched, checked, and given hierarchies that we made.

A file's hash changes with its line ends and its wrapping; what must be right is the rows. So the pinned hash is of
the parsed, complete rows in canonical form (`adult.digest`), computed from two copies of the table that agree.
Nothing is written unless it matches.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from covey.errors import InputError
from covey.samples import adult, make_room

_MOST_BYTES = 32 * 1024 * 1024
_PATIENCE = 60.0


@dataclass(frozen=True)
class Public:
    """A public data set: its address, its hash, and how it is read."""

    name: str
    about: str
    address: str
    sha256: str
    parse: Callable[[bytes], list[adult.Row]]
    digest: Callable[[Sequence[adult.Row]], str]
    files: Callable[[Sequence[adult.Row]], adult.Files]


ADULT = Public(
    name="adult",
    about="UCI Adult, the complete rows (30,162) of the census extract that this field measures on; CC BY 4.0",
    address="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
    sha256="67bd3995d83f04452217281613a6bc22296607fa7c213fae986c8fc302c3c817",
    parse=adult.parse,
    digest=adult.digest,
    files=adult.files,
)
PUBLIC: dict[str, Public] = {ADULT.name: ADULT}


def known(name: str) -> Public:
    """Returns the public data set of that name. Raises InputError if there is none."""
    if name not in PUBLIC:
        raise InputError(f"there is no public data set {name!r}; there are {', '.join(PUBLIC)}")
    return PUBLIC[name]


def fetch(public: Public, folder: Path, *, source: str | None = None) -> Path:
    """Fetches a data set and writes it into a new or empty folder.

    Raises InputError without a network, if the rows are not the expected ones, or if the folder is taken.
    """
    make_room(folder)
    origin = source or public.address
    rows = public.parse(_read(public, origin))
    if public.digest(rows) != public.sha256:
        raise InputError(
            f"{origin}: {len(rows):,} complete rows that are not those of {public.name} (their SHA-256 differs); "
            "nothing was written: fetch it again, or from the archive itself"
        )
    try:
        for name, content in public.files(rows).items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as problem:
        raise InputError(f"{folder}: cannot write the data here ({problem.strerror}); choose another folder") from None
    return folder


def _read(public: Public, origin: str) -> bytes:
    if origin.startswith(("https://", "http://")):
        raw = _download(public, origin)
    else:
        try:
            with Path(origin).open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
        except OSError as problem:
            raise InputError(f"{origin}: cannot be read ({problem.strerror})") from None
    if len(raw) > _MOST_BYTES:
        raise InputError(f"{origin}: larger than {_MOST_BYTES:,} bytes, so it is not {public.name}")
    return raw


def _download(public: Public, address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=_PATIENCE) as answer:  # noqa: S310 (http and https alone get here)
            return bytes(answer.read(_MOST_BYTES + 1))
    except urllib.error.HTTPError as problem:
        problem.close()
        raise InputError(
            f"{address}: the server answered {problem.code}; try later, or give a copy of the file with --from FILE"
        ) from None
    except (OSError, http.client.HTTPException) as problem:
        reason = getattr(problem, "reason", None) or problem
        raise InputError(
            f"{address}: cannot be reached ({reason}); fetch it where there is a network "
            f"and run covey data fetch {public.name} --from FILE"
        ) from None
