"""The board: the collector hands out all letters, and the trustees agree which of them they evaluate.

Each trustee gets the parts that are sealed to it, with the hashes and the signature of the whole letter. A letter that
is not signed by its enrolment, stands there twice, does not open, or whose shares are not the same at the two trustees
that have each of them, is left out by its place on the board.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.arrays import Words
from covey.crypto.rng import spell
from covey.errors import Aborted, InputError
from covey.protocols.peel import letters
from covey.protocols.peel.letters import TRUSTEES, Sealed
from covey.protocols.protocol import Letters
from covey.wire import Bytes32, Bytes64, Channel, Count, Message, Name, Vector, gather
from covey.wire.depth import while_sending

PER_PAGE = 2048
WAITING = 400 * 86400.0
"""Seconds that a trustee waits for the board."""
SHARE_DIGEST = 16
"""Bytes of a share's hash."""


class BoardHead(Message, tag="letters.board"):
    """The number of letters on the board."""

    letters: Count


class BoardPage(Message, tag="letters.page"):
    """Letters on the board: handle, key, signature, the hashes of all parts, and the reader's part of each."""

    handles: Annotated[list[Name], Meta(min_length=1, max_length=PER_PAGE)]
    keys: Annotated[list[Bytes32], Meta(max_length=PER_PAGE)]
    signatures: Annotated[list[Bytes64], Meta(max_length=PER_PAGE)]
    digests: Annotated[list[Bytes32], Meta(max_length=TRUSTEES * PER_PAGE)]
    parts: Annotated[list[Sealed], Meta(max_length=PER_PAGE)]


class BoardAgreed(Message, tag="letters.agreed"):
    """The hash of the board that the sender was given."""

    board: Bytes32


class SharesRead(Message, tag="letters.read"):
    """For each letter a hash of the share that the sender and the recipient have in common."""

    digests: Annotated[bytes, Meta(max_length=SHARE_DIGEST << 18)]


class LettersLeftOut(Message, tag="letters.out"):
    """The places of letters that the sender cannot evaluate."""

    places: Vector


@dataclass(frozen=True)
class Posted:
    """The letters that the trustees evaluate."""

    handles: tuple[str, ...]
    """Everybody on the board, in its order."""
    places: tuple[int, ...]
    """The places there of the letters that are evaluated."""
    shares: Words
    """A trustee's shares of them: 2 x bits x blocks."""


async def hand_out(channel: Channel, trustees: Sequence[str], answers: Mapping[str, bytes], width: int) -> list[str]:
    """Gives each trustee the board with its parts; returns the handles on it, in its order."""
    board = {handle: letters.unpack(raw, width) for handle, raw in sorted(answers.items())}
    handles = list(board)

    async def show(place: int, trustee: str) -> None:
        await channel.send(trustee, BoardHead(len(handles)))
        for first in range(0, len(handles), PER_PAGE):
            page = [board[handle] for handle in handles[first : first + PER_PAGE]]
            await channel.send(
                trustee,
                BoardPage(
                    handles[first : first + PER_PAGE],
                    [answer.key for answer in page],
                    [answer.signature for answer in page],
                    [digest for answer in page for digest in answer.digests],
                    [answer.parts[place] for answer in page],
                ),
            )

    await gather(*(show(place, trustee) for place, trustee in enumerate(trustees)))
    return handles


async def read(
    channel: Channel, hub: str, trustees: Sequence[str], study_hash: str, mine: Letters, width: int
) -> Posted:
    """Returns the letters on which all three trustees agree. Raises PeerError or Aborted for boards that differ."""
    own = mine.own
    if own is None:
        raise InputError("the key to which letters were sealed is gone: nobody can open them; collect anew")
    handles: list[str] = []
    lines: list[bytes] = []
    contents: list[bytes | None] = []
    due, place = (await channel.receive(hub, BoardHead, patience=WAITING)).letters, trustees.index(channel.me)
    while len(handles) < due:
        page = await channel.receive(hub, BoardPage, patience=WAITING)
        count = len(page.handles)
        sizes = {len(page.keys), len(page.signatures), len(page.parts), len(page.digests) / TRUSTEES}
        if sizes != {count} or len(handles) + count > due:
            raise channel.refusal(hub, "a page of the board that has more or fewer letters than it says")
        for number, (handle, key, signature, part) in enumerate(
            zip(page.handles, page.keys, page.signatures, page.parts, strict=True)
        ):
            digests = page.digests[number * TRUSTEES : (number + 1) * TRUSTEES]
            sound = (
                handle not in handles[-1:]
                and hashlib.sha256(part).digest() == digests[place]
                and letters.verifies(key, signature, letters.statement(study_hash, handle, digests))
            )
            handles.append(handle)
            lines.append(letters.line(handle, digests))
            contents.append(letters.read(study_hash, handle, key, channel.me, own, part, width) if sound else None)
    if handles != sorted(handles):
        raise channel.refusal(hub, "a board that is not in the order of handles")
    among = channel.among(*trustees)
    board = letters.board(study_hash, lines)
    for name, theirs in (await among.exchange(BoardAgreed(board))).items():
        if theirs.board != board:
            raise Aborted(
                f"{hub} gave {name} another board than us, or {name} says so falsely; nothing was opened: compare the "
                "boards before you collect again",
                resumable=False,
            )
    out = await _left_out(among.at("shares"), trustees, handles, contents, 2 * (-(-width // 8)))
    mine.evaluate(hashlib.sha256(spell("covey evaluated/1", board, *sorted(out))).digest())
    places = [number for number in range(len(handles)) if number not in out]
    return Posted(
        tuple(handles), tuple(places), letters.shares_of([contents[number] or b"" for number in places], width)
    )


async def _left_out(
    among: Channel, trustees: Sequence[str], handles: Sequence[str], contents: Sequence[bytes | None], size: int
) -> set[int]:
    """Returns the places of letters that some trustee cannot read, or whose shares differ between two of them."""
    place = trustees.index(among.me)
    previous, following = trustees[place - 1], trustees[(place + 1) % TRUSTEES]
    read = [content or bytes(size) for content in contents]
    half = size // 2
    firsts = b"".join(_digest(among.session, handle, c[:half]) for handle, c in zip(handles, read, strict=True))
    seconds = b"".join(_digest(among.session, handle, c[half:]) for handle, c in zip(handles, read, strict=True))
    theirs = await while_sending(among.send(previous, SharesRead(firsts)), among.receive(following, SharesRead))
    if len(theirs.digests) != len(seconds):
        raise among.refusal(following, "hashes of another number of letters")
    out = {number for number, content in enumerate(contents) if content is None}
    for number in range(len(handles)):
        span = slice(number * SHARE_DIGEST, (number + 1) * SHARE_DIGEST)
        if theirs.digests[span] != seconds[span]:
            out.add(number)
    told = await among.at("out").exchange(LettersLeftOut(Vector(np.array(sorted(out), np.uint64))))
    for name, said in told.items():
        if len(said.places.words) and int(said.places.words.max()) >= len(handles):
            raise among.refusal(name, "a place that is none of the board")
        out |= {int(number) for number in said.places.words}
    return out


def _digest(session: bytes, handle: str, share: bytes) -> bytes:
    return hashlib.sha256(spell("covey share/1", session, handle, share)).digest()[:SHARE_DIGEST]
