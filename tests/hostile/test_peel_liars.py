"""A party that deviates from peel: where the others notice, and where they cannot (docs/protocols/peel.md, holes)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.harness.parties import Outcome, run_parties
from tests.protocols.peelers import Person, draw_people, list_of, marginals_of, names_of, study_of, tables_of

from covey.arrays import Longs, Words
from covey.crypto.field import F61, Field
from covey.crypto.secret import Secret
from covey.errors import Aborted, PeerError
from covey.protocols.peel import leftover, marginals, search, two_party
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.purity import Examination
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.search import Finder, HeavyBuckets
from covey.protocols.peel.supply import LANES, Supply
from covey.protocols.peel.tuples import Lattice, buckets
from covey.protocols.peel.visits import Peeling
from covey.protocols.protocol import Seat
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.peeling.leftover import Joined
from covey.secure import coin
from covey.secure.threshold_test import Prepared
from covey.wire import Channel, Vector, gather

LIAR = "p2"


def more(words: Words, field: Field) -> Words:
    return field.add(np.ascontiguousarray(words), np.ones(len(words), dtype=np.uint64))


class OtherMasks(Supply):
    """Masks its numbers with others than it has shared."""

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        return replace(due, mask=more(due.mask, due.field))


class OtherPowers(Supply):
    """Spoils its shares of the masks' powers."""

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        return replace(due, powers=np.stack([more(row, due.field) for row in due.powers]))


class OtherFactors(Supply):
    """Spoils its shares of the factors."""

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        return replace(due, factors=np.stack([more(row, due.field) for row in due.factors]))


class OneTest(Supply):
    """Spoils one test of the whole run: the last one of the first table."""

    spoilt = False

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        if self.spoilt:
            return due
        self.spoilt = True
        factors = due.factors.copy()
        factors[0, -1] = (factors[0, -1] + np.uint64(1)) % np.uint64(due.field.prime)
        return replace(due, factors=factors)


class OtherSums(Finder):
    """Says that it has other tuples in heavy buckets than it has."""

    async def _share_sums(self, channel: Channel, hashed: list[HeavyBuckets]) -> Examination:
        found = await super()._share_sums(channel, hashed)
        found._shares[3:] = F61.add(found._shares[3:].ravel(), np.ones(found._shares[3:].size, np.uint64)).reshape(
            found._shares[3:].shape
        )
        return found


def play(
    people: Mapping[str, list[Person]], supply_of: type[Supply] = Supply, finder_of: type[Finder] = Finder,
    options: str = "",
) -> Mapping[str, Outcome[Peeling]]:  # fmt: skip
    """The visits, in which one party has another supply or another finder."""
    study = study_of(len(people), k=3, options=options)
    tables, params = tables_of(study, people), Parameters.of(study)
    nodes, known = list_of(study, tables), marginals_of(study, tables)

    async def role(channel: Channel) -> Peeling:
        table, lies = tables[channel.me], channel.me == LIAR
        joint = await coin.toss(channel.at("coin"))
        supply = (supply_of if lies else Supply)(channel.at("prepare"), params.k)
        kind = finder_of if lies else Finder
        peeling = Peeling(
            kind(params, Lattice.of(table.trees), nodes, OwnRecords.of(table, params), joint, supply, known)
        )
        await gather(peeling.run(channel.at("visit"), lambda done: None), *(supply.work() for _ in range(LANES)))
        return peeling

    return run_parties(dict.fromkeys(names_of(len(people)), role))


def counts_opened(outcome: Outcome[Peeling]) -> bool:
    return any(entry.header.tag == "sum.masked" for entry in outcome.notebook.sent_entries)


@pytest.mark.parametrize("liar", [OtherMasks, OtherPowers, OtherFactors])
def test_whoever_spoils_what_was_prepared_is_noticed_before_a_count_is_opened(liar: type[Supply]) -> None:
    outcomes = play(draw_people(3, 60, 1), supply_of=liar)
    for name in ("p0", "p1"):
        error = outcomes[name].error
        assert isinstance(error, Aborted)
        assert "did not keep to the protocol" in str(error)
        assert not error.resumable
        assert not counts_opened(outcomes[name])


def test_one_spoiled_test_is_noticed_only_when_its_tuples_count_is_open() -> None:
    """The hole that the docs name: authenticated shares would close it, and we have none."""
    outcomes = play(draw_people(3, 60, 1), supply_of=OneTest)
    error = outcomes["p0"].error
    assert isinstance(error, Aborted)
    assert "impossible number of records" in str(error)
    assert counts_opened(outcomes["p0"])


def test_whoever_lies_about_the_tuples_of_a_heavy_bucket_is_noticed_before_its_count_is_opened() -> None:
    outcomes = play(draw_people(3, 120, 1), finder_of=OtherSums, options="buckets = 1")
    error = outcomes["p0"].error
    assert isinstance(error, Aborted)
    assert "none of its bucket" in str(error)


def test_without_a_liar_the_same_visits_end_well() -> None:
    assert all(outcome.error is None for outcome in play(draw_people(3, 60, 1)).values())
    assert all(outcome.error is None for outcome in play(draw_people(3, 120, 1), options="buckets = 1").values())


def test_planted_records_are_not_noticed_and_do_not_show_whether_one_other_has_the_tuple() -> None:
    """k - 1 copies of a tuple make a class with the victim's record only where k toward insiders is switched off.

    Nothing in the protocol can tell them from records; `tests/leaks/test_insiders.py` carries the attack to its end.
    """
    target = (33, "M", "d", "ulcer")
    seen = []
    for there in (True, False):
        people = draw_people(3, 40, 2)
        people = {name: [person for person in own if person[:3] != target[:3]] for name, own in people.items()}
        people[LIAR] = people[LIAR] + [target] * 2
        if there:
            people["p0"] = [*people["p0"], target]
        done = play(people)[LIAR].unwrap()
        leaves = [(int(age), int(town)) for age, _, town in done.classes.boxes]
        seen.append((33, 3) in leaves)
    assert seen == [False, False]


# -- each check by itself


def finder_of(people: Mapping[str, list[Person]], options: str = "") -> Finder:
    """A party that looks at what others opened; it has no peers."""
    study = study_of(len(people), k=3, options=options)
    tables, params = tables_of(study, people), Parameters.of(study)
    table = tables["p0"]
    supply = Supply.__new__(Supply)
    return Finder(
        params,
        Lattice.of(table.trees),
        list_of(study, tables),
        OwnRecords.of(table, params),
        Secret(bytes(32)),
        supply,
        marginals_of(study, tables),
    )


def test_what_is_opened_as_a_tuple_must_be_one_and_lie_in_its_bucket() -> None:
    finder = finder_of(draw_people(3, 40, 1), "buckets = 1")
    table = finder.lay(0, finder.own.in_play())
    assert not table.dense
    keys = table.keys[:, :1]
    bucket = table.bucket[:1]
    assert len(finder._decode(table, bucket, keys)) == 1
    with pytest.raises(Aborted, match="none of its bucket"):
        finder._decode(table, (bucket + 1) % table.size, keys)
    beyond = np.array([[math.prod(finder.lattice.sizes(finder.nodes[0]))]], dtype=np.uint64)
    there = buckets(finder.seed, table.size, beyond, table.number)
    with pytest.raises(Aborted, match="none of its bucket"):
        finder._decode(table, there, beyond)


def test_tuples_that_can_never_be_told_apart_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "TABLES", 0)
    error = play(draw_people(3, 120, 1), options="buckets = 1")["p0"].error
    assert isinstance(error, Aborted)
    assert "cannot be told apart" in str(error)


class OtherCounts(Peeling):
    """Counts more records of the first classes than it has, once their tuples are known."""

    async def _leaving(self, channel: Channel, first: int) -> Longs:
        found = await super()._leaving(channel, first)
        found[: len(self.more)] += np.array(self.more, dtype=np.int64)[: len(found)]
        return found

    more: tuple[int, ...] = ()


@pytest.mark.parametrize("more", [(10**6,), (60, 60), (1 << 62,) * 4])
def test_whoever_counts_more_records_than_there_are_is_noticed(more: tuple[int, ...]) -> None:
    """Four times 2^62 is nothing modulo 2^64: each number is looked at, and their sum."""
    people: dict[str, list[Person]] = {name: [] for name in names_of(3)}
    for age in range(4):
        for name in names_of(3):
            people[name] += [(10 * age, "F", "a", "flu")] * 5
    study = study_of(3, k=3, options="buckets = 64")
    tables, params = tables_of(study, people), Parameters.of(study)
    nodes, known = list_of(study, tables), marginals_of(study, tables)

    async def role(channel: Channel) -> Peeling:
        table = tables[channel.me]
        joint = await coin.toss(channel.at("coin"))
        supply = Supply(channel.at("prepare"), params.k)
        finder = Finder(params, Lattice.of(table.trees), nodes, OwnRecords.of(table, params), joint, supply, known)
        peeling = OtherCounts(finder) if channel.me == LIAR else Peeling(finder)
        if isinstance(peeling, OtherCounts):
            peeling.more = more
        await gather(peeling.run(channel.at("visit"), lambda done: None), *(supply.work() for _ in range(LANES)))
        return peeling

    error = run_parties(dict.fromkeys(names_of(3), role))["p0"].error
    assert isinstance(error, Aborted)
    assert "impossible number of records" in str(error)


@pytest.mark.parametrize(
    ("sizes", "flat", "limbs"),
    [
        ([1, 1], [5], [1]),  # two tables, where one is due
        ([2**40], [5], [2**30]),  # more tuples than there are numbers: their product is none modulo 2^64
        ([1], [F61.prime], [1]),
        ([1], [5, 6], [1]),
        ([2], [5, 6], [2]),
    ],
)
def test_a_list_of_tuples_that_is_none_is_not_read(sizes: list[int], flat: list[int], limbs: list[int]) -> None:
    assert two_party._cut(np.array(sizes, np.uint64), np.array(flat, np.uint64), limbs) is None


def of_two(lie: two_party.Alone) -> Mapping[str, Outcome[object]]:
    """The other of two parties names what it likes."""

    async def role(channel: Channel) -> object:
        if channel.me == "p1":
            await channel.at("alone").exchange(lie)
            return None
        finder = finder_of(draw_people(2, 40, 1), "buckets = 1")
        return await finder._name_own(channel.at("alone"), [finder.lay(0, finder.own.in_play())], [])

    return run_parties(dict.fromkeys(names_of(2), role))


def alone(sizes: list[int], keys: list[int]) -> two_party.Alone:
    return two_party.Alone(Vector(np.array(sizes, np.uint64)), Vector(np.array(keys, np.uint64)))


def test_one_of_two_that_names_no_list_or_no_tuple_is_refused() -> None:
    assert of_two(alone([1], [3]))["p0"].error is None
    error = of_two(alone([7], [3]))["p0"].error
    assert isinstance(error, PeerError)
    assert error.party == "p1"
    assert "no list of tuples" in str(error)
    error = of_two(alone([1], [10**9]))["p0"].error
    assert isinstance(error, Aborted)
    assert "a tuple that was named is none" in str(error)


def test_a_factor_that_is_nothing_by_chance_ends_the_run() -> None:
    class Opened(Examination):
        async def _open(self, product: Words) -> Words:
            return np.zeros(len(product), dtype=np.uint64)

    shares = np.ones((4, 2), dtype=np.uint64)
    examination = Opened.__new__(Opened)
    examination._shares, examination._factors = shares, shares
    with pytest.raises(Aborted, match="factor was 0 by chance"):
        asyncio.run(examination.tuples(np.arange(2)))


def test_a_party_that_lists_other_nodes_is_named() -> None:
    async def role(channel: Channel) -> None:
        await marginals.agree(channel.at("list"), bytes([channel.me == LIAR]) * 32)

    error = run_parties(dict.fromkeys(names_of(3), role))["p0"].error
    assert isinstance(error, PeerError)
    assert error.party == LIAR
    assert "lists other nodes" in str(error)


def test_an_impossible_number_of_records_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "_MOST_RECORDS", 30)
    study = study_of(3, k=3)
    tables = tables_of(study, draw_people(3, 10, 1))

    async def role(channel: Channel) -> object:
        return await marginals.total(channel.at("m"), 3, tables[channel.me])

    error = run_parties(dict.fromkeys(names_of(3), role))["p0"].error
    assert isinstance(error, Aborted)
    assert "impossibly large" in str(error)


def test_records_that_join_a_class_are_as_many_as_were_left_over() -> None:
    study = study_of(3, k=4)
    trees = tables_of(study, draw_people(3, 2, 0))["p0"].trees
    box = np.array([trees[0].root, trees[1].root, trees[2].root], dtype=np.int32)
    classes = PublishedClasses.of(3, [box], [9])

    async def role(channel: Channel) -> object:
        mine = Joined(np.zeros(1, dtype=np.int64), box[np.newaxis])
        seat = Seat(study, None, channel, None, None, None, Secret(bytes(32)))  # type: ignore[arg-type]
        return await leftover.join(seat, classes, trees, mine, 4)

    error = run_parties(dict.fromkeys(names_of(3), role))["p0"].error
    assert isinstance(error, PeerError)
    assert "3 records joined a class, expected 4" in str(error)
