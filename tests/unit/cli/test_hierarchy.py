from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Covey


def lay(folder: Path) -> tuple[Path, Path]:
    (folder / "region.csv").write_text("Kent;South;*\nYork;North;*\nHull;North;*\n")
    (folder / "data.csv").write_text("region,n\nKent,1\nBath,2\nBath,3\n")
    return folder / "region.csv", folder / "data.csv"


def test_a_good_file_is_described(covey: Covey, tmp_path: Path) -> None:
    file, _ = lay(tmp_path)
    called = covey("hierarchy", "check", file)
    assert called.code == 0 and "3 leaves, 3 levels, 6 nodes" in called.out


def test_values_of_the_data_that_the_file_lacks_are_listed(covey: Covey, tmp_path: Path) -> None:
    file, data = lay(tmp_path)
    called = covey("hierarchy", "check", file, "--data", data, "--column", "region", "--json")
    assert called.code == 1 and json.loads(called.out)["unknown"] == {"Bath": 2}


def test_data_without_a_column_is_a_wrong_call(covey: Covey, tmp_path: Path) -> None:
    file, data = lay(tmp_path)
    assert covey("hierarchy", "check", file, "--data", data).code == 2


def test_a_label_cannot_steer_the_terminal(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "region.csv").write_text("Ke\x1b[2Jnt;So\u202euth;*\nYork;North;*\n")
    shown = covey("hierarchy", "show", tmp_path / "region.csv")
    assert shown.code == 0 and "North" in shown.out
    assert "\x1b[2J" not in shown.out and "\u202e" not in shown.out


def test_the_tree_is_shown_with_its_leaves_counted(covey: Covey, tmp_path: Path) -> None:
    file, _ = lay(tmp_path)
    shown = covey("hierarchy", "show", file, "--leaves", "1").out
    assert "North 2" in shown and "York" in shown and "1 more leaves" in shown
