"""A respondent that hands in one letter, gets a receipt, and is not needed again.

The letter follows from the respondent's own key: the same command after an interruption sends the same bytes, and gets
the same receipt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from covey.crypto.rng import Rng, derive
from covey.errors import InputError, PeerError, Unmet
from covey.party.collection import questions, trustee_keys
from covey.party.collection.eligibility import place_of
from covey.party.collection.enrolment import enrol
from covey.party.collection.home import KEYS, Home
from covey.party.collection.invitation import Invitation
from covey.party.collection.receipts import statement
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.session.run import run_until_interrupted
from covey.plain import plain
from covey.protocols import spoken
from covey.protocols.peel import letters
from covey.protocols.peel.letter_intake import require_short
from covey.protocols.peel.letters import Letter
from covey.protocols.peel.respondents import judge, word_of
from covey.study import Study
from covey.version import __version__
from covey.wire.standing import words
from covey.wire.standing.dialing import GREETING_SECONDS, Dialer, Later

DONE = (
    "You are done, and nothing more is asked of you. Your answer will be one of many in the release, in a group of at "
    "least {k}, and nobody learns which is yours. Your receipt is in {folder}."
)


@dataclass(frozen=True)
class Delivery:
    """One respondent's delivery, from its folder and its invitation."""

    study: Study
    hub: str
    home: Home
    invitation: Invitation
    say: Callable[[str], None] = lambda sentence: None

    def run(self) -> str:
        """Delivers the answer, keeps the receipt; returns a sentence. Raises Aborted (resumable) when interrupted."""
        return run_until_interrupted(self.deliver())

    async def deliver(self) -> str:
        """Enrols if need be, delivers, and keeps the receipt."""
        keys, kept = self.home.keys(), self.home.handle(self.invitation)
        own = keyring.files(self.home.path / KEYS, keys.party)
        pinned = self.invitation
        where = place_of(self.study, self.hub, pinned.address)
        dialer = Dialer(where, pinned.fingerprint, pinned.study, own, self.say, spoken(self.study))
        handle = await dialer.persist(lambda: enrol(dialer, self.hub, pinned, keys)) if kept is None else kept
        self.home.keep_handle(pinned, handle)
        self.say(f"enrolled as {handle}")
        line, receipt = await dialer.persist(lambda: self._once(dialer, handle))
        collector = Roster.of(self.study).certificates[self.hub]
        if receipt.line != line or not collector.verifies(receipt.signature, statement(self.study, handle, line)):
            raise PeerError(party=self.hub, step="receipt", reason="its receipt is not for what we sent")
        sentence = DONE.format(k=self.study.privacy.k, folder=self.home.path)
        self.home.keep_receipt(
            handle, "delivered", sentence,
            study_hash=self.study.study_hash, line=line.hex(), signature=receipt.signature.hex(),
        )  # fmt: skip
        return sentence

    def letter(self, handle: str, shown: Sequence[words.SignedKey]) -> Letter:
        """The letter, the same each time. Raises PeerError for keys that the trustees did not sign."""
        record = self.home.record(self.study)
        if record is None:
            raise InputError(f"{self.home.path}: has no answers yet")
        study, run, own = self.study, judge(self.study), self.home.keys()
        certificates = Roster.of(study).certificates
        keys = trustee_keys.require(study.study_hash, self.hub, run.parties[:3], certificates, shown)
        word, table = word_of(study, run), questions.table_of(study, record)
        require_short(word, table)
        rng = Rng(derive(own.dummy, "letter", study.study_hash, handle, *(keys[name] for name in sorted(keys))))
        enrolment = own.certificate.public_key, own.tls.sign
        return letters.write(study.study_hash, handle, word.words(table), word.width, keys, rng, enrolment)

    async def _once(self, dialer: Dialer, handle: str) -> tuple[bytes, words.Delivered]:
        connection, hello = await dialer.connect(known=True)
        try:
            if hello.handle != handle:
                raise Later("it does not know this key yet")
            if len(hello.keys) < letters.TRUSTEES:
                raise Later("the trustees have not come yet")
            answer = self.letter(handle, hello.keys)
            connection.enlarge()
            content = letters.pack(answer)
            said = words.Deliver(self.invitation.study, __version__, content, dialer.protocol.number)
            await connection.say(said)
            async with asyncio.timeout(GREETING_SECONDS):
                receipt = await connection.read()
        finally:
            await connection.close()
        if isinstance(receipt, words.Refused):
            raise Unmet(f"the collector refuses: {plain(receipt.why)}")
        if not isinstance(receipt, words.Delivered):
            raise PeerError(party=self.hub, step="receipt", reason="an answer that is no receipt")
        return letters.line(handle, answer.digests), receipt
