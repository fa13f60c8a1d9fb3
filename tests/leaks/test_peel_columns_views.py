"""What a run on columns opens follows from the release and the numbers of people; helpers see random bits alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.harness.columns_cases import draw_people, stream_of, tables_of
from tests.harness.harness import lines, run
from tests.harness.peel_columns_cases import study_of, trial_of
from tests.leaks.test_sealed_rule_views import Simulator, in_windows, shapes
from tests.protocols.column_runs import KEY, ask, begun, in_the_open, parts_of, reached
from tests.protocols.sealed_runs import Told, expected
from tests.reference.column_studies import draw_columns
from tests.reference.studies import Drawn
from tests.unit.mpc.boxes import seeds_of

from covey.arrays import Ints, Words
from covey.crypto.secret import Secret
from covey.mpc import Box, Clear, Disclosure, Shared
from covey.protocols.peel import agenda
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.coding import side_by_side
from covey.protocols.peel.columns import hashed
from covey.protocols.peel.own_people import recognised
from covey.protocols.peel.parameters import run_of
from covey.protocols.protocol import Recognition
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders
from covey.protocols.shared.rows import domain
from covey.study import Study

__all__ = ["in_windows"]

SEEDS = [0, 2, 5, 9, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 120))]


class ColumnsSimulator(Simulator):
    """The same for columns: it also knows the largest table's size, and nobody's key."""

    def __init__(self, drawn: Drawn, told: Told, seed: int) -> None:
        super().__init__(drawn, told, seed)
        self.cells = Cells.of(drawn.study)
        self.people = {record.cell: record for record in drawn.records}
        self.receivers, self.shown = begun(drawn)[0].receivers, 0

    async def open(self, value: Shared, *, says: Disclosure) -> Words:
        if says.key not in ("largest", "range", "common"):
            return await super().open(value, says=says)
        await Clear.open(self, value, says=says)
        if says.key == "range":
            return np.ones(value.records, np.uint64)
        if says.key == "largest":
            return np.array([max(table.rows for table in self.drawn.tables)], np.uint64)
        return self._some(value.records, 0 if value.records == 1 else len(self.drawn.records))

    async def open_to(self, party: int, value: Shared, *, says: Disclosure) -> Words | None:
        words = self._counts(party) if says.key == "recognised" else self._lane(value)
        await super().open_to(party, value, says=says)
        return words

    def _released(self) -> list[tuple[int, tuple[str, ...], int]]:
        """Returns each released row: its class in the run's order, its labels, and the person whose cells it has."""
        order = self._in_order()
        return [
            (number, self.told[0][place][0], cell)
            for number, place in enumerate(order)
            for cell in self.random.permutation(self.told[0][place][2]).tolist()
        ]

    def _counts(self, party: int) -> Words:
        """Returns how many rows of the release an owner sees alone, and among fewer than k: anybody can count them."""
        study, names = self.drawn.study, [column.name for column in self.drawn.study.quasi]
        owner = begun(self.drawn)[0].parties[party]
        held = [place for place, name in enumerate(names) if name in {own.name for own in study.held_by(owner)}]
        exact = [study.sensitive.index(column) for column in exact_columns(study, owner)]
        seen = Counter(
            (*(labels[place] for place in held), *(self.people[cell].values[place] for place in exact))
            for _, labels, cell in self._released()
        )
        alone = sum(size == 1 for size in seen.values())
        return np.array([alone, sum(size for size in seen.values() if size < study.privacy.k)], np.uint64)

    def _lane(self, value: Shared) -> Words:
        """Returns the cells of one lane: class by class, or of several owners anywhere with the class's number."""
        several, rows = len(self.cells.lanes) > 1, self._released()
        lane = self.cells.lane(self.shown // len(self.receivers)) if several else self.cells
        self.shown += 1
        if several:
            rows = [rows[place] for place in self.random.permutation(len(rows)).tolist()]
        parts, widths = [np.array([number for number, _, _ in rows], np.uint64)], [value.width - lane.width]
        for column, width in zip(lane.columns, lane.widths, strict=True):
            place = self.drawn.study.sensitive.index(column)
            number = {text: code for code, text in enumerate(domain(column))}
            parts.append(np.array([number[self.people[cell].values[place]] for _, _, cell in rows], np.uint64))
            widths.append(width)
        return side_by_side(parts, widths)


@pytest.mark.usefixtures("in_windows")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_release_and_the_numbers_of_people_tell_all_that_a_run_opens(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No size of a group below k, no group that did not leave, and nobody's key is opened: the simulator has none."""
    drawn, real = draw_columns(seed, tmp_path), Clear(seeds_of(seed))
    told = expected(drawn, None)
    if not told[0]:
        pytest.skip("no class keeps what is asked for")
    result = in_the_open(drawn, real)
    played = ColumnsSimulator(drawn, told, seed + 1)
    following = agenda.Agenda.next

    def seen(self: agenda.Agenda, *known: object) -> Ints:
        played.window = following(self, *known)  # type: ignore[arg-type]
        return played.window

    monkeypatch.setattr(agenda.Agenda, "next", seen)
    release = in_the_open(drawn, played).release
    assert result.release is not None and release is not None
    assert parts_of(drawn.study, release) == parts_of(drawn.study, result.release)
    assert shapes(played.ledger) == shapes(real.ledger)


@pytest.mark.parametrize("seed", [7, 13, 19, 26])
def test_an_owner_is_told_how_many_rows_of_the_release_it_alone_could_find(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The box counts rows that are alike in the owner's own labels and exact cells; so may anybody, in the release."""
    drawn, told = draw_columns(seed, tmp_path), dict[str, Recognition]()

    async def heard(box: Box, study: Study, parties: Sequence[str], *rest: object) -> dict[int, Recognition]:
        people = await recognised(box, study, parties, *rest)  # type: ignore[arg-type]
        told.update({parties[place]: found for place, found in people.items()})
        return people

    monkeypatch.setattr("covey.protocols.peel.run.recognised", heard)
    release = in_the_open(drawn, Clear(seeds_of(seed))).release
    assert release is not None and set(told) == set(exact_holders(drawn.study))
    for owner, found in told.items():
        names = [column.name for column in drawn.study.held_by(owner) if column.name in release.column_names]
        sizes = Counter(zip(*(release[name].to_pylist() for name in names), strict=True)).values()
        few = sum(size for size in sizes if size < drawn.study.privacy.k)
        assert (found.alone, found.few) == (sum(size == 1 for size in sizes), few)
    assert any(found.few for found in told.values())


def test_cells_of_two_owners_are_not_opened_in_one_order() -> None:
    """Each owner's cells pass a shuffle of their own: those at one place are not one person's, but by chance."""
    study, people = study_of(k=5, note="office"), draw_people(stream_of(3, "owners"), 60)
    sealed, opened = replace(run_of(study), key=KEY), list[tuple[Words, int]]()

    class Watched(Clear):
        """A box that keeps the cells that the first receiver reads."""

        async def open_to(self, party: int, value: Shared, *, says: Disclosure) -> Words | None:
            words = await super().open_to(party, value, says=says)
            if says.key == "cells" and party == sealed.receivers[0] and words is not None:
                opened.append((words, value.width))
            return words

    tables = {sealed.parties.index(name): table for name, table in tables_of(study, people).items()}
    asyncio.run(sealed.play(Watched(seeds_of(1)), tables, ask, reached))
    cells, number = Cells.of(study), {f"note {place}": person[4] for place, person in enumerate(people)}
    texts = [
        cells.lane(place).texts(words, width - cells.lane(place).width) for place, (words, width) in enumerate(opened)
    ]
    own = [number[note] == ill for note, ill in zip(texts[1]["note"], texts[0]["ill"], strict=True)]
    assert len(own) > 50 and sum(own) < 0.6 * len(own)


def test_helpers_get_neither_the_key_for_hashes_nor_a_part_of_it() -> None:
    """Holders draw it among themselves: no message of the toss goes to the helper, or comes from it."""
    people = draw_people(stream_of(1, "key"), 20)
    trial = trial_of(study_of(k=10), people)
    tosses = [line for line in lines(run(trial)) if line.tag.startswith("coin.")]
    assert {(line.sender, line.recipient) for line in tosses} == {("clinic", "office"), ("office", "clinic")}
    assert len(tosses) == 4


def test_the_same_key_has_another_hash_in_another_session() -> None:
    one, other = (hashed(["p1", "p2"], Secret(bytes([seed]) * 32), 40) for seed in (1, 2))
    assert len({*one[0].tolist(), *other[0].tolist()}) == 4
    assert max(one[0].max(), one[1].max()) < 1 << 40
