"""Pages that need no browser to be tried: hierarchies, collections, uploads, and what a study cannot do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from tests.ui.workbench import Client, Server, serving

from covey import samples
from covey.study import Study

pytestmark = pytest.mark.thorough
ONE_WORKER = "one server answers all of them"
ROWS = "".join(f"{20 + n % 40},{('nurse', 'clerk', 'cook', 'pilot')[n % 4]},{n % 100:05d}\n" for n in range(200))
STUDY = "people/study.toml"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "people.csv").write_text(f"age,occupation,postcode\n{ROWS}")
    shutil.copytree(samples.path("survey"), folder / "survey")
    with serving(folder) as running:
        client = running.client
        client.wait_for("What are the columns", "/table", data="people.csv")
        assert client.post("/table/save", data="people.csv", out=STUDY).status == 303
        yield running


def seen(client: Client, column: str, study: str = STUDY) -> dict[str, str]:
    page = client.get("/hierarchy", study=study, column=column).text
    found = re.search(r'name="seen" value="([0-9a-f]+)"', page)
    assert found, page
    return {"study": study, "column": column, "seen": found[1]}


def test_values_are_grouped_and_the_file_is_arxs(server: Server) -> None:
    client = server.client
    before = client.get("/hierarchy", study=STUDY, column="occupation").text
    assert "It has every value of the table." in before
    body = "&".join(f"{key}={value}" for key, value in {**seen(client, "occupation"), "token": client.token}.items())
    body += "&node=nurse&node=pilot&label=at+work&action=group"
    assert client.ask("POST", f"{client.prefix}/hierarchy/edit", body).status == 303
    tree = Study.load(server.folder / STUDY).column("occupation").tree([])
    assert tree.covers("at work", "pilot")
    assert not tree.covers("at work", "cook")
    file = client.get("/hierarchy/file", study=STUDY, column="occupation")
    assert "nurse;at work;" in file.text.replace('"', "")
    late = client.ask("POST", f"{client.prefix}/hierarchy/edit", body.replace("at+work", "other"))
    assert late.status == 409


@pytest.mark.parametrize(
    ("column", "fields", "said"),
    [
        (
            "age",
            {"wizard": "numbers", "min": "0", "max": "99", "steps": "10 50"},
            "min = 0, max = 99, steps = [10, 50]",
        ),
        ("postcode", {"wizard": "prefix", "lengths": "4 2"}, "prefix = [4, 2]"),
        ("postcode", {"wizard": "flat"}, "flat"),
    ],
)
def test_a_wizard_shows_what_it_makes_and_then_makes_it(
    server: Server, column: str, fields: dict[str, str], said: str
) -> None:
    client = server.client
    proposed = client.get("/hierarchy", study=STUDY, column=column, **fields).text
    assert "It would be" in proposed
    assert said in proposed
    assert client.post("/hierarchy/use", **seen(client, column), **fields).status == 303
    assert said in (server.folder / STUDY).read_text()


def test_a_wizard_that_makes_no_tree_says_why_and_writes_nothing(server: Server) -> None:
    client = server.client
    before = (server.folder / STUDY).read_text()
    wrong = {"wizard": "numbers", "min": "50", "max": "10", "steps": "5"}
    assert 'role="alert"' in client.get("/hierarchy", study=STUDY, column="age", **wrong).text
    assert client.post("/hierarchy/use", **seen(client, "age"), **wrong).status == 400
    assert (server.folder / STUDY).read_text() == before


def test_values_that_a_tree_lacks_are_counted(server: Server) -> None:
    narrow = {"wizard": "numbers", "min": "0", "max": "30", "steps": "10"}
    page = server.client.get("/hierarchy", study=STUDY, column="age", **narrow).text
    assert "of the table in" in page
    assert "not in it" in page


def test_a_collection_is_shown_to_its_organiser(server: Server) -> None:
    client, study = server.client, "survey/study.toml"
    file = server.folder / study
    file.write_text(file.read_text() + '\n[protocol]\nmethod = "curve"\n')
    assert client.post("/partners/me", study=study, party="collector", address="127.0.0.1:7799").status == 303
    assert "invite them and collect their answers" in client.get("/partners", study=study).text
    assert "Nobody has been invited yet" in client.get("/collection", study=study).text
    assert client.post("/collection/invite", study=study, count="3", days="2").status == 303
    page = client.wait_for("Download the list", "/collection", study=study).text
    found = re.search(r"invitations\?job=(\d+)", page)
    assert found
    assert len(client.get("/collection/invitations", job=found[1]).text.split()) == 3
    assert client.post("/collection/serve", study=study, quorum="10").status == 303
    page = client.wait_for("of 10 needed", "/collection", study=study).text
    assert "enrolment" in page
    job = re.search(r'name="job" value="(\d+)"', page)
    assert job
    assert client.post("/job/stop", job=job[1]).status == 303


def test_a_study_with_problems_shows_all_of_them(server: Server) -> None:
    (server.folder / "broken.toml").write_text('[study]\nname = "x"\n[columns.age]\nrole = "odd"\n')
    page = server.client.get("/study", study="broken.toml")
    assert page.status == 400
    assert "needs a [privacy] section" in page.text
    (server.folder / "broken.toml").unlink()
