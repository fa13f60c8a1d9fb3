"""HTML through one door: whatever is not markup already is escaped on its way in.

Names and labels come from studies and tables that others wrote: they may hold tags, quotes, control characters or
text that runs from right to left. `named` keeps each of them inside its own words.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta", "col", "br", "rect", "line", "circle", "path"})
_LONGEST_NAME = 80


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()

    def __html__(self) -> str:
        """The same for templates, which escape all other text."""
        return str(self)


def text(content: str) -> Markup:
    """The content as text: nothing in it is read as markup."""
    return content if isinstance(content, Markup) else Markup(escape(_printable(content)))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element; `class_` is class, an underscore a hyphen, and None no attribute."""
    spelled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{spelled}/>" if name not in ("meta", "col", "br") else f"<{name}{spelled}>")
    return Markup(f"<{name}{spelled}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Parts one after the other, each escaped unless it is markup."""
    return Markup(text(between).join(map(text, parts)))


def named(name: str) -> Markup:
    """A name that someone else chose, in a direction of its own, cut if it is long."""
    return tag("bdi", name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")


def prose(sentence: str) -> Markup:
    """A sentence of ours, with what stands between backticks as code."""
    pieces = sentence.split("`")
    return join(tag("code", piece) if odd % 2 else piece for odd, piece in enumerate(pieces))


def listed(items: Iterable[str], **attributes: str) -> Markup:
    """A list, an item each."""
    return tag("ul", *(tag("li", item) for item in items), **attributes)


def _printable(content: str) -> str:
    """The text without what no page may hold: control characters and halves of characters."""
    return "".join("\ufffd" if _is_odd(character) else character for character in content)


def _is_odd(character: str) -> bool:
    code = ord(character)
    return (code < 32 and character not in "\t\n") or 127 <= code < 160 or 0xD800 <= code < 0xE000
