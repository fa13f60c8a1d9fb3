"""Whoever waits is told how far the run is and for whom, on a terminal and without one."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from tests.consortium import study_text
from tests.harness.clock import run_jumping

from covey.cli.display import Display, describe
from covey.party.record.ledger import Ledger
from covey.party.record.run_record import Finished, RunRecord
from covey.party.record.summary import summarize
from covey.party.session.progress import Progress, Snapshot
from covey.protocols import Figures, find
from covey.secure.declare import Leakage, Traffic
from covey.study import Study
from covey.wire import Tally

STUDY = Study.parse(study_text())


def test_a_phase_is_told_at_once_and_steps_with_the_next_tick() -> None:
    seen: list[Snapshot] = []
    progress = Progress("north", ("approval", "sum"), seen.append)

    async def work() -> None:
        async with progress.ticking():
            progress.phase("sum", of=10)
            progress.reach(4)
            await asyncio.sleep(1.5)

    run_jumping(work())
    assert [(each.phase, each.done, each.of, each.position, each.phases) for each in seen] == [
        ("sum", 0, 10, 2, 2),
        ("sum", 4, 10, 2, 2),
    ]


def test_while_parties_meet_those_who_are_absent_are_named() -> None:
    seen: list[Snapshot] = []
    progress = Progress("north", (), seen.append)
    progress.await_parties(("east", "south"))
    assert seen[-1].waiting == ("east", "south")
    assert describe(seen[-1]) == "starting; waiting for east, south"


class _Waiting:
    """A channel of which a progress asks only these."""

    tally = Tally()

    def __init__(self, *names: str) -> None:
        self.waiting = names


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ({}, ("south",)),
        ({"south": ("east",)}, ("east",)),
        ({"south": ("east",), "east": ("west",)}, ("west",)),
        ({"south": ("north",)}, ("south",)),
        ({"south": ("east",), "east": ("south",)}, ("south",)),
        ({"south": ("east", "west"), "east": ()}, ("east", "west")),
    ],
)
def test_who_only_waits_for_another_is_not_the_one_we_wait_for(
    theirs: dict[str, tuple[str, ...]], expected: tuple[str, ...]
) -> None:
    progress = Progress("north", ())
    progress.channel = _Waiting("south")  # type: ignore[assignment]
    for peer, names in theirs.items():
        progress.hear(peer, names)
    assert progress.snapshot().waiting == expected


def test_a_party_that_computes_does_not_say_that_it_waits() -> None:
    progress = Progress("north", ())
    progress.own = time.monotonic(), ("south",)
    assert progress.awaiting() == ("south",)
    progress.own = time.monotonic() - 60, ("south",)
    assert progress.awaiting() == ()


def test_a_line_says_phase_steps_rounds_bytes_and_whom_we_wait_for() -> None:
    shown = Snapshot("north", "sum", 4, 10, 2, 3, 7, 12_345, ("east",))
    assert describe(shown) == "sum (phase 2 of 3), 4 of 10; 7 rounds, 12.3 kB so far; waiting for east"


def test_without_a_terminal_there_is_a_line_per_change_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    with Display() as display:
        for done in range(5):
            display.show(Snapshot("north", "sum", done, 10, 1, 1))
        display.show(Snapshot("north", "release", 0, 1))
        display.notice("party 'east' is here (1 of 2)")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "north: sum (phase 1 of 1), 0 of 10",
        "north: release",
        "party 'east' is here (1 of 2)",
    ]


def test_on_a_terminal_there_is_one_table_that_gives_way_to_questions(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(lively=True) as display:
        display.show(Snapshot("north", "sum", 1, 10, 1, 1, 2, 3000, ("east",)))
        with display.paused():
            before = capsys.readouterr().err
            display.show(Snapshot("north", "release", 1, 10, 1, 1, 2, 3000, ("east",)))
            display.notice("party 'east' is here")
            assert capsys.readouterr().err == "", "something is written over the question"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "party 'east' is here" in captured.err
    assert "north" in before
    assert "3 kB" in before


def test_the_ledger_tells_each_partys_role_its_own_sentences() -> None:
    ledger = Ledger(STUDY, find("count"), "north")
    ledger.learns(Leakage(everyone=("that {n} met",), roles={"holder": ("a total",), "recipient": ("a table",)}), n=3)
    ledger.learns(Leakage(everyone=("that {n} met",)), n=3)
    assert ledger.own == ["north learned that 3 met.", "north learned a total."]
    assert ledger.others == {
        name: [f"{name} learned that 3 met.", f"{name} learned a total."] for name in ("south", "east")
    }


def test_a_party_without_the_release_has_no_figures_of_it() -> None:
    ledger = Ledger(STUDY, find("count"), "north")
    traffic = {name: Traffic(3, 2, 100) for name in ("north", "south", "east")}
    figures = Figures(rows=9, classes=2, k_reached=4, loss={"lm": 0.5})
    finished = Finished(None, "00", figures, traffic, 1.0, b"", (), RunRecord(), ())
    nothing = replace(finished, release_sha256=None, figures=None)
    has, without = (
        summarize(STUDY, ledger, each, "north", reproducible=False).describe() for each in (finished, nothing)
    )
    figured = {"rows", "withheld", "k_reached", "l_reached", "classes", "suppressed_cells", "loss", "release_sha256"}
    figured |= {"singled_out", "kept", "refused"}
    assert set(has) - set(without) == figured
    assert (has["rounds"], has["messages"], has["bytes"]) == (3, 6, 300)
    assert has["loss"] == {"lm": 0.5, "em": None, "dm": None, "c_avg": None}


def test_parties_side_by_side_say_each_phase_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(lively=False, merged=True) as display:
        for phase in ("sum", "release"):
            for party in ("north", "south", "east"):
                display.show(Snapshot(party, phase, waiting=("west",)))
        display.show(Snapshot("south", "sum"))
    assert capsys.readouterr().err.splitlines() == ["all parties: sum", "all parties: release"]
