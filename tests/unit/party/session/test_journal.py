"""The journal: holds what was read, holds the role to what it said, and is bound to what it was begun with."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.cases import CASES
from tests.harness.trial import keys_of

from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError, PeerError
from covey.party.record.run_record import Agreement
from covey.party.session.binding import bind, data_digest
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.wire.frame import VERSION, Header, Letter, write

KEY = Secret(b"j" * 32)


def begun(session: bytes = b"s" * 32) -> Begun:
    return Begun(
        party="north",
        software="1",
        study_hash="aa",
        roster_hash="bb",
        data=b"d" * 32,
        source="here",
        seed=b"seed" * 8,
        session=session,
        commitments={},
        nonces={},
        confirmed={},
    )


def letter(payload: bytes, *, sender: str = "south", recipient: str = "north", number: int = 0) -> Letter:
    header = Header(VERSION, b"s" * 16, sender, recipient, "step", "a.tag", number, 1)
    return write(header, b"salt" * 4, payload)


def sent(journal: Journal, item: Letter) -> None:
    asyncio.run(journal.sent(item))


def received(journal: Journal, item: Letter) -> None:
    asyncio.run(journal.received(item))


def started(path: Path) -> Journal:
    journal = Journal.resume(path, KEY)
    assert journal.begun is None
    journal.begin(begun())
    return journal


def test_a_reopened_journal_has_everything(tmp_path: Path) -> None:
    first = started(tmp_path / "journal")
    letters = [letter(b"one"), letter(b"two", number=1), letter(b"theirs", sender="east")]
    for item in letters:
        received(first, item)
    sent(first, letter(b"mine", sender="north", recipient="south"))
    first.decide(True, b"figures")
    first.finish()
    first.keep()
    first.close()
    again = Journal.resume(tmp_path / "journal", KEY)
    assert again.begun == begun()
    assert list(again.letters("south")) == [bytes(item.raw) for item in letters[:2]]
    assert again.digests("east") == [letters[2].digest]
    assert again.messages == 3
    assert list(again.said) == [("south", "step", 0)]
    assert (again.decisions, again.complete, again.kept) == ([True], True, True)
    again.close()


def test_a_letter_is_written_once_however_often_it_is_read(tmp_path: Path) -> None:
    journal = started(tmp_path / "journal")
    received(journal, letter(b"one"))
    size = journal.size
    received(journal, letter(b"one"))
    assert journal.size == size
    journal.close()


def test_a_resumed_role_is_held_to_its_words(tmp_path: Path) -> None:
    journal = started(tmp_path / "journal")
    sent(journal, letter(b"mine", sender="north", recipient="south"))
    journal.close()
    again = Journal.resume(tmp_path / "journal", KEY)
    sent(again, letter(b"mine", sender="north", recipient="south"))
    with pytest.raises(Aborted, match="something else to 'south'") as caught:
        sent(again, letter(b"other", sender="north", recipient="south"))
    assert not caught.value.resumable
    again.close()


def test_a_peer_is_held_to_its_words(tmp_path: Path) -> None:
    journal = started(tmp_path / "journal")
    received(journal, letter(b"one"))
    with pytest.raises(PeerError, match="before the interruption"):
        received(journal, letter(b"another"))
    journal.close()


@pytest.mark.parametrize(("limit", "kept"), [(0, 0), (3000, 1), (1 << 30, 3)])
def test_beyond_its_limit_a_journal_keeps_hashes_alone(limit: int, kept: int, tmp_path: Path) -> None:
    journal = Journal.resume(tmp_path / "journal", KEY, limit=limit)
    journal.begin(begun())
    letters = [letter(Rng(KEY).stream(number).bytes(1500), number=number) for number in range(3)]
    for item in letters:
        received(journal, item)
    journal.close()
    assert (tmp_path / "journal").stat().st_size < 1200 + kept * 2000
    again = Journal.resume(tmp_path / "journal", KEY, limit=1 << 30)
    assert again.whole == (kept == 3)
    assert list(again.letters("south")) == [bytes(item.raw) for item in letters[:kept]]
    assert again.digests("south") == [item.digest for item in letters[:kept]]
    assert again.messages == 3
    size = again.size
    received(again, letters[2])
    assert again.size == size
    with pytest.raises(PeerError, match="before the interruption"):
        received(again, letter(b"another", number=2))
    received(again, letter(b"new", number=3))  # never whole again, so none is kept behind a gap
    assert len(again.digests("south")) == (4 if kept == 3 else kept)
    again.close()


def test_a_letter_that_can_be_compressed_is(tmp_path: Path) -> None:
    journal = started(tmp_path / "journal")
    before = journal.size
    long = letter(b"the same words again and again, " * 1000)
    received(journal, long)
    assert journal.size - before < long.size / 20
    assert list(journal.letters("south")) == [bytes(long.raw)]
    journal.close()


def test_what_was_read_is_on_the_disk_before_anything_that_may_depend_on_it_leaves(tmp_path: Path) -> None:
    from tests.harness.disk import Disk, failing

    journal = started(tmp_path / "journal")
    with failing(Disk(tmp_path.resolve(), "failing sync", 0)):
        received(journal, letter(b"one"))
        with pytest.raises(Aborted, match="cannot be written"):
            sent(journal, letter(b"mine", sender="north", recipient="south"))
    journal.close()


def test_the_seed_is_not_on_the_disk_in_the_clear_nor_in_a_repr(tmp_path: Path) -> None:
    journal = started(tmp_path / "journal")
    journal.close()
    content = (tmp_path / "journal").read_bytes()
    assert b"seed" not in content
    assert b"seed" not in repr(begun()).encode()


def test_a_new_session_erases_the_old_one(tmp_path: Path) -> None:
    journal = started(tmp_path / "journal")
    received(journal, letter(b"one"))
    journal.begin(begun(b"t" * 32))
    assert journal.messages == 0
    journal.close()
    again = Journal.resume(tmp_path / "journal", KEY)
    assert again.begun is not None
    assert again.begun.session == b"t" * 32
    again.close()


def test_an_approval_that_was_given_in_another_run_is_not_one_here(tmp_path: Path) -> None:
    """The second segment of one journal, which begins with a yes, behind the first of another of the same keys."""
    files = {}
    for name, answer in (("asked", None), ("approved", True)):
        started(tmp_path / name).close()
        first = (tmp_path / name).stat().st_size
        if answer is not None:
            again = Journal.resume(tmp_path / name, KEY)
            again.decide(answer, b"figures")
            again.close()
        files[name] = (tmp_path / name).read_bytes()[:first], (tmp_path / name).read_bytes()[first:]
    (tmp_path / "asked").write_bytes(files["asked"][0] + files["approved"][1])
    with pytest.raises(InputError, match="was altered"):
        Journal.resume(tmp_path / "asked", KEY)


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no journal"):
        Journal.read(tmp_path / "journal", KEY)


def test_a_binding_names_what_has_changed() -> None:
    trial = CASES["count"].smallest()
    table, keys = trial.tables["north"], keys_of("north")
    assert table is not None
    ours = bind(trial.certified, "north", table, keys)
    assert ours.differences(ours) == []
    other = CASES["count"].draw(3)
    assert ours.differences(bind(trial.certified, "north", other.tables["north"], keys)) == ["the data"]
    assert ours.differences(replace(ours, study_hash="x", roster_hash="y")) == ["the study", "the roster"]
    assert ours.differences(replace(ours, software="2")) == ["the version of covey"]
    turned = replace(trial.certified, parties=trial.certified.parties[::-1])
    assert turned.study_hash == trial.certified.study_hash
    assert ours.differences(bind(turned, "north", table, keys)) == ["the order of parties"]
    turned = replace(trial.certified, columns=trial.certified.columns[::-1])
    assert "the order of columns" in ours.differences(bind(turned, "north", table, keys))


def test_a_journal_keeps_all_that_its_session_is_bound_to(tmp_path: Path) -> None:
    trial = CASES["count"].smallest()
    ours = bind(trial.certified, "north", trial.tables["north"], keys_of("north"))
    agreement = Agreement(b"s" * 32, Secret(b"seed" * 8), {}, {}, {})
    journal = Journal.resume(tmp_path / "journal", KEY)
    journal.begin(Begun.of(agreement, ours))
    journal.close()
    again = Journal.read(tmp_path / "journal", KEY)
    assert again.begun is not None
    assert again.begun.binding == ours
    again.close()


def test_the_hash_of_the_data_needs_the_key_and_sees_every_cell() -> None:
    table, keys = CASES["count"].smallest().tables["north"], keys_of("north")
    assert table is not None
    changed = replace(table, codes=table.codes + 1)
    assert data_digest(table, keys) != data_digest(changed, keys)
    assert data_digest(table, keys) != data_digest(table, keys_of("south"))
    assert data_digest(table, keys) != data_digest(None, keys)
    assert data_digest(table, keys) != data_digest(table, replace(keys, dummy=Secret(b"x" * 32)))
