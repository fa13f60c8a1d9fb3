"""summary.json: the figures of a run or of a release, in one type for those who write, show and check them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from covey.files import as_json, read_json
from covey.plain import Shown, plural

FILE = "summary.json"
Content: TypeAlias = bytes  # inside of the type below, `bytes` is a figure
_OF_A_RELEASE = (
    "rows", "withheld", "dropped", "k_reached", "l_reached", "classes", "suppressed_cells", "singled_out", "kept",
    "refused", "loss", "release_sha256",
)  # fmt: skip
_OF_ONE_OWNER = ("algorithm", "seed", "dropped")
_OF_A_RUN = ("party", "phases")


class SentTraffic(msgspec.Struct, frozen=True):
    """The traffic that one party sent."""

    messages: int
    bytes: int


class Phase(msgspec.Struct, frozen=True):
    """The cost of one phase of the protocol to one party: bytes sent and received."""

    name: str
    seconds: float
    rounds: int
    bytes: int


class SingledPair(msgspec.Struct, frozen=True):
    """Two columns, and the rows whose pair of cells there no other row has."""

    columns: list[str]
    rows: int


class SingledOut(msgspec.Struct, frozen=True):
    """The rows that one published cell singles out, or two."""

    one: int
    two: int
    columns: dict[str, int] = {}
    """By column: the rows that one cell singles out."""
    pairs: list[SingledPair] = []
    """At most ten, those with the most rows first."""
    only_exact: bool = False
    """True if only pairs with an exact column were counted, of very many rows or columns."""

    def sentence(self) -> str:
        """The count in words."""
        pairs = "two cells with an exact one" if self.only_exact else "two cells"
        worst = f" (most by {' and '.join(self.pairs[0].columns)})" if self.pairs else ""
        return f"one published cell singles out {plural(self.one, 'row')}, {pairs} {plural(self.two, 'row')}{worst}"


class Summary(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run or of one owner's release. A party without the release has no figures of it."""

    study: str = ""
    protocol: str | None = None
    algorithm: str | None = None
    """The anonymizer of one owner's release; None after the run of a protocol."""
    seed: int | None = None
    partition: str | None = None
    parties: list[str] = []
    party: str | None = None
    """The party whose summary it is; None in the joint summary of a simulation."""
    computing: list[str] = []
    """The parties that computed on shares, where some did."""
    cheating: str | None = None
    soundness_bits: int | None = None
    """A deviation of one of them went unnoticed with a chance of at most 2^-bits."""
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
    singled_out: SingledOut | None = None
    kept: float | None = None
    """Over all columns but identifiers, keys and constants: the mean of 1 - LM, of 1 if exact, of 0 if left out."""
    refused: str | None = None
    """The reason why the release may not be published; None where it may."""
    loss: dict[str, float | None] = {}
    query_error: dict[str, float] | None = None
    """By number of columns: the error of random COUNT queries over all rows, where the study asks for it."""
    release_sha256: str | None = None

    def shown(self) -> Iterator[tuple[str, str]]:
        """The figures that a short view has, each with its name."""
        if self.refused is not None:
            yield "answer", f"no: {self.refused}"
        yield "study", repr(self.study)
        yield "by", self.algorithm or self.protocol or ""
        if self.rows is None:
            yield "release", "went to others"
            return
        if self.singled_out is not None:
            yield "singled out by one cell", f"{self.singled_out.one:,}"
            yield "by two", f"{self.singled_out.two:,}"
        yield "rows", f"{self.rows:,}"
        yield "classes", f"{self.classes or 0:,}"
        yield "withheld", f"{self.withheld:,}"
        yield "k", f"{self.k_reached or 0:,} (asked: {self.k})"
        if self.insider_k is not None:
            yield "insider k", f"{self.insider_k:,}"
        if self.l_reached is not None:
            yield "l", f"{self.l_reached:.3g}"
        if self.refused is not None:
            return
        if self.kept is not None:
            yield "kept", f"{self.kept:.3f}"
        if (lm := self.loss.get("lm")) is not None:
            yield "loss (lm)", f"{lm:.4f}"

    _shown = shown

    def counted(self) -> list[str]:
        """The first lines of a screen: rows singled out, what is kept, and the loss.

        Nothing is said of what is kept or lost where the release may not be published.
        """
        lines = []
        if (counts := self.singled_out) is not None:
            sentence = counts.sentence()
            lines.append(f"{sentence[0].upper()}{sentence[1:]}.")
        if self.refused is None and self.kept is not None:
            lines.append(f"Kept: {self.kept:.3f} of the columns that could be published (1 is all).")
        if self.refused is None and (losses := {name: value for name, value in self.loss.items() if value is not None}):
            spelled = (
                f"{name} {value:,.0f}" if name == "dm" else f"{name} {value:.4f}" for name, value in losses.items()
            )
            lines.append(f"Loss over the quasi columns: {', '.join(spelled)}.")
        return lines

    def describe(self) -> dict[str, object]:
        """The content of the file: the keys that apply to this run or release."""
        absent = set(_OF_ONE_OWNER if self.algorithm is None else _OF_A_RUN)
        if not self.row_counts:
            absent.add("row_counts")
        if self.release_sha256 is None:
            absent |= set(_OF_A_RELEASE)
        if not self.computing:
            absent |= {"computing", "cheating"}
        if self.soundness_bits is None:
            absent.add("soundness_bits")
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
