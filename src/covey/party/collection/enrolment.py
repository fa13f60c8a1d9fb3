"""Enrolment: a caller exchanges an invitation and a key of its own for a handle; once, and nobody else can.

A caller signs, with its certificate's key, the study, the collector, this connection's nonce and its invitation. So the
signature proves that the key is its own, and is of no use anywhere else.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from covey.crypto.rng import spell
from covey.errors import AccessError, InputError, PeerError
from covey.party.collection.eligibility import by_peeling
from covey.party.collection.invitation import Invitation, Invitations, digest
from covey.party.collection.receipts import Receipts
from covey.party.collection.register import AnswerLine, Opened, ReadyLine, Register, TrusteeLine, moment
from covey.party.collection.trustee_keys import is_signed
from covey.party.identity.certificate import Certificate
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.plain import plain
from covey.protocols.peel.letters import verifies
from covey.study import Study
from covey.wire.contact import fingerprint
from covey.wire.standing.dialing import GREETING_SECONDS, Dialer, Later
from covey.wire.standing.hub import EnrolmentRefused
from covey.wire.standing.words import Delivered, Enrol, Enrolled, Refused, SignedKey, Waiting


@dataclass(frozen=True)
class EnrolmentDesk:
    """The collector's decisions on who is enrolled, kept in its register."""

    opened: Opened
    own: str
    """The fingerprint of the collector's certificate."""
    register: Register
    invitations: Invitations
    clock: Callable[[], float] = time.time
    trustees: Mapping[str, Certificate] = field(default_factory=dict)
    """The trustees that the study names, who need no invitation."""
    receipts: Receipts | None = None
    """Receipts for answers, where respondents hand them in before the session."""
    folder: Path = Path()
    """The collector's folder."""

    @staticmethod
    def of(study: Study, keys: Keys, register: Register, folder: Path) -> EnrolmentDesk:
        """The desk of the collection in that folder."""
        opened, named = register.held.opened, study.of_party_role("trustee")
        if opened is None:
            raise InputError(f"{folder}: the register has no beginning")
        known = Roster.of(study).certificates
        return EnrolmentDesk(
            opened,
            fingerprint(keys.certificate.der),
            register,
            Invitations(folder),
            trustees={name: known[name] for name in named},
            receipts=Receipts.of(study, keys) if by_peeling(study) else None,
            folder=folder,
        )

    def certificates(self) -> list[bytes]:
        """The certificates of the trustees and of everyone who is enrolled, in DER."""
        return [*(trustee.der for trustee in self.trustees.values()), *self.register.certificates()]

    def handle_of(self, certificate: bytes) -> str | None:
        """The handle of an enrolled certificate, or a trustee's name."""
        named = {trustee.der: name for name, trustee in self.trustees.items()}
        return named.get(certificate) or self.register.held.by_certificate.get(fingerprint(certificate))

    def deliver(self, handle: str, content: bytes) -> Delivered:
        """Keeps a respondent's answer, and gives the receipt; the same answer once more gets the same receipt.

        Raises EnrolmentRefused for another answer than the first, one that is none, and one that comes too late.
        """
        held, encoded = self.register.held, base64.b64encode(content).decode()
        if self.receipts is None or handle in self.trustees:
            raise EnrolmentRefused("this collection takes no answers in this way")
        if len(self.keys()) < len(self.trustees):
            raise EnrolmentRefused("the trustees have not come yet; try again later")
        line = self.receipts.line(handle, content, self._key_of(handle))
        before = held.answers.get(handle)
        if before is not None and before != encoded:
            raise EnrolmentRefused("another answer came before under this handle, and it stands", code="used")
        if before is None:
            if held.started is not None or held.ended is not None:
                raise EnrolmentRefused("the answers are closed; this one came too late", code=self.standing)
            self.register.add(AnswerLine(handle, encoded, moment()))
        return Delivered(line, self.receipts.sign(handle, line))

    def serve(self, handle: str, key: bytes, signature: bytes) -> None:
        """Keeps a trustee's key for letters. Raises EnrolmentRefused for another key than letters are sealed to."""
        held, own = self.register.held, SignedKey(handle, key, signature)
        if handle not in self.trustees or not is_signed(self.opened.study_hash, self.trustees[handle], own):
            raise EnrolmentRefused("the key for letters is not signed by a trustee of this collection")
        before = held.trustees.get(handle)
        if before is not None and before.key == key.hex():
            return
        if held.answers:
            raise EnrolmentRefused(
                f"{len(held.answers):,} letters are sealed to another key of trustee {handle!r}, and nobody else can "
                "open them: come with the folder that has it. If that is lost, nothing restores it: begin another "
                "collection, to which everybody has to send again"
            )
        self.register.add(TrusteeLine(handle, key.hex(), signature.hex(), moment()))

    def keys(self) -> list[SignedKey]:
        """The keys of the trustees who have come so far."""
        lines = sorted(self.register.held.trustees.items())
        return [SignedKey(name, bytes.fromhex(line.key), bytes.fromhex(line.signature)) for name, line in lines]

    def _key_of(self, handle: str) -> bytes:
        """The key with which a respondent signs: its certificate's, or a page's own."""
        row = self.register.held.enrolled[handle]
        content = base64.b64decode(row.certificate)
        if row.page:
            return content
        key: bytes = x509.load_der_x509_certificate(content).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return key

    def enrol(self, asked: Enrol, nonce: bytes, *, closed: bool) -> tuple[str, bool]:
        """The handle for a caller's certificate, and whether it is new. Raises EnrolmentRefused."""
        return self._admit(asked.study, asked.secret, lambda: self._proven(asked, nonce), closed=closed)

    def enrol_page(self, study: bytes, secret: bytes, key: bytes, signature: bytes) -> tuple[str, bool]:
        """The handle for the key that a page has made in a browser, and whether it is new. Raises EnrolmentRefused."""

        def proven() -> bytes:
            if not verifies(key, signature, statement(self.opened.study_hash, self.own, b"", secret, key)):
                raise EnrolmentRefused("the key is another's")
            return key

        return self._admit(study, secret, proven, closed=False, page=True)

    def _admit(
        self, study: bytes, secret: bytes, proven: Callable[[], bytes], *, closed: bool, page: bool = False
    ) -> tuple[str, bool]:
        held, token = self.register.held, digest(secret)
        if study.hex() != self.opened.study_hash:
            raise EnrolmentRefused("the collection is of another study, or of another version of it")
        expiry = self.invitations.expiry(token)
        if expiry is None:
            raise EnrolmentRefused("this invitation is not known here", guess=True, code="unknown")
        own = proven()
        before = held.by_invitation.get(token)
        mine = self.handle_of(own)
        if before is not None and before != mine:
            raise EnrolmentRefused("this invitation was used already, with another key", guess=True, code="used")
        if mine is not None:
            return mine, False  # enrolled before, and the answer was lost: the same handle
        if self.clock() > expiry:
            raise EnrolmentRefused("this invitation has expired; ask the organiser for a new one", code="expired")
        if held.started is not None or held.ended is not None or closed:
            raise EnrolmentRefused("the collection has begun, and nobody can enrol any more", code=self.standing)
        return self.register.enrol(own, token, page=page), True

    @property
    def standing(self) -> str:
        """A word for how the collection stands: open, full (as many answered as were needed), closed or over."""
        held = self.register.held
        if held.ended is not None:
            return "over"
        return "open" if held.started is None else "closed" if self.opened.closes else "full"

    def state_of(self, token: str) -> str:
        """A word for what an invitation is good for now; `token` is the hash of its secret."""
        expiry = self.invitations.expiry(token)
        if expiry is None:
            return "unknown"
        if token in self.register.held.by_invitation:
            return "used"
        return self.standing if self.standing != "open" or self.clock() <= expiry else "expired"

    def ready(self, handle: str) -> None:
        """Notes that a respondent has its answers and takes part, if the collection has not begun."""
        held = self.register.held
        if handle in self.trustees or self.receipts is not None:
            return
        if handle not in held.ready and held.started is None and held.ended is None:
            self.register.add(ReadyLine(handle, moment()))

    def waiting(self) -> Waiting:
        """The word to a respondent before the collection begins."""
        return Waiting(len(self.register.held.ready), self.opened.quorum, self.opened.closes)

    def excluded(self, members: Iterable[str]) -> dict[str, str]:
        """Everyone who is enrolled and not among these members, and why."""
        held, here = self.register.held, set(members)
        late = "was not ready when the collection began"
        return {handle: held.left.get(handle, late) for handle in held.enrolled if handle not in here}

    def _proven(self, asked: Enrol, nonce: bytes) -> bytes:
        """The certificate that a caller shows, once the caller has proved that it holds the key."""
        try:
            parsed = x509.load_der_x509_certificate(asked.certificate)
            shown = Certificate.parse(parsed.public_bytes(Encoding.PEM), None)
        except (ValueError, AccessError):
            raise EnrolmentRefused("the certificate is not one that covey makes") from None
        content = statement(self.opened.study_hash, self.own, nonce, asked.secret, shown.der)
        if shown.der != asked.certificate or not verifies(shown.public_key, asked.signature, content):
            raise EnrolmentRefused("the certificate is not one that covey makes, or its key is another's")
        return shown.der


async def enrol(dialer: Dialer, hub: str, invitation: Invitation, keys: Keys) -> str:
    """Enrols a respondent's key with its invitation; returns the handle. Raises AccessError for a final refusal."""
    connection, hello = await dialer.connect(known=False)
    try:
        own, secret = keys.certificate.der, invitation.secret
        content = statement(invitation.study.hex(), invitation.fingerprint.hex(), hello.nonce, secret, own)
        await connection.say(Enrol(secret, own, invitation.study, keys.tls.sign(content)))
        async with asyncio.timeout(GREETING_SECONDS):
            answer = await connection.read()
    finally:
        await connection.close()
    if isinstance(answer, Refused):
        if answer.final:
            raise AccessError(f"the collector refuses: {plain(answer.why)}")
        raise Later(plain(answer.why))
    if not isinstance(answer, Enrolled):
        raise PeerError(party=hub, step="enrolment", reason="an answer that is none")
    if plain(answer.handle) != answer.handle:
        raise PeerError(party=hub, step="enrolment", reason="a handle with control characters")
    return answer.handle


def statement(study_hash: str, collector: str, nonce: bytes, secret: bytes, certificate: bytes) -> bytes:
    """The bytes that a caller signs with its certificate's key when it enrols."""
    parts = (study_hash, collector, nonce, secret, hashlib.sha256(certificate).digest())
    return spell("covey enrolment/1", *parts)
