"""What others wrote reaches a terminal, a log or the name of a folder as text, and as nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import Covey

from covey.cli.display import Display
from covey.errors import AccessError, PeerError, Unmet
from covey.party.collection.enrolment import enrol
from covey.party.collection.responding import Respondent, _folder_name
from covey.party.identity import keys as keyring
from covey.party.record.log import RunLog
from covey.plain import UNSEEN, plain, plain_lines, slug
from covey.wire.standing import words

ESCAPES = ["\x1b[2J", "\x1b]0;owned\x07", "\x9b2J", "\x7f", "\x08", "\r", "\u202e", "\u2066", "\u2028", "\ud800"]


@pytest.mark.parametrize("escape", ESCAPES)
def test_what_would_steer_a_terminal_is_replaced_wherever_text_leaves(
    escape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = f"party 'a{escape}b' is at 東京 – naïve 🙂"
    RunLog(tmp_path / "run.log").note(sentence)
    Display(lively=False).notice(sentence)
    for left in (plain(sentence), plain_lines(sentence), capsys.readouterr().err, (tmp_path / "run.log").read_text()):
        assert escape[0] not in left
        assert "b' is at 東京 – naïve 🙂" in left


def test_a_live_display_is_not_steered_either(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(lively=True) as display:
        display.notice("a\x1b]0;owned\x07b")
    assert "\x1b]0;owned" not in capsys.readouterr().err


def test_an_error_keeps_its_lines_and_nothing_else_that_moves(covey: Covey, tmp_path: Path) -> None:
    called = covey("hierarchy", "show", tmp_path / "stu\x1b[2Jdy.toml")
    assert called.code == 2
    assert "\x1b" not in called.err
    assert f"stu{UNSEEN}[2Jdy.toml" in called.err
    assert plain_lines("one\n\ttwo") == "one\n    two"
    assert plain("one\ntwo") == f"one{UNSEEN}two"


def test_a_slug_names_no_other_folder() -> None:
    assert slug("../../etc/x", "study") == "etc-x"
    assert slug("/", "study") == slug("..", "study") == "study"
    assert slug("north_2024-a", "study") == "north_2024-a"
    assert len(slug("x" * 999, "study")) < 64


def test_a_respondents_folder_lies_here_whatever_the_study_is_called() -> None:
    def folder(name: str) -> Path:
        study: Any = SimpleNamespace(name=name, study_hash="0123456789abcdef")
        return Path(_folder_name(study))

    assert folder("health") == Path("respond-health")
    for name in ("x/../../../home/me/.ssh", "/etc", "..", "健康"):
        assert len(folder(name).parts) == 1
        assert ".." not in str(folder(name))
    assert folder("../health") != folder("health")


@pytest.mark.parametrize(
    "answer", [words.Refused("no\x1b[2J\nyes", True), words.Enrolled("h\x1b[2J")], ids=["why", "handle"]
)
def test_a_collector_cannot_steer_a_respondents_terminal(answer: words.Refused | words.Enrolled) -> None:
    class Line:
        async def say(self, said: object) -> None:
            pass

        async def read(self) -> object:
            return answer

        async def close(self) -> None:
            pass

    invitation: Any = SimpleNamespace(secret=bytes(32), study=bytes(32), fingerprint=bytes(32))

    async def connect(*, known: bool) -> tuple[Line, object]:
        return Line(), SimpleNamespace(nonce=bytes(32))

    dialer: Any = SimpleNamespace(connect=connect)
    with pytest.raises((AccessError, PeerError)) as refused:
        asyncio.run(enrol(dialer, "office", invitation, keyring.make("me")))
    assert str(refused.value).isprintable()


def test_a_collectors_last_word_cannot_either() -> None:
    respondent: Any = SimpleNamespace()
    with pytest.raises(Unmet, match="the collector says") as ended:
        Respondent._over(respondent, words.Over(how="ended", why="sorry\x1b[2J\nYou are done."))
    assert str(ended.value).isprintable()
