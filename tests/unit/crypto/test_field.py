"""Vectors modulo 2^31 - 1, 2^61 - 1 and small primes against Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.harness.network import seed_of

from covey.arrays import Words
from covey.crypto.field import F31, F61, Field, FieldElements, field_above
from covey.crypto.rng import Rng, Stream
from covey.errors import InputError

SOME = [F31, F61, Field(6), Field(9), Field(16)]
FIELDS = pytest.mark.parametrize("field", SOME, ids=[f"{field.bits} bits" for field in SOME])
fields = st.sampled_from(SOME)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Field, Words, Words]:
    """A field and two vectors, with the corners that carries and reductions trip over."""
    field = draw(fields)
    p = field.prime
    corners = [0, 1, 2, p - 1, p - 2, p // 2, p // 2 + 1, (1 << 30) - 1, 1 << 30, (1 << 31) % p, ((1 << 31) - 1) % p]
    element = st.one_of(st.sampled_from(corners), st.integers(0, p - 1))
    size = draw(st.integers(0, 9))
    both = [field.elements(draw(st.lists(element, min_size=size, max_size=size))) for _ in range(2)]
    return field, both[0], both[1]


@settings(deadline=None)
@given(pairs())
def test_arithmetic_is_that_of_integers_modulo_p(given: tuple[Field, Words, Words]) -> None:
    field, a, b = given
    integers = list(zip(a.tolist(), b.tolist(), strict=True))
    assert field.add(a, b).tolist() == [(x + y) % field.prime for x, y in integers]
    assert field.subtract(a, b).tolist() == [(x - y) % field.prime for x, y in integers]
    assert field.multiply(a, b).tolist() == [x * y % field.prime for x, y in integers]
    if len(b):
        assert field.scale(a, b[0]).tolist() == [x * int(b[0]) % field.prime for x in a.tolist()]


@FIELDS
def test_the_largest_products_are_reduced(field: Field) -> None:
    p = field.prime
    assert field.multiply(field.elements([p - 1, p - 1]), field.elements([p - 1, 1])).tolist() == [1, p - 1]


@settings(deadline=None)
@given(fields, st.lists(st.integers(1, (1 << 61) - 2), max_size=20))
def test_an_inverse_multiplies_to_one(field: Field, numbers: list[int]) -> None:
    a = field.elements([number for number in numbers if number % field.prime])
    assert field.multiply(a, field.inverse(a)).tolist() == [1] * len(a)


@FIELDS
def test_zero_has_no_inverse(field: Field) -> None:
    with pytest.raises(InputError, match="no inverse"):
        field.inverse(field.elements([3, 0, 4]))


@FIELDS
def test_a_combination_is_a_matrix_product_also_past_a_block(field: Field) -> None:
    stream = Rng(seed_of(1)).stream("combine")
    width = 2_500
    weights = field.draw(stream, 6).reshape(2, 3)
    rows = field.draw(stream, 3 * width).reshape(3, width)
    answer = field.combine(weights, rows)
    for place in (0, 1, 1023, 1024, 2047, 2048, width - 1):
        for i in range(2):
            assert (
                int(answer[i, place]) == sum(int(weights[i, j]) * int(rows[j, place]) for j in range(3)) % field.prime
            )


@FIELDS
def test_drawn_elements_are_uniform(field: Field) -> None:
    drawn = field.draw(Rng(seed_of(7)).stream("draw"), 200_000)
    assert field.holds(drawn)
    if field.small:
        assert chisquare(np.bincount(drawn.astype(np.int64), minlength=field.prime)).pvalue > 1e-6
        return
    for shift in (0, field.bits - 6):
        digits = (drawn >> np.uint64(shift)) & np.uint64(63)
        assert chisquare(np.bincount(digits.astype(np.int64), minlength=64)).pvalue > 1e-6


class Planned(Stream):
    """A stream of chosen bytes: the word that must be refused comes up once in 2^61 by chance."""

    __slots__ = ("_plan",)

    def __init__(self, plan: bytes) -> None:
        super().__init__(seed_of(0))
        self._plan = plan

    def fill(self, target: memoryview) -> None:
        target[:], self._plan = self._plan[: target.nbytes], self._plan[target.nbytes :]


@FIELDS
def test_the_word_p_is_drawn_again(field: Field) -> None:
    shift = 8 * field.width - field.bits
    words = [field.prime, 5, (1 << field.bits) - 1, 9]
    plan = b"".join((word << shift).to_bytes(field.width, "little") for word in words)
    assert field.draw(Planned(plan), 2).tolist() == [9, 5]


@FIELDS
def test_equal_streams_draw_equal_elements(field: Field) -> None:
    one, other = (field.draw(Rng(seed_of(3)).stream("x"), 1000) for _ in range(2))
    assert np.array_equal(one, other)


@FIELDS
def test_packed_elements_come_back_and_take_their_width(field: Field) -> None:
    vector = field.draw(Rng(seed_of(4)).stream("x"), 100)
    packed = field.pack(vector)
    assert len(packed) == field.size(100) == (-(-100 * field.bits // 8) if field.bits < 20 else 100 * field.width)
    assert np.array_equal(field.unpack(packed)[:100], vector)
    assert not field.unpack(packed)[100:].any()


def isprime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def test_small_fields_are_those_of_the_largest_primes_of_their_bits() -> None:
    for bits in range(6, 17):
        field = Field(bits)
        assert field.small
        assert isprime(field.prime)
        assert not any(isprime(number) for number in range(field.prime + 1, 1 << bits))
    assert not F31.small
    assert [field_above(number).bits for number in (0, 60, 61, 65520, 65521)] == [6, 6, 7, 16, 31]


def test_an_element_that_a_small_field_lacks_is_not_unpacked() -> None:
    for bits in (6, 7, 9, 16):
        with pytest.raises(InputError, match="outside"):
            Field(bits).unpack(b"\xff" * bits)


@pytest.mark.parametrize("kind", [FieldElements])
def test_words_outside_the_field_are_not_unpacked(kind: type[FieldElements]) -> None:
    p, width = kind.field.prime, kind.field.width
    assert kind.unpack((p - 1).to_bytes(width, "little")).words.tolist() == [p - 1]
    for wrong in (p.to_bytes(width, "little"), b"\xff" * width, bytes(width - 1), bytes(width + 1)):
        with pytest.raises(ValueError, match=r"field|multiple"):
            kind.unpack(wrong)
