"""The state of a run between windows as bytes: a party's shares, and what is public."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from covey.arrays import Ints
from covey.errors import InputError
from covey.mpc import Box, Shared, freeze, hashes, thaw
from covey.protocols.peel.agenda import Window
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.rule import Leavers, Peeling
from covey.protocols.protocol import States
from covey.table import group


class _Left(msgspec.Struct, frozen=True, array_like=True):
    """A window, and those who left in it: the number of each one's node and labels, and all these."""

    visited: bytes
    records: int
    rows: bytes
    number: bytes
    nodes: bytes
    labels: bytes


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    records: int
    length: int
    base: bytes
    windows: list[_Left]


@dataclass
class Keeper:
    """Keeps the state of a run after each window, of so many records with these cells."""

    states: States
    records: int
    cells: Cells
    _windows: list[_Left] = field(default_factory=list)

    def keep(self, state: Peeling) -> None:
        """Keeps the state. Raises Aborted, resumable, where it cannot be written."""
        self.states.keep(len(state.windows), lambda: (self._spelled(state), hashes(*_columns(state))))

    def _spelled(self, state: Peeling) -> bytes:
        start = len(self._windows)
        self._windows += [
            _packed(window, part) for window, part in zip(state.windows[start:], state.leavers[start:], strict=True)
        ]
        return msgspec.msgpack.encode(_Kept(self.records, self.cells.length, freeze(state.base), self._windows))


async def taken_up(box: Box, states: States, content: bytes, cells: Cells, columns: int) -> tuple[Keeper, Peeling]:
    """Returns a kept state, once neighbours found that they hold the same of it.

    Raises PeerError where they do not, and InputError for bytes that are no state of this study.
    """
    try:
        saved = msgspec.msgpack.decode(content, type=_Kept)
        (base,) = thaw(box, saved.base)
        state = Peeling(base, columns)
        for visit in saved.windows:
            state.windows.append(Window(_ints(visit.visited, columns), visit.records))
            (rows,) = thaw(box, visit.rows)
            number, nodes, labels = (
                np.frombuffer(visit.number, "<u4"), _ints(visit.nodes, columns), _ints(visit.labels, columns)
            )  # fmt: skip
            state.leavers.append(Leavers(rows, nodes[number].T, labels[number].T))
    except (msgspec.MsgspecError, ValueError, IndexError):
        raise InputError("the state of the run is of another kind of run: begin a new session") from None
    await box.compare(*_columns(state))
    box.decide(msgspec.msgpack.encode([saved.records, saved.length, *(visit.visited for visit in saved.windows)]))
    return Keeper(states, saved.records, replace(cells, length=saved.length), saved.windows), state


def _columns(state: Peeling) -> list[Shared]:
    return [state.base, *(part.rows for part in state.leavers)]


def _packed(window: Window, part: Leavers) -> _Left:
    number, first = group([*part.nodes, *part.labels], part.nodes.shape[1])
    nodes, labels = (rows[:, first].T.astype("<i4").tobytes() for rows in (part.nodes, part.labels))
    visited = window.nodes.astype("<i4").tobytes()
    return _Left(visited, window.left, freeze(part.rows), number.astype("<u4").tobytes(), nodes, labels)


def _ints(content: bytes, columns: int) -> Ints:
    return np.frombuffer(content, "<i4").astype(np.int32).reshape(-1, columns)
