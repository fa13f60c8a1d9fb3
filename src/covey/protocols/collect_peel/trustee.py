"""A trustee's role: opens its letters, peels with the others, and tells the collector what came out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.letter import LetterKey
from covey.errors import Aborted, PeerError
from covey.protocols.collect_peel import leakage, letters, post
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.messages import Approved, Asked, BoardHead, BoardPage, Era, Published, TrusteeFindings
from covey.protocols.collect_peel.parameters import Parameters, hub_of
from covey.protocols.collect_peel.peeling import TrusteePeeling, TrusteeState
from covey.protocols.protocol import Proposal, Result, Seat
from covey.secure.equals.trustees import Trustees
from covey.wire import Bytes32, Channel, Message, Vector

_FOREVER = 400 * 86400.0


class Agreed(Message, tag="collect.agreed"):
    """The hash of the board that the sender was given."""

    board: Bytes32


class Reached(Message, tag="collect.reached"):
    """The last visit that the sender has finished, and the products that it has left."""

    visited: int
    stock: int


async def trustee(seat: Seat) -> Result:
    """The role of a trustee that the study names."""
    hub = hub_of(seat.study)
    asked = await seat.channel.at("asked").receive(hub, Asked, patience=_FOREVER)
    keys = checked(seat, hub, asked)
    if seat.letters is None or seat.letters.own is None:
        raise TypeError("a trustee needs a key for letters")
    await Serving(seat, hub, seat.letters.own, keys).serve()
    return Result()


def checked(seat: Seat, hub: str, asked: Asked) -> dict[str, bytes]:
    """The trustees and their keys. Raises PeerError if the collector names others than the study does."""
    named = Parameters.of(seat.study)
    keys = dict(zip(asked.trustees, asked.keys, strict=False))
    known = {} if seat.letters is None else seat.letters.known
    wrong = (
        len(asked.keys) != len(asked.trustees)
        or len(keys) != named.committee
        or (named.trustees and tuple(sorted(keys)) != named.trustees)
        or any(keys[name] != known.get(name) for name in named.trustees)
    )
    if wrong:
        raise PeerError(party=hub, step="asked", reason="it names other trustees, or other keys, than the study does")
    return keys


@dataclass
class Serving:
    """A trustee at work: era after era, until the release is made."""

    seat: Seat
    hub: str
    own: LetterKey
    keys: Mapping[str, bytes]
    peeling: TrusteePeeling | None = None
    left_out: list[str] = field(default_factory=list)
    states: list[TrusteeState] = field(default_factory=list)
    """The states after each visit, the first before any."""

    def __post_init__(self) -> None:
        self.parameters, self.layout = Parameters.of(self.seat.study), RecordLayout.of(self.seat.study)

    async def serve(self) -> None:
        """Works to the end. Raises PeerError or Aborted if that cannot be."""
        channel, trustees = self.seat.channel, Trustees.of(self.keys, self.seat.channel.me)
        at, era = channel.at("era"), 0
        while True:
            work = asyncio.ensure_future(self._work(trustees, era))
            news = asyncio.ensure_future(at.receive(self.hub, Era, patience=_FOREVER))
            try:
                await asyncio.wait({work, news}, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    return work.result()
                said = news.result()
            finally:
                for task in (work, news):
                    task.cancel()
                await asyncio.gather(work, news, return_exceptions=True)
            gone = [name for name in trustees.present if name not in said.present]
            if said.number != era + 1 or not gone or not set(said.present) < set(trustees.present):
                raise PeerError(party=self.hub, step="era", reason="it names trustees that cannot be those who stay")
            for name in gone:
                trustees = trustees.without(name)
            era += 1

    async def _work(self, trustees: Trustees, era: int) -> None:
        seat = self.seat
        private = post.private_channel(
            seat.channel, self.hub, self.own, {name: self.keys[name] for name in trustees.present}, era
        )
        if era == 0:
            await self._begin(private, trustees)
        elif self.peeling is None or not self.states:
            raise Aborted("a trustee left before the products were made; nothing was opened", resumable=False)
        peeling, state = await self._agreed(private.at("reached"), trustees, era)
        seat.progress.phase("visits", len(state.nodes))
        while not peeling.done(state):
            state = await peeling.visit(private.at("visit", state.visited), state)
            self.states.append(state)
            seat.progress.reach(state.visited)
        await self._publish(private.at("publish"), peeling, state, era)

    async def _begin(self, private: Channel, trustees: Trustees) -> None:
        """From the board to the first state."""
        seat = self.seat
        handles, read, board = await self._board()
        for name, theirs in (await private.at("board").exchange(Agreed(board))).items():
            if theirs.board != board:
                raise PeerError(party=self.hub, step="board", reason=f"it gave {name} another board than us")
        seat.ledger.learns(leakage.BOARD, respondents=f"{len(handles):,}")
        seat.progress.phase("shuffle")
        peeling, kept = await TrusteePeeling.begin(private.at("begin"), trustees, self.parameters, self.layout, read)
        stay = set(kept)
        self.left_out = [handle for place, handle in enumerate(handles) if place not in stay]
        seat.progress.phase("marginals")
        counts: list[Longs] = []
        if self.parameters.reference is None:
            seat.ledger.learns(leakage.MARGINALS, k=self.parameters.k)
            counts = await peeling.count_values(private.at("values"))
        for learned, numbers in leakage.visits(self.parameters):
            seat.ledger.learns(learned, **numbers)
        self.peeling = peeling
        self.states = [await peeling.prepare(private.at("list"), counts)]

    async def _board(self) -> tuple[list[str], list[Words | None], bytes]:
        """Our letters by handle, opened, and the hash of the board."""
        seat, at = self.seat, self.seat.channel.at("board")
        due = (await at.receive(self.hub, BoardHead, patience=_FOREVER)).answers
        handles: list[str] = []
        lines: list[bytes] = []
        read: list[Words | None] = []
        place = sorted(self.keys).index(seat.channel.me)
        width, each = self.layout.width, len(self.keys)
        while len(handles) < due:
            page = await at.receive(self.hub, BoardPage, patience=_FOREVER)
            count = len(page.handles)
            if (
                not count
                or len(handles) + count > due
                or len(page.letters) != count
                or len(page.digests) != count * each
            ):
                raise at.refusal(self.hub, "a page of the board that has more or fewer answers than it says")
            for number, (handle, sealed) in enumerate(zip(page.handles, page.letters, strict=True)):
                digests = page.digests[number * each : (number + 1) * each]
                if hashlib.sha256(sealed).digest() != digests[place]:
                    raise at.refusal(self.hub, "a letter that is not the one on the board")
                handles.append(handle)
                lines.append(letters.line_of(handle, digests))
                read.append(letters.read(seat.study.study_hash, handle, seat.channel.me, self.own, sealed, width))
        if len(set(handles)) != len(handles):
            raise at.refusal(self.hub, "a board with two answers of one handle")
        return handles, read, letters.board(seat.study.study_hash, lines)

    async def _agreed(self, channel: Channel, trustees: Trustees, era: int) -> tuple[TrusteePeeling, TrusteeState]:
        """The state that all have, with the same products left: in a later era some may be a visit ahead."""
        peeling = self.peeling
        if peeling is None:
            raise Aborted("the trustees have not begun", resumable=False)
        if era == 0:
            return peeling, self.states[-1]
        peeling.counter.trustees = trustees
        supply = peeling.counter.supply
        own = Reached(self.states[-1].visited, len(supply))
        theirs = (await channel.exchange(own)).values()
        visited, stock = min(each.visited for each in (own, *theirs)), min(each.stock for each in (own, *theirs))
        if not 0 <= visited < len(self.states) or not 0 <= stock <= len(supply):
            raise Aborted("the trustees that stay are not at the same visit", resumable=False)
        supply.take(len(supply) - stock)
        self.states = self.states[: visited + 1]
        self.seat.ledger.learns(leakage.GONE)
        return peeling, self.states[-1]

    async def _publish(self, private: Channel, peeling: TrusteePeeling, state: TrusteeState, era: int) -> None:
        """Tells the collector the classes and, once it agrees, the rows."""
        seat, at = self.seat, self.seat.channel.at("found", era)
        boxes = np.stack(state.boxes).ravel() if state.boxes else np.zeros(0)
        await at.send(
            self.hub,
            TrusteeFindings(
                self.left_out,
                len(peeling.records),
                Vector(boxes.astype(np.uint64)),
                Vector(np.array(state.sizes, dtype=np.uint64)),
            ),
        )
        seat.progress.phase("release")
        await seat.approve(Proposal(leakage.ROWS))
        await at.receive(self.hub, Approved, patience=_FOREVER)
        seat.ledger.learns(leakage.ROWS)
        klass, cells = await peeling.open_cells(private.at("cells"), state)
        await at.at("rows").send(self.hub, Published(Vector(klass.astype(np.uint64)), cells))
