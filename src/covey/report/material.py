"""What a report is made from: the files of a run's folder, and the records behind them where they are at hand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from covey.errors import InputError
from covey.report.signatures import Signatures, look
from covey.sources import Data
from covey.study import Study
from covey.table import Table

_SUMMARY, _LEDGER, _STUDY = "summary.json", "ledger.json", "study.toml"
_RELEASES = ("release.csv", "release.parquet")
T = TypeVar("T")


class Sent(msgspec.Struct, frozen=True):
    """What one party sent."""

    messages: int
    bytes: int


class Phase(msgspec.Struct, frozen=True):
    """What one phase of the protocol took, as one party saw it."""

    name: str
    seconds: float
    rounds: int
    bytes: int


class Summary(msgspec.Struct, frozen=True):
    """summary.json, as far as a page shows it; a party without the release has no figures of it."""

    study: str = ""
    protocol: str | None = None
    algorithm: str | None = None
    partition: str | None = None
    parties: list[str] = []
    party: str | None = None
    k: int | None = None
    l: float | None = None  # noqa: E741 - the field's name for it
    rows: int | None = None
    withheld: int = 0
    dropped: int = 0
    k_reached: int | None = None
    l_reached: float | None = None
    classes: int | None = None
    suppressed_cells: int | None = None
    loss: dict[str, float | None] = {}
    seconds: float | None = None
    rounds: int | None = None
    messages: int | None = None
    bytes: int | None = None
    per_party: dict[str, Sent] = {}
    phases: list[Phase] = []
    ledger: list[str] = []
    study_hash: str = ""
    release_sha256: str | None = None
    reproducible: bool = False
    warnings: list[str] = []


class Learned(msgspec.Struct, frozen=True):
    """Who could learn what in one session, and how it ended."""

    outcome: str = ""
    learned: list[str] = []
    others: dict[str, list[str]] = {}


class Ledger(Learned, frozen=True):
    """ledger.json."""

    study: str = ""
    study_hash: str = ""
    protocol: str | None = None
    party: str | None = None
    earlier: list[Learned] = []


@dataclass(frozen=True)
class Material:
    """All that one page says something about; what is None is not at hand."""

    summary: Summary | None
    ledger: Ledger | None = None
    study: Study | None = None
    release: Data | None = None
    altered: bool = False
    """Whether the release is another than the one that the summary names."""
    records: Table | None = None
    """The records of whoever the page is for: only these, never another's."""
    signatures: Signatures | None = None


def gather(folder: Path, *, study: Study | None = None, release: Data | None = None) -> Material:
    """A folder's material. Raises InputError if it holds no run, or if a file is damaged.

    `study` and `release` stand for the folder's own, where these are not written yet.
    """
    summary = _read(folder / _SUMMARY, Summary)
    ledger = _read(folder / _LEDGER, Ledger)
    if summary is None and ledger is None:
        raise InputError(f"{folder}: has neither {_SUMMARY} nor {_LEDGER}; name the folder of a run or of a release")
    if study is None and (folder / _STUDY).is_file():
        study = Study.load(folder / _STUDY)
    altered = False
    if release is None and summary is not None and summary.release_sha256 is not None:
        release = next((folder / name for name in _RELEASES if (folder / name).is_file()), None)
        altered = isinstance(release, Path) and _digest(release) != summary.release_sha256
    signed = None if study is None or summary is None else look(folder, study, summary.release_sha256)
    return Material(summary, ledger, study, release, altered, signatures=signed)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name the folder of a run") from None
    try:
        return msgspec.json.decode(content, type=kind, strict=False)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise InputError(f"{path}: is damaged; a report is made from the files as the run left them") from None


def _digest(release: Path) -> str:
    """SHA-256 of the release's canonical bytes."""
    from covey.party.record.vouch import release_digest

    return (
        release_digest(str(release)) if release.suffix != ".csv" else hashlib.sha256(release.read_bytes()).hexdigest()
    )
