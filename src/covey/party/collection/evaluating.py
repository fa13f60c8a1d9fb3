"""The collector's end of the run on letters: an ordinary one with three trustees, who come and go.

The letters are closed and the board is published before it begins. Where a trustee is cut off, all meet again and the
session goes on from the journals.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from covey.crypto.rng import fresh_seed
from covey.errors import Aborted
from covey.party.collection.opening import Collection
from covey.party.collection.register import Ended, Started, moment
from covey.party.collection.status import Board
from covey.party.identity.roster import Roster
from covey.party.record.names import JOURNAL
from covey.party.session.journal import Journal
from covey.party.session.playing import Participant
from covey.party.session.resume import ResumableRun
from covey.protocols.protocol import Letters
from covey.summary import Summary
from covey.wire import Link
from covey.wire.standing.hub import Hub

FAREWELL_SECONDS = 10.0
_FOREVER = 10 * 365 * 86400.0


async def evaluate(collection: Collection, hub: Hub, board: Board) -> None:
    """Runs with the trustees to the end, and writes the folder. Raises what ended the run."""
    held, desk, trustees = collection.register.held, collection.desk, hub.room.trustees
    if held.started is None and desk.receipts is not None:
        desk.receipts.publish(collection.folder.path, collection.answers)
        collection.register.add(Started(1, "", list(trustees), moment()))
        collection.note(f"the answers are closed; three trustees evaluate {len(held.answers):,} letters")
    board.members = trustees
    collection.journal.close()
    while not await _meeting(collection, hub, board):
        continue
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_SECONDS):
            while not hub.room.done.issuperset(trustees):
                hub.room.changed.clear()
                if (
                    not hub.room.missing and not hub.room.meeting
                ):  # one was cut off before it was done: all have come again
                    await _meeting(collection, hub, board)
                else:
                    await hub.room.changed.wait()
    collection.register.add(Ended("the collection is finished", released=True, time=moment()))
    collection.note("the collection is finished")


async def _meeting(collection: Collection, hub: Hub, board: Board) -> bool:
    """Goes on with the run over one meeting; returns True if the run is finished. Raises what ended it."""
    with contextlib.closing(Journal.resume(collection.folder.path / JOURNAL, collection.keys.journal)) as journal:
        participant = Participant(
            collection.study, collection.protocol, collection.party, None, collection.keys,
            Roster.of(collection.study), fresh_seed(), listener=collection.service.listener, log=collection.log,
            patience=_FOREVER, journal=journal, letters=Letters(collection.answers),
        )  # fmt: skip
        collection.progress = board.progress = participant.progress
        collection.ledger = participant.ledger
        run = ResumableRun(participant, collection.folder, journal, for_others=True)
        run.prepare()

        @asynccontextmanager
        async def meet() -> AsyncIterator[Link]:
            async with (
                participant.progress.ticking(),
                hub.room.met(collection.desk.keys, _patience(collection)) as link,
            ):
                yield link

        try:
            await run.run(meet)
        except Aborted as error:
            if not error.resumable or error.party is None:
                raise
            collection.note(f"{error}")
            return False
        collection.summary = run.summary or Summary()
        return True


def _patience(collection: Collection) -> Callable[[tuple[str, ...]], None]:
    """Returns what is told who is missing, and raises Aborted once that has lasted too long."""
    since: dict[str, float] = {}

    def absent(names: tuple[str, ...]) -> None:
        now = time.monotonic()
        for name in {*since} - {*names}:
            del since[name]
        for name in names:
            if now - since.setdefault(name, now) > collection.service.phase_seconds:
                raise Aborted(
                    f"trustee {name!r} was not connected for {collection.service.phase_seconds:,.0f} seconds, and "
                    "cannot be done without. Nothing was released; when it is back, run the same command again: "
                    "everything goes on from here. If its key or its folder is lost, nothing restores them: begin "
                    "another collection, to which everybody has to send again",
                    resumable=True,
                )

    return absent
