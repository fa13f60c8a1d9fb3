"""The pairing against a second implementation, and the traps of the first."""

from __future__ import annotations

import gmpy2
import py_arkworks_bls12381 as arkworks
import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar
from tests.harness.network import seed_of

from covey.crypto import pairing
from covey.crypto.pairing import CHECKS, G1, G2, GT, FixedBase, pair, read_g1, read_g2, read_gt, scalar
from covey.crypto.rng import Rng, Stream
from covey.errors import InputError

PRIME = int("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16)


def stream(*labels: str) -> Stream:
    return Rng(seed_of(5)).stream("pairing", *labels)


def arkworks_g1(point: G1) -> G1Point:
    _, x, y = map(int, str(point).split())
    return G1Point.from_xy_bytes_be(x.to_bytes(48, "big") + y.to_bytes(48, "big"))


def arkworks_g2(point: G2) -> G2Point:
    _, a, b, c, d = map(int, str(point).split())
    return G2Point.from_xy_bytes_be(b"".join(part.to_bytes(48, "big") for part in (a, b, c, d)))


def arkworks_scalar(number: int) -> Scalar:
    return Scalar.from_le_bytes(number.to_bytes(32, "little"))


def test_points_are_those_of_another_implementation() -> None:
    left, right = pairing.draw(stream("points"), 2)
    assert arkworks_g1(pairing.GENERATOR_1) == G1Point()
    assert arkworks_g1(pairing.GENERATOR_1 * scalar(left)) == G1Point() * arkworks_scalar(left)
    summed = pairing.GENERATOR_1 * scalar(left) + pairing.GENERATOR_1 * scalar(right)
    assert arkworks_g1(summed) == G1Point() * arkworks_scalar((left + right) % pairing.ORDER)
    assert arkworks_g2(pairing.GENERATOR_2 * scalar(right)) == G2Point() * arkworks_scalar(right)


def test_relations_between_pairings_hold_in_another_implementation_too() -> None:
    """The two write GT differently, so what is compared is which products of pairings are equal."""
    a, b, c = pairing.draw(stream("relations"), 3)
    p, q = pairing.GENERATOR_1, pairing.GENERATOR_2
    ours = pair(p * scalar(a), q * scalar(b)) == pair(p, q) ** scalar(a * b)
    theirs = arkworks.GT.pairing(arkworks_g1(p * scalar(a)), arkworks_g2(q * scalar(b))) == arkworks.GT.pairing(
        G1Point() * arkworks_scalar(a * b % pairing.ORDER), G2Point()
    )
    assert ours and theirs
    one = pair(p * scalar(a), q * scalar(b)) * pair(p * scalar(-c), q * scalar(a * b * pow(c, -1, pairing.ORDER)))
    assert one.is_one()
    assert (
        arkworks.GT.multi_pairing(
            [arkworks_g1(p * scalar(a)), arkworks_g1(p * scalar(-c))],
            [arkworks_g2(q * scalar(b)), arkworks_g2(q * scalar(a * b * pow(c, -1, pairing.ORDER)))],
        )
        == arkworks.GT.one()
    )


def test_a_point_outside_the_group_a_wrong_length_and_the_identity_are_refused() -> None:
    point, twin = pairing.GENERATOR_1.serialize(), pairing.GENERATOR_2.serialize()
    for raw in (point[:-1], point + b"\0", bytes(48), _off_group(), PRIME.to_bytes(48, "little")):
        with pytest.raises(InputError):
            read_g1(raw)
    for raw in (twin[:-1], twin + b"\0", bytes(96), bytes([twin[0] ^ 1]) + twin[1:]):
        with pytest.raises(InputError):
            read_g2(raw)
    assert read_g1(point) == pairing.GENERATOR_1 and read_g2(twin) == pairing.GENERATOR_2


def _off_group() -> bytes:
    """A point on the curve whose order is not ours."""
    x = next(x for x in range(1, 100) if gmpy2.legendre(x**3 + 4, PRIME) == 1)
    return x.to_bytes(48, "little")


def _outside(number: int) -> bytes:
    return number.to_bytes(48, "little") + bytes(pairing.GT_BYTES - 48)


@pytest.mark.parametrize("count", [1, CHECKS, CHECKS + 1, 300])
@pytest.mark.parametrize("number", [2, PRIME - 1], ids=["of large order", "of order two"])
def test_one_element_outside_gt_is_found_among_many(count: int, number: int) -> None:
    good = [element.serialize() for element in FixedBase(_root()).powers(range(1, count + 1))]
    assert [element.serialize() for element in read_gt(good, stream("good", str(count)))] == good
    for place in {0, count // 2, count - 1}:
        bad = [*good[:place], _outside(number), *good[place + 1 :]]
        with pytest.raises(InputError, match="outside"):
            read_gt(bad, stream("bad", str(count), str(place)))


def test_two_bad_elements_that_cancel_out_are_found() -> None:
    good = [element.serialize() for element in FixedBase(_root()).powers(range(1, 101))]
    with pytest.raises(InputError, match="outside"):
        read_gt([*good, _outside(PRIME - 1), _outside(PRIME - 1)], stream("cancel"))


def test_zero_and_what_is_no_encoding_are_no_elements_of_gt() -> None:
    for raw in (bytes(pairing.GT_BYTES), _outside(PRIME), _outside(1)[:-1], _outside(1) + b"\0"):
        with pytest.raises(InputError, match="encoding"):
            read_gt([raw], stream("none", str(len(raw)), str(raw[:2])))
    assert read_gt([_outside(1)], stream("one"))[0].is_one()


def test_a_scalar_takes_512_random_bits_and_is_never_zero() -> None:
    class Bare:
        """A stream that gives nothing but zeros, and counts them."""

        given = 0

        def bytes(self, count: int) -> bytes:
            self.given += count
            return bytes(count)

    bare = Bare()
    assert pairing.draw(bare, 3) == [1, 1, 1]  # type: ignore[arg-type]
    assert bare.given == 3 * 64


def test_a_table_gives_the_powers_that_the_library_gives() -> None:
    exponents = [0, 1, 255, 256, pairing.ORDER - 1, *pairing.draw(stream("exponents"), 200)]
    root = _root()
    assert FixedBase(root).powers(exponents) == [root ** scalar(exponent) for exponent in exponents]
    base = pairing.GENERATOR_1 * scalar(7)
    assert FixedBase(base).powers(exponents) == [base * scalar(exponent) for exponent in exponents]
    assert FixedBase(base).powers(exponents[:5]) == FixedBase(base).powers(exponents)[:5]


def _root() -> GT:
    return pair(pairing.GENERATOR_1, pairing.GENERATOR_2)
