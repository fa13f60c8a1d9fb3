"""Colours of the workbench: every text can be read on its ground, light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import covey.ui

CSS = Path(covey.ui.__file__).parent / "static" / "style.css"
TEXTS = (
    ("ink", "ground"), ("ink", "paper"), ("ink", "soft"), ("ink", "good-soft"), ("ink", "bad-soft"), ("dim", "ground"),
    ("dim", "paper"), ("accent", "ground"), ("accent", "paper"), ("accent", "soft"), ("on-accent", "accent"),
    ("good", "good-soft"), ("paper", "bad"), ("good", "paper"), ("bad", "paper"),
)  # fmt: skip
EDGES = (("focus", "ground"), ("focus", "paper"), ("bar", "track"), ("dim", "paper"))


def luminance(colour: str) -> float:
    full = colour if len(colour) == 6 else "".join(each * 2 for each in colour)
    parts = [int(full[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_the_contrast_that_wcag_asks_for(scheme: str) -> None:
    blocks = re.findall(r":root\{([^}]+)\}", CSS.read_text("utf-8"))
    colours = dict(re.findall(r"--([\w-]+):#([0-9a-f]{3,6})", blocks[scheme == "dark"]))
    poor = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in TEXTS}
    assert {pair: found for pair, found in poor.items() if found < 4.5} == {}
    assert {pair for pair in EDGES if contrast(colours[pair[0]], colours[pair[1]]) < 3} == set()
