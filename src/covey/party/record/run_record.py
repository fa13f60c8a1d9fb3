"""The record of a run in memory: the session that was agreed on, its messages, its closing, and its result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from covey.crypto.rng import Rng, derive, spell
from covey.crypto.secret import Secret
from covey.party.record.run_certificate import RunCertificate
from covey.party.record.transcript import Head, Mark, Pair, Transcript
from covey.protocols import Computed, Figures
from covey.secure.declare import Traffic
from covey.summary import Phase


@dataclass(frozen=True)
class Agreement:
    """The result of the handshake: a session that all parties are in, and this party's randomness in it."""

    digest: bytes
    seed: Secret
    commitments: dict[str, bytes]
    nonces: dict[str, bytes]
    confirmed: dict[str, bytes]
    """Each party's signature on the session."""
    warnings: tuple[str, ...] = ()
    resumed: bool = False
    known: Mapping[str, frozenset[bytes]] = field(default_factory=dict)
    """In a resumed session, the hashes of our messages that each peer has."""
    attempt: int = 1
    """Of a run that keeps states: the number of this attempt to end it,"""
    nonce: bytes = b""
    """and the hash of what all drew for it."""

    @property
    def session(self) -> bytes:
        """The session's id, as messages carry it."""
        return self.digest[:16]

    @property
    def attempt_id(self) -> bytes:
        """The id that messages of a later attempt carry instead."""
        return hashlib.sha256(spell(self.digest, self.attempt, self.nonce)).digest()[:16] if self.nonce else b""

    @cached_property
    def rng(self) -> Rng:
        """This party's randomness, from its seed and everyone's nonces."""
        return Rng(derive(self.seed, "session", self.digest, *((self.attempt, self.nonce) if self.nonce else ())))


@dataclass(frozen=True)
class Closed:
    """The closing of a session: what the parties agreed on at the end, and signed."""

    traffic: dict[str, Traffic]
    """What each party sent in the session, without the handshake and the closing."""
    heads: dict[Pair, Head]
    """The heads of the directed pairs that this party is in."""
    signatures: dict[Pair, bytes]
    """Each sender's signature on its head."""
    certificate: RunCertificate


@dataclass
class RunRecord:
    """The record of a run so far; it is written down however the run ends."""

    agreement: Agreement | None = None
    transcript: Transcript = field(default_factory=Transcript)
    marks: list[Mark] = field(default_factory=list)
    """The states that were kept."""
    closed: Closed | None = None
    stated: dict[str, int] = field(default_factory=dict)
    """The number of rows that each party stated, where the study has them do so."""


@dataclass(frozen=True)
class Finished:
    """The result of a run that reached its end."""

    release: pa.Table | None
    release_sha256: str | None
    figures: Figures | None
    traffic: dict[str, Traffic]
    seconds: float
    session: bytes
    warnings: tuple[str, ...]
    record: RunRecord
    phases: tuple[Phase, ...]
    classes: bytes | None = None
    """The file of classes, where the run tells more of them than the release does."""
    computed: Computed | None = None
