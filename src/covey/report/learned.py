"""The section on what was learned: each fact once, by topic, with a column for us and one for the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from covey.report.markup import Markup, join, named, tag
from covey.report.material import Material
from covey.secure.declare import Fact, rounded

_NOBODY = "–"


def learned(material: Material) -> Markup:
    """The ledger: of a party, of all parties of a simulation, or of nobody."""
    summary, ledger = material.summary, material.ledger
    if ledger is None and (summary is None or not summary.parties):
        text = "Nothing: nobody else took part, and nothing left this machine."
        return join([tag("h2", "What others could learn from the run"), tag("p", text)])
    us = None if ledger is None else ledger.party
    facts = material.facts if ledger is None else ledger.told(us)
    parts = [tag("h2", "What each party learned"), _table(facts, us)]
    for earlier in () if ledger is None else ledger.earlier:
        head = tag("h2", "What had been learned before, in a session that was given up")
        parts += [head, tag("p", earlier.outcome), _table(earlier.told(us), us)]
    return join(parts)


def _table(facts: Sequence[Fact], us: str | None) -> Markup:
    """Every fact, and who learned it; where we are one of the parties, we and the others."""
    everyone = list(dict.fromkeys(name for fact in facts for name in fact.learned_by))
    others = [name for name in everyone if name != us]
    if not others:
        return tag("p", "Nothing: the parties had not met.")
    columns: list[tuple[str, Callable[[Fact], Markup]]] = [
        ("by whom", lambda fact: _who(fact, everyone, "every party"))
    ]
    if us is not None:
        ours = ("we learned", lambda fact: tag("span", "yes" if us in fact.learned_by else _NOBODY))
        all_ = {1: "yes", 2: "both"}.get(len(others), f"all {len(others)}")
        columns = [ours, ("the others learned", lambda fact: _who(fact, others, all_))]
    head = tag("tr", tag("th", "what"), *(tag("th", name) for name, _ in columns))
    rows = []
    for about, of_topic in itertools.groupby(facts, key=lambda fact: fact.about):
        rows.append(tag("tr", tag("th", about, colspan=1 + len(columns), class_="topic")))
        rows += [
            tag("tr", tag("td", rounded(fact.fact)), *(tag("td", cell(fact)) for _, cell in columns))
            for fact in of_topic
        ]
    note = "Each fact stands here once, and large numbers are rounded; ledger.json has every sentence with its numbers."
    return join([
        tag("p", note, class_="note"), tag("table", tag("thead", head), tag("tbody", *rows), class_="facts learned"),
    ])  # fmt: skip


def _who(fact: Fact, among: Sequence[str], everyone: str) -> Markup:
    """The parties that learned it: a word for all, else their names."""
    names = [name for name in fact.learned_by if name in among]
    if len(names) == len(among):
        return tag("span", everyone)
    return join([named(name) for name in names], ", ") if names else tag("span", _NOBODY)
