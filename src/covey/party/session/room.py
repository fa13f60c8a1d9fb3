"""A look at the disk and the memory before a run begins: cheaper than a plan, and without its numbers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from covey.doctor import available_memory, existing
from covey.errors import InputError
from covey.party.plan import memory_of
from covey.party.session.journal import EVERYTHING
from covey.protocols import Protocol
from covey.sizes import spell
from covey.study import Study
from covey.table import Table

LEAST = 64 * 10**6
"""Bytes for everything but what a journal keeps of the messages that are read."""

Notice = Callable[[str], None]


def room_for_journal(out: Path, limit: int, notice: Notice) -> int:
    """The limit of the journal, lowered where the disk has not as much; what that means is told.

    Raises InputError if there is no room for anything.
    """
    place, free = existing(out), require_room(out)
    room = max(0, (free - LEAST) // 2)
    if limit <= room or limit == EVERYTHING:  # covey plan says how much everything is
        return limit
    notice(
        f"{place} has {spell(free)} free: the journal keeps {spell(room)} of what is read instead of {spell(limit)}; "
        "make room if the run is to be replayed, or to go on quickly after an interruption"
    )
    return room


def require_room(out: Path) -> int:
    """The bytes that are free where the folder is, or is to be. Raises InputError if there is no room for anything."""
    place = existing(out)
    free = shutil.disk_usage(place).free
    if free < LEAST:
        raise InputError(
            f"{place}: has {spell(free)} free, and a run needs {spell(LEAST)} at least; make room, or choose another "
            "folder with --out"
        )
    return free


def likely_rows(study: Study, own: Table | None) -> int:
    """The rows of all parties together that a run is about, if the others have as many as we, or all that they may."""
    each = study.rows_at_most or 0 if own is None else own.records
    return each if study.partition == "vertical" else each * len(study.holders)


def warn_of_memory(protocol: Protocol, rows: int, notice: Notice) -> None:
    """Tells if a run over so many rows needs more memory than there is, about."""
    there, needed = available_memory(), memory_of(protocol, rows)
    if there < needed:
        notice(f"{spell(there)} of memory are free, and a run of this size needs about {spell(needed)}; end others")
