"""All parties on one machine: as processes over TLS and in one process, it is the same run."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import RELEASE, found
from tests.harness.joint import outcomes_of

import covey
from covey import samples
from covey.errors import InputError, Unmet
from covey.party.session.progress import Snapshot
from covey.party.simulate.deal import seed_of
from covey.party.simulate.demo import Demo, check
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.study import Study


def ready(tmp_path: Path) -> tuple[Study, dict[str, str]]:
    sites = found(tmp_path / "sites")
    return Study.load(sites["north"].study), {name: str(site.data) for name, site in sites.items()}


def test_processes_and_one_process_with_one_seed_are_the_same_run(tmp_path: Path) -> None:
    study, data = ready(tmp_path)
    seen: set[tuple[str, str]] = set()

    def watch(snapshot: Snapshot) -> None:
        seen.add((snapshot.party, snapshot.phase))

    out = tmp_path / "out"
    summary = simulate(study, data, out, SimulationSetting(seed=seed_of(5), listener=watch)).describe()
    one = covey.simulate(study, data, seed=5)
    assert (out / "release.csv").read_text() == RELEASE
    assert summary["release_sha256"] == one.summary["release_sha256"]
    assert {key: summary[key] for key in ("rounds", "messages", "bytes", "per_party")} == {
        key: one.summary[key] for key in ("rounds", "messages", "bytes", "per_party")
    }
    session = outcomes_of(one)["north"].finished.session.hex()
    assert f"the session {session} has begun" in (out / "east" / "run.log").read_text()
    assert {(name, phase) for name in data for phase in ("meeting", "handshake", "approval", "sum")} <= seen
    for name in data:
        assert (out / name / "release.csv").read_text() == RELEASE
        assert (out / name / "keys" / "tls.key").stat().st_mode & 0o077 == 0
        assert json.loads((out / name / "summary.json").read_bytes())["reproducible"] is True


@pytest.mark.thorough
def test_a_process_that_fails_ends_the_others_soon_and_is_named(tmp_path: Path) -> None:
    study, data = ready(tmp_path)
    Path(data["east"]).write_text("patient,age,sex,diagnosis\nP1,older-than-anyone,F,flu\n")
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"party 'east': .*column 'age'") as told:
        simulate(study, data, tmp_path / "out", SimulationSetting())
    assert "older-than-anyone" not in str(told.value)
    assert time.monotonic() - begun < 60
    assert not (tmp_path / "out" / "release.csv").exists()


def test_a_slow_network_takes_its_time_and_changes_nothing(tmp_path: Path) -> None:
    study, data = ready(tmp_path)
    slow = covey.simulate(study, data, latency=0.1)
    assert outcomes_of(slow)["north"].finished.seconds >= 0.2
    assert slow.summary["rounds"] == 2


def test_frames_go_in_and_the_same_kind_comes_out(tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl

    study, data = ready(tmp_path)
    for read, kind in ((pd.read_csv, pd.DataFrame), (pl.read_csv, pl.DataFrame)):
        release = covey.simulate(study, {name: read(path) for name, path in data.items()})
        assert isinstance(release.table, kind)
        assert list(release.table["count"]) == ["6", "6"]
        assert release.loss.lm == pytest.approx(6 / 11)


def test_a_release_is_saved_with_everyones_files(tmp_path: Path) -> None:
    study, data = ready(tmp_path)
    release = covey.simulate(study, data)
    release.save(tmp_path / "out")
    assert (tmp_path / "out" / "release.csv").read_text() == RELEASE
    assert (tmp_path / "out" / "south" / "ledger.json").is_file()
    with pytest.raises(InputError, match="holds a finished run"):
        release.save(tmp_path / "out")


async def _in_a_notebook(study: Study, data: dict[str, str]) -> object:
    return covey.simulate(study, data).summary["rows"]


def test_a_simulation_runs_where_an_event_loop_runs_already(tmp_path: Path) -> None:
    import asyncio

    assert asyncio.run(_in_a_notebook(*ready(tmp_path))) == 12


def test_a_failure_in_a_notebook_is_raised_as_itself(tmp_path: Path) -> None:
    import asyncio

    study, data = ready(tmp_path)
    Path(data["east"]).write_text("patient,age\nP1,1\n")
    with pytest.raises(InputError, match="'sex'"):
        asyncio.run(_in_a_notebook(study, data))
    small = replace(study, privacy=replace(study.privacy, k=50))
    Path(data["east"]).write_text("patient,age,sex,diagnosis\nP1,1,F,flu\n")
    with pytest.raises(Unmet, match="fewer than k = 50"):
        asyncio.run(_in_a_notebook(small, data))


def test_a_release_that_is_not_the_ideals_does_not_pass_the_demonstrations_check(tmp_path: Path) -> None:
    study, data = ready(tmp_path)
    covey.simulate(study, data, out=tmp_path / "out")
    demo = Demo(study, "small", data)
    assert "byte for byte" in check(demo, tmp_path / "out")
    (tmp_path / "out" / "release.csv").write_text(RELEASE.replace("6", "7"))
    with pytest.raises(Unmet, match="not what a trusted party would have published"):
        check(demo, tmp_path / "out")


def test_the_demonstration_runs_checks_and_may_be_repeated(covey: Covey, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = covey("demo", "--protocol", "count", "--out", out)
    assert done.code == 0, done.err
    assert "a table of counts, no records" in done.out
    assert "byte for byte, what a trusted party that saw all rows would have published" in done.out
    for name in ("release.csv", "report.html", "summary.json", "study.toml", "north/ledger.json"):
        assert (out / name).is_file()
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.txt").write_text("mine")
    refused = covey("demo", "--out", taken)
    assert refused.code == 2
    assert (taken / "thesis.txt").read_text() == "mine"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("protocol", "sizes", "how", "played"),
    [
        ("cluster", "private", ["--in-process"], "there is no journal"),
        ("peel", "public", ["--in-process"], "keeps states and no messages"),
        ("peel", "private", [], "keeps states and no messages"),
        ("suppress", "private", ["--in-process"], "there is no journal"),
    ],
)
def test_what_a_simulated_run_leaves_passes_its_audit(
    covey: Covey, tmp_path: Path, protocol: str, sizes: str, how: list[str], played: str
) -> None:
    """Few rows suffice: the audit is about folders, not about sizes."""
    sample = samples.copy("hospitals", tmp_path / "sample")
    text = (sample / "study.toml").read_text().replace('"peel"', f'"{protocol}"\nsizes = "{sizes}"')
    options = {
        "cluster": 'as_printed = true\ncalls = "turn"',
        "peel": 'cheating = "trust"',
        "suppress": 'as_printed = true\nencryption = "elgamal"\ncompare = "bins"',
    }
    text = text.replace("[utility]", f"[protocol]\n{options[protocol]}\n[utility]")
    parties = ("north", "south") if protocol == "suppress" else ("north", "south", "east")
    if protocol == "suppress":
        text = text.replace("[parties.east]\n", "")
    if protocol == "peel":
        text = text.replace("[utility]", '[utility]\neffort = "quick"')
    text = text.replace("l = 2", "").replace('role = "sensitive"', 'role = "sensitive"\nsingles_out = "nobody is real"')
    text = text.replace('role = "plain"', 'role = "plain"\nsingles_out = "nobody is real"')
    (sample / "study.toml").write_text(text)
    given: list[object] = []
    for party in parties:
        lines = (sample / f"{party}.csv").read_text().splitlines(keepends=True)
        (sample / f"{party}.csv").write_text("".join(lines[:10]))
        given += ["--data", f"{party}={sample / f'{party}.csv'}"]
    out = tmp_path / "out"
    assert covey("simulate", sample / "study.toml", *given, "--out", out, *how).code == 0
    audited = covey("audit", *(out / party for party in parties))
    assert audited.code == 0, audited.out
    assert (out / "north" / "run.log").read_text()
    assert played in covey("audit", out / "north", "--replay").err
