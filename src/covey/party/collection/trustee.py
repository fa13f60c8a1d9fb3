"""A trustee's machine: it stays connected to the collector, runs the study when the answers are closed, and goes on.

The run is an ordinary one, among three trustees and the collector, who carries the lines. It evaluates one list of
letters only: a collector that began anew with others could leave somebody out and compare two releases.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from covey.crypto.letter import LetterKey
from covey.crypto.rng import fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, AccessError, InputError, PeerError, Unmet
from covey.files import write_atomically
from covey.party.collection import trustee_keys
from covey.party.collection.eligibility import address_of, collected, place_of
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.folder import RunFolder
from covey.party.record.log import RunLog
from covey.party.record.names import JOURNAL, LOG, SUMMARY
from covey.party.session.journal import Journal
from covey.party.session.playing import Participant
from covey.party.session.progress import Snapshot
from covey.party.session.resume import ResumableRun
from covey.party.session.room import require_room, warn_of_memory
from covey.party.session.run import run_until_interrupted
from covey.plain import plain
from covey.protocols import Protocol, of_study
from covey.protocols.protocol import Letters
from covey.study import Study
from covey.version import __version__
from covey.wire import Link
from covey.wire.contact import Address, fingerprint
from covey.wire.depth import beside
from covey.wire.standing import words
from covey.wire.standing.carrying import CarriedLink
from covey.wire.standing.connection import BEAT_SECONDS, Connection, Garbled
from covey.wire.standing.dialing import Dialer, Later

DONE = "The release is made. You are done: the folder keeps what you learned, and no answer."
FOREVER = 10 * 365 * 86400.0


@dataclass
class Trustee:
    """A trustee that the study names, in its folder and on its way to the collector."""

    study: Study
    protocol: Protocol
    hub: str
    keys: Keys
    folder: Path
    own: LetterKey | None
    """The key for letters; None once it is erased."""
    dialer: Dialer
    say: Callable[[str], None] = lambda sentence: None

    async def run(self) -> str:
        """Takes part to the end, and comes back as often as it takes; returns a sentence. Raises what ends it."""
        own = self.own
        if own is None:
            return DONE
        over = await self.dialer.persist(lambda: self._attend(own))
        if over.how != "finished":
            raise Unmet(f"the collector says: {plain(over.why)}; nothing was released")
        if not self.finished:
            raise Unmet("the collection is finished; this machine was cut off before it had signed the end")
        trustee_keys.forget(self.folder)
        return DONE

    @property
    def finished(self) -> bool:
        """True if the folder has what a finished run leaves."""
        return (self.folder / SUMMARY).exists()

    async def _attend(self, own: LetterKey) -> words.Over:
        """One connection to its end: waits for the others, and runs with them. Raises Later to come again."""
        connection, _ = await self.dialer.connect(known=True)
        try:
            word = await self._met(connection, own)
            if isinstance(word, words.Over):
                return word
            link = CarriedLink(self.keys.party, self.hub, self._secrets(own, word), connection)
            async with beside(link.listen(), link.beat()):
                await self._play(link)
                over = await link.ended
            if over is None:
                raise Later("the connection was cut")
            return over
        finally:
            await connection.close()

    async def _met(self, connection: Connection, own: LetterKey) -> words.Meet | words.Over:
        """Shows our key for letters, and waits until all trustees are here, or it is over."""
        shown = trustee_keys.signed(self.study.study_hash, self.keys, own)
        study, number = bytes.fromhex(self.study.study_hash), self.protocol.spoken.number
        await connection.say(words.Serve(study, __version__, shown.key, shown.signature, number))
        connection.enlarge()
        self.dialer.reached = True
        self.say("connected to the collector; waiting until the answers are closed")
        async with beside(_beating(connection)):
            word = await connection.read()
        if isinstance(word, words.Refused):
            raise AccessError(f"the collector refuses: {plain(word.why)}")
        if not isinstance(word, words.Meet | words.Over):
            raise Garbled("the collector says something that is not for a trustee")
        return word

    def _secrets(self, own: LetterKey, said: words.Meet) -> dict[str, Secret]:
        """Returns the secret shared with each other trustee. Raises PeerError for keys that they did not sign."""
        study, certificates = self.study, Roster.of(self.study).certificates
        names = study.of_party_role("trustee")
        public = trustee_keys.require(study.study_hash, self.hub, names, certificates, said.keys)
        if public.pop(self.keys.party) != own.public:
            raise PeerError(party=self.hub, step="the trustees' keys", reason="it shows another key than ours")
        context = ("carried", bytes.fromhex(study.study_hash))
        return {name: own.shared(key, *context) for name, key in public.items()}

    async def _play(self, link: CarriedLink) -> None:
        """Runs over a link, or goes on for the others. Raises Later where somebody was cut off."""

        @asynccontextmanager
        async def meet() -> AsyncIterator[Link]:
            yield link

        with contextlib.closing(self.journal()) as journal:
            try:
                await self.prepared(journal).run(meet)
            except Aborted as error:
                if not error.resumable or error.party is None:  # without one it is this machine, such as its disk
                    raise
                self.say(f"{error}; trying again")
                raise Later(str(error)) from None
        await link.done()

    def journal(self) -> Journal:
        """The journal in the folder, or an empty one."""
        return Journal.resume(self.folder / JOURNAL, self.keys.journal)

    def prepared(self, journal: Journal) -> ResumableRun:
        """The run in the folder. Raises InputError for a folder that holds another one."""
        participant = Participant(
            self.study, self.protocol, self.keys.party, None, self.keys, Roster.of(self.study), fresh_seed(),
            log=RunLog(self.folder / LOG), listener=self._show, patience=FOREVER, journal=journal,
            letters=Letters({}, self.own, self._evaluate),
        )  # fmt: skip
        run = ResumableRun(participant, RunFolder(self.folder), journal, for_others=True)
        run.prepare()
        return run

    def _show(self, snapshot: Snapshot) -> None:
        if snapshot.position and not snapshot.done:
            self.say(f"taking part: {snapshot.phase}")

    def _evaluate(self, letters: bytes) -> None:
        """Notes which letters are evaluated, before anything is computed. Raises PeerError for others than before."""
        noted = self.folder / f"evaluated-{self.study.study_hash[:16]}"
        if not noted.exists():
            write_atomically(
                noted, b"Keep this file: the answers to this study are evaluated once.\n" + letters.hex().encode()
            )
        elif noted.read_bytes().split()[-1] != letters.hex().encode():
            raise PeerError(
                party=self.hub, step="the letters", reason="the trustees evaluated other letters of this study before, "
                "and two releases could be compared",
            )  # fmt: skip


async def _beating(connection: Connection) -> None:
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        connection.beat()


def prepare(
    study_file: Path, keys_folder: Path, out: Path, dial: Address | None, say: Callable[[str], None]
) -> Trustee:
    """The trustee whose keys these are. Raises InputError or AccessError for what is wrong on this machine."""
    study, hub = collected(study_file)
    keys = keyring.load(keys_folder)
    roster = Roster.of(study)
    if keys.party not in study.of_party_role("trustee"):
        raise InputError(f"{study_file}: names no trustee {keys.party!r}, whose keys are in {keys_folder}")
    roster.require(keys, keys.party)
    require_room(out)
    protocol = of_study(study)
    warn_of_memory(protocol, study.rows_at_most or 2 * study.privacy.k, say)
    out.mkdir(parents=True, exist_ok=True)
    pinned, own = bytes.fromhex(fingerprint(roster.certificates[hub].der)), keyring.files(keys_folder, keys.party)
    where = place_of(study, hub, dial or address_of(study, hub))
    dialer = Dialer(where, pinned, bytes.fromhex(study.study_hash), own, say, protocol.spoken)
    trustee = Trustee(study, protocol, hub, keys, out, None, dialer, say)
    if not trustee.finished or trustee_keys.exists(out):
        trustee.own = trustee_keys.kept(out)
    with contextlib.closing(trustee.journal()) as journal:
        trustee.prepared(journal)
    return trustee


def serve(trustee: Trustee) -> str:
    """Serves to the end; returns a sentence. Raises Aborted (resumable) when interrupted."""
    sentence = run_until_interrupted(trustee.run())
    if (trustee.folder / JOURNAL).exists():
        trustee.say(f"the journal in {trustee.folder} is needed no more; `covey forget` erases it")
    return sentence
