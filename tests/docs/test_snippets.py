"""Every command and snippet of README and docs does what the page says that it does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS
from tests.docs.snippets import LANGUAGES, Block, blocks, turns

from covey.study import Study

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page for page in (*ROOT.glob("[A-Z]*.md"), *(ROOT / "docs").rglob("*.md")) if page.name != "CHANGELOG.md"
)
THOROUGH = ("README.md", "engine.md", "verify.md")
SLOW = (
    "bench.md",
    "collecting.md",
    "data.md",
    "evaluate.md",
    "first-day.md",
    "python.md",
    "report.md",
    "running.md",
    "tutorial.md",
)
ONE_WORKER = "the pages' parties listen on the same ports"
SECONDS = 240
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def grouped() -> list[object]:
    """The pages; those that listen on ports are tried by one worker, one after the other.

    `make test` tries what takes seconds, `.ci/run` README and the pages with runs of several processes, and
    `make test-slow` those with whole runs of each protocol.
    """
    found: list[object] = []
    for page in PAGES:
        marks = []
        if page.parent.name == "protocols" or page.name in SLOW:
            marks.append(pytest.mark.slow)
        elif page.name in THOROUGH:
            marks.append(pytest.mark.thorough)
        found.append(pytest.param(page, id=name_of(page), marks=marks))
    return found


@pytest.mark.parametrize("page", grouped())
def test_what_a_page_shows_runs_as_printed(page: Path, tmp_path: Path) -> None:
    session = ""
    for turn in turns(blocks(page)):
        first = turn[0]
        if first.language == "sh":
            _run(page, [block for block in turn if _is_for_here(block)], tmp_path)
        elif first.language == "python":
            session += first.content
    if session:
        ended = subprocess.run(
            [sys.executable, "-c", session], cwd=tmp_path, env=_environment(), capture_output=True, text=True,
            timeout=SECONDS,
        )  # fmt: skip
        assert ended.returncode == 0, f"{name_of(page)}: its Python fails:\n{ended.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_says_what_its_blocks_are(page: Path) -> None:
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: name the block's language: one of {', '.join(sorted(LANGUAGES))}"
        if block.language in ("text", "mermaid"):
            assert not re.search(r"^\$? ?(covey|make|pip) ", block.content, re.MULTILINE), f"{where}: run it: use sh"
        if block.language == "toml":
            _read(block, where)
        if block.language == "json":
            json.loads(block.content)
        if block.label == "project":
            _exists(block, where)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text("utf-8")):
        file, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{name_of(page)}: links to {target}, which is not there"
        if anchor and path.suffix == ".md":
            assert anchor in _anchors(path), f"{name_of(page)}: {file or 'the page'} has no heading #{anchor}"


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def _is_for_here(block: Block) -> bool:
    return block.label != "project" and (block.label != "network" or "COVEY_NETWORK" in os.environ)


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),  # a reader stands in the clone
        "PYTHONWARNINGS": "ignore",
        "COLUMNS": "120",
    }


def _run(page: Path, turn: list[Block], folder: Path) -> None:
    """Runs the blocks of a turn at once; all must end well."""
    started = []
    for block in turn:
        place = folder / block.label if block.label not in ("", "network") else folder
        place.mkdir(exist_ok=True)
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", block.content], cwd=place, env=_environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        started.append((block, process))
    try:
        for block, process in started:
            said, _ = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, f"{name_of(page)}:{block.line} ends with {process.returncode}:\n{said}"
    finally:
        for _, process in started:
            process.kill()
            process.wait()


def _read(block: Block, where: str) -> None:
    """A piece of a study is TOML; a whole one is a study, but for the files that it names."""
    content = tomllib.loads(block.content)
    if {"study", "columns", "parties"} <= set(content) and ".csv" not in block.content and ".pem" not in block.content:
        assert Study.parse(block.content), where


def _exists(block: Block, where: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in block.content.splitlines():
        command = line.partition("#")[0].strip()
        if command.startswith("make "):
            assert command.split()[1] in targets, f"{where}: the Makefile has no target {command.split()[1]}"
        elif command.startswith("python -m benchmarks"):
            named = command.removeprefix("python -m benchmarks").split()
            assert not named or named[0] in BENCHMARKS, f"{where}: no such benchmark"
        elif command:
            first = re.sub(r"^[A-Z_]+=\S+ ", "", command).split()[0]
            known = first in ("pytest", "ruff", "mypy", "git") or (ROOT / first).exists()
            assert known, f"{where}: {first} is nothing of the project"
