"""Control files: a program sees how a run stands, and answers its question."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest
from tests.consortium import NAMES, study_text

from covey.errors import InputError
from covey.party.session.approval import ApprovalQuestion
from covey.party.session.control import ANSWER, QUESTION, STATUS, Control, answer
from covey.party.session.progress import Snapshot
from covey.protocols import Proposal
from covey.secure.declare import Leakage
from covey.study import Study

ASKED = ApprovalQuestion(Study.parse(study_text()), "north", NAMES, Proposal(Leakage()), (), ())


def test_the_status_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    control = Control(tmp_path / "control")
    control.show(Snapshot("north", "meeting", waiting=("south",)))
    found = json.loads((tmp_path / "control" / STATUS).read_text())
    assert (found["phase"], found["waiting"], found["began"]) == ("meeting", ["south"], None)
    assert stat.S_IMODE((tmp_path / "control" / STATUS).stat().st_mode) == 0o600


@pytest.mark.parametrize(("words", "expected"), [(["yes"], True), (["perhaps", "no"], False)])
def test_the_question_is_asked_by_file_and_answered_by_pipe(tmp_path: Path, words: list[str], expected: bool) -> None:
    async def run() -> bool:
        control = Control(tmp_path)
        asking = asyncio.create_task(control.ask(ASKED))
        await asyncio.sleep(0)  # it asks at once
        assert "released?" in json.loads((tmp_path / QUESTION).read_text())["question"]
        assert stat.S_IMODE((tmp_path / ANSWER).stat().st_mode) == 0o600
        for word in words:
            answer(tmp_path, word)
            await asyncio.sleep(0.05)
        return await asking

    assert asyncio.run(run()) is expected
    assert not (tmp_path / QUESTION).exists()


def test_an_answer_to_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="asks nothing"):
        answer(tmp_path, "yes")
