"""A joint release that singles people out: a simulation writes it and says no, a run of real parties writes nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import NAMES, Site, found, run_together

import covey
from covey.errors import CoveyError, Unmet
from covey.party.plan import make_plan
from covey.party.released import LEAKAGE
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.protocols.peel.disclosures import SENTENCES
from covey.study import Study
from covey.summary import Summary

ASKED = '[columns.stay]\nrole = "plain"\n'
ALLOWED = ASKED + 'singles_out = "the patients agreed"\n'
LEARNED = LEAKAGE.everyone[0]
LEFT = {"release.csv", "summary.json", "certificate.json"}


def sites_of(folder: Path, stay: str, protocol: str = "peel") -> dict[str, Site]:
    """Three parties whose rows also have a stay; one row of the north alone stayed 99 nights."""
    sites = found(folder)
    for name, site in sites.items():
        text = site.study.read_text().replace('"count"', f'"{protocol}"')
        text = text.replace('[protocol]\ncolumn = "age"\nlevel = 1\n', stay)
        if protocol == "cluster":
            text += '[protocol]\nas_printed = true\ncalls = "turn"\n'
        site.study.write_text(text)
        header, *rows = csv.reader(site.data.read_text().replace("diabetes", "flu").splitlines())
        with site.data.open("w", newline="") as file:
            csv.writer(file).writerows([[*header, "stay"], *([*row, "1"] for row in rows[1:])])
            csv.writer(file).writerow([*rows[0], "99" if name == "north" else "1"])
    return sites


def inputs(sites: dict[str, Site]) -> tuple[Study, dict[str, str]]:
    return Study.load(sites["north"].study), {name: str(site.data) for name, site in sites.items()}


@pytest.mark.parametrize("protocol", ["peel", "cluster"])
def test_a_simulation_in_one_process_writes_the_release_and_says_no(protocol: str, tmp_path: Path) -> None:
    study, data = inputs(sites_of(tmp_path / "sites", ASKED, protocol))
    release = covey.simulate(study, data, seed=1)
    release.save(tmp_path / "out")
    assert repr(release).startswith("Release(answer no: one published cell singles out people, by the column 'stay'")
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["singled_out"]["columns"] == {"stay": 1} and "'stay' (rows: 1)" in summary["refused"]
    assert summary["kept"] is not None and summary["loss"]["lm"] is not None
    verdict = covey.verify(tmp_path / "out" / "release.csv", study)
    assert not verdict and verdict.singled_out.two == summary["singled_out"]["two"]
    signed = json.loads((tmp_path / "out" / "certificate.json").read_bytes())["B"]
    assert signed["singled_out"]["one"] == 1 and signed["kept"] == pytest.approx(summary["kept"], abs=1e-9)


def test_the_command_writes_the_folder_and_ends_with_exit_one(covey: Covey, tmp_path: Path) -> None:
    sites = sites_of(tmp_path / "sites", ASKED)
    data = [part for name in NAMES for part in ("--data", f"{name}={sites[name].data}")]
    ended = covey("simulate", sites["north"].study, *data, "--in-process", "--out", tmp_path / "out")
    assert ended.code == 1 and "no, do not publish this: one published cell singles out people" in ended.err
    assert ended.out.startswith("One published cell singles out 1 row, two cells ")
    assert "loss" not in ended.out and "Kept" not in ended.out
    assert (tmp_path / "out" / "release.csv").is_file() and (tmp_path / "out" / "report.html").is_file()


def test_parties_as_processes_write_the_folder_too(tmp_path: Path) -> None:
    study, data = inputs(sites_of(tmp_path / "sites", ASKED))
    summary = simulate(study, data, tmp_path / "out", SimulationSetting())
    assert summary.refused is not None and (tmp_path / "out" / "release.csv").is_file()


def test_a_run_of_peel_ends_before_any_cell_is_opened_and_everybody_is_told_the_column(tmp_path: Path) -> None:
    """Nobody is asked, and no ledger says that cells were opened."""
    sites = sites_of(tmp_path, ASKED)
    ends = run_together({name: site.job() for name, site in sites.items()})
    for name, end in ends.items():
        assert isinstance(end, Unmet) and end.exit_code == 1
        assert str(end).startswith(
            "nothing is released: one row alone has a published value of the column 'stay'; group"
        )
        assert not {path.name for path in sites[name].out.iterdir()} & {*LEFT, "approval.txt"}
        ledger = json.loads((sites[name].out / "ledger.json").read_bytes())
        told = " ".join([*ledger["learned"], *(line for lines in ledger["others"].values() for line in lines)])
        assert SENTENCES["alone"] in told and SENTENCES["cells"] not in told and LEARNED not in told


def test_a_run_of_a_paper_writes_no_release_and_each_ledger_says_what_its_end_tells(tmp_path: Path) -> None:
    sites = sites_of(tmp_path, ASKED, "cluster")
    ends = run_together({name: site.job() for name, site in sites.items()})
    assert all(isinstance(end, CoveyError) and end.exit_code == 1 for end in ends.values()), ends
    told = [str(end) for end in ends.values() if isinstance(end, Unmet)]
    assert told and all(end.startswith("nothing is released: one published cell singles out people") for end in told)
    assert all("'stay'" in end and "99" not in end for end in told)
    for name, site in sites.items():
        assert not {path.name for path in site.out.iterdir()} & LEFT
        ledger = json.loads((site.out / "ledger.json").read_bytes())
        assert f"{name} learned {LEARNED}." in ledger["learned"]
        assert all(f"{other} learned {LEARNED}." in lines for other, lines in ledger["others"].items())


def test_a_run_whose_study_gives_a_reason_is_released(tmp_path: Path) -> None:
    sites = sites_of(tmp_path, ALLOWED)
    ends = run_together({name: site.job() for name, site in sites.items()})
    for end in ends.values():
        assert isinstance(end, Summary) and end.refused is None
        assert end.singled_out is not None and end.singled_out.columns == {"stay": 1}


@pytest.mark.parametrize(("protocol", "sentence"), [("peel", SENTENCES["alone"]), ("cluster", LEARNED)])
def test_the_plan_says_before_what_everybody_will_learn_of_it(protocol: str, sentence: str, tmp_path: Path) -> None:
    study, _ = inputs(sites_of(tmp_path, ASKED, protocol))
    learns = make_plan(study, dict.fromkeys(NAMES, 4), 0.03, 12.5e6).learns
    for lessons in learns.values():
        assert {SENTENCES["alone"], LEARNED} & set(lessons) == {sentence}
    assert "the rows have been opened to those who would get it" in LEARNED


def test_a_collection_by_peel_finds_it_before_the_approval_too(tmp_path: Path) -> None:
    trustees = "".join(f'[parties.t{place}]\nrole = "trustee"\n' for place in range(3))
    study = Study.parse(
        '[study]\nname = "town"\nprotocol = "peel"\npartition = "respondents"\n[privacy]\nk = 3\n'
        '[columns.age]\nrole = "quasi"\nhierarchy = { min = 0, max = 99, steps = [10, 50] }\n'
        f'[columns.stay]\nrole = "plain"\nvalues = ["1", "2"]\n[parties.office]\nrole = "collector"\n{trustees}',
        tmp_path,
    )
    learns = make_plan(study, {"respondents": 30}, 0.03, 12.5e6).learns
    assert SENTENCES["alone"] in learns["office"] and LEARNED not in learns["office"]


def test_a_table_of_counts_is_not_counted(tmp_path: Path) -> None:
    sites = found(tmp_path)
    study, data = inputs(sites)
    release = covey.simulate(study, data, seed=1)
    assert release.singled_out is None and release.kept is None and release.figures.refused is None
    assert all(LEARNED not in sentence for lines in release.ledger.values() for sentence in lines)


@pytest.mark.parametrize("stay", [ASKED, ALLOWED])
def test_a_collection_of_respondents_is_judged_like_any_other(stay: str, tmp_path: Path) -> None:
    text = (
        '[study]\nname = "town"\nprotocol = "collect"\npartition = "respondents"\n[privacy]\nk = 3\n'
        "[protocol]\nas_printed = true\n"
        '[columns.age]\nrole = "quasi"\nhierarchy = { min = 0, max = 99, steps = [10, 50] }\n'
        f'{stay}[parties.office]\nrole = "collector"\n'
    )
    study = Study.parse(text, tmp_path)
    rows = tmp_path / "rows.csv"
    rows.write_text("age,stay\n" + "".join(f"{30 + place % 4},{99 if place == 5 else 1}\n" for place in range(8)))
    release = covey.simulate(study, {"respondents": str(rows)}, seed=1)
    assert release.singled_out is not None and release.singled_out.columns == {"stay": 1}
    assert (release.figures.refused is None) == (stay == ALLOWED)
