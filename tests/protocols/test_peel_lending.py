"""Lending: classes give what they do not need to tuples that lack a few, as a trusted party would have them do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.tiers import THOROUGH
from tests.protocols.peelers import Person, draw_people, study_of, tables_of, visit
from tests.protocols.test_peel import agrees

import covey
from covey.arrays import Bits, Longs, Words
from covey.errors import Aborted, InputError
from covey.party.session.data import load_table
from covey.protocols import peel
from covey.protocols.peel.lending import Lending
from covey.protocols.peel.lending_rules import limits, pays, places, stages, units
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.search import Finder
from covey.protocols.peel.supply import Supply
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.study.insiders import asked
from covey.wire import Channel

OFF = "k_insider = 1"


def lending(parties: int = 3, *, k: int, privacy: str = "", options: str = "") -> Study:
    return study_of(parties, k=k, privacy=privacy, options=f"lend = true\n{options}")


@settings(max_examples=10 if THOROUGH else 3, deadline=None)
@given(
    st.integers(3, 6),
    st.integers(5, 30),
    st.integers(3, 9),
    st.sampled_from(("visit", "wave")),
    st.sampled_from(("", OFF, "k_insider = 3")),
    st.integers(0, 10**6),
)
def test_the_parties_publish_what_a_trusted_party_would(
    parties: int, rows: int, k: int, mode: str, privacy: str, seed: int
) -> None:
    if privacy == "k_insider = 3" and k < 4:
        privacy = ""
    study = lending(parties, k=k, privacy=privacy, options=f'mode = "{mode}"\nbuckets = 1')
    real = agrees(study, draw_people(parties, rows, seed))
    assert (real.figures.insider_k or k) >= asked(study.privacy)


STUDY = """
[study]
name = "small"
protocol = "peel"
partition = "horizontal"
[privacy]
k = 30
[protocol]
lend = true
mode = "wave"
refine = false
[columns.a]
role = "quasi"
hierarchy = { min = 0, max = 31, steps = [2, 4, 8, 16] }
[columns.b]
role = "quasi"
hierarchy = { min = 0, max = 15, steps = [2, 4, 8] }
[columns.c]
role = "quasi"
hierarchy = "flat"
values = ["x", "y"]
[columns.ill]
role = "sensitive"
values = ["none"]
[parties.p0]
[parties.p1]
[parties.p2]
"""


def test_a_record_that_was_lent_is_not_lent_again_before_the_next_stage() -> None:
    """Otherwise waves, which open a window's classes together, would not find what visits one by one find."""
    cells = {
        "p0": [(10, 4, "x")] * 29 + [(9, 5, "x")] * 28 + [(8, 4, "x")] * 33,
        "p1": [(31 - place, 15 - place % 4, "y") for place in range(10)],
        "p2": [(1, 1, "y")],
    }
    tables = {
        name: pa.table({**{key: list(map(str, each)) for key, each in zip("abc", zip(*own, strict=True), strict=True)},
                        "ill": ["none"] * len(own)})
        for name, own in cells.items()
    }  # fmt: skip
    waves, visits = (Study.parse(text) for text in (STUDY, STUDY.replace('"wave"', '"visit"')))
    due = peel.ideal(waves, {name: table for name in tables if (table := load_table(waves, name, tables[name]))})
    found = [canonical_csv(arrange(covey.simulate(study, tables, seed=1).table)) for study in (waves, visits)]
    assert found == [canonical_csv(arrange(due.release))] * 2


def test_less_is_lost_and_classes_keep_k_and_the_insider_k() -> None:
    with_loans, without, other = 0.0, 0.0, 0
    for seed in range(6):
        people = draw_people(3, 60, seed)
        plain, study = study_of(3, k=8), lending(k=8)
        before, after = (peel.ideal(each, tables_of(each, people)).figures for each in (plain, study))
        assert before is not None
        assert after is not None
        assert (after.k_reached or 0) >= 8
        assert (after.insider_k or 0) >= 2
        with_loans += after.loss["lm"] or 0.0
        without += before.loss["lm"] or 0.0
        other += after.loss != before.loss
    assert other >= 3
    assert with_loans < 0.99 * without


def test_the_release_does_not_depend_on_the_mode_nor_on_buckets() -> None:
    people = draw_people(4, 40, 7)
    first, second = (
        canonical_csv(arrange(agrees(lending(4, k=6, options=options), people).table))
        for options in ('mode = "visit"', 'mode = "wave"\nbuckets = 16')
    )
    assert first == second
    agrees(lending(4, k=6, options='leftover = "merge"\nrefine = false'), people)


@pytest.mark.parametrize(
    ("privacy", "options", "why"),
    [
        ("l = 2", "", "not for l; leave out l"),
        ("t = 0.5", "", "not for t; leave out t"),
        ("most_of_a_class = 0.7", "", "not for most_of_a_class"),
        ("k_insider = 2", 'insider = "clip"', 'take insider = "none-or-many"'),
        ("", 'mode = "skip"', 'take mode = "visit" or "wave"'),
    ],
)
def test_what_lending_could_undo_is_refused(privacy: str, options: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Parameters.of(lending(k=4, privacy=privacy, options=options))


def test_two_parties_do_not_lend() -> None:
    with pytest.raises(InputError, match="three parties or more"):
        Parameters.of(lending(2, k=4))


def test_the_rules() -> None:
    assert stages(10) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert stages(256)[:4] == [0, 1, 4, 9]
    assert len(stages(2000)) == 16
    assert limits(10, 3, 2) == [4, 5, 6, 7, 8, 9, 10]
    assert limits(5, 10, 2) == [2, 3, 4, 5]  # less would leave one record of others
    assert limits(30, 3, 31) == [31]  # so that whoever sees records of others sees so many afterwards
    assert places(5) == 2
    assert not pays(5, 3, 0, 100, 100)  # no third place
    assert pays(5, 1, 8, 10, 100)  # 10 * 8 <= 20 * 4
    assert not pays(5, 2, 8, 10, 100)
    assert pays(10, 1, -5, 0, 100)  # who loses less by the move always may


@pytest.mark.parametrize("records", [3, 10, 57, 1000])
def test_the_units_tell_how_many_remain_to_within_a_quarter(records: int) -> None:
    k, parts = 5, np.array([records // 2, records // 3, records - records // 2 - records // 3])
    tried = units(k, 2000)
    reached = [int((parts // unit).sum()) >= k for unit in tried]
    assert reached == sorted(reached, reverse=True)
    assert reached[0] == (records >= k)
    if reached[0]:
        last = tried[reached.index(False)]
        assert last * k / 1.25 - 3 * last <= records < (k + 3) * last


class Seen:
    """All that is opened in the visits of a run, as everyone sees it."""

    def __init__(self, patch: pytest.MonkeyPatch, of: str) -> None:
        self.answers: list[list[bool]] = []
        self.counts: list[list[int]] = []
        test, total = Finder.test, Supply.total

        async def noted_test(finder: Finder, channel: Channel, mine: Longs) -> Bits:
            found = await test(finder, channel, mine)
            if channel.me == of:
                self.answers.append(found.tolist())
            return found

        async def noted_total(supply: Supply, channel: Channel, mine: Words) -> Words:
            found = await total(supply, channel, mine)
            if channel.me == of:
                self.counts.append(found.tolist())
            return found

        patch.setattr(Finder, "test", noted_test)
        patch.setattr(Supply, "total", noted_total)


def seen(study: Study, people: Mapping[str, Sequence[Person]]) -> tuple[Seen, dict[str, Longs]]:
    """What everyone sees of the visits, and where each party's records end."""
    with pytest.MonkeyPatch.context() as patch:
        noted = Seen(patch, "p0")
        outcomes = visit(study, tables_of(study, people), seed=1)
    return noted, {name: outcome.unwrap().own.label for name, outcome in outcomes.items()}


def people_of(lenders: tuple[int, int], others: tuple[int, int]) -> dict[str, list[Person]]:
    """People below five and from five to nine, at p1 and p2; two much older ones are p0's."""
    people: dict[str, list[Person]] = {"p0": [(31, "F", "a", "none"), (32, "F", "a", "none")]}
    for name, young, older in zip(("p1", "p2"), lenders, others, strict=True):
        ages = [age % 5 for age in range(young)] + [5 + age for age in range(older)]
        people[name] = [(age, "F", "a", "none") for age in ages]
    return people


def loans(labels: dict[str, Longs], people: Mapping[str, Sequence[Person]]) -> int:
    """How many records of people below five ended in the class of all below ten, which is the second."""
    return sum(
        int((labels[name] == 1)[[age < 5 for age, *_ in own]].sum()) for name, own in people.items() if name != "p0"
    )


def test_the_visits_end_where_fewer_than_k_are_in_no_class() -> None:
    people = people_of((7, 7), (3, 3))
    people["p0"].pop()
    study = lending(k=8, privacy=OFF)
    done = visit(study, tables_of(study, people))["p0"].unwrap()
    assert done.classes.sizes == [14]
    assert done.openings.visits == 2


@pytest.mark.parametrize("lie", ["more are kept than there are", "fewer are in a class than it kept", "none are kept"])
def test_a_party_whose_numbers_do_not_fit_ends_the_run(monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    clipped, total = Lending.clipped, Supply.total

    def no_records(own: Lending, items: Longs, place: Longs, classes: int) -> Longs:
        return np.zeros_like(clipped(own, items, place, classes))

    async def other_counts(supply: Supply, channel: Channel, mine: Words) -> Words:
        if channel.me == "p1" and "sizes" in str(channel.step) and lie.startswith("fewer"):
            mine = np.zeros_like(mine)
        if channel.me == "p1" and "count" in str(channel.step) and lie.startswith("more"):
            mine = mine + np.uint64(10**6)
        return await total(supply, channel, mine)

    if lie.startswith("none"):
        monkeypatch.setattr(Lending, "clipped", no_records)
    monkeypatch.setattr(Supply, "total", other_counts)
    study = lending(k=8, privacy=OFF)
    error = visit(study, tables_of(study, people_of((7, 7), (3, 3))))["p0"].error
    assert isinstance(error, Aborted)
    assert "records" in str(error)


def test_nobody_can_tell_how_many_records_were_lent() -> None:
    """An attack by subtraction: two worlds that everyone sees alike, in which a class has lent two records, or one.

    Of fourteen people below five two go to six others, or of thirteen one goes to seven. All answers, all counts and
    the release are the same. With the first class's size opened before it lent, the worlds would differ.
    """
    study = lending(k=8, privacy=OFF)
    worlds = [people_of((7, 7), (3, 3)), people_of((9, 4), (3, 4))]
    views, ends = zip(*(seen(study, people) for people in worlds), strict=True)
    assert [loans(labels, people) for labels, people in zip(ends, worlds, strict=True)] == [2, 1]
    assert views[0].answers == views[1].answers
    assert views[0].counts == views[1].counts == [[8], [8], [12, 8]]
    first, second = (canonical_csv(arrange(agrees(study, people).table)) for people in worlds)
    assert first == second


def test_every_number_that_is_opened_counts_k_records_or_more() -> None:
    people = draw_people(4, 40, 3)
    view, labels = seen(lending(4, k=6, options='mode = "wave"'), people)
    assert min(min(row) for row in view.counts) >= 6
    sizes = sum(np.bincount(own[own >= 0], minlength=len(view.counts[-1])) for own in labels.values())
    assert view.counts[-1] == np.asarray(sizes).tolist()
    kept = [count for row in view.counts[:-1] for count in row]
    assert all(size >= least for size, least in zip(view.counts[-1], kept, strict=True))
    assert kept != view.counts[-1]
