"""Channels: addressed by sender, type and step; waiting ends; what is out of place is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest
from tests.harness.clock import Deadlock, run_jumping
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Outcome, run_parties

from covey.crypto.rng import Rng, fresh_seed
from covey.errors import Aborted, CoveyError, InputError, PeerError
from covey.wire import Channel, Message, gather, plain_channel
from covey.wire.link import FrameQueue


class Ping(Message, tag="test.ping"):
    """A small question."""

    value: int


class Pong(Message, tag="test.pong"):
    """Its answer."""

    value: int


T = TypeVar("T")
Role = Callable[[Channel], Awaitable[object]]


def _error(outcome: Outcome[T]) -> CoveyError:
    assert outcome.error is not None
    return outcome.error


async def _twice_then_done(channel: Channel) -> None:
    await channel.receive("a", Ping)
    await channel.receive("a", Ping)
    await channel.at("end").receive("a", Ping)


async def _silent(channel: Channel) -> None:
    """Says nothing, and stays for a day."""
    await asyncio.sleep(86400)


def test_messages_are_found_by_step_whatever_the_order_of_arrival() -> None:
    async def speaker(channel: Channel) -> None:
        for turn in (3, 1, 2):
            await channel.at("turn", turn).send("b", Ping(turn))

    async def listener(channel: Channel) -> list[int]:
        return [(await channel.at(f"turn/{turn}").receive("a", Ping)).value for turn in (1, 2, 3)]

    assert run_parties({"a": speaker, "b": listener})["b"].unwrap() == [1, 2, 3]


def test_tasks_that_wait_for_one_sender_at_several_steps_do_not_block_each_other() -> None:
    async def speaker(channel: Channel) -> None:
        for turn in (2, 0, 1):
            await channel.at(turn).send("b", Ping(turn))

    async def listener(channel: Channel) -> list[int]:
        async def wait_for(turn: int) -> int:
            return (await channel.at(turn).receive("a", Ping)).value

        return await gather(*(wait_for(turn) for turn in range(3)))

    assert run_parties({"a": speaker, "b": listener})["b"].unwrap() == [0, 1, 2]


def test_an_exchange_gives_everyones_message_by_sender() -> None:
    async def role(channel: Channel) -> dict[str, int]:
        answers = await channel.exchange(Ping(ord(channel.me)))
        return {sender: answer.value for sender, answer in answers.items()}

    outcomes = run_parties(dict.fromkeys("abc", role))
    assert outcomes["b"].unwrap() == {"a": ord("a"), "c": ord("c")}


def test_rounds_count_what_was_read_and_not_what_merely_arrived() -> None:
    async def leader(channel: Channel) -> None:
        await channel.send("b", Ping(1))
        await channel.receive("b", Pong)

    async def follower(channel: Channel) -> None:
        await channel.at("aside").send("a", Ping(0))  # depth 1, although a's question may have arrived
        await channel.receive("a", Ping)
        await channel.send("a", Pong(1))  # depth 2

    async def leader_with_aside(channel: Channel) -> None:
        async def aside() -> None:
            await channel.at("aside").receive("b", Ping)

        await gather(leader(channel), aside())

    outcomes = run_parties({"a": leader_with_aside, "b": follower})
    assert [outcome.tally.rounds for outcome in outcomes.values()] == [2, 2]
    assert [(entry.header.step, entry.header.depth) for entry in outcomes["b"].notebook.sent_entries[1:]] == [
        ("aside", 1),
        ("", 2),
    ]


def test_what_one_task_has_read_does_not_deepen_what_another_sends() -> None:
    async def role(channel: Channel) -> None:
        async def chain(step: int, length: int) -> None:
            for _ in range(length):
                await channel.at(step).exchange(Ping(0))

        await gather(chain(1, 5), chain(2, 3))
        await channel.at("after").exchange(Ping(0))

    outcome = run_parties({"a": role, "b": role})["a"]
    outcome.unwrap()
    depths = {(e.header.step, e.header.number): e.header.depth for e in outcome.notebook.sent_entries[1:]}
    assert depths == {
        **{("1", number): number + 1 for number in range(5)},
        **{("2", number): number + 1 for number in range(3)},
        ("after", 0): 6,
    }
    assert outcome.tally.rounds == 6


def test_the_tally_counts_messages_and_bytes_of_each_directed_pair() -> None:
    async def speaker(channel: Channel) -> None:
        await channel.send("b", Ping(1))
        await channel.send("b", Ping(2))

    async def listener(channel: Channel) -> None:
        await channel.receive("a", Ping)
        await channel.receive("a", Ping)

    outcomes = run_parties({"a": speaker, "b": listener})
    assert outcomes["a"].tally.messages == outcomes["b"].tally.messages == {("a", "b"): 2}
    assert outcomes["a"].tally.bytes == outcomes["b"].tally.bytes
    sizes = sum(entry.size for entry in outcomes["a"].notebook.sent_entries[1:])
    assert outcomes["a"].tally.bytes["a", "b"] == sizes


def test_both_sides_write_down_the_same_hashes() -> None:
    async def role(channel: Channel) -> None:
        for _ in range(3):
            await channel.exchange(Ping(1))

    outcomes = run_parties({"a": role, "b": role})
    assert outcomes["a"].notebook.sent_entries == outcomes["b"].notebook.received_entries
    assert len({entry.digest for entry in outcomes["a"].notebook.sent_entries}) == 4  # salted


@pytest.mark.parametrize(
    ("listen", "reason"),
    [
        (lambda channel: channel.receive("a", Pong), "sent 'test.ping' where 'test.pong' was due"),
        (_twice_then_done, "more than was due"),
    ],
)
def test_a_message_of_the_wrong_type_or_too_many_of_them_is_refused(listen: Role, reason: str) -> None:
    async def speaker(channel: Channel) -> None:
        for turn in range(3):
            await channel.send("b", Ping(turn))
        await channel.at("end").send("b", Ping(0))

    error = _error(run_parties({"a": speaker, "b": listen})["b"])
    assert isinstance(error, PeerError)
    assert error.party == "a"
    assert reason in str(error)


@pytest.mark.parametrize("late", ["inside", "below"])
def test_a_message_that_comes_after_its_step_is_over_is_refused(late: str) -> None:
    async def speaker(channel: Channel) -> None:
        await channel.at("turn", 1).send("b", Ping(1))
        await channel.at("turn", 2).send("b", Ping(2))
        await (channel.at("turn", 1) if late == "inside" else channel.at("turn", 1, "x")).send("b", Ping(3))
        await channel.at("turn", 3).send("b", Ping(3))

    async def listener(channel: Channel) -> None:
        with channel.at("turn", 1) as turn:
            await turn.receive("a", Ping)
        await channel.at("turn", 2).receive("a", Ping)
        await channel.at("turn", 3).receive("a", Ping)

    error = _error(run_parties({"a": speaker, "b": listener})["b"])
    assert isinstance(error, PeerError)
    assert "late" in str(error)
    assert "turn/1" in str(error)


@pytest.mark.parametrize("step", ["\x1b[2J", "a\ncovey: all is well", "\u202egnorw"])
def test_a_step_that_could_steer_a_terminal_is_refused_without_being_named(step: str) -> None:
    async def speaker(channel: Channel) -> None:
        await channel.at(step).send("b", Ping(1))
        await _silent(channel)

    async def listener(channel: Channel) -> None:
        await channel.receive("a", Ping)

    error = _error(run_parties({"a": speaker, "b": listener})["b"])
    assert "control characters" in str(error)
    assert str(error).isprintable()


def test_a_step_cannot_end_while_a_message_is_left_in_it() -> None:
    async def speaker(channel: Channel) -> None:
        await channel.at("turn").send("b", Ping(1))
        await channel.at("after").send("b", Ping(1))

    async def listener(channel: Channel) -> None:
        with channel.at("turn"):
            await channel.at("after").receive("a", Ping)

    error = _error(run_parties({"a": speaker, "b": listener})["b"])
    assert isinstance(error, PeerError)
    assert error.step == "turn"


def test_a_peer_that_floods_us_with_what_nobody_asked_for_is_refused() -> None:
    async def flood(channel: Channel) -> None:
        for _ in range(5000):
            await channel.at("noise").send("b", Ping(0))

    async def listener(channel: Channel) -> None:
        await channel.receive("a", Ping)

    error = _error(run_parties({"a": flood, "b": listener})["b"])
    assert isinstance(error, PeerError)
    assert "nobody asked for" in str(error)


@pytest.mark.parametrize(("silence", "patience", "words"), [(60, 600, "no sign of life"), (60, 20, "did not send")])
def test_waiting_ends(silence: float, patience: float, words: str) -> None:
    async def listener(channel: Channel) -> None:
        await channel.receive("a", Ping)

    roles: dict[str, Role] = {"a": _silent, "b": listener}
    network = FaultyNetwork("ab", Weather(), seed=0)
    error = _error(run_parties(roles, network=network, silence=silence, patience=patience)["b"])
    assert isinstance(error, Aborted)
    assert error.resumable
    assert words in str(error)
    assert "'a'" in str(error)
    assert "test.ping" in str(error)


def test_a_peer_that_gives_signs_of_life_is_waited_for_until_patience_ends() -> None:
    async def chatty(channel: Channel) -> None:
        for turn in range(20):
            await asyncio.sleep(50)
            await channel.at("aside").send("b", Ping(turn))

    waited: list[float] = []

    async def listener(channel: Channel) -> None:
        begun = asyncio.get_running_loop().time()
        try:
            await channel.receive("a", Ping)
        finally:
            waited.append(asyncio.get_running_loop().time() - begun)

    network = FaultyNetwork("ab", Weather(), seed=0)
    outcome = run_parties({"a": chatty, "b": listener}, network=network, silence=60, patience=300)["b"]
    assert isinstance(outcome.error, Aborted)
    assert waited == [300]


def test_a_receiver_that_never_reads_stops_the_sender_and_not_the_memory() -> None:
    held: list[int] = []

    async def speaker(channel: Channel) -> None:
        for turn in range(100):
            await channel.send("b", Big(bytes(1 << 20)))
            held.append(turn)

    outcome = run_parties({"a": speaker, "b": _silent}, patience=30)["a"]
    assert isinstance(outcome.error, Aborted)
    assert "has not taken our message" in str(outcome.error)
    assert len(held) < 40


class Big(Message, tag="test.big"):
    """A megabyte."""

    load: bytes


def test_a_message_larger_than_a_frame_is_refused_at_home() -> None:
    async def speaker(channel: Channel) -> None:
        await channel.send("b", Big(bytes(17 << 20)))

    error = _error(run_parties({"a": speaker, "b": _silent})["a"])
    assert isinstance(error, InputError)
    assert "stream" in str(error)


def test_a_stream_is_made_only_as_fast_as_it_is_read() -> None:
    made: list[int] = []

    async def speaker(channel: Channel) -> None:
        def chunks() -> Iterator[Big]:
            for index in range(100):
                made.append(index)
                yield Big(bytes(1 << 20))

        await channel.stream("b", chunks())

    lead: list[int] = []

    async def listener(channel: Channel) -> None:
        count = 0
        async for _ in channel.receive_stream("a", Big, 100):
            count += 1
            lead.append(len(made) - count)

    run_parties({"a": speaker, "b": listener})["b"].unwrap()
    assert len(lead) == 100 and max(lead) <= 40


def test_two_tasks_that_read_at_one_step_are_a_mistake_that_is_named() -> None:
    async def listener(channel: Channel) -> None:
        await gather(channel.receive("a", Ping), channel.receive("a", Ping))

    error = _error(run_parties({"a": _silent, "b": listener})["b"])
    assert isinstance(error, InputError)
    assert "step of its own" in str(error)


def test_a_party_that_stops_tells_the_others_why() -> None:
    async def refuses(channel: Channel) -> None:
        await channel.stop("refused", resumable=False)

    async def listener(channel: Channel) -> None:
        await channel.receive("a", Ping)

    error = _error(run_parties({"a": refuses, "b": listener})["b"])
    assert isinstance(error, Aborted)
    assert not error.resumable
    assert "refused the release" in str(error)


def test_a_party_that_stops_is_heard_on_any_channel_over_the_same_line() -> None:
    async def refuses(channel: Channel) -> None:
        await channel.exchange(Ping(1))
        await channel.stop("refused", resumable=False)

    async def already_elsewhere(channel: Channel) -> None:
        await channel.exchange(Ping(1))
        elsewhere = plain_channel(channel._session.link, Rng(fresh_seed()), session=b"t" * 16)
        await elsewhere.at("later").receive("a", Ping)

    error = _error(run_parties({"a": refuses, "b": already_elsewhere})["b"])
    assert isinstance(error, Aborted)
    assert "refused the release" in str(error)


def test_in_one_process_a_long_computation_is_not_taken_for_silence() -> None:
    async def busy(channel: Channel) -> None:
        await asyncio.sleep(1000)
        await channel.send("b", Ping(1))

    async def listener(channel: Channel) -> int:
        return (await channel.receive("a", Ping)).value

    assert run_parties({"a": busy, "b": listener}, silence=60, patience=3600)["b"].unwrap() == 1


def test_pairwise_seeds_agree_between_two_and_differ_between_calls_steps_and_pairs() -> None:
    async def role(channel: Channel) -> list[dict[str, bytes]]:
        calls = (channel.pairwise_seeds(), channel.pairwise_seeds(), channel.at("x").pairwise_seeds())
        return [{peer: seed.reveal() for peer, seed in call.items()} for call in calls]

    outcomes = {name: outcome.unwrap() for name, outcome in run_parties(dict.fromkeys("abc", role)).items()}
    seen = set()
    for call in range(3):
        for one, other in ("ab", "bc", "ac"):
            assert outcomes[one][call][other] == outcomes[other][call][one]
            seen.add(outcomes[one][call][other])
    assert len(seen) == 9


def test_the_channels_randomness_differs_between_steps() -> None:
    async def role(channel: Channel) -> int:
        return len(
            {channel.at(step).rng.stream("x").bytes(16) for step in range(5)} | {channel.rng.stream("x").bytes(16)}
        )

    assert run_parties({"a": role})["a"].unwrap() == 6


@pytest.mark.parametrize("step", [(), ("",), ("!",), ("a", "", "b"), ("x" * 161,)])
def test_a_step_without_a_proper_name_is_refused(step: tuple[str, ...]) -> None:
    async def role(channel: Channel) -> None:
        channel.at(*step)

    assert isinstance(_error(run_parties({"a": role})["a"]), InputError)


def test_a_party_that_nobody_knows_cannot_be_spoken_to() -> None:
    async def role(channel: Channel) -> None:
        await channel.send("z", Ping(1))

    assert isinstance(_error(run_parties({"a": role})["a"]), InputError)


@pytest.mark.parametrize(
    ("weather", "words"),
    [
        (Weather(loss=1000), "no sign of life"),
        (Weather(repeat=1000), "repeated"),
        (Weather(swap=300), "lost on the way"),
        (Weather(cut_at=0), "dropped off"),
    ],
)
def test_a_line_that_breaks_its_promise_is_noticed(weather: Weather, words: str) -> None:
    async def role(channel: Channel) -> None:
        for _ in range(20):
            await channel.broadcast(Ping(1))
        for _ in range(20):
            await channel.collect(Ping)

    outcomes = run_parties({"a": role, "b": role}, network=FaultyNetwork("ab", weather, seed=1))
    assert all(isinstance(outcome.error, (Aborted, PeerError)) for outcome in outcomes.values())
    assert any(words in str(outcome.error) for outcome in outcomes.values())


def test_parties_that_wait_for_each_other_without_a_deadline_are_found_out() -> None:
    async def wait() -> None:
        await FrameQueue().get()

    with pytest.raises(Deadlock):
        run_jumping(wait())


def test_the_clock_stands_still_while_a_thread_works() -> None:
    async def work() -> float:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(5):
            await asyncio.to_thread(sum, range(1_000_000))
        return loop.time()

    assert run_jumping(work()) < 5


def test_a_channel_among_some_knows_only_them_and_shares_secrets_with_each() -> None:
    async def member(channel: Channel) -> tuple[tuple[str, ...], int, dict[str, bytes]]:
        some = channel.at("some").among("a", "c")
        heard = await some.at("below").exchange(Ping(1))
        return some.parties, len(heard), {peer: seed.reveal() for peer, seed in some.pairwise_seeds().items()}

    async def outsider(channel: Channel) -> tuple[tuple[str, ...], int, dict[str, bytes]]:
        return channel.parties, 0, {}

    ends = run_parties({"a": member, "b": outsider, "c": member})
    parties, heard, seeds = ends["a"].unwrap()
    assert parties == ("a", "c") and heard == 1
    assert seeds == {"c": ends["c"].unwrap()[2]["a"]}
    assert ends["b"].unwrap()[0] == ("a", "b", "c")


def test_a_channel_among_strangers_is_refused() -> None:
    async def role(channel: Channel) -> Channel:
        return channel.among("a", "nobody")

    assert "nobody" in str(_error(run_parties({"a": role, "b": role})["a"]))


def test_a_deadline_that_rounding_puts_a_hair_too_early_still_ends_the_wait() -> None:
    """4.1 + 60 - 4.1 is less than 60: a wait that began then must not come back to itself for ever."""

    async def late(channel: Channel) -> None:
        await asyncio.sleep(4.1)
        await channel.receive("b", Ping)

    assert "within 60 s" in str(_error(run_parties({"a": late, "b": _silent}, silence=1e9, patience=60)["a"]))


def test_whoever_stops_says_because_of_whom() -> None:
    """C is gone; B notices first and stops, and A, which waits for B alone, is told of C."""

    async def stops(channel: Channel) -> None:
        await channel.stop("aborted", resumable=True, party="c")

    async def waits(channel: Channel) -> None:
        await channel.receive("b", Ping)

    ended = run_parties({"a": waits, "b": stops, "c": waits})
    first, last = _error(ended["a"]), _error(ended["c"])
    assert str(first) == "party 'b' stopped the run because of party 'c'"
    assert isinstance(first, Aborted) and first.party == "c" and first.resumable
    assert str(last) == "party 'b' stopped the run because of its connection to us"
