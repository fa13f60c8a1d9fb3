"""Attacks on `peel` that read more than the release from earlier versions: each is planted, and finds nothing.

A view is all that a run opens. The attacks differ in what they plant; what they could read is the same: groups that are
named though they are not released, numbers of records of such groups, and openings that depend on a hidden value.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from tests.protocols.peelers import ILLS, SEXES, TOWNS, Person, draw_people, study_of, tables_of
from tests.protocols.sealed_runs import Told, released
from tests.reference.peeling import Asked
from tests.reference.studies import Drawn, records_of
from tests.unit.mpc.boxes import seeds_of

from covey.arrays import Words
from covey.mpc import Clear, Disclosure, Shared
from covey.protocols.peel.terms import Terms

K = 5
VICTIM, COPY = (15, "M", "d"), (15, "M", "d", "none")
AFTER_APPROVAL = "cells"
KINDS = {"total", "empty", "order", "leave", "classes", "narrowed", "alone", AFTER_APPROVAL}
People = Mapping[str, list[Person]]


class View(Clear):
    """A box in the open that keeps what it opens, and how many openings came before each input."""

    def __init__(self, seed: int) -> None:
        super().__init__(seeds_of(seed))
        self.opened: list[tuple[str, list[int]]] = []
        self.inputs: list[int] = []

    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        self.inputs.append(sum(key != "total" for key, _ in self.opened))
        return await super().share(values, width, records, holder)

    async def open(self, value: Shared, *, says: Disclosure) -> Words:
        shown = await super().open(value, says=says)
        self.opened.append((says.key, shown.ravel().tolist()))
        return shown

    def before_approval(self) -> list[tuple[str, list[int]]]:
        """Returns what was opened before the cells."""
        return [entry for entry in self.opened if entry[0] != AFTER_APPROVAL]

    def number(self, key: str) -> int:
        """Returns how many records the openings of a kind are of."""
        return sum(entry.records for entry in self.ledger if entry.says.key == key)


def seen(people: People, privacy: str, seed: int = 1) -> tuple[View, Told]:
    """Returns the view of a run on these people, and its release with the number of each record."""
    study = study_of(len(people), k=K, privacy=privacy)
    terms, tables = Terms.of(study), tuple(tables_of(study, people).values())
    asked = Asked(K, len(people), 2, None, None, distinct=False, l_insider=None)
    drawn = Drawn(study, terms, tables, tuple(records_of(terms, tables)), asked)
    view = View(seed)
    return view, asyncio.run(released(view, -1, drawn, None))


def crowd(seed: int, rows: int = 60) -> dict[str, list[Person]]:
    return draw_people(3, rows, seed)


def copies(seed: int) -> dict[str, list[Person]]:
    """One party plants k copies of what it knows of a person, with a value of its choice."""
    people = crowd(seed)
    people["p0"] += [COPY] * K
    people["p1"].append((*VICTIM, "ulcer"))
    return people


def pairs(seed: int) -> dict[str, list[Person]]:
    """One party plants k - 1 records of every pair of two columns' values, to learn which pairs others have."""
    people = crowd(seed, 30)
    people["p0"] = [(1, sex, town, "none") for sex in SEXES for town in TOWNS for _ in range(K - 1)]
    return people


def alike(seed: int) -> dict[str, list[Person]]:
    """Families whose members all have one value: refused with two values a class, and known if a refusal is told."""
    people = crowd(seed, 20)
    for age, ill in enumerate(ILLS):
        people["p1"] += [(age, "F", "c", ill)] * 3
        people["p2"] += [(age, "F", "c", ill)] * 3
    return people


ATTACKS = {
    "copies": (copies, "l = 1.5"),
    "copies, distinct": (copies, 'l = 2\ndiversity = "distinct"'),
    "pairs": (pairs, ""),
    "refused": (alike, 'l = 2\ndiversity = "distinct"'),
}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3))])
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_group_is_named_or_counted_but_those_of_the_release(attack: str, seed: int) -> None:
    plant, privacy = ATTACKS[attack]
    people = plant(seed)
    view, (classes, history, withheld, _) = seen(people, privacy, seed)
    sizes = [len(members) for _, _, members in classes]
    assert {entry.says.key for entry in view.ledger} <= KINDS
    assert (
        view.number("classes")
        == sum(sizes)
        == sum(sum(bits) for key, bits in view.opened if key == "leave" and len(bits) > 1)
    )
    assert view.number("narrowed") % len(classes) == 0
    assert sum(sizes) + withheld == sum(map(len, people.values())) == history[0]


def test_the_families_that_are_refused_would_tell_their_members_value() -> None:
    """What an earlier version told: groups of k or more with one value, whose labels the release does not have."""
    people = alike(1)
    groups: dict[tuple[int, str, str], list[str]] = {}
    for age, sex, town, ill in (person for own in people.values() for person in own):
        groups.setdefault((age, sex, town), []).append(ill)
    refused = {name for name, ills in groups.items() if len(ills) >= K and len(set(ills)) == 1}
    _, (classes, *_) = seen(people, 'l = 2\ndiversity = "distinct"')
    labels = {labels for labels, _, _ in classes}
    assert len(refused) >= 2 and not {(str(age), sex, town) for age, sex, town in refused} & labels


@pytest.mark.parametrize("privacy", ["l = 1.5", 'l = 2\ndiversity = "distinct"', "l_insider = 1.2"])
def test_nothing_before_the_approval_depends_on_the_value_of_a_person_whose_copies_were_planted(privacy: str) -> None:
    """In worlds with equal classes and sizes every opening is equal; the attacker sees k copies and no answer."""
    worlds: dict[str, list[list[tuple[str, list[int]]]]] = {}
    for ill in ILLS:
        people = copies(4)
        people["p1"][-1] = (*VICTIM, ill)
        view, (classes, *_) = seen(people, privacy)
        shape = str(Counter((labels, node, len(members)) for labels, node, members in classes))
        worlds.setdefault(shape, []).append(view.before_approval())
    assert max(map(len, worlds.values())) > 1, "some worlds look alike in the release"
    assert all(view == alike_views[0] for alike_views in worlds.values() for view in alike_views)


def test_rows_are_shared_once_before_anything_is_opened_but_their_number() -> None:
    """A ghost is a record that is there at one visit and gone at the next: nobody can enter or take back rows later."""
    view, _ = seen(crowd(5), "")
    assert len(view.inputs) >= 6 and set(view.inputs) == {0}
    assert np.isin(["leave", "classes"], [key for key, _ in view.opened]).all()


def beside_own(people: People, told: Told) -> list[list[int]]:
    """Returns for each class with records of a party the numbers of the others' records in it."""
    own = len(people["p0"])
    classes = [sorted(members) for _, _, members in told[0]]
    return [[each for each in members if each >= own] for members in classes if members[0] < own]


@pytest.mark.parametrize(
    ("privacy", "safe"),
    [("k_insider = 1", False), ("", True), ("most_of_a_class = 0.6", True), ("l_insider = 1.2", True)],
)
def test_planted_copies_leave_nobody_alone_unless_the_study_allows_it(privacy: str, safe: bool) -> None:
    """One party plants k - 1 copies of a person's tuple, and takes its own rows out of every class."""
    people = {name: own if name == "p0" else own[:15] for name, own in crowd(6, 120).items()}
    people["p0"] = [*people["p0"], *[COPY] * (K - 1)]
    people["p1"] = [*people["p1"], (*VICTIM, "ulcer")]
    _, told = seen(people, privacy)
    left = [len(others) for others in beside_own(people, told) if others]
    assert (min(left) >= 2) == safe
