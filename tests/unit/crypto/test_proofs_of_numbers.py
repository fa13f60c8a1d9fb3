"""Proofs that encrypted numbers are what they should be: a mark at one place, numbers of a range, and nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import product
from types import SimpleNamespace

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import seed_of
from tests.harness.tiers import examples
from tests.unit.crypto import ristretto

from covey.crypto import committed_bits, paillier_proof, proof, range_proof, unit_vector
from covey.crypto.elgamal import Ciphertexts, KeyShare, encrypt_with
from covey.crypto.group import GENERATOR, ORDER, Points, Scalar, Scalars, generator_times
from covey.crypto.paillier import Ciphertexts as PaillierCiphertexts
from covey.crypto.paillier import SecretKey
from covey.crypto.range_proof import Issuer
from covey.crypto.rng import Rng, Stream
from covey.crypto.unit_vector import Marked

KEY = KeyShare(Rng(seed_of(0)).stream("key")).public


def stream(*labels: str | int) -> Stream:
    return Rng(seed_of(1)).stream(*labels)


def marked(numbers: list[int], place: int) -> Marked:
    """A list of marks under the key, whatever they are."""
    randomness = Scalars.draw(stream("marks", *numbers), len(numbers))
    return Marked(encrypt_with(numbers, KEY, randomness), place, randomness.numbers())


@settings(max_examples=examples(12), deadline=None)
@given(
    lists=st.lists(
        st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))), min_size=1, max_size=3
    )
)
def test_a_mark_at_one_place_is_proved(lists: list[tuple[int, int]]) -> None:
    own = [marked([int(at == place) for at in range(count)], place) for count, place in lists]
    shown = unit_vector.prove(own, KEY, stream("proof"), "here", 7)
    marks = [each.marks for each in own]
    assert len(shown) == unit_vector.proof_bytes([len(each) for each in marks])
    assert unit_vector.holds(shown, marks, KEY, "here", 7)
    assert not unit_vector.holds(shown, marks, KEY, "there", 7)
    assert not unit_vector.holds(shown, marks, KEY.plus(GENERATOR), "here", 7)


@pytest.mark.parametrize("numbers", [[0, 0, 0], [1, 1, 0], [2, 0, 0], [-1, 1, 1], [1, -1, 1], [0, 0, 2**40]])
def test_other_numbers_have_no_proof_whatever_place_is_claimed(numbers: list[int]) -> None:
    for place in range(4):  # the fourth is beyond the list, where the bits of a place still reach
        own = marked(numbers, place)
        shown = unit_vector.prove([own], KEY, stream("proof", place), "here")
        assert not unit_vector.holds(shown, [own.marks], KEY, "here")


def test_no_byte_of_a_proof_of_marks_may_change() -> None:
    own = [marked([0, 1, 0], 1), marked([1, 0], 0)]
    shown, marks = unit_vector.prove(own, KEY, stream("proof"), "here"), [each.marks for each in own]
    for at in range(0, len(shown), 17):
        bent = shown[:at] + bytes([shown[at] ^ 1]) + shown[at + 1 :]
        assert not unit_vector.holds(bent, marks, KEY, "here"), at
    for cut in (shown[:-32], shown + shown[-32:], b""):
        assert not unit_vector.holds(cut, marks, KEY, "here")
    assert not unit_vector.holds(shown, marks[::-1], KEY, "here")


def test_the_equations_of_a_proof_of_marks_hold_in_plain_integers() -> None:
    """A second verifier, equation by equation, on a second implementation of the group."""
    own = marked([0, 0, 1], 2)
    shown = unit_vector.prove([own], KEY, stream("proof"), "here")
    words = [shown[at : at + 32] for at in range(0, len(shown), 32)]
    points = [ristretto.decode(word) for word in words[:10]]
    z, w, v, (rest,) = [[int.from_bytes(word, "little") for word in words[10:][at : at + 2]] for at in (0, 2, 4, 6)]
    start = unit_vector._statement([own.marks], KEY, ("here",))
    y = proof.challenge("covey unit y/1", start, 0, b"".join(words[:6]))
    x = proof.challenge("covey unit x/1", start, 0, b"".join(words[:6]), b"".join(words[6:8]), b"".join(words[8:10]))
    base, second, key = (ristretto.decode(each.data) for each in (GENERATOR, committed_bits.SECOND, KEY))
    times, plus = ristretto.multiply, ristretto.add

    def total(*terms: tuple[int, ristretto.Extended]) -> bytes:
        made = times(0, base)
        for factor, point in terms:
            made = plus(made, times(factor % ORDER, point))
        return ristretto.encode(made)

    for level in range(2):
        bit, mask, hidden = points[level], points[2 + level], points[4 + level]
        assert total((x, bit), (1, mask)) == total((z[level], base), (w[level], second))
        assert total((x - z[level], bit), (1, hidden)) == total((v[level], second))
    # every place's product, one after the other, as the paper writes it
    weight = [z[0] if at & 1 else x - z[0] for at in range(4)]
    weight = [each * (z[1] if at & 2 else x - z[1]) for at, each in enumerate(weight)]
    halves = [[ristretto.decode(each) for each in half] for half in (own.marks.first, own.marks.second)]
    for number, half in enumerate(halves):
        low = points[6 + 2 * number : 8 + 2 * number]
        left = [(x * x * y**at, half[at]) for at in range(3)] + [(x**at, low[at]) for at in range(2)]
        value = sum(weight[at] * y**at for at in range(4))
        assert total(*left) == (total((rest, base)) if not number else total((value, base), (rest, key)))


# -- ranges


def issuer(numbers: range) -> Issuer:
    return Issuer(numbers, stream("issuer"))


def hidden(numbers: list[int]) -> tuple[Ciphertexts, Scalars]:
    randomness = Scalars.draw(stream("numbers", *numbers), len(numbers))
    return encrypt_with(numbers, KEY, randomness), randomness


def shown(by: Issuer, claimed: list[int], content: Ciphertexts, randomness: Scalars, *context: str) -> bytes:
    return range_proof.prove(claimed, by.low, by.tokens, content, randomness, KEY, stream("shown", *claimed), *context)


@settings(max_examples=examples(10), deadline=None)
@given(low=st.integers(0, 5), span=st.integers(0, 6), data=st.data())
def test_numbers_of_a_range_are_proved(low: int, span: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(low, low + span), max_size=5))
    by, (content, randomness) = issuer(range(low, low + span + 1)), hidden(numbers)
    made = shown(by, numbers, content, randomness, "here")
    assert len(made) == range_proof.proof_bytes(len(numbers))
    assert by.holds(made, content, KEY, "here")
    assert not numbers or not by.holds(made, content, KEY, "there")


@pytest.mark.parametrize(
    ("content", "claimed"), [([4], [3]), ([2**40], [3]), ([-1], [0]), ([2, 1], [1, 2]), ([1, 3], [2, 2])]
)
def test_another_number_than_the_claimed_one_is_not_proved(content: list[int], claimed: list[int]) -> None:
    by, (made, randomness) = issuer(range(4)), hidden(content)
    assert not by.holds(shown(by, claimed, made, randomness, "here"), made, KEY, "here")


def test_a_number_without_a_token_is_not_proved_with_anothers() -> None:
    by, (made, randomness) = issuer(range(4)), hidden([4])
    wider = Points.join([by.tokens, by.tokens.slice(3, 4)])  # the token of 3 given out as that of 4
    proved = range_proof.prove([4], 0, wider, made, randomness, KEY, stream("shown"), "here")
    assert not by.holds(proved, made, KEY, "here")


def test_no_byte_of_a_proof_of_numbers_may_change() -> None:
    by, (content, randomness) = issuer(range(301)), hidden([0, 300, 17])
    made = shown(by, [0, 300, 17], content, randomness, "here")
    for at in range(0, len(made), 13):
        bent = made[:at] + bytes([made[at] ^ 1]) + made[at + 1 :]
        assert not by.holds(bent, content, KEY, "here"), at
    assert not by.holds(made[:-32], content, KEY, "here") and not by.holds(b"", content, KEY, "here")
    assert not by.holds(made, content.slice(0, 2), KEY, "here")
    assert not by.holds(made, content.take([1, 0, 2]), KEY, "here")


def test_tokens_are_the_inverses_that_they_should_be_and_are_proved() -> None:
    by = issuer(range(10, 14))
    secret = by._key.surrender().numbers()[0]
    for place, token in enumerate(by.tokens, start=1):
        inverse = pow(secret + place, -1, ORDER)
        assert ristretto.encode(ristretto.multiply(inverse, ristretto.decode(GENERATOR.data))) == token
    proved = by.prove(stream("tokens"), "here")
    assert range_proof.issued_right(by.tokens, by.public, proved, range(10, 14), "here")
    assert not range_proof.issued_right(by.tokens, by.public, proved, range(10, 14), "there")
    assert not range_proof.issued_right(by.tokens, by.public, proved, range(10, 15), "here")


def test_tokens_by_another_rule_which_would_tell_numbers_apart_are_refused() -> None:
    by = issuer(range(4))
    bent = Points.join([by.tokens.slice(0, 3), by.tokens.slice(3, 4).times(Scalars.of([2]))])
    by.tokens = bent
    assert not range_proof.issued_right(bent, by.public, by.prove(stream("tokens"), "here"), range(4), "here")


# -- nonces


def test_one_seed_and_two_statements_give_two_nonces() -> None:
    """A journal that is restored from a backup draws the same random bytes again; the secret stays one."""
    secret = Scalar.fresh(stream("secret"))
    public = generator_times(secret)
    first, other = (proof.prove(secret, public, stream("nonce"), at) for at in ("here", "there"))  # type: ignore[arg-type]
    assert first[:32] != other[:32], "one commitment under two challenges gives the secret away"
    base = GENERATOR.times(Scalars.of([5]))
    equal = [
        proof.prove_equal(secret, public, base, base.times(secret), stream("nonce"), at) for at in ("here", "there")
    ]
    assert equal[0][:64] != equal[1][:64]


def test_nonces_follow_from_secret_randomness_and_statement_each() -> None:
    drawn = set()
    for secret, seed, statement in product(("one", "other"), repeat=3):
        own = proof.hedged(stream(seed), hashlib.sha256(secret.encode()).digest(), statement)
        drawn.add(own.bytes(16))
    assert len(drawn) == 8


# -- Paillier keys and bits

TINY = 256


@cache
def paillier_key() -> SecretKey:
    return SecretKey(TINY, stream("paillier"), least_bits=TINY)


def paillier_bits(numbers: list[int], claimed: list[int]) -> tuple[PaillierCiphertexts, bytes]:
    """Numbers under a Paillier key, and a proof that they are the claimed bits."""
    key = paillier_key()
    exponents = key.public.exponents(len(numbers), stream("exponents", *numbers))
    made = key.encrypt_with(numbers, exponents)
    return made, paillier_proof.prove_bits(key, claimed, exponents, made, stream("proof", *numbers), "here")


@settings(max_examples=examples(6), deadline=None)
@given(bits=st.lists(st.integers(0, 1), min_size=1, max_size=9))
def test_bits_under_a_paillier_key_are_proved(bits: list[int]) -> None:
    made, shown = paillier_bits(bits, bits)
    assert len(shown) == paillier_proof.proof_bytes(len(bits), TINY)
    assert paillier_proof.bits_hold(shown, made, "here")
    assert not paillier_proof.bits_hold(shown, made, "there")


@pytest.mark.parametrize(
    ("numbers", "claimed"),
    [([1, 0], [0, 0]), ([2, 0], [1, 0]), ([-1, 1], [1, 1]), ([1 << 70, 1], [0, 1]), ([1, 0], [0, 1]), ([2, 1], [2, 1])],
)
def test_other_numbers_under_a_paillier_key_are_not_proved(numbers: list[int], claimed: list[int]) -> None:
    made, shown = paillier_bits(numbers, claimed)
    assert not paillier_proof.bits_hold(shown, made, "here")


def test_a_multiple_of_the_groups_order_more_is_not_proved() -> None:
    """In the group it is the same number: the response would have to be longer than it may be."""
    made, shown = paillier_bits([1 + ORDER, 0], [1, 0])
    assert not paillier_proof.bits_hold(shown, made, "here")


def test_no_byte_of_a_proof_of_paillier_bits_may_change() -> None:
    made, shown = paillier_bits([1, 0, 1], [1, 0, 1])
    for at in range(0, len(shown), 29):
        bent = shown[:at] + bytes([shown[at] ^ 1]) + shown[at + 1 :]
        assert not paillier_proof.bits_hold(bent, made, "here"), at
    assert not paillier_proof.bits_hold(shown[:-1], made, "here")
    assert not paillier_proof.bits_hold(shown, made.take([1, 0, 2]), "here")


def test_weighted_products_are_those_of_plain_powers() -> None:
    values = [mpz(each) for each in (3, 5, 7, 11)]
    exponents = np.array([0, 1, 0xFFFFFFFF, 0x01020300], dtype=np.uint64)
    expected = 5 * pow(7, 0xFFFFFFFF, 10007) * pow(11, 0x01020300, 10007) % 10007
    assert paillier_proof.weighted_product(values, exponents, mpz(10007)) == expected


def test_a_modulus_that_is_one_is_proved() -> None:
    key = paillier_key()
    shown = paillier_proof.prove_modulus(key, "here")
    assert paillier_proof.modulus_holds(key.public, shown, "here")
    assert not paillier_proof.modulus_holds(key.public, shown, "there")
    for at in (0, len(shown) // 2, len(shown) - 1):
        bent = shown[:at] + bytes([shown[at] ^ 1]) + shown[at + 1 :]
        assert not paillier_proof.modulus_holds(key.public, bent, "here")
    for root, target in zip(
        [int.from_bytes(shown[at : at + 32], "little") for at in range(0, len(shown), 32)],
        paillier_proof._targets(key.public, ("here",)),
        strict=True,
    ):
        assert pow(root, int(key.public.n), int(key.public.n)) == target  # in plain integers


def test_a_modulus_that_shares_a_factor_with_its_totient_has_no_roots_to_show() -> None:
    """q = 2 a p + 1: then p divides n and its totient, and a ciphertext holds a second number."""
    p = gmpy2.next_prime(1 << 120)
    q = next(each for a in range(1, 100_000) if gmpy2.is_prime(each := 2 * a * p + 1))
    n = p * q
    assert gmpy2.gcd(n, (p - 1) * (q - 1)) == p
    key = SimpleNamespace(n=n, bits=int(n.bit_length() + 7) // 8 * 8, pack=lambda: n.to_bytes(64, "little"))
    targets = paillier_proof._targets(key, ("here",))  # type: ignore[arg-type]
    order = q - 1
    rooted = [pow(each % q, order // p, q) == 1 for each in targets]  # those modulo q with an n-th root
    assert not all(rooted)


def test_a_modulus_with_a_small_factor_is_refused() -> None:
    small, large = gmpy2.next_prime(100_003), gmpy2.next_prime(1 << 239)
    n, totient = small * large, (small - 1) * (large - 1)
    key = SimpleNamespace(n=n, bits=256, pack=lambda: b"")
    targets = paillier_proof._targets(key, ())  # type: ignore[arg-type]
    shown = b"".join(gmpy2.powmod(each, gmpy2.invert(n, totient), n).to_bytes(32, "little") for each in targets)
    assert not paillier_proof.modulus_holds(key, shown)  # type: ignore[arg-type]
