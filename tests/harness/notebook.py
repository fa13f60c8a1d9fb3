"""A recorder that keeps everything in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from covey.wire.frame import Header, Letter


@dataclass
class Entry:
    """One message as a transcript knows it."""

    header: Header
    digest: bytes
    size: int


@dataclass
class Notebook:
    """Writes everything down in memory; `letters` is what a resumed role would be fed."""

    sent_entries: list[Entry] = field(default_factory=list)
    received_entries: list[Entry] = field(default_factory=list)
    letters: dict[str, list[bytes]] = field(default_factory=dict, repr=False)

    async def sent(self, letter: Letter) -> None:
        """Keeps the header, the hash and the size."""
        self.sent_entries.append(Entry(letter.header, letter.digest, letter.size))

    async def received(self, letter: Letter) -> None:
        """Keeps the same, and the letter itself."""
        self.received_entries.append(Entry(letter.header, letter.digest, letter.size))
        self.letters.setdefault(letter.header.sender, []).append(bytes(letter.raw))
