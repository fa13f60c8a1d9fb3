"""Generated studies for the rule: random trees, records, holders and conditions, all from one seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.reference.peeling import Asked, Record

from covey.party.session.data import load_table
from covey.protocols.peel.terms import Terms
from covey.study import Study
from covey.table import Table

CHANCES = {"most": 0.4, "l": 0.4, "distinct": 0.4, "l_insider": 0.25}
"""How often a condition is asked for."""
VALUES = ("none", "flu", "ulcer", "asthma")


@dataclass(frozen=True)
class Drawn:
    """A study, its holders' tables, and the same as records of the reference."""

    study: Study
    terms: Terms
    tables: tuple[Table, ...]
    records: tuple[Record, ...]
    asked: Asked


def draw(seed: int, folder: Path, rows: tuple[int, int] = (20, 120)) -> Drawn:
    """Returns the study of a seed; its hierarchies lie in the folder."""
    random = np.random.default_rng(seed)
    holders, text, quasi = int(random.choice([2, 3, 3, 3, 5])), "", list[list[str]]()
    for column in range(int(random.integers(1, 4))):
        leaves, hierarchy = _hierarchy(random, folder, column)
        quasi.append(leaves)
        text += f'[columns.q{column}]\nrole = "quasi"\nweight = {random.choice([1, 1, 2, 0.5])}\n{hierarchy}'
    sensitive = int(random.choice([1, 1, 2]))
    for column in range(sensitive):
        text += f'[columns.s{column}]\nrole = "sensitive"\nvalues = ["none", "flu", "ulcer", "asthma"]\n'
    privacy, asked = _privacy(random, holders)
    measure = random.choice(["lm", "em", "em-monotone", "precision"])
    head = f'[study]\nname = "drawn"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\n{privacy}\n'
    parties = "".join(f"[parties.h{holder}]\n" for holder in range(holders))
    study = Study.parse(f'{head}[utility]\nmeasure = "{measure}"\n{text}{parties}', folder)
    number = int(random.integers(*rows))
    owner = np.sort(random.choice(holders, number, p=random.dirichlet(np.full(holders, 2.0))))
    chances = [random.dirichlet(np.full(len(leaves), 0.7)) for leaves in quasi]
    cells = {f"q{place}": random.choice(leaves, number, p=chances[place]) for place, leaves in enumerate(quasi)}
    chance = random.dirichlet(np.full(len(VALUES), 2.0))
    cells |= {f"s{column}": random.choice(VALUES, number, p=chance) for column in range(sensitive)}
    terms, tables = Terms.of(study), list[Table]()
    for holder in range(holders):
        mine = pa.table({name: texts[owner == holder].astype(str).tolist() for name, texts in cells.items()})
        table = load_table(replace(study, protocol=None), f"h{holder}", mine)
        assert table is not None
        tables.append(table)
    return Drawn(study, terms, tuple(tables), tuple(records_of(terms, tables)), asked)


def records_of(terms: Terms, tables: Sequence[Table]) -> Iterator[Record]:
    """Yields the holders' records as the reference has them; the number of a record is its cell."""
    number = count()
    for holder, table in enumerate(tables):
        columns = [
            [tuple(tree.labels[label] for label in tree.up[:, leaf]) for leaf in range(tree.codes)]
            for tree in terms.trees
        ]
        watched = [table.values(column.name) for column in terms.study.sensitive]
        for row in range(table.rows):
            paths = tuple(paths[leaf] for paths, leaf in zip(columns, table.codes[:, row].tolist(), strict=True))
            values = tuple(own.labels[own.codes[row]] for own in watched)
            yield Record(paths, holder, values, next(number))


def _hierarchy(random: np.random.Generator, folder: Path, column: int) -> tuple[list[str], str]:
    """Returns the leaves of a random tree, missing cells perhaps among them, and the study's lines on it."""
    kind, leaves = random.integers(4), [f"v{leaf}" for leaf in range(int(random.integers(1, 12)))]
    missing = random.random() < 0.5
    rule = "" if missing else 'missing = "error"\n'
    if kind == 0:
        return leaves + [""] * missing, f'hierarchy = "flat"\nvalues = {leaves}\n{rule}'
    levels, paths = int(random.integers(1, 4)), [[leaf] for leaf in leaves]
    for level in range(1, levels):
        above: dict[str, str] = {}
        for path in paths:  # some labels have one child, and stand on two levels
            stays = above.setdefault(path[-1], path[-1] if random.random() < 0.3 else f"l{level} {random.integers(4)}")
            path.append(stays)
        lone = {label for label in (path[-1] for path in paths) if label in [path[-2] for path in paths]}
        for path in paths:  # a label that stays has no other child
            if path[-1] in lone and path[-2] != path[-1]:
                path[-1] = f"l{level} other"
    lines = [";".join([*path, "*"]) for path in paths]
    (folder / f"q{column}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return leaves + [""] * missing, f'hierarchy = "q{column}.csv"\n{rule}'


def _privacy(random: np.random.Generator, holders: int) -> tuple[str, Asked]:
    """Returns the lines of [privacy], about half of the conditions among them, and the same for the reference."""
    asks = {name: random.random() < chance for name, chance in CHANCES.items()}
    k, insider = int(random.integers(2, 7)), int(random.choice([1, 2, 2, 3, 9]))
    distinct = asks["l"] and asks["distinct"]
    l = Fraction(int(random.integers(2, 4))) if distinct else Fraction(int(random.integers(5, 9)), 4)  # noqa: E741
    most, of_others = Fraction(int(random.integers(4, 8)), 8), Fraction(int(random.integers(5, 8)), 4)
    lines = [f"k = {k}", f"k_insider = {insider}"]
    if asks["most"]:
        lines.append(f"most_of_a_class = {float(most)}")
    if asks["l"]:
        lines.append(f"l = {float(l)}")
    if distinct:
        lines.append('diversity = "distinct"')
    beside = asks["l_insider"] and not distinct
    if beside:
        lines.append(f"l_insider = {float(of_others)}")
    return "\n".join(lines), Asked(
        k=k,
        holders=holders,
        k_insider=insider,
        most_of_a_class=most if asks["most"] else None,
        l=l if asks["l"] else None,
        distinct=distinct,
        l_insider=of_others if beside else None,
    )
