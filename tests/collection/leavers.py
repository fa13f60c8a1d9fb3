"""Runs of `collect` over memory in which people leave: where, a test says by the message that they do not send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from tests.harness.collect_cases import HUB, Person, names_of, trial_of
from tests.harness.network import seed_of

from covey.crypto.rng import Rng, derive
from covey.errors import Aborted, CoveyError, Left, PeerError
from covey.judge import verify
from covey.judge.singled_out import NAME
from covey.party.session.respondents import consent, refusals
from covey.protocols import Proposal, Result, Seat
from covey.protocols.as_printed.collect import PROTOCOL
from covey.protocols.protocol import SILENT
from covey.secure.declare import Leakage
from covey.study import Study
from covey.wire import Channel, Header, Nothing, Session, StarNetwork
from covey.wire import frame as frames
from covey.wire.depth import first_cause

SESSION = b"leaving-session!"
Vanish = Callable[[str, Header], bool]


class Leaving(StarNetwork):
    """A star whose spokes may vanish just before they say something."""

    def __init__(self, spokes: Sequence[str], vanish: Vanish) -> None:
        super().__init__(HUB, spokes)
        self._vanish = vanish
        self.gone: dict[str, str] = {}
        self.tags: list[tuple[str, str]] = []

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        header = frames.read(frames.split(frame)[1]).header
        if sender in self.gone or recipient in self.gone:
            return
        if sender != HUB and self._vanish(sender, header):
            self.lose(sender, "has vanished")
            raise Aborted(f"{sender} has vanished", resumable=False)
        self.tags.append((sender, header.tag))
        await super().carry(sender, recipient, frame)

    def lose(self, name: str, why: str) -> None:
        self.gone[name] = why
        self._queues[name, HUB].end(Left(name, why))


@dataclass
class Forgiving:
    """Whoever breaks the protocol has left."""

    network: Leaving
    crowd: int = 1 << 30

    def excuse(self, error: PeerError) -> None:
        self.network.lose(error.party, str(error))


@dataclass
class Learned:
    """What the collector's ledger would say."""

    lines: list[Leakage] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        self.sentences += leakage.sentences("collector", **numbers)
        self.lines.append(leakage)


@dataclass
class Outcome:
    """How a run with leavers ended."""

    result: Result | None
    error: CoveyError | None
    gone: Mapping[str, str]
    ends: Mapping[str, CoveyError]
    tags: list[tuple[str, str]]
    learned: list[Leakage]
    sentences: list[str]
    study: Study

    @property
    def rows(self) -> int:
        """Rows of the release, after the judge has found no class below k; few people have values of their own."""
        assert self.error is None, self.error
        assert self.result is not None and self.result.release is not None
        table = self.result.release
        texts = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
        verdict = verify(texts, self.study)
        assert all(each.met for each in verdict.requirements if each.name != NAME), verdict.sentence()
        return int(table.num_rows)


def leaving(
    study: Study,
    people: Sequence[Person],
    vanish: Vanish = lambda name, header: False,
    *,
    refuse: Sequence[str] = (),
) -> Outcome:
    """A run in which whoever `vanish` says leaves."""
    return asyncio.run(_leaving(study, people, vanish, refuse))


async def _leaving(study: Study, people: Sequence[Person], vanish: Vanish, refuse: Sequence[str]) -> Outcome:
    names = names_of(len(people))
    tables = trial_of(study, people).tables
    network = Leaving(names, vanish)
    ends: dict[str, CoveyError] = {}
    learned = Learned()
    nobody, seed = SILENT, seed_of(7)
    made: list[Result] = []

    async def play(name: str) -> None:
        link = network.link(name)
        channel = Channel(Session(link, SESSION, Rng(derive(seed, name)), Nothing()))
        attendance = Forgiving(network)

        async def approve(proposal: Proposal) -> None:
            if name != HUB:
                if name in refuse:
                    from covey.party.session.respondents import Consent

                    await channel.at("approval").send(HUB, Consent(False))
                    await asyncio.Event().wait()
                await consent(channel, HUB)
                return
            for other in await refusals(channel, attendance):
                network.lose(other, "refused")

        book = learned if name == HUB else nobody
        seat = Seat(study, tables[name], channel, nobody, book, approve, derive(seed, "lasting"), attendance)
        try:
            made_here = await PROTOCOL.play(seat)
            if name == HUB:
                made.append(made_here)
        except CoveyError as error:
            ends[name] = error
            if name != HUB:
                network.lose(name, "broke off")
        except BaseExceptionGroup as failures:
            cause = first_cause(failures)
            assert isinstance(cause, CoveyError), cause
            ends[name] = cause

    tasks = {name: asyncio.create_task(play(name)) for name in network.names}
    await tasks[HUB]
    for task in tasks.values():
        task.cancel()
    await asyncio.wait(tasks.values())
    for name, task in tasks.items():
        if not task.cancelled() and task.exception() is not None:
            raise RuntimeError(f"{name} failed") from task.exception()
    return Outcome(
        made[0] if made else None,
        ends.get(HUB),
        network.gone,
        ends,
        network.tags,
        learned.lines,
        learned.sentences,
        study,
    )
