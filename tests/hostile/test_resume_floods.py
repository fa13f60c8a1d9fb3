"""A pinned peer resumes with an endless list of what it claims to have read: refused by name, with little memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.consortium import study_text
from tests.harness.clock import run_jumping

from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import CoveyError, PeerError
from covey.party.identity import keys
from covey.party.identity.roster import Roster
from covey.party.record.run_record import Agreement
from covey.party.session.handshake import ReadHashes, SessionHello, commit, hello, shake_hands
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.party.simulate.stage import with_certificates
from covey.study import Study
from covey.wire import Link, MemoryNetwork, plain_channel
from covey.wire.frame import VERSION, Header, write

NAMES = ("east", "north", "south")
KEYS = {name: keys.make(name) for name in NAMES}
STUDY = with_certificates(Study.parse(study_text()), KEYS)
ROSTER = Roster.of(STUDY)
SESSION = b"s" * 32
FULL = bytes(32 << 15)


def journal_of(folder: Path, sent: int) -> Journal:
    """North's journal of a run that was cut off after some messages to south."""
    journal = Journal(folder / "journal", Secret(b"j" * 32))
    journal.begin(Begun(
        party="north", software="1", study_hash=STUDY.study_hash, roster_hash=ROSTER.roster_hash, data=b"d" * 32,
        source="", seed=b"seed" * 8, session=SESSION, commitments={}, nonces={}, confirmed={},
    ))  # fmt: skip
    for number in range(sent):
        header = Header(VERSION, SESSION[:16], "north", "south", "step", "a.tag", number, 1)
        asyncio.run(journal.sent(write(header, b"salt" * 4, b"payload")))
    return journal


def resume(journal: Journal, lists: dict[str, Iterator[ReadHashes]]) -> Agreement | CoveyError:
    """North resumes; its peers say hello and then what `lists` has for them."""
    lines = MemoryNetwork(NAMES)

    async def north() -> Agreement | CoveyError:
        seed = Secret(bytes(32))
        try:
            return await shake_hands(lines.link("north"), STUDY, ROSTER, KEYS["north"], seed, patience=60,
                                     journal=journal, clock=lambda: 0.0)  # fmt: skip
        except CoveyError as error:
            return error

    async def peer(link: Link) -> None:
        channel = plain_channel(link, Rng(Secret(bytes(32))), patience=60)
        opening = channel.at("hello")
        await opening.broadcast(hello(STUDY, ROSTER, link.me, commit(Secret(bytes(32))), 0, SESSION))
        await opening.collect(SessionHello)
        for have in lists[link.me]:
            await channel.at("have").send("north", have)

    async def all_three() -> Agreement | CoveyError:
        others = [asyncio.ensure_future(peer(lines.link(name))) for name in ("east", "south")]
        try:
            return await north()
        finally:
            for each in others:
                each.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    return run_jumping(all_three())


def endless(part: bytes) -> Iterator[ReadHashes]:
    for _ in range(200):  # 6.5 million digests
        yield ReadHashes(part, more=True)


@pytest.mark.parametrize(("part", "says"), [(FULL, "more messages of ours than we sent"), (b"", "malformed")])
def test_a_list_longer_than_what_was_sent_is_refused_by_name(tmp_path: Path, part: bytes, says: str) -> None:
    journal = journal_of(tmp_path, 3)
    tracemalloc.start()
    try:
        end = resume(journal, {"east": iter([ReadHashes(b"", more=False)]), "south": endless(part)})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(end, PeerError)
    assert end.party == "south"
    assert says in str(end)
    assert most < 64 * 2**20


def test_a_peer_that_has_read_what_we_sent_is_believed(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, 3)
    read = b"".join(journal.said.values()) + b"l" * 32  # and one whose hash was lost here
    end = resume(journal, {"east": iter([ReadHashes(b"", more=False)]), "south": iter([ReadHashes(read, more=False)])})
    assert isinstance(end, Agreement)
    assert len(end.known["south"]) == 4
    assert not end.known["east"]
