"""Answers that are refused at home: one that is too long to be sent, and another one after the first was taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.collection.peeling_town import PeelingTown
from tests.collection.town import Town, record_of
from tests.conftest import Covey

from covey.party.collection.home import Home
from covey.party.collection.questions import accept
from covey.study import Study

NOTE = '[columns.note]\nrole = "plain"\nsingles_out = "each answer is long"\nmissing = "error"\n[parties.office]'


@pytest.mark.parametrize(("kind", "longest"), [(PeelingTown, 62), (Town, 40)])
def test_a_long_answer_is_refused_before_it_is_kept_and_a_shorter_one_may_follow(
    kind: type[Town], longest: int, covey: Covey, tmp_path: Path
) -> None:
    town = kind(tmp_path)
    town.path.write_text(town.path.read_text().replace("[parties.office]", NOTE))
    (token,), record = town.invite(1), tmp_path / "record.json"
    call = ("collect", "respond", town.path, "--invite", token, "--record", record, "--folder", tmp_path / "home")
    record.write_text(json.dumps({**record_of(1), "note": "x" * 5000}))
    refused = covey(*call, "--yes")
    assert refused.code == 2
    assert "column 'note': " in refused.err
    assert "nothing has left" not in refused.err
    record.write_text(json.dumps({**record_of(1), "note": "x" * longest}))
    asked = covey(*call)  # without --yes, and without a terminal, it stops at the question of consent
    assert asked.code == 2
    assert "give your consent with --yes" in asked.err


def test_another_answer_after_the_receipt_is_refused_and_the_same_is_told_so(covey: Covey, tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    (token,), record, home = town.invite(1), tmp_path / "record.json", tmp_path / "home"
    call = ("collect", "respond", town.path, "--invite", token, "--record", record, "--folder", home, "--yes")
    study = Study.load(town.path)
    kept = Home(home)
    kept.keep_record(study, accept(study, record_of(1)))
    kept.keep_receipt("r-1", "delivered", "You are done.")
    record.write_text(json.dumps(record_of(1)))
    again = covey(*call)
    assert again.code == 0 and "You have taken part already. You are done." in again.out
    other = next(each for each in map(record_of, range(2, 20)) if each != record_of(1))
    record.write_text(json.dumps(other))
    refused = covey(*call)
    assert refused.code == 2 and "other answers were given before, and they stand" in refused.err
