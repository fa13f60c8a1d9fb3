"""Meeting over TLS: who dials, who waits, what is said when somebody does not come, and that nothing is lost."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.harness.clock import on_real_clock
from tests.harness.parties import play
from tests.harness.town import Town

from covey.errors import Aborted, AccessError, InputError, PeerError
from covey.wire import Address, Channel, Contact, Link, Meeting, MemoryNetwork, Message, gather, on_own_thread
from covey.wire.contact import dials


class Load(Message, tag="test.load"):
    """Some bytes."""

    load: bytes


class Done(Message, tag="test.done"):
    """A last word."""


async def swap(channel: Channel) -> list[str]:
    """Everybody greets everybody."""
    return sorted(await channel.exchange(Load(b"hello")))


async def meet(town: Town, name: str, **options: float) -> tuple[str, ...]:
    """The peers that this party finds and greets."""
    async with town.connect(name, **options) as link:
        return tuple((await play(link, swap, 0)).unwrap())


@on_real_clock
async def test_parties_that_start_at_different_times_find_each_other(tmp_path: Path) -> None:
    town = Town.found("abc", tmp_path)

    async def later(name: str, delay: float) -> tuple[str, ...]:
        await asyncio.sleep(delay)
        return await meet(town, name)

    assert await gather(later("a", 0.6), later("b", 0), later("c", 0.3)) == [("b", "c"), ("a", "c"), ("a", "b")]


@on_real_clock
async def test_a_role_runs_over_tls_as_over_memory(tmp_path: Path) -> None:
    outcomes = await Town.found("abc", tmp_path).play_all(dict.fromkeys("abc", swap))
    assert outcomes["b"].unwrap() == ["a", "c"]


@on_real_clock
async def test_a_party_without_an_address_dials_out_even_if_its_name_sorts_first(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    town = dataclasses.replace(town, roster={**town.roster, "a": town.identities["a"].contact()})
    assert await gather(meet(town, "a"), meet(town, "b")) == [("b",), ("a",)]


def test_two_parties_without_addresses_are_named(tmp_path: Path) -> None:
    one, other = (Contact(name, b"certificate") for name in ("north", "south"))
    with pytest.raises(InputError, match="'north' and 'south' cannot meet: neither has an address"):
        dials(one, other)


@pytest.mark.parametrize(
    ("north", "south", "caller"), [(True, True, "south"), (False, True, "north"), (True, False, "south")]
)
def test_the_later_name_dials_where_it_can(north: bool, south: bool, caller: str) -> None:
    where = Address("localhost", 1)
    one, other = Contact("north", b"", where if north else None), Contact("south", b"", where if south else None)
    assert (dials(one, other), dials(other, one)) == (caller == "north", caller == "south")


@on_real_clock
async def test_a_party_can_listen_where_the_roster_does_not_say(tmp_path: Path) -> None:
    town, behind = Town.found("ab", tmp_path), Town.found("a", tmp_path / "x").roster["a"].address
    own = town.identities["a"]
    assert behind is not None
    seen_outside = {**town.roster, "a": own.contact(behind)}

    async def inside() -> tuple[str, ...]:
        async with Meeting("a", town.roster, certificate=own.certificate, key=own.key, listen=behind).held(10) as link:
            return tuple((await play(link, swap, 0)).unwrap())

    assert await gather(inside(), meet(dataclasses.replace(town, roster=seen_outside), "b")) == [("b",), ("a",)]


@on_real_clock
async def test_a_party_that_never_comes_is_named_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    town = Town.found("abc", tmp_path)
    with pytest.raises(Aborted, match=r"parties 'b', 'c' did not come within 0\.3 s: see that they are") as stopped:
        await meet(town, "a", wait=0.3)
    assert stopped.value.resumable


@on_real_clock
async def test_who_waited_for_another_and_left_is_not_the_one_who_is_missing(tmp_path: Path) -> None:
    """B's time is up before A's: what both miss is C."""
    town = Town.found("abc", tmp_path)
    ends = await asyncio.gather(meet(town, "a", wait=1.2), meet(town, "b", wait=0.4), return_exceptions=True)
    assert "party 'c' did not come within 1.2 s ('b' waited too, and left)" in str(ends[0])
    assert "party 'c' did not come within 0.4 s" in str(ends[1])


@pytest.mark.thorough
@on_real_clock
async def test_parties_that_do_not_reach_each_other_are_named_by_one_that_reaches_both(tmp_path: Path) -> None:
    """C dials B at an address where nobody is; A has both, and does not blame either of not having come."""
    town = Town.found("abc", tmp_path)
    lost = dataclasses.replace(town, roster={**town.roster, "b": town.identities["b"].contact(Address("127.0.0.1", 1))})
    meetings = [meet(town, "a", wait=0.7), meet(town, "b", wait=2), meet(lost, "c", wait=2)]
    first, *rest = await asyncio.gather(*meetings, return_exceptions=True)
    assert "all parties are here, but 'b', 'c' did not meet each other within 0.7 s" in str(first)
    assert all(isinstance(end, Aborted) for end in rest)


@on_real_clock
async def test_peers_hear_whom_a_party_waits_for(tmp_path: Path) -> None:
    town, heard = Town.found("abc", tmp_path), asyncio.Event()

    async def waits(name: str, awaiting: tuple[str, ...]) -> None:
        own = town.identities[name]

        def told(peer: str, names: tuple[str, ...]) -> None:
            if (name, peer, names) == ("a", "b", ("c",)):  # others than the roster's are not passed on
                heard.set()

        async with Meeting(
            name, town.roster, certificate=own.certificate, key=own.key,
            awaiting=lambda: awaiting, told=told, heartbeat=0.05,
        ).held(10):  # fmt: skip
            await heard.wait()

    async with asyncio.timeout(20):
        await asyncio.gather(waits("a", ()), waits("b", ("c", "nobody")), waits("c", ()))


@on_real_clock
async def test_a_port_in_use_is_named_with_what_to_do(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    where = town.roster["a"].address
    assert where is not None
    with socket.create_server((where.host, where.port)), pytest.raises(InputError, match=f"{where}.*--listen"):
        await meet(town, "a")


@on_real_clock
async def test_a_party_that_comes_back_before_all_have_met_is_let_in_again(tmp_path: Path) -> None:
    town = Town.found("abc", tmp_path)

    async def flaky() -> tuple[str, ...]:
        for name in ("b", "c"):  # b dials a, c dials both: one goes away as caller, one as called
            with pytest.raises(Aborted):
                await meet(town, name, wait=0.3)
        return ()

    async def rest() -> list[tuple[str, ...]]:
        await asyncio.sleep(1)
        return await gather(meet(town, "b"), meet(town, "c"))

    found, _, others = await gather(meet(town, "a"), flaky(), rest())
    assert (found, others) == (("b", "c"), [("a", "c"), ("a", "b")])


@on_real_clock
async def test_a_key_that_is_not_the_certificates_is_refused(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    with pytest.raises(InputError, match="not a certificate with its key"):
        async with Meeting(
            "a", town.roster, certificate=town.identities["a"].certificate, key=town.identities["b"].key
        ).held(1):
            raise AssertionError("met")


@on_real_clock
async def test_a_roster_with_one_certificate_for_two_is_refused(tmp_path: Path) -> None:
    town = Town.found("abc", tmp_path)
    twice = {**town.roster, "c": dataclasses.replace(town.roster["b"], name="c")}
    with pytest.raises(InputError, match="same certificate"):
        await meet(dataclasses.replace(town, roster=twice), "a")


@on_real_clock
async def test_nothing_that_was_sent_before_the_good_bye_is_lost(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)

    async def speaker(channel: Channel) -> None:
        for _ in range(40):
            await channel.send("b", Load(bytes(1 << 18)))

    async def listener(channel: Channel) -> int:
        await asyncio.sleep(0.5)  # the speaker is done and gone by now
        return sum([len((await channel.receive("a", Load)).load) for _ in range(40)])

    outcomes = await town.play_all({"a": speaker, "b": listener})
    assert outcomes["b"].unwrap() == 40 << 18


@on_real_clock
async def test_small_frames_are_not_held_back(tmp_path: Path) -> None:
    async def chat(channel: Channel) -> float:
        begun = time.monotonic()
        for turn in range(200):
            await channel.at(turn).exchange(Load(b"x"))
        return time.monotonic() - begun

    outcomes = await Town.found("ab", tmp_path).play_all(dict.fromkeys("ab", chat))
    assert outcomes["a"].unwrap() < 3  # with Nagle's algorithm and delayed acknowledgements: more than 4


@pytest.mark.thorough
@on_real_clock
async def test_a_receiver_that_does_not_read_stops_the_sender(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    sent: list[int] = []

    async def speaker(channel: Channel) -> None:
        for index in range(200):
            await channel.send("b", Load(bytes(1 << 20)))
            sent.append(index)

    held: list[int] = []

    async def listener(channel: Channel) -> None:
        await asyncio.sleep(1.5)
        held.append(len(sent))
        for _ in range(200):
            await channel.receive("a", Load)

    outcomes = await town.play_all({"a": speaker, "b": listener})
    outcomes["b"].unwrap()
    assert held[0] < 80  # megabytes: the queue's 32, and what the sockets hold


@on_real_clock
async def test_a_frame_that_is_announced_too_long_is_refused_before_it_is_read(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)

    async def hostile(link: Link) -> None:
        await link.send("b", bytes((16 << 20) + 4096))

    async def attacker() -> None:
        async with town.connect("a") as link:
            await hostile(link)

    async def victim() -> None:
        async with town.connect("b") as link:
            with pytest.raises(PeerError, match="at most"):
                await link.receive("a")

    await gather(attacker(), victim())


@on_real_clock
async def test_a_connection_that_is_cut_is_noticed_at_once(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)

    async def speaker(channel: Channel) -> None:
        raise RuntimeError("the process dies here")

    async def dying() -> None:
        with pytest.raises(RuntimeError):
            async with town.connect("a") as link:
                await play(link, speaker, 0)

    async def listener() -> None:
        async with town.connect("b") as link:
            begun = time.monotonic()
            outcome = await play(link, lambda channel: channel.receive("a", Load), 0)
            assert isinstance(outcome.error, Aborted)
            assert time.monotonic() - begun < 5

    await gather(dying(), listener())


@pytest.mark.thorough
@on_real_clock
async def test_a_long_computation_on_one_side_is_not_taken_for_death(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)

    async def busy(channel: Channel) -> None:
        time.sleep(2)  # noqa: ASYNC251 - a computation that holds the role's event loop
        await channel.send("b", Load(b"done"))

    async def waiting(channel: Channel) -> bytes:
        return (await channel.receive("a", Load)).load

    async def computing() -> None:
        async with on_own_thread(lambda: town.connect("a", heartbeat=0.1)) as link:
            (await play(link, busy, 0, silence=0.7)).unwrap()

    async def patient() -> bytes:
        async with on_own_thread(lambda: town.connect("b", heartbeat=0.1)) as link:
            return (await play(link, waiting, 0, silence=0.7)).unwrap()

    one = asyncio.to_thread(asyncio.run, computing())
    assert (await asyncio.gather(one, patient()))[1] == b"done"


@on_real_clock
async def test_a_link_on_its_own_thread_raises_here_what_went_wrong_there(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    with pytest.raises(Aborted, match="'b' did not come"):
        async with on_own_thread(lambda: town.connect("a", wait=0.2)):
            raise AssertionError("met")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), on_own_thread(lambda: town.connect("a", wait=60)):
            raise AssertionError("met")


@on_real_clock
async def test_a_link_whose_thread_fails_leaves_nobody_waiting() -> None:
    @asynccontextmanager
    async def breaking() -> AsyncIterator[Link]:
        async with asyncio.timeout(0.3):
            yield MemoryNetwork("ab").link("b")

    with pytest.raises(TimeoutError):
        async with on_own_thread(breaking) as link:
            with pytest.raises(Aborted, match="have ended"):
                await link.receive("a")
            with pytest.raises(Aborted, match="have ended"):
                await link.send("a", b"frame")


@on_real_clock
async def test_a_silent_peer_is_given_up_after_the_silence_allowed(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    freed = asyncio.Event()

    async def frozen() -> None:
        async with town.connect("a", heartbeat=60):
            await freed.wait()

    async def waiting() -> None:
        async with town.connect("b") as link:
            outcome = await play(link, lambda channel: channel.receive("a", Load), 0, silence=0.5)
            assert isinstance(outcome.error, Aborted)
            assert "no sign of life" in str(outcome.error)
            freed.set()

    await gather(frozen(), waiting())


@pytest.mark.parametrize("text", ["localhost", "localhost:", ":7701", "localhost:99999", "localhost:http"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="host:port"):
        Address.parse(text)


def test_addresses_are_read_and_written() -> None:
    for text in ("127.0.0.1:7701", "[::1]:7701", "north.example:443"):
        assert str(Address.parse(text)) == text


def test_a_certificate_file_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="'north'"):
        Contact.from_pem("north", b"nonsense")


@on_real_clock
async def test_a_party_that_is_not_in_the_roster_is_told_so(tmp_path: Path) -> None:
    town = Town.found("ab", tmp_path)
    own = town.identities["a"]
    with pytest.raises((InputError, AccessError), match="'z' is not in the roster"):
        async with Meeting("z", town.roster, certificate=own.certificate, key=own.key).held(1):
            raise AssertionError("met")
