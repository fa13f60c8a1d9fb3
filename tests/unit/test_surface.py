"""The public surface: what `dir(covey)` shows is what there is, and nothing changes its kind on the way."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import covey

PUBLIC = {
    "Aborted", "AccessError", "CoveyError", "Evaluation", "InputError", "PeerError", "Release", "Study", "Unmet",
    "Verdict", "__version__", "anonymize", "evaluate", "simulate", "verify",
}  # fmt: skip


def test_dir_shows_the_public_names_and_every_one_of_them_loads() -> None:
    assert set(dir(covey)) == set(covey.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(covey, name) is not None
        assert not isinstance(getattr(covey, name), ModuleType)
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        _ = covey.anonymise


def test_no_public_name_is_also_a_module() -> None:
    import_module("covey.anonymizers")
    import_module("covey.judge")
    rooms = {path.stem for path in Path(covey.__file__).parent.iterdir()}
    assert not PUBLIC & rooms
    assert callable(covey.anonymize)
    assert callable(covey.verify)


def test_import_covey_loads_no_library() -> None:
    code = "import sys, covey; print(sorted({'numpy', 'pyarrow', 'numba', 'ibis'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/covey/version.py"
    assert covey.__version__.count(".") == 2
