"""summary.json: the figures of a run or of a release, in one type for those who write, show and check them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from covey.files import as_json, read_json
from covey.plain import Shown

FILE = "summary.json"
Content: TypeAlias = bytes  # inside of the type below, `bytes` is a figure
_OF_A_RELEASE = (
    "rows", "withheld", "dropped", "k_reached", "l_reached", "classes", "suppressed_cells", "loss", "release_sha256",
)  # fmt: skip
_OF_ONE_OWNER = ("algorithm", "seed", "dropped")
_OF_A_RUN = ("party", "phases")


class SentTraffic(msgspec.Struct, frozen=True):
    """The traffic that one party sent."""

    messages: int
    bytes: int


class Phase(msgspec.Struct, frozen=True):
    """The cost of one phase of the protocol, as one party saw it: bytes are those that it sent and received."""

    name: str
    seconds: float
    rounds: int
    bytes: int


class Summary(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run or of one owner's release; a party without the release has no figures of it."""

    study: str = ""
    protocol: str | None = None
    algorithm: str | None = None
    """The anonymizer of one owner's release; None after the run of a protocol."""
    seed: int | None = None
    partition: str | None = None
    parties: list[str] = []
    party: str | None = None
    """The party whose summary it is; None in the joint summary of a simulation."""
    k: int | None = None
    l: float | None = None  # noqa: E741 - the field's name for it
    seconds: float | None = None
    rounds: int | None = None
    messages: int | None = None
    bytes: int | None = None
    phases: list[Phase] = []
    per_party: dict[str, SentTraffic] = {}
    ledger: list[str] = []
    study_hash: str = ""
    reproducible: bool = False
    warnings: list[str] = []
    row_counts: dict[str, int] = {}
    """The number of rows that each party stated and signed; empty where the study keeps them private."""
    rows: int | None = None
    withheld: int = 0
    dropped: int = 0
    k_reached: int | None = None
    l_reached: float | None = None
    insider_k: int | None = None
    """The fewest records of others that any party sees in a class where it sees some; None where nobody computed it."""
    classes: int | None = None
    suppressed_cells: int | None = None
    loss: dict[str, float | None] = {}
    query_error: dict[str, float] | None = None
    """By number of columns: the error of random COUNT queries over all rows, where the study asks for it."""
    release_sha256: str | None = None

    def shown(self) -> Iterator[tuple[str, str]]:
        """The figures that a short view has, each with its name."""
        yield "study", repr(self.study)
        yield "by", self.algorithm or self.protocol or ""
        if self.rows is None:
            yield "release", "went to others"
            return
        yield "rows", f"{self.rows:,}"
        yield "classes", f"{self.classes or 0:,}"
        yield "withheld", f"{self.withheld:,}"
        yield "k", f"{self.k_reached or 0:,} (asked: {self.k})"
        if self.insider_k is not None:
            yield "insider k", f"{self.insider_k:,}"
        if self.l_reached is not None:
            yield "l", f"{self.l_reached:.3g}"
        if (lm := self.loss.get("lm")) is not None:
            yield "loss", f"{lm:.4f}"

    _shown = shown

    def describe(self) -> dict[str, object]:
        """The content of the file: the keys that apply to this run or release."""
        absent = set(_OF_ONE_OWNER if self.algorithm is None else _OF_A_RUN)
        if not self.row_counts:
            absent.add("row_counts")
        if self.release_sha256 is None:
            absent |= set(_OF_A_RELEASE)
        if self.query_error is None:
            absent.add("query_error")
        content: dict[str, object] = msgspec.to_builtins(self)
        return {key: value for key, value in content.items() if key not in absent}

    def spell(self) -> Content:
        """The bytes of the file."""
        return as_json(self.describe())

    @staticmethod
    def read(path: Path) -> Summary | None:
        """The summary in a file; None if there is no such file. Raises InputError for a damaged one."""
        return read_json(path, Summary)
