"""The page of a collection for browsers: answered while people are collected from, and once the collection is over."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from covey.errors import InputError
from covey.party.collection import page
from covey.party.collection.eligibility import address_of, collected, place_of
from covey.party.collection.enrolment import EnrolmentDesk
from covey.party.collection.opening import Collection, CollectorTask
from covey.party.collection.register import Opened, Register, moment
from covey.party.collection.web import Web
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.session.run import cancel_on
from covey.study import Study
from covey.wire import Address
from covey.wire.relay import RelayedParty
from covey.wire.standing.hub import Hub


def stay(service: CollectorTask) -> str:
    """Serves the page of a collection that is over, so that people read so, and check their receipts, until Ctrl-C.

    Returns a sentence. Raises InputError where the collection is not over.
    """
    study, party = collected(service.study)
    keys = keyring.load(service.keys)
    Roster.of(study).require(keys, party)
    register = Register.open(service.out, Opened(study.study_hash, 0, 0, moment()))
    with contextlib.closing(register), asyncio.Runner() as runner, contextlib.suppress(asyncio.CancelledError):
        relay = _relay_for_pages(study, place_of(study, party, service.listen or address_of(study, party)))
        if register.held.ended is None or (service.web is None and relay is None):
            raise InputError(f"{service.out}: the collection is not over")
        web = Web(study, EnrolmentDesk.of(study, keys, register, service.out), service.notice)
        browsers = web.open(service.web, relay, keyring.files(service.keys, party)[1], keys)
        runner.run(_stay(browsers, service.notice))
    return "The page is no longer served."


async def _stay(browsers: AbstractAsyncContextManager[str], notice: Callable[[str], None]) -> None:
    cancel_on(signal.SIGTERM, signal.SIGINT)
    async with browsers as where:
        notice(f"the collection is over; its page is at {where}, until this is interrupted")
        await asyncio.Event().wait()


def meets_pages(path: Path) -> bool:
    """True if pages in browsers speak with the collector over the study's relay."""
    return page.site(collected(path)[0]) is not None


def _relay_for_pages(study: Study, where: Address | RelayedParty) -> RelayedParty | None:
    """The collector at the relay, if it is met there, and pages in browsers speak with it there."""
    return where if isinstance(where, RelayedParty) and page.site(study) is not None else None


@contextlib.asynccontextmanager
async def answered(collection: Collection, hub: Hub) -> AsyncIterator[None]:
    """Answers browsers while the block runs: at a port if it was asked to, and at the relay if we are there."""
    task, relay = collection.service.web, _relay_for_pages(collection.study, collection.where)
    if task is None and relay is None:
        yield
        return
    web = Web(collection.study, collection.desk, collection.note)
    web.changed = hub.changed.set
    async with web.open(task, relay, collection.files[1], collection.keys) as where:
        collection.note(f"browsers are answered at {where}")
        yield
