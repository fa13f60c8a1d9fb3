"""Encrypted numbers add up, scale and open as their plain twins do, and only with every part of the key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import seed_of
from tests.harness.tiers import examples

from covey.crypto import proof
from covey.crypto.commutative import BlindingKey
from covey.crypto.elgamal import Ciphertexts, KeyShare, Logarithms, encrypt, joint_key, opened, rerandomise
from covey.crypto.group import GENERATOR, ORDER, Point, Points, Scalars, hash_to_group, powers
from covey.crypto.rng import Rng
from covey.errors import InputError

numbers = st.lists(st.integers(-1000, 1000), min_size=1, max_size=6)


def keys(count: int, seed: int = 0) -> list[KeyShare]:
    """A joint key in that many parts."""
    rng = Rng(seed_of(seed))
    return [KeyShare(rng.stream("share", number)) for number in range(count)]


def read(ciphertexts: Ciphertexts, shares: list[KeyShare]) -> Points:
    """What the ciphertexts hold."""
    return opened(ciphertexts, [share.unlock(ciphertexts) for share in shares])


@settings(max_examples=examples(25), deadline=None)
@given(numbers, st.integers(1, 4), st.integers(1, ORDER - 1), st.integers(0, 99))
def test_sums_differences_and_multiples_are_those_of_the_plain_numbers(
    plain: list[int], parties: int, factor: int, seed: int
) -> None:
    shares, rng = keys(parties, seed), Rng(seed_of(1000 + seed))
    key = joint_key(share.public for share in shares)
    one, other = (encrypt(plain, key, rng.stream(label)) for label in ("one", "other"))
    assert read(one, shares) == powers(plain)
    assert read(one.plus(other), shares) == powers(2 * number for number in plain)
    assert read(one.minus(other), shares).identities().all()
    assert read(one.scaled(Scalars.of([factor])), shares) == powers(factor * number for number in plain)
    assert read(one.plus_numbers([7] * len(plain)), shares) == powers(number + 7 for number in plain)
    assert read(one.total(), shares) == powers([sum(plain)])
    again = rerandomise(one, key, rng.stream("again"))
    assert read(again, shares) == powers(plain)
    assert not set(again.first) & set(one.first) and not set(again.second) & set(one.second)


def test_one_missing_part_of_the_key_opens_nothing() -> None:
    shares = keys(3)
    hidden = encrypt([5] * 50, joint_key(share.public for share in shares), Rng(seed_of(1)).stream("x"))
    assert set(read(hidden, shares)) == set(powers([5]))
    assert len(set(read(hidden, shares[:2]))) == 50


def test_a_random_multiple_shows_only_whether_a_number_is_zero() -> None:
    [share] = keys(1)
    stream = Rng(seed_of(2)).stream("zero")
    hidden = encrypt([0, 3, 0, 3], share.public, stream).scaled(Scalars.draw(stream, 4))
    shown = read(hidden, [share])
    assert shown.identities().tolist() == [True, False, True, False]
    assert shown.slice(1, 2) != shown.slice(3, 4)


@pytest.mark.parametrize("table", [None, 1, 7, 64])
def test_small_numbers_are_read_through_the_table_and_others_are_not(table: int | None) -> None:
    logarithms = Logarithms(100, table)
    asked = [0, 1, 63, 64, 99, 100, 101, -1, 5_000_000]
    assert logarithms.of(powers(asked)).tolist() == [0, 1, 63, 64, 99, -1, -1, -1, -1]
    assert logarithms.of(powers([])).tolist() == []


def test_keys_that_cancel_out_are_refused() -> None:
    [share] = keys(1)
    with pytest.raises(InputError, match="cancel"):
        joint_key([share.public, share.public.times(Scalars.of([-1]))])


def test_a_proof_holds_for_its_key_and_context_alone() -> None:
    one, other = keys(2)
    shown = one.prove(Rng(seed_of(3)).stream("nonce"), "session", 1, "north")
    assert proof.holds(shown, one.public, "session", 1, "north")
    assert not proof.holds(shown, one.public, "session", 2, "north")
    assert not proof.holds(shown, one.public, "session", 1, "south")
    assert not proof.holds(shown, other.public, "session", 1, "north")
    for place in range(0, 64, 7):
        bent = bytearray(shown)
        bent[place] ^= 1
        assert not proof.holds(bytes(bent), one.public, "session", 1, "north")


def test_a_key_named_to_cancel_the_others_out_cannot_be_proved() -> None:
    honest, [mine] = keys(2), keys(1, seed=9)
    rogue = Point(mine.public.minus(joint_key(share.public for share in honest)).data)
    assert joint_key([*(share.public for share in honest), rogue]) == mine.public
    forged = mine.prove(Rng(seed_of(4)).stream("nonce"), "session")
    assert not proof.holds(forged, rogue, "session")


def test_halves_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="two halves"):
        Ciphertexts(GENERATOR, powers([1, 2]))
    with pytest.raises(InputError, match="nothing to add"):
        Ciphertexts(powers([]), powers([])).total()


def test_blinding_commutes_and_comes_off_in_any_order() -> None:
    rng = Rng(seed_of(5))
    a, b = BlindingKey(rng.stream("a")), BlindingKey(rng.stream("b"))
    points = hash_to_group([b"x", b"y"], "test")
    assert a.blind(b.blind(points)) == b.blind(a.blind(points))
    assert a.unblind(b.blind(a.blind(points))) == b.blind(points)
    assert repr(a) == "BlindingKey(…)"


def test_ciphertexts_are_taken_and_joined_in_step() -> None:
    [share] = keys(1)
    hidden = encrypt([1, 2, 3], share.public, Rng(seed_of(6)).stream("x"))
    picked = Ciphertexts.join([hidden.take(np.array([2, 0])), hidden.slice(1, 2)])
    assert read(picked, [share]) == powers([3, 1, 2])
