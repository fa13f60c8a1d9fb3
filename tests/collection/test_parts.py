"""The parts of a collection by themselves: register, standing lines, deadlines, questions, times, and the commands."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.collection.town import Town, collecting, everyone
from tests.harness.clock import JumpingLoop, on_real_clock, run_jumping
from tests.harness.disk import Disk, failing

from covey.cli import main
from covey.crypto.rng import fresh_seed
from covey.errors import Aborted, InputError, Left
from covey.party.collection import opening, questions, register, times
from covey.party.collection.deadlines import expel_late
from covey.party.collection.home import Home
from covey.party.collection.invitation import Invitation
from covey.party.collection.register import Opened, Register
from covey.party.collection.statement import statement
from covey.party.identity import keys as keyring
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.wire import frame as frames
from covey.wire.frame import Header
from covey.wire.standing import Shelf, StandingLine
from covey.wire.standing.connection import Connection, Garbled

pytestmark = pytest.mark.timeout(90)
SESSION = bytes(range(16))
OPENED = Opened("ab", 3, 0, "2026-01-01T00:00:00Z")


# -- a respondent's folder


def test_keys_that_a_kill_left_half_made_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def create(path: Path, content: bytes, mode: int) -> None:
        if len(made) == 2:
            raise KeyboardInterrupt
        path.write_bytes(content)
        path.chmod(mode)
        made.append(path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(keyring, "create", create)
        Home(tmp_path / "person").keys()
    assert Home(tmp_path / "person").keys().party == Home(tmp_path / "person").keys().party


# -- the register


def test_a_register_remembers_everything_and_drops_a_line_that_was_cut_short(tmp_path: Path) -> None:
    first = Register.open(tmp_path, OPENED)
    handle = first.enrol(b"certificate", "hash")
    first.close()
    with (tmp_path / register.FILE).open("ab") as stream:
        stream.write(b'{"line":"ready","hand')
    again = Register.open(tmp_path, OPENED)
    assert list(again.held.enrolled) == [handle] and not again.held.ready
    again.add(register.ReadyLine(handle, "now"))
    again.close()
    held, running = register.read(tmp_path)
    assert list(held.ready) == [handle] and not running


def test_a_register_is_one_collectors_and_one_studys(tmp_path: Path) -> None:
    first = Register.open(tmp_path, OPENED)
    with pytest.raises(InputError, match="running here already"):
        Register.open(tmp_path, OPENED)
    assert register.read(tmp_path)[1]
    first.close()
    with pytest.raises(InputError, match="another study"):
        Register.open(tmp_path, Opened("cd", 3, 0, "now"))


def test_a_damaged_register_is_named_with_its_line(tmp_path: Path) -> None:
    Register.open(tmp_path, OPENED).close()
    with (tmp_path / register.FILE).open("ab") as stream:
        stream.write(b"{}\n")
    with pytest.raises(InputError, match="line 2"):
        Register.open(tmp_path, OPENED)


# -- standing lines


def journal_in(folder: Path) -> Journal:
    journal = Journal(folder / "journal", fresh_seed())
    journal.begin(Begun("office", "", "", "", b"", "", bytes(32), SESSION * 2, {}, {}, {}))
    return journal


def letter(sender: str, recipient: str, content: bytes, *, number: int = 0, session: bytes = SESSION) -> bytes:
    header = Header(frames.VERSION, session, sender, recipient, "step", "tag", number, 1)
    return bytes(frames.write(header, bytes(16), content).raw)


@on_real_clock
async def test_an_index_that_waits_for_many_readers_is_kept_once(tmp_path: Path) -> None:
    journal, shelf = journal_in(tmp_path), Shelf()
    lines = [StandingLine(f"r{place}", journal, SESSION, shelf) for place in range(50)]
    for line in lines:
        await line.send(frames.place(0, letter("office", line.peer, bytes(1 << 20))))
    assert shelf.bytes == 1 << 20
    for line in lines:
        line.leave("has left")
    assert shelf.bytes == 0 and all(line.settled for line in lines)
    journal.close()


@on_real_clock
async def test_a_letter_that_comes_twice_is_read_once_and_one_in_its_place_is_refused(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    line = StandingLine("r0", journal, SESSION)
    first = letter("r0", "office", b"first")
    await line.take(first)
    await line.take(first)
    with pytest.raises(Garbled, match="a second, different letter"):
        await line.take(letter("r0", "office", b"other"))
    with pytest.raises(Garbled, match="another's name"):
        await line.take(letter("r1", "office", b"first"))
    with pytest.raises(Garbled, match="another session"):
        await line.take(letter("r0", "office", b"first", number=1, session=bytes(16)))
    assert await line.receive() == frames.place(0, first)
    line.leave("did not answer in time")
    with pytest.raises(Garbled, match="after it had left"):
        await line.take(letter("r0", "office", b"late", number=1))
    with pytest.raises(Left, match="did not answer in time"):
        await line.receive()
    journal.close()


@on_real_clock
async def test_a_respondents_letter_leaves_only_when_the_disk_knows_that_it_was_said(tmp_path: Path) -> None:
    """Who has answered takes part in no second attempt: a power cut must not make it forget that."""
    given: list[bytes] = []

    async def give(*parts: bytes) -> None:
        given.append(b"".join(parts))

    journal = journal_in(tmp_path)
    line = StandingLine("office", journal, SESSION)
    answer = letter("r0", "office", b"answers")
    await journal.sent(frames.read(answer))
    await line.send(frames.place(0, answer))
    connection = cast("Connection", SimpleNamespace(give=give))
    with failing(Disk(tmp_path, "failing sync", 0)), pytest.raises(Aborted, match="cannot be written"):
        await line.carry(connection, lambda: bool(given))
    assert not given
    journal.close()


@on_real_clock
async def test_who_left_has_left_in_every_replay_and_after_its_letters(tmp_path: Path) -> None:
    key = fresh_seed()
    journal = Journal(tmp_path / "journal", key)
    journal.begin(Begun("office", "", "", "", b"", "", bytes(32), SESSION * 2, {}, {}, {}))
    line = StandingLine("r0", journal, SESSION)
    await line.take(letter("r0", "office", b"first"))
    journal.lose("r0", "has vanished")
    journal.close()
    again = Journal.resume(tmp_path / "journal", key)
    assert again.gone == {"r0": "has vanished"}
    line = StandingLine("r0", again, SESSION)
    line.leave(again.gone["r0"])
    assert await line.receive() == frames.place(0, letter("r0", "office", b"first"))
    with pytest.raises(Left):
        await line.receive()
    again.close()


# -- deadlines, on a clock that jumps


def test_only_who_is_asked_and_silent_for_the_whole_deadline_has_left() -> None:
    expelled: list[tuple[str, float]] = []
    waiting: set[str] = set()

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, JumpingLoop)
        hub = SimpleNamespace(last_letter={}, expel=lambda name, why: expelled.append((name, loop.time())))
        channel = SimpleNamespace(waiting=waiting)
        board = SimpleNamespace(due=lambda due: None)
        task = asyncio.create_task(expel_late(hub, channel, board, 3600.0))  # type: ignore[arg-type]
        waiting.update({"silent", "slow", "busy"})
        await asyncio.sleep(3000)
        hub.last_letter["busy"] = loop.time()  # it has said something: its time begins anew
        waiting.discard("slow")  # it has answered
        await asyncio.sleep(700)
        waiting.add("slow")  # and is asked for something else
        waiting.discard("silent")
        await asyncio.sleep(2950)
        waiting.discard("busy")
        await asyncio.sleep(600)
        task.cancel()

    run_jumping(watch())
    names = [name for name, _ in expelled]
    assert set(names) == {"silent", "busy"}
    first = dict(reversed(expelled))
    assert 3600 <= first["silent"] <= 3602 and 6600 <= first["busy"] <= 6602


def test_a_collector_that_was_stalled_blames_nobody_for_it() -> None:
    expelled: list[str] = []

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, JumpingLoop)
        hub = SimpleNamespace(last_letter={}, expel=lambda name, why: expelled.append(name))
        channel, board = SimpleNamespace(waiting={"one", "two"}), SimpleNamespace(due=lambda due: None)
        task = asyncio.create_task(expel_late(hub, channel, board, 60.0))  # type: ignore[arg-type]
        await asyncio.sleep(10)
        loop.suspend(3600.0)
        await asyncio.sleep(40)
        assert not expelled
        await asyncio.sleep(20)
        task.cancel()

    run_jumping(watch())
    assert set(expelled) == {"one", "two"}


# -- what a respondent is asked and told


def test_wrong_values_are_refused_with_the_allowed_ones_and_without_the_answer(tmp_path: Path) -> None:
    study = Town(tmp_path).study
    said: list[str] = []
    answers = iter(["200", "abc", "7", "x", "f", "", "great", "Good"])
    record = questions.ask_all(study, lambda text: next(answers), said.append)
    assert record == {"age": "7", "sex": "F", "mood": "good"}
    assert len(said) == 5
    assert "a whole number from 0 to 31" in said[0] and "F, M" in said[2] and "good, fair, bad" in said[-1]
    assert not any(wrong in " ".join(said) for wrong in ("200", "abc", "great"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"age": 99, "sex": "F", "mood": "bad"}', "a whole number from 0 to 31"),
        ('{"age": 9, "sex": "F"}', "mood"),
        ('{"age": 9, "sex": "F", "mood": "bad", "size": 3}', "no column 'size'"),
        ('{"age": [9], "sex": "F", "mood": "bad"}', "a text or a number"),
        ("[1]", "one object"),
        ("{", "JSON"),
    ],
)
def test_a_record_file_that_does_not_fit_is_refused_by_file_and_column(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "record.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"record\.json") as refused:
        questions.load(Town(tmp_path / "town").study, path)
    assert words in str(refused.value)


def test_the_statement_says_what_leaves_and_what_could_be_learned_at_worst(tmp_path: Path) -> None:
    told = statement(Town(tmp_path).study, "office", "127.0.0.1:1")
    assert "If the 2 others of your group were its friends" in told and "6 respondents or more" in told
    for words in ("age, sex", "mood", "at least 3", "simulation of this study", "%", "keeps to the protocol"):
        assert words in told


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5 d", 129600)])
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert times.duration(text, "--phase-deadline") == seconds
    assert times.moment(text, "--closes", 1000.0) == 1000 + seconds


@pytest.mark.parametrize("text", ["", "soon", "0s", "-1h", "9999d", "5 weeks"])
def test_other_durations_are_refused_with_examples(text: str) -> None:
    with pytest.raises(InputError, match="--phase-deadline"):
        times.duration(text, "--phase-deadline")


# -- the commands


def covey(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(str(ended.value.code))


def test_invitations_are_printed_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    town = Town(tmp_path)
    assert covey("collect", "invite", str(town.path), "--out", str(town.out), "--count", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({Invitation.parse(line).secret for line in lines}) == 3
    assert all(str(Invitation.parse(line).address) == town.address for line in lines)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('role = "collector"', 'role = "collector"\n[parties.one]'), "enrol by invitation"),
        (("committee = 3", 'committee = 3\nscheme = "paillier"'), "for simulations"),
    ],
)
def test_a_study_that_cannot_be_collected_is_refused_before_anyone_is_invited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], words: str
) -> None:
    town = Town(tmp_path)
    town.path.write_text(town.path.read_text().replace(*change))
    assert covey("collect", "invite", str(town.path), "--out", str(town.out)) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [([], "say when to begin"), (["--quorum", "5"], "2 k = 6"), (["--closes", "yesterday"], "--closes")],
)
def test_serve_says_what_is_missing_or_too_little(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: Sequence[str],
    words: str,
) -> None:
    monkeypatch.setattr(opening, "QUORUM_CLASSES", 2)  # as it is outside of tests
    town = Town(tmp_path)
    arguments = ["collect", "serve", str(town.path), "--out", str(town.out), "--keys", str(tmp_path / "keys")]
    assert covey(*arguments, *options) == 2
    assert words in capsys.readouterr().err


@pytest.mark.thorough
@on_real_clock
async def test_status_names_who_is_missing_by_handle_and_until_when(tmp_path: Path) -> None:
    town = Town(tmp_path)
    tokens = town.invite(4)
    async with collecting(town, 4, phase_seconds=600.0) as running:
        gone = asyncio.create_task(town.person(0, tokens[0]).run())
        while not running.collection.register.held.ready:  # noqa: ASYNC110 - the register tells nobody
            await asyncio.sleep(0.02)
        gone.cancel()
        await asyncio.wait([gone])
        others = asyncio.create_task(everyone([town.person(place, tokens[place]) for place in (1, 2, 3)]))
        for _ in range(600):
            found = town.status()
            if found.get("missing"):
                break
            await asyncio.sleep(0.05)
        assert found["missing"] == town.handles(1) and found["phase"] == "keys" and found["deadline"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from covey.cli import main; main()", "collect", "status", str(town.out), "--json",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        shown = json.loads((await process.communicate())[0])
        assert shown["running"] and shown["missing"] == town.handles(1) and shown["enrolled"] == 4
        others.cancel()
        await asyncio.wait([others])
