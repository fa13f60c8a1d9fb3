"""Messages: decoding is validating, and equal messages have equal bytes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from covey.crypto.secret import Secret
from covey.wire.message import Bytes32, Message, Vector, decode, encode, tag_of


class Report(Message, tag="test.report"):
    """A message with every kind of field that protocols use."""

    values: Vector
    point: Bytes32
    sizes: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=3)]


def _raw(**changes: object) -> bytes:
    fields: dict[str, object] = {"type": "test.report", "values": bytes(16), "point": bytes(32), "sizes": [1]}
    return msgspec.msgpack.encode({**fields, **changes})


@given(st.lists(st.integers(0, 2**64 - 1)), st.binary(min_size=32, max_size=32))
def test_a_message_comes_back_as_it_was(words: list[int], point: bytes) -> None:
    report = Report(Vector(np.array(words, dtype=np.uint64)), point, [1, 2])
    assert decode(Report, encode(report)) == report
    assert encode(decode(Report, encode(report))) == encode(report)


def test_a_vector_travels_as_little_endian_words_whatever_its_layout() -> None:
    spread = np.arange(10, dtype=np.uint64)[::2]
    payload = encode(Report(Vector(spread), bytes(32), []))
    assert spread.astype("<u8").tobytes() in payload


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xc1", id="a byte that means nothing"),
        pytest.param(_raw()[:-1], id="cut short"),
        pytest.param(_raw() + b"\x00", id="something behind it"),
        pytest.param(_raw(type="test.other"), id="another tag"),
        pytest.param(_raw(more=1), id="an unknown field"),
        pytest.param(msgspec.msgpack.encode({"type": "test.report"}), id="fields missing"),
        pytest.param(_raw(values=bytes(7)), id="a vector of seven bytes"),
        pytest.param(_raw(values="text"), id="a vector of text"),
        pytest.param(_raw(values=[1, 2]), id="a vector as a list"),
        pytest.param(_raw(point=bytes(31)), id="a point of 31 bytes"),
        pytest.param(_raw(sizes=[1, 2, 3, 4]), id="a list that is too long"),
        pytest.param(_raw(sizes=[-1]), id="a negative size"),
        pytest.param(_raw(sizes=[1.5]), id="half a size"),
        pytest.param(_raw(sizes=[None]), id="no size"),
        pytest.param(b"\x91" * 100_000, id="nested deeply"),
        pytest.param(b"\x81\xa4type" * 50_000, id="maps nested deeply"),
        pytest.param(b"\x84\xa4type\xabtest.report\xa5sizes\xdd\xff\xff\xff\xff", id="four billion items announced"),
        pytest.param(b"\x84\xa4type\xabtest.report\xa6values\xc6\xff\xff\xff\xff", id="four gigabytes announced"),
    ],
)
def test_what_is_not_exactly_the_message_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match="not a well-formed"):
        decode(Report, payload)


def test_a_refusal_does_not_quote_what_it_refuses() -> None:
    for payload in (_raw(type="a patient's name"), _raw(values="a patient's name"), _raw(sizes=["a patient's name"])):
        with pytest.raises(ValueError) as refusal:
            decode(Report, payload)
        assert "patient" not in str(refusal.value)


def test_messages_are_frozen_and_secrets_cannot_be_sent() -> None:
    report = Report(Vector(np.zeros(1, dtype=np.uint64)), bytes(32), [])
    with pytest.raises(AttributeError):
        report.point = bytes(32)
    with pytest.raises(NotImplementedError, match="Secret is never sent"):
        encode(Report(report.values, Secret(bytes(32)), []))  # type: ignore[arg-type]
    assert tag_of(Report) == "test.report"
