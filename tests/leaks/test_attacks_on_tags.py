"""Tags of counting equals: each simpler form is broken here by an attack that finds nothing in ours."""

from __future__ import annotations

from collections import Counter as Tally
from itertools import combinations

import pytest
from tests.harness.network import seed_of
from tests.harness.parties import run_parties

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.group import ORDER, Points, Scalars, generator_times
from covey.crypto.rng import Rng
from covey.crypto.scalar_field import FQ, numbers
from covey.secure.equals.counting import Counter
from covey.secure.equals.shuffling import Shuffler
from covey.secure.equals.supply import TripleSupply
from covey.secure.equals.trustees import Trustees
from covey.wire import Channel

AGES, TOWNS = ("30", "31", "32"), ("north", "south", "east")


def number(column: str, label: str) -> int:
    """What a label counts as."""
    return FQ.hashed("a study", column, label)


PEOPLE = [(age, town) for age in AGES for town in TOWNS]
NUMBERS = [(number("age", age) + number("town", town)) % ORDER for age, town in PEOPLE]
"""Nine people who all differ; the sums of their labels' numbers are what ours are the inverses of."""
SECRET = int(FQ.draw(Rng(seed_of(5)).stream("secret"), 1)[0])


def powers(exponents: list[int]) -> list[Points]:
    """The generator times each."""
    made = generator_times(Scalars.of(exponents))
    return [made.slice(place, place + 1) for place in range(len(made))]


def ours(exponents: list[int], secret: int = SECRET) -> list[Points]:
    """Our tags, as a trusted party would compute them."""
    return powers([pow(exponent + secret, -1, ORDER) for exponent in exponents])


def squares(tags: list[Points]) -> int:
    """How often two pairs of tags have the same difference: each tells that two people differ in the same way."""
    found = Tally(first.minus(second).data for first, second in combinations(tags, 2))
    return sum(count for count in found.values() if count > 1)


def test_sums_of_columns_keep_differences_from_which_the_table_is_rebuilt_and_inverses_keep_none() -> None:
    linear = powers([SECRET * exponent % ORDER for exponent in NUMBERS])
    assert squares(linear) > 8
    assert squares(ours(NUMBERS)) == 0


def test_products_of_columns_keep_quotients_and_inverses_keep_none() -> None:
    products = [number("age", age) * number("town", town) % ORDER for age, town in PEOPLE]
    ratio = number("age", "31") * pow(number("age", "30"), -1, ORDER) % ORDER

    def pairs(tags: list[Points]) -> int:
        scaled = {tag.times(Scalars.of([ratio])).data for tag in tags}
        return len(scaled & {tag.data for tag in tags})

    assert pairs(powers([SECRET * product % ORDER for product in products])) == len(TOWNS)
    assert pairs(ours(products)) == 0


def test_powers_tell_an_accomplice_how_many_share_its_guess_and_inverses_do_not() -> None:
    guess, x = NUMBERS[4], 12345
    crowd = [*NUMBERS, guess, guess]

    def sharing_the_guess(tags: list[Points]) -> int:
        """The tags of which another tag is the x-fold."""
        seen = {tag.data for tag in tags}
        return sum(tag.times(Scalars.of([x])).data in seen for tag in tags)

    assert sharing_the_guess(powers([SECRET * own % ORDER for own in (*crowd, x * guess % ORDER)])) == 3
    for submitted in (x * guess, guess * pow(x, -1, ORDER), guess + x, guess - x):
        assert sharing_the_guess(ours([*crowd, submitted % ORDER])) == 0


VALUES = [1, 1, 2, 2, 1, 3]
GROUPS = [[0, 1, 2], [3, 4, 5]]


def seen(among: list[list[int]] | None, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The tags of sensitive values that a trustee sees."""
    shares = sharing.share(numbers(VALUES), 1, 3, Rng(seed_of(9)).stream("deal"), FQ)
    own = dict(zip("abc", shares, strict=True))
    tags: list[bytes] = []
    honest = Counter.tags

    async def listen(self: Counter, channel: Channel, numbers_: Words) -> list[bytes]:
        found = await honest(self, channel, numbers_)
        if channel.me == "a":
            tags.extend(found)
        return found

    monkeypatch.setattr(Counter, "tags", listen)

    async def role(channel: Channel) -> int:
        trustees, supply = Trustees.of(channel.parties, channel.me), TripleSupply()
        await supply.make(channel.at("supply"), trustees, 12)
        shuffler = await Shuffler.meet(channel.at("meet"), trustees, supply, 1)
        return len(await Counter(trustees, supply, shuffler).groups(channel.at("tags"), own[channel.me], among))

    for outcome in run_parties(dict.fromkeys("abc", role)).values():
        outcome.unwrap()
    return tags


def test_one_secret_for_all_groups_shows_a_table_of_group_by_value_and_one_for_each_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joint = seen(None, monkeypatch)
    assert {joint[place] for place in GROUPS[0]} & {joint[place] for place in GROUPS[1]}
    monkeypatch.undo()
    apart = seen(GROUPS, monkeypatch)
    assert len(set(apart[:3])) == 2
    assert len(set(apart[3:])) == 3
    assert not set(apart[:3]) & set(apart[3:])
