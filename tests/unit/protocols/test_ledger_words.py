"""A ledger's sentences read well whatever their numbers are: none, one or many."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from covey.protocols.as_printed.cluster_rows import leakage as cluster
from covey.protocols.as_printed.collect import leakage as collect
from covey.protocols.as_printed.generalize import leakage as generalize
from covey.secure.declare import Lesson

Lines = list[Lesson]
STUMBLE = re.compile(
    r"\b0\b"  # a zero instead of "no"
    r"|\b1 (?:are|were|have)\b|\b1 (?!is\b|has\b|was\b|yes\b|class\b)\w+s\b|\b1 people\b|\bclass are\b"
    r"|\bno \w+s (?!are\b)"
    r"|\b(?:[2-9]|\d{2,}) (?:is|has|was|record|group|class|time|answer|count|level|combination|person)\b"
)


def of_cluster(number: int) -> Lines:
    return [cluster.opened_exactly(number, number, number)]


def of_collect(number: int) -> Lines:
    left: Lines = [(collect.LEFT, {"left": number})] if number else []
    return [collect.merged(number), *left]


def of_generalize(number: int) -> Lines:
    played = [SimpleNamespace(mode="matrix", groups=(3, 4))] * max(1, number)
    who = SimpleNamespace(observer="clinic", partner="lab")
    return [generalize.after(who, played, number), generalize.left(number)]  # type: ignore[arg-type]


PROTOCOLS: list[Callable[[int], Lines]] = [
    of_cluster, of_collect, of_generalize,
]  # fmt: skip


@pytest.mark.parametrize("number", [0, 1, 2, 1234])
@pytest.mark.parametrize("lines", PROTOCOLS, ids=lambda each: each.__name__.removeprefix("of_"))
def test_no_sentence_stumbles_over_its_numbers(lines: Callable[[int], Lines], number: int) -> None:
    for leakage, numbers in lines(number):
        for role in ("everyone", *leakage.by_role):
            for sentence in leakage.sentences(role, **numbers):
                assert not STUMBLE.search(sentence), sentence


def test_where_nothing_was_found_the_ledger_says_no_or_says_nothing() -> None:
    (never,) = [line for part, numbers in of_cluster(0) for line in part.sentences("holder", **numbers)]
    assert "never in answer to a question" in never


def test_where_something_was_found_the_ledger_says_how_much() -> None:
    (often,) = [line for part, numbers in of_cluster(2) for line in part.sentences("holder", **numbers)]
    assert "2 times in answer to a question" in often
    (merged,) = collect.merged(1)[0].sentences("collector", **collect.merged(1)[1])
    assert merged == "that 1 class is not diverse enough, and merged with a neighbour"
