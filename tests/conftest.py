"""What every test may use: the command line called in process, and the shared data if it is there."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from tests.harness.tiers import examples
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from covey.cli import main

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


settings.register_profile("covey", deadline=None, max_examples=examples(100))  # a busy machine is no failure
settings.load_profile("covey")


@cache
def is_shared(file: str) -> bool:
    """The file's tests share a fixture, kept runs or ports: one worker has to run all of them."""
    text = (ROOT / file).read_text("utf-8")
    return 'scope="module"' in text or "ONE_WORKER" in text


class ByFileWhereShared(LoadScopeScheduling):  # type: ignore[misc]
    """Deals out single tests, but those of some files together.

    `--dist loadgroup` is for that, but pytest-xdist 3.8 silently forgets the groups with pytest 9.2 (its issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", maxsplit=1)[0]
        return file if is_shared(file) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFileWhereShared:
    return ByFileWhereShared(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves all but the first values of a test with `few(n)` to the thorough tier; gives slow tests an hour."""
    seen: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("slow") is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(3600))
        few = item.get_closest_marker("few")
        if few is not None:
            test = item.nodeid.split("[", maxsplit=1)[0]
            seen[test] += 1
            if seen[test] > few.args[0]:
                item.add_marker(pytest.mark.thorough)


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
