"""A dealt Paillier key opens for one party, by both cuts; wrong keys, shares and parts are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypeVar

import msgspec
import pytest
from tests.harness.committee_costs import DEALT, DEALT_OPENING
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard, said, spent
from tests.harness.tiny_keys import TINY

from covey.crypto.paillier import Ciphertexts
from covey.crypto.residues import Residues
from covey.crypto.rng import Rng
from covey.crypto.threshold_paillier import Primes, ShamirKey, deal_shamir
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.collect import dealt_committee
from covey.protocols.as_printed.collect.committee import places
from covey.protocols.as_printed.collect.dealt_committee import LEAKAGE, Cut
from covey.wire import Channel, MemoryNetwork, Message
from covey.wire import frame as frames
from covey.wire.message import decode, encode, tag_of

M = TypeVar("M", bound=Message)
Named = dealt_committee.NamedShamir | dealt_committee.NamedAsmuthBloom
MEMBERS = ("a", "b", "c")
DEALER, OPENER, BITS = "dealer", "opener", TINY
CUTS: tuple[Cut, ...] = ("shamir", "asmuth-bloom")
PLACES = places(MEMBERS)


def roles(
    cut: Cut, threshold: int = 2, helpers: tuple[str, ...] = ("a", "c"), numbers: tuple[int, ...] = (3, 0, 99)
) -> dict[str, Role[object]]:
    """A dealer, three trustees, and a party that has numbers opened by some of them."""
    named = {name: PLACES[name] for name in helpers}

    async def dealer(channel: Channel) -> object:
        found = channel.at("found")
        return await dealt_committee.deal(found, MEMBERS, threshold, opener=OPENER, cut=cut, bits=BITS)

    async def trustee(channel: Channel) -> object:
        mine = await dealt_committee.accept(channel.at("found"), DEALER, MEMBERS, threshold, opener=OPENER, cut=cut)
        if channel.me in helpers:
            await dealt_committee.serve(channel.at("open"), mine, OPENER, len(numbers), list(named.values()))
        return mine.key.public

    async def opener(channel: Channel) -> object:
        key = await dealt_committee.learn(channel.at("found"), DEALER, MEMBERS, threshold, cut=cut)
        hidden = key.public.encrypt(numbers, channel.rng.stream("numbers"))
        return await dealt_committee.unlock(channel.at("open"), key, named, hidden)

    return {DEALER: dealer, **dict.fromkeys(MEMBERS, trustee), OPENER: opener}


class Bent(MemoryNetwork):
    """Lines on which one party's messages of one type are replaced."""

    def __init__(self, kind: type[M], change: Callable[[M], Message], *, sender: str, to: str = "") -> None:
        super().__init__((DEALER, *MEMBERS, OPENER))
        self._kind, self._change, self._sender, self._to = kind, change, sender, to

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        wanted = letter.header.tag == tag_of(self._kind) and sender == self._sender and self._to in ("", recipient)
        if wanted:
            bent = self._change(decode(self._kind, letter.payload))
            frame = frames.place(sequence, frames.write(letter.header, bytes(16), encode(bent)).raw)
        await super().carry(sender, recipient, frame)


def replaced_by(message: M) -> Callable[[M], M]:
    """Says another message in place of any."""
    return lambda said: message


def blamed(outcomes: dict[str, Outcome[object]], by: str, party: str) -> str:
    error = outcomes[by].error
    assert isinstance(error, PeerError), error
    assert error.party == party
    return error.reason


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_any_threshold_of_the_trustees_open(cut: Cut, threshold: int) -> None:
    for helpers in combinations(MEMBERS, threshold):
        outcomes = run_parties(roles(cut, threshold, helpers))
        assert outcomes[OPENER].unwrap() == [3, 0, 99]
        assert len({outcomes[name].unwrap() for name in (DEALER, *MEMBERS)}) == 1


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("count", [0, 1, 200])
def test_the_cost_is_as_declared(cut: Cut, count: int) -> None:
    cost = spent(run_parties(roles(cut, 2, ("a", "b"), (5,) * count)))
    assert cost.rounds == DEALT.rounds(3, cut, BITS) + DEALT_OPENING.rounds(3, 2, cut, BITS, count)
    assert cost.messages == DEALT.messages(3, cut, BITS) + DEALT_OPENING.messages(3, 2, cut, BITS, count)
    due = DEALT.bytes(3, cut, BITS) + DEALT_OPENING.bytes(3, 2, cut, BITS, count)
    assert cost.bytes == pytest.approx(due, rel=0.02)


@pytest.mark.parametrize("cut", CUTS)
def test_runs_are_deterministic(cut: Cut) -> None:
    first, again, other = (said(run_parties(roles(cut), seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("cut", CUTS)
def test_parts_reach_the_opener_only_and_the_opener_gets_no_share(cut: Cut) -> None:
    outcomes = run_parties(roles(cut))
    kind: type[Named] = dealt_committee.NamedShamir if cut == "shamir" else dealt_committee.NamedAsmuthBloom
    [named] = heard(outcomes[OPENER], DEALER, kind)
    assert named.share == b""
    for name in (DEALER, *MEMBERS):
        for sender in (*MEMBERS, OPENER):
            assert not heard(outcomes[name], sender, dealt_committee.Unlocked)
    shares = [heard(outcomes[name], DEALER, kind)[0].share for name in MEMBERS]
    assert len(set(shares)) == 3


def test_the_ledger_says_what_the_dealer_knows() -> None:
    assert "whole secret key" in LEAKAGE.sentences("dealer", threshold=2, trustees=3)[-1]
    assert "2 of 3" in LEAKAGE.sentences("opener", threshold=2, trustees=3)[0]


# ---- who cheats


def test_a_wrong_share_is_refused_with_the_dealers_name() -> None:
    def bend(message: dealt_committee.NamedShamir) -> Message:
        return msgspec.structs.replace(message, share=bytes([message.share[0] ^ 1]) + message.share[1:])

    outcomes = run_parties(roles("shamir"), network=Bent(dealt_committee.NamedShamir, bend, sender=DEALER, to="b"))
    assert "does not fit" in blamed(outcomes, "b", DEALER)

    def large(message: dealt_committee.NamedAsmuthBloom) -> Message:
        return msgspec.structs.replace(message, share=b"\xff" * 100)

    network = Bent(dealt_committee.NamedAsmuthBloom, large, sender=DEALER, to="b")
    assert "no share" in blamed(run_parties(roles("asmuth-bloom"), network=network), "b", DEALER)


def test_a_dealer_that_names_two_keys_is_noticed() -> None:
    other = deal_shamir(Primes.draw(BITS, Rng(seed_of(9)).stream("p")), 2, 3, Rng(seed_of(9)).stream("s"))

    def bend(message: dealt_committee.NamedShamir) -> Message:
        return msgspec.structs.replace(message, sent=dealt_committee.SentShamirKey(other[0].key))

    outcomes = run_parties(roles("shamir"), network=Bent(dealt_committee.NamedShamir, bend, sender=DEALER, to=OPENER))
    assert "another key" in blamed(outcomes, OPENER, "a")


def test_a_key_for_another_committee_is_refused() -> None:
    primes = Primes.draw(BITS, Rng(seed_of(9)).stream("p"))
    for threshold, trustees in ((1, 3), (2, 4)):
        other = deal_shamir(primes, threshold, trustees, Rng(seed_of(9)).stream(threshold, trustees))

        def bend(message: dealt_committee.NamedShamir, key: ShamirKey = other[0].key) -> Message:
            return msgspec.structs.replace(message, sent=dealt_committee.SentShamirKey(key))

        network = Bent(dealt_committee.NamedShamir, bend, sender=DEALER)
        assert "expected 2 of 3" in blamed(run_parties(roles("shamir"), network=network), "a", DEALER)


def test_a_wrong_part_is_refused_by_name_with_shamir_and_noticed_with_asmuth_and_bloom() -> None:
    def bend(message: dealt_committee.Unlocked) -> Message:
        width = message.numbers.width
        return dealt_committee.Unlocked(Residues(b"\x05" + bytes(width - 1), width))

    one = {"numbers": (7,)}
    network = Bent(dealt_committee.Unlocked, bend, sender="c")
    outcomes = run_parties(roles("shamir", **one), network=network)  # type: ignore[arg-type]
    assert "not made with its share" in blamed(outcomes, OPENER, "c")
    network = Bent(dealt_committee.Unlocked, bend, sender="c")
    outcomes = run_parties(roles("asmuth-bloom", **one), network=network)  # type: ignore[arg-type]
    assert "do not fit together" in blamed(outcomes, OPENER, "a or c")


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_a_proof_of_another_length_is_refused(size: int) -> None:
    network = Bent(dealt_committee.Proved, lambda message: dealt_committee.Proved(bytes(size)), sender="c")
    assert "proof" in blamed(run_parties(roles("shamir"), network=network), OPENER, "c")


def test_a_part_that_is_no_element_is_refused() -> None:
    for value in (bytes(64), b"\xff" * 64):
        unlocked = dealt_committee.Unlocked(Residues(value * 3, 64))
        network = Bent(dealt_committee.Unlocked, replaced_by(unlocked), sender="c")
        blamed(run_parties(roles("shamir"), network=network), OPENER, "c")


def test_an_opener_that_asks_for_one_twice_or_for_more_is_refused() -> None:
    def twice(message: dealt_committee.Asked) -> Message:
        width = message.numbers.width
        return dealt_committee.Asked(Residues(message.numbers.data[:width] * 3, width))

    def more(message: dealt_committee.Asked) -> Message:
        return dealt_committee.Asked(Residues(message.numbers.data * 2, message.numbers.width))

    for change, reason in ((twice, "twice"), (more, "expected 3")):
        network = Bent(dealt_committee.Asked, change, sender=OPENER, to="a")
        assert reason in blamed(run_parties(roles("shamir"), network=network), "a", OPENER)


def test_calls_that_make_no_sense_are_refused_at_once() -> None:
    async def dealer_is_opener(channel: Channel) -> object:
        return await dealt_committee.deal(channel, ["b", "c"], 1, opener="a", bits=BITS)

    async def too_high(channel: Channel) -> object:
        return await dealt_committee.deal(channel, ["b"], 2, opener="c", bits=BITS)

    async def too_few(channel: Channel) -> object:
        primes = Primes.draw(BITS, channel.rng.stream("p"))
        key = deal_shamir(primes, 2, 2, channel.rng.stream("s"))[0].key
        return await dealt_committee.unlock(channel, key, {"b": 1}, Ciphertexts(key.public, []))

    for role, reason in ((dealer_is_opener, "different parties"), (too_high, "2 of 1"), (too_few, "2 open")):
        error = run_parties(dict.fromkeys("abc", role))["a"].error
        assert isinstance(error, InputError) and reason in str(error)
