"""The price of `k_insider` on Adult: loss by LM of `peel` and `cluster`, off, as `none-or-many` and as `clip`.

Rows are dealt to three equal parties, to three of 10:1:1, and to two equal ones. Releases are those of the trusted
party (`ideal`), which every run's release equals. Beside each loss stands the insider k that is reached.
`python -m benchmarks insiders` measures all points, `… insiders 5:10-1-1:withhold` one: k, the parties' parts, what
becomes of the leftover. `… insiders 10:1-1-1:most_of_a_class=0.5` asks for a key of [privacy] beside the default.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import _adult
from benchmarks._measuring import Row, keep
from covey.bench.dataset import load
from covey.errors import InputError
from covey.protocols import of_study
from covey.study import Study
from covey.table import Table

POINTS = tuple(
    f"{k}:{parts}:{leftover}"
    for parts in ("1-1-1", "10-1-1", "1-1")
    for leftover in ("withhold", "merge")
    for k in (5, 10, 50)
) + tuple(
    f"{k}:{parts}:{asked}"
    for parts, keys in (
        ("1-1-1", ("most_of_a_class=0.5", "most_of_a_class=0.7", "l_insider=1.2")),
        ("10-1-1", ("most_of_a_class=0.9", "l_insider=1.2")),
    )
    for asked in keys
    for k in (5, 10, 50)
)
KEYS = ("k", "parts", "leftover")
ASKED = {
    "off": (1, ""),
    "none-or-many": (2, 'insider = "none-or-many"'),
    "clip": (2, 'insider = "clip"'),
}


def study_of(protocol: str, k: int, parties: int, insider: int, options: str, more: str = "") -> Study:
    """Adult among so many parties, with one more line of [privacy]."""
    head = _adult.head(protocol, "horizontal", k, options).replace("k_insider = 1", f"k_insider = {insider}\n{more}")
    return Study.parse(head + _adult.quasi_columns() + _adult.SALARY + _adult.parties(parties), _adult.FOLDER)


def dealt(study: Study, parts: Sequence[int]) -> dict[str, Table]:
    """Adult's rows at random, in these parts."""
    everyone = _adult.people()
    order = np.random.default_rng(1).permutation(everyone.num_rows)
    ends = (np.cumsum(parts) * everyone.num_rows // sum(parts)).tolist()
    starts = [0, *ends[:-1]]
    hands = zip([party.name for party in study.parties], starts, ends, strict=True)
    return load(study, {name: everyone.take(order[start:end]) for name, start, end in hands})


def measure(text: str) -> Row:
    """One point."""
    k, parts, leftover = text.split(":")
    hands = tuple(map(int, parts.split("-")))
    row: Row = {"k": int(k), "parts": parts.replace("-", ":"), "leftover": leftover}
    tables: dict[str, Table] = {}
    if "=" in leftover:
        for protocol in ("peel", "cluster") if leftover.startswith("most") else ("peel",):
            study = study_of(protocol, int(k), len(hands), 2, "", leftover)
            tables = tables or dealt(study, hands)
            row |= reached(protocol, study, tables)
        return row
    for name, (insider, option) in ASKED.items():
        study = study_of("peel", int(k), len(hands), insider, f'leftover = "{leftover}"\n{option}')
        tables = tables or dealt(study, hands)
        try:
            row |= reached(f"peel, {name}", study, tables)
        except InputError:
            row[f"peel, {name}"] = None
    if leftover == "withhold":
        for name, insider in (("off", 1), ("on", 2)):
            row |= reached(f"cluster, {name}", study_of("cluster", int(k), len(hands), insider, ""), tables)
    return row


def reached(name: str, study: Study, tables: dict[str, Table]) -> Row:
    """The loss and the insider k of a study's release."""
    figures = of_study(study).ideal(study, tables).figures
    if figures is None:
        raise TypeError("a trusted party has the release")
    return {
        name: round(figures.loss["lm"] or 0.0, 4),
        f"{name}, insider k": figures.insider_k,
        f"{name}, withheld": figures.withheld,
    }


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/insiders.json."""
    if not _adult.is_here():
        return
    for text in arguments or POINTS:
        keep("insiders", "loss", measure(text), KEYS)
