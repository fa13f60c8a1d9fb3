"""A party that deviates from peel: where the others notice, and where they cannot (docs/protocols/peel.md, holes)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from tests.protocols.peelers import Person, draw_people, list_of, names_of, study_of, tables_of

from covey.crypto.field import F31, F61, Words
from covey.errors import Aborted
from covey.protocols.peel.course import Course
from covey.protocols.peel.find import Finder, Heavy
from covey.protocols.peel.own import Own
from covey.protocols.peel.pure import Examination
from covey.protocols.peel.supply import LANES, Supply
from covey.protocols.peel.terms import Terms
from covey.protocols.peel.tuples import Grid
from covey.protocols.peel.visit import Peeling
from covey.secure import coin
from covey.secure.threshold import Prepared
from covey.testing.parties import Outcome, run_parties
from covey.wire import Channel, gather

LIAR = "p2"


def more(words: Words) -> Words:
    return F31.add(np.ascontiguousarray(words), np.ones(len(words), dtype=np.uint64))


class OtherMasks(Supply):
    """Masks its numbers with others than it has shared."""

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        return Prepared(due.bound, more(due.mask), due.powers, due.factors)


class OtherPowers(Supply):
    """Spoils its shares of the masks' powers."""

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        return Prepared(due.bound, due.mask, np.stack([more(row) for row in due.powers]), due.factors)


class OtherFactors(Supply):
    """Spoils its shares of the factors."""

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        return Prepared(due.bound, due.mask, due.powers, np.stack([more(row) for row in due.factors]))


class OneTest(Supply):
    """Spoils one test of the whole run: the last one of the first table."""

    spoilt = False

    async def take(self, width: int) -> Prepared:
        due = await super().take(width)
        if self.spoilt:
            return due
        self.spoilt = True
        factors = due.factors.copy()
        factors[0, -1] = (factors[0, -1] + np.uint64(1)) % np.uint64(F31.prime)
        return Prepared(due.bound, due.mask, due.powers, factors)


class OtherSums(Finder):
    """Says that it has other tuples in heavy buckets than it has."""

    async def _examine(self, channel: Channel, hashed: list[Heavy]) -> Examination:
        found = await super()._examine(channel, hashed)
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
    tables, terms = tables_of(study, people), Terms.of(study)
    nodes, records = list_of(study, tables), sum(table.rows for table in tables.values())

    async def role(channel: Channel) -> Peeling:
        table, lies = tables[channel.me], channel.me == LIAR
        joint = await coin.toss(channel.at("coin"))
        supply = (supply_of if lies else Supply)(channel.at("prepare"), terms.k, Course())
        kind = finder_of if lies else Finder
        peeling = Peeling(kind(terms, Grid.of(table.trees), nodes, Own.of(table, terms), joint, supply, records))
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


def test_planted_records_are_not_noticed_and_buy_a_bit_each() -> None:
    """k - 1 copies of a tuple show whether somebody else has it: nothing in the protocol can tell them from records."""
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
    assert seen == [True, False]
