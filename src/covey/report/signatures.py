"""Who signed a run, and whether the signatures hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey.errors import CoveyError
from covey.study import Study


@dataclass(frozen=True)
class Signatures:
    """What certificate.json says and whether it stands; `fingerprints` are of the certificates that it was held to."""

    run: tuple[str, ...]
    """Who signed what was done."""
    release: tuple[str, ...]
    """Who signed what came out."""
    fingerprints: Mapping[str, str]
    wrong: tuple[str, ...]
    unchecked: str = ""
    """Why they could not be checked, if they could not."""


def look(folder: Path, study: Study, release_sha256: str | None) -> Signatures | None:
    """The folder's certificate held against the study and the release's hash; None where there is none."""
    from covey.party.audit.evidence import certificates_of
    from covey.party.record.run_certificate import FILE, Certified, check
    from covey.protocols import of_study

    path = folder / FILE
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        certified = Certified.read(path)
        certificates = certificates_of(study, folder)
        receives = of_study(study).receives
        wrong = check(certified, study, certificates, {each.name: receives(study, each.name) for each in study.parties})
    except CoveyError as error:
        return Signatures((), (), {}, (_without_folder(str(error), folder),))
    if certified.b is not None and certified.b.get("release_sha256") != release_sha256:
        wrong.append("the certificate vouches for another release")
    lacking = [party.name for party in study.parties if party.name not in certificates]
    unchecked = f"the certificates of {', '.join(lacking)} are not in the folder" if lacking else ""
    return Signatures(
        run=tuple(sorted(certified.a_signatures)),
        release=tuple(sorted(certified.b_signatures)),
        fingerprints={name: own.fingerprint for name, own in sorted(certificates.items())},
        wrong=() if lacking else tuple(wrong),
        unchecked=unchecked,
    )


def _without_folder(sentence: str, folder: Path) -> str:
    """A page may go elsewhere: it does not say where on this machine it was made."""
    return sentence.replace(f"{folder}/", "")
