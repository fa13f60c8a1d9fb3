"""Fifty respondents as processes over TLS: five are killed in each phase in turn, and the collector in every phase."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.collection.crowd import RELEASED, WITHHELD, crowd
from tests.collection.town import Town

from covey.party.audit.folders import audit

PHASES = ("keys", "index", "positions", "classes", "release")
PEOPLE = int(os.environ.get("COVEY_CROWD", "50"))
LEAVERS = 5
DEADLINE = 40.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(360)]


def lines(town: Town) -> list[dict[str, object]]:
    return [json.loads(line) for line in (town.out / "collection.jsonl").read_text().splitlines()]


def listed(value: object) -> list[str]:
    """A list of texts as JSON has it, or the names of an object's members."""
    assert isinstance(value, list | dict)
    return list(value)


def report(what: str, **figures: object) -> None:
    """A line for whoever reads the run's output, and for the page that quotes it."""
    print(json.dumps({"case": what, **figures}))


@pytest.mark.parametrize("phase", PHASES)
def test_five_of_fifty_are_killed_in_a_phase_and_no_class_falls_below_k(tmp_path: Path, phase: str) -> None:
    town = Town(tmp_path, k=4, committee=5)
    begun = time.monotonic()
    with crowd(town, PEOPLE, dict.fromkeys(range(LEAVERS), phase)) as people:
        collector = people.collector(PEOPLE, phase_seconds=DEADLINE)
        collector.join(300)
        ends = people.ends(40)
    took = time.monotonic() - begun
    assert ends[:LEAVERS] == [-signal.SIGKILL] * LEAVERS, (town.out / "run.log").read_text()[-2000:]
    gone = set(town.handles(LEAVERS))
    written = lines(town)
    attempts = sum(line["line"] == "started" for line in written)
    if collector.exitcode == 0:
        rows, summary = town.judged(), town.summary()
        released = ends.count(RELEASED)
        assert rows == released, "who was told so is in the release, and nobody else"
        assert set(ends[LEAVERS:]) <= {RELEASED, WITHHELD, 1}
        assert not [sentence for each in audit([town.out]) for sentence in each.wrong]
        named = " ".join(str(sentence) for sentence in listed(summary["warnings"]))
        missing = {handle for line in written if line["line"] == "dropped" for handle in listed(line["left"])}
        assert all(handle in named or handle in missing for handle in gone)
        assert "person" not in named and "respondent-" not in named
        report(
            phase, rows=rows, withheld=summary["withheld"], k_reached=summary["k_reached"], attempts=attempts,
            seconds=round(took, 1), others_left=len(missing - gone),
        )  # fmt: skip
    else:
        assert collector.exitcode == 1 and not (town.out / "release.csv").exists()
        report(phase, rows=0, ended=(town.out / "ended").read_text(), attempts=attempts, seconds=round(took, 1))
        assert phase in ("classes", "release"), "with forty-five left a run before the answers goes on"


@pytest.mark.parametrize(
    ("phase", "after"), [("enrolment", 1.0), *((phase, 0.0) for phase in PHASES), ("farewell", 0.0)]
)
def test_the_collector_is_killed_in_a_phase_and_loses_nothing(tmp_path: Path, phase: str, after: float) -> None:
    count = 12
    town = Town(tmp_path, k=4, committee=3)
    begun = time.monotonic()
    with crowd(town, count, {}) as people:
        first = people.collector(count, phase_seconds=60.0, dies_at=phase, after=after)
        first.join(150)
        assert first.exitcode == -signal.SIGKILL
        assert not (town.out / "release.csv").exists()
        second = people.collector(count, phase_seconds=60.0)
        second.join(150)
        ends = people.ends(30)
    assert second.exitcode == 0 and ends == [RELEASED] * count
    assert town.judged() == count and town.summary()["withheld"] == 0
    kinds = [line["line"] for line in lines(town)]
    assert kinds.count("enrolled") == kinds.count("ready") == count and kinds.count("started") == 1
    assert not [sentence for each in audit([town.out]) for sentence in each.wrong]
    report(f"collector killed in {phase}", rows=count, seconds=round(time.monotonic() - begun, 1))
