"""Paillier's key in parts, by both cuts: every t of six open, fewer say nothing, wrong parts and shares are refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import gmpy2
import pytest
from gmpy2 import mpz
from tests.harness.network import seed_of
from tests.harness.peers import ask
from tests.harness.tiny_keys import TINY

from covey.crypto.asmuth_bloom import HIDING_BITS, AsmuthBloomKey, AsmuthBloomTrustee, _coprime, deal_asmuth_bloom
from covey.crypto.paillier import Ciphertexts
from covey.crypto.residues import Residues
from covey.crypto.rng import Rng, Stream
from covey.crypto.threshold_paillier import Primes, ShamirKey, ShamirPart, ShamirTrustee, deal_shamir
from covey.errors import InputError

NUMBERS = [0, 1, 5000]


def stream(*labels: str | int) -> Stream:
    return Rng(seed_of(4)).stream(*labels)


@cache
def primes() -> Primes:
    return Primes.draw(TINY, stream("primes"), least_bits=TINY)


def hidden(numbers: Sequence[int] = NUMBERS) -> Ciphertexts:
    return primes().public.encrypt(numbers, stream("numbers", len(numbers)))


def shamir(threshold: int = 3, trustees: int = 6) -> list[ShamirTrustee]:
    return deal_shamir(primes(), threshold, trustees, stream("shamir", threshold, trustees))


def asmuth_bloom(threshold: int = 3, trustees: int = 6) -> list[AsmuthBloomTrustee]:
    return deal_asmuth_bloom(primes(), threshold, trustees, stream("asmuth", threshold, trustees))


# ---- every subset


@pytest.mark.parametrize("threshold", range(1, 7))
def test_every_subset_of_t_of_six_opens_by_shamir(threshold: int) -> None:
    trustees, ciphertexts = shamir(threshold), hidden()
    key, rng = trustees[0].key, Rng(seed_of(5))
    parts = {trustee.place: trustee.unlock(ciphertexts, rng.stream(trustee.place), "here") for trustee in trustees}
    assert all(key.holds(place, ciphertexts, part, "here") for place, part in parts.items())
    for some in combinations(parts, threshold):
        assert key.combine({place: parts[place].values for place in some}) == NUMBERS


@pytest.mark.parametrize("threshold", range(1, 7))
def test_every_subset_of_t_of_six_opens_by_asmuth_and_bloom(threshold: int) -> None:
    trustees, ciphertexts = asmuth_bloom(threshold), hidden()
    for some in combinations(trustees, threshold):
        places = [trustee.place for trustee in some]
        parts = {trustee.place: trustee.unlock(ciphertexts, places) for trustee in some}
        assert trustees[0].key.combine(parts, ciphertexts) == NUMBERS


def test_sums_multiples_and_new_randomness_open_as_the_plain_numbers_do() -> None:
    ciphertexts = hidden().plus(hidden()).plus_numbers([1, 2, 3]).scaled([1, 5, -1]).rerandomised(stream("again"))
    due = [1, 20, -10003 % primes().public.n]
    trustees, others = shamir()[:3], asmuth_bloom()[:3]
    parts = {t.place: t.unlock(ciphertexts, stream("part", t.place)).values for t in trustees}
    assert trustees[0].key.combine(parts) == due
    opened = {t.place: t.unlock(ciphertexts, [1, 2, 3]) for t in others}
    assert others[0].key.combine(opened, ciphertexts) == due


@pytest.mark.slow
def test_a_key_of_real_size_opens_by_both_cuts() -> None:
    real = Primes.draw(2048, stream("real"))
    ciphertexts = real.public.encrypt(NUMBERS, stream("real numbers"))
    trustees = deal_shamir(real, 5, 9, stream("real shamir"))[2:7]
    parts = {t.place: t.unlock(ciphertexts, stream("real part", t.place)) for t in trustees}
    assert all(trustees[0].key.holds(place, ciphertexts, part) for place, part in parts.items())
    assert trustees[0].key.combine({place: part.values for place, part in parts.items()}) == NUMBERS
    others = deal_asmuth_bloom(real, 5, 9, stream("real asmuth"))[2:7]
    places = [t.place for t in others]
    opened = {t.place: t.unlock(ciphertexts, places) for t in others}
    assert others[0].key.combine(opened, ciphertexts) == NUMBERS


# ---- second implementations


def test_asmuth_and_blooms_shares_are_remainders_of_one_number_that_opens() -> None:
    """Chinese remainders in plain integers: from any t shares the same y, and L(c^y) scaled is the number."""
    trustees, ciphertexts = asmuth_bloom(), hidden()
    key, n = trustees[0].key, int(primes().public.n)
    found = set()
    for some in combinations(trustees, 3):
        moduli = [int(key.moduli[t.place - 1]) for t in some]
        whole = math.prod(moduli)
        y = (
            sum(int(t._share) * pow(whole // m, -1, m) * (whole // m) for t, m in zip(some, moduli, strict=True))
            % whole
        )
        found.add(y)
    [y] = found
    exponent = math.lcm(int(primes().p) - 1, int(primes().q) - 1)
    assert y % exponent == 0, "y is a multiple of lambda, as D + A N lambda is"
    opened = [(pow(int(c), y, n * n) - 1) // n * int(key.scale) % n for c in ciphertexts.values]
    assert opened == NUMBERS


def test_shamirs_shares_lie_on_a_polynomial_whose_value_at_zero_opens() -> None:
    trustees, modulus = shamir(), int(primes().public.n * primes().m)
    for some in combinations(trustees, 3):
        secret = 0
        for t in some:
            weight = 1
            for other in some:
                if other is not t:
                    weight = weight * other.place * pow(other.place - t.place, -1, modulus) % modulus
            secret += weight * int(t._share)
        secret %= modulus
        assert secret % int(primes().m) == 0 and secret % int(primes().public.n) == 1


def ask_tno(question: dict[str, object]) -> dict[str, list[int]]:
    """An answer of TNO's threshold Paillier."""
    found = ask("tno", Path(__file__).with_name("ask_tno.py"), question)
    assert isinstance(found, dict)
    return found


@pytest.mark.thorough
def test_tno_opens_our_ciphertexts_with_our_shares_and_we_open_its_own() -> None:
    """Its openings take the first t places and a scale, which for our secret of 1 modulo N is n!."""
    trustees, ciphertexts = shamir(3, 5), hidden()
    answer = ask_tno(
        {
            "n": int(primes().public.n),
            "parties": 5,
            "degree": 2,
            "theta": math.factorial(5),
            "shares": [(t.place, int(t._share)) for t in trustees[:3]],
            "ciphertexts": [int(value) for value in ciphertexts.values],
            "numbers": [7, 0, 123456],
        }
    )
    assert answer["read"] == NUMBERS
    theirs = Ciphertexts(primes().public, [mpz(value) for value in answer["encrypted"]])
    parts = {t.place: t.unlock(theirs, stream("theirs", t.place)).values for t in trustees[2:]}
    assert trustees[0].key.combine(parts) == [7, 0, 123456]
    others = asmuth_bloom()[1:4]
    assert others[0].key.combine({t.place: t.unlock(theirs, [2, 3, 4]) for t in others}, theirs) == [7, 0, 123456]


# ---- what fewer say, and what hides it


def test_too_few_parts_open_nothing() -> None:
    trustees, ciphertexts = shamir(), hidden()
    parts = {t.place: t.unlock(ciphertexts, stream("few", t.place)).values for t in trustees[:2]}
    with pytest.raises(InputError, match="3 are needed"):
        trustees[0].key.combine(parts)
    lower = replace(trustees[0].key, threshold=2)
    with pytest.raises(InputError, match="do not fit together"):
        lower.combine(parts)
    others = asmuth_bloom()
    low = replace(others[0].key, threshold=2)
    pair = [AsmuthBloomTrustee(t.place, t._share, low) for t in others[:2]]
    with pytest.raises(InputError, match="do not fit together"):
        low.combine({t.place: t.unlock(ciphertexts, [1, 2]) for t in pair}, ciphertexts)


@pytest.mark.parametrize(("threshold", "trustees"), [(2, 3), (3, 6), (5, 9), (10, 19)])
def test_the_moduli_of_asmuth_and_bloom_hide_the_secret_from_one_share_less(threshold: int, trustees: int) -> None:
    """The number is fixed modulo t - 1 moduli at most: 2^120 values and more are left for each secret."""
    key = asmuth_bloom(threshold, trustees)[0].key
    secret_modulus = int(primes().public.n * 2 * primes().m)
    lowest, highest = math.prod(key.moduli[:threshold]), math.prod(key.moduli[trustees - threshold + 1 :])
    assert secret_modulus * highest * 2**HIDING_BITS < lowest
    assert math.gcd(*(key.moduli[0], key.moduli[1])) == 1


def test_moduli_that_would_not_hide_are_refused() -> None:
    key = asmuth_bloom()[0].key
    moduli = list(key.moduli)
    too_small, too_far = _coprime(2 * TINY + HIDING_BITS - 8, 6), [*moduli[:-1], gmpy2.next_prime(moduli[-1] << 300)]
    for reason, bad in (
        ("hide", too_small),
        ("hide", too_far),
        ("rise", moduli[::-1]),
        ("factor", [*moduli[:-1], moduli[0] * 3]),
    ):
        with pytest.raises(InputError, match=reason):
            replace(key, moduli=tuple(bad))
    for scale in (mpz(0), key.public.n, primes().p, key.scale + key.public.n, key.scale - key.public.n):
        with pytest.raises(InputError, match="scale"):
            replace(key, scale=scale)


def test_secrets_do_not_print() -> None:
    for holder in (shamir()[0], asmuth_bloom()[0], primes()):
        assert "…" in repr(holder) and len(repr(holder)) < 40


# ---- what is refused


@pytest.fixture(scope="module")
def opening() -> tuple[list[ShamirTrustee], Ciphertexts, ShamirPart]:
    trustees, ciphertexts = shamir(), hidden()
    return trustees, ciphertexts, trustees[0].unlock(ciphertexts, stream("opening"), "here", 5)


Opening = tuple[list[ShamirTrustee], Ciphertexts, ShamirPart]


def test_a_part_is_refused_at_another_place_or_in_another_context(opening: Opening) -> None:
    trustees, ciphertexts, part = opening
    key = trustees[0].key
    assert key.holds(1, ciphertexts, part, "here", 5)
    assert not key.holds(2, ciphertexts, part, "here", 5)
    assert not key.holds(1, ciphertexts, part, "here", 6)
    assert not key.holds(1, ciphertexts, part, "there", 5)
    assert not key.holds(1, hidden([1, 2, 3]).rerandomised(stream("other")), part, "here", 5)


@pytest.mark.parametrize("place", range(3))
def test_one_wrong_number_in_a_part_is_noticed(opening: Opening, place: int) -> None:
    trustees, ciphertexts, part = opening
    values = list(part.values)
    values[place] = values[place] * 4 % primes().public.square
    assert not trustees[0].key.holds(1, ciphertexts, replace(part, values=tuple(values)), "here", 5)


def test_a_wrong_part_with_a_proof_of_its_own_is_noticed(opening: Opening) -> None:
    """Made with another trustee's share, under the name of the first."""
    trustees, ciphertexts, _ = opening
    forger = object.__new__(ShamirTrustee)
    forger.place, forger.key, forger._share = 1, trustees[0].key, trustees[1]._share
    forged = forger.unlock(ciphertexts, stream("forged"), "here", 5)
    assert not trustees[0].key.holds(1, ciphertexts, forged, "here", 5)


def proved(trustee: ShamirTrustee, ciphertexts: Ciphertexts, values: Sequence[mpz]) -> ShamirPart:
    """A part with these values and a proof made for them with the trustee's real share."""
    key, square = trustee.key, primes().public.square
    secret, nonce = key.factorial * trustee._share, mpz(stream("nonce").below(1 << 500))
    base, _ = key._combined(1, ciphertexts, values, ("here", 5))
    commitments = (gmpy2.powmod(key.base, nonce, square), gmpy2.powmod(base, nonce, square))
    challenge = key._challenge(1, ciphertexts, values, commitments, ("here", 5))
    return ShamirPart(tuple(values), commitments, nonce + challenge * secret)


def test_two_numbers_that_are_wrong_in_opposite_ways_are_noticed(opening: Opening) -> None:
    """Without weights from a hash, errors that cancel out in the product would pass with a new proof."""
    trustees, ciphertexts, part = opening
    key, square = trustees[0].key, primes().public.square
    assert key.holds(1, ciphertexts, proved(trustees[0], ciphertexts, part.values), "here", 5)
    values = list(part.values)
    values[0], values[1] = values[0] * 4 % square, values[1] * gmpy2.invert(4, square) % square
    assert not key.holds(1, ciphertexts, proved(trustees[0], ciphertexts, values), "here", 5)


def test_a_number_has_one_form_only(opening: Opening) -> None:
    """The same residue plus the modulus, with a new proof: right in every respect but that."""
    trustees, ciphertexts, part = opening
    values = [part.values[0] + primes().public.square, *part.values[1:]]
    assert not trustees[0].key.holds(1, ciphertexts, proved(trustees[0], ciphertexts, values), "here", 5)


def test_a_bent_proof_is_refused(opening: Opening) -> None:
    trustees, ciphertexts, part = opening
    key, square = trustees[0].key, primes().public.square
    order = primes().public.n * 2 * primes().m
    first, second = part.commitments
    for bent in (
        replace(part, response=part.response + 1),
        replace(part, response=-part.response),
        replace(part, response=part.response + (order << 2 * TINY)),
        replace(part, response=part.response - (order << 2 * TINY)),
        replace(part, response=part.response + (1 << key._response_bits)),
        replace(part, commitments=(second, first)),
        replace(part, commitments=(first * 4 % square, second)),
        replace(part, commitments=(mpz(0), second)),
        replace(part, commitments=(first, square + second)),
        replace(part, commitments=(first, primes().p)),
        replace(part, values=part.values[:-1]),
        replace(part, values=(*part.values, part.values[0])),
        replace(part, values=(mpz(0), *part.values[1:])),
        replace(part, values=(primes().p, *part.values[1:])),
        replace(part, values=(part.values[0] + square, *part.values[1:])),
        replace(part, values=(part.values[1], part.values[0], part.values[2])),
    ):
        assert not key.holds(1, ciphertexts, bent, "here", 5)
    assert not key.holds(1, ciphertexts.slice(0, 0), replace(part, values=()), "here", 5)


def test_a_part_with_the_sign_of_its_numbers_turned_opens_the_same(opening: Opening) -> None:
    """Only squares of a part are used, so that what the proof leaves open, a sign, does not matter."""
    trustees, ciphertexts, part = opening
    turned = tuple(primes().public.square - value for value in part.values)
    others = {t.place: t.unlock(ciphertexts, stream("sign", t.place)).values for t in trustees[1:3]}
    assert trustees[0].key.combine({1: turned, **others}) == NUMBERS


def test_a_part_that_passes_the_wire_is_the_same_and_bad_bytes_do_not(opening: Opening) -> None:
    trustees, _, part = opening
    key, public = trustees[0].key, primes().public
    residues, proof = Ciphertexts(public, list(part.values)).residues(), part.pack_proof(key)
    assert len(proof) == key.proof_bytes
    assert ShamirPart.read(key, residues, proof) == part
    zero, large = bytes(public.width), b"\xff" * public.width
    for bad in (b"", proof[:-1], proof + b"\0", zero + proof[public.width :], large + proof[public.width :]):
        with pytest.raises(InputError):
            ShamirPart.read(key, residues, bad)
    for wrong in (Residues(zero, public.width), Residues(large, public.width), Residues(b"1234", 4)):
        with pytest.raises(InputError):
            ShamirPart.read(key, wrong, proof)


def test_keys_that_pass_the_wire_are_the_same_and_bad_bytes_are_refused() -> None:
    for key in (shamir()[0].key, asmuth_bloom()[0].key):
        raw = key.pack()
        kind: type[ShamirKey] | type[AsmuthBloomKey] = type(key)
        assert kind.unpack(raw) == key
        half = key.public.bits // 8
        for bad in (
            b"",
            raw[:2],
            raw[:-1],
            raw + b"\0",
            bytes([0]) + raw[1:],
            bytes([7]) + raw[1:],
            raw[:1] + bytes([2]) + raw[2:],
            raw[:2] + bytes(half) + raw[2 + half :],
            raw[:-half] + bytes(half) if isinstance(key, AsmuthBloomKey) else raw[: -2 * half] + bytes(2 * half),
        ):
            with pytest.raises(ValueError, match=r"\w"):
                kind.unpack(bad)


def test_wrong_parts_do_not_combine() -> None:
    trustees, ciphertexts = shamir(), hidden()
    key = trustees[0].key
    parts = {t.place: t.unlock(ciphertexts, stream("wrong", t.place)).values for t in trustees[:3]}
    with pytest.raises(InputError, match="do not fit together"):
        key.combine({**parts, 1: parts[2]})
    for bad in ({1: parts[1]}, {**parts, 4: parts[1]}, {0: parts[1], 2: parts[2], 3: parts[3]}):
        with pytest.raises(InputError):
            key.combine(bad)
    with pytest.raises(InputError, match="as many numbers"):
        key.combine({**parts, 1: parts[1][:-1]})
    with pytest.raises(InputError, match="between 1 and 6"):
        key.combine({7: parts[1], 2: parts[2], 3: parts[3]})


def test_wrong_parts_do_not_combine_by_asmuth_and_bloom() -> None:
    trustees, ciphertexts = asmuth_bloom(), hidden()
    key = trustees[0].key
    parts = {t.place: t.unlock(ciphertexts, [1, 2, 3]) for t in trustees[:3]}
    replayed = trustees[0].unlock(ciphertexts, [1, 4, 5])
    with pytest.raises(InputError, match="do not fit together"):
        key.combine({**parts, 1: replayed}, ciphertexts)
    with pytest.raises(InputError, match="as many numbers"):
        key.combine(parts, ciphertexts.slice(0, 2))
    for places in ([1, 2], [1, 2, 3, 4], [1, 1, 2], [0, 1, 2], [1, 2, 7], [2, 3, 4]):
        with pytest.raises(InputError):
            trustees[0].unlock(ciphertexts, places)


def test_shares_that_do_not_fit_are_refused() -> None:
    trustees, others = shamir(), asmuth_bloom()
    key, other = trustees[0].key, others[0].key
    for place, share in ((1, trustees[1]._share), (1, trustees[0]._share + 1), (0, trustees[0]._share), (7, mpz(5))):
        with pytest.raises(InputError):
            ShamirTrustee(place, share, key)
    for place, share in ((0, mpz(1)), (7, mpz(1)), (1, mpz(-1)), (1, other.moduli[0])):
        with pytest.raises(InputError):
            AsmuthBloomTrustee(place, share, other)


def test_ciphertexts_under_another_key_are_refused() -> None:
    foreign = Primes.draw(TINY, stream("foreign"), least_bits=TINY).public.encrypt([1], stream("one"))
    with pytest.raises(InputError, match="another key"):
        shamir()[0].unlock(foreign, stream("x"))
    with pytest.raises(InputError, match="another key"):
        asmuth_bloom()[0].unlock(foreign, [1, 2, 3])


def test_a_key_with_elements_outside_its_group_is_refused() -> None:
    key = shamir()[0].key
    for bad in (mpz(0), mpz(1), key.public.square, primes().p):
        with pytest.raises(InputError, match="elements"):
            replace(key, base=bad)
        with pytest.raises(InputError, match="elements"):
            replace(key, checks=(bad, *key.checks[1:]))


@pytest.mark.parametrize(("threshold", "trustees"), [(0, 3), (4, 3)])
def test_a_threshold_that_cannot_be_met_is_refused(threshold: int, trustees: int) -> None:
    for deal in (deal_shamir, deal_asmuth_bloom):
        with pytest.raises(InputError, match="trustees"):
            deal(primes(), threshold, trustees, stream("bad"))


def test_a_dealers_modulus_is_made_of_safe_primes_and_of_a_size_that_protects() -> None:
    for p in (primes().p, primes().q):
        assert gmpy2.is_prime(p) and gmpy2.is_prime((p - 1) // 2)
    with pytest.raises(InputError, match="bits"):
        Primes.draw(TINY, stream("small"), least_bits=2048)


def test_one_seed_and_two_statements_give_two_nonces() -> None:
    """A journal that is put back from a backup draws the same random bytes again; the share stays secret."""
    trustee = shamir(2, 2)[0]
    ciphertexts = trustee.key.public.encrypt([5], stream("nonces"))
    parts = [trustee.unlock(ciphertexts, Rng(seed_of(3)).stream("nonce"), where) for where in ("here", "there")]
    assert parts[0].commitments != parts[1].commitments
