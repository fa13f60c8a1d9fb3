"""The code blocks of a page, and how they are tried: what a reader can paste, a test runs.

    ```sh             run in order, each block in the page's own folder, which is empty at first
    ```sh north       run in the folder `north`; such blocks in a row run at once, as in several terminals
    ```sh project     for whoever works on Covey: each line must name something that the project has
    ```sh network     run only where COVEY_NETWORK is set
    ```python         run in the page's folder, all blocks of a page in one session
    ```toml           read; as a whole study where it has one
    ```text, mermaid  output and diagrams: not run, and no place for commands

`<!-- before: COMMAND -->` is run at its place too: what the reader of a reference page has done already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(.*)$")
_BEFORE = re.compile(r"^<!-- before: (.*) -->$")
LANGUAGES = frozenset({"sh", "python", "toml", "json", "text", "mermaid"})


@dataclass(frozen=True)
class Block:
    """A code block: its language, what else its fence says, its content and where it begins."""

    language: str
    label: str
    content: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page, with what stands before them in comments."""
    found: list[Block] = []
    opened: tuple[str, str, int] | None = None
    held: list[str] = []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fence = _FENCE.match(line.strip())
        if opened is None and (before := _BEFORE.match(line.strip())):
            found.append(Block("sh", "", before[1], number))
        elif opened is None and fence:
            language, _, label = fence[1].strip().partition(" ")
            opened, held = (language, label.strip(), number), []
        elif opened is not None and fence:
            found.append(Block(opened[0], opened[1], "\n".join(held) + "\n", opened[2]))
            opened = None
        elif opened is not None:
            held.append(line)
    if opened is not None:
        raise ValueError(f"{page.name}: the block that begins in line {opened[2]} has no end")
    return found


def turns(found: list[Block]) -> list[list[Block]]:
    """What is tried one after the other; a turn of several blocks is tried at once."""
    ordered: list[list[Block]] = []
    for block in found:
        before = {other.label for other in ordered[-1]} if ordered else {""}
        if _is_terminal(block) and not before & {"", "project", "network", block.label}:
            ordered[-1].append(block)
        else:
            ordered.append([block])
    return ordered


def _is_terminal(block: Block) -> bool:
    return block.language == "sh" and block.label not in ("", "project", "network")
