"""The certificate of a run: what was done, signed by all, and what came out, signed by all who have it.

    A   the study, the protocol, its version and Covey's, the session, the heads of all transcripts, and the number of
        rows that each party stated, where it did; signed by every party
    B   A's hash, the release's hash, and its k, l and loss; signed by every party that gets the release

A signature is given only after the parties have found that they agree, and the file is written only when it has all of
them. It says that these parties ran this and got this. It does not say that their data were true.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from covey.errors import Unmet
from covey.files import read_bytes
from covey.party.identity.certificate import Certificate
from covey.protocols import Figures, spoken
from covey.study import Study
from covey.version import __version__

FORMAT = "covey certificate/1"
_DIGITS = 9

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Statement = dict[str, Json]
Heads = Mapping[tuple[str, str], bytes]
Signatures = dict[str, bytes]


@dataclass(frozen=True)
class RunCertificate:
    """Both statements with their signatures; a party without the release has A alone."""

    a: Statement
    a_signatures: Signatures
    b: Statement | None = None
    b_signatures: Signatures = field(default_factory=dict)

    def spell(self) -> bytes:
        """The file's content: there is one way to write it, so that any other is an alteration."""
        content: dict[str, object] = {
            "format": FORMAT,
            "A": self.a,
            "A signed by": {name: sign.hex() for name, sign in sorted(self.a_signatures.items())},
        }
        if self.b is not None:
            content["B"] = self.b
            content["B signed by"] = {name: sign.hex() for name, sign in sorted(self.b_signatures.items())}
        return (json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()

    @staticmethod
    def read(path: Path) -> RunCertificate:
        """The certificate in a file. Raises InputError if there is none, Unmet if it is not as it was written."""
        return RunCertificate.parse(read_bytes(path, "name a run's certificate.json"), path)

    @staticmethod
    def parse(content: bytes, path: Path) -> RunCertificate:
        """The certificate in these bytes of a file. Raises Unmet if they are not as they were written."""
        try:
            loaded = json.loads(content)
            found = RunCertificate(
                loaded["A"],
                {name: bytes.fromhex(sign) for name, sign in loaded["A signed by"].items()},
                loaded.get("B"),
                {name: bytes.fromhex(sign) for name, sign in loaded.get("B signed by", {}).items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Unmet(f"{path}: was altered: it is no certificate of ours any more") from None
        if found.spell() != content:
            raise Unmet(f"{path}: was altered: it is not spelled as it was written")
        return found


def statement_a(study: Study, session: bytes, heads: Heads, stated: Mapping[str, int] | None = None) -> Statement:
    """The statement that every party signs; `stated` are the numbers of rows that parties stated, if any did."""
    spelled: dict[str, dict[str, Json]] = {}
    for (sender, recipient), head in sorted(heads.items()):
        spelled.setdefault(sender, {})[recipient] = head.hex()
    statement: Statement = {
        "statement": "covey A/1",
        "study": study.name,
        "study_hash": study.study_hash,
        "roster_hash": study.roster_hash,
        "protocol": study.protocol,
        "version": __version__,
        "protocol_version": spoken(study).number,
        "session": session.hex(),
        "parties": [party.name for party in study.parties],
        "heads": {sender: dict(others) for sender, others in spelled.items()},
    }
    if stated:
        statement["rows"] = dict(stated)
    return statement


def statement_b(study: Study, a: Statement, release: bytes, figures: Figures) -> Statement:
    """The statement that every holder of the release signs."""
    loss: dict[str, Json] = {
        name: None if value is None else round(value, _DIGITS) for name, value in sorted(figures.loss.items())
    }
    return {
        "statement": "covey B/1",
        "A_sha256": hashlib.sha256(to_sign(a)).hexdigest(),
        "release_sha256": release.hex(),
        "rows": figures.rows,
        "k": study.privacy.k,
        "k_reached": figures.k_reached,
        "l": study.privacy.l,
        "l_reached": None if figures.l_reached is None else round(figures.l_reached, _DIGITS),
        "insider_k": figures.insider_k,
        **_counted(figures),
        "loss": loss,
    }


def _counted(figures: Figures) -> dict[str, Json]:
    """The rows that one cell and two cells single out, and what is kept; nothing of a table of counts."""
    found, share = figures.singled_out, figures.kept
    if found is None:
        return {}
    return {
        "singled_out": {"one": found.one, "two": found.two, "columns": dict(found.columns)},
        "kept": None if share is None else round(share, _DIGITS),
    }


def to_sign(statement: Statement) -> bytes:
    """A statement's bytes."""
    return json.dumps(statement, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def check(
    certified: RunCertificate, study: Study, certificates: Mapping[str, Certificate], receives: Mapping[str, bool]
) -> list[str]:
    """The faults of a certificate, in sentences; none if it holds.

    `certificates` are the parties' own; `receives` says who gets the release.
    """
    a, names = certified.a, study.signers
    wrong = []
    if a.get("study_hash") != study.as_recorded(str(a.get("study_hash"))).study_hash:
        wrong.append("the certificate is of another study")
    if a.get("roster_hash") != study.roster_hash and all(party.certificate for party in study.parties):
        wrong.append("the certificate is of a run among other certificates or addresses")
    if a.get("protocol") != study.protocol or a.get("statement") != "covey A/1":
        wrong.append("statement A names another protocol than the study")
    wrong += _unsigned("A", a, certified.a_signatures, names, certificates)
    if certified.b is not None:
        holders = {name for name in names if receives.get(name, False)}
        if certified.b.get("A_sha256") != hashlib.sha256(to_sign(a)).hexdigest():
            wrong.append("statement B belongs to another statement A")
        if certified.b.get("k") != study.privacy.k or certified.b.get("statement") != "covey B/1":
            wrong.append("statement B names another k than the study")
        wrong += _unsigned("B", certified.b, certified.b_signatures, holders, certificates)
    return wrong


def _unsigned(
    name: str, statement: Statement, signatures: Signatures, due: Set[str], certificates: Mapping[str, Certificate]
) -> list[str]:
    wrong = [f"statement {name} is not signed by party {party!r}" for party in sorted(due - set(signatures))]
    wrong += [
        f"statement {name} is signed by {party!r}, whose it is not to sign" for party in sorted(set(signatures) - due)
    ]
    for party in sorted(due & set(signatures)):
        if party not in certificates:
            wrong.append(f"the certificate of party {party!r} is not at hand to check its signature")
        elif not certificates[party].verifies(signatures[party], to_sign(statement)):
            wrong.append(f"party {party!r} has not signed this statement {name}")
    return wrong
