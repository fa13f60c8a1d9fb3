"""Guessing: whoever knows the few texts there are tries them all, on points without a blind and tags without a key."""

from __future__ import annotations

import pytest
from tests.harness.parties import run_parties

from covey.crypto.rng import derive
from covey.secure import match
from covey.secure.match import Ask, PointMap, Reply
from covey.wire import Channel

TEXTS = [b"flu", b"none", b"flu", b"diabetes"]
WORDS = [b"none", b"flu", b"diabetes"]


def place_of(channel: Channel, peer: str) -> PointMap:
    """What both parties of a call know, and so the attacker: how texts become points."""
    call = derive(channel.pairwise_seeds()[peer], "call").reveal()
    return PointMap(channel.session, call, channel.rng.stream("attack"))


def guessed(place: PointMap, seen: list[bytes], as_tags: bool) -> list[bytes | None]:
    """For each place the word whose point, or whose tag, is what was seen there."""
    found: list[bytes | None] = [None] * len(seen)
    for word in WORDS:
        points = place.points(0, [word] * len(seen))
        tags = match.tags(points)
        tries = [tags[start : start + match.TAG] for start in range(0, len(tags), match.TAG)]
        for index, attempt in enumerate(tries if as_tags else list(points)):
            if attempt == seen[index]:
                found[index] = word
    return found


@pytest.mark.parametrize("naive", [True, False], ids=["unblinded", "ours"])
def test_a_keyholder_reads_points_without_a_blind_and_none_of_ours(naive: bool) -> None:
    async def asker(channel: Channel) -> list[bytes | None]:
        if naive:
            await channel.at("ask").send("b", Ask(place_of(channel, "b").points(0, TEXTS)))
        else:
            await match.matches(channel, TEXTS, receiver="a")
        return []

    async def keyholder(channel: Channel) -> list[bytes | None]:
        place = place_of(channel, "a")
        asked = await channel.at("ask").receive("a", Ask)
        return guessed(place, list(asked.points), as_tags=False)

    read = run_parties({"a": asker, "b": keyholder})["b"].unwrap()
    assert read == (TEXTS if naive else [None] * len(TEXTS))


@pytest.mark.parametrize("naive", [True, False], ids=["without a key", "ours"])
def test_an_asker_reads_tags_without_a_key_and_none_of_ours(naive: bool) -> None:
    """It asks for a word that nobody holds: what it is told must not help it to others."""

    async def asker(channel: Channel) -> list[bytes | None]:
        place = place_of(channel, "b")
        points = place.points(0, [b"nobody's"] * len(TEXTS))
        await channel.at("ask").send("b", Ask(points))
        reply = await channel.at("reply").receive("b", Reply)
        seen = [reply.tags[start : start + match.TAG] for start in range(0, len(reply.tags), match.TAG)]
        return guessed(place, seen, as_tags=True)

    async def keyholder(channel: Channel) -> list[bytes | None]:
        if naive:
            own = match.tags(place_of(channel, "a").points(0, TEXTS))
            asked = await channel.at("ask").receive("a", Ask)
            await channel.at("reply").send("a", Reply(asked.points, own))
        else:
            await match.matches(channel, TEXTS, receiver="a")
        return []

    read = run_parties({"a": asker, "b": keyholder})["a"].unwrap()
    assert read == (TEXTS if naive else [None] * len(TEXTS))
