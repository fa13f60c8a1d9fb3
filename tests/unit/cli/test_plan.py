from __future__ import annotations

import json

import pytest
from tests.conftest import Covey

from covey import samples

STUDY = samples.path("hospitals") / "study.toml"


@pytest.mark.parametrize(
    "rows",
    [
        ["--rows", "10", "20", "30"],
        ["--rows", "10", "--rows", "20", "--rows", "30"],
        ["--rows", "north=10", "south=20", "east=30"],
    ],
)
def test_rows_are_given_in_the_studys_order_or_by_name(covey: Covey, rows: list[str]) -> None:
    called = covey("plan", STUDY, *rows, "--json")
    assert called.code == 0
    assert json.loads(called.out)["rows"] == {"north": 10, "south": 20, "east": 30}


def test_numbers_without_the_option_are_a_wrong_call(covey: Covey) -> None:
    called = covey("plan", STUDY, "10")
    assert called.code == 2 and "behind --rows" in called.err


def test_two_numbers_for_three_parties_are_refused(covey: Covey) -> None:
    assert covey("plan", STUDY, "--rows", "1", "2").code == 2
