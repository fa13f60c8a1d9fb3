"""The page says what the folder's files say, and says no when they do not belong together."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from tests.browser.pages import NASTY, hostile
from tests.conftest import Covey
from tests.consortium import data_text, found, jobs, run_together, study_text

import covey as library
from covey import samples
from covey.errors import InputError
from covey.party.record.reporting import gather, write
from covey.report import LedgerFile, Material, render
from covey.summary import Summary


def words(page: str) -> str:
    """What a reader sees, without elements."""
    body = page.partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def answer(page: str) -> str:
    """The word in the box."""
    return unescape(page.partition('<div class="word">')[2].partition("</div>")[0])


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of a few rows of the sample, with the data beside it."""
    folder = samples.copy("clinic", tmp_path_factory.mktemp("clinic") / "clinic")
    lines = (folder / "clinic.csv").read_text().splitlines(keepends=True)
    (folder / "few.csv").write_text("".join(lines[:301]))
    text = (folder / "study.toml").read_text()
    for role in ("plain", "sensitive"):  # of few rows some have a value of their own
        text = text.replace(f'role = "{role}"', f'singles_out = "made up"\nrole = "{role}"')
    (folder / "study.toml").write_text(text)
    study = library.Study.load(folder / "study.toml")
    library.anonymize(folder / "few.csv", study, algorithm="mondrian").save(folder / "out")
    return folder


@pytest.fixture
def out(clinic: Path, tmp_path: Path) -> Path:
    """A copy of the release's folder."""
    shutil.copytree(clinic / "out", tmp_path / "out")
    return tmp_path / "out"


def test_the_first_screen_of_a_release_answers_and_has_the_figures(out: Path) -> None:
    page = (out / "report.html").read_text()
    summary = json.loads((out / "summary.json").read_bytes())
    assert answer(page) == "Yes"
    opening = words(page.partition("<h2")[0])
    for said in (
        "k, smallest class 5 asked: 5",
        "l, diversity",
        f"{summary['loss']['lm']:.3f}",
        "rows withheld",
        f"kept {summary['kept']:.3f}",
    ):
        assert said in opening
    counted = summary["singled_out"]
    assert opening.index(f"rows that one cell singles out {counted['one']}") < opening.index("k, smallest class")
    assert f"rows that two cells single out {counted['two']}" in opening
    assert summary["release_sha256"] in opening
    assert summary["study_hash"] in opening
    assert "algorithm mondrian" in opening


def test_a_release_that_singles_people_out_is_a_no_without_its_loss(out: Path, clinic: Path, covey: Covey) -> None:
    text = (out / "study.toml").read_text().replace('singles_out = "made up"\n', "")
    (clinic / "strict.toml").write_text(text)
    target = out.parent / "strict"
    called = covey("anonymize", clinic / "strict.toml", "--data", clinic / "few.csv", "--out", target)
    assert called.code == 1 and "no, do not publish this: one published cell singles out people" in called.err
    assert "loss" not in called.out.lower() and "kept" not in called.out.lower()
    page = (target / "report.html").read_text()
    assert answer(page) == "No"
    assert "rows that one cell singles out" in words(page)
    for picture in ("loss (LM)", "kept", "What each column lost", "What another k would cost"):
        assert picture not in words(page)
    summary = json.loads((target / "summary.json").read_bytes())
    assert summary["refused"] and summary["loss"]["lm"] > 0 and summary["kept"] > 0


def test_a_release_of_one_owner_has_every_picture(out: Path) -> None:
    page = words((out / "report.html").read_text())
    for head in (
        "What each column lost",
        "How large the classes are",
        "How likely a stranger is to find a person",
        "Each column before and after",
        "What another k would cost",
        "What others could learn from the run",
        "How to check it",
    ):
        assert head in page
    assert "the original" in page
    assert "This page shows counts of the original data" in page
    for column in ("age", "sex", "postcode", "diagnosis", "stay"):
        assert f"{column} (" in page
    assert "patient_id" not in page


def test_a_report_made_again_from_the_folder_shows_nothing_of_the_original(out: Path, covey: Covey) -> None:
    assert covey("report", out).code == 0
    page = words((out / "report.html").read_text())
    assert answer((out / "report.html").read_text()) == "Yes"
    assert "counts of the original data" not in page
    assert "Each column before and after, and the risks before: the original data were not at hand" in page
    assert "→" not in page


def test_with_the_data_the_report_is_again_what_it_was(out: Path, clinic: Path, covey: Covey) -> None:
    before = (out / "report.html").read_text()
    assert covey("report", out, "--data", clinic / "few.csv").code == 0
    assert (out / "report.html").read_text() == before


def test_an_altered_release_is_not_to_be_published(out: Path) -> None:
    path = out / "release.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    page = write(out).read_text()
    assert answer(page) == "No"
    assert "is not the one of this run: its SHA-256" in page


def test_a_release_below_k_is_not_to_be_published(out: Path) -> None:
    study = out / "study.toml"
    study.write_text(study.read_text().replace("k = 5", "k = 50", 1))
    page = words(write(out).read_text())
    assert "Do not publish this" in page
    assert "K must be at least 50 but it is" in page
    assert "The study in this folder is not the one of this run" in page


def test_a_release_that_the_judge_cannot_read_is_not_to_be_published(out: Path) -> None:
    path = out / "release.csv"
    path.write_text(path.read_text().replace("*", "?"))
    page = write(out).read_text()
    assert answer(page) == "No"
    assert "The judge cannot read it: release.csv: column" in words(page)
    assert str(out.parent) not in page


def test_without_its_study_a_release_is_not_judged(out: Path) -> None:
    (out / "study.toml").unlink()
    page = write(out).read_text()
    assert answer(page) == "Not judged"
    assert "What each column lost" not in page


def test_the_page_forbids_everything_but_its_own_style(out: Path) -> None:
    page = (out / "report.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert unescape(policy[1]) == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"<(script|link|img|iframe|object|embed|form|base)\b", page)
    assert not re.search(r"\b(src|href|action|on\w+)=", page)
    assert "url(" not in page.replace("url(#hatched)", "")


@pytest.mark.parametrize("parties", [(), (NASTY[1], NASTY[2], NASTY[3])])
def test_hostile_names_labels_and_sentences_are_text(parties: tuple[str, ...]) -> None:
    page = render(hostile(8, parties=parties))
    assert not re.search(r"<(script|img|/?style><)", page.partition("<body>")[2])
    assert page.count("<style>") == page.count("</style>") == 1
    assert "&lt;script&gt;document.title=&#x27;run&#x27;&lt;/script&gt;" in page
    assert not re.search(r"<[^>]*\son\w+=", page)
    assert "<bdi>שלום" in page


def test_a_class_of_a_million_is_one_bar() -> None:
    page = words(render(hostile(2, 1_000_000)))
    assert "655,360 to 1,310,719 1; 1,000,000" in page
    assert "1,000,000 in 1 class" in page


def test_two_hundred_columns_are_all_there_and_most_behind_a_line_that_opens() -> None:
    page = render(replace(hostile(200), records=None))
    assert "176 more columns" in page
    assert words(page).count("0.000; 100%") == 200


def test_a_party_without_the_release_has_no_figures_on_its_page() -> None:
    summary = Summary(study="s", protocol="federate", parties=["a", "b", "c"], party="a", k=3, seconds=1.0, rounds=2)
    page = words(render(Material(summary, LedgerFile(party="a", others={"b": ["b learned x."]}))))
    assert "the release went to others" in page
    assert "rows released" not in page
    assert "loss" not in page
    assert "x – yes" in page


def test_a_run_that_ended_early_has_an_honest_page(tmp_path: Path) -> None:
    sites = found(tmp_path)

    async def no(shown: object) -> bool:
        return False

    todo = jobs(sites)
    run_together({**todo, "south": replace(todo["south"], decide=no)})
    page = (sites["north"].out / "report.html").read_text()
    assert answer(page) == "No release"
    assert "party 'south' refused the release; nothing was released" in words(page)
    assert "took part in the study 'small'; each one's certificate" in words(page)
    assert render(gather(sites["north"].out)) == page


def test_each_fact_stands_once_with_a_column_for_us_and_one_for_the_others() -> None:
    others = {"b": ["b learned the total."], "c": ["c learned the total.", "c learned 1,234,567 answers."]}
    ledger = LedgerFile(party="a", learned=["a learned the total."], others=others)
    page = words(render(Material(Summary(parties=["a", "b", "c"], party="a"), ledger)))
    assert "what we learned the others learned" in page
    assert "the total yes both about 1.2 million answers – c" in page
    assert page.count("the total") == 1


def test_what_given_up_sessions_taught_stays_on_the_page(tmp_path: Path) -> None:
    earlier = [{"outcome": "ended: cut off", "learned": ["a learned x."], "others": {"b": ["b learned y."]}}]
    (tmp_path / "ledger.json").write_text(json.dumps({"party": "a", "outcome": "o", "earlier": earlier}))
    page = words(write(tmp_path).read_text())
    assert "in a session that was given up ended: cut off" in page
    assert "x yes – y – yes" in page


def test_a_simulations_page_is_of_all_parties(tmp_path: Path, covey: Covey) -> None:
    (tmp_path / "study.toml").write_text(study_text(("north", "south")))
    data = []
    for name in ("north", "south"):
        (tmp_path / f"{name}.csv").write_text(data_text([(31, "F", "flu"), (32, "M", "none"), (35, "F", "none")]))
        data += ["--data", f"{name}={tmp_path / name}.csv"]
    joint = tmp_path / "out"
    assert covey("simulate", tmp_path / "study.toml", *data, "--in-process", "--out", joint).code == 0
    page = words((joint / "report.html").read_text())
    assert "Not judged" in page  # the protocol releases counts, not records
    assert "By phase" in page
    assert "By party" in page
    assert "all signatures hold" in page
    own = (joint / "north" / "report.html").read_text()
    phases = {each["name"]: each for each in json.loads((joint / "north" / "summary.json").read_bytes())["phases"]}
    assert list(phases) == ["approval", "sum", "release"]
    assert sum(each["rounds"] for each in phases.values()) == 2
    assert phases["sum"]["bytes"] > 0
    assert f"approval {phases['approval']['seconds']:.1f} s; 1; " in words(own)
    assert "the others learned" in own
    assert "covey audit . --replay --keys KEYS" in words(own)
    shown = covey("report", joint, "--data", tmp_path / "north.csv")
    assert shown.code == 2
    assert "name one party's folder" in shown.err
    certificate = joint / "certificate.json"
    certificate.write_text(certificate.read_text().replace('"k_reached": 6', '"k_reached": 9'))
    assert answer(write(joint).read_text()) == "No"


def test_the_commands_on_the_page_work_in_its_folder(out: Path, covey: Covey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(out)
    commands = re.findall(r"<pre><code>covey (.*?)</code></pre>", (out / "report.html").read_text())
    assert len(commands) == 3
    for command in commands:
        if "DATA" not in command:
            done = covey(*command.split())
            assert done.code == 0, done.err


def test_a_folder_without_a_run_and_a_damaged_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has neither summary\.json nor ledger\.json"):
        write(tmp_path)
    (tmp_path / "summary.json").write_text('{"rows": "many"}')
    with pytest.raises(InputError, match=r"summary\.json: is damaged"):
        write(tmp_path)


def test_an_evaluation_is_shown_to_the_owner_of_the_data_alone(clinic: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(clinic / "out", tmp_path / "out")
    study = library.Study.load(clinic / "study.toml")
    found = library.evaluate(folder / "release.csv", study, clinic / "few.csv", population=0.1)
    (folder / "evaluation.json").write_text(found.to_json())
    page = words(write(folder, data=str(clinic / "few.csv")).read_text())
    assert found.useful in page
    assert found.exposed in page
    assert "What it is good for" not in words(write(folder).read_text())
    (folder / "evaluation.json").write_text(found.to_json().replace(study.study_hash, "0" * 64))
    assert found.useful not in words(write(folder, data=str(clinic / "few.csv")).read_text())
