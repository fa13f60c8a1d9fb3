"""Protocols over the relay: the same bytes as anywhere else, whatever becomes of the broker; it reads none of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path

import psutil
import pytest
from tests.conftest import Covey
from tests.consortium import NAMES, RELEASE, found, jobs, run_together
from tests.harness.canaries import Aviary
from tests.harness.cases import CASES
from tests.harness.clock import on_real_clock, run_jumping
from tests.harness.harness import End, answers, lines, over_memory, play, run
from tests.harness.meddler import Meddler, meddling
from tests.harness.relay import Hamlet, require_server
from tests.harness.trial import Trial
from tests.protocols.test_simulations import ready

from covey.errors import CoveyError, InputError
from covey.party.identity import relay_config
from covey.party.identity.roster import Roster
from covey.party.simulate import broker
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import SimulationSetting, free_ports, simulate
from covey.study import Study
from covey.summary import Summary
from covey.wire import Link, MemoryNetwork, gather
from covey.wire.contact import Address
from covey.wire.relay.broker import Broker, Signer

FIRST = "count"
THOROUGH = ("sum", "peel")
KILLED = "peel"


def over_relay(trial: Trial, folder: Path, seed: int = 0) -> dict[str, End]:
    """One run at a broker, in one process."""
    with Hamlet.of_keys(trial.keys, folder).broker() as hamlet:
        return asyncio.run(play(trial, hamlet.connect, seed))


@pytest.mark.parametrize(
    "name",
    [
        FIRST,
        *(pytest.param(name, marks=pytest.mark.thorough) for name in THOROUGH),
        *(pytest.param(name, marks=pytest.mark.slow) for name in CASES if name not in (FIRST, *THOROUGH)),
    ],
)
def test_a_run_over_the_relay_sends_the_same_letters_as_one_in_memory(name: str, quick_path: Path) -> None:
    trial = CASES[name].smallest()
    ends = over_relay(trial, quick_path)
    assert answers(trial, ends) == trial.ideal
    assert lines(ends) == lines(run(trial))


@pytest.mark.thorough
def test_a_simulation_with_a_relay_has_the_release_of_one_without(tmp_path: Path) -> None:
    require_server()
    study, data = ready(tmp_path)
    out = tmp_path / "out"
    far = simulate(study, data, out, SimulationSetting(seed=seed_of(5), relay=True)).describe()
    near = simulate(study, data, tmp_path / "near", SimulationSetting(seed=seed_of(5))).describe()
    assert (out / "release.csv").read_text() == RELEASE == (tmp_path / "near" / "release.csv").read_text()
    assert {key: far[key] for key in ("rounds", "messages", "bytes")} == {
        key: near[key] for key in ("rounds", "messages", "bytes")
    }
    assert "relay" in (out / "study.toml").read_text()
    assert "address" not in (out / "study.toml").read_text()


@pytest.mark.thorough
@on_real_clock
async def test_a_run_in_which_two_speak_directly_and_one_over_the_relay_releases_as_ever(tmp_path: Path) -> None:
    require_server()
    sites = found(tmp_path)
    where = Address("127.0.0.1", free_ports(1)[0])
    async with Meddler(where).between() as spy:
        for site in sites.values():
            head, party, tail = site.study.read_text().partition("[parties.north]\n")
            others = tail.partition("\n")[2]  # without north's address
            site.study.write_text(f'{head}{party}{others}\n[relay]\nurl = "nats://{spy.address}"\n')
        study = Study.load(sites["north"].study)
        relay_config.write(study, tmp_path / "relay", where)
        with broker.serving(tmp_path / "relay", where):
            ends = await asyncio.to_thread(run_together, jobs(sites))
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}
    relay = Roster.of(study).relay
    assert relay is not None
    met = {pair for pair in permutations(NAMES, 2) if relay.subject(*pair).encode() in spy.seen}
    assert met == {pair for pair in permutations(NAMES, 2) if "north" in pair}


def test_without_a_broker_on_the_machine_simulate_says_so(
    tmp_path: Path, covey: Covey, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, data = ready(tmp_path)
    monkeypatch.setattr("shutil.which", lambda *named, **more: None)
    tables = [part for name, path in data.items() for part in ("--data", f"{name}={path}")]
    called = covey("simulate", study.path, *tables, "--out", tmp_path / "out", "--relay")
    assert called.code == 2
    assert "needs nats-server, which is not on this machine" in called.err
    assert not (tmp_path / "out").exists()


@on_real_clock
async def test_the_broker_sees_no_secret_in_any_spelling(tmp_path: Path) -> None:
    make = CASES[FIRST].marked
    assert make is not None
    marked = make()
    aviary = Aviary(marked.texts, marked.numbers)
    hamlet = Hamlet.of_keys(marked.trial.keys, tmp_path)
    with hamlet.broker():
        async with Meddler(hamlet.site.address).between() as spy:
            ends = await play(marked.trial, hamlet.at(spy.address).connect, 0)
            assert answers(marked.trial, ends) == marked.trial.ideal
            assert spy.messages > 20
            assert aviary.look(bytes(spy.seen), "the broker") == []
            whose = next(iter(marked.texts))
            await _tell_plainly(hamlet.at(spy.address), whose, marked.texts[whose][0])
            assert aviary.look(bytes(spy.seen), "the broker") != []


async def _tell_plainly(hamlet: Hamlet, name: str, canary: str) -> None:
    """Publishes a canary as it is, to see that it would be found."""
    there, site = asyncio.Event(), hamlet.site
    own = Broker(site, Signer.of_file(hamlet.identities[name].key), lambda sentence: None)
    own.flow = lambda anew: there.set()
    own.hear(site.sent_to(name), lambda subject, content: None)
    async with own.kept():
        await there.wait()
        own.send(site.subject(name, name), canary.encode(), b"")
        own.hear(site.sent_to(name), lambda subject, content: None)
        await asyncio.sleep(0.3)


def _meddled(seed: int) -> dict[str, float | bool]:
    return [
        {"drop": 0.1},
        {"repeat": 0.3},
        {"swap": 0.3},
        {"change": 0.05},
        {"drop": 0.1, "repeat": 0.1, "swap": 0.1, "change": 0.01},
        {"change": 0.05, "head": True},
    ][seed % 6]


@pytest.mark.parametrize(
    "seed", [*(pytest.param(each, marks=pytest.mark.thorough) for each in range(2)),
             *(pytest.param(each, marks=pytest.mark.slow) for each in range(2, 24))]
)  # fmt: skip
@on_real_clock
async def test_with_a_hostile_broker_a_run_aborts_or_goes_on_and_is_never_wrong(seed: int, tmp_path: Path) -> None:
    trial = CASES[FIRST].smallest()
    hamlet = Hamlet.of_keys(trial.keys, tmp_path)
    with hamlet.broker():
        meddler = Meddler(hamlet.site.address)
        async with meddler.between():

            @asynccontextmanager
            async def meet(name: str) -> AsyncIterator[Link]:
                async with hamlet.at(meddler.address).connect(name, wait=30) as link:
                    yield link

            meddler.meddle = meddling(seed, **_meddled(seed))  # type: ignore[arg-type]
            ends = await play(trial, meet, 0)
    assert meddler.messages > 3
    for name, end in ends.items():
        if end.finished is not None:
            assert trial.answer(name, end.finished) == trial.ideal[name]
        else:
            assert isinstance(end.error, CoveyError)
    if not _meddled(seed).get("change"):
        assert all(end.finished is not None for end in ends.values()), [end.error for end in ends.values()]


class Counted:
    """A link that does something when so many frames have been sent."""

    def __init__(self, link: Link, at: int, then: Callable[[], None]) -> None:
        self.me, self.peers = link.me, link.peers
        self._link, self._at, self._then, self.sent = link, at, then, 0

    async def send(self, peer: str, frame: bytes) -> None:
        self.sent += 1
        if self.sent == self._at:
            self._then()
        await self._link.send(peer, frame)

    async def receive(self, peer: str) -> bytes:
        return await self._link.receive(peer)

    def heard(self, peer: str) -> float:
        return self._link.heard(peer)

    async def close(self) -> None:
        await self._link.close()


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=pytest.mark.thorough if each == 12 else pytest.mark.slow)
              for each in range(1, 21)]
)  # fmt: skip
def test_a_broker_that_is_killed_and_started_again_anywhere_changes_nothing(point: int, quick_path: Path) -> None:
    trial = CASES[KILLED].smallest()
    frames = _frames(trial)[trial.names[0]].sent
    hamlet = Hamlet.of_keys(trial.keys, quick_path)
    killing: list[asyncio.Future[None]] = []
    victim = trial.names[0]

    @asynccontextmanager
    async def meet(name: str) -> AsyncIterator[Link]:
        async with hamlet.connect(name) as link:
            if name != victim:
                yield link
                return

            def kill() -> None:
                killing.append(asyncio.ensure_future(hamlet.restart(0.3)))

            yield Counted(link, max(1, point * frames // 21), kill)

    async def work() -> dict[str, End]:
        ends = await play(trial, meet, 0)
        assert len(killing) == 1
        await killing[0]
        return ends

    with hamlet.broker():
        ends = asyncio.run(work())
    assert answers(trial, ends) == trial.ideal
    assert lines(ends) == lines(run(trial))


def _frames(trial: Trial) -> dict[str, Counted]:
    """How many frames each party sends."""
    counted: dict[str, Counted] = {}
    inner = over_memory(MemoryNetwork(trial.names))

    @asynccontextmanager
    async def meet(name: str) -> AsyncIterator[Link]:
        async with inner(name) as link:
            counted[name] = Counted(link, -1, lambda: None)
            yield counted[name]

    run_jumping(play(trial, meet, 0))
    return counted


@pytest.mark.slow
@on_real_clock
async def test_sixteen_parties_meet_at_one_broker(tmp_path: Path) -> None:
    names = [f"party-{place:02}" for place in range(16)]
    with Hamlet.found(names, tmp_path).broker() as hamlet:

        async def role(name: str) -> int:
            async with hamlet.connect(name, wait=300) as link:
                for peer in link.peers:
                    await link.send(peer, name.encode())
                return sum([(await link.receive(peer)).decode() == peer for peer in link.peers])

        assert await gather(*map(role, names)) == [15] * 16


@pytest.mark.slow
@on_real_clock
async def test_500_megabytes_pass_in_bounded_memory(tmp_path: Path) -> None:
    block = bytes(1 << 20)
    with Hamlet.found("ab", tmp_path).broker() as hamlet:
        before = psutil.Process().memory_info().rss
        most = [0]

        async def send() -> None:
            async with hamlet.connect("a") as link:
                for _ in range(500):
                    await link.send("b", block)
                    most[0] = max(most[0], psutil.Process().memory_info().rss - before)

        async def read() -> None:
            async with hamlet.connect("b") as link:
                for _ in range(500):
                    assert await link.receive("a") == block

        await gather(send(), read())
    assert most[0] < 150 << 20


def test_a_study_without_parties_that_are_processes_needs_no_relay(tmp_path: Path, covey: Covey) -> None:
    study, data = ready(tmp_path)
    tables = [part for name, path in data.items() for part in ("--data", f"{name}={path}")]
    called = covey("simulate", study.path, *tables, "--out", tmp_path / "out", "--relay", "--in-process")
    assert called.code == 2
    assert "--relay is for parties that are processes" in called.err


def test_a_slow_reader_gets_everything(tmp_path: Path) -> None:
    blocks = [bytes([place]) * (1 << 18) for place in range(120)]

    async def work() -> None:
        with Hamlet.found("ab", tmp_path).broker() as hamlet:

            async def send() -> None:
                async with hamlet.connect("a") as link:
                    for block in blocks:
                        await link.send("b", block)

            async def read() -> None:
                async with hamlet.connect("b") as link:
                    await asyncio.sleep(1.0)
                    for block in blocks:
                        assert await link.receive("a") == block

            await gather(send(), read())

    asyncio.run(work())


def test_find_server_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *named, **more: None)
    with pytest.raises(InputError, match="not on this machine; install it, or leave out --relay"):
        broker.find_server()
