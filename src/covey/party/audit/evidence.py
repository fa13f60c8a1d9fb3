"""One folder's evidence: its transcript, and everything else that must follow from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from covey.errors import CoveyError, InputError, uncounted
from covey.files import RELEASES, is_part, json_object
from covey.party import released
from covey.party.audit.script import strays
from covey.party.identity.certificate import Certificate
from covey.party.identity.roster import certificates_in
from covey.party.record import transcript_file
from covey.party.record.ledger import Ledger
from covey.party.record.names import CERTIFICATE, CLASSES, LEDGER, STUDY, SUMMARY, TRANSCRIPT
from covey.party.record.signatures import check_file
from covey.party.record.transcript import chain
from covey.party.record.transcript_file import ReadTranscript
from covey.party.session.handshake import session_digest, statement
from covey.plain import plain
from covey.protocols import Protocol, find
from covey.protocols.shared.columns import recognition
from covey.secure import approval, row_counts
from covey.sources import connect
from covey.sources.release import release_digest
from covey.study import Study
from covey.study.study import RESPONDENTS
from covey.version import __version__
from covey.wire import frame

_FINISHED = "finished"
_SIGNED = frozenset({LEDGER, SUMMARY, CERTIFICATE, CLASSES, *RELEASES})
_NUMBER = re.compile(r"\d[\d,.]*")
_DIGITS = 12
"""Of a class's size, at most."""


@dataclass(frozen=True)
class Case:
    """A folder with all that its audit needs."""

    folder: Path
    study: Study
    protocol: Protocol
    certificates: Mapping[str, Certificate]
    read: ReadTranscript

    @property
    def party(self) -> str:
        """The party whose folder it is."""
        return self.read.session.party

    @property
    def foreign(self) -> str:
        """The sentence on a run by another version of the protocol, whose messages this one does not know, if it is."""
        ran, own = self.read.session.protocol_version, self.protocol.spoken
        if ran == own.number:
            return ""
        return (
            f"ran with version {ran} of protocol {own.name!r}, and this is version {own.number}: only a covey of that "
            "version can compare its messages and its ledger with the protocol"
        )

    @property
    def finished(self) -> bool:
        """True if the run reached its end."""
        return self.read.files.outcome.startswith(_FINISHED)

    @property
    def session(self) -> bytes:
        """The session's id, as messages carry it."""
        return bytes.fromhex(self.read.session.session)[:16]


def open_case(folder: Path) -> Case:
    """A folder's study, certificates and transcript. Raises InputError if something is missing, Unmet if altered."""
    if not (folder / TRANSCRIPT).is_file():
        raise InputError(f"{folder}: holds no {TRANSCRIPT}; name the folder of a run")
    if not (folder / STUDY).is_file():
        raise InputError(f"{folder}: holds no {STUDY}; put the study and its files there")
    read = transcript_file.read(folder / TRANSCRIPT)
    study = Study.load(folder / STUDY).as_recorded(read.session.study_hash)
    return Case(
        folder, study, find(study.protocol or "", study.partition, study.options), certificates_in(study, folder), read
    )


def look_into(case: Case) -> list[str]:
    """The faults of one folder by itself, whose transcript is the one that its party signed."""
    wrong = _session(case) + _chains(case) + _states(case)
    messages = [row.entry for row in case.read.said]
    known = replace(case.protocol, script=None) if case.foreign else case.protocol
    wrong += strays(case.study, known, messages, finished=case.finished)
    altered = _files(case)
    wrong += altered
    if case.finished and not altered:
        wrong += _summary(case) + _ledger(case) + _certificate(case) + _classes(case)
    return wrong


def forgeries(case: Case) -> list[str]:
    """The reason why the transcript is not the one that its party signed, if so; other faults then follow from it."""
    read = case.read
    own = case.certificates.get(case.party)
    if own is None:
        return [f"{TRANSCRIPT}: the certificate of party {case.party!r} is not at hand to check its signature"]
    content = transcript_file.statement(read.signed)
    if read.signature.party != case.party or not own.verifies(bytes.fromhex(read.signature.signature), content):
        return [f"{TRANSCRIPT}: was altered: it is not the one that party {case.party!r} signed"]
    return []


def _session(case: Case) -> list[str]:
    said = case.read.session
    wrong = []
    if said.study_hash != case.study.study_hash:
        wrong.append(f"{TRANSCRIPT}: is of another study than the folder's {STUDY}")
    if all(party.certificate for party in case.study.parties) and said.roster_hash != case.study.roster_hash:
        wrong.append(f"{TRANSCRIPT}: is of a run with other addresses or certificates than the folder's {STUDY}")
    if not case.study.signers == set(said.commitments) == set(said.nonces) == set(said.confirmed):
        return [*wrong, f"{TRANSCRIPT}: the session is not one of the study's parties"]
    commitments = {name: bytes.fromhex(value) for name, value in said.commitments.items()}
    nonces = {name: bytes.fromhex(value) for name, value in said.nonces.items()}
    digest = session_digest(said.study_hash, commitments, nonces)
    if digest.hex() != said.session:
        wrong.append(f"{TRANSCRIPT}: the session does not follow from the parties' commitments and nonces")
    for name, signature in said.confirmed.items():
        content = statement(digest, said.roster_hash, name)
        if name not in case.certificates or not case.certificates[name].verifies(bytes.fromhex(signature), content):
            wrong.append(f"{TRANSCRIPT}: party {name!r} did not sign this session")
    return wrong


def _chains(case: Case) -> list[str]:
    wrong = []
    transcript = case.read.transcript
    heads = {(head.sender, head.to): head for head in case.read.heads}
    if not set(transcript.entries) <= set(heads):
        wrong.append(f"{TRANSCRIPT}: a pair has messages and no head")
    for pair, head in heads.items():
        where = f"{TRANSCRIPT}: from {pair[0]!r} to {pair[1]!r}"
        rows = [row for row in case.read.said if (row.sender, row.to) == pair]
        due = [value.hex() for value in chain(case.session, pair, transcript.ordered(pair))]
        if [row.chain for row in rows] != due:
            wrong.append(f"{where}: the chain of messages is broken")
        wrong += [f"{where}: {sentence}" for sentence in _unsigned(case, pair[0], rows)]
        true = transcript.head(case.session, pair)
        if (head.messages, head.bytes, head.head) != (true.messages, true.size, true.digest.hex()):
            wrong.append(f"{where}: the head is not that of the messages")
        if head.signature is None:
            if pair[0] == case.party or (case.finished and not _is_respondent(case, pair[0])):
                wrong.append(f"{where}: the sender has not signed")
            continue
        content = true.statement(case.session, case.study.study_hash, pair)
        sender = case.certificates.get(pair[0])
        if sender is None or not sender.verifies(bytes.fromhex(head.signature), content):
            wrong.append(f"{where}: the sender has not signed these messages")
    return wrong


def _states(case: Case) -> list[str]:
    """The states of a run on shares follow each other without a gap."""
    numbers = [state.number for state in case.read.states]
    return [] if numbers == list(range(len(numbers))) else [f"{TRANSCRIPT}: a state of the run is missing"]


def _unsigned(case: Case, sender: str, rows: list[transcript_file.Said]) -> list[str]:
    """The messages of a run that ended early whose signature is not their sender's."""
    certificate, sentences, heads = case.certificates.get(sender), list[str](), dict[str, bytes]()
    for row in sorted(rows, key=lambda row: row.number):
        digest, head = bytes.fromhex(row.sha256), heads.get(row.step, frame.NO_HEAD)
        heads[row.step] = head = digest if row.number >= frame.SIGNED else frame.follow(head, digest)
        signed = frame.statement(head), frame.earlier_statement(digest)
        if row.signature is not None and not (
            certificate is not None
            and any(certificate.verifies(bytes.fromhex(row.signature), content) for content in signed)
        ):
            sentences.append(f"message {row.number} at {row.step or 'the start'} is not signed by its sender")
    return sentences


def _is_respondent(case: Case, name: str) -> bool:
    """True for a respondent, for whom the collector signs."""
    return case.study.partition == "respondents" and name not in case.study.signers


def _files(case: Case) -> list[str]:
    wrong = []
    for name, digest in case.read.files.sha256.items():
        if name not in _SIGNED:  # whoever signed a transcript must not choose what is read here
            wrong.append(f"{TRANSCRIPT}: names a file that no run leaves: {plain(name)!r}")
            continue
        found = _digest(case.folder / name)
        if found is None:
            wrong.append(f"{name}: is missing")
        elif found != digest:
            wrong.append(f"{name}: was altered: it is not the one that party {case.party!r} signed")
    return wrong


def _digest(path: Path) -> str | None:
    """The hash of a file that lies there itself; None for a link, a device, or nothing.

    Of a release in Parquet, a file or a folder of parts, it is the hash of its rows as CSV.
    """
    inside = [*path.iterdir()] if path.is_dir() and path.name in RELEASES else []
    if path.is_symlink() or not (path.is_file() or inside):
        return None
    if not all(is_part(file) and not file.is_symlink() for file in inside):
        return ""
    try:
        return release_digest(path)
    except OSError:
        return None
    except InputError:  # it is no Parquet any more
        return ""


def _release(case: Case) -> str | None:
    """The hash of the release that the party signed, whatever its format."""
    return next((case.read.files.sha256[name] for name in RELEASES if name in case.read.files.sha256), None)


def _summary(case: Case) -> list[str]:
    """The summary's numbers for this party follow from its messages."""
    summary = json_object(case.folder / SUMMARY)
    sent = [row for row in case.read.said if row.sender == case.party and row.step != "keys"]
    per_party = summary.get("per_party")
    own = per_party.get(case.party) if isinstance(per_party, dict) else None
    due = {"messages": sum(row.messages for row in sent), "bytes": sum(row.size for row in sent)}
    wrong = []
    if own != due:
        wrong.append(f"{SUMMARY}: says {own} of party {case.party!r}, the transcript has {due}")
    rounds = max((row.depth for row in case.read.said if row.step != "keys"), default=0)
    claimed = summary.get("rounds")
    if not isinstance(claimed, int) or claimed < rounds:
        wrong.append(f"{SUMMARY}: says {claimed} rounds, the transcript shows {rounds}")
    if summary.get("study_hash") != case.study.study_hash or summary.get("party") != case.party:
        wrong.append(f"{SUMMARY}: is of another study or party")
    if summary.get("release_sha256") != _release(case):
        wrong.append(f"{SUMMARY}: names another release than the folder's")
    return wrong


def _version(case: Case) -> object:
    """The version of the software that ran, as all parties signed it; ours where no certificate was left."""
    signed = json_object(case.folder / CERTIFICATE).get("A") if (case.folder / CERTIFICATE).is_file() else None
    return signed.get("version") if isinstance(signed, dict) else __version__


def _ledger(case: Case) -> list[str]:
    """The ledger has what the messages have taught, in the words of this version; another one's words it knows not."""
    ledger = json_object(case.folder / LEDGER)
    sentences = {_without_numbers(sentence) for sentence in sentences_of(ledger, case.party)}
    wrong = [
        f"{LEDGER}: lacks a sentence that follows from the messages: {sentence}"
        for sentence in sorted(_due(case) if _version(case) == __version__ and not case.foreign else ())
        if _without_numbers(sentence) not in sentences
    ]
    if json_object(case.folder / SUMMARY).get("ledger") != ledger.get("learned"):
        wrong.append(f"{SUMMARY}: its ledger is not that of {LEDGER}")
    return wrong


def _due(case: Case) -> set[str]:
    """The sentences that follow from the messages: who met, who approved, and what the protocol declares."""
    due = Ledger(case.study, case.protocol, case.party)
    due.met()
    if any(row.type == "approval.vote" for row in case.read.said):
        due.learns(approval.LEAKAGE)
    several = 2  # people, where they are not named: sentences have the plural
    rows = {party.name: 1 for party in case.study.holders} or {RESPONDENTS: several}
    if any(row.type == row_counts.TAG for row in case.read.said):
        due.learns(row_counts.LEAKAGE)
        due.learns(row_counts.STATED, stated=row_counts.spelled(rows))
    if any(row.type == recognition.TAG for row in case.read.said):
        due.learns(recognition.LEAKAGE, **recognition.asked(case.study))
    for leakage, _ in released.lessons(case.protocol):
        due.learns(leakage)
    learned = case.protocol.learned(case.study, case.protocol.foresee(case.study, rows).lessons).get(case.party, ())
    return {*due.own, *(f"{case.party} learned {fragment}." for fragment in learned)}


def _certificate(case: Case) -> list[str]:
    try:
        checked = check_file(case.folder / CERTIFICATE, case.study)
    except CoveyError as error:
        return [str(error)]
    certified = checked.certificate
    wrong = [f"{CERTIFICATE}: {sentence}" for sentence in checked.wrong]
    heads = certified.a.get("heads")
    for head in case.read.heads:
        theirs = heads.get(head.sender) if isinstance(heads, dict) else None
        if not isinstance(theirs, dict) or theirs.get(head.to) != head.head:
            wrong.append(f"{CERTIFICATE}: has another head from {head.sender!r} to {head.to!r} than the transcript")
    if certified.a.get("protocol_version", 1) != case.read.session.protocol_version:
        wrong.append(f"{CERTIFICATE}: names another version of the protocol than the transcript")
    if certified.b is not None and certified.b.get("release_sha256") != _release(case):
        wrong.append(f"{CERTIFICATE}: is of another release than the folder's")
    if certified.a.get("rows") != json_object(case.folder / SUMMARY).get("row_counts"):
        wrong.append(f"{CERTIFICATE}: has other numbers of rows that the parties stated than {SUMMARY}")
    if (certified.b is None) == case.protocol.receives(case.study, case.party):
        wrong.append(f"{CERTIFICATE}: has statement B where none is due, or lacks it")
    return wrong


def _classes(case: Case) -> list[str]:
    """The classes are those of the release's rows; several that left at different nodes may have the same labels."""
    files = [name for name in RELEASES if name in case.read.files.sha256]
    if CLASSES not in case.read.files.sha256 or not files:
        return []
    names, sizes = [column.name for column in case.study.quasi], Counter[tuple[str, ...]]()
    try:
        classes = connect(str(case.folder / CLASSES))
        for batch in classes.batches([*names, *classes.columns[len(names) : len(names) + 1]]):
            for *labels, size in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sizes[tuple(labels)] += int(size[:_DIGITS]) if str(size).isdecimal() else 0
        for batch in connect(str(case.folder / files[0])).batches(names):
            sizes.subtract(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except InputError as error:
        return [str(error)]
    return [f"{CLASSES}: has other classes than the rows of the release"] if any(sizes.values()) else []


def sentences_of(ledger: Mapping[str, object], party: str) -> list[str]:
    """The sentences of a ledger on what a party learned, be it the ledger's own or another."""
    if ledger.get("party") == party:
        lines = ledger.get("learned")
    else:
        others = ledger.get("others")
        lines = others.get(party) if isinstance(others, dict) else None
    return [str(line) for line in lines] if isinstance(lines, list) else []


def _without_numbers(sentence: str) -> str:
    return uncounted(_NUMBER.sub("#", sentence))
