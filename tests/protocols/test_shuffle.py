"""The shuffle keeps its promises: all rows, no origin, nothing opened without approval, no mixer trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.clock import on_real_clock
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import said, shapes, spent
from tests.harness.tiers import examples
from tests.harness.town import Town

from covey.arrays import Longs
from covey.crypto import seal as crypto_seal
from covey.crypto.elgamal import KeyShare
from covey.crypto.group import Points
from covey.crypto.rng import Label, Stream
from covey.crypto.seal import Sealed, unseal
from covey.errors import Aborted, InputError, PeerError
from covey.secure import batches, shuffle
from covey.secure.batches import pad, unpad
from covey.secure.jointkey import whole
from covey.secure.shuffle import COST, OPENING_COST, Mixed, ideal, leakage, mix, open_rows
from covey.wire import Channel, MemoryNetwork, chunks

LENGTH = 12
ACTOR: ContextVar[str] = ContextVar("actor")
"""Whose role code is running."""


def roles(inputs: Mapping[str, Sequence[bytes]], count: int | None = None) -> dict[str, Role[list[bytes]]]:
    """Everyone submits its rows, `count` of them with dummies or as many as it has, and approves."""
    counts = {name: len(rows) if count is None else count for name, rows in inputs.items()}

    def role(rows: Sequence[bytes]) -> Role[list[bytes]]:
        async def play(channel: Channel) -> list[bytes]:
            ACTOR.set(channel.me)
            mixed = await mix(channel.at("mix"), rows, counts=counts, length=LENGTH)
            return await open_rows(channel.at("open"), mixed, approved=True)

        return play

    return {name: role(rows) for name, rows in inputs.items()}


def mixing(inputs: Mapping[str, Sequence[bytes]], count: int | None = None) -> dict[str, Role[Mixed]]:
    """The first stage alone."""
    counts = {name: len(rows) if count is None else count for name, rows in inputs.items()}

    def role(rows: Sequence[bytes]) -> Role[Mixed]:
        async def play(channel: Channel) -> Mixed:
            ACTOR.set(channel.me)
            return await mix(channel.at("mix"), rows, counts=counts, length=LENGTH)

        return play

    return {name: role(rows) for name, rows in inputs.items()}


def labelled(names: str, each: int) -> dict[str, list[bytes]]:
    """Rows that say whose they are."""
    return {name: [f"{name}{number}".encode() for number in range(each)] for name in names}


def in_order(outcomes: Mapping[str, Outcome[Mixed]]) -> list[bytes]:
    """The mixed rows in the order in which they came out: what only all parts of the key together show."""
    mixed = [outcome.unwrap() for outcome in outcomes.values()]
    secret = whole(one.share.surrender() for one in mixed)
    return [unpad(row) or b"" for row in unseal(mixed[0].sealed, secret, *mixed[0].context, "row")]


@st.composite
def parties(draw: st.DrawFn) -> dict[str, list[bytes]]:
    """Two to four parties with a few rows each."""
    names = draw(st.lists(st.text("abcdef-", min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
    rows = st.lists(st.binary(max_size=LENGTH), max_size=5)
    return {name: draw(rows) for name in names}


@settings(max_examples=examples(40), deadline=None)
@given(parties(), st.sampled_from([None, 5, 7]), st.integers(0, 1000))
def test_every_party_learns_the_ideal_rows(inputs: dict[str, list[bytes]], count: int | None, seed: int) -> None:
    for outcome in run_parties(roles(inputs, count), seed=seed).values():
        assert outcome.unwrap() == ideal(inputs)


@on_real_clock
async def test_every_party_learns_the_ideal_rows_over_tls(tmp_path: Path) -> None:
    inputs = labelled("abc", 40)
    for outcome in (await Town.found("abc", tmp_path).play_all(roles(inputs, 50))).values():
        assert outcome.unwrap() == ideal(inputs)


def test_the_same_bytes_are_sent_however_the_network_interleaves() -> None:
    inputs = labelled("abc", 4)
    calm = said(run_parties(roles(inputs), seed=7))
    for weather in range(3):
        network = FaultyNetwork("abc", Weather(delay=20), weather)
        assert said(run_parties(roles(inputs), seed=7, network=network)) == calm
    assert said(run_parties(roles(inputs), seed=8)) != calm


@pytest.mark.parametrize(("names", "count"), [("ab", 3), ("abc", 30), ("abcde", 2)])
@pytest.mark.parametrize("chunk", [1 << 20, 500])
def test_the_cost_is_as_declared(names: str, count: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", chunk)
    inputs, counts = labelled(names, 1), [count] * len(names)
    first, both = spent(run_parties(mixing(inputs, count))), spent(run_parties(roles(inputs, count)))
    assert first.rounds == COST.rounds(counts, LENGTH)
    assert first.messages == COST.messages(counts, LENGTH)
    assert first.bytes == pytest.approx(COST.bytes(counts, LENGTH), rel=0.02)
    assert both.rounds - first.rounds == OPENING_COST.rounds(len(names))
    assert both.messages - first.messages == OPENING_COST.messages(len(names))
    assert both.bytes - first.bytes == pytest.approx(OPENING_COST.bytes(len(names)), rel=0.02)


def test_sizes_stay_private_where_all_submit_the_same_number() -> None:
    few = {"a": [b"x"], "b": [b"y"] * 4, "c": []}
    many = {"a": [b"long row"] * 4, "b": [], "c": [b"z"]}
    assert shapes(run_parties(mixing(few, 4))) == shapes(run_parties(mixing(many, 4)))


def test_rows_have_equal_length_and_dummies_leave_no_trace() -> None:
    padded = pad([b"", b"row", bytes(LENGTH)], 5, LENGTH)
    assert {len(row) for row in padded} == {LENGTH + 4}
    assert [unpad(row) for row in padded] == [b"", b"row", bytes(LENGTH), None, None]
    for bad in (b"\xff" * 16, b"\x00\x00\x00\x02ab", b"\x00\x00\x00\x00x", b"\x00\x00\x00\x09a"):
        with pytest.raises(InputError, match="padding"):
            unpad(bad)


# ---- the order, and who could know it


def keep_order_where(lazy: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """The mixers for which this holds pass rows on in the order received."""
    shuffled = Stream.permutation

    def permutation(stream: Stream, size: int) -> Longs:
        return np.arange(size) if lazy(ACTOR.get()) else shuffled(stream, size)

    monkeypatch.setattr(Stream, "permutation", permutation)


def guessed_origins(names: str, each: int, runs: int) -> float:
    """How often the place of a row tells whose it is, to somebody who bets on the order of submission."""
    right = 0
    for seed in range(runs):
        rows = in_order(run_parties(mixing(labelled(names, each)), seed=seed))
        right += sum(row.decode()[0] == names[place // each] for place, row in enumerate(rows))
    return right / (runs * each * len(names))


def test_a_mix_that_keeps_order_shows_every_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_order_where(lambda mixer: True, monkeypatch)
    assert guessed_origins("abc", 8, 3) == 1


def test_our_mix_shows_no_origin() -> None:
    assert 0.2 < guessed_origins("abc", 8, 25) < 0.47  # of 600 guesses a third is right by chance


@pytest.mark.few(1)
@pytest.mark.parametrize("honest", "abc")
def test_one_honest_mixer_is_enough(honest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_order_where(lambda mixer: mixer != honest, monkeypatch)
    assert 0.2 < guessed_origins("abc", 8, 25) < 0.47


# ---- mixers that meddle


def meddle(who: str, how: Callable[[Sealed], Sealed], monkeypatch: pytest.MonkeyPatch) -> None:
    """That party passes on something else than it should, once it has mixed."""
    honest = batches.send

    async def send(channel: Channel, to: str, kind: type[batches.Batch], batch: Sealed) -> None:
        passing_on = len(batch) == 12
        await honest(channel, to, kind, how(batch) if ACTOR.get() == who and passing_on else batch)

    monkeypatch.setattr(batches, "send", send)


def repeat_a_row(batch: Sealed) -> Sealed:
    return batch.take(np.array([0, 0, *range(2, len(batch))]))


def alter_a_row(batch: Sealed) -> Sealed:
    return Sealed(batch.heads, [bytes([batch.bodies[0][0] ^ 1]) + batch.bodies[0][1:], *batch.bodies[1:]])


def drop_a_row(batch: Sealed) -> Sealed:
    return batch.slice(1, len(batch))


@pytest.mark.parametrize("mixer", "abc")
@pytest.mark.parametrize("how", [repeat_a_row, alter_a_row, drop_a_row])
def test_a_mixer_that_repeats_alters_or_drops_a_row_is_refused_and_nothing_opens(
    mixer: str, how: Callable[[Sealed], Sealed], monkeypatch: pytest.MonkeyPatch
) -> None:
    meddle(mixer, how, monkeypatch)
    outcomes = run_parties(roles(labelled("abc", 4)))
    errors = {name: outcome.error for name, outcome in outcomes.items() if name != mixer}
    assert all(isinstance(error, (PeerError, Aborted)) for error in errors.values())
    accused = [error.party for error in errors.values() if isinstance(error, PeerError)]
    assert accused
    assert all(mixer in party for party in accused)


def own_rows_of(who: str, monkeypatch: pytest.MonkeyPatch) -> list[Sealed]:
    """Fills with that party's own rows below all layers, and one more of its making, as it seals them."""
    kept: list[Sealed] = []
    honest = crypto_seal.seal

    def seal(rows: Sequence[bytes], key: Points, stream: Stream, *context: Label) -> Sealed:
        sealed = honest(rows, key, stream, *context)
        if ACTOR.get() == who and context[-1] == "row":
            kept.extend((sealed, honest(pad([b"forged"], 1, LENGTH), key, stream, *context)))
        return sealed

    monkeypatch.setattr(shuffle, "seal", seal)
    return kept


def test_a_mixer_that_replaces_a_row_is_noticed_by_its_owner_before_anything_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last mixer puts a row of its own making in the place of another's: counts are right, all rows open."""
    kept = own_rows_of("c", monkeypatch)

    def replace(batch: Sealed) -> Sealed:
        others = [place for place, head in enumerate(batch.heads) if head not in set(kept[0].heads)]
        rest = [place for place in range(len(batch)) if place != others[0]]
        return Sealed.join([batch.take(np.array(rest)), kept[1]])

    meddle("c", replace, monkeypatch)
    outcomes = run_parties(roles(labelled("abc", 4)))
    noticed = [outcome.error for outcome in outcomes.values() if isinstance(outcome.error, PeerError)]
    assert noticed
    assert all("replaced" in error.reason for error in noticed)
    assert all(outcome.answer is None for outcome in outcomes.values())


def test_a_mixer_cannot_mark_a_row_by_showing_it_twice_in_place_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other party finds all its rows: only the repetition gives the tracer away."""
    kept = own_rows_of("c", monkeypatch)

    def mark(batch: Sealed) -> Sealed:
        mine = set(kept[0].heads)
        others = [place for place, head in enumerate(batch.heads) if head not in mine]
        own = [place for place, head in enumerate(batch.heads) if head in mine]
        return batch.take(np.array([*others, *own[1:], others[0]]))

    meddle("c", mark, monkeypatch)
    outcomes = run_parties(roles(labelled("abc", 4)))
    for name in "ab":
        error = outcomes[name].error
        assert isinstance(error, PeerError)
        assert (error.party, error.reason) == ("c", "a row occurs twice")


def test_without_approval_the_part_of_the_key_stays_at_home() -> None:
    counts = dict.fromkeys("abc", 1)

    def role(approved: bool) -> Role[list[bytes]]:
        async def play(channel: Channel) -> list[bytes]:
            mixed = await mix(channel.at("mix"), [b"row"], counts=counts, length=LENGTH)
            return await open_rows(channel.at("open"), mixed, approved=approved)

        return play

    outcomes = run_parties({"a": role(True), "b": role(False), "c": role(True)})
    assert all(isinstance(outcome.error, Aborted) for outcome in outcomes.values())
    assert not any(e.header.tag == "shuffle.share" for e in outcomes["b"].notebook.sent_entries)


def test_a_share_that_was_not_promised_is_refused() -> None:
    counts = dict.fromkeys("ab", 1)

    async def liar(channel: Channel) -> list[bytes]:
        await mix(channel.at("mix"), [b"row"], counts=counts, length=LENGTH)
        await channel.at("open").exchange(shuffle.Share((5).to_bytes(32, "little")))
        return []

    error = run_parties({**roles({"a": [b"row"], "b": []}, 1), "b": liar})["a"].error
    assert isinstance(error, PeerError)
    assert "not the one that it had promised" in error.reason


def test_a_key_without_a_proof_is_refused() -> None:
    async def liar(channel: Channel) -> list[bytes]:
        share = KeyShare(channel.rng.stream("lie"))
        await channel.at("mix").exchange(shuffle.MixerKeys(share.public, share.public, bytes(64)))
        return []

    error = run_parties({**roles({"a": [b"row"], "b": []}), "b": liar})["a"].error
    assert isinstance(error, PeerError)
    assert "does not prove" in error.reason


@pytest.mark.parametrize(
    ("rows", "counts", "message"),
    [
        ([b"x"] * 3, {"a": 2, "b": 2}, "3 rows, but only 2"),
        ([b"x" * 13], {"a": 2, "b": 2}, "a row of 13 bytes"),
        ([b"x"], {"a": 2}, "of each of a, b"),
        ([b"x"], {"a": 2, "b": -1}, "of each of a, b"),
    ],
)
def test_wrong_calls_are_refused_at_home(rows: list[bytes], counts: dict[str, int], message: str) -> None:
    async def role(channel: Channel) -> Mixed:
        return await mix(channel, rows, counts=counts, length=LENGTH)

    for outcome in run_parties(dict.fromkeys("ab", role)).values():
        assert isinstance(outcome.error, InputError)
        assert message in str(outcome.error)


def test_bad_weather_ends_in_the_rows_or_in_a_typed_abort() -> None:
    inputs = labelled("abc", 2)
    for seed in range(60):
        weather = Weather(delay=30, loss=15, repeat=15, swap=15, cut_at=seed if seed % 5 == 0 else None)
        network: MemoryNetwork = FaultyNetwork("abc", weather, seed)
        for outcome in run_parties(roles(inputs), seed=seed, network=network).values():
            if outcome.error is None:
                assert outcome.unwrap() == ideal(inputs)
            else:
                assert isinstance(outcome.error, (Aborted, PeerError))


def test_the_ledger_says_that_two_parties_hide_nothing_from_each_other() -> None:
    def first(parties: int) -> str:
        return leakage(parties).sentences(rows=9, submitted="4, 4, 4", dummies=3)[0]

    assert "whose they are" in first(2)
    assert "not whose they are" not in first(2)
    assert "not whose they are" in first(3)
