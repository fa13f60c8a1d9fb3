"""What every test may use: the command line called in process, and the shared data if it is there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from tests.harness.tiers import examples

from covey.cli import main

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


settings.register_profile("covey", deadline=None, max_examples=examples(100))  # a busy machine is no failure
settings.load_profile("covey")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives the tests of a file that share a fixture to one worker, which then makes it once."""
    for item in items:
        fixtures = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
        if any(each.scope == "module" for found in fixtures for each in found):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@dataclass(frozen=True)
class Called:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Covey = Callable[..., Called]


@pytest.fixture
def covey(capsys: pytest.CaptureFixture[str]) -> Covey:
    """Calls the command line as a user would: `covey("check", study, "--data", data)`."""

    def call(*arguments: object) -> Called:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = ended.value.code
        return Called(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return call


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the machine has one: for tests that sync files a thousand times."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="covey-", dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def adult(tmp_path: Path) -> Path:
    """A folder with the real Adult table, its hierarchies and a study; skips where the data is absent."""
    import shutil

    if not (SHARED / "adult" / "adult.csv").exists():
        pytest.skip("the Adult data (shared/data/adult) is not on this machine")
    folder = tmp_path / "adult"
    shutil.copytree(SHARED / "adult", folder)
    quasi = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
    columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in quasi)
    text = f'[study]\nname = "adult"\n[privacy]\nk = 10\n{columns}[columns.salary-class]\nrole = "sensitive"\n'
    (folder / "study.toml").write_text(text)
    return folder
