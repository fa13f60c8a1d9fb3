"""A trustee's role: opens its letters, peels with the others, and tells the collector what came out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.letter import LetterKey
from covey.errors import Aborted, PeerError
from covey.protocols.collect_peel import leakage, letters, post
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.messages import Approved, Asked, BoardHead, BoardPage, Published, TrusteeFindings
from covey.protocols.collect_peel.parameters import Parameters, hub_of
from covey.protocols.collect_peel.peeling import TrusteePeeling, TrusteeState
from covey.protocols.protocol import Proposal, Result, Seat
from covey.secure.equals.trustees import Trustees
from covey.wire import Bytes32, Channel, Message, Vector

_FOREVER = 400 * 86400.0


class Agreed(Message, tag="collect.agreed"):
    """The hash of the board that the sender was given."""

    board: Bytes32


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
    """A trustee at work, until the release is made."""

    seat: Seat
    hub: str
    own: LetterKey
    keys: Mapping[str, bytes]
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parameters, self.layout = Parameters.of(self.seat.study), RecordLayout.of(self.seat.study)

    async def serve(self) -> None:
        """Works to the end. Raises PeerError or Aborted if that cannot be."""
        seat, trustees = self.seat, Trustees.of(self.keys, self.seat.channel.me)
        private = post.private_channel(seat.channel, self.hub, self.own, self.keys)
        peeling, state = await self._begin(private, trustees)
        seat.progress.phase("visits", len(state.nodes))
        while not peeling.done(state):
            state = await peeling.visit(private.at("visit", state.visited), state)
            seat.progress.reach(state.visited)
        await self._publish(private.at("publish"), peeling, state)

    async def _begin(self, private: Channel, trustees: Trustees) -> tuple[TrusteePeeling, TrusteeState]:
        """From the board to the first state."""
        seat = self.seat
        handles, read, board = await self._board()
        for name, theirs in (await private.at("board").exchange(Agreed(board))).items():
            if theirs.board != board:
                raise Aborted(
                    f"{self.hub} gave {name} another board of answers than us, or {name} says so falsely; nothing was "
                    "opened: compare the boards before you collect again",
                    resumable=False,
                )
        seat.ledger.learns(leakage.BOARD, respondents=f"{len(handles):,}")
        seat.progress.phase("shuffle")
        peeling, kept = await TrusteePeeling.begin(private.at("begin"), trustees, self.parameters, self.layout, read)
        stay = set(kept)
        self.left_out = [handle for place, handle in enumerate(handles) if place not in stay]
        if self.left_out:
            seat.ledger.learns(leakage.LEFT_OUT, left_out=len(self.left_out), respondents=f"{len(handles):,}")
        seat.progress.phase("marginals")
        counts: list[Longs] = []
        if self.parameters.reference is None:
            seat.ledger.learns(leakage.MARGINALS, k=self.parameters.k)
            counts = await peeling.count_values(private.at("values"))
        seat.note(*leakage.visits(self.parameters))
        seat.ledger.learns(leakage.MAJORITY)
        return peeling, await peeling.prepare(private.at("list"), counts)

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

    async def _publish(self, private: Channel, peeling: TrusteePeeling, state: TrusteeState) -> None:
        """Tells the collector the classes and, once it agrees, the rows."""
        seat, at = self.seat, self.seat.channel.at("found")
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
        if (withheld := sum(state.sizes) - len(klass)) > 0:
            seat.ledger.learns(leakage.BROKEN, withheld=withheld)
        await at.at("rows").send(self.hub, Published(Vector(klass.astype(np.uint64)), cells))
        await at.at("rows").receive(self.hub, Approved, patience=_FOREVER)  # it carries letters until then
