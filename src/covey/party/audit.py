"""The audit of finished runs: what the folders hold is what the parties signed, and follows from what was said.

For each folder: the transcript's chain and signatures, the session that it follows from, its messages against the
protocol's script, and the ledger, summary, certificate and release against it. Between folders: both ends of every pair
tell the same. It trusts the certificates that the study names, or that lie in the folder, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from covey.errors import CoveyError, InputError, Unmet
from covey.party import certify, transcript_file
from covey.party.certificate import Certificate
from covey.party.folder import CERTIFICATE, LEDGER, RELEASE, STUDY, SUMMARY, TRANSCRIPT
from covey.party.handshake import session_digest, statement
from covey.party.ledger import Ledger
from covey.party.script import strays
from covey.party.transcript import Pair, Transcript, chain
from covey.party.transcript_file import Read
from covey.protocols import Protocol, of_study
from covey.secure import approval
from covey.study import Study

_FINISHED = "finished"
_NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Audited:
    """One party's folder, and what is wrong with it."""

    folder: Path
    party: str
    finished: bool
    messages: int
    wrong: tuple[str, ...]
    signers: Mapping[str, str]
    """The certificates' fingerprints that the signatures were checked with."""


@dataclass(frozen=True)
class Case:
    """A folder with all that its audit needs."""

    folder: Path
    study: Study
    protocol: Protocol
    certificates: Mapping[str, Certificate]
    read: Read

    @property
    def party(self) -> str:
        """Whose folder it is."""
        return self.read.session.party

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        return self.read.files.outcome.startswith(_FINISHED)

    @property
    def session(self) -> bytes:
        """The session's id, as messages carry it."""
        return bytes.fromhex(self.read.session.session)[:16]


def folders_in(paths: Sequence[Path]) -> list[Path]:
    """The parties' folders: those named, and those in a simulation's folder. Raises InputError if there are none."""
    found = []
    for path in paths:
        below = sorted(child for child in path.iterdir() if (child / TRANSCRIPT).exists()) if path.is_dir() else []
        if (path / TRANSCRIPT).exists() or not below:
            found.append(path)
        else:
            found += below
    return found


def audit(paths: Sequence[Path]) -> list[Audited]:
    """Looks at every folder by itself and at all of them together. Raises InputError where one holds no run."""
    found: dict[Path, list[str]] = {}
    cases: list[Case] = []
    for folder in folders_in(paths):
        wrong = found.setdefault(folder, [])
        try:
            case = open_case(folder)
        except Unmet as error:
            wrong.append(str(error))
            continue
        cases.append(case)
        wrong += look_into(case)
    for case, sentence in _disagreements(cases):
        found[case.folder].append(sentence)
    by_folder = {case.folder: case for case in cases}
    return [_audited(folder, by_folder.get(folder), wrong) for folder, wrong in found.items()]


def open_case(folder: Path) -> Case:
    """A folder's study, certificates and transcript. Raises InputError if something is missing, Unmet if altered."""
    if not (folder / TRANSCRIPT).is_file():
        raise InputError(f"{folder}: holds no {TRANSCRIPT}; name the folder of a run")
    if not (folder / STUDY).is_file():
        raise InputError(f"{folder}: holds no {STUDY}; put the study and its files there")
    study = Study.load(folder / STUDY)
    return Case(
        folder, study, of_study(study), certificates_of(study, folder), transcript_file.read(folder / TRANSCRIPT)
    )


def certificates_of(study: Study, folder: Path) -> dict[str, Certificate]:
    """The certificates that a study names, or else those in the folder's `certs`."""
    found = {}
    for party in study.parties:
        content = study.files.get(party.certificate.as_posix()) if party.certificate is not None else None
        beside = folder / "certs" / f"{party.name}.pem"
        if content is None and beside.is_file():
            content = beside.read_bytes()
        if content is not None:
            found[party.name] = Certificate.parse(content, party.name)
    return found


def look_into(case: Case) -> list[str]:
    """What is wrong with one folder by itself."""
    wrong = _signed_by_its_party(case)
    if wrong:
        return wrong  # whatever else differs is a consequence
    wrong += _session(case)
    wrong += _chains(case)
    messages = [row.entry for row in case.read.said]
    wrong += strays(case.study, case.protocol, messages, finished=case.finished)
    altered = _files(case)
    wrong += altered
    if case.finished and not altered:
        wrong += _summary(case) + _ledger(case) + _certificate(case)
    return wrong


def _signed_by_its_party(case: Case) -> list[str]:
    read = case.read
    own = case.certificates.get(case.party)
    if own is None:
        return [f"{TRANSCRIPT}: the certificate of party {case.party!r} is not at hand to check its signature"]
    content = transcript_file.statement(read.signed)
    if read.signature.party != case.party or not own.verifies(_bytes(read.signature.signature), content):
        return [f"{TRANSCRIPT}: was altered: it is not the one that party {case.party!r} signed"]
    return []


def _session(case: Case) -> list[str]:
    said = case.read.session
    wrong = []
    if said.study_hash != case.study.study_hash:
        wrong.append(f"{TRANSCRIPT}: is of another study than the folder's {STUDY}")
    if all(party.certificate for party in case.study.parties) and said.roster_hash != case.study.roster_hash:
        wrong.append(f"{TRANSCRIPT}: is of a run with other addresses or certificates than the folder's {STUDY}")
    names = {party.name for party in case.study.parties}
    if not names == set(said.commitments) == set(said.nonces) == set(said.confirmed):
        return [*wrong, f"{TRANSCRIPT}: the session is not one of the study's parties"]
    commitments = {name: _bytes(value) for name, value in said.commitments.items()}
    nonces = {name: _bytes(value) for name, value in said.nonces.items()}
    digest = session_digest(said.study_hash, commitments, nonces)
    if digest.hex() != said.session:
        wrong.append(f"{TRANSCRIPT}: the session does not follow from the parties' commitments and nonces")
    for name, signature in said.confirmed.items():
        content = statement(digest, said.roster_hash, name)
        if name not in case.certificates or not case.certificates[name].verifies(_bytes(signature), content):
            wrong.append(f"{TRANSCRIPT}: party {name!r} did not sign this session")
    return wrong


def _chains(case: Case) -> list[str]:
    wrong = []
    transcript = case.read.transcript
    heads = {(head.sender, head.to): head for head in case.read.heads}
    if not set(transcript.lines) <= set(heads):
        wrong.append(f"{TRANSCRIPT}: a pair has messages and no head")
    for pair, head in heads.items():
        where = f"{TRANSCRIPT}: from {pair[0]!r} to {pair[1]!r}"
        rows = [row for row in case.read.said if (row.sender, row.to) == pair]
        due = [value.hex() for value in chain(case.session, pair, transcript.ordered(pair))]
        if [row.chain for row in rows] != due:
            wrong.append(f"{where}: the chain of messages is broken")
        true = transcript.head(case.session, pair)
        if (head.messages, head.bytes, head.head) != (true.messages, true.size, true.digest.hex()):
            wrong.append(f"{where}: the head is not that of the messages")
        if head.signature is None:
            if case.finished or pair[0] == case.party:
                wrong.append(f"{where}: the sender has not signed")
            continue
        content = true.statement(case.session, case.study.study_hash, pair)
        sender = case.certificates.get(pair[0])
        if sender is None or not sender.verifies(_bytes(head.signature), content):
            wrong.append(f"{where}: the sender has not signed these messages")
    return wrong


def _files(case: Case) -> list[str]:
    wrong = []
    for name, digest in case.read.files.sha256.items():
        try:
            content = (case.folder / name).read_bytes()
        except OSError:
            wrong.append(f"{name}: is missing")
            continue
        if hashlib.sha256(content).hexdigest() != digest:
            wrong.append(f"{name}: was altered: it is not the one that party {case.party!r} signed")
    return wrong


def _summary(case: Case) -> list[str]:
    """The summary's numbers for this party follow from its messages."""
    summary = _object(case.folder / SUMMARY)
    sent = [row for row in case.read.said if row.sender == case.party and row.step != "keys"]
    per_party = summary.get("per_party")
    own = per_party.get(case.party) if isinstance(per_party, dict) else None
    due = {"messages": len(sent), "bytes": sum(row.size for row in sent)}
    wrong = []
    if own != due:
        wrong.append(f"{SUMMARY}: says {own} of party {case.party!r}, the transcript has {due}")
    rounds = max((row.depth for row in case.read.said if row.step != "keys"), default=0)
    claimed = summary.get("rounds")
    if not isinstance(claimed, int) or claimed < rounds:
        wrong.append(f"{SUMMARY}: says {claimed} rounds, the transcript shows {rounds}")
    if summary.get("study_hash") != case.study.study_hash or summary.get("party") != case.party:
        wrong.append(f"{SUMMARY}: is of another study or party")
    release = case.read.files.sha256.get(RELEASE)
    if summary.get("release_sha256") != release:
        wrong.append(f"{SUMMARY}: names another release than the folder's")
    return wrong


def _ledger(case: Case) -> list[str]:
    """The ledger has what the messages have taught: who met, who approved, and what the protocol declares."""
    ledger = _object(case.folder / LEDGER)
    due = Ledger(case.study, case.protocol, case.party)
    due.met()
    if any(row.type == "approval.vote" for row in case.read.said):
        due.learns(approval.LEAKAGE)
    sentences = {_without_numbers(sentence) for sentence in _sentences(ledger, case.party)}
    everything = set(due.own)
    rows = {party.name: 1 for party in case.study.holders}
    for fragment in case.protocol.foresee(case.study, rows).learns.get(case.party, ()):
        everything.add(f"{case.party} learned {fragment}.")
    wrong = [
        f"{LEDGER}: lacks a sentence that follows from the messages: {sentence}"
        for sentence in sorted(everything)
        if _without_numbers(sentence) not in sentences
    ]
    if _object(case.folder / SUMMARY).get("ledger") != ledger.get("learned"):
        wrong.append(f"{SUMMARY}: its ledger is not that of {LEDGER}")
    return wrong


def _certificate(case: Case) -> list[str]:
    try:
        certified = certify.Certified.read(case.folder / CERTIFICATE)
    except CoveyError as error:
        return [str(error)]
    receives = {party.name: case.protocol.receives(case.study, party.name) for party in case.study.parties}
    wrong = [
        f"{CERTIFICATE}: {sentence}" for sentence in certify.check(certified, case.study, case.certificates, receives)
    ]
    heads = certified.a.get("heads")
    for head in case.read.heads:
        theirs = heads.get(head.sender) if isinstance(heads, dict) else None
        if not isinstance(theirs, dict) or theirs.get(head.to) != head.head:
            wrong.append(f"{CERTIFICATE}: has another head from {head.sender!r} to {head.to!r} than the transcript")
    if certified.b is not None and certified.b.get("release_sha256") != case.read.files.sha256.get(RELEASE):
        wrong.append(f"{CERTIFICATE}: is of another release than the folder's")
    if (certified.b is None) == receives[case.party]:
        wrong.append(f"{CERTIFICATE}: has statement B where none is due, or lacks it")
    return wrong


def _disagreements(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """Where two folders of one run tell different things."""
    found: list[tuple[Case, str]] = []
    seen: dict[Pair, tuple[Case, Transcript]] = {}
    for case in cases:
        if case.read.session.session != cases[0].read.session.session:
            found.append((case, f"is of another session than {cases[0].folder}"))
            continue
        for pair in ((head.sender, head.to) for head in case.read.heads):
            if pair not in seen:
                seen[pair] = (case, case.read.transcript)
                continue
            other, theirs = seen[pair]
            if case.finished and other.finished and theirs.ordered(pair) != case.read.transcript.ordered(pair):
                sentence = f"{other.party!r} and {case.party!r} do not tell the same of what {pair[0]!r} sent"
                found.append((case, f"{TRANSCRIPT}: {sentence}"))
    return found + _ledgers_apart(cases)


def _ledgers_apart(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """What others could learn of a party's data, and what they did learn, are told alike."""
    found = []
    ledgers = {case.party: _object(case.folder / LEDGER) for case in cases if case.finished}
    for case in cases:
        for other, ledger in ledgers.items():
            if other != case.party and case.finished:
                told = _sentences(ledgers[case.party], other)
                if told != _sentences(ledger, other):
                    found.append(
                        (case, f"{LEDGER}: tells something else of what {other!r} learned than {other!r} does")
                    )
    return found


def _sentences(ledger: Mapping[str, object], party: str) -> list[str]:
    if ledger.get("party") == party:
        lines = ledger.get("learned")
    else:
        others = ledger.get("others")
        lines = others.get(party) if isinstance(others, dict) else None
    return [str(line) for line in lines] if isinstance(lines, list) else []


def _without_numbers(sentence: str) -> str:
    return _NUMBER.sub("#", sentence)


def _object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _bytes(spelled: str) -> bytes:
    try:
        return bytes.fromhex(spelled)
    except ValueError:
        return b""


def _audited(folder: Path, case: Case | None, wrong: Sequence[str]) -> Audited:
    if case is None:
        return Audited(folder, "", False, 0, tuple(wrong), {})
    signers = {name: own.fingerprint for name, own in sorted(case.certificates.items())}
    return Audited(folder, case.party, case.finished, len(case.read.said), tuple(wrong), signers)
