"""The collector's role: it takes sealed answers, carries the trustees' letters, and gets the release."""

from __future__ import annotations

import hashlib
from collections import Counter as Tally
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.rng import spell
from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.protocols.collect_peel import leakage, letters, post
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.letters import Receipt, RespondentLetters
from covey.protocols.collect_peel.messages import (
    PER_PAGE,
    Approved,
    Asked,
    BoardHead,
    BoardPage,
    Published,
    TrusteeFindings,
    TrusteeKey,
)
from covey.protocols.collect_peel.parameters import Parameters
from covey.protocols.protocol import Proposal, Result, Seat
from covey.protocols.shared.diversity import require_diverse
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.rows import Rows
from covey.wire import Channel, Message, gather
from covey.wire.depth import beside
from covey.wire.message import encode

M = TypeVar("M", bound=Message)
_FOREVER = 400 * 86400.0


async def collector(seat: Seat) -> Result:
    """Takes answers, or has them already, and leads the trustees to the release."""
    parameters, layout = Parameters.of(seat.study), RecordLayout.of(seat.study)
    seat.progress.phase("answers")
    keys, answers = await gather_answers(seat, parameters)
    if len(answers) < parameters.k:
        raise Unmet(f"fewer than k = {parameters.k} respondents answered; nothing can be released")
    hub = Collecting(seat, parameters, layout, tuple(sorted(keys)))
    seat.ledger.learns(leakage.BOARD, respondents=f"{len(answers):,}")
    if parameters.reference is None:
        seat.ledger.learns(leakage.MARGINALS, k=parameters.k)
    seat.note(*leakage.visits(parameters))
    seat.ledger.learns(leakage.MAJORITY)
    await hub.show_board(answers)
    seat.progress.phase("visits")
    return await hub.lead(len(answers))


async def gather_answers(seat: Seat, parameters: Parameters) -> tuple[dict[str, bytes], dict[str, RespondentLetters]]:
    """The trustees with their keys, and everyone's answer by handle."""
    channel, named = seat.channel, parameters.trustees
    people = [name for name in channel.peers if name not in named]
    if named:
        known = {} if seat.letters is None else seat.letters.known
        missing = [name for name in named if name not in known]
        if missing:
            raise InputError(f"the study gives no certificate for trustee {missing[0]!r}")
        keys = {name: known[name] for name in named}
    else:
        if len(people) < max(parameters.k, parameters.committee):
            raise Unmet(f"fewer than k = {parameters.k} respondents took part; nothing can be released")
        enrolled = await gather(*(channel.at("enrol").receive(name, TrusteeKey) for name in people))
        keys = drawn(
            channel.session, dict(zip(people, (each.key for each in enrolled), strict=True)), parameters.committee
        )
    asked = Asked(sorted(keys), [keys[name] for name in sorted(keys)])
    told = {*people, *named} if seat.delivered is None else set(named)
    await gather(*(channel.at("asked").send(name, asked) for name in sorted(told)))
    if seat.delivered is not None:
        return keys, {name: letters.unpack(raw, len(keys)) for name, raw in sorted(seat.delivered.items())}

    async def take(name: str) -> RespondentLetters:
        at = channel.at("answer")
        answer = await at.receive(name, RespondentLetters)
        if len(answer.letters) != len(keys):
            raise PeerError(party=name, step="answer", reason="it did not write to every trustee")
        await at.send(name, Receipt(letters.line(name, answer)))
        return answer

    given = await gather(*(take(name) for name in people))
    return keys, dict(zip(people, given, strict=True))


def drawn(session: bytes, keys: Mapping[str, bytes], size: int) -> dict[str, bytes]:
    """The respondents who serve as trustees: those whose hash with all keys is smallest."""
    everyone = hashlib.sha256(
        spell("collect draw", session, *(part for name in sorted(keys) for part in (name, keys[name])))
    )

    def lot(name: str) -> bytes:
        return hashlib.sha256(everyone.digest() + name.encode()).digest()

    return {name: keys[name] for name in sorted(sorted(keys, key=lot)[:size])}


@dataclass
class Collecting:
    """The collector among the trustees."""

    seat: Seat
    parameters: Parameters
    layout: RecordLayout
    present: tuple[str, ...]

    async def show_board(self, answers: Mapping[str, RespondentLetters]) -> None:
        """Gives each trustee the board with the letters to it."""
        handles = sorted(answers)
        digests = {name: [hashlib.sha256(each).digest() for each in answers[name].letters] for name in handles}

        async def show(place: int, trustee: str) -> None:
            at = self.seat.channel.at("board")
            await at.send(trustee, BoardHead(len(handles)))
            for first in range(0, len(handles), PER_PAGE // 4):
                page = handles[first : first + PER_PAGE // 4]
                shown = [answers[name].letters[place] for name in page]
                await at.send(trustee, BoardPage(page, [each for name in page for each in digests[name]], shown))

        await gather(*(show(place, name) for place, name in enumerate(self.present)))

    async def lead(self, answers: int) -> Result:
        """Carries the trustees' letters until they have told what they found."""
        seat, study = self.seat, self.seat.study
        trees, at = self.layout.trees, seat.channel.at("found")
        found = await self._while_carrying(lambda: self._heard(at, TrusteeFindings))
        self.parameters.require_most(answers, found.records)
        if found.records < answers:
            left_out = answers - found.records
            seat.ledger.learns(leakage.LEFT_OUT, left_out=left_out, respondents=f"{answers:,}")
        boxes, sizes = _classes(found, len(trees))
        published = PublishedClasses.of(len(trees), list(boxes), sizes)
        figures = published.figures(study, trees, answers)
        seat.progress.phase("release")
        await seat.propose(Proposal(leakage.ROWS, figures=figures))

        async def publish() -> Published:
            await gather(*(at.send(name, Approved()) for name in self.present))
            return await self._heard(at.at("rows"), Published)

        opened = await self._while_carrying(publish)
        await gather(*(at.at("rows").send(name, Approved()) for name in self.present))
        rows = self._rows(opened, published, sizes)
        if len(rows.klass) < sum(sizes):  # somebody's answers were none
            seat.ledger.learns(leakage.BROKEN, withheld=sum(sizes) - len(rows.klass))
            kept = np.bincount(rows.klass, minlength=len(published.sizes))
            smaller = PublishedClasses.of(
                len(trees), [box for box, size in zip(published.boxes, kept, strict=True) if size],
                [int(size) for size in kept if size],
            )  # fmt: skip
            number = np.cumsum(kept > 0) - 1
            rows, published = Rows(smaller.number[number[rows.klass]], rows.cells), smaller
            figures = published.figures(study, trees, answers)
        result = published.result(study, trees, figures, rows)
        require_diverse(study, result.figures)
        return result

    def _rows(self, opened: Published, published: PublishedClasses, sizes: list[int]) -> Rows:
        klass: Longs = opened.klass.words.astype(np.int64)
        fits = (not len(klass) or int(klass.max()) < len(sizes)) and set(opened.cells) == set(self.layout.cells)
        if not fits or any(len(cells) != len(klass) for cells in opened.cells.values()):
            raise Aborted("the trustees' rows do not go with their classes", resumable=False)
        return Rows(published.number[klass], opened.cells)

    async def _heard(self, channel: Channel, kind: type[M]) -> M:
        """The one thing that all trustees say.

        Raises PeerError for one that says something else than most, or Aborted where there is no majority.
        """
        said = await gather(*(channel.receive(name, kind, patience=_FOREVER) for name in self.present))
        spelled = [encode(each) for each in said]
        usual, votes = Tally(spelled).most_common(1)[0]
        if 2 * votes <= len(spelled):
            names = ", ".join(self.present)
            raise Aborted(
                f"{names} found different things, and most do not agree; nothing is released", resumable=False
            )
        for name, own in zip(self.present, spelled, strict=True):
            if own != usual:
                raise PeerError(
                    party=name, step=channel.step, reason=f"it found something else than {votes} others did"
                )
        return said[spelled.index(usual)]

    async def _while_carrying(self, work: Callable[[], Awaitable[M]]) -> M:
        """The answer of work while letters are carried."""
        async with beside(post.carry(self.seat.channel, self.present)):
            return await work()


def _classes(found: TrusteeFindings, columns: int) -> tuple[Ints, list[int]]:
    sizes = [int(size) for size in found.sizes.words]
    boxes = found.boxes.words.astype(np.int32)
    if len(boxes) != len(sizes) * columns:
        raise Aborted("the trustees' classes do not go with their labels", resumable=False)
    return boxes.reshape(len(sizes), columns), sizes
