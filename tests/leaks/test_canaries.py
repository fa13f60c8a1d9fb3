"""A thousand secrets per party, looked for in every message, log and file; and toys that leak, to see that we look."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness import canaries
from tests.harness.canaries import Aviary, spellings_of_number, spellings_of_text
from tests.harness.cases import CASES
from tests.harness.leaks import sightings
from tests.harness.tiers import some
from tests.harness.trial import Marked, of_block

from covey.secure import sum as secure_sum
from covey.wire import Channel, Message, Vector

MARKED = some((name for name, case in CASES.items() if case.marked is not None), 4)


@pytest.mark.parametrize("name", MARKED)
def test_no_secret_is_seen_in_messages_logs_journals_or_folders(name: str, quick_path: Path) -> None:
    make = CASES[name].marked
    assert make is not None
    assert sightings(make(), quick_path) == []


class Remark(Message, tag="toy.remark"):
    """What a careless author sends along."""

    remark: str
    digest: bytes


def leaky(disguise: str) -> Marked:
    """A toy whose first party tells a secret, in some spelling."""
    words = {name: canaries.texts(name, 10) for name in ("a", "b")}

    async def role(channel: Channel, mine: tuple[str, ...]) -> object:
        told = dict(spellings_of_text(mine[3]))[disguise] if channel.me == "a" else b""
        await channel.exchange(Remark("nothing to see", b"some" + told))
        return None

    return Marked(of_block("toy", words, role, {"a": None, "b": None}), texts=words)


@pytest.mark.parametrize(
    "disguise", ["UTF-8", "UTF-16-LE", "UTF-16-BE", "hexadecimal", "base64", "SHA-256", "SHA-256 in hexadecimal"]
)
def test_a_toy_that_leaks_is_caught_in_every_disguise(disguise: str, quick_path: Path) -> None:
    found = sightings(leaky(disguise), quick_path)
    assert {(each.owner, each.spelling) for each in found} == {("a", disguise)}
    assert {each.where for each in found} == {"a message from a to b"}


def test_a_toy_that_skips_its_masks_is_caught(quick_path: Path) -> None:
    import numpy as np

    figures = {name: canaries.numbers(name, 20) for name in ("a", "b")}

    async def role(channel: Channel, mine: tuple[int, ...]) -> object:
        vector = np.array(mine, dtype=np.uint64)
        await channel.exchange(secure_sum.Masked(Vector(vector)))
        return None

    trial = of_block("toy", figures, role, {"a": None, "b": None})
    found = sightings(Marked(trial, numbers=figures), quick_path)
    assert {each.owner for each in found} == {"a", "b"}


def test_a_run_with_another_result_tests_nothing_and_says_so(quick_path: Path) -> None:
    async def role(channel: Channel, mine: int) -> object:
        return mine

    with pytest.raises(ValueError, match="another result"):
        sightings(Marked(of_block("toy", {"a": 1, "b": 2}, role, {"a": 1, "b": 1})), quick_path)


@pytest.mark.parametrize("shift", range(9))
def test_a_canary_is_found_at_any_place_in_any_spelling(shift: int) -> None:
    (word,) = canaries.texts("x", 1)
    (number,) = canaries.numbers("x", 1)
    aviary = Aviary({"x": [word]}, {"x": [number]})
    for spelling, pattern in [*spellings_of_text(word), *spellings_of_number(number)]:
        found = aviary.look(bytes(shift) + pattern + b"after", "here")
        assert spelling in {each.spelling for each in found}
    assert aviary.look(bytes(shift) + b"nothing of the kind is in here", "here") == []
