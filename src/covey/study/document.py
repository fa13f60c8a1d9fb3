"""A study as a document of tables: read, changed, and written as TOML without its comments.

Simulations give their copy of a study a roster; Python gives a study as a dict.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import TypeAlias

from covey import bounds
from covey.errors import InputError
from covey.files import read_bytes, write_atomically
from covey.plain import toml_key
from covey.study.editing import spelled
from covey.study.study import Study

Value: TypeAlias = "str | int | float | bool | date | time | list[Value] | Document"
Document: TypeAlias = "dict[str, Value]"


def read(path: Path) -> Document:
    """The tables of a study file."""
    try:
        return tomllib.loads(read_bytes(path, "name a study file", bound=bounds.study).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a study file ({type(error).__name__})") from None


def of(study: Study) -> Document:
    """The tables of a study. Raises InputError for a study that was not read from a text."""
    if study.text is None:
        raise InputError("the study has no text; read it with Study.load, Study.parse or Study.of")
    return tomllib.loads(study.text)


def table(document: Document, *names: str) -> Document:
    """The table at that path, made where it is missing."""
    for name in names:
        value = document.setdefault(name, {})
        if not isinstance(value, dict):
            raise InputError(f"{'.'.join(names)} is no table in the study")
        document = value
    return document


def give_roster(
    document: Document, addresses: Mapping[str, str], certificates: Mapping[str, str], relay: str | None = None
) -> None:
    """Every party gets that address and that certificate file, in place of what it had. So does the authority.

    `relay` is the URL at which parties without an address meet.
    """
    for name, certificate in certificates.items():
        is_party = name in table(document, "parties") or name != "authority"
        party = table(document, "parties", name) if is_party else table(document, "authority")
        party.pop("address", None)
        party["certificate"] = certificate
        if name in addresses:
            party["address"] = addresses[name]
    document.pop("relay", None)
    if relay is not None:
        document["relay"] = {"url": relay}


def save(document: Document, files: Mapping[str, bytes], folder: Path) -> Study:
    """Writes the document as a study with its files, and reads it back."""
    for name, content in files.items():
        write_atomically(folder / name, content)
    path = folder / "study.toml"
    write_atomically(path, spell(document).encode())
    return Study.load(path)


def spell(document: Document, path: tuple[str, ...] = ()) -> str:
    """The document as TOML: plain values of a table first, then the tables below it."""
    lines = [f"[{'.'.join(map(toml_key, path))}]"] if path else []
    lines += [f"{toml_key(name)} = {spelled(value)}" for name, value in document.items() if not isinstance(value, dict)]
    text = "\n".join(lines) + "\n" if lines else ""
    tables = [spell(value, (*path, name)) for name, value in document.items() if isinstance(value, dict)]
    return "\n".join(part for part in (text, *tables) if part)
