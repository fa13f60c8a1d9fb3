"""Runs trials as real runs go: handshake, role, closing, journal and folder, over memory, on a clock that jumps."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.clock import run_jumping
from tests.harness.doom import Doom, DoomedLink, Killed
from tests.harness.network import seed_of
from tests.harness.spent import Spent
from tests.harness.town import free_addresses
from tests.harness.trial import Trial

from covey.crypto.rng import derive
from covey.errors import CoveyError
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.folder import RunFolder
from covey.party.record.log import Log, RunLog, Silence
from covey.party.record.names import JOURNAL, LOG
from covey.party.record.run_record import Finished
from covey.party.record.transcript import Entry, Transcript
from covey.party.session.approval import approve_always
from covey.party.session.journal import EVERYTHING, NO_JOURNAL, Journal, NoJournal
from covey.party.session.playing import Participant, take_part
from covey.party.session.resume import ResumableRun
from covey.party.session.states import StateJournal
from covey.wire import Contact, Link, Meeting, MemoryNetwork
from covey.wire import frame as frames

PATIENCE = 600.0
Meet = Callable[[str], AbstractAsyncContextManager[Link]]


@dataclass
class End:
    """How a party's run ended: finished, failed in a way that Covey can explain, or killed."""

    finished: Finished | None = None
    error: CoveyError | None = None
    killed: bool = False
    stayed: bool = False
    """True if it had finished in an earlier run, and nobody came who needed it."""
    phase: str = ""
    """What the party was about when it ended."""
    seconds: float = 0.0
    """On the run's own clock."""
    transcript: Transcript = field(default_factory=Transcript)


def part_of(trial: Trial, name: str, seed: int, journal: Journal | NoJournal, log: Log) -> Participant:
    """What a party of the trial brings to a run."""
    study = trial.certified
    return Participant(
        study=study,
        protocol=trial.protocol,
        party=name,
        table=trial.tables[name],
        keys=trial.keys[name],
        roster=Roster.of(study),
        seed=derive(seed_of(seed), name),
        decide=approve_always,
        log=log,
        patience=PATIENCE,
        journal=journal,
        letters=trial.letters.get(name),
        writes_any=True,  # of a few rows some have a value of their own
    )


async def play(
    trial: Trial, meet: Meet, seed: int, folder: Path | None = None, limit: int = EVERYTHING
) -> dict[str, End]:
    """Runs every party once; with a folder, each in one of its own below it, where a cut session goes on.

    The limit is that of everyone's journal.
    """
    ends = {name: End() for name in trial.names}

    async def one(name: str) -> None:
        end = ends[name]
        with contextlib.ExitStack() as stack:
            try:
                end.finished = await _one(trial, name, meet, seed, folder, limit, end, stack)
                end.stayed = end.finished is None
            except CoveyError as error:
                end.error = error
            except Killed:
                end.killed = True
            finally:
                end.seconds = asyncio.get_running_loop().time()

    async with asyncio.TaskGroup() as group:
        for name in trial.names:
            group.create_task(one(name))
    return ends


async def _one(
    trial: Trial,
    name: str,
    meet: Meet,
    seed: int,
    folder: Path | None,
    limit: int,
    end: End,
    stack: contextlib.ExitStack,
) -> Finished | None:
    if folder is None:
        part = part_of(trial, name, seed, NO_JOURNAL, Silence())
        _watch(part, end, stack)
        async with meet(name) as link:
            return await take_part(part, link)
    own = folder / name
    kind = Journal if trial.protocol.computing is None else StateJournal
    journal = kind.resume(own / JOURNAL, trial.keys[name].journal, limit=limit)
    stack.callback(journal.close)
    part = part_of(trial, name, seed, journal, RunLog(own / LOG))
    _watch(part, end, stack)
    own_run = ResumableRun(part, RunFolder(own), journal, for_others=True)
    own_run.prepare()
    return await own_run.run(lambda: meet(name))


def _watch(part: Participant, end: End, stack: contextlib.ExitStack) -> None:
    end.transcript = part.record.transcript

    def note_phase() -> None:
        end.phase = part.progress.current

    stack.callback(note_phase)


class SigningLink:
    """A link on which every frame is signed anew in its sender's name: a network that lies plays a party that does."""

    def __init__(self, link: Link, keys: Mapping[str, Keys]) -> None:
        self.me, self.peers, self._link, self._keys = link.me, link.peers, link, keys
        self._heads: dict[tuple[str, str, int], bytes] = {}

    async def send(self, peer: str, frame: bytes) -> None:
        await self._link.send(peer, frame)

    async def receive(self, peer: str) -> bytes:
        frame = await self._link.receive(peer)
        if not frames.SEQUENCE_BYTES + frames.SIGNATURE_BYTES < len(frame) <= frames.MAX_FRAME:
            return frame
        sequence, letter = frames.split(frame)
        try:
            header = frames.read(letter).header
        except ValueError:
            return frame
        before = self._heads.get((peer, header.step, header.number - 1), frames.NO_HEAD)
        head = frames.follow(before, frames.digest(letter))
        self._heads[peer, header.step, header.number] = head
        signed = self._keys[peer].sign(frames.statement(head))
        return frames.place(sequence, signed + bytes(letter[frames.SIGNATURE_BYTES :]))

    def heard(self, peer: str) -> float:
        return self._link.heard(peer)

    async def close(self) -> None:
        await self._link.close()


def over_memory(network: MemoryNetwork, doom: Doom | None = None, keys: Mapping[str, Keys] | None = None) -> Meet:
    """Parties that meet on a network in memory; the victim's lines go down when it dies.

    With keys, what the network says in a party's name is signed by that party.
    """

    @asynccontextmanager
    async def meet(name: str) -> AsyncIterator[Link]:
        link: Link = network.link(name) if keys is None else SigningLink(network.link(name), keys)
        if doom is not None and doom.victim == name:
            link = DoomedLink(link, doom, lambda: network.leave(name, "was cut off"))
        try:
            yield link
        finally:
            await link.close()

    return meet


def run(
    trial: Trial,
    *,
    seed: int = 0,
    network: MemoryNetwork | None = None,
    folder: Path | None = None,
    doom: Doom | None = None,
    limit: int = EVERYTHING,
) -> dict[str, End]:
    """One run over memory, on a clock that jumps."""
    lines = network or MemoryNetwork(trial.names)
    lying = None if network is None or type(network) is MemoryNetwork else trial.keys
    return run_jumping(play(trial, over_memory(lines, doom, lying), seed, folder, limit))


def over_tls(trial: Trial, folder: Path) -> Meet:
    """Parties that meet over real TLS on loopback, with the trial's keys in files below a folder."""
    contacts = {}
    for name, address in zip(trial.names, free_addresses(len(trial.names)), strict=True):
        if not (folder / name).exists():
            keyring.save(trial.keys[name], folder / name)
        contacts[name] = Contact(name, trial.keys[name].certificate.der, address)

    def meet(name: str) -> AbstractAsyncContextManager[Link]:
        certificate, key = keyring.files(folder / name, name)
        return Meeting(name, contacts, certificate=certificate, key=key).held(30)

    return meet


def run_over_tls(trial: Trial, keys: Path, *, seed: int = 0, folder: Path | None = None) -> dict[str, End]:
    """One run over TLS, in one process."""
    return asyncio.run(play(trial, over_tls(trial, keys), seed, folder))


def answers(trial: Trial, ends: Mapping[str, End]) -> dict[str, object]:
    """Everyone's answer. Raises the first error if somebody has none."""
    for end in ends.values():
        if end.error is not None:
            raise end.error
    return {name: trial.answer(name, end.finished) for name, end in ends.items() if end.finished is not None}


def spent(ends: Mapping[str, End]) -> Spent:
    """What the role's messages cost: without handshake, keys and closing."""
    traffic = next(end.finished.traffic for end in ends.values() if end.finished is not None)
    return Spent(
        max(each.rounds for each in traffic.values()),
        sum(each.messages for each in traffic.values()),
        sum(each.bytes for each in traffic.values()),
    )


def lines(ends: Mapping[str, End]) -> list[Entry]:
    """Every message once, in the order of pairs and of each pair's chain."""
    found = []
    for name, end in sorted(ends.items()):
        for pair in sorted(end.transcript.entries):
            if pair[0] == name:
                found += end.transcript.ordered(pair)
    return found
