"""A run: holders share their records, the rule peels, everybody approves, the receivers read.

The same lines run on shares, where a party gives its own table, and in the open, where all tables are given. A party
that does not compute shares its records, is told the classes before the approval, and reads the release where it gets
it. How records come in is an intake's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto.secret import Secret
from covey.errors import PeerError
from covey.mpc import Box, Outside
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.columns import Columns
from covey.protocols.peel.disclosures import ALONE, CLASSES, total
from covey.protocols.peel.intake import Intake
from covey.protocols.peel.kept import Keeper, taken_up
from covey.protocols.peel.narrowing import borne_alone
from covey.protocols.peel.opening import open_cells, read_cells, rows_of
from covey.protocols.peel.own_people import read_recognised, recognised
from covey.protocols.peel.parties import receives
from covey.protocols.peel.rows import Rows as RowsIntake
from covey.protocols.peel.rule import Classes, Peeling, Reached, peel
from covey.protocols.peel.terms import Terms
from covey.protocols.protocol import NO_STATES, Computed, Figures, Preview, Recognition, Result, States
from covey.protocols.shared import publish
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.study import Study
from covey.table import Table

Ask = Callable[[Figures, Preview, Recognition | None, Sequence[str]], Awaitable[None]]
"""Asks everybody for approval; returns if all agree.

Given are figures, the own people whom a party would find, and the columns that single somebody out.
"""


@dataclass(frozen=True)
class Run:
    """All that is public before a run: the terms, the parties' order, and public frequencies if there are any."""

    study: Study
    terms: Terms
    parties: tuple[str, ...]
    """The three who compute come first."""
    reference: Sequence[Longs] | None = None
    checked: bool = True
    """True if a computing party that deviates is stopped."""
    key: Secret | None = None
    """The key for hashes, where columns are split; None at a party without columns."""
    letters: Intake | None = None
    """How the letters of a collection come in; None elsewhere."""

    @property
    def holders(self) -> list[int]:
        """The numbers of the parties with rows."""
        return [place for place, name in enumerate(self.parties) if self.study.party(name).holds_data]

    @property
    def receivers(self) -> list[int]:
        """The numbers of the parties that get the release."""
        return [place for place, name in enumerate(self.parties) if receives(self.study, name)]

    @property
    def intake(self) -> Intake:
        """The intake of this run's records."""
        if self.letters is not None:
            return self.letters
        if self.study.partition == "vertical":
            return Columns(self.study, self.terms, self.parties, self.holders, self.checked, self.key)
        return RowsIntake(self.study, self.terms, self.parties, self.holders, self.checked)

    async def play(
        self, box: Box, tables: Mapping[int, Table], ask: Ask, reached: Reached, states: States = NO_STATES
    ) -> Result:
        """Returns the release, of the tables that are given here; nothing for a party that receives none.

        A run that goes on from a state has taken the records in before.
        """
        terms, outside = self.terms, range(3, len(self.parties))
        keeper, state = await self._begun(box, tables, states)
        records, cells = keeper.records, keeper.cells

        async def kept(state: Peeling) -> None:
            keeper.keep(state)
            await reached(state)

        agenda = terms.agenda(records, self.reference)
        peeled = await peel(box, state, terms.coding, terms.conditions, agenda, kept)
        classes, number = peeled.classes, peeled.number
        await box.tell(outside, np.array([len(classes.sizes)], np.uint64), says=CLASSES)
        await box.tell(outside, classes.words(), says=CLASSES)
        alone = await borne_alone(box, peeled.cells, [*cells.in_question.values()])
        await box.tell(outside, alone.astype(np.uint64), says=ALONE)
        people: dict[int, Recognition] = {}
        if len(number):
            labels = classes.labels[number].T
            people = await recognised(box, self.study, self.parties, cells, peeled.cells, labels)
        recognition = next((people[place] for place in tables if place in people), None)
        await self._asked(classes, records, recognition, ask, cells, alone)
        opened = await open_cells(box, peeled.cells, number, cells, self.receivers)
        result = self._result(classes, records, opened, cells)
        return replace(result, computed=self.computed(box.soundness_bits))

    def computed(self, soundness_bits: int | None) -> Computed:
        """Returns who computes, and what becomes of a party that deviates."""
        return Computed(self.parties[:3], "detect" if self.checked else "trust", soundness_bits)

    async def _begun(self, box: Box, tables: Mapping[int, Table], states: States) -> tuple[Keeper, Peeling]:
        """Returns the state that the run begins from, or goes on from; who does not compute is told what it lacks."""
        columns = len(self.terms.trees)
        if states.last is None:
            base = await self.intake.take(box, tables)
            keeper, state = Keeper(states, base.records, base.cells), Peeling(base.rows, columns)
            keeper.keep(state)
            return keeper, state
        keeper, state = await taken_up(box, states, states.last, Cells.of(self.study), columns)
        known = np.array([keeper.records, keeper.cells.length], np.uint64)
        await box.tell(range(3, len(self.parties)), known, says=total(self.study.privacy.k))
        return keeper, state

    async def wait(
        self, outside: Outside, place: int, table: Table | None, ask: Ask, states: States = NO_STATES
    ) -> Result:
        """Returns the release to a party that does not compute, nothing where it receives none."""
        if states.goes_on:
            records, length = (int(number) for number in await outside.told(2))
            cells = replace(Cells.of(self.study), length=length)
        else:
            records, cells = await self.intake.give(outside, place, table)
        classes = await self._told(outside, records)
        alone = await outside.told(len(cells.in_question)) > 0
        recognition, rows = None, int(classes.sizes.sum())
        if rows:
            recognition = await read_recognised(outside, self.study, self.parties[place], rows)
        await self._asked(classes, records, recognition, ask, cells, alone)
        opened = None
        if place in self.receivers:
            opened = await read_cells(outside, classes.sizes, cells)
        return replace(self._result(classes, records, opened, cells), computed=self.computed(None))

    async def _told(self, outside: Outside, records: int) -> Classes:
        """Returns the classes. Raises PeerError for classes that so many records of the study cannot make."""
        limits = [tree.nodes for tree in self.terms.trees]
        number = int((await outside.told(1))[0])
        if number <= records:
            classes = Classes.of(await outside.told(number * (2 * len(limits) + 1)), len(limits))
            known = (classes.labels >= 0) & (classes.labels < limits)
            if known.all() and (classes.sizes > 0).all() and (classes.sizes <= records).all():
                return classes
        reason = "it tells us classes that the records of this study cannot make"
        raise PeerError(party=self.parties[0], step="the classes", reason=reason)

    def _published(self, classes: Classes, records: int) -> tuple[PublishedClasses, Figures]:
        """Returns the classes as a reader sees them, and their figures."""
        published = PublishedClasses.of(len(self.terms.trees), list(classes.labels), classes.sizes.tolist())
        return published, published.figures(self.study, self.terms.trees, records)

    async def _asked(
        self, classes: Classes, records: int, recognition: Recognition | None, ask: Ask, cells: Cells, alone: Bits
    ) -> None:
        published, figures = self._published(classes, records)
        boxes, sizes = published.boxes, published.sizes
        preview = publish.preview(self.study, self.terms.trees, boxes, sizes, records - int(sizes.sum()))
        columns = [name for name, single in zip(cells.in_question, alone, strict=True) if single]
        await ask(figures, preview, recognition, columns)

    def _result(self, classes: Classes, records: int, opened: Sequence[Words] | None, cells: Cells) -> Result:
        """Returns the release of opened cells, lane by lane."""
        if opened is None:
            return Result()
        published, figures = self._published(classes, records)
        result = published.result(
            self.study, self.terms.trees, figures, rows_of(opened, classes.sizes, cells, published)
        )
        names = [column.name for column in self.study.quasi]
        return replace(result, classes=classes.table(names, self.terms.trees))
