"""Callers that do not behave: raw connections to a collector, with or without a certificate."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

from covey.party.collection.enrolment import statement
from covey.party.collection.invitation import Invitation
from covey.party.collection.responding import Respondent
from covey.party.identity.keys import Keys
from covey.wire.standing import words
from covey.wire.standing.connection import Connection
from covey.wire.standing.words import Said


@dataclass
class Caller:
    """One connection of somebody who says what a test wants."""

    connection: Connection
    hello: words.Hello

    async def heard(self, seconds: float = 5.0) -> Said | bytes | None:
        """The next thing that is said; None if the line was cut."""
        try:
            async with asyncio.timeout(seconds):
                return await self.connection.read()
        except TimeoutError:
            raise AssertionError("the line is open, and nothing is said") from None
        except (EOFError, OSError, ssl.SSLError):
            return None


async def stranger(person: Respondent) -> Caller:
    """A caller without a certificate."""
    return Caller(*await person.dialer.connect(known=False))


async def known(person: Respondent) -> Caller:
    """A caller with that person's certificate, who has said that it is ready."""
    connection, hello = await person.dialer.connect(known=True)
    await connection.say(words.Ready(person.invitation.study, hello.software, hello.protocol))
    connection.enlarge()
    return Caller(connection, hello)


async def enrolled(person: Respondent) -> str:
    """Enrols, and no more."""
    handle = await person.enrol()
    person.home.keep_handle(person.invitation, handle)
    return handle


async def asked(
    person: Respondent, *, keys: Keys | None = None, invitation: Invitation | None = None, study: bytes | None = None
) -> Said | bytes | None:
    """What the collector answers to an enrolment with this in it."""
    caller = await stranger(person)
    own, shown = keys or person.keys, invitation or person.invitation
    content = statement(
        person.study.study_hash, shown.fingerprint.hex(), caller.hello.nonce, shown.secret, own.certificate.der
    )
    word = words.Enrol(shown.secret, own.certificate.der, study or shown.study, own.tls.sign(content))
    await caller.connection.say(word)
    try:
        return await caller.heard()
    finally:
        await caller.connection.close()
