"""The audit of finished runs: what the folders hold is what the parties signed, and follows from what was said.

For each folder: the transcript's chain and signatures, the session that it follows from, its messages against the
protocol's script, and the ledger, summary, certificate and release against it. Between folders: both ends of every pair
tell the same. It trusts the certificates that the study names, or that lie in the folder, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from covey.errors import Unmet
from covey.files import json_object
from covey.party.audit.evidence import Case, forgeries, look_into, open_case, sentences_of
from covey.party.record.names import LEDGER, TRANSCRIPT
from covey.party.record.transcript import Pair, Transcript
from covey.plain import Shown


@dataclass(frozen=True, repr=False)
class Audited(Shown):
    """One party's folder, and what is wrong with it."""

    folder: Path
    party: str
    finished: bool
    messages: int
    wrong: tuple[str, ...]
    scripted: bool
    """True if the protocol declares its messages; if not, only a replay tells whether they are the right ones."""
    signers: Mapping[str, str]
    """The certificates' fingerprints that the signatures were checked with."""
    protocol_version: int = 1
    """The version of the protocol that ran."""
    foreign: str = ""
    """A sentence, if that is another one than ours: its messages and its ledger are then compared with nothing."""

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "party", repr(self.party)
        yield "finished", "yes" if self.finished else "no"
        yield "messages", f"{self.messages:,}"
        yield "wrong", "; ".join(self.wrong) or "nothing"
        if self.foreign:
            yield "version", self.foreign


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
        forged = forgeries(case)
        wrong += forged or look_into(case)
        if not forged:  # whatever else differs in a forged transcript is a consequence
            cases.append(case)
    for case, sentence in _disagreements(cases):
        found[case.folder].append(sentence)
    by_folder = {case.folder: case for case in cases}
    return [_audited(folder, by_folder.get(folder), wrong) for folder, wrong in found.items()]


def _disagreements(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The places where two folders of one run contradict each other."""
    found: list[tuple[Case, str]] = []
    seen: dict[Pair, tuple[Case, Transcript]] = {}
    for case in cases:
        if case.read.session.session != cases[0].read.session.session:
            found.append((case, f"is of another session than {cases[0].folder}"))
            continue
        if case.read.session.protocol_version != cases[0].read.session.protocol_version:
            found.append((case, f"{TRANSCRIPT}: names another version of the protocol than {cases[0].folder}"))
        for pair in ((head.sender, head.to) for head in case.read.heads):
            if pair not in seen:
                seen[pair] = (case, case.read.transcript)
                continue
            other, theirs = seen[pair]
            if case.finished and other.finished and theirs.ordered(pair) != case.read.transcript.ordered(pair):
                sentence = f"{other.party!r} and {case.party!r} do not tell the same of what {pair[0]!r} sent"
                found.append((case, f"{TRANSCRIPT}: {sentence}"))
    return found + _denials(cases) + _ledgers_apart(cases) + _states_apart(cases)


def _denials(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The messages that a party does not list although another holds its signature on them."""
    found = []
    by_party = {case.party: case for case in cases}
    for case in cases:
        for row in case.read.said:
            sender = by_party.get(row.sender)
            if row.signature is None or sender is None or sender.read.session.session != case.read.session.session:
                continue
            listed = {entry.digest.hex() for entry in sender.read.transcript.entries.get((row.sender, row.to), ())}
            if row.sha256 not in listed:
                where = (
                    f"message {row.number} at {row.step or 'the start'}, which {case.party!r} holds with its signature"
                )
                found.append((sender, f"{TRANSCRIPT}: {row.sender!r} denies {where}"))
    return found


def _states_apart(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The states of which two neighbours do not hold the same."""
    sentences = []
    for case, peer in combinations(cases, 2):
        hashes = {(state.number, state.attempt): state.sha256.get(case.party) for state in peer.read.states}
        for state in case.read.states if case.session == peer.session else ():
            if hashes.get((state.number, state.attempt), digest := state.sha256.get(peer.party)) != digest:
                sentence = f"{case.party!r} and {peer.party!r} do not hold the same of the state behind window"
                sentences.append((peer, f"{TRANSCRIPT}: {sentence} {state.number}"))
    return sentences


def _ledgers_apart(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The places where two ledgers do not say the same of what a party learned."""
    found = []
    ledgers = {case.party: json_object(case.folder / LEDGER) for case in cases if case.finished}
    for case in cases:
        for other, ledger in ledgers.items():
            if other != case.party and case.finished:
                told = sentences_of(ledgers[case.party], other)
                if told != sentences_of(ledger, other):
                    found.append(
                        (case, f"{LEDGER}: tells something else of what {other!r} learned than {other!r} does")
                    )
    return found


def _audited(folder: Path, case: Case | None, wrong: Sequence[str]) -> Audited:
    if case is None:
        return Audited(folder, "", False, 0, tuple(wrong), False, {})
    script = None if case.foreign else case.protocol.script
    signers = {name: own.fingerprint for name, own in sorted(case.certificates.items())}
    return Audited(
        folder, case.party, case.finished, sum(row.messages for row in case.read.said), tuple(wrong),
        script is not None and script(case.study) is not None,
        signers, case.read.session.protocol_version, case.foreign,
    )  # fmt: skip
