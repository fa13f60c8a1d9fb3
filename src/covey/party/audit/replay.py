"""A role played again without anybody else: what a journal holds is enough.

With it a party ends a run whose last messages it had read when it was cut off, and shows later that what it sent is
what the protocol prescribes for the data and the seed that it committed to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from covey.errors import Aborted, CoveyError, InputError
from covey.party.record.transcript import Line, Transcript
from covey.party.session.handshake import Agreement, commit
from covey.party.session.journal import Journal, NoJournal
from covey.party.session.session import Finished, Part, Record, play
from covey.wire import ReplayLink


class Alone:
    """A link to peers that are not there: what is said to them is lost, and they say nothing."""

    def __init__(self, me: str, peers: tuple[str, ...]) -> None:
        self.me, self.peers = me, peers

    async def send(self, peer: str, frame: bytes) -> None:
        """Loses it."""

    async def receive(self, peer: str) -> bytes:
        """Never gives anything. Raises Aborted: the journal has nothing more."""
        raise Aborted(f"the journal has nothing more from party {peer!r}", resumable=True)

    def heard(self, peer: str) -> float:
        """Now: nobody is waited for."""
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Nothing is to be closed."""


class Retold(NoJournal):
    """What a journal has, without holding the role to what it had said."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.decisions = journal.decisions

    def letters(self, sender: str) -> Iterator[bytes]:
        """That peer's letters."""
        return self._journal.letters(sender)


async def finish_alone(part: Part) -> Finished:
    """Ends a run whose journal is complete. Raises Aborted if it is not."""
    return await _again(part)


async def play_again(part: Part, journal: Journal) -> Transcript:
    """What the role sends when it is played again with what the journal holds, as far as it gets."""
    record = Record()
    again = replace(part, journal=Retold(journal), record=record)
    try:
        await _again(again, journal)
    except CoveyError:
        return record.transcript  # a role that is led astray by its own deviation may end early; the messages tell
    return record.transcript


def deviations(prescribed: Transcript, sent: list[Line], me: str) -> list[str]:
    """Where what a party sent is not what the protocol prescribes, in sentences."""
    due = {
        (line.recipient, line.step, line.number): line
        for pair, lines in prescribed.lines.items()
        if pair[0] == me
        for line in lines
    }
    found = []
    for line in sent:
        where = f"message {line.number} at {line.step or 'the start'} to party {line.recipient!r}"
        expected = due.pop((line.recipient, line.step, line.number), None)
        if expected is None:
            found.append(f"{where} was sent, and the protocol prescribes none")
        elif expected.digest != line.digest:
            found.append(f"{where} is not the one that the protocol prescribes")
    found += [
        f"message {number} at {step or 'the start'} to party {recipient!r} was due and was not sent"
        for recipient, step, number in due
    ]
    return found


def check_seed(journal: Journal, commitment: bytes) -> list[str]:
    """Whether the journal's seed is the one that the party committed to."""
    begun = journal.begun
    if begun is None:
        raise InputError(f"{journal.path}: holds no session")
    agreement = Agreement.of(begun)
    return [] if commit(agreement.seed) == commitment else ["the journal's seed is not the one that was committed to"]


async def _again(part: Part, journal: Journal | None = None) -> Finished:
    source = journal or part.journal
    if source.begun is None:
        raise InputError("the journal holds no session")
    agreement = Agreement.of(source.begun)
    peers = tuple(sorted(name for name in agreement.nonces if name != part.party))
    link = ReplayLink(Alone(part.party, peers), {peer: source.letters(peer) for peer in peers}, {})
    return await play(part, link, agreement)
