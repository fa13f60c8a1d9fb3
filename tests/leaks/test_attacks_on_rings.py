"""The known attacks on sums and ANDs: each reads private inputs from the naive form, and nothing from ours.

The naive forms live here and nowhere else, except the paper's ring, whose weakness its docstring names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import permutations
from typing import TypeVar

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard

from covey.arrays import Bits, Longs, Words
from covey.crypto import sharing
from covey.crypto.field import F61, FieldElements
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.protocols.as_printed.cluster_rows import rings
from covey.secure import conjunction
from covey.secure import sum as secure_sum
from covey.wire import Channel, Message

T = TypeVar("T")


def pair_seeds(names: str) -> dict[str, dict[str, Secret]]:
    """A secret for each pair."""
    return {me: {peer: derive(seed_of(5), *sorted((me, peer))) for peer in names if peer != me} for me in names}


def looks_uniform(words: Words) -> bool:
    """Whether the low bytes could be random."""
    counts = np.bincount((words & np.uint64(255)).astype(np.int64), minlength=256)
    return bool(chisquare(counts).pvalue > 1e-6)


# Two neighbours in the ring put what they sent and got together.


def between(
    outcomes: Mapping[str, Outcome[T]],
    victim: str,
    neighbours: tuple[str, str],
    kind: type[rings.Added] | type[rings.Counted],
) -> Longs:
    """What the player after the victim got in both laps, less what the player before it had sent.

    What a player sends is what its successor got, so the victim's own notes stand for its predecessor's here.
    """
    before, after = neighbours
    into = heard(outcomes[victim], before, kind)
    out = heard(outcomes[after], victim, kind)
    first, second = (_words(there) - _words(here) for here, there in zip(into, out, strict=True))
    return np.asarray(first + second, dtype=np.int64)


def _words(message: rings.Added | rings.Counted) -> Longs:
    if isinstance(message, rings.Added):
        return message.values.words.view(np.int64)
    return np.frombuffer(message.values, dtype=np.uint8).astype(np.int64)


def test_two_neighbours_read_a_number_from_the_papers_ring() -> None:
    inputs = {name: np.array([value] * 3, dtype=np.uint64) for name, value in zip("abcd", (7, 1, 9, 4), strict=True)}

    async def role(channel: Channel) -> Words:
        return await rings.total(channel, inputs[channel.me])

    outcomes = run_parties(dict.fromkeys("abcd", role))
    assert between(outcomes, "c", ("b", "d"), rings.Added).tolist() == [9, 9, 9]


def test_two_neighbours_read_a_bit_from_the_papers_ring() -> None:
    inputs = {name: np.random.default_rng(ord(name)).random(200) < 0.5 for name in "abcde"}

    async def role(channel: Channel) -> Bits:
        return await rings.conjoin(channel, inputs[channel.me])

    outcomes = run_parties(dict.fromkeys("abcde", role))
    assert np.array_equal(between(outcomes, "c", ("b", "d"), rings.Counted) % 6, inputs["c"])


def test_two_parties_read_nothing_from_our_sum() -> None:
    """They take away the masks that they have in common with the victim; the mask with the fourth party stays."""
    secret = np.full(20_000, 9, dtype=np.uint64)
    seeds = pair_seeds("abcd")
    masked = secure_sum.mask(secret, secure_sum.mask_streams("c", seeds["c"]))
    for helper in "bd":
        known = secure_sum.mask(np.zeros_like(secret), secure_sum.mask_streams("c", {helper: seeds["c"][helper]}))
        masked -= known
    assert not np.any(masked == secret)
    assert looks_uniform(masked)
    last = secure_sum.mask(np.zeros_like(secret), secure_sum.mask_streams("c", {"a": seeds["c"]["a"]}))
    assert np.array_equal(masked - last, secret)  # the attack is sound: with all the others' masks it succeeds


def test_two_of_five_read_nothing_from_our_and_and_three_would() -> None:
    bits = np.random.default_rng(3).integers(0, 2, 20_000).astype(np.uint64)
    shares = sharing.share(bits, sharing.threshold(5), 5, Rng(seed_of(1)).stream("deal"))
    two = sharing.reveal({2: shares[1], 4: shares[3]}, 1)
    assert looks_uniform(two)
    assert abs(np.corrcoef(two >> np.uint64(60), bits)[0, 1]) < 0.05
    assert np.array_equal(sharing.reveal({1: shares[0], 2: shares[1], 4: shares[3]}, 2), bits)


# The first player of the paper's AND compares hashes: one salt for the whole vector gives the sums away.


def read_sums(of_u: list[bytes], of_v: list[bytes], own: Bits, m: int) -> list[int] | None:
    """The private sums from the hashes, or None if they have no structure to find.

    With one salt there are only m + 1 hashes. A pair (u, v) differs by the sum minus m, and v is uniform: so if the
    hashes are put in their true order, how often each pair occurs depends on the difference alone. Orders that run
    backwards fit as well, but have sums of 0 where the attacker's own bit is set.
    """
    labels = sorted({*of_u, *of_v})
    if len(labels) > m + 1:
        return None
    number = {label: index for index, label in enumerate(labels)}
    u = np.array([number[label] for label in of_u])
    v = np.array([number[label] for label in of_v])
    best: tuple[float, list[int]] | None = None
    for rest in permutations(range(1, m + 1)):
        order = np.array([0, *rest])
        sums = (order[u] - order[v] + m) % (m + 1)
        if np.any(sums[own] == 0):
            continue
        counts = np.zeros((m + 1, m + 1))
        np.add.at(counts, (order[v], sums), 1)
        spread = float(np.sum((counts - counts.mean(axis=0)) ** 2))
        if best is None or spread < best[0]:
            best = (spread, sums.tolist())
    return None if best is None else best[1]


def test_one_salt_for_a_vector_gives_every_private_sum_away() -> None:
    m, width = 5, 3000
    generator = np.random.default_rng(1)
    bits = generator.random((m, width)) < np.array([[0.5], [0.7], [0.6], [0.8], [0.4]])
    sums = bits.sum(axis=0)
    masks = Rng(seed_of(2)).stream("mask").words_below(m + 1, width).astype(np.int64)
    u, v = (sums + masks) % (m + 1), (m + masks) % (m + 1)
    salt = 0xC0FFEE
    of_u, of_v = ([hashlib.sha256(str(salt + value).encode()).digest() for value in side.tolist()] for side in (u, v))
    assert read_sums(of_u, of_v, bits[0], m) == sums.tolist()


def test_a_key_for_each_place_gives_nothing_but_the_answer_away() -> None:
    """The same attack on what the first player really hears."""
    inputs = {name: np.random.default_rng(ord(name)).random(3000) < 0.7 for name in "abcde"}

    async def role(channel: Channel) -> Bits:
        return await rings.conjoin(channel, inputs[channel.me])

    outcomes = run_parties(dict.fromkeys("abcde", role))
    of_u, of_v = (_cut(heard(outcomes["a"], name, rings.Hashed)) for name in "de")
    assert read_sums(of_u, of_v, inputs["a"], 5) is None
    assert len({*of_u, *of_v}) == 6000 - int(rings.ideal_and(inputs).sum())  # no hash occurs twice but in a match


def _cut(messages: list[rings.Hashed]) -> list[bytes]:
    whole = b"".join(message.tags for message in messages)
    return [whole[start : start + rings.HASH] for start in range(0, len(whole), rings.HASH)]


# A mask that is used twice opens a difference.


def test_a_mask_used_twice_opens_the_difference_of_two_inputs() -> None:
    seeds = pair_seeds("abc")
    monday, tuesday = np.array([100, 5, 0], dtype=np.uint64), np.array([101, 5, 7], dtype=np.uint64)
    heard_twice = [secure_sum.mask(day, secure_sum.mask_streams("b", seeds["b"])) for day in (monday, tuesday)]
    assert (heard_twice[1] - heard_twice[0]).tolist() == [1, 0, 7]


@pytest.mark.parametrize("block", ["sum", "and"])
def test_two_calls_of_ours_share_no_mask_even_at_one_step(block: str) -> None:
    width = 20_000

    async def role(channel: Channel) -> None:
        for _ in range(2):
            if block == "sum":
                await secure_sum.total(channel, np.zeros(width, dtype=np.uint64))
            else:
                await conjunction.conjoin(channel, np.ones(width, dtype=bool))

    view = run_parties(dict.fromkeys("abc", role))["a"]
    kinds: list[tuple[type[Message], str]] = (
        [(secure_sum.Masked, "values")]
        if block == "sum"
        else [(conjunction.Deal, "shares"), (conjunction.Open, "parts")]
    )
    for kind, field in kinds:
        first, second = (getattr(message, field).words for message in heard(view, "b", kind))
        assert looks_uniform(second - first)


# A plain sum of "0 or random" tells a receiver with an unset bit about the others.


def others_and(opened: Words, own: Words) -> Bits:
    """The receiver takes its own random number away: nothing is left where all other bits are set."""
    return np.asarray(F61.subtract(opened, own) == 0, dtype=bool)


def test_opening_a_sum_of_zeros_and_random_numbers_gives_the_others_and_away() -> None:
    generator = np.random.default_rng(9)
    bits = {name: generator.random(2000) < 0.7 for name in "abc"}
    bits["a"][:] = False
    randoms = {name: F61.draw(Rng(seed_of(1)).stream(name), 2000) for name in "abc"}
    opened = np.zeros(2000, dtype=np.uint64)
    for name, own in bits.items():
        opened = F61.add(opened, np.where(own, 0, randoms[name]).astype(np.uint64))
    assert np.array_equal(others_and(opened, randoms["a"]), bits["b"] & bits["c"])


def test_our_opening_tells_a_receiver_with_an_unset_bit_nothing_about_the_others() -> None:
    width = 40_000
    bits = {name: np.random.default_rng(ord(name)).random(width) < 0.7 for name in "abc"}
    bits["a"][:] = False

    async def role(channel: Channel) -> Words | None:
        return await conjunction.open_products(channel, bits[channel.me], receiver="a")

    opened = run_parties(dict.fromkeys("abc", role))["a"].unwrap()
    assert opened is not None
    others = bits["b"] & bits["c"]
    for guess in (np.zeros(width, dtype=np.uint64), F61.draw(Rng(seed_of(4)).stream("own"), width)):
        assert not others_and(opened, guess).any()
    assert looks_uniform(opened[others])
    assert looks_uniform(opened[~others])


# The parts of a product of shares, opened bare, show its polynomial; its roots are the factors' roots.


def missing_bits(parts: Mapping[int, Words], own_share: Words) -> list[int | None]:
    """How many bits are unset, read by the party at place 1 of three from the parts and its own share of that number.

    The product has degree 2. One of its roots is that of the shared number's line, whose value at 1 is known:
    so its value at 0 is, up to the choice between two roots, and the right one is a small number.
    """
    p = F61.prime
    half, quarter = pow(2, -1, p), (p + 1) // 4
    found: list[int | None] = []
    for y1, y2, y3, share in zip(*(parts[place].tolist() for place in (1, 2, 3)), own_share.tolist(), strict=True):
        a = (y3 - 2 * y2 + y1) * half % p
        b = (y2 - y1 - 3 * a) % p
        c = (y1 - a - b) % p
        root = pow(b * b - 4 * a * c, quarter, p)  # of the discriminant, if it has one: p is 3 modulo 4
        candidates = set()
        for sign in (1, -1):
            zero = (-b + sign * root) * pow(2 * a, -1, p) % p
            candidates.add(share * -zero * pow(1 - zero, -1, p) % p)
        small = [z for z in candidates if 0 < z <= 3]
        found.append(small[0] if small else None)
    return found


@pytest.mark.parametrize("masked", [False, True], ids=["bare", "ours"])
def test_bare_parts_show_how_many_bits_are_missing_and_masked_parts_do_not(masked: bool) -> None:
    width = 200
    bits = {name: np.random.default_rng(ord(name)).random(width) < 0.5 for name in "abc"}
    bits["a"][:] = False
    weights = sharing.weights([1, 2, 3])

    async def role(channel: Channel) -> tuple[Words, Words]:
        seat = conjunction.ConjunctionParty(channel)
        handout = seat.deal(bits[channel.me])
        for peer in channel.peers:
            parcel = handout.parcel(peer)
            assert parcel is not None
            await channel.send(peer, conjunction.Deal(FieldElements(parcel)))
        got = {peer: deal.shares.words for peer, deal in (await channel.collect(conjunction.Deal)).items()}
        inverted, random = seat.add_up(handout, got)
        weight = weights["abc".index(channel.me)]
        weighted = seat.part(inverted, random) if masked else F61.scale(F61.multiply(inverted, random), weight)
        return inverted, F61.multiply(weighted, F61.inverse(np.full(width, weight)))

    answers = {name: outcome.unwrap() for name, outcome in run_parties(dict.fromkeys("abc", role)).items()}
    parts = {place: answers[name][1] for place, name in enumerate("abc", start=1)}
    truth = 3 - np.sum([bits[name] for name in "abc"], axis=0)
    guesses = missing_bits(parts, answers["a"][0])
    assert guesses == ([None] * width if masked else truth.tolist())
