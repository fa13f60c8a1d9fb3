"""Who waits without a terminal reads a line for each step; a part that is done is that of a step that goes on."""

from __future__ import annotations

import pytest

from covey.cli import display


def test_a_new_step_names_no_part_and_one_that_goes_on_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part beside each new step would go back: 100%, 3%, 0%, 95%."""
    monkeypatch.setattr(display, "_PATIENCE", -1.0)
    monkeypatch.setattr(display, "_BETWEEN_LINES", 0.0)
    with display.ProgressDisplay() as progress:
        for step, part in (("peeling", 1.0), ("improving", 0.03), ("improving", 0.5), ("judging the release", 0.0)):
            progress(step, part)
    lines = [line.rpartition(" after ")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["covey: peeling", "covey: improving", "covey: improving, 50% done", "covey: judging the release"]
