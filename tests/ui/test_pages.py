"""Pages that need no browser to be tried: hierarchies, collections, uploads, and what a study cannot do."""

from __future__ import annotations

import html
import json
import re
import shutil
import tomllib
from collections.abc import Iterator

import openpyxl
import pytest
from tests.harness.trees import covers
from tests.ui.workbench import Answer, Client, Server, serving

from covey import samples
from covey.study import Study
from covey.ui.workspace import mark

pytestmark = pytest.mark.thorough
ONE_WORKER = "one server answers all of them"
ROWS = "".join(f"{20 + n % 40},{('nurse', 'clerk', 'cook', 'pilot')[n % 4]},{n % 100:05d}\n" for n in range(200))
STUDY = "people/study.toml"
CLINIC = "id,age,town\n" + "".join(f"B{n},{20 + n % 40},{('Bonn', 'Ulm')[n % 2]}\n" for n in range(120))
BILLING = "id,job\n" + "".join(f"B{n},{('nurse', 'clerk', 'cook')[n % 3]}\n" for n in range(120))


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
    assert covers(tree, "at work", "pilot")
    assert not covers(tree, "at work", "cook")
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


def test_edits_are_undone_and_done_again_until_the_column_is_changed_elsewhere(server: Server) -> None:
    client, folder = server.client, server.folder / "undo"
    folder.mkdir()
    study, text = "undo/study.toml", '[study]\nname = "x"\n[privacy]\nk = 2\n[columns.job]\nrole = "quasi"\n'
    text += (
        'hierarchy = "job.csv" # ours\n[columns.town]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["Bonn", "Ulm"]\n'
    )
    first = "cook;*\nnurse;*\npilot;*\n"
    (folder / "study.toml").write_text(text)
    (folder / "job.csv").write_text(first)

    def edit(column: str, action: str, **fields: str) -> int:
        return client.post("/hierarchy/edit", **seen(client, column, study), action=action, **fields).status

    def step(column: str, way: str) -> int:
        return client.post("/hierarchy/undo", **seen(client, column, study), step=way).status

    assert step("job", "undo") == 400, "there is nothing to undo yet"
    assert edit("job", "group", node="cook", label="kitchen") == 303
    grouped = (folder / "job.csv").read_bytes()
    assert edit("job", "add", value="clerk") == 303
    assert edit("town", "free") == 303, "another column of the same study"
    assert "Undo: Add" in client.get("/hierarchy", study=study, column="job").text
    assert step("job", "undo") == 303
    assert (folder / "job.csv").read_bytes() == grouped
    assert step("job", "undo") == 303
    assert (folder / "job.csv").read_text() == first
    assert [step("job", "redo"), step("job", "redo"), step("job", "redo")] == [303, 303, 400]
    assert "clerk" in (folder / "job.csv").read_text()
    assert step("job", "undo") == 303
    assert edit("job", "rename", node="pilot", label="captain") == 303
    assert step("job", "redo") == 400, "what was undone is forgotten with the next edit"
    assert step("town", "undo") == 303
    assert tomllib.loads((folder / "study.toml").read_text()) == tomllib.loads(text)
    assert not (folder / "hierarchies" / "town.csv").exists(), "the edit had made it"
    (folder / "job.csv").write_text(first)
    assert "Undo: " not in client.get("/hierarchy", study=study, column="job").text, "its owner has changed it by hand"


def test_a_file_that_cannot_be_read_is_no_table_to_choose(server: Server) -> None:
    client = server.client
    (server.folder / "torn.csv").write_text("age,age\n1,2\n")
    assert "torn.csv" in client.get("/study", study=STUDY).text, "nobody has looked at it yet"
    client.wait_for("Try again", "/table", data="torn.csv")
    assert "torn.csv" not in client.get("/study", study=STUDY).text
    assert "not read" in client.get("/").text
    (server.folder / "torn.csv").write_text("age,sex\n1,2\n")
    assert "torn.csv" in client.get("/study", study=STUDY).text, "it has been mended"
    (server.folder / "torn.csv").unlink()


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
    text = file.read_text().replace('protocol = "peel"', 'protocol = "collect"').partition("[parties.health-office]")[0]
    file.write_text(text + "\n[protocol]\nas_printed = true\n")
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


def card_in(answer: Answer) -> str:
    """The card that a page asks to compare."""
    return answer.headers["location"].partition("card=")[2]


def test_columns_that_two_parties_hold_become_one_study(server: Server) -> None:
    """A partner gives its columns, the other one puts the study together, and a helper takes part."""
    client, folder = server.client, server.folder
    for name, table in (("clinic", CLINIC), ("billing", BILLING)):
        (folder / f"{name}.csv").write_text(table)
        client.wait_for("What are the columns", "/table", data=f"{name}.csv")
        assert client.post("/table/save", data=f"{name}.csv", out=f"{name}/study.toml").status == 303
    theirs, ours = "billing/study.toml", "clinic/study.toml"
    assert client.post("/partners/offer", study=theirs, own="billing", key="id").status == 303
    offered = client.get("/partners/columns", study=theirs).text
    assert "B7,cook" not in offered, "a card has columns, and no row"
    hostile = json.loads(offered)
    hostile["study"] |= {"notes.txt": hostile["study"].pop("hierarchies/job.csv")}
    hostile["study"]["study.toml"] = hostile["study"]["study.toml"].replace("hierarchies/job.csv", "notes.txt")
    offered = json.dumps(hostile)
    (folder / "clinic" / "notes.txt").write_text("ours")
    page = client.get("/partners", study=ours, split="columns").text
    seen_now = page.partition('name="seen" value="')[2].partition('"')[0]
    form = {"study": ours, "seen": seen_now, "split": "columns", "own": "clinic", "key": "id", "protocol": "peel"}
    without = client.send("/partners/make", {"cards": offered.encode()}, **form)
    assert without.status == 400
    assert "add a third office that holds no data" in without.text, "peel for two says what it needs"
    made = client.send("/partners/make", {"cards": offered.encode()}, **form, helper="notary", name="joint")
    assert made.status == 303, made.text
    study = Study.load(folder / ours)
    assert [party.columns for party in study.parties] == [("age", "town"), ("job",), None]
    assert study.party("notary").role == "helper"
    assert (folder / "clinic" / "notes.txt").read_text() == "ours", "a partner's file overwrites none of ours"
    assert "holds age, town" in client.get("/partners", study=ours).text
    invitation = client.get("/partners/card", study=ours, **{"with": "study"}).text
    opened = client.send("/partners/add", {"file": invitation.encode()}, study=theirs)
    card = card_in(opened)
    page = client.get("/partners/compare", study=theirs, card=card).text
    assert "+role = &#34;helper&#34;" in page, "what would change is shown first"
    assert client.post("/partners/admit", study=theirs, card=card, take="yes").status == 400, "nobody has compared"
    assert client.post("/partners/admit", study=theirs, card=card, take="yes", compared="yes").status == 303
    taken = Study.load(folder / theirs)
    assert taken.study_hash == study.study_hash
    assert taken.party("billing").certificate is not None


def test_a_partner_with_other_values_adds_them_and_sends_the_study_back(server: Server) -> None:
    client, folder = server.client, server.folder
    (folder / "rows.csv").write_text("town,job\n" + "Bonn,cook\nUlm,clerk\n" * 30)
    (folder / "more.csv").write_text("town,job\n" + "Bonn,cook\nKiel,pilot\n" * 30)
    client.wait_for("What are the columns", "/table", data="rows.csv")
    assert client.post("/table/save", data="rows.csv", out="rows/study.toml").status == 303
    page = client.get("/partners", study="rows/study.toml").text
    seen_now = page.partition('name="seen" value="')[2].partition('"')[0]
    form = {
        "study": "rows/study.toml",
        "seen": seen_now,
        "own": "north",
        "others": "south",
        "helper": "office",
        "protocol": "peel",
    }
    assert client.post("/partners/make", **form, address="127.0.0.1:7701").status == 303
    invitation = client.get("/partners/card", study="rows/study.toml", **{"with": "study"}).text
    card = card_in(client.send("/join/open", {"file": invitation.encode()}))
    joined = client.post("/join/accept", card=card, compared="yes", party="south", folder="joined")
    assert joined.status == 303, joined.text
    study = "joined/study.toml"
    client.post("/partners/check", study=study, kind="check", data="more.csv")
    client.wait_for("add what is missing there", "/partners", study=study)
    client.wait_for("not in it", "/hierarchy", study=study, column="town")
    for column in ("town", "job"):
        assert client.post("/hierarchy/edit", **seen(client, column, study), action="add").status == 303
        assert "It has every value of the table." in client.get("/hierarchy", study=study, column=column).text
    assert "it was changed here" in client.get("/partners", study=study).text
    back = client.get("/partners/card", study=study, **{"with": "study"}).text
    card = card_in(client.send("/partners/add", {"file": back.encode()}, study="rows/study.toml"))
    assert "Kiel" in client.get("/partners/compare", study="rows/study.toml", card=card).text
    admitted = client.post("/partners/admit", study="rows/study.toml", card=card, take="yes", compared="yes")
    assert admitted.status == 303, admitted.text
    assert Study.load(folder / "rows/study.toml").study_hash == Study.load(folder / study).study_hash


def test_an_excel_file_with_several_sheets_asks_for_one(server: Server) -> None:
    client = server.client
    book = openpyxl.Workbook()
    for name in ("2023", "R&D 2024"):
        sheet = book.create_sheet(name)
        for row in (("age", "town"), *((20 + number % 10, ("Bonn", "Ulm")[number % 2]) for number in range(60))):
            sheet.append(row)
    del book["Sheet"]
    book.save(server.folder / "visits.xlsx")
    page = client.wait_for("Which sheet of", "/table", data="visits.xlsx").text
    chosen = html.unescape(re.findall(r'<option value="([^"]+)">', page)[1])
    assert "visits.xlsx, sheet R&amp;D 2024" in client.wait_for("What are the columns", "/table", data=chosen).text
    assert client.post("/table/save", data=chosen, out="visits/study.toml").status == 303
    assert "visits.xlsx, sheet R&amp;D 2024" in client.get("/study", study=STUDY).text, "it can be chosen elsewhere too"


def test_what_went_wrong_is_a_sentence_with_a_way_back(server: Server) -> None:
    client = server.client
    there = f"http://127.0.0.1:{client.port}{client.prefix}/hierarchy?study=x"
    body = "&".join(f"{key}={value}" for key, value in {**seen(client, "occupation"), "token": client.token}.items())
    body += "&label=x&action=rename"
    answer = client.ask("POST", f"{client.prefix}/hierarchy/edit", body, referer=there)
    assert answer.status == 400
    assert "Choose the one value or group to rename" in answer.text
    assert f'href="{client.prefix}/hierarchy?study=x"' in answer.text
    foreign = client.ask("POST", f"{client.prefix}/hierarchy/edit", body, referer="http://evil.example/x")
    assert "evil" not in foreign.text


def test_ages_are_counted_in_the_tree_of_dates_of_birth(server: Server) -> None:
    client = server.client
    days = "".join(f"{1 + n % 28:02d}.0{1 + n % 9}.{1940 + n % 60},{'MF'[n % 2]}\n" for n in range(240))
    (server.folder / "births.csv").write_text(f"date of birth,sex\n{days}")
    client.wait_for("What are the columns", "/table", data="births.csv")
    assert client.post("/table/save", data="births.csv", out="births/study.toml").status == 303
    page = client.get("/hierarchy", study="births/study.toml", column="date of birth").text
    assert "Ages. " in page
    assert "240 rows" in page
    assert "no rows" not in page.partition('class="tree"')[2]


def test_a_study_with_problems_shows_all_of_them(server: Server) -> None:
    (server.folder / "broken.toml").write_text('[study]\nname = "x"\n[columns.age]\nrole = "odd"\n')
    page = server.client.get("/study", study="broken.toml")
    assert page.status == 400
    assert "needs a [privacy] section" in page.text
    (server.folder / "broken.toml").unlink()


def test_a_trial_that_singles_people_out_is_shown_with_its_answer_and_cannot_be_chosen(server: Server) -> None:
    client, folder = server.client, server.folder / "alone"
    folder.mkdir()
    rows = "".join(f"{20 + n % 4},{99 if n == 7 else 1}\n" for n in range(40))
    (folder / "rows.csv").write_text(f"age,stay\n{rows}")
    (folder / "study.toml").write_text(
        '[study]\nname = "alone"\n[privacy]\nk = 5\n[columns.age]\nrole = "quasi"\n'
        'hierarchy = { min = 0, max = 99, steps = [10] }\n[columns.stay]\nrole = "plain"\n'
    )
    study = "alone/study.toml"
    assert client.post("/study/run", study=study, data="alone/rows.csv").status == 303
    shown = client.wait_for("the judge says", "/study", study=study).text
    assert "do not publish it" in shown, shown
    assert "came to nothing" not in shown, shown
    client.wait_for("<td>no</td>", "/study", study=study)
    trial = client.get("/trial", study=study, trial="trial-1").text
    assert "Do not publish this: one published cell singles out people" in trial
    for word in ("loss (LM)", "What each column lost", "Choose this one"):
        assert word not in trial
    text = (folder / "study.toml").read_text()
    refused = client.post("/trial/choose", study=study, trial="trial-1", seen=mark(text))
    assert refused.status == 400 and not (folder / "release").exists()
