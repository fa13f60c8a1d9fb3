"""Checks of a run's certificate: its signatures, its study, and the release that it vouches for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey.errors import CoveyError
from covey.party.identity.certificate import Certificate
from covey.party.identity.roster import certificates_in
from covey.party.record.names import CERTIFICATE
from covey.party.record.run_certificate import RunCertificate, check
from covey.protocols import find
from covey.report import Signatures
from covey.sources.release import release_digest
from covey.study import Study


@dataclass(frozen=True)
class Checked:
    """A run's certificate, what is wrong with it, and the parties' certificates that it was checked with."""

    certificate: RunCertificate
    wrong: tuple[str, ...]
    parties: Mapping[str, Certificate]

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of the parties' certificates."""
        return {name: own.fingerprint for name, own in sorted(self.parties.items())}


def check_file(path: Path, study: Study) -> Checked:
    """Checks the certificate in a file against its study. Raises InputError if it cannot be read, Unmet if altered.

    The parties' certificates are those that the study names, or else those beside the file.
    """
    certificate = RunCertificate.read(path)
    parties = certificates_in(study, path.parent)
    receives = find(study.protocol or "", study.partition, study.options).receives
    wrong = check(certificate, study, parties, {each.name: receives(study, each.name) for each in study.parties})
    return Checked(certificate, tuple(wrong), parties)


def vouch(path: Path, release: str, study: Study) -> Checked:
    """Checks a certificate against its study and a release. Raises InputError, or Unmet for an altered file."""
    checked = check_file(path, study)
    wrong = list(checked.wrong)
    if checked.certificate.b is None:
        wrong.append("it has no statement on a release: it is of a party that got none")
    elif checked.certificate.b.get("release_sha256") != release_digest(Path(release)):
        wrong.append("the release is not the one that the parties signed")
    return Checked(checked.certificate, tuple(wrong), checked.parties)


def signatures_in(folder: Path, study: Study, release_sha256: str | None) -> Signatures | None:
    """The signatures on the run in a folder, for its report; None where there is no certificate."""
    path = folder / CERTIFICATE
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        checked = check_file(path, study)
    except CoveyError as error:  # a page may go elsewhere: it does not say where on this machine it was made
        return Signatures((), (), {}, (str(error).replace(f"{folder}/", ""),))
    certificate, wrong = checked.certificate, checked.wrong
    if certificate.b is not None and certificate.b.get("release_sha256") != release_sha256:
        wrong = (*wrong, "the certificate vouches for another release")
    lacking = [party.name for party in study.parties if party.name not in checked.parties]
    return Signatures(
        run=tuple(sorted(certificate.a_signatures)),
        release=tuple(sorted(certificate.b_signatures)),
        fingerprints=checked.fingerprints,
        wrong=() if lacking else wrong,
        unchecked=f"the certificates of {', '.join(lacking)} are not in the folder" if lacking else "",
    )
