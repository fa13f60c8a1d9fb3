"""Whatever a study or a table holds, a page shows it as text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from tests.browser.pages import NASTY

from covey.report.markup import Markup, join, named, prose, tag, text


class Read(HTMLParser):
    """The elements and the text that a reader finds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


@pytest.mark.parametrize("nasty", NASTY)
def test_a_child_and_an_attribute_come_back_as_they_went_in(nasty: str) -> None:
    found = Read(tag("p", nasty, title=nasty))
    assert found.elements == [("p", {"title": nasty})]
    assert found.said == nasty


def test_markup_is_not_escaped_twice() -> None:
    assert join([tag("b", "a & b"), text("<")]) == "<b>a &amp; b</b>&lt;"
    assert isinstance(join(["x"]), Markup)


def test_control_characters_and_halves_of_characters_are_replaced() -> None:
    page = tag("p", "a\x00b\x1bc\ud800d\u0085", title="\x07")
    assert page == '<p title="\ufffd">a\ufffdb\ufffdc\ufffdd\ufffd</p>'
    page.encode()


def test_a_name_has_a_direction_of_its_own_and_an_end() -> None:
    assert named("\u202eabc") == "<bdi>\u202eabc</bdi>"
    assert len(named("x" * 1000)) < 100


def test_backticks_in_a_sentence_are_code() -> None:
    assert prose("Run `covey <x>` now.") == "Run <code>covey &lt;x&gt;</code> now."
