"""Arguments and options that several commands share, with the readers and completers of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey import sizes
from covey.errors import InputError

if TYPE_CHECKING:
    from covey.wire.contact import Address

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="The study file.")]
_DATA = "CSV, Parquet (or a folder of it), Excel, SPSS, Stata or SAS (FILE?sheet=…), or postgres://…, spark://…?table=…"
Data = Annotated[str, typer.Option("--data", metavar="DATA", help=_DATA)]
OptionalData = Annotated[str | None, typer.Option("--data", metavar="DATA", help=_DATA)]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="The encoding of a CSV file that is not UTF-8: cp1252.")
]
PartyTables = Annotated[
    list[str] | None, typer.Option("--data", metavar="PARTY=DATA", help="The data of a party; once for each party.")
]
WholeTable = Annotated[
    str | None, typer.Option("--table", metavar="DATA", help="One table, which is dealt to the study's parties.")
]
RunFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the files that the run leaves.")]
Keys = Annotated[Path, typer.Option("--keys", metavar="DIR", help="The folder with this party's keys.")]
Listen = Annotated[
    str | None, typer.Option("--listen", metavar="HOST:PORT", help="Listen here instead of at the study's address.")
]
Wait = Annotated[float, typer.Option("--wait", metavar="MINUTES", help="The longest time to wait for other parties.")]
JournalSize = Annotated[
    str,
    typer.Option(
        "--journal",
        metavar="SIZE",
        help="The most that the journal keeps of what is read, or all. A replay needs all of it.",
    ),
]


class Format(StrEnum):
    """The format in which a release is written."""

    CSV = "csv"
    PARQUET = "parquet"


Written = Annotated[Format, typer.Option("--format", help="Write release.csv or release.parquet.")]
Parts = Annotated[
    int,
    typer.Option(
        "--parts",
        metavar="N",
        min=1,
        max=10_000,
        help="With Parquet: write a folder of N files, which other tools read side by side.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]

KEYS = Path("keys")
_LONGEST_WAIT_DAYS = 30


def encoded(data: str, encoding: str | None) -> str:
    """DATA with the encoding that `--encoding` names."""
    return data if encoding is None or "://" in data else f"{data}?encoding={encoding}"


def by_party(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Reads PARTY=DATA texts. Raises InputError that names the one that is wrong."""
    tables: dict[str, str] = {}
    for text in texts:
        party, _, data = text.partition("=")
        if not party or not data:
            raise InputError(f"{option} {text}: write it as PARTY=DATA")
        if party in tables:
            raise InputError(f"{option} {party}=… is given twice; a party has one table")
        tables[party] = data
    return tables


def require_one_kind(data: Sequence[str] | None, table: str | None) -> None:
    """Raises InputError unless either the parties' tables or one whole table are given."""
    if (table is None) == (not data):
        raise InputError("give either --data PARTY=DATA for each party, or --table DATA to deal one table to them")


def wait_seconds(minutes: float) -> float:
    """Converts --wait. Raises InputError if it is not a sensible time."""
    if not 0 < minutes <= 60 * 24 * _LONGEST_WAIT_DAYS:
        raise InputError(f"--wait must be a number of minutes above 0, and at most {_LONGEST_WAIT_DAYS} days")
    return 60 * minutes


def journal_limit(text: str) -> int:
    """Reads --journal. Raises InputError if it is no size."""
    from covey.party.session.journal import EVERYTHING

    limit = EVERYTHING if text == "all" else sizes.read(text)
    if limit is None:
        raise InputError(f"--journal {text}: write a size such as 512MB, 0, or all")
    return limit


def listen_address(text: str | None) -> Address | None:
    """Reads --listen."""
    from covey.wire.contact import Address

    return None if text is None else Address.parse(text)


def complete_protocols(typed: str) -> list[str]:
    """Protocols whose names begin with the typed text."""
    from covey.protocols import names

    return [name for name in names() if name.startswith(typed)]


def complete_algorithms(typed: str) -> list[str]:
    """Centralized algorithms whose names begin with the typed text."""
    from covey.anonymizers import ALGORITHMS

    return [name for name in ALGORITHMS if name.startswith(typed)]


def complete_experiments(typed: str) -> list[str]:
    """Experiments of `covey bench` whose names begin with the typed text."""
    from covey.bench.papers import ALL, MODULES

    return [name for name in (*MODULES, ALL) if name.startswith(typed)]


def complete_samples(typed: str) -> list[str]:
    """Samples whose names begin with the typed text."""
    from covey.samples import names

    return [name for name in names() if name.startswith(typed)]
