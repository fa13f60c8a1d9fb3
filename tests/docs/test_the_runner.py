"""The tests of the pages can fail: a runner that runs nothing would pass everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs import test_snippets as runner
from tests.docs.snippets import blocks, turns


def page_of(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    "text",
    ["```sh\ntrue\nfalse\ntrue\n```\n", "```python\nx = 1\n```\n```python\nassert x == 2\n```\n",
     "<!-- before: false -->\n", "```sh a\ntrue\n```\n```sh b\nfalse\n```\n"],
)  # fmt: skip
def test_what_does_not_run_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(tmp_path, text, monkeypatch)
    with pytest.raises(AssertionError):
        runner.test_what_a_page_shows_runs_as_printed(page, tmp_path)


def test_terminals_in_a_row_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = "until [ -e ../{other}/up ]; do sleep .01; done"
    text = "".join(
        f"```sh {own}\ntouch up; {wait.format(other=other)}\n```\n" for own, other in (("a", "b"), ("b", "a"))
    )
    runner.test_what_a_page_shows_runs_as_printed(page_of(tmp_path, text, monkeypatch), tmp_path)


def test_a_second_block_of_a_terminal_waits_for_the_first(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh a\n1\n```\n```sh b\n2\n```\n```sh a\n3\n```\n```sh\n4\n```\n")
    assert [[block.content for block in turn] for turn in turns(blocks(page))] == [["1\n", "2\n"], ["3\n"], ["4\n"]]


@pytest.mark.parametrize(
    "text",
    ["```\nx\n```\n", "```text\ncovey run\n```\n", "```toml\n[study\n```\n", "```sh project\nmake nonsense\n```\n"],
)
def test_blocks_that_hide_from_the_test_are_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Makefile").write_text("test:\n")
    with pytest.raises((AssertionError, ValueError)):
        runner.test_a_page_says_what_its_blocks_are(page_of(tmp_path, text, monkeypatch))


def test_a_link_to_nowhere_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("[x](gone.md)", "# Here\n[x](#there)"):
        with pytest.raises(AssertionError):
            runner.test_links_lead_somewhere(page_of(tmp_path, text, monkeypatch))
