"""Insiders of `cluster`: a party subtracts its own rows from each class; then it plants rows to read more.

Each attack succeeds where a study switches the protection off (k_insider = 1), and singles nobody out by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.hospitals import SITES, Person, draw_people, stream_of, study_of, tables_of

import covey
from covey.arrays import Bits, Ints, Longs
from covey.protocols.cluster_rows import divide, guarded
from covey.protocols.cluster_rows.party import SearchParty
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.protocol import Figures, Preview, Seat
from covey.protocols.shared import rows
from covey.study import Study

K = 5
OFF = "k_insider = 1"
PLANTED: Person = (15, "M", "none")
VICTIM: Person = (15, "M", "ulcer")


@dataclass
class View:
    """The classes as one party knows them: its own rows' classes, and the released rows."""

    klass: Longs
    ills: list[str]
    released: rows.Rows

    def singled_out(self) -> list[str]:
        """The sensitive values that are left alone in a class, once the party's own are taken away."""
        found = []
        for number in range(int(self.released.klass.max()) + 1):
            here = np.flatnonzero(self.released.klass == number)
            left = Counter(self.released.cells["ill"][row] for row in here)
            left -= Counter(self.ills[row] for row in np.flatnonzero(self.klass == number))
            found += list(left.elements()) if left.total() == 1 else []
        return found

    def told(self) -> list[str]:
        """The sensitive values that all others' records of a class with own records have, where they are alike."""
        found = []
        for number in np.unique(self.klass[self.klass >= 0]).tolist():
            here = np.flatnonzero(self.released.klass == number)
            left = Counter(self.released.cells["ill"][row] for row in here)
            left -= Counter(self.ills[row] for row in np.flatnonzero(self.klass == number))
            found += list(left) if len(left) == 1 else []
        return found

    def largest_part(self) -> float:
        """The largest part of a class that is the party's own."""
        own, all_of = (np.bincount(each[each >= 0], minlength=100) for each in (self.klass, self.released.klass))
        return float((own / np.maximum(all_of, 1)).max())

    def beside_own(self) -> int:
        """The fewest records of others in a class in which the party has records, if it has any of others."""
        own, all_of = (np.bincount(each[each >= 0], minlength=100) for each in (self.klass, self.released.klass))
        others = (all_of - own)[own > 0]
        return int(others[others > 0].min())


@dataclass
class Views:
    """Every party's view of a run."""

    release: covey.Release
    of: dict[str, View] = field(default_factory=dict)


def played(study: Study, people: Mapping[str, list[Person]], monkeypatch: pytest.MonkeyPatch) -> Views:
    """Runs the study, and keeps each party's view of the classes."""
    seen: dict[str, View] = {}
    publish = rows.release

    async def watched(seat: Seat, klass: Longs, sizes: Longs, known: Figures, preview: Preview) -> rows.Rows:
        opened = await publish(seat, klass, sizes, known, preview)
        seen[seat.party] = View(klass, [ill for _, _, ill in people[seat.party]], opened)
        return opened

    with monkeypatch.context() as patched:
        patched.setattr(rows, "release", watched)
        release = covey.simulate(study, {name: frame_of(own) for name, own in people.items()}, seed=1)
    return Views(release, seen)


def frame_of(people: list[Person]) -> pa.Table:
    age, sex, ill = (list(map(str, cells)) for cells in zip(*people, strict=True))
    return pa.table({"patient": list(map(str, range(len(people)))), "age": age, "sex": sex, "ill": ill})


def crowd(names: tuple[str, ...] = SITES) -> dict[str, list[Person]]:
    """Ten times as many people at the first site as at each other."""
    stream = stream_of(1, "insiders")
    return {
        name: draw_people(stream, [name], many, many)[name] for name, many in zip(names, (200, 20, 20), strict=False)
    }


@pytest.mark.few(1)
def test_a_large_party_reads_no_persons_value_by_subtracting_its_own_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = crowd()
    loose = played(study_of("cluster", k=K, privacy=OFF), people, monkeypatch)
    assert len(loose.of["east"].singled_out()) > 3
    assert loose.release.summary["insider_k"] == 1
    assert "k_insider = 1 switches" in str(loose.release.summary["warnings"])
    assert any("single persons' sensitive values" in line for line in loose.release.ledger["east"])
    kept = played(study_of("cluster", k=K), people, monkeypatch)
    assert not any(view.singled_out() for view in kept.of.values())
    assert int(str(kept.release.summary["insider_k"])) >= 2
    assert not kept.release.summary["warnings"]


@pytest.mark.few(1)
def test_planted_copies_of_a_persons_tuple_do_not_isolate_the_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """East plants k - 1 copies of what it knows of a patient of north, to read what north's patient suffers from."""
    people = {name: [(age % 12, sex, ill) for age, sex, ill in own] for name, own in crowd().items()}
    people["north"] = [*people["north"], VICTIM]
    people["east"] = [*people["east"], *[PLANTED] * (K - 1)]
    loose = played(study_of("cluster", k=K, privacy=OFF), people, monkeypatch).of["east"]
    assert "ulcer" in loose.singled_out()
    kept = played(study_of("cluster", k=K), people, monkeypatch).of["east"]
    assert not kept.singled_out()
    assert kept.beside_own() >= 2


@pytest.mark.thorough
def test_planted_rows_do_not_tell_what_two_people_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """East plants twice k copies of a tuple that two patients of others share, and k_insider = 2 lets the class be."""
    people = {name: [(age % 8, sex, ill) for age, sex, ill in own[:60]] for name, own in crowd().items()}
    people["north"] = [*people["north"], VICTIM]
    people["south"] = [*people["south"], VICTIM]
    people["east"] = [*people["east"][:20], *[PLANTED] * (2 * K)]
    loose = played(study_of("cluster", k=K), people, monkeypatch).of["east"]
    assert "ulcer" in loose.told()
    assert loose.largest_part() > 0.8
    kept = played(study_of("cluster", k=K, privacy="most_of_a_class = 0.5"), people, monkeypatch)
    assert max(view.largest_part() for view in kept.of.values()) <= 0.5
    assert kept.of["east"].beside_own() >= K / 2
    assert "ulcer" not in kept.of["east"].told()


def lone_records(problem: ClusterProblem, clusters: PublicClusters, own: Longs, codes: Ints) -> set[tuple[int, ...]]:
    """The tuples of others that fit what a party is shown, where one fits and the closure alone does not tell it."""
    found = set()
    for number in range(len(clusters)):
        mine = codes[:, own == number]
        nodes = problem.local(clusters.boxes[number : number + 1])[0]
        if clusters.sizes[number] - mine.shape[1] != 1 or not mine.shape[1]:
            continue
        fitting = []
        for column, (tree, node) in enumerate(zip(problem.trees, nodes.tolist(), strict=True)):
            everyone = [set(mine[column].tolist()) | {leaf} for leaf in range(tree.first[node], tree.last[node] + 1)]
            ends = [(tree.up[0, min(each)], tree.up[0, max(each)]) for each in everyone]
            closed = [int(tree.common_ancestor(np.array([low]), np.array([high]))[0]) == node for low, high in ends]
            fitting.append([tree.first[node] + place for place in np.flatnonzero(closed)])
        shown = all(tree.first[node] == tree.last[node] for tree, node in zip(problem.trees, nodes, strict=True))
        if not shown and all(len(leaves) == 1 for leaves in fitting):
            found.add(tuple(int(leaf) for (leaf,) in fitting))
    return found


def test_the_ledger_counts_the_records_that_follow_from_closures_of_k_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each closure is of k records or more; a party that has all but one of a group's reads some of the others'."""
    study = study_of("cluster", k=2, privacy=OFF)
    people = {name: own[: 40 if name == "east" else 12] for name, own in crowd().items()}
    tables = tables_of(study, people)
    problem = ClusterProblem.of(study, tables["east"].trees, None)
    read: dict[str, set[tuple[int, ...]]] = {name: set() for name in SITES}
    close = divide.close_jointly

    async def watched(party: SearchParty, label: Longs, clusters: PublicClusters, which: Bits) -> PublicClusters:
        closed = await close(party, label, clusters, which)
        read[party.joint.me] |= lone_records(problem, closed, label, party.codes)
        return closed

    monkeypatch.setattr(divide, "close_jointly", watched)
    monkeypatch.setattr(guarded, "close_jointly", watched)
    release = covey.simulate(study, {name: frame_of(own) for name, own in people.items()}, seed=1)
    others = {tuple(record) for name in SITES[1:] for record in tables[name].codes.T.tolist()}
    assert len(read["east"]) > 1
    assert read["east"] <= others
    (said,) = [line for line in release.ledger["east"] if "can read some" in line]
    assert f"at least {sum(map(len, read.values()))} times, all parties together" in said
