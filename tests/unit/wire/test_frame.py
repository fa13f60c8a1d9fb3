"""Frames: addressed, salted, hashed, of a known size, and refused if anything is off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.wire import frame
from covey.wire.frame import FRAME_BYTES, MAX_FRAME, Header


def _header(step: str = "turn/3", sender: str = "north") -> Header:
    return Header(frame.VERSION, b"s" * 16, sender, "south", step, "test.hello", 4, 2)


@given(st.text(max_size=40), st.text(min_size=1, max_size=16), st.binary(max_size=300))
def test_a_letter_comes_back_as_it_was(step: str, sender: str, payload: bytes) -> None:
    written = frame.write(_header(step, sender), b"x" * 16, payload)
    letter = frame.read(bytes(written.raw))
    assert (letter.header, bytes(letter.payload), letter.digest) == (written.header, payload, written.digest)
    assert letter.size == written.size


@pytest.mark.parametrize(("step", "overhead"), [("", 256), ("x" * 80, 256), ("é" * 120, 384)])
def test_the_overhead_of_a_frame_is_known(step: str, overhead: int) -> None:
    letter = frame.write(_header(step), bytes(16), b"12345")
    assert letter.size == overhead + 5
    assert len(frame.place(0, letter.raw)) + frame.LENGTH_BYTES == letter.size
    assert overhead >= FRAME_BYTES


def test_the_salt_alone_changes_the_hash() -> None:
    one, other = (frame.write(_header(), salt * 16, b"yes") for salt in (b"a", b"b"))
    assert one.digest != other.digest


def test_a_signature_is_on_the_hash_and_changes_neither_it_nor_the_size() -> None:
    signed: list[bytes] = []

    def sign(content: bytes) -> bytes:
        signed.append(content)
        return b"S" * 64

    one, other = frame.write(_header(), bytes(16), b"yes"), frame.write(_header(), bytes(16), b"yes", sign)
    assert one.digest == other.digest == frame.digest(other.raw) and one.size == other.size
    assert signed == [frame.statement(frame.follow(frame.NO_HEAD, other.digest))]
    assert frame.read(bytes(other.raw)).signature == b"S" * 64 and not any(one.signature)


def test_the_place_on_the_line_does_not_change_the_letter() -> None:
    letter = frame.write(_header(), bytes(16), b"yes")
    for sequence in (0, 77):
        found, raw = frame.split(frame.place(sequence, letter.raw))
        assert (found, frame.read(raw).digest) == (sequence, letter.digest)


LONG = bytes(frame.write(_header("é" * 120), b"x" * 16, b"payload").raw)
GOOD = bytes(frame.write(_header(), b"x" * 16, b"payload").raw)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(GOOD[:100], id="cut short"),
        pytest.param(LONG[:-17], id="cut short in its salt"),
        pytest.param(GOOD[:64] + b"\xff\xff" + GOOD[66:], id="a header longer than the frame"),
        pytest.param(GOOD[:64] + b"\x00\x00" + GOOD[66:], id="no header"),
        pytest.param(GOOD[:66] + b"\x91" * 150 + GOOD[216:], id="a nested header"),
        pytest.param(GOOD[:220] + b"!" + GOOD[221:], id="something between header and salt"),
        pytest.param(bytes(MAX_FRAME + 1), id="too long"),
    ],
)
def test_what_is_not_a_letter_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="a frame"):
        frame.read(raw)


@pytest.mark.parametrize("raw", [b"", b"1234567", b"12345678", bytes(MAX_FRAME + 1)])
def test_a_frame_of_impossible_size_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="a frame of"):
        frame.split(raw)
