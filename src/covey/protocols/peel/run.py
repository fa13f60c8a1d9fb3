"""A run on rows: holders share their numbers and rows, the rule peels, everybody approves, the receivers read.

The same lines run on shares, where a party gives its own table, and in the open, where all tables are given. A party
that does not compute shares its rows, is told the classes before the approval, and reads the release where it gets it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Longs, Words
from covey.errors import PeerError
from covey.mpc import Box, Outside, Shared, stacked
from covey.protocols.peel.cells import LENGTHS, Cells
from covey.protocols.peel.coding import bits_of, side_by_side
from covey.protocols.peel.disclosures import CLASSES, total
from covey.protocols.peel.parties import receives
from covey.protocols.peel.rule import Classes, Peeling, Reached, peel
from covey.protocols.peel.sizes import BITS, based, enough, joint_records, padded
from covey.protocols.peel.terms import Terms
from covey.protocols.protocol import Figures, Preview, Result
from covey.protocols.shared import publish
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.rows import Rows
from covey.study import Study
from covey.table import Table

Ask = Callable[[Figures, Preview], Awaitable[None]]
"""Asks everybody for approval of these figures; returns if all agree."""


@dataclass(frozen=True)
class Run:
    """All that is public before a run: the terms, the parties' order, and public frequencies if there are any."""

    study: Study
    terms: Terms
    parties: tuple[str, ...]
    """The three who compute come first."""
    reference: Sequence[Longs] | None = None

    @property
    def holders(self) -> list[int]:
        """The numbers of the parties with rows."""
        return [place for place, name in enumerate(self.parties) if self.study.party(name).holds_data]

    @property
    def receivers(self) -> list[int]:
        """The numbers of the parties that get the release."""
        return [place for place, name in enumerate(self.parties) if receives(self.study, name)]

    async def play(self, box: Box, tables: Mapping[int, Table], ask: Ask, reached: Reached) -> Result:
        """Returns the release, of the tables that are given here; nothing for a party that receives none."""
        terms, outside = self.terms, range(3, len(self.parties))
        cells = await self._cells(box, tables)
        numbers = {place: np.array([[table.rows]], np.uint64) for place, table in tables.items()}
        shared = await self._shared(box, numbers, BITS, dict.fromkeys(self.holders, 1))
        records = await joint_records(box, shared, self.study.privacy.k, outside)
        private = self.study.sizes == "private"
        sizes = dict.fromkeys(self.holders, records)
        if not private:
            opened = await box.open(stacked(*shared), says=total(self.study.privacy.k))
            sizes = dict(zip(self.holders, opened.astype(np.int64).tolist(), strict=True))
        words = {place: self._words(place, table, cells, records) for place, table in tables.items()}
        rows = await self._shared(box, words, terms.width + cells.width + private, sizes)
        state = Peeling(await based(box, stacked(*rows), empty=private), len(terms.trees))

        async def approve(classes: Classes, withheld: int) -> None:
            await box.tell(outside, np.array([len(classes.sizes)], np.uint64), says=CLASSES)
            await box.tell(outside, classes.words(), says=CLASSES)
            await self._asked(classes, records, ask)

        agenda = terms.agenda(records, self.reference)
        release = await peel(box, state, terms.coding, terms.conditions, agenda, reached, approve, self.receivers)
        return self._result(release.classes, records, release.cells, cells)

    async def wait(self, outside: Outside, place: int, table: Table | None, ask: Ask) -> Result:
        """Returns the release to a party that does not compute, nothing where it receives none."""
        k, cells = self.study.privacy.k, Cells.of(self.study)
        if not cells.listed:
            if table is not None:
                await outside.share(cells.fitting(table), len(LENGTHS))
            cells = replace(cells, length=int((await outside.told(1))[0]))
        if table is not None:
            await outside.share(np.array([[table.rows]], np.uint64), BITS)
        records = enough(int((await outside.told(1))[0]), k)
        if table is not None:
            private = self.study.sizes == "private"
            await outside.share(self._words(place, table, cells, records), self.terms.width + cells.width + private)
        classes = await self._told(outside, records)
        await self._asked(classes, records, ask)
        if place not in self.receivers:
            return Result()
        opened = await outside.open(cells.width, int(classes.sizes.sum()))
        return self._result(classes, records, opened, cells)

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

    async def _asked(self, classes: Classes, records: int, ask: Ask) -> None:
        published, figures = self._published(classes, records)
        boxes, sizes = published.boxes, published.sizes
        await ask(figures, publish.preview(self.study, self.terms.trees, boxes, sizes, records - int(sizes.sum())))

    def _result(self, classes: Classes, records: int, opened: Words | None, cells: Cells) -> Result:
        """Returns the release of opened cells, which come class by class."""
        if opened is None:
            return Result()
        published, figures = self._published(classes, records)
        number = published.of_records(np.repeat(np.arange(len(classes.sizes)), classes.sizes))
        return published.result(self.study, self.terms.trees, figures, Rows(number, cells.texts(opened)))

    def _words(self, holder: int, table: Table, cells: Cells, records: int) -> Words:
        """Returns a holder's rows as words: what the rule reads, then the cells; padded if sizes are private."""
        parts = [self.terms.words(table, self.holders.index(holder)), cells.words(table)]
        words = side_by_side(parts, [self.terms.width, cells.width])
        width = self.terms.width + cells.width
        return padded(words, width, records) if self.study.sizes == "private" else words

    async def _shared(self, box: Box, words: Mapping[int, Words], width: int, sizes: Mapping[int, int]) -> list[Shared]:
        """Returns each holder's column; the others know its size."""
        given = ((place, words.get(place), sizes[place]) for place in self.holders)
        return await box.together(*(box.share(own, width, size, place) for place, own, size in given))

    async def _cells(self, box: Box, tables: Mapping[int, Table]) -> Cells:
        """Returns the cells' coding; the least length that fits all texts is opened where some are not listed."""
        cells = Cells.of(self.study)
        if cells.listed:
            return cells
        fits = {place: cells.fitting(table) for place, table in tables.items()}
        fit, *others = await self._shared(box, fits, len(LENGTHS), dict.fromkeys(self.holders, 1))
        for other in others:
            fit = await (fit & other)
        fitting = bits_of(await box.open(fit, says=total(self.study.privacy.k)), len(LENGTHS))[:, 0]
        length = LENGTHS[int(np.argmax(fitting))]
        await box.tell(range(3, len(self.parties)), np.array([length], np.uint64), says=total(self.study.privacy.k))
        return replace(cells, length=length)
