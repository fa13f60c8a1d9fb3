"""Letters come in: three trustees read shares of records, and drop on shares what is no answer to the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Longs
from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.mpc import Box, Outside, Shared
from covey.protocols.peel.board import Posted
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.disclosures import FITS
from covey.protocols.peel.intake import Base
from covey.protocols.peel.record_word import RecordWord, in_range
from covey.protocols.peel.sizes import based
from covey.protocols.peel.terms import Terms
from covey.protocols.shared.rows import domain
from covey.study import Study
from covey.table import Table

TEXT = 64
"""Bytes of a text that the study does not list, at most: all letters have the same size."""


def letter_word(study: Study, terms: Terms) -> RecordWord:
    """Returns the word in a letter. Raises InputError for a sensitive column without a list of values."""
    for column in study.sensitive:
        if not domain(column):
            raise InputError(
                f"column {column.name!r}: in a collection a sensitive column has its values listed, so that an "
                'answer outside of them is noticed without being read; add values = ["…"]'
            )
    return RecordWord(terms, replace(Cells.of(study), length=TEXT))


def require_short(word: RecordWord, table: Table) -> None:
    """Raises InputError, naming the column, for a text that is too long to be sent."""
    for column in word.cells.columns:
        longest = max((len(text.encode()) for text in table.values(column.name).labels), default=0)
        if not domain(column) and longest > TEXT:
            raise InputError(f"column {column.name!r}: an answer that is not listed may have {TEXT} bytes at most")


@dataclass(frozen=True)
class LetterIntake:
    """The intake of letters; in the open, of tables, which are letters that all fit."""

    study: Study
    word: RecordWord
    posted: Posted | None = None
    """A trustee's letters; None in the open, and at the collector."""
    board: int = 0
    """The number of letters on the board, as the collector knows it."""
    dropped: Callable[[Longs], None] = lambda places: None
    """Told the places on the board of letters that are left out."""

    async def take(self, box: Box, tables: Mapping[int, Table]) -> Base:
        """Returns the records of all letters that are answers, shuffled. Raises Unmet where these are fewer than k."""
        if self.posted is None:
            words = np.concatenate([self.word.words(tables[place]) for place in sorted(tables)], axis=1)
            rows, handles, places = box.public(words, self.word.width), words.shape[1], np.arange(words.shape[1])
        else:
            handles, places = len(self.posted.handles), np.array(self.posted.places, np.int64)
            rows = Shared(box, self.posted.shares, len(places))
        fits = await box.open_bit(await in_range(box, rows, [*self.word.domains().values()]), says=FITS)
        out = np.setdiff1d(np.arange(handles), places[fits])
        await box.tell([3], np.array([len(out)], np.uint64), says=FITS)
        await box.tell([3], out.astype(np.uint64), says=FITS)
        self._judge(handles, out)
        rows = self.word.spread(box, rows.at(np.flatnonzero(fits)))
        return Base(await based(box, rows, rows.records, empty=False), self.word.cells)

    async def give(self, outside: Outside, place: int, table: Table | None) -> tuple[int, Cells]:
        """Returns the number of records at the collector. Raises Unmet where these are fewer than k."""
        number = int((await outside.told(1))[0])
        out = await outside.told(min(number, self.board))
        if number > self.board or (len(out) and int(out.max()) >= self.board):
            raise PeerError(
                party="a trustee", step="the letters", reason="it left out letters that are not on the board"
            )
        self._judge(self.board, out.astype(np.int64))
        return self.board - number, self.word.cells

    def _judge(self, board: int, out: Longs) -> None:
        """Tells who is left out. Raises Aborted if so many are that those who stay could be chosen, Unmet below k."""
        k, kept = self.study.privacy.k, board - len(out)
        self.dropped(out)
        if len(out) and kept < max(2 * k, board - max(1, board // 20)):
            raise Aborted(
                f"{len(out)} of {board} letters would be left out, because they do not open, their shares do not "
                "fit, or they are no answers to the study: whoever brings that about could choose who stays. "
                "Nothing was opened; find out which trustee cannot read its letters, or who handed in what is no "
                "answer",
                resumable=False,
            )
        if kept < k:
            raise Unmet(f"fewer than k = {k} respondents answered; nothing can be released")


def left_out(handles: Sequence[str], places: Longs) -> str:
    """Returns the letters at these places of the board, in words."""
    return ", ".join(f"{handles[place]} (number {place + 1})" for place in places.tolist())
