"""A trustee's machine: it stays connected to the collector, plays its role when the answers are closed, and goes on.

It answers for one board only: a collector that begins anew, once the trustees have begun to compute, could leave
somebody out and compare two releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from covey.errors import InputError
from covey.files import write_atomically
from covey.party.collection.eligibility import address_of, collected
from covey.party.collection.home import Home
from covey.party.collection.invitation import SECRET_BYTES, Invitation
from covey.party.collection.playing import How
from covey.party.collection.responding import Respondent
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.names import JOURNAL
from covey.party.record.run_record import Agreement, Closed, Finished, RunRecord
from covey.party.record.transcript import Transcript
from covey.party.session.journal import Journal
from covey.party.session.playing import letter_keys
from covey.party.session.room import require_room, warn_of_memory
from covey.party.session.run import run_until_interrupted
from covey.party.session.trustees import TrusteeClosing
from covey.protocols import of_study
from covey.wire import Channel
from covey.wire.contact import Address, fingerprint
from covey.wire.standing import StandingLine

DONE = "The release is made. You are done: the folder keeps what you learned, and no answer."


@dataclass(kw_only=True)
class NamedTrustee(Respondent):
    """A trustee that the study names, known by its certificate.

    It signs the run with the others, and leaves a folder as every party of a run does.
    """

    files: tuple[Path, Path]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.dialer = replace(self.dialer, own=self.files)

    async def run(self) -> How:
        """Takes part to the end, reconnecting as often as it takes. Raises what ends it."""
        return await self._take_part(self.keys.party)

    @property
    def _began(self) -> Path:
        """The file that stays when the journal is forgotten: in this folder, answers to this study were evaluated."""
        return self.home.path / f"evaluated-{self.study.study_hash[:16]}"

    async def play(self, handle: str, journal: Journal, line: StandingLine) -> How:
        """The role to its end, once it is on the disk that it has begun."""
        if not self._began.exists():
            write_atomically(self._began, b"Keep this file: the answers to this study are evaluated once.\n")
        return await super().play(handle, journal, line)

    def _refusal(self, journal: Journal) -> str:
        forgotten = journal.begun is None and self._began.exists()
        begun = forgotten or any(step.startswith("post") for _, step, _ in journal.said)
        return "the trustees have begun, and could compare two releases" if begun else ""

    async def _close(
        self, channel: Channel, agreement: Agreement, ledger: Ledger, transcript: Transcript, seconds: float
    ) -> None:
        closing = TrusteeClosing(self.study, self.hub, self.keys, Roster.of(self.study), transcript)

        def keep(agreed: Agreement, closed: Closed) -> None:
            folder = RunFolder(self.home.path)
            folder.keep_study(self.study)
            record = RunRecord(agreement=agreed, transcript=transcript, closed=closed)
            finished = Finished(None, None, None, closed.traffic, seconds, agreed.session, (), record, ())
            folder.keep(self.study, ledger, finished, channel.me, self.keys, reproducible=False)

        await closing.close(channel, agreement, keep)


def prepare(
    study_file: Path, keys_folder: Path, out: Path, dial: Address | None, say: Callable[[str], None]
) -> NamedTrustee:
    """The trustee whose keys these are. Raises InputError or AccessError for what is wrong on this machine."""
    study, hub = collected(study_file)
    keys = keyring.load(keys_folder)
    roster = Roster.of(study)
    if keys.party not in study.of_party_role("trustee"):
        raise InputError(f"{study_file}: names no trustee {keys.party!r}, whose keys are in {keys_folder}")
    roster.require(keys, keys.party)
    require_room(out)
    warn_of_memory(of_study(study), study.rows_at_most or 2 * study.privacy.k, say)
    out.mkdir(parents=True, exist_ok=True)
    where = dial or address_of(study, hub)
    pinned = bytes.fromhex(fingerprint(roster.certificates[hub].der))
    line = Invitation(where, pinned, bytes.fromhex(study.study_hash), 0, bytes(SECRET_BYTES))
    return NamedTrustee(
        study=study,
        protocol=of_study(study),
        hub=hub,
        home=Home(out),
        invitation=line,
        keys=keys,
        table=None,
        say=say,
        letters=letter_keys(keys, roster),
        files=keyring.files(keys_folder, keys.party),
    )


def serve(trustee: NamedTrustee) -> str:
    """Serves to the end; returns a sentence. Raises Aborted (resumable) when interrupted."""
    run_until_interrupted(trustee.run())
    journal = trustee.home.path / JOURNAL
    if journal.exists():
        trustee.say(f"the journal in {trustee.home.path} is needed no more; `covey forget` erases it")
    return DONE
