"""Material of a report: all that one page says something about, gathered by whoever asks for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from covey.evaluation import Evaluation
from covey.secure.declare import Fact, facts
from covey.sources import Data
from covey.study import Study
from covey.summary import Summary
from covey.table import Table


class Learned(msgspec.Struct, frozen=True):
    """The sentences of a ledger: what each party could learn, and how the session ended."""

    outcome: str = ""
    learned: list[str] = []
    others: dict[str, list[str]] = {}
    facts: list[Fact] = []
    """Every fact once; a ledger of an earlier version has none."""

    def told(self, party: str | None) -> list[Fact]:
        """Every fact once, with the parties that learned it; `party` is the ledger's own."""
        return self.facts or facts(({party: self.learned} if party and self.learned else {}) | self.others, {})


class LedgerFile(Learned, frozen=True):
    """ledger.json."""

    study: str = ""
    study_hash: str = ""
    protocol: str | None = None
    party: str | None = None
    earlier: list[Learned] = []


@dataclass(frozen=True)
class Signatures:
    """The signatures on a run, and what is wrong with them."""

    run: tuple[str, ...]
    """The parties that signed what was done."""
    release: tuple[str, ...]
    """The parties that signed the release."""
    fingerprints: Mapping[str, str]
    """The fingerprints of the certificates that the signatures were checked with."""
    wrong: tuple[str, ...]
    unchecked: str = ""
    """The reason why they could not be checked, if they could not."""


@dataclass(frozen=True)
class Material:
    """The subject of one page; what is None is not at hand."""

    summary: Summary | None
    ledger: LedgerFile | None = None
    study: Study | None = None
    release: Data | None = None
    file: str = "release.csv"
    """The name of the release in its folder."""
    is_of_counts: bool = False
    """True if the release is a table of counts, which the judge of records cannot read."""
    altered: bool = False
    """True if the release is not the one that the summary names."""
    records: Table | None = None
    """The records of the person for whom the page is made, never another party's."""
    signatures: Signatures | None = None
    facts: Sequence[Fact] = ()
    """Every fact that the run taught, where there is no ledger of one party."""
    evaluation: Evaluation | None = None
    """What the release is good for and how exposed people are; it tells of the original."""
