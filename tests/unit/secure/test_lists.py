"""Lists of points that travel in chunks, and are made and changed chunk by chunk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import spent

from covey.crypto.commutative import BlindingKey
from covey.crypto.group import POINT_BYTES, Points, hash_to_group
from covey.crypto.rng import Rng
from covey.errors import PeerError
from covey.secure import lists
from covey.secure.lists import Elements
from covey.wire import Channel, chunks

Play = Callable[[Channel], Awaitable[object]]
KEY = BlindingKey(Rng(seed_of(1)).stream("key"))


class Listed(Elements, tag="test.listed"):
    """A list."""


def points(count: int) -> Points:
    return hash_to_group((b"%d" % number for number in range(count)), "lists")


def sends(total: int, *, claims: int | None = None) -> Play:
    async def play(channel: Channel) -> None:
        made = points(total)
        await lists.send_made(channel, "reader", Listed, claims or total, made.slice)

    return play


def reads(due: int) -> Play:
    async def play(channel: Channel) -> object:
        return await lists.receive_changed(channel, "writer", Listed, due, KEY.blind)

    return play


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 4 * POINT_BYTES)


def ran(writer: Play, due: int) -> dict[str, Outcome[object]]:
    return run_parties({"writer": writer, "reader": reads(due)})


@pytest.mark.parametrize("total", [0, 1, 4, 5, 11, 12])
def test_what_is_made_and_changed_in_chunks_is_the_whole_list_in_its_order(total: int) -> None:
    outcomes = ran(sends(total), total)
    assert outcomes["reader"].unwrap() == KEY.blind(points(total))
    assert spent(outcomes).messages == lists.messages(total)


def test_the_same_list_sent_at_once_is_the_same_on_the_wire() -> None:
    async def at_once(channel: Channel) -> None:
        await lists.send(channel, "reader", Listed, [points(11)])

    one, other = (ran(writer, 11)["writer"].notebook.sent_entries for writer in (sends(11), at_once))
    assert [entry.digest for entry in one] == [entry.digest for entry in other]


def refused(writer: Play, due: int) -> str:
    error = ran(writer, due)["reader"].error
    assert isinstance(error, PeerError)
    assert error.party == "writer"
    return str(error)


def test_a_list_of_another_length_is_refused() -> None:
    assert "a list of 11 rows, expected 10" in refused(sends(11), 10)


def test_chunks_that_do_not_have_what_they_should_are_refused() -> None:
    assert "3 points, expected 4" in refused(sends(11, claims=13), 13)


def test_an_element_that_is_repeated_in_another_chunk_is_refused() -> None:
    async def twice(channel: Channel) -> None:
        await lists.send(channel, "reader", Listed, [Points.join([points(8), points(1)])])

    assert "an element is repeated" in refused(twice, 9)
