"""A party re-runs its own role and shows that what it sent is what the protocol prescribes.

It shows this for the data that its journal is bound to and the seed that it committed to before anyone's nonce was
known. It does not show that the data were true, nor anything about a seed that was chosen among many before that.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from covey.errors import InputError, Unmet
from covey.party.audit.evidence import Case, open_case
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.names import JOURNAL
from covey.party.record.transcript import Entry, Transcript
from covey.party.session.binding import bind
from covey.party.session.data import load_table
from covey.party.session.handshake import commit
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.party.session.playing import Participant
from covey.party.session.replay import play_again
from covey.protocols import of_study
from covey.table import Table


def replay(folder: Path, keys: Path | None = None, data: str | None = None) -> list[str]:
    """The places, in sentences, where this party's messages are not as prescribed; none if all are.

    The keys are those in the folder, unless others are named; the data are where they were at the run. Raises
    InputError where the journal, the keys or the data are missing, or another version of the protocol ran, Unmet for a
    transcript that was altered.
    """
    case = open_case(folder)
    if case.foreign:
        raise InputError(f"{folder}: {case.foreign}, or play it again")
    if case.protocol.computing is not None:
        raise InputError(
            f"{folder}: protocol {case.protocol.name!r} keeps states and no messages, so a run cannot be played again; "
            "covey audit without --replay checks chains, signatures and states"
        )
    Journal.require(folder / JOURNAL)
    own = keyring.load(keys or folder / "keys")
    if own.party != case.party:
        raise InputError(f"{keys or folder / 'keys'}: are the keys of party {own.party!r}, the run is {case.party!r}'s")
    journal = Journal.read(folder / JOURNAL, own.journal)
    with contextlib.closing(journal):
        begun = journal.begun
        if begun is None:
            raise Unmet(f"{journal.path}: was altered: it holds no session")
        if not journal.whole:
            raise InputError(
                f"{journal.path}: reached its limit, from which on it keeps only the hashes of what was read; "
                "run a study that is to be replayed with --journal all"
            )
        table = load_table(case.study, case.party, data or begun.source or None)
        wrong = _bound(case, begun, table, own)
        return wrong or _deviations(case, begun, table, own, journal)


def _bound(case: Case, begun: Begun, table: Table | None, keys: Keys) -> list[str]:
    """The reasons, in sentences, why journal, data and transcript do not belong together."""
    said = case.read.session
    wrong = []
    if begun.session.hex() != said.session:
        wrong.append("the journal is of another session than the transcript")
    changed = bind(case.study, case.party, table, keys).differences(begun.binding)
    if changed:
        wrong.append(f"{', '.join(changed)}: not what the session was bound to")
    if commit(begun.agreement().seed) != bytes.fromhex(said.commitments[case.party]):
        wrong.append("the journal's seed is not the one that was committed to")
    return wrong


def _deviations(case: Case, begun: Begun, table: Table | None, keys: Keys, journal: Journal) -> list[str]:
    roster = Roster(case.certificates, {}, begun.roster_hash)
    seed = keys.journal  # never drawn from: the session's seed is the journal's
    participant = Participant(case.study, of_study(case.study), case.party, table, keys, roster, seed)
    with asyncio.Runner() as runner:
        prescribed = runner.run(play_again(participant, journal))
    sent = [row.entry for row in case.read.said if row.sender == case.party]
    wrong = deviations(prescribed, sent, case.party)
    if not case.finished:  # a run that was cut off may have said less than it would have
        wrong = [sentence for sentence in wrong if not sentence.endswith("was not sent")]
    return wrong


def deviations(prescribed: Transcript, sent: list[Entry], me: str) -> list[str]:
    """The places, in sentences, where a party did not send what the protocol prescribes."""
    due = {
        (line.recipient, line.step, line.number): line
        for pair in prescribed.entries
        if pair[0] == me
        for line in prescribed.ordered(pair)
    }
    found = []
    for line in sent:
        where = f"message {line.number} at {line.step or 'the start'} to party {line.recipient!r}"
        expected = due.pop((line.recipient, line.step, line.number), None)
        if expected is None:
            found.append(f"{where} was sent, and the protocol prescribes none")
        elif expected.digest != line.digest:
            found.append(f"{where} is not the one that the protocol prescribes")
    found += [
        f"message {number} at {step or 'the start'} to party {recipient!r} was due and was not sent"
        for recipient, step, number in due
    ]
    return found
