"""The record of a run in memory: the session that was agreed on, its messages, its closing, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.party.record.run_certificate import RunCertificate
from covey.party.record.transcript import Head, Pair, Transcript
from covey.protocols import Figures
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

    @property
    def session(self) -> bytes:
        """The session's id, as messages carry it."""
        return self.digest[:16]

    @cached_property
    def rng(self) -> Rng:
        """This party's randomness, from its seed and everyone's nonces."""
        return Rng(derive(self.seed, "session", self.digest))


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
