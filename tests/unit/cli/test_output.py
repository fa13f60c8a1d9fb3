"""What commands print: tables fit the terminal."""

from __future__ import annotations

import pytest

from covey.cli.output import console, table


def test_names_give_way_before_numbers_where_a_table_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    interval = "-0.1132 [-0.2343, 0.007892]"
    rows = [("diagnosis is severe on ward is B", interval, interval, "0.97")]
    headings = ("", "original", "release", "overlap")
    with (shown := console()).capture() as found:
        shown.print(table(headings, rows, right=headings[1:]))
    lines = found.get().splitlines()
    assert lines[0].endswith("overlap") and lines[1].endswith("0.97")
    assert lines[1].count(interval) == 2 and max(map(len, lines)) <= 80
