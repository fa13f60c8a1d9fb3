"""The public surface: what `dir(covey)` shows is what there is, and nothing changes its kind on the way."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pandas
import pytest

import covey
from covey import samples

PUBLIC = {
    "Aborted", "AccessError", "CoveyError", "Evaluation", "InputError", "PeerError", "Release", "Study", "Unmet",
    "Verdict", "__version__", "anonymize", "anonymize_on_engine", "audit", "check", "evaluate", "make_report", "new",
    "plan", "run", "simulate", "verify",
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


def test_a_partys_program_loads_no_statistics() -> None:
    """Nothing but predictions needs them, and they are no part of the base."""
    heavy = {"scipy.optimize", "scipy.sparse", "scipy.stats", "pandas", "sklearn", "gmpy2", "pymcl"}
    rooms = "covey.party.simulate.worker, covey.cli, covey.evaluation.questions, covey.judge"
    code = f"import sys, {rooms}; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_protocol_that_lacks_its_extra_says_so_in_one_sentence(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["gmpy2"] = sys.modules["pymcl"] = None
import covey.cli
covey.cli.main(sys.argv[1:])
"""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)

    lacking = call("protocols", "federate")
    assert lacking.returncode == 2
    assert (
        lacking.stderr
        == "covey: protocol 'federate' needs an extra that is not installed: pip install 'covey[papers]'\n"
    )
    assert "Not installed: collect, federate, suppress" in call("protocols").stdout
    assert call("protocols", "peel").returncode == 0


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/covey/version.py"
    assert covey.__version__.count(".") == 2


@pytest.mark.thorough
def test_the_steward_can_do_from_python_what_the_commands_do(tmp_path: Path) -> None:
    data = str(samples.path("clinic") / "clinic.csv")
    draft = covey.new(data, k=5, out=tmp_path / "draft" / "study.toml")
    study = covey.Study.load(tmp_path / "draft" / "study.toml")
    fit = covey.check(data, study)
    assert fit.fit and study.privacy.k == 5 and "diagnosis" in repr(study)
    assert repr(fit).startswith("Fitness(fit yes, rows ") and "<td>" in fit._repr_html_()
    assert repr(draft).startswith("Draft(patient_id identifier")
    covey.anonymize(data, study, budget=1).save(tmp_path / "out")
    assert covey.make_report(tmp_path / "out").is_file()
    verdict = covey.verify(str(tmp_path / "out" / "release.csv"), study)
    assert repr(verdict).startswith("Verdict(answer yes") and len(repr(verdict)) < 200
    found = repr(covey.evaluate(str(tmp_path / "out" / "release.csv"), study))
    assert found.startswith(f"Evaluation(study {study.name!r}, rows ") and len(found) < 600
    hospitals = covey.Study.load(samples.path("hospitals") / "study.toml")
    made = covey.plan(hospitals, rows={"north": 100, "south": 200, "east": 50})
    assert made.rows["south"] == 200 and repr(made).startswith("Plan(study 'hospitals'")
    assert covey.plan(hospitals, rows=100).rows["east"] == 100
    with pytest.raises(covey.InputError, match="no party 'west'"):
        covey.plan(hospitals, rows={"west": 3})


@pytest.mark.thorough
def test_a_party_runs_and_its_folder_is_audited_from_python(tmp_path: Path) -> None:
    folder = samples.path("hospitals")
    study = covey.Study.load(folder / "study.toml")
    tables = {name: pandas.read_csv(folder / f"{name}.csv", dtype=str).head(40) for name in ("north", "south", "east")}
    covey.simulate(study, tables, seed=1).save(tmp_path / "joint")
    audited = covey.audit(tmp_path / "joint")
    assert [found.wrong for found in audited] == [(), (), ()]
    assert repr(audited[0]).startswith("Audited(party 'east', finished yes") and "wrong nothing" in repr(audited[0])
    with pytest.raises((covey.InputError, covey.AccessError), match="has no certificate"):
        covey.run(folder / "study.toml", "north", tmp_path / "out", data=None, approve=True, keys=tmp_path / "none")
