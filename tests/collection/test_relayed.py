"""Collections at a relay: a collector that nobody can dial, and respondents and trustees that reach the broker."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from tests.browser.people import answer, browsing
from tests.collection.peeling_town import BrowserTown, PeelingTown, come, hand_in, serving
from tests.collection.test_web import Answered, PageVisitor
from tests.collection.town import Town, collecting, free_port, record_of
from tests.conftest import Covey
from tests.harness.clock import on_real_clock
from tests.harness.relay import require_server

from covey.crypto.letter import LetterKey, public_of_signing, seal
from covey.crypto.rng import Rng, fresh_seed
from covey.errors import AccessError
from covey.party.collection import page, receipts
from covey.party.collection.eligibility import place_of
from covey.party.collection.enrolment import EnrolmentDesk
from covey.party.collection.invitation import Invitation, issue
from covey.party.collection.opening import CollectorTask
from covey.party.collection.pages import meets_pages
from covey.party.collection.register import Opened, Register, moment
from covey.party.collection.trustee import DONE
from covey.party.collection.web import Web
from covey.party.identity import relay_config
from covey.party.identity.roster import Roster
from covey.party.simulate import broker
from covey.protocols.peel import RESPONDENTS as PROTOCOL
from covey.wire.contact import Address, fingerprint
from covey.wire.depth import beside
from covey.wire.relay import RelayedParty
from covey.wire.relay.broker import Broker, Signer
from covey.wire.relay.site import RelaySite
from covey.wire.standing.connection import BEAT_SECONDS

pytestmark = pytest.mark.timeout(240)


@dataclass
class AtRelay(Town):
    """A town whose collector has no address."""

    scheme: str = "nats"

    def __post_init__(self) -> None:
        super().__post_init__()
        text = self.path.read_text().replace(f'address = "{self.address}"\n', "")
        self.broker_port = free_port()
        self.path.write_text(f'{text}\n[relay]\nurl = "{self.scheme}://127.0.0.1:{self.broker_port}"\n')

    def invite(self, count: int, *, days: float = 1.0) -> list[str]:
        pinned = bytes.fromhex(fingerprint(self.keys.certificate.der))
        until = int(time.time() + 86400 * days)
        return [
            each.spell() for each in issue(self.out, None, pinned, self.study.study_hash, count=count, expires=until)
        ]

    @contextmanager
    def broker(self) -> Iterator[subprocess.Popen[bytes]]:
        """Runs the broker that the study names."""
        require_server()
        with broker.running(self.study, self.folder / "relay") as process:
            yield process


@dataclass
class PeelingAtRelay(AtRelay, PeelingTown):
    """The same with trustees, who hand nothing to anybody but the collector."""


@pytest.mark.thorough
@on_real_clock
async def test_people_answer_and_trustees_evaluate_over_the_relay(tmp_path: Path) -> None:
    town = PeelingAtRelay(tmp_path)
    with town.broker():
        async with collecting(town, 8) as running, serving(town) as staying:
            assert "listening on the relay nats://" in running.log
            await hand_in(town, 8)
            await running.task
            assert await asyncio.gather(*staying) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(8)


@dataclass
class PageAtRelay(AtRelay, BrowserTown):
    """The same with a page, which is served at an address of this machine: the near end of a tunnel."""


@pytest.mark.slow
@on_real_clock
async def test_a_collector_at_a_relay_serves_its_page_to_a_proxy_on_its_machine(tmp_path: Path) -> None:
    town = PageAtRelay(tmp_path)
    with town.broker():
        async with collecting(town, 6) as running, serving(town) as staying:
            assert "listening on the relay nats://" in running.log and "browsers are answered at" in running.log
            come(town, running)
            for place, token in enumerate(town.invite(6)):
                visitor = PageVisitor(town, token)
                assert (await visitor.enrol())[0] == 200
                assert (await visitor.deliver(visitor.sealed(place)))[0] == 200
            await running.task
            assert await asyncio.gather(*staying) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)


@dataclass
class PageOverRelay(PageAtRelay):
    """The same without a port for browsers: their pages speak over the relay."""

    scheme: str = "ws"

    def service(self, quorum: int, *, phase_seconds: float = 30.0) -> CollectorTask:
        return replace(super().service(quorum, phase_seconds=phase_seconds), web=None)


@dataclass
class RelayedVisitor(PageVisitor):
    """Somebody who speaks with the collector over the relay as the page does."""

    async def post(self, path: str, content: bytes, headers: Mapping[str, str] | None = None) -> Answered:
        given = {"Covey-Protocol": str(PROTOCOL.version), **(headers or {})}
        return await self.send(json.dumps({"method": "POST", "path": path, "headers": given}), content)

    async def send(self, head: str, content: bytes) -> Answered:
        study, page = self.town.study, fresh_seed().reveal()[:16].hex()
        site = Roster.of(study).relay
        assert site is not None
        key, stream = LetterKey.draw(Rng(fresh_seed()).stream("own")), Rng(fresh_seed()).stream("letter")
        context = (bytes.fromhex(study.study_hash), page)
        to = public_of_signing(Roster.of(study).certificates["office"].signing_key)
        asked = seal(key.public + head.encode() + b"\n" + content, to, stream, "collect page request", *context)
        came: asyncio.Queue[bytes] = asyncio.Queue()
        own = Broker(site, Signer.of_page(site), lambda told: None)
        own.hear(site.to_page("office", page), lambda subject, answer: came.put_nowait(answer))

        def ask(anew: bool) -> None:
            own.send(site.from_page(page, "office"), asked, b"")

        own.flow = ask

        async def ask_again() -> None:
            while True:
                await asyncio.sleep(1)
                ask(False)

        async with asyncio.timeout(60), own.kept(), beside(ask_again()):
            answer = key.open(await came.get(), "collect page answer", *context)
        return int.from_bytes(answer[:2], "big"), json.loads(answer[2:] or b"{}")


@on_real_clock
async def test_a_page_over_the_relay_enrols_and_delivers_as_at_a_port(tmp_path: Path) -> None:
    town = PageOverRelay(tmp_path)
    site = Roster.of(town.study).relay
    assert site is not None
    tokens = town.invite(2)
    with town.broker():
        async with collecting(town, 6) as running:
            come(town, running)
            assert "browsers are answered at the relay ws://" in running.log
            visitor, thief = RelayedVisitor(town, tokens[0]), RelayedVisitor(town, tokens[0])
            status, answer = await visitor.enrol()
            assert (status, set(answer)) == (200, {"handle", "keys"})
            assert (await thief.enrol())[1]["code"] == "used"
            content = visitor.sealed(0)
            assert (await thief.deliver(content))[0] == 403
            status, receipt = await visitor.deliver(content)
            assert status == 200
            assert await visitor.deliver(content) == (200, receipt), "lost answers are asked for again"
            kept = {"handle": visitor.handle, "study_hash": town.study.study_hash, **receipt}
            assert receipts.check(town.study, town.keys.certificate, kept, None) is None
            assert (await visitor.send("no JSON", b""))[0] == 400
            assert (await visitor.post("/api/state", bytes(100_000)))[0] == 413, "unless its key is enrolled"
            assert (await visitor.post("/nowhere", b""))[0] == 404
            stranger = Broker(site, Signer.of_page(site), lambda told: None)
            there = asyncio.Event()
            stranger.flow = lambda anew: there.set()
            heard: list[bytes] = []
            stranger.hear(f"{site.prefix}.>", lambda subject, content: heard.append(content))
            stranger.hear(site.from_page("*", "office"), lambda subject, content: heard.append(content))
            async with stranger.kept():
                await there.wait()
                stranger.send(site.from_page("x", "office"), b"no letter", b"")
                stranger.send(site.to_page("office", "x"), b"as the office", b"")
                assert (await visitor.deliver(content))[0] == 200
            assert "no request, and was ignored" in running.log
            assert heard == []


@pytest.mark.thorough
@on_real_clock
async def test_people_answer_in_a_browser_over_the_relay_from_a_page_on_a_disk(tmp_path: Path) -> None:
    town = PageOverRelay(tmp_path)
    saved = tmp_path / "page.html"
    saved.write_bytes(page.build(town.study))
    tokens = town.invite(6)
    with town.broker():
        async with browsing() as browser, collecting(town, 6) as running, serving(town) as staying:
            for place in range(4):
                await town.delivery(place, tokens[place]).deliver()
            kept = [await answer(browser, f"{saved.as_uri()}#{tokens[place]}", record_of(place)) for place in (4, 5)]
            await running.task
            assert await asyncio.gather(*staying) == [DONE] * 3
        register = Register.open(town.out, Opened(town.study.study_hash, 0, 0, moment()))
        desk = EnrolmentDesk.of(town.study, town.keys, register, town.out)
        web, late = Web(town.study, desk, print), RelayedVisitor(town, "")
        relay, board = place_of(town.study, "office", None), town.out / "board.json"
        assert isinstance(relay, RelayedParty) and meets_pages(town.path)
        async with web.open(None, relay, town.folder / "keys" / "tls.key", town.keys):
            asked = json.dumps({"method": "GET", "path": "/board.json", "headers": {}})
            assert await late.send(asked, b"") == (200, json.loads(board.read_bytes()))
        register.close()
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)
    assert [receipts.check(town.study, town.keys.certificate, each, board) for each in kept] == [None, None]


@pytest.mark.slow
@on_real_clock
async def test_people_who_stay_take_part_over_the_relay_and_a_restart_of_it(tmp_path: Path) -> None:
    town = AtRelay(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(6))]
    async with AsyncExitStack() as stack:
        with town.broker():
            running = await stack.enter_async_context(collecting(town, 6))
            taking_part = asyncio.gather(*(person.run() for person in people))  # an error of one ends the wait
            async with asyncio.timeout(60):
                while len(running.collection.register.held.enrolled) < 3:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.02)
        with town.broker():
            assert set(await taking_part) == {"released"}
            await running.task
    assert town.judged() == 6


def test_an_invitation_to_a_collector_at_a_relay_says_so(tmp_path: Path, covey: Covey) -> None:
    town = AtRelay(tmp_path)
    called = covey("collect", "invite", town.path, "--out", town.out, "--count", "2")
    assert called.code == 0
    assert [Invitation.parse(line).address for line in called.out.split()] == [None, None]
    assert f"2 invitations to the relay nats://127.0.0.1:{town.broker_port}" in called.err
    direct = Invitation(Address("127.0.0.1", 7), bytes(32), bytes(32), 1, bytes(16))
    assert Invitation.parse(direct.spell()) == direct


@on_real_clock
async def test_respondents_may_call_the_collector_and_nobody_else(tmp_path: Path) -> None:
    town = PeelingAtRelay(tmp_path)
    site = Roster.of(town.study).relay
    assert site is not None
    with town.broker():
        heard: list[tuple[str, bytes]] = []
        there, done = asyncio.Event(), asyncio.Event()

        def note(subject: str, content: bytes) -> None:
            heard.append((subject, content))
            if content == b"last":
                done.set()

        office = Broker(site, Signer.of_file(town.folder / "keys" / "tls.key"), lambda told: None)
        trustee = Broker(site, Signer.of_file(town.folder / "keys-board" / "tls.key"), lambda told: None)
        guest = Broker(site, Signer.of_guest(site), lambda told: None)
        office.hear(site.from_guest("*", "office"), note)
        office.hear(site.sent_to("office"), note)
        trustee.hear(site.sent_to("board"), note)
        guest.hear(f"{site.prefix}.>", note)
        guest.hear(site.sent_to("board"), note)
        async with AsyncExitStack() as stack:
            for each in (office, trustee, guest):
                there.clear()
                each.flow = lambda anew: there.set()
                await stack.enter_async_context(each.kept())
                await there.wait()
            guest.send(site.subject("board", "office"), b"as the board", b"")
            guest.send(site.subject("office", "board"), b"as the office", b"")
            guest.send(site.to_guest("office", "somebody"), b"as the office to another", b"")
            for _ in range(20):
                guest.send(site.from_guest("me", "office"), b"hello", b"")
                await asyncio.sleep(0.01)
            guest.send(site.from_guest("me", "office"), b"last", b"")
            async with asyncio.timeout(20):
                await done.wait()
    assert {content for _, content in heard} <= {b"hello", b"last"}


@on_real_clock
async def test_without_the_certificates_nobody_is_a_guest(tmp_path: Path) -> None:
    town = AtRelay(tmp_path)
    with town.broker():
        other = RelaySite(f"nats://127.0.0.1:{town.broker_port}", bytes(32))
        stranger = Broker(other, Signer.of_guest(other), lambda told: None)
        with pytest.raises(AccessError, match="refuses our key"):
            async with stranger.kept():
                await asyncio.sleep(30)
    assert "respondents, who share one key" in (town.folder / "relay" / relay_config.USERS).read_text()


@pytest.mark.slow
@pytest.mark.timeout(900)
@on_real_clock
async def test_a_thousand_respondents_wait_at_one_collector(tmp_path: Path) -> None:
    """Each has its own connection to the broker; they are enrolled, ready, idle, and all still there."""
    town, count = AtRelay(tmp_path), 1000
    people = [town.person(place, token) for place, token in enumerate(town.invite(count))]
    before, begun = psutil.Process().memory_info().rss, time.monotonic()
    with town.broker() as server:
        async with collecting(town, count + 1) as running:
            waiting: list[asyncio.Task[object]] = []
            held = running.collection.register.held
            for start in range(0, count, 50):
                waiting += [asyncio.create_task(person.run()) for person in people[start : start + 50]]
                async with asyncio.timeout(120):
                    while len(held.ready) < start + 50:  # noqa: ASYNC110 - the register tells nobody
                        await asyncio.sleep(0.05)
            came = time.monotonic() - begun
            await asyncio.sleep(BEAT_SECONDS + 10)
            assert not [task for task in waiting if task.done()]
            assert town.status()["present"] == count
            own = psutil.Process().memory_info().rss - before
            broker = psutil.Process(server.pid).memory_info().rss
            print(f"ready after {came:.0f} s; {own >> 20} MiB for both ends here, {broker >> 20} MiB at the broker")
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
    assert own < count << 20 and broker < count << 18
