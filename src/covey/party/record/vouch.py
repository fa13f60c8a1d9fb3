"""Does a certificate vouch for a release? Its signatures, its study, and the release's own bytes are looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from covey.errors import InputError
from covey.party.audit.evidence import certificates_of
from covey.party.record.run_certificate import Certified, check
from covey.protocols import of_study
from covey.sources.release import canonical_csv
from covey.study import Study


@dataclass(frozen=True)
class Vouched:
    """What is wrong with a certificate, and whose signatures were checked."""

    wrong: tuple[str, ...]
    signers: Mapping[str, str]
    certified: Certified


def vouch(path: Path, release: str, study: Study) -> Vouched:
    """Holds a certificate against a release. Raises InputError if one cannot be read, Unmet if it was altered.

    The parties' certificates are those that the study names, or else those beside the certificate.
    """
    certified = Certified.read(path)
    certificates = certificates_of(study, path.parent)
    receives = of_study(study).receives
    wrong = check(certified, study, certificates, {party.name: receives(study, party.name) for party in study.parties})
    if certified.b is None:
        wrong.append("it has no statement on a release: it is of a party that got none")
    elif certified.b.get("release_sha256") != release_digest(release):
        wrong.append("the release is not the one that the parties signed")
    signers = {name: own.fingerprint for name, own in sorted(certificates.items())}
    return Vouched(tuple(wrong), signers, certified)


def release_digest(release: str) -> str:
    """SHA-256 of a release's canonical CSV: of the file as it is, or of what a Parquet file holds."""
    path = Path(release)
    if not path.is_file():
        raise InputError(f"{release}: a certificate vouches for a file; name the released CSV or Parquet file")
    if path.suffix.lower() not in (".parquet", ".pq"):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        table = pa.parquet.read_table(path)
    except (pa.ArrowException, OSError):
        raise InputError(f"{release}: cannot be read as Parquet; is the file whole?") from None
    encoded = pa.table({name: table.column(name).combine_chunks().dictionary_encode() for name in table.column_names})
    return hashlib.sha256(canonical_csv(encoded)).hexdigest()
