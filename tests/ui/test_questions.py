"""The workbench asks what a draft left open, one column at a time, and drafts what `covey new` drafts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.drafts import tables
from tests.ui.workbench import Server, serving

import covey
from covey.schema import Role

pytestmark = pytest.mark.thorough
ONE_WORKER = "one server answers all of them"
TABLE = "czech-sport-injuries"
PATH = f"{TABLE}/study.toml"
WAITING = "jméno trenéra"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("folder")
    tables.write(TABLE, folder, 20_261)
    with serving(folder) as running:
        running.client.wait_for("What are the columns", "/table", data=f"{TABLE}.csv")
        assert running.client.post("/table/save", data=f"{TABLE}.csv", out=PATH).status == 303
        yield running


def test_the_workbench_drafts_what_the_command_drafts(server: Server, tmp_path: Path) -> None:
    covey.new(server.folder / f"{TABLE}.csv", out=tmp_path / "study.toml")
    drafted, made = covey.Study.load(tmp_path / "study.toml"), covey.Study.load(server.folder / PATH)
    assert [(each.name, each.role) for each in drafted.columns] == [(each.name, each.role) for each in made.columns]
    assert drafted.study_hash == made.study_hash


def test_each_open_question_is_asked_and_its_answer_stands_in_the_study(server: Server) -> None:
    client = server.client
    assert [column.name for column in covey.Study.load(server.folder / PATH).waiting] == [WAITING]
    assert "Answer the questions" in client.get("/study", study=PATH).text
    page = client.get("/questions", study=PATH).text
    assert WAITING in page
    assert "it is not published" in page
    assert "left for later" in client.get("/questions", study=PATH, after="1").text
    fields = dict(re.findall(r'name="(study|data|seen|column|after)" value="([^"]*)"', page))
    wrong = client.post("/questions/answer", **fields, role="open")
    assert wrong.status == 400
    answered = client.post("/questions/answer", **fields, role="identifier")
    assert answered.status == 303
    assert covey.Study.load(server.folder / PATH).column(WAITING).role is Role.IDENTIFIER
    assert "No question is open" in client.get("/questions", study=PATH).text
    late = client.post("/questions/answer", **fields, role="quasi")
    assert late.status == 409
