"""The sealed file: what was added is read again; a torn end is dropped; any other change is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.disk import Disk, failing

from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError
from covey.party.session.sealed import MAGIC, OVERHEAD, SealedFile

KEY = Secret(b"k" * 32)
RECORDS = [b"first", b"", b"third " * 50, b"fourth"]


def made(path: Path, records: list[bytes] = RECORDS) -> Path:
    file = SealedFile.create(path, KEY)
    for record in records:
        file.append(record)
    file.sync()
    file.close()
    return path


def contents(path: Path, key: Secret = KEY) -> list[bytes]:
    file = SealedFile.open(path, key, append=False)
    try:
        return [content for _, content in file.records()]
    finally:
        file.close()


def test_what_was_added_is_read_again_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed")
    assert contents(path) == RECORDS
    assert b"third" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="not of these keys"):
        contents(path, Secret(b"x" * 32))


def test_a_file_that_is_opened_again_goes_on_under_another_key(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed")
    for round_ in range(3):
        file = SealedFile.open(path, KEY, append=True)
        file.append(b"same" + bytes([round_]))
        file.close()
    assert contents(path) == [*RECORDS, b"same\0", b"same\1", b"same\2"]


def test_a_record_that_is_written_again_after_a_tear_is_under_another_key(tmp_path: Path) -> None:
    """The torn record and its successor have the same number: with one key the nonce would be used twice."""
    path = made(tmp_path / "sealed", [b"A" * 64])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    file = SealedFile.open(path, KEY, append=True)
    file.append(b"A" * 64)
    file.close()
    assert contents(path) == [b"A" * 64]
    assert whole[-80:-17] not in path.read_bytes()


def test_a_torn_end_is_dropped_wherever_it_was_torn(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed")
    whole = path.read_bytes()
    last = len(RECORDS[-1]) + OVERHEAD
    for cut in range(len(whole) - last, len(whole)):
        path.write_bytes(whole[:cut])
        assert contents(path) == RECORDS[:-1], cut
    for cut in range(len(MAGIC) + 64):
        path.write_bytes(whole[:cut])
        assert contents(path) == []
        file = SealedFile.open(path, KEY, append=True)
        file.append(b"anew")
        file.close()
        assert contents(path) == [b"anew"]


def test_any_changed_byte_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed", [b"first", b"second"])
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(InputError, match="was altered or is damaged"):
            contents(path)


def test_a_record_that_was_taken_out_or_moved_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed", [b"one", b"two"])
    whole = path.read_bytes()
    size = 3 + OVERHEAD
    body, one, two = whole[: -2 * size], whole[-2 * size : -size], whole[-size:]
    for forged in (body + two, body + two + one, body + one + one):
        path.write_bytes(forged)
        with pytest.raises(InputError, match="was altered"):
            contents(path)


def test_a_segment_of_another_file_or_of_a_longer_past_is_named(tmp_path: Path) -> None:
    parts: dict[str, list[bytes]] = {}
    for name in ("one", "other"):
        path = made(tmp_path / name, [b"first", b"second"])
        sizes = [path.stat().st_size]
        for word in (b"third", b"fourth"):
            file = SealedFile.open(path, KEY, append=True)
            file.append(word)
            file.close()
            sizes.append(path.stat().st_size)
        whole = path.read_bytes()
        parts[name] = [whole[start:end] for start, end in zip([0, *sizes], sizes, strict=False)]
    one, other = parts["one"], parts["other"]
    cut = one[0][: -len(b"second") - OVERHEAD]
    spliced = ([one[0], other[1]], [*one[:2], other[2]], [one[0], other[1], one[2]], [cut, one[1]], [one[0], one[2]])
    for forged in spliced:
        (tmp_path / "one").write_bytes(b"".join(forged))
        with pytest.raises(InputError, match="was altered"):
            contents(tmp_path / "one")
    (tmp_path / "one").write_bytes(b"".join(one))
    assert contents(tmp_path / "one") == [b"first", b"second", b"third", b"fourth"]


def test_two_runs_cannot_write_the_same_file(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed")
    first = SealedFile.open(path, KEY, append=True)
    with pytest.raises(InputError, match="another run is using it"):
        SealedFile.open(path, KEY, append=True)
    first.close()
    SealedFile.open(path, KEY, append=True).close()


def test_after_a_failed_write_nothing_more_is_written(tmp_path: Path) -> None:
    path = made(tmp_path / "sealed")
    file = SealedFile.open(path, KEY, append=True)
    with failing(Disk(tmp_path.resolve(), "full", 1)), pytest.raises(Aborted, match="No space left"):
        file.append(b"lost")
    with pytest.raises(Aborted, match="cannot be written"):
        file.append(b"lost too")
    file.close()
    assert contents(path) == RECORDS
