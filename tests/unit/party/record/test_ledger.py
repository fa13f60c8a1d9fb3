"""The ledger: a session that goes on forgets nothing that it had taught, and nothing that others had taught."""

from __future__ import annotations

import json
from pathlib import Path

from tests.harness.cases import CASES

from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.names import LEDGER
from covey.protocols import of_study
from covey.secure.declare import Leakage


def empty() -> Ledger:
    study = CASES["count"].smallest().certified
    return Ledger(study, of_study(study), "north")


def test_a_session_that_stops_again_before_it_comes_as_far_has_still_taught_what_it_had(tmp_path: Path) -> None:
    folder, first = RunFolder(tmp_path), empty()
    first.belong("aa", [{"session": "00", "outcome": "ended", "learned": ["north learned old."], "others": {}}])
    first.met()
    first.learns(Leakage(everyone=("the total",)))
    folder.keep_ledger(first, "ended: killed")
    second = empty()
    second.met()
    second.belong("aa", folder.earlier_ledger())
    assert second.lines == first.lines
    assert second.earlier == first.earlier


def test_a_run_that_met_nobody_leaves_nothing_earlier_and_forgets_nothing(tmp_path: Path) -> None:
    folder, first = RunFolder(tmp_path), empty()
    first.belong("aa", [])
    first.met()
    folder.keep_ledger(first, "ended: killed")
    second = empty()
    second.belong("", folder.earlier_ledger())
    folder.keep_ledger(second, "ended: nobody came")
    assert [entry["session"] for entry in folder.earlier_ledger()] == ["aa"]
    assert "session" not in json.loads((tmp_path / LEDGER).read_text())


def test_a_ledger_that_is_damaged_is_one_that_has_nothing(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"outcome": "", "learned": [], "others": {}, "earlier": [3]}'):
        (tmp_path / LEDGER).write_text(content)
        assert RunFolder(tmp_path).earlier_ledger() == []
    odd = {"session": "aa", "outcome": "", "learned": 7, "others": ["x"]}
    ledger = empty()
    ledger.belong("aa", [odd])
    assert not ledger.own
