"""Counting equals: real equals ideal, and whoever gives a false share or alters a row is noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pytest
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, run_parties

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import FieldElements
from covey.crypto.group import Scalars, generator_times
from covey.crypto.rng import Rng, derive
from covey.crypto.scalar_field import FQ, numbers
from covey.errors import Aborted, CoveyError, InputError, PeerError
from covey.secure import shares as secret_shares
from covey.secure.equals import supply
from covey.secure.equals.counting import Counter, GroupSizes, ideal
from covey.secure.equals.shuffling import Shuffler
from covey.secure.equals.supply import TripleSupply
from covey.secure.equals.trustees import OpenedShares, Trustees
from covey.wire import Channel, Chunk

E = TypeVar("E", bound=FieldElements)
NAMES = ("a", "b", "c", "d", "e")
ROWS = [(7, 0), (7, 1), (9, 2), (7, 3), (5, 4), (9, 5), (1, 6)]


@dataclass(frozen=True)
class Bent:
    """How one trustee deviates: by its name, what it does to its part before it takes part."""

    name: str
    counter: Callable[[Counter], None] = lambda counter: None
    least: int = 3


class FalseShare(Trustees):
    """A trustee whose second opened share is false."""

    async def open(self, channel: Channel, mine: Words) -> Words:
        return await super().open(channel, numbers([*mine[:1], *(mine[1:2] + 1), *mine[2:]]))


class FalsePass(Shuffler):
    """A trustee that does something else to the rows than to permute them."""

    async def _pass(self, channel: Channel, trustees: Trustees, group: Sequence[str], rows: Words) -> Words:
        return await super()._pass(channel, trustees, group, self.altered(rows))

    def altered(self, rows: Words) -> Words:
        raise NotImplementedError


class Swaps(FalsePass):
    def altered(self, rows: Words) -> Words:
        return rows[[1, 0, *range(2, len(rows))]]


class Repeats(FalsePass):
    def altered(self, rows: Words) -> Words:
        return rows[[0, 0, *range(2, len(rows))]]


class Drops(FalsePass):
    def altered(self, rows: Words) -> Words:
        changed = rows.copy()
        changed[0] = 0
        return changed


class Shifts(FalsePass):
    """The sums of the columns stay what they were."""

    def altered(self, rows: Words) -> Words:
        changed = rows.copy()
        changed[0, 0], changed[1, 0] = (changed[0, 0] + 1) % FQ.prime, (changed[1, 0] - 1) % FQ.prime
        return changed


def deal(rows: list[tuple[int, int]], parties: int, seed: int) -> list[Words]:
    """Shares of rows for so many trustees."""
    flat = numbers(number for row in rows for number in row)
    shares = sharing.share(flat, (parties - 1) // 2, parties, Rng(seed_of(seed)).stream("deal"), FQ)
    return [own.reshape(len(rows), 2) for own in shares]


def play(
    rows: list[tuple[int, int]], parties: int, least: int, *, seed: int = 1, bent: Bent | None = None
) -> Mapping[str, Outcome[GroupSizes]]:
    """Everyone's answer."""
    names = NAMES[:parties]
    shares = dict(zip(names, deal(rows, parties, seed), strict=True))

    async def role(channel: Channel) -> GroupSizes:
        trustees, stock = Trustees.of(channel.parties, channel.me), TripleSupply()
        await stock.make(channel.at("supply"), trustees, 40)
        shuffler = await Shuffler.meet(channel.at("meet"), trustees, stock, 2)
        counter = Counter(trustees, stock, shuffler)
        if bent is not None and channel.me == bent.name:
            bent.counter(counter)
            return await counter.count(channel.at("count"), shares[channel.me], bent.least)
        return await counter.count(channel.at("count"), shares[channel.me], least)

    return run_parties(dict.fromkeys(names, role), seed=seed)


def failures(outcomes: Mapping[str, Outcome[GroupSizes]], honest: str) -> CoveyError:
    """What an honest trustee ended with."""
    error = outcomes[honest].error
    assert isinstance(error, CoveyError)
    return error


@pytest.mark.parametrize("parties", [3, 5])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_trustees_find_what_a_trusted_party_would(parties: int, seed: int) -> None:
    drawn = Rng(seed_of(seed)).stream("rows")
    rows = [(drawn.below(4), place) for place in range(12)]
    for outcome in play(rows, parties, 3, seed=seed).values():
        found = outcome.unwrap()
        assert found.sizes == ideal(rows, 3).sizes
        assert sorted(sorted(group) for group in found.opened) == ideal(rows, 3).opened


def test_the_rows_of_small_groups_stay_closed_and_the_order_is_another() -> None:
    found = play(ROWS, 3, 3)["a"].unwrap()
    assert found == GroupSizes((3, 2, 1, 1), [3], found.opened)
    assert sorted(found.opened[0]) == [0, 1, 3]


def test_two_or_four_trustees_are_refused() -> None:
    for count in (2, 4):
        with pytest.raises(InputError, match="there must be 3 or 5"):
            Trustees.of(NAMES[:count], "a")


def _gives_false_shares(counter: Counter) -> None:
    known = counter.trustees
    counter.trustees = FalseShare(known.names, known.me)


def test_a_false_share_is_noticed_and_of_five_trustees_who_gave_it_is_named_or_two_of_the_others() -> None:
    error = failures(play(ROWS, 5, 3, bent=Bent("d", _gives_false_shares)), "a")
    assert isinstance(error, Aborted), "two who conspire could have brought it about: nobody is accused alone"
    assert "do not fit each other: d, or two of the others together, did not keep" in str(error)
    error = failures(play(ROWS, 3, 3, bent=Bent("b", _gives_false_shares)), "a")
    assert isinstance(error, Aborted)
    assert "do not fit each other" in str(error)


@pytest.mark.parametrize("how", [Swaps, Repeats, Drops, Shifts])
def test_a_false_shuffle_is_noticed_before_anything_is_opened(how: type[FalsePass]) -> None:
    def bend(counter: Counter) -> None:
        counter.shuffler = how(counter.shuffler.seeds, counter.shuffler.weights)

    error = failures(play(ROWS, 3, 3, bent=Bent("b", bend)), "a")
    assert "not those before it" in str(error)


def test_a_trustee_that_waits_for_the_others_cannot_make_the_check_of_its_false_shuffle_read_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = Channel.exchange_all

    async def wait(self: Channel, kind: type[Chunk[E]], items: E) -> dict[str, E]:
        if self.me != "b" or not self.step.endswith("check/open"):
            return await honest(self, kind, items)
        theirs = await self.collect_all(kind, len(items))
        if kind is OpenedShares:  # on a line through nothing and the first one's share
            said = np.asarray(sharing.extend({0: numbers([0]), 1: theirs["a"].words}, [2], FQ)[0])
        else:
            said = FQ.subtract(numbers([0]), secret_shares.total([each.words for each in theirs.values()], FQ))
        await self.broadcast_all(kind, type(items)(said))
        shift = FQ.subtract(said, items.words)  # so that it goes on itself where it adds up
        return theirs | {"a": type(items)(FQ.add(theirs["a"].words, shift))}

    def bend(counter: Counter) -> None:
        counter.shuffler = Shifts(counter.shuffler.seeds, counter.shuffler.weights)

    monkeypatch.setattr(Channel, "exchange_all", wait)
    outcomes = play(ROWS, 3, 3, bent=Bent("b", bend))
    for name in "ac":
        assert "do not fit each other" in str(failures(outcomes, name))


def test_a_false_product_is_noticed_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = supply._multiply

    async def false(channel: Channel, trustees: Trustees, count: int) -> supply.Triples:
        made = await honest(channel, trustees, count)
        if trustees.me != "b":
            return made
        return replace(made, product=numbers([(made.product[0] + 1) % FQ.prime, *made.product[1:]]))

    reduce = secret_shares.reduce
    monkeypatch.setattr(supply, "_multiply", false)
    assert "do not fit each other" in str(failures(play(ROWS, 3, 3), "a"))

    async def reduced(channel: Channel, kind: type[Chunk[E]], of: type[E], dealing: Dealing, product: Words) -> Words:
        if channel.me == "b" and "supply" in channel.step:
            product = numbers([(product[0] + 1) % FQ.prime, *product[1:]])
        return await reduce(channel, kind, of, dealing, product)

    monkeypatch.setattr(supply, "_multiply", honest)
    monkeypatch.setattr(secret_shares, "reduce", reduced)
    assert "a product that the trustees made is false" in str(failures(play(ROWS, 3, 3), "a"))


def test_a_false_share_in_the_exponent_is_noticed_and_of_five_named() -> None:
    async def nothing(channel: Channel) -> Channel:
        return channel

    channel = run_parties({"a": nothing})["a"].unwrap()
    for parties in (3, 5):
        shares = sharing.share(numbers([5, 6]), (parties - 1) // 2, parties, Rng(seed_of(3)).stream("x"), FQ)
        powers = {place: generator_times(Scalars.of(own.tolist())) for place, own in enumerate(shares, start=1)}
        trustees = Trustees.of(NAMES[:parties], "a")
        total, scale = trustees.open_power(channel, powers)
        assert total == generator_times(Scalars.of([5 * scale, 6 * scale]))
        powers[3] = powers[3].plus(powers[1])
        with pytest.raises(Aborted, match="c, or two of the others" if parties == 5 else "one of a, b, c did"):
            trustees.open_power(channel, powers)


def test_a_trustee_that_asks_for_a_smaller_group_gets_no_share_of_it() -> None:
    outcomes = play(ROWS, 3, 3, bent=Bent("b", least=2))
    errors = {name: outcome.error for name, outcome in outcomes.items()}
    assert all(isinstance(error, CoveyError) for error in errors.values()), "nobody has an answer"
    reasons = {(name == "b", error.reason) for name, error in errors.items() if isinstance(error, PeerError)}
    assert reasons <= {(True, "3 values, expected 5"), (False, "5 values, expected 3")}
    assert reasons, "whoever noticed first says who sent what"


def follow(shuffles: int = 60, rows: int = 8) -> float:
    """How often trustee `a` finds a row again that follows the permutations it knows through whole shuffles."""

    async def role(channel: Channel) -> list[bool]:
        trustees, stock = Trustees.of(channel.parties, channel.me), TripleSupply()
        await stock.make(channel.at("supply"), trustees, 10)
        shuffler = await Shuffler.meet(channel.at("meet"), trustees, stock, 1)
        ends = []
        share = numbers(range(rows)).reshape(rows, 1)
        for turn in range(shuffles):
            at = channel.at("turn", turn)
            mixed = await shuffler.shuffle(at, trustees, share)
            opened = (await trustees.open(at.at("open"), np.ascontiguousarray(mixed[:, 0]))).tolist()
            place = 0
            for number, group in enumerate(trustees.groups):
                if group in shuffler.seeds:
                    step = f"{at.step}/pass/{number}"
                    seed = derive(shuffler.seeds[group], channel.session, step)
                    place = Rng(seed).stream("order").permutation(rows).tolist().index(place)
            ends.append(bool(opened[place] == 0))
        return ends

    found = run_parties(dict.fromkeys(NAMES[:3], role), seed=5)["a"].unwrap()
    return sum(found) / len(found)


def test_a_trustee_that_follows_every_permutation_it_knows_finds_a_row_no_more_often_than_by_chance() -> None:
    assert follow() < 0.35, "an eighth is chance"
