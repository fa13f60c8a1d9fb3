"""The status of a collection: written beside the register whenever it changes, and read by `covey collect status`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from covey.errors import InputError
from covey.files import as_json, json_object, write_atomically
from covey.party.collection import register as registers
from covey.party.collection.register import CollectionState
from covey.party.session.progress import Progress
from covey.wire.depth import beside
from covey.wire.standing.hub import Hub

FILE = "status.json"
TICK_SECONDS = 1.0


@dataclass
class Board:
    """The status that a collector shows."""

    folder: Path
    hub: Hub
    progress: Progress
    held: CollectionState
    members: tuple[str, ...] = ()
    _due: dict[str, float] = field(default_factory=dict)
    _written: bytes = b""

    def due(self, due: Mapping[str, float]) -> None:
        """Notes the respondents that have to answer, and until when on the event loop's clock."""
        self._due = dict(due)

    def kept(self) -> AbstractAsyncContextManager[None]:
        """Writes the status every second, while the block runs."""
        return beside(self._keep())

    async def _keep(self) -> None:
        while True:
            self.write(self.progress.current)
            await asyncio.sleep(TICK_SECONDS)

    def write(self, phase: str) -> None:
        """Writes it down, if anything has changed; a status that cannot be written stops nobody."""
        content = as_json(self.describe(phase))
        if content != self._written:
            with contextlib.suppress(InputError):
                write_atomically(self.folder / FILE, content)
                self._written = content

    def describe(self, phase: str) -> dict[str, object]:
        """The collection right now; respondents are named by handle."""
        present, held = set(self.hub.present), self.held
        now = time.time() - (asyncio.get_running_loop().time())
        current = held.current
        gone = {**held.left, **({} if current is None or self.progress.channel is None else self.hub.gone)}
        return {
            "phase": phase,
            "attempt": 0 if held.started is None else held.started.attempt,
            "enrolled": len(held.enrolled),
            "ready": len(held.ready),
            "quorum": 0 if held.opened is None else held.opened.quorum,
            "closes": (None if held.opened is None else held.opened.closes) or None,
            "present": len(present),
            "members": len(self.members),
            "answering": sorted(name for name in self._due if name in present),
            "missing": sorted(name for name in self._due if name not in present),
            "left": dict(sorted(gone.items())),
            "deadline": int(now + min(self._due.values())) if self._due else None,
        }


def read(folder: Path) -> dict[str, object]:
    """The status of the collection in a folder. Raises InputError if there is none."""
    held, running = registers.read(folder)
    found: dict[str, object] = {
        "phase": "enrolment",
        **json_object(folder / FILE),
        "running": running,
        "enrolled": len(held.enrolled),
        "ready": len(held.ready),
    }
    if held.ended is not None:
        found |= {"phase": "finished" if held.ended.released else "ended", "outcome": held.ended.how}
    if not running:
        found |= {"present": 0, "missing": [], "answering": [], "deadline": None}
    return found
