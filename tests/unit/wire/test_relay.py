"""Parties meet at a real broker: by every scheme, directly and over it in one run, and each only under its own name."""

from __future__ import annotations

import asyncio
import base64
import binascii
import dataclasses
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import nats
import pytest
from tests.harness.certificates import make_identity
from tests.harness.clock import on_real_clock
from tests.harness.parties import play
from tests.harness.relay import Hamlet, public_key
from tests.harness.tiers import few_first
from tests.harness.town import free_addresses

from covey.errors import Aborted, AccessError, InputError
from covey.wire import Channel, Meeting, Message, gather
from covey.wire.contact import Contact, dials
from covey.wire.relay import Exchange
from covey.wire.relay.broker import Broker, Signer
from covey.wire.relay.exchange import Subjects
from covey.wire.relay.route import Blocked, Wire, frame, proxy_for
from covey.wire.relay.site import RelaySite, split_url, user_key
from covey.wire.trust import contexts, over_tls


class Load(Message, tag="test.relayed"):
    """Some bytes."""

    load: bytes


async def swap(channel: Channel) -> list[str]:
    """Everybody greets everybody."""
    return sorted(await channel.exchange(Load(b"hello")))


async def turns(channel: Channel, count: int = 40, size: int = 3000) -> int:
    """Many exchanges, one after the other."""
    for turn in range(count):
        await channel.at("turn", turn).exchange(Load(bytes(size)))
        await asyncio.sleep(0.005)
    return count


@pytest.mark.parametrize("scheme", few_first(["nats", "tls", "ws", "wss"]))
def test_parties_that_nobody_can_dial_meet_at_the_broker(tmp_path: Path, scheme: str) -> None:
    with Hamlet.found("abc", tmp_path, scheme).broker() as hamlet:
        outcomes = asyncio.run(hamlet.play_all(dict.fromkeys("abc", swap)))
    assert [outcome.unwrap() for outcome in outcomes.values()] == [["b", "c"], ["a", "c"], ["a", "b"]]


def test_some_speak_directly_and_some_over_the_relay_in_one_run(tmp_path: Path) -> None:
    hamlet = Hamlet.found("abc", tmp_path)
    one, other = free_addresses(2)
    roster = {**hamlet.roster, "a": hamlet.identities["a"].contact(one), "b": hamlet.identities["b"].contact(other)}
    with dataclasses.replace(hamlet, roster=roster).broker() as mixed:
        outcomes = asyncio.run(mixed.play_all(dict.fromkeys("abc", swap)))
    assert [outcome.unwrap() for outcome in outcomes.values()] == [["b", "c"], ["a", "c"], ["a", "b"]]


def test_with_a_relay_the_later_name_dials_and_nobody_needs_an_address() -> None:
    north, south = Contact("north", b""), Contact("south", b"")
    assert (dials(north, south, relay=True), dials(south, north, relay=True)) == (False, True)
    with pytest.raises(InputError, match=r"neither has an address in the study; give .* or the study a \[relay\]"):
        dials(north, south)


@on_real_clock
async def test_a_run_goes_on_when_the_broker_is_killed_and_started_again(tmp_path: Path) -> None:
    hamlet = Hamlet.found("ab", tmp_path)
    with hamlet.broker():

        async def disturb() -> None:
            for pause in (0.1, 0.3):
                await asyncio.sleep(pause)
                await hamlet.restart(pause)

        playing = asyncio.ensure_future(hamlet.play_all(dict.fromkeys("ab", turns)))
        await disturb()
        outcomes = await playing
    assert [outcome.unwrap() for outcome in outcomes.values()] == [40, 40]


class DyingBroker(Broker):
    """A connection that is lost at the very moment at which its client leaves."""

    async def visit(self, passed: Callable[[str, str], None]) -> Wire:
        line = SimpleNamespace(
            abort=lambda: None, set_write_buffer_limits=lambda high: None, get_write_buffer_size=lambda: 0
        )
        writer = SimpleNamespace(transport=line, is_closing=lambda: False, write=lambda content: None)
        return Wire(SimpleNamespace(readuntil=lost_when_cancelled), writer, bytes, {})  # type: ignore[arg-type]


async def lost_when_cancelled(separator: bytes) -> bytes:
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        raise ConnectionResetError from None
    return b""


@on_real_clock
async def test_who_leaves_at_the_moment_at_which_the_broker_is_lost_does_leave(tmp_path: Path) -> None:
    there = asyncio.Event()
    signer = Signer.of_file(make_identity("a", tmp_path).key)
    broker = DyingBroker(RelaySite("nats://relay", bytes(32)), signer, lambda told: None)
    broker.flow = lambda anew: there.set()
    async with asyncio.timeout(20), broker.kept():
        await there.wait()
        await asyncio.sleep(0.05)


@on_real_clock
async def test_a_party_that_crashes_is_noticed_and_may_come_again(tmp_path: Path) -> None:
    with Hamlet.found("ab", tmp_path).broker() as hamlet:

        async def stay() -> str:
            async with hamlet.connect("a") as link:
                with pytest.raises(Aborted, match="has left") as told:
                    await link.receive("b")
                return str(told.value)

        async def crash() -> str:
            with pytest.raises(RuntimeError):
                async with hamlet.connect("b"):
                    raise RuntimeError
            return ""

        await gather(stay(), crash())
        outcomes = await hamlet.play_all(dict.fromkeys("ab", swap))
        assert outcomes["a"].unwrap() == ["b"]


@on_real_clock
async def test_a_broker_that_does_not_know_a_party_is_named_with_what_to_do(tmp_path: Path) -> None:
    hamlet = Hamlet.found("ab", tmp_path)
    users = tmp_path / "users.conf"
    own = user_key(public_key(hamlet.roster["a"]))
    users.write_text("\n".join(line for line in users.read_text().splitlines() if own not in line))
    with hamlet.broker(), pytest.raises(AccessError, match=rf"refuses our key {own}; .*covey relay config"):
        async with hamlet.connect("a", wait=30):
            pass


@pytest.mark.thorough
@on_real_clock
async def test_a_broker_with_too_many_connections_is_named_and_is_no_refusal(tmp_path: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    with Hamlet.found("ab", tmp_path, extra="max_connections: 1\n").broker() as hamlet:
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            for name in "ab":
                signer, there = Signer.of_file(hamlet.identities[name].key), asyncio.Event()
                own = Broker(hamlet.site, signer, told.put_nowait)
                own.flow = lambda anew, there=there: there.set()  # type: ignore[misc]
                await stack.enter_async_context(own.kept())
                if name == "a":
                    await there.wait()
            said = await told.get()
            await asyncio.sleep(2)  # in which a refusal would have been believed
    assert "it says 'maximum connections exceeded'" in said


@pytest.mark.thorough
@on_real_clock
async def test_a_broker_that_is_not_there_is_named_and_the_wait_ends(tmp_path: Path) -> None:
    hamlet = Hamlet.found("ab", tmp_path)
    told: list[str] = []
    own = hamlet.identities["a"]
    with pytest.raises(Aborted, match=r"'b' did not come within 2 s: .* the right relay"):
        async with Meeting(
            "a", hamlet.roster, certificate=own.certificate, key=own.key, relay=hamlet.site, notice=told.append
        ).held(2):
            pass
    assert [sentence for sentence in told if "cannot be used" in sentence and "Connect" in sentence]


@on_real_clock
async def test_a_party_can_publish_only_as_itself_and_hear_only_what_is_for_it(tmp_path: Path) -> None:
    with Hamlet.found("abc", tmp_path).broker() as hamlet:
        site, heard, ready = hamlet.site, Counter[str](), asyncio.Event()

        def note(name: str, subject: str, content: bytes) -> None:
            heard[f"{name}: {content.decode()}"] += 1
            ready.set()

        async with AsyncExitStack() as stack:
            brokers = {}
            for name in "abc":
                own = brokers[name] = Broker(site, Signer.of_file(hamlet.identities[name].key), lambda told: None)
                own.hear(site.sent_to(name), partial(note, name))
                if name == "c":
                    own.hear(f"{site.prefix}.>", partial(note, "spy"))
                    own.hear(site.sent_to("a"), partial(note, "spy"))
                there = asyncio.Event()
                own.flow = lambda anew, there=there: there.set()  # type: ignore[misc]
                await stack.enter_async_context(own.kept())
                await there.wait()
            for turn in range(20):
                brokers["a"].send(site.subject("a", "b"), b"of a %d" % turn, b"")
                brokers["c"].send(site.subject("a", "b"), b"of c, as a", b"")
                brokers["c"].send(site.subject("c", "b"), b"of c %d" % turn, b"")
                await asyncio.sleep(0.01)
            async with asyncio.timeout(20):
                while heard["b: of c 19"] + heard["b: of a 19"] < 2:
                    ready.clear()
                    await ready.wait()
        assert {told.split()[-1] for told in heard if told.startswith("b: of a")} >= {"19"}
        assert [told for told in heard if "spy" in told or "as a" in told or told.startswith(("a:", "c:"))] == []


@on_real_clock
async def test_who_may_speak_at_the_broker_under_another_name_does_not_get_past_tls(tmp_path: Path) -> None:
    hamlet, stranger = Hamlet.found("ab", tmp_path), make_identity("stranger", tmp_path)
    users = tmp_path / "users.conf"
    allowed = f"  {{ nkey: {Signer.of_file(stranger.key).public} }}\n]\n"  # it may send and hear everything
    users.write_text(users.read_text().rpartition("]")[0] + allowed)
    site, told = hamlet.site, list[str]()
    own = hamlet.identities["a"]

    async def stay() -> list[str]:
        met = Meeting(
            "a", hamlet.roster, certificate=own.certificate, key=own.key, relay=site, notice=told.append
        ).held(60)
        async with met as link:
            return (await play(link, swap, 0)).unwrap()

    async def come() -> list[str]:
        async with hamlet.connect("b") as link:
            return (await play(link, swap, 0)).unwrap()

    with hamlet.broker():
        waiting = asyncio.ensure_future(stay())
        subjects = Subjects(site.sent_to("b"), {site.mark("a"): "a"}, lambda peer: site.subject("b", peer))
        dialing, _ = contexts(stranger.certificate, stranger.key, [hamlet.roster["a"]])
        async with asyncio.timeout(60), Exchange(site, subjects, Signer.of_file(stranger.key)).open() as exchange:
            while not told:
                with pytest.raises((OSError, EOFError)):  # reset while a is not there yet, then refused by TLS
                    reader, _ = await over_tls(exchange.call("a"), dialing, 1 << 16, seconds=20)
                    await reader.readexactly(1)
        assert await gather(asyncio.wait_for(waiting, 60), come()) == [["b"], ["a"]]
    assert "a peer was refused: its certificate is not in the roster" in told


def test_packets_keep_to_the_payload_limit_of_the_broker(tmp_path: Path) -> None:
    with Hamlet.found("ab", tmp_path, extra="max_payload: 3000\n").broker() as hamlet:
        outcomes = asyncio.run(hamlet.play_all(dict.fromkeys("ab", partial(turns, count=3, size=100_000))))
    assert [outcome.unwrap() for outcome in outcomes.values()] == [3, 3]
    assert "Maximum Payload" not in (tmp_path / "nats-server.log").read_text()


def test_subjects_follow_from_the_study_and_the_certificates_and_tell_neither(tmp_path: Path) -> None:
    contacts = [Contact("north", b"one"), Contact("south", b"two")]
    site = RelaySite.of("nats://relay", bytes(32), contacts)
    again = RelaySite.of("tls://elsewhere", bytes(32), reversed(contacts))
    assert site.subject("north", "south") == again.subject("north", "south")
    others = (
        RelaySite.of("nats://relay", bytes(31) + b"1", contacts),
        RelaySite.of("nats://relay", bytes(32), [contacts[0], Contact("south", b"three")]),
    )
    subjects = {each.subject("north", "south") for each in (site, *others)} | {site.subject("south", "north")}
    assert len(subjects) == 4
    assert not any(word in subject for subject in subjects for word in ("north", "south"))


@on_real_clock
async def test_a_client_that_we_did_not_write_is_let_in_with_a_partys_key_and_sees_its_subjects(tmp_path: Path) -> None:
    with Hamlet.found("ab", tmp_path).broker() as hamlet:
        site = hamlet.site
        seed = Signer.of_file(hamlet.identities["a"].key).key.private_bytes_raw()
        raw = bytes([18 << 3 | 160 >> 5, (160 & 31) << 3]) + seed
        spelled = base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode().rstrip("=")
        client = await nats.connect(site.url, nkeys_seed_str=spelled, allow_reconnect=False)
        told = await client.subscribe(site.sent_to("a"))
        await client.flush()
        own = Broker(site, Signer.of_file(hamlet.identities["b"].key), lambda sentence: None)

        def tell(anew: bool) -> None:
            own.send(site.subject("b", "a"), b"from b", b"")

        own.flow = tell
        async with own.kept():
            message = await told.next_msg(timeout=20)
        await client.close()
    assert (message.subject, message.data) == (site.subject("b", "a"), b"from b")


@pytest.mark.parametrize(
    "url", ["http://relay", "nats://", "relay:4222", "tls://user:word@relay", "nats://relay:99999", "wss://relay#x"]
)
def test_what_is_no_url_of_a_broker_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not the URL of a relay"):
        split_url(url)


@pytest.mark.parametrize("nonce", ["", "with space", "é", "x" * 65, "TLS 1.3, client CertificateVerify", "a\x00b"])
def test_a_nonce_that_could_mean_something_else_is_not_signed(tmp_path: Path, nonce: str) -> None:
    with pytest.raises(Blocked, match="odd text"):
        Signer.of_file(make_identity("a", tmp_path).key).sign(nonce)


def test_a_proxy_is_taken_from_the_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    far, near = (RelaySite(f"wss://{host}", bytes(32)) for host in ("relay.example.org", "127.0.0.1"))
    assert proxy_for(far) is None
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    found = proxy_for(far)
    assert found is not None
    assert (found.hostname, found.port) == ("proxy.example.org", 3128)
    assert proxy_for(near) is None
    monkeypatch.setenv("NO_PROXY", "example.org")
    assert proxy_for(far) is None


@pytest.mark.parametrize("size", [0, 5, 125, 126, 65535, 65536, 300_000])
def test_a_frame_of_a_websocket_is_masked_and_has_its_length(size: int) -> None:
    content = bytes(size)
    framed = frame(content)
    head = len(framed) - size
    mask = framed[head - 4 : head]
    assert framed[0] == 0x82
    assert framed[1] & 0x80
    assert framed[head:] == (mask * (size // 4 + 1))[:size]
