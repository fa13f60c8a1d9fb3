"""Trustees make a key among themselves and open for one party alone; whoever cheats is named before it matters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypeVar

import msgspec
import pytest
from tests.harness.committee_costs import COMMITTEE, COMMITTEE_OPENING
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard, said, spent

from covey.crypto.elgamal import KeyShare, Logarithms, encrypt, joint_key, opened, rerandomise
from covey.crypto.group import Point, Points, Scalars, generator_times, powers
from covey.crypto.rng import Rng
from covey.crypto.threshold_key import CommitteeKey, Dealer, Trustee
from covey.errors import Aborted, CoveyError, InputError, PeerError
from covey.protocols.as_printed.collect import committee
from covey.protocols.as_printed.collect.committee import LEAKAGE, OPENING_LEAKAGE
from covey.secure import lists
from covey.wire import Channel, MemoryNetwork, Message
from covey.wire import frame as frames
from covey.wire.message import decode, encode, tag_of

M = TypeVar("M", bound=Message)
MEMBERS = ("a", "b", "c", "d")
OPENER = "opener"
PLACES = committee.places(MEMBERS)


def roles(
    threshold: int = 2, helpers: tuple[str, ...] = ("b", "d"), numbers: tuple[int, ...] = (3, 0, 99)
) -> dict[str, Role[object]]:
    """Four trustees, and a fifth party that has numbers opened by some of them."""

    async def trustee(channel: Channel) -> object:
        mine = await committee.found(channel.at("found"), MEMBERS, threshold, opener=OPENER)
        if channel.me in helpers:
            await committee.serve(channel.at("open"), mine, OPENER, len(numbers))
        return mine.key

    async def opener(channel: Channel) -> object:
        key = await committee.learn(channel.at("found"), MEMBERS, threshold)
        hidden = encrypt(numbers, key.public, channel.rng.stream("numbers"))
        named = {name: PLACES[name] for name in helpers}
        points = opened(hidden, [await committee.unlock(channel.at("open"), key, named, hidden)])
        return Logarithms(100).of(points).tolist()

    return {**dict.fromkeys(MEMBERS, trustee), OPENER: opener}


class Bent(MemoryNetwork):
    """Lines on which one party's messages of one type are replaced, for all recipients or for one."""

    def __init__(self, kind: type[M], change: Callable[[M], Message], *, sender: str = "b", to: str = "") -> None:
        super().__init__((*MEMBERS, OPENER))
        self._kind, self._change, self._sender, self._to = kind, change, sender, to
        self.count = 0

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        wanted = letter.header.tag == tag_of(self._kind) and sender == self._sender and self._to in ("", recipient)
        if wanted:
            self.count += 1
            said = self._change(decode(self._kind, letter.payload))
            frame = frames.place(sequence, frames.write(letter.header, bytes(16), encode(said)).raw)
        await super().carry(sender, recipient, frame)


def replaced_by(message: M) -> Callable[[M], M]:
    """Says another message in place of any."""
    return lambda said: message


def blamed(outcomes: dict[str, Outcome[object]], by: str, party: str) -> str:
    """The reason for which one party stopped the run, with the other's name."""
    error = outcomes[by].error
    assert isinstance(error, PeerError), error
    assert error.party == party
    return error.reason


def changed(**fields: object) -> Callable[[M], M]:
    """The same message with other fields."""
    return lambda message: msgspec.structs.replace(message, **fields)


# ---- what it does


@pytest.mark.parametrize("threshold", range(1, 5))
def test_any_threshold_of_the_trustees_open(threshold: int) -> None:
    for helpers in combinations(MEMBERS, threshold):
        outcomes = run_parties(roles(threshold, helpers))
        assert outcomes[OPENER].unwrap() == [3, 0, 99]
        keys = [outcomes[name].unwrap() for name in MEMBERS]
        assert all(key == keys[0] for key in keys)


def test_a_trustee_that_is_gone_is_not_missed_while_enough_are_left() -> None:
    whole = roles(2, ("b", "d"))

    async def gone(channel: Channel) -> None:
        await committee.found(channel.at("found"), MEMBERS, 2, opener=OPENER)
        raise Aborted("went home", resumable=False)

    assert run_parties({**whole, "a": gone, "c": gone})[OPENER].unwrap() == [3, 0, 99]


def test_an_opener_with_a_key_of_its_own_is_needed_for_every_opening() -> None:
    async def trustee(channel: Channel) -> object:
        mine = await committee.found(channel.at("found"), MEMBERS, 2, opener=OPENER)
        await committee.serve(channel.at("open"), mine, OPENER, 1) if channel.me in "ab" else None
        return mine

    async def opener(channel: Channel) -> object:
        key, own = await committee.learn(channel.at("found"), MEMBERS, 2), KeyShare(channel.rng.stream("own"))
        hidden = encrypt([42], joint_key([own.public, key.public]), channel.rng.stream("x"))
        theirs = await committee.unlock(channel.at("open"), key, {"a": 1, "b": 2}, hidden)
        assert opened(hidden, [theirs]) != powers([42])
        return opened(hidden, [theirs, own.unlock(hidden)])

    assert run_parties({**dict.fromkeys(MEMBERS, trustee), OPENER: opener})[OPENER].unwrap() == powers([42])


def test_a_committee_of_one_and_an_opening_of_nothing_work() -> None:
    async def trustee(channel: Channel) -> object:
        mine = await committee.found(channel.at("found"), ["a"], 1, opener="o")
        return await committee.serve(channel.at("open"), mine, "o", 0)

    async def opener(channel: Channel) -> object:
        key = await committee.learn(channel.at("found"), ["a"], 1)
        nothing = encrypt([], key.public, channel.rng.stream("x"))
        return await committee.unlock(channel.at("open"), key, {"a": 1}, nothing)

    outcomes = run_parties({"a": trustee, "o": opener})
    opened = outcomes["o"].unwrap()
    assert isinstance(opened, Points) and len(opened) == 0
    cost = spent(outcomes)
    assert cost.rounds == COMMITTEE.rounds(1, 1, True) + COMMITTEE_OPENING.rounds(1, 0)
    assert cost.messages == COMMITTEE.messages(1, 1, True) + COMMITTEE_OPENING.messages(1, 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("count", [1, 30, 1000])
def test_the_cost_is_as_declared(count: int) -> None:
    cost = spent(run_parties(roles(3, ("a", "b", "c"), (1,) * count)))
    assert cost.rounds == COMMITTEE.rounds(4, 3, True) + COMMITTEE_OPENING.rounds(3, count)
    assert cost.messages == COMMITTEE.messages(4, 3, True) + COMMITTEE_OPENING.messages(3, count)
    assert cost.bytes == pytest.approx(COMMITTEE.bytes(4, 3, True) + COMMITTEE_OPENING.bytes(3, count), rel=0.02)


def test_runs_are_deterministic_and_two_seeds_make_two_keys() -> None:
    first, again, other = (said(run_parties(roles(), seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    keys = {run_parties(roles(), seed=seed)["a"].unwrap() for seed in (1, 2)}
    assert len(keys) == 2


def test_the_ledger_says_who_learns_what() -> None:
    assert "2 of 4" in LEAKAGE.sentences(threshold=2, trustees=4)[0]
    assert "say nothing" in OPENING_LEAKAGE.sentences("trustee", count=5)[0]
    assert "5 ciphertexts" in OPENING_LEAKAGE.sentences("opener", count=5)[0]


# ---- what it keeps


def test_parts_of_an_opening_reach_the_opener_only() -> None:
    """Passed from trustee to trustee, a part would be worth one unit of the threshold to a coalition that sees it."""
    outcomes = run_parties(roles(3, ("a", "b", "c")))
    for name in MEMBERS:
        for sender in (*MEMBERS, OPENER):
            assert not heard(outcomes[name], sender, committee.Unlocked)
    assert all(len(heard(outcomes[OPENER], name, committee.Unlocked)) == 1 for name in "abc")


def test_second_halves_never_reach_a_trustee() -> None:
    outcomes = run_parties(roles())
    [asked] = heard(outcomes["b"], OPENER, committee.Asked)
    assert len(asked.points) == 3


# ---- who cheats


def test_a_share_that_does_not_fit_is_refused_by_its_recipient() -> None:
    wrong = Scalars.of([5]).reveal()
    network = Bent(committee.CommittedShare, changed(share=wrong), to="c")
    outcomes = run_parties(roles(), network=network)
    assert "does not fit" in blamed(outcomes, "c", "b")
    assert outcomes[OPENER].error is not None


@pytest.mark.parametrize("share", [bytes(32), b"\xff" * 32])
def test_a_share_that_is_no_scalar_is_refused(share: bytes) -> None:
    outcomes = run_parties(roles(), network=Bent(committee.CommittedShare, changed(share=share), to="c"))
    assert "scalar" in blamed(outcomes, "c", "b")


def test_a_share_of_another_trustee_is_refused() -> None:
    """A dealer that repeats what it dealt to one member to the next."""
    seen: list[bytes] = []

    def repeat(message: committee.CommittedShare) -> committee.CommittedShare:
        seen.append(message.share)
        return msgspec.structs.replace(message, share=seen[0])

    outcomes = run_parties(roles(), network=Bent(committee.CommittedShare, repeat))
    assert any(isinstance(outcomes[name].error, PeerError) for name in "acd")


def test_who_deals_something_else_than_it_committed_to_is_refused() -> None:
    other = Dealer(2, Rng(seed_of(9)).stream("other"))
    outcomes = run_parties(roles(), network=Bent(committee.CommittedShare, changed(commitments=other.commitments)))
    assert all("committed" in blamed(outcomes, name, "b") for name in "acd")


def test_a_commitment_that_is_not_kept_is_refused() -> None:
    outcomes = run_parties(roles(), network=Bent(committee.Committed, changed(digest=bytes(32)), to="a"))
    assert "committed" in blamed(outcomes, "a", "b")


def lying(commitments: Callable[[Dealer], Points], knows: Callable[[Channel, Dealer], bytes]) -> Role[object]:
    """A member that keeps its promise, but whose promise is bad."""

    async def role(channel: Channel) -> object:
        channel = channel.at("found")
        among = channel.among(*MEMBERS)
        dealer = Dealer(2, channel.rng.stream("lie"))
        shown, known = commitments(dealer), knows(channel, dealer)
        promise = committee._promise(committee._context(channel), channel.me, shown, known)
        await among.exchange(committee.Committed(promise))
        for peer in among.peers:
            share = dealer.share(PLACES[peer]).reveal()
            await among.send(peer, committee.CommittedShare(shown, known, share))
        await among.collect(committee.CommittedShare)
        return None

    return role


def honest_proof(channel: Channel, dealer: Dealer) -> bytes:
    return dealer.prove(channel.rng.stream("proof"), *committee._context(channel), channel.me)


def test_a_polynomial_of_another_length_is_refused() -> None:
    """A longer one would raise the threshold, a shorter one lower what one member's part protects."""
    for bend in (
        lambda dealer: dealer.commitments.slice(0, 1),
        lambda dealer: Points.join([dealer.commitments, powers([7])]),
    ):
        outcomes = run_parties({**roles(), "b": lying(bend, honest_proof)})
        assert "expected 2" in blamed(outcomes, "a", "b")


def test_who_does_not_know_its_part_of_the_key_is_refused() -> None:
    def another_session(channel: Channel, dealer: Dealer) -> bytes:
        return dealer.prove(channel.rng.stream("proof"), "committee", b"another session", channel.step, channel.me)

    def another_party(channel: Channel, dealer: Dealer) -> bytes:
        return dealer.prove(channel.rng.stream("proof"), *committee._context(channel), "a")

    for knows in (lambda channel, dealer: bytes(64), another_session, another_party):
        outcomes = run_parties({**roles(), "b": lying(lambda dealer: dealer.commitments, knows)})
        assert "does not prove" in blamed(outcomes, "a", "b")


def test_a_key_cannot_be_chosen_by_who_speaks_last() -> None:
    """The rogue member knows the others' commitments before it deals, but not before it has committed to its own."""
    seen: dict[str, Points] = {}

    async def rogue(channel: Channel) -> object:
        channel = channel.at("found")
        among = channel.among(*MEMBERS)
        dealer = Dealer(2, channel.rng.stream("lie"))
        known = honest_proof(channel, dealer)
        promise = committee._promise(committee._context(channel), channel.me, dealer.commitments, known)
        await among.exchange(committee.Committed(promise))
        for party, dealt in (await among.collect(committee.CommittedShare)).items():
            seen[party] = dealt.commitments
        others = [seen[party] for party in sorted(seen)]
        target = generator_times(Scalars.of([1234]))
        chosen = target.minus(others[0].slice(0, 1)).minus(others[1].slice(0, 1)).minus(others[2].slice(0, 1))
        bent = Points.join([Point(chosen.data), dealer.commitments.slice(1, 2)])
        for peer in among.peers:
            await among.send(peer, committee.CommittedShare(bent, known, dealer.share(PLACES[peer]).reveal()))
        return None

    outcomes = run_parties({**roles(), "d": rogue})
    assert "committed" in blamed(outcomes, "a", "d")


def test_who_shows_two_faces_is_noticed_by_the_echo() -> None:
    """A dealer that commits to, and deals, one polynomial to one half and another to the rest: each half is content."""

    async def two_faced(channel: Channel) -> object:
        channel = channel.at("found")
        among = channel.among(*MEMBERS)
        faces = [Dealer(2, channel.rng.stream("face", n)) for n in range(2)]
        proofs = [
            face.prove(channel.rng.stream("proof", n), *committee._context(channel), channel.me)
            for n, face in enumerate(faces)
        ]
        which = {"a": 0, "c": 0, "d": 1}
        for peer, n in which.items():
            context = committee._context(channel)
            promise = committee._promise(context, channel.me, faces[n].commitments, proofs[n])
            await among.send(peer, committee.Committed(promise))
        await among.collect(committee.Committed)
        for peer, n in which.items():
            share = faces[n].share(PLACES[peer]).reveal()
            await among.send(peer, committee.CommittedShare(faces[n].commitments, proofs[n], share))
        await among.collect(committee.CommittedShare)
        echoes = await among.collect(committee.Echoed)
        for peer in among.peers:
            await among.send(peer, echoes[peer])
        return None

    outcomes = run_parties({**roles(), "b": two_faced})
    for name in "acd":
        assert isinstance(outcomes[name].error, CoveyError)
    reasons = [error.reason for name in "acd" if isinstance(error := outcomes[name].error, PeerError)]
    assert any("other commitments" in reason for reason in reasons)


def test_a_trustee_that_names_another_key_to_the_opener_is_refused() -> None:
    outcomes = run_parties(roles(), network=Bent(committee.Founded, changed(commitments=powers([5, 6]))))
    assert "another key" in blamed(outcomes, OPENER, "b")
    outcomes = run_parties(roles(), network=Bent(committee.Founded, changed(commitments=powers([5, 6, 7]))))
    assert "expected 2" in blamed(outcomes, OPENER, "b")


def test_a_wrong_part_of_an_opening_is_refused_with_its_senders_name() -> None:
    def bend(message: committee.Unlocked) -> committee.Unlocked:
        return msgspec.structs.replace(message, points=powers([7, 8, 9]))

    outcomes = run_parties(roles(), network=Bent(committee.Unlocked, bend))
    assert "not made with its share" in blamed(outcomes, OPENER, "b")


def test_a_part_of_another_opening_is_refused() -> None:
    """The same ciphertexts at another step: the proof holds at its own step only."""

    async def trustee(channel: Channel) -> object:
        mine = await committee.found(channel.at("found"), MEMBERS, 1, opener=OPENER)
        if channel.me == "b":
            [first] = await lists.receive(channel.at("open"), OPENER, committee.Asked, due=1)
            part = mine.unlock(first, channel.rng.stream("x"), *committee._context(channel.at("before")), OPENER)
            await lists.send(channel.at("open"), OPENER, committee.Unlocked, [part.points])
            await channel.at("open").send(OPENER, committee.Proved(part.proof))
        return None

    outcomes = run_parties({**roles(1, ("b",), (3,)), **dict.fromkeys(MEMBERS, trustee)})
    assert "not made with its share" in blamed(outcomes, OPENER, "b")


@pytest.mark.parametrize("size", [0, 95, 97])
def test_a_proof_of_another_length_is_not_even_read(size: int) -> None:
    class Raw(Message, tag="committee.proved"):
        proof: bytes

    outcomes = run_parties(roles(), network=Bent(committee.Proved, lambda message: Raw(bytes(size))))
    assert "well-formed" in blamed(outcomes, OPENER, "b")


def test_an_opener_that_asks_for_more_fewer_or_one_twice_is_refused() -> None:
    for points, total in ((powers([1, 2, 3, 4]), 4), (powers([1, 2]), 2), (powers([1, 2, 2]), 3)):
        asked = committee.Asked(total, points)
        network = Bent(committee.Asked, replaced_by(asked), sender=OPENER, to="b")
        outcomes = run_parties(roles(), network=network)
        blamed(outcomes, "b", OPENER)


def test_calls_that_make_no_sense_are_refused_at_once() -> None:
    async def outsider(channel: Channel) -> object:
        return await committee.found(channel, ["b", "c"], 1)

    async def own_opener(channel: Channel) -> object:
        return await committee.found(channel, ["a", "b"], 1, opener="a")

    async def too_high(channel: Channel) -> object:
        return await committee.found(channel, ["a", "b"], 3)

    async def trustee_learns(channel: Channel) -> object:
        return await committee.learn(channel, ["a", "b"], 1)

    async def too_few(channel: Channel) -> object:
        key = CommitteeKey(powers([1, 2]), 3)
        return await committee.unlock(channel, key, {"b": 1}, encrypt([1], key.public, channel.rng.stream("x")))

    for role in (outsider, own_opener, too_high, trustee_learns, too_few):
        outcomes = run_parties({"a": role, "b": role, "c": role})
        assert isinstance(outcomes["a"].error, InputError)


# ---- X6: why parts go to the opener only


def test_a_chain_of_trustees_would_lose_a_unit_of_the_threshold() -> None:
    """Broken on purpose: each trustee hands its part on. Two that collude receive a third's and open alone."""
    rng = Rng(seed_of(1))
    dealers = [Dealer(3, rng.stream("dealer", place)) for place in range(5)]
    key = CommitteeKey.of([dealer.commitments for dealer in dealers])
    trustees = {p: Trustee(p, [dealer.share(p) for dealer in dealers], key) for p in range(1, 6)}
    hidden = encrypt([7], key.public, rng.stream("x"))
    handed_on = {1: trustees[1].unlock(hidden.first, rng.stream(1)).points}
    colluding = {p: trustees[p].unlock(hidden.first, rng.stream(p)).points for p in (2, 3)}
    assert opened(hidden, [key.combine({**handed_on, **colluding})]) == powers([7])
    with pytest.raises(InputError, match="3 are needed"):
        key.combine(colluding)


def test_without_new_randomness_a_retrieved_ciphertext_is_found_in_the_index() -> None:
    """X5: equality search finds the cell of who submits what it retrieved; re-randomised, it is not there."""
    rng = Rng(seed_of(2))
    key = KeyShare(rng.stream("key")).public
    index = encrypt(list(range(50)), key, rng.stream("index"))
    taken = index.take([31])
    assert list(index.first).index(taken.first.data) == 31
    again = rerandomise(taken, key, rng.stream("again"))
    assert again.first.data not in set(index.first) and again.second.data not in set(index.second)
