"""No id and no row is to be found in what the blocks on the group say, in any spelling, before it is opened."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

import pytest
from tests.harness.parties import SESSION, Outcome, Role, run_parties

from covey.crypto.group import hash_to_group
from covey.protocols.as_printed.federate import cardinality
from covey.secure import align, join, shuffle
from covey.wire import Channel

PEOPLE = [f"canary-{number:04d}-{number * 7919 % 10007:05d}" for number in range(40)]
ROWS = [f"row-{number * 104729 % 100003:06d}-of".encode() for number in range(40)]


async def count(channel: Channel) -> None:
    await cardinality.count_common(channel.at("block"), PEOPLE)


async def aligned(channel: Channel) -> None:
    await align.align(channel.at("block"), PEOPLE)


async def joined(channel: Channel) -> None:
    await join.blend(channel.at("block"), PEOPLE, ROWS)


async def mixed(channel: Channel) -> None:
    counts = dict.fromkeys(channel.parties, 50)
    opened = await shuffle.mix(channel.at("block"), ROWS, counts=counts, length=30)
    await shuffle.open_rows(channel.at("open"), opened, approved=True)


async def leaky(channel: Channel) -> None:
    """What the scan has to find: an id in the clear, as a row's padding might hold it."""
    rows = [person.encode() for person in PEOPLE]
    await join.open_rows(channel.at("open"), await join.blend(channel.at("block"), PEOPLE, rows), approved=True)


def spellings(marker: bytes) -> Iterator[bytes]:
    """The marker as it might be written: plain, wide, in hexadecimal, in base 64, hashed, hashed to the group."""
    yield marker
    yield marker.decode().encode("utf-16-le")
    yield marker.hex().encode()
    yield base64.b64encode(marker)[: len(marker) // 3 * 4]
    for digest in (hashlib.sha256(marker), hashlib.sha512(marker), hashlib.blake2s(marker)):
        yield digest.digest()[:16]
    for block in ("cardinality", "align", "join"):
        yield hash_to_group([marker], block, SESSION, "block").data


def found(outcomes: dict[str, Outcome[None]], markers: list[bytes]) -> int:
    """How many spellings of markers occur in anything that was received."""
    for outcome in outcomes.values():
        outcome.unwrap()
    heard = b"\n".join(
        letter for o in outcomes.values() for letters in o.notebook.letters.values() for letter in letters
    )
    return sum(spelling in heard for marker in markers for spelling in spellings(marker))


@pytest.mark.parametrize(("block", "names"), [(count, "ab"), (aligned, "abc"), (joined, "abc"), (mixed, "abc")])
def test_no_id_and_no_row_is_in_any_message(block: Role[None], names: str) -> None:
    markers = [*(person.encode() for person in PEOPLE), *ROWS]
    assert found(run_parties(dict.fromkeys(names, block)), markers) == 0


def test_the_scan_finds_an_id_that_is_sent() -> None:
    assert found(run_parties(dict.fromkeys("ab", leaky)), [person.encode() for person in PEOPLE]) == len(PEOPLE)
