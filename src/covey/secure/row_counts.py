"""Row counts: every party with rows states how many it brings, and the others see that before they approve.

Source    ours; one exchange before the roles begin, where a study has `sizes = "public"`.
Roles     every party with rows states their number to every other; the rest listen.
Security  a statement is a message of the session, signed with its sender's key: it cannot be denied. Whoever states
          different numbers to different parties is found at the vote, which names what was shown; numbers that do not
          add up to the records that were counted jointly end the run before anything is opened.
Not       it does not show that rows are of real people, nor whose number is wrong where the sum is.
"""

from __future__ import annotations

from collections.abc import Mapping

from covey.errors import Aborted
from covey.plain import listed
from covey.secure.declare import TOTALS, Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Channel, Count, Message, gather

STEP = "stated"
TAG = "covey.rows"
MESSAGE_BYTES = FRAME_BYTES + 21

LEAKAGE = Leakage(everyone=("how many rows each party has, as each states before the search and signs",), about=TOTALS)
STATED = Leakage(everyone=("these numbers of rows, as stated: {stated}",), about=TOTALS)
COST = Cost(lambda parties, holders: Traffic(1, holders * (parties - 1), holders * (parties - 1) * MESSAGE_BYTES))


class StatedRows(Message, tag=TAG):
    """The number of the sender's rows."""

    rows: Count


async def state(channel: Channel, holders: tuple[str, ...], mine: int) -> dict[str, int]:
    """Exchanges and returns the holders' statements, in their order; `mine` is this party's own, if it is one."""

    async def tell() -> int:
        if channel.me in holders:
            await channel.broadcast(StatedRows(mine))
        return mine

    async def hear(peer: str) -> int:
        return (await channel.receive(peer, StatedRows)).rows

    others = [name for name in holders if name != channel.me]
    _, *theirs = await gather(tell(), *(hear(peer) for peer in others))
    return ideal({**dict(zip(others, theirs, strict=True)), channel.me: mine}, holders)


def ideal(rows: Mapping[str, int], holders: tuple[str, ...]) -> dict[str, int]:
    """A trusted party's answer: the holders' numbers, in their order."""
    return {name: rows[name] for name in holders}


def require_sum(stated: Mapping[str, int], records: int) -> None:
    """Raises Aborted where the statements do not add up to the records that the parties counted jointly."""
    total = sum(stated.values())
    if stated and total != records:
        raise Aborted(
            f"the parties stated {total:,} rows in all, and {records:,} were counted jointly: one of them entered "
            "another number of rows than it stated; nothing was released",
            resumable=False,
        )


def spelled(stated: Mapping[str, int]) -> str:
    """The statements in words: north 1,000, south 1,400 and east 600."""
    return listed([f"{name} {rows:,}" for name, rows in stated.items()])


def warnings(stated: Mapping[str, int], k: int) -> tuple[str, ...]:
    """A warning of each party beside which all others have fewer than k rows."""
    total = sum(stated.values())
    return tuple(
        f"party {name} has {rows:,} of the {total:,} rows, so that all others have fewer than k = {k}: each of theirs "
        "shares a class with rows that this party knows"
        for name, rows in stated.items()
        if total - rows < k
    )
