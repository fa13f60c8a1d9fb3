"""A survey in one process: what it leaves, that it repeats itself, and who may stop it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import covey
from covey import samples
from covey.cli import app
from covey.errors import Aborted, CoveyError, InputError
from covey.judge import verify
from covey.party.audit.folders import audit
from covey.party.session import respondents as messages
from covey.party.simulate import respondents
from covey.study import Study
from covey.wire import Channel

ROWS = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The survey that ships, with a few of its rows and a grid of a few hundred cells."""
    found = samples.copy("survey", tmp_path_factory.mktemp("survey") / "sample")
    text = (found / "study.toml").read_text()
    text = text.partition("[parties.health-office]")[0].replace('protocol = "peel"', 'protocol = "collect"')
    (found / "study.toml").write_text(text + "\n[protocol]\nas_printed = true\ngrid = 400\ncommittee = 3\n")
    few = pyarrow.csv.read_csv(found / "survey.csv").slice(0, ROWS)
    pyarrow.csv.write_csv(few, found / "few.csv")
    return found


@pytest.fixture(scope="module")
def out(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run from the command line leaves."""
    left = tmp_path_factory.mktemp("run") / "out"
    arguments = [
        "simulate",
        str(folder / "study.toml"),
        "--table",
        str(folder / "few.csv"),
        "--out",
        str(left),
        "--seed",
        "7",
    ]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert f"{ROWS} rows" in done.output
    return left


def test_the_collector_gets_the_release_and_the_judge_agrees(out: Path, folder: Path) -> None:
    verdict = verify(str(out / "release.csv"), Study.load(folder / "study.toml"))
    assert verdict.answer, verdict.sentence()
    assert (out / "release.csv").read_bytes() == (out / "collector" / "release.csv").read_bytes()
    assert {child.name for child in out.iterdir() if child.is_dir()} == {"collector", "certs", "hierarchies"}


def test_an_audit_finds_the_collectors_folder_in_order(out: Path) -> None:
    [audited] = audit([out])
    assert audited.wrong == () and audited.finished and audited.messages > 20 * ROWS // 2
    assert "the run is finished" in (out / "collector" / "run.log").read_text()


def test_an_audit_notices_a_changed_message_and_a_ledger_that_lacks_a_sentence(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out / "collector", tmp_path / "changed")
    transcript = tmp_path / "changed" / "transcript.jsonl"
    lines = transcript.read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if '"collect.answers"' in line)
    transcript.write_text("".join([*lines[:place], *lines[place + 1 :]]))
    [audited] = audit([tmp_path / "changed"])
    assert audited.wrong


def test_the_ledger_tells_the_collectors_chance_and_what_respondents_learn(out: Path) -> None:
    ledger = json.loads((out / "collector" / "ledger.json").read_text())
    assert any("guessed the exact cell of" in line for line in ledger["learned"])
    assert any("position on a line" in line for line in ledger["learned"])
    assert set(ledger["others"]) == {"respondents"}
    assert not any("position" in line for line in ledger["others"]["respondents"])


@pytest.mark.thorough
def test_a_seed_repeats_the_release_and_another_may_not(folder: Path, out: Path) -> None:
    study, table = Study.load(folder / "study.toml"), pyarrow.csv.read_csv(folder / "few.csv")
    text = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    again = covey.simulate(study, {"respondents": text}, seed=7)
    assert isinstance(again.table, pa.Table)
    kept = pyarrow.csv.read_csv(out / "release.csv")
    assert again.table.num_rows == kept.num_rows == ROWS
    digest = json.loads((out / "summary.json").read_text())["release_sha256"]
    assert again.summary["release_sha256"] == digest


def test_respondents_have_no_folder_and_one_line_in_the_summary(out: Path) -> None:
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["per_party"]) == {"collector", "respondents"}
    assert summary["rows"] == ROWS and summary["k_reached"] >= 5


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--data", "collector=few.csv"], "one table"),
        (["--table", "few.csv", "--skew", "age"], "--skew"),
        (["--table", "few.csv", "--latency", "30ms"], "--latency"),
    ],
)
def test_what_makes_no_sense_for_respondents_is_refused(
    folder: Path, tmp_path: Path, extra: list[str], words: str
) -> None:
    given = [str(folder / part) if part.endswith("few.csv") and "=" not in part else part for part in extra]
    done = CliRunner().invoke(app, ["simulate", str(folder / "study.toml"), "--out", str(tmp_path / "out"), *given])
    assert isinstance(done.exception, InputError) or done.exit_code == 2
    assert words in f"{done.output}{done.exception}"


def failing(folder: Path, out: Path | None = None) -> CoveyError:
    study = Study.load(folder / "study.toml")
    with pytest.raises(CoveyError) as caught:
        respondents.simulate(study, str(folder / "few.csv"), seed=1, out=out)
    return caught.value


@pytest.mark.thorough
def test_one_refusal_ends_the_run_with_nothing_released(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Channel.send

    async def send(self: Channel, to: str, message: object) -> None:
        if isinstance(message, messages.Consent) and self.me == "r05":
            message = messages.Consent(False)
        await original(self, to, message)  # type: ignore[arg-type]

    monkeypatch.setattr(Channel, "send", send)
    error = failing(folder, tmp_path / "out")
    assert isinstance(error, Aborted) and "'r05'" in str(error) and not error.resumable
    assert not (tmp_path / "out" / "release.csv").exists()
    ledger = json.loads((tmp_path / "out" / "collector" / "ledger.json").read_text())
    assert ledger["outcome"].startswith("ended") and any("position" in line for line in ledger["learned"])


@pytest.mark.thorough
def test_a_respondent_that_saw_another_run_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Channel.send

    async def send(self: Channel, to: str, message: object) -> None:
        if isinstance(message, messages.Compared) and self.me == "r07":
            message = messages.Compared(bytes(32), message.read)
        await original(self, to, message)  # type: ignore[arg-type]

    monkeypatch.setattr(Channel, "send", send)
    error = failing(folder)
    assert "'r07'" in str(error) and "another run" in str(error)


def test_a_study_that_lists_respondents_is_not_simulated_from_a_table(folder: Path) -> None:
    study = Study.parse((folder / "study.toml").read_text() + "\n[parties.someone]\n", folder)
    with pytest.raises(InputError, match="list none"):
        respondents.simulate(study, str(folder / "few.csv"))


def test_the_report_tells_what_the_collector_learned_apart_from_what_respondents_did(out: Path) -> None:
    page = (out / "report.html").read_text()
    told = page[page.index("What each party learned") :]
    assert re.search(r"respondents took part</td><td><span>every party</span>", told)
    assert re.search(r"position on a line [^<]*</td><td><bdi>collector</bdi></td>", told)
    assert re.search(r"how many respondents are in its class[^<]*</td><td><bdi>respondents</bdi></td>", told)
