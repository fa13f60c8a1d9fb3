"""Deadlines of a collection: a respondent that is asked and does not answer in time has left."""

from __future__ import annotations

import asyncio

from covey.party.collection.status import Board
from covey.wire import Channel
from covey.wire.standing.hub import Hub


async def expel_late(hub: Hub, channel: Channel, board: Board, allowed: float) -> None:
    """Expels each respondent that does not answer within so many seconds, for as long as this runs.

    Only the time in which this collector was awake counts: what came while it was stalled has yet to be read.
    """
    loop = asyncio.get_running_loop()
    tick = min(1.0, allowed / 10)
    awake, last = 0.0, loop.time()
    since: dict[str, tuple[float, float]] = {}  # by respondent: asked since when, and the time of its last letter then
    while True:
        now = loop.time()
        awake, last = awake + min(now - last, 2 * tick), now
        before, since = since, {}
        for name in channel.waiting:
            heard = hub.last_letter.get(name, 0.0)
            begun, known = before.get(name, (awake, heard))
            since[name] = (begun if known == heard else awake, heard)
        due = {name: begun + allowed - awake for name, (begun, _) in since.items()}
        for name, left in due.items():
            if left <= 0:
                hub.expel(name, "did not answer in time")
        board.due({name: now + left for name, left in due.items()})
        await asyncio.sleep(tick)
