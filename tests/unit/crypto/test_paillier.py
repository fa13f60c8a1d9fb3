"""Paillier: what it computes is right, what is no key or ciphertext is refused, and weak keys stay in tests."""

from __future__ import annotations

import copy
from pathlib import Path

import gmpy2
import pytest
from gmpy2 import mpz
from tests.conftest import ROOT
from tests.harness.network import seed_of
from tests.harness.peers import ask

from covey.crypto import packing, paillier, primes
from covey.crypto.paillier import Ciphertexts, PublicKey, SecretKey, check_bits
from covey.crypto.residues import Residues
from covey.crypto.rng import Rng, Stream
from covey.errors import InputError

KEY = SecretKey(2048, Rng(seed_of(1)).stream("key"))
PUBLIC = KEY.public
N, SQUARE = int(PUBLIC.n), int(PUBLIC.square)
P, Q = int(KEY._p.prime), int(KEY._q.prime)  # a test may look; nothing else reaches it


def signed(ciphertexts: Ciphertexts) -> list[int]:
    """The numbers, those above n / 2 being negative ones."""
    n = int(PUBLIC.n)
    return [number - n if 2 * number > n else number for number in KEY.decrypt(ciphertexts)]


def stream(*labels: str) -> Stream:
    return Rng(seed_of(2)).stream("paillier", *labels)


def test_numbers_are_read_back_whoever_encrypts_them() -> None:
    numbers = [0, 1, 2, N - 1, N // 2, 1 << 1000, *range(20)]
    assert KEY.decrypt(PUBLIC.encrypt(numbers, stream("a"))) == numbers
    assert KEY.decrypt(KEY.encrypt(numbers, stream("b"))) == numbers


def test_negative_numbers_are_read_back_as_such() -> None:
    numbers = [-1, 0, 1, -(1 << 500), 1 << 500]
    assert signed(KEY.encrypt(numbers, stream("a"))) == numbers


@pytest.mark.parametrize("count", [1, 23, 24, 40])
def test_the_holders_short_cut_and_the_tables_give_the_same_ciphertexts(count: int) -> None:
    mine = KEY.encrypt(range(count), stream("a"))
    fresh = PublicKey(PUBLIC.n, PUBLIC.base)
    theirs = fresh.encrypt(range(count), stream("a"))
    assert mine.residues() == theirs.residues()
    slow = fresh.masks(fresh.exponents(1, stream("a")))[0]
    assert slow == mine.values[0]


def test_a_mask_is_a_residue_of_the_nth_degree() -> None:
    """So is every ciphertext of zero: its plaintext is zero, and raising it to lambda gives one."""
    zero = PUBLIC.encrypt([0], stream("a"))
    assert KEY.decrypt(zero) == [0]
    assert zero.values[0] != 1


def test_sums_differences_and_multiples_are_those_of_the_numbers() -> None:
    a, b = PUBLIC.encrypt([5, 7, 0], stream("a")), PUBLIC.encrypt([1, 9, 0], stream("b"))
    assert KEY.decrypt(a.plus(b)) == [6, 16, 0]
    assert signed(a.minus(b)) == [4, -2, 0]
    assert signed(a.plus_numbers([-5, 3, -1])) == [0, 10, -1]
    assert signed(a.scaled([-2, 0, 5])) == [-10, 0, 0]
    assert KEY.decrypt(a.total()) == [12]
    assert KEY.decrypt(a.slice(0, 0).total()) == [0]
    assert KEY.decrypt(a.totals([[0, 1], [], [1, 1]])) == [12, 0, 14]
    assert KEY.decrypt(a.take([2, 0])) == [0, 5]
    assert KEY.decrypt(Ciphertexts.join(PUBLIC, [a.slice(1, 2), b])) == [7, 1, 9, 0]


def test_a_rerandomised_ciphertext_holds_the_same_number_and_is_another() -> None:
    a = PUBLIC.encrypt([5, 7], stream("a"))
    other = a.rerandomised(stream("b"))
    assert KEY.decrypt(other) == [5, 7]
    assert not set(a.values) & set(other.values)


def test_numbers_in_a_pack_are_read_back() -> None:
    numbers = [0, 1, (1 << 60) - 1, 17, (1 << 60) - 1] * 20
    fit = packing.slots(PUBLIC, 60)
    assert fit == 34
    packed = packing.pack(PUBLIC.encrypt(numbers, stream("a")), 60, fit)
    assert len(packed) == 3
    assert packing.unpack(KEY.decrypt(packed), 60, fit, len(numbers)) == numbers


def test_a_pack_that_holds_too_much_is_refused() -> None:
    with pytest.raises(InputError, match="more than its numbers"):
        packing.unpack([1 << 8], 8, 4, 1)
    with pytest.raises(InputError, match="do not fit"):
        packing.pack(PUBLIC.encrypt([1], stream("a")), 1024, 2)
    with pytest.raises(InputError, match="packs"):
        packing.unpack([1, 2], 8, 4, 4)
    with pytest.raises(InputError, match="does not fit"):
        packing.slots(PUBLIC, 2048)


def test_equal_streams_make_equal_keys_and_keys_have_the_size_asked_for() -> None:
    assert SecretKey(2048, Rng(seed_of(1)).stream("key")).public == PUBLIC
    assert PUBLIC.bits == 2048
    assert SecretKey(3072, stream("big")).public.bits == 3072


def test_primes_are_of_the_kind_asked_for() -> None:
    found = primes.prime(256, stream("p"), residue=3, modulus=4)
    assert gmpy2.is_prime(found)
    assert (found % 4, found.bit_length(), found >> 254) == (3, 256, 3)
    safe = primes.safe_prime(128, stream("s"))
    assert gmpy2.is_prime(safe)
    assert gmpy2.is_prime((safe - 1) // 2)
    assert safe.bit_length() == 128
    for make in (primes.prime, primes.safe_prime):
        with pytest.raises(InputError, match="no secret"):
            make(15, stream("t"))


def test_a_key_travels_and_is_the_same() -> None:
    assert PublicKey.unpack(PUBLIC.pack()) == PUBLIC
    assert len(PUBLIC.pack()) == 512


def test_a_secret_key_is_not_printed_pickled_or_sent() -> None:
    assert repr(KEY) == "SecretKey(…)"
    assert not hasattr(KEY, "pack")
    for careless in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never pickled"):
            careless(KEY)


def test_ciphertexts_under_another_key_are_not_read_or_mixed() -> None:
    other = SecretKey(2048, stream("other")).public
    foreign = other.encrypt([1], stream("a"))
    with pytest.raises(InputError, match="another key"):
        KEY.decrypt(foreign)
    with pytest.raises(InputError, match="another key"):
        PUBLIC.encrypt([1], stream("b")).plus(foreign)
    with pytest.raises(InputError, match="2 ciphertexts beside 1"):
        PUBLIC.encrypt([1, 2], stream("c")).minus(PUBLIC.encrypt([1], stream("d")))


def test_masks_have_exponents_of_half_the_moduluss_length() -> None:
    assert {len(each) for each in PUBLIC.exponents(3, stream("a"))} == {128}


def test_the_base_of_masks_is_minus_a_square() -> None:
    """Modulo either prime minus one is no square, so that its negative's powers leave no small subgroup out."""
    assert gmpy2.jacobi(PUBLIC.base, P) == gmpy2.jacobi(PUBLIC.base, Q) == -1


class Fixed:
    """A stream that gives these roots first."""

    def __init__(self, *roots: int) -> None:
        self.roots = list(roots)

    def below(self, bound: int) -> int:
        return self.roots.pop(0)


def test_a_key_is_made_of_two_primes_that_fit_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal ones, ones whose order shares a factor, and one that divides the other's order are drawn again."""
    third = next(q for n in range(2, 9999, 4) if gmpy2.is_prime(q := n * P + 1) and q % 4 == 3)
    shares = next(
        q for n in range(1, 9999) if gmpy2.is_prime(q := 2 * n * int(largest_factor(P)) + 1) and q % 4 == 3 and q != P
    )
    drawn = [P, P, P, third, P, shares, P, Q]
    monkeypatch.setattr(paillier, "prime", lambda *_, **__: mpz(drawn.pop(0)))
    key = SecretKey(2048, Fixed(0, 1, P, 5))  # type: ignore[arg-type]
    assert key.public.n == N
    assert not drawn
    assert key.public.base == N - 25


def largest_factor(number: int) -> int:
    """An odd factor of number - 1 above one."""
    rest = (number - 1) // 2
    return next((small for small in range(3, 1 << 16, 2) if rest % small == 0), rest)


# ---- what is refused


def residues(*numbers: int, width: int = PUBLIC.width) -> Residues:
    return Residues(b"".join(number.to_bytes(width, "little") for number in numbers), width)


GOOD = int(PUBLIC.encrypt([3], Rng(seed_of(3)).stream("good")).values[0])
NO_CIPHERTEXTS: list[tuple[str, Residues]] = [
    ("zero", residues(0)),
    ("the modulus", residues(N)),
    ("twice the modulus", residues(2 * N)),
    ("the modulus's last multiple", residues(SQUARE - N)),
    ("the square", residues(SQUARE)),
    ("above the square", residues(SQUARE + 1)),
    ("above the square, a good one's twin", residues(GOOD + SQUARE)),
    ("the largest of its width", residues((1 << 4096) - 1)),
    ("a prime factor", residues(P)),
    ("the other prime factor", residues(Q)),
    ("a prime's square", residues(P * P)),
    ("the other prime's square", residues(Q * Q)),
    ("a multiple of a prime", residues(P * (GOOD // P))),
    ("a multiple of the other", residues(Q * (GOOD // Q))),
    ("a prime times the modulus", residues(P * N)),
    ("a good one, then zero", residues(GOOD, 0)),
    ("a good one, then the modulus", residues(GOOD, N)),
    ("a bad one between good ones", residues(GOOD, P, GOOD)),
    ("both primes: their product is a multiple of n", residues(P, Q)),
    ("the square at the end", residues(*[GOOD] * 9, SQUARE)),
    ("a width of one byte", residues(1, width=1)),
    ("the width of the modulus", residues(3, width=256)),
    ("a byte too wide", residues(GOOD, width=513)),
    ("a byte too narrow", residues(3, width=511)),
    ("the width of a larger key", residues(GOOD, width=768)),
]


@pytest.mark.parametrize(("why", "raw"), NO_CIPHERTEXTS, ids=[why for why, _ in NO_CIPHERTEXTS])
def test_what_is_no_ciphertext_is_refused(why: str, raw: Residues) -> None:
    with pytest.raises(InputError) as caught:
        PUBLIC.accept(Residues.unpack(raw.pack()))
    assert str(P) not in str(caught.value)


def test_a_good_ciphertext_is_accepted() -> None:
    assert KEY.decrypt(PUBLIC.accept(residues(GOOD, GOOD))) == [3, 3]


def key_bytes(n: int, base: int, size: int = 256) -> bytes:
    return n.to_bytes(size, "little") + base.to_bytes(size, "little")


BASE = int(PUBLIC.base)
PRIME = int(gmpy2.next_prime(mpz(3) << 2046))
SMALL_FACTOR = 3 * 7 * int(gmpy2.next_prime(mpz(1) << 2043))
NO_KEYS: list[tuple[str, bytes]] = [
    ("nothing", b""),
    ("one byte", b"\x01"),
    ("an odd number of bytes", PUBLIC.pack() + b"\x00"),
    ("half a key", PUBLIC.pack()[:256]),
    ("zeros", bytes(512)),
    ("ones", b"\xff" * 512),
    ("an even modulus", key_bytes(N + 1, BASE)),
    ("a modulus of 3 modulo 4", key_bytes(N + 2, BASE)),
    ("a prime modulus", key_bytes(PRIME if PRIME % 4 == 1 else int(gmpy2.next_prime(PRIME)), BASE)),
    ("a small factor", key_bytes(SMALL_FACTOR, BASE)),
    ("a prime's square", key_bytes(P * P, BASE % (P * P))),
    ("a modulus a bit too short", key_bytes(N >> 1 | 1, BASE >> 2)),
    ("a short modulus in a long field", key_bytes(N >> 64 | 1, BASE >> 70)),
    ("a base of zero", key_bytes(N, 0)),
    ("a base of one", key_bytes(N, 1)),
    ("a base of minus one", key_bytes(N, N - 1)),
    ("a base of n", key_bytes(N, N)),
    ("a base above n", key_bytes(N, N + BASE if (N + BASE).bit_length() <= 2048 else (1 << 2048) - 1)),
    ("a base that a prime divides", key_bytes(N, P)),
    ("a base that the other prime divides", key_bytes(N, 5 * Q)),
    ("a base of the wrong symbol", key_bytes(N, next(b for b in range(2, 99) if gmpy2.jacobi(b, N) == -1))),
    ("512 bits", key_bytes(N >> 1536 | 1, 3, 64)),
    ("1,024 bits", key_bytes(P * P >> 1024 | 1, 3, 128)),
    ("2,040 bits", key_bytes(N >> 8 | 1, 3, 255)),
    ("4,096 bits", key_bytes(N * N, 3, 512)),
]


@pytest.mark.parametrize(("why", "raw"), NO_KEYS, ids=[why for why, _ in NO_KEYS])
def test_what_is_no_key_is_refused(why: str, raw: bytes) -> None:
    with pytest.raises(ValueError) as caught:
        PublicKey.unpack(raw, least_bits=2048)
    assert not isinstance(caught.value, InputError)  # the decoder turns it into the sender's name


def test_there_are_fifty_negative_vectors() -> None:
    assert len(NO_CIPHERTEXTS) + len(NO_KEYS) == 50


def test_tests_may_make_tiny_keys_of_whole_bytes_and_no_smaller_ones() -> None:
    check_bits(256, least_bits=256)
    for bits in (240, 264, 1000):
        with pytest.raises(InputError, match="2048 or 3072"):
            check_bits(bits, least_bits=0)


@pytest.mark.parametrize("bits", [0, 256, 512, 1024, 2047, 2049, 4096])
def test_a_weak_or_odd_size_is_refused(bits: int) -> None:
    with pytest.raises(InputError, match="2048 or 3072"):
        check_bits(bits)
    with pytest.raises(InputError, match="2048 or 3072"):
        SecretKey(bits, stream("weak", str(bits)))


def test_no_command_makes_tiny_keys() -> None:
    """Outside of crypto, where arguments are handed on, the product names `least_bits` nowhere."""
    sources = [path for path in (ROOT / "src" / "covey").rglob("*.py") if path.parent.name != "crypto"]
    assert sources and not [path for path in sources if "least_bits" in path.read_text()]


def test_malformed_residues_are_refused() -> None:
    for raw in (b"", b"\x00\x00", b"\x00\x00abc", b"\x02\x00abc"):
        with pytest.raises(ValueError):
            Residues.unpack(raw)


# ---- a judge that we did not write


def ask_phe(question: dict[str, object]) -> dict[str, list[int]]:
    """An answer of phe."""
    found = ask("phe", Path(__file__).with_name("ask_phe.py"), question)
    assert isinstance(found, dict)
    return found


@pytest.mark.thorough
def test_phe_reads_our_ciphertexts_and_we_read_its_own() -> None:
    numbers = [0, 1, 2, 77, 1 << 900, N // 3 - 1]
    ours = KEY.encrypt(numbers, stream("a"))
    sums = ours.plus(PUBLIC.encrypt([1] * len(numbers), stream("b"))).rerandomised(stream("c"))
    packed = packing.pack(PUBLIC.encrypt([3, 1, 2], stream("d")), 8, 3)
    asked = [int(value) for each in (ours, sums, packed) for value in each.values]
    answer = ask_phe({"p": P, "q": Q, "ciphertexts": asked, "numbers": numbers})
    assert answer["read"] == [*numbers, *(number + 1 for number in numbers), 3 + (1 << 8) + (2 << 16)]
    theirs = Ciphertexts(PUBLIC, [mpz(value) for value in answer["encrypted"]])
    assert KEY.decrypt(PUBLIC.accept(theirs.residues())) == numbers
