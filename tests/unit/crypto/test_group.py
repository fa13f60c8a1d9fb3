"""The group agrees with RFC 9496 and with a second implementation, and refuses everything that is no element."""

from __future__ import annotations

import copy
import ctypes
import hashlib
import os
import pickle  # noqa: TID251 - to show that it is refused
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import seed_of
from tests.harness.tiers import examples
from tests.unit.crypto import ristretto

from covey.crypto import group, sodium
from covey.crypto.group import GENERATOR, ORDER, Point, Points, Scalar, Scalars, generator_times, hash_to_group, powers
from covey.crypto.rng import Rng
from covey.errors import InputError
from covey.wire.message import Message, decode, encode

VECTORS = tomllib.loads((Path(__file__).parent / "ristretto255.toml").read_text())
INVALID = [(why, text) for why, texts in VECTORS["invalid"].items() for text in texts]

scalars = st.integers(1, ORDER - 1)


def slow_times(scalar: int, encoded: bytes) -> bytes:
    """The same product by the second implementation."""
    return ristretto.encode(ristretto.multiply(scalar, ristretto.decode(encoded)))


class Carried(Message, tag="test.carried"):
    """A message with points."""

    points: Points


def test_the_generators_multiples_are_those_of_the_rfc_in_both_implementations() -> None:
    expected = [bytes.fromhex(text) for text in VECTORS["multiples"]]
    assert list(powers(range(16))) == expected
    base = ristretto.generator()
    assert [ristretto.encode(ristretto.multiply(number, base)) for number in range(16)] == expected


@pytest.mark.parametrize(("why", "text"), INVALID)
def test_the_invalid_encodings_of_the_rfc_are_refused_by_both_implementations(why: str, text: str) -> None:
    with pytest.raises(InputError, match="not the canonical encoding"):
        Points(bytes.fromhex(text))
    with pytest.raises(ristretto.Invalid):
        ristretto.decode(bytes.fromhex(text))


@pytest.mark.parametrize(("label", "text"), VECTORS["one_way_map"].items())
def test_the_one_way_map_is_that_of_the_rfc_in_both_implementations(label: str, text: str) -> None:
    digest = hashlib.sha512(label.encode()).digest()
    mapped = sodium.compute("crypto_core_ristretto255_from_hash", 1, sodium.Operand(digest, 64))
    assert mapped.hex() == text
    assert ristretto.encode(ristretto.one_way_map(digest)).hex() == text


def test_hashing_and_blinding_reproduce_the_vectors_of_rfc_9497() -> None:
    vector = {name: bytes.fromhex(text) for name, text in VECTORS["oprf"].items()}
    tag = b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512"
    blinded = group.hash_with_tag([vector["input"]], tag).times(Scalar(vector["blind"]))
    assert blinded.data == vector["blinded"]
    assert blinded.times(Scalar(vector["key"])).data == vector["evaluated"]


@settings(max_examples=examples(10), deadline=None)
@given(scalars, scalars, st.binary(max_size=200), st.binary(min_size=1, max_size=255))
def test_arithmetic_agrees_with_the_second_implementation(a: int, b: int, text: bytes, tag: bytes) -> None:
    uniform = next(group.expand([text], tag))
    hashed = group.hash_with_tag([text], tag)
    assert hashed.data == ristretto.encode(ristretto.one_way_map(uniform))
    first, second = hashed.times(Scalars.of([a])), generator_times(Scalars.of([b]))
    assert first.data == slow_times(a, hashed.data)
    assert second.data == slow_times(b, GENERATOR.data)
    left, right = ristretto.decode(first.data), ristretto.decode(second.data)
    assert first.plus(second).data == ristretto.encode(ristretto.add(left, right))
    assert first.minus(second).data == ristretto.encode(ristretto.add(left, ristretto.negate(right)))


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(min_size=32, max_size=32))
def test_random_bytes_are_points_exactly_where_the_second_implementation_says_so(raw: bytes) -> None:
    try:
        ristretto.decode(raw)
        valid = raw != bytes(32)
    except ristretto.Invalid:
        valid = False
    if valid:
        assert Points(raw).data == raw
    else:
        with pytest.raises(InputError):
            Points(raw)


def test_the_highest_bit_does_not_give_a_point_a_second_encoding() -> None:
    for number in range(1, 20):
        [encoding] = powers([number])
        with pytest.raises(InputError, match="not the canonical encoding"):
            Points(encoding[:31] + bytes([encoding[31] | 0x80]))


@given(scalars, scalars)
def test_scalars_are_numbers_modulo_the_order(a: int, b: int) -> None:
    one, other = Scalars.of([a]), Scalars.of([b])
    assert one.times(other) == Scalars.of([a * b])
    assert one.inverse() == Scalars.of([pow(a, -1, ORDER)])
    if (a + b) % ORDER:
        assert one.plus(other) == Scalars.of([a + b])
    else:
        with pytest.raises(InputError):
            one.plus(other)


def test_a_long_batch_on_all_cores_equals_one_at_a_time() -> None:
    stream = Rng(seed_of(1)).stream("batch")
    texts = [str(number).encode() for number in range(1500)]
    points, factors = hash_to_group(texts, "test"), Scalars.draw(stream, 1500)
    together = points.times(factors)
    for place in (0, 1, 749, 750, 1499):
        factor = Scalar(factors.reveal()[32 * place : 32 * place + 32])
        assert points.slice(place, place + 1).times(factor).data == list(together)[place]
    assert sodium.spread(1500, lambda first, last: list(range(first, last)), grain=10) == list(range(1500))


def test_one_stands_for_many_on_either_side_and_other_lengths_are_refused() -> None:
    points = powers(range(1, 6))
    assert points.plus(GENERATOR) == powers(range(2, 7))
    assert GENERATOR.plus(points) == powers(range(2, 7))
    assert GENERATOR.times(Scalars.of(range(1, 6))) == points
    assert len(powers([]).times(Scalars.of([3]))) == 0
    with pytest.raises(InputError, match="2 elements beside 5"):
        powers([1, 2]).plus(points)


def test_domains_separate_and_equal_texts_in_one_domain_agree() -> None:
    here, there = hash_to_group([b"x", b"x", b"y"], "a", 1), hash_to_group([b"x"], "a", 2)
    first, again, other = here
    assert first == again
    assert first not in (other, there.data)
    longer = hash_to_group([b"x"], "a" * 300)
    assert longer != hash_to_group([b"x"], "a" * 301)


def test_the_identity_comes_of_arithmetic_only() -> None:
    nothing = GENERATOR.minus(GENERATOR)
    assert nothing.identities().tolist() == [True]
    assert nothing.times(Scalars.of([5])).identities().all()
    assert nothing.plus(GENERATOR) == GENERATOR
    assert Points(bytes(32), identity=True) == nothing
    with pytest.raises(InputError, match="point 1 is the identity"):
        Points(GENERATOR.data + bytes(32))
    with pytest.raises(ValueError, match="identity"):
        decode(Carried, encode(Carried(nothing)))


def test_points_survive_the_wire_and_bad_ones_do_not() -> None:
    carried = Carried(powers(range(1, 4)))
    assert decode(Carried, encode(carried)) == carried
    for bad in (b"\xff" * 32, GENERATOR.data[:31], GENERATOR.data + b"x"):
        raw = msgspec.msgpack.encode({"type": "test.carried", "points": bad})
        with pytest.raises(ValueError, match=r"test\.carried"):
            decode(Carried, raw)


def test_a_scalar_cannot_be_printed_sent_pickled_or_hashed() -> None:
    class Leak(Message, tag="test.leak"):
        scalars: Scalars

    secret = Scalar.fresh(Rng(seed_of(2)).stream("secret"))
    assert secret.reveal().hex() not in repr(secret) + str(secret)
    with pytest.raises(NotImplementedError, match="never sent"):
        encode(Leak(secret))
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    with pytest.raises(TypeError):
        hash(secret)


def test_points_are_taken_sliced_and_found_repeated() -> None:
    points = powers([4, 5, 6])
    assert points.take(np.array([2, 0])) == powers([6, 4])
    assert points.slice(1, 3) == powers([5, 6])
    assert points.distinct()
    assert not powers([4, 5, 4]).distinct()
    assert Points.join([points, points]) == powers([4, 5, 6] * 2)
    with pytest.raises(InputError, match="32 bytes"):
        Point(points.data)


def test_loading_the_group_leaves_no_file_behind(tmp_path: Path) -> None:
    code = "import covey.crypto.group, os, tempfile; print(len(os.listdir(tempfile.gettempdir())))"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_the_systems_library_and_the_one_that_rbcl_brings_compute_the_same() -> None:
    brought, source = sodium.load(("libsodium.so.none",))
    assert source == "rbcl"
    scalar, ours, theirs = bytes([7] * 31 + [1]), bytearray(32), bytearray(32)
    for library, out in ((sodium._LIBRARY, ours), (brought, theirs)):
        made = (ctypes.c_char * 32).from_buffer(out)
        assert library["crypto_scalarmult_ristretto255_base"](made, scalar) == 0
    assert ours == theirs and any(ours)


def test_a_machine_without_any_libsodium_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the temporary folder is mounted noexec and the system has none."""
    monkeypatch.setitem(sys.modules, "rbcl.rbcl", None)
    with pytest.raises(InputError, match="install libsodium"):
        sodium.load(("libsodium.so.none",))
