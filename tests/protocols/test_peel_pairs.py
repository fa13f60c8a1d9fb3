"""Pairs of values: who shares them is looked at before the list is made; one bit for each pair, and never a count."""

from __future__ import annotations

import numpy as np
import pytest
from tests.protocols.peelers import draw_people, frame_of, study_of, tables_of

import covey
from covey.arrays import Ints
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols import peel
from covey.protocols.shared.peeling import nodes
from covey.protocols.shared.peeling.marginals import Marginals, of_records
from covey.protocols.shared.peeling.nodes import list_nodes, synthesize
from covey.protocols.shared.peeling.pairs import CELLS, cells_of, pairs_of
from covey.sources.release import arrange, canonical_csv


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lattice is so small that it is listed whole."""
    monkeypatch.setattr(nodes, "FEW", 0)
    monkeypatch.setattr(nodes, "WHOLE", 0)


def flat(values: int) -> Hierarchy:
    return Hierarchy(
        [*(f"v{place}" for place in range(values)), "*"],
        np.array([np.arange(values), np.full(values, values)], dtype=np.int32),
    )


def deep(values: int) -> Hierarchy:
    tens = values // 10
    labels = [*(f"v{place}" for place in range(values)), *(f"t{place}" for place in range(tens)), "*"]
    levels = [np.arange(values), values + np.arange(values) // 10, np.full(values, values + tens)]
    return Hierarchy(labels, np.array(levels, dtype=np.int32))


def alike(codes: Ints, counts: np.ndarray) -> float:
    """The part of the records whose first two values are the same."""
    return float(counts[codes[0] == codes[1]].sum() / counts.sum())


@pytest.mark.few(1)
@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.usefixtures("made_up")
def test_the_release_is_a_trusted_partys_that_looks_at_the_same_pairs(parties: int, pairs: bool) -> None:
    study = study_of(parties, k=3, options=f"pairs = {str(pairs).lower()}\nmode = 'wave'")
    people = draw_people(parties, 25, 4)
    tables = tables_of(study, people)
    real = covey.simulate(study, {name: frame_of(study, own) for name, own in people.items()}, seed=1)
    assert canonical_csv(arrange(real.table)) == canonical_csv(arrange(peel.ideal(study, tables).release))
    cells = cells_of(tables["p0"].trees)
    assert any(f"which of {cells} pairs of values" in line for line in real.ledger["p0"]) == pairs


def test_nobody_looks_at_pairs_where_every_generalization_is_visited_anyway() -> None:
    study = study_of(3, k=3)
    people = draw_people(3, 20, 4)
    real = covey.simulate(study, {name: frame_of(study, own) for name, own in people.items()}, seed=1)
    assert not any("pairs of values" in line for line in real.ledger["p0"])


def test_columns_that_depend_on_each_other_do_so_in_the_synthetic_table() -> None:
    trees = (flat(20), flat(20), flat(3))
    random = np.random.default_rng(1)
    first = random.integers(20, size=4000)
    codes = np.array([first, first, random.integers(3, size=4000)], dtype=np.int32)
    counts = tuple(np.bincount(own, minlength=tree.codes) for own, tree in zip(codes, trees, strict=True))
    shared = tuple(pair.count(trees, codes) >= 10 for pair in pairs_of(trees))
    seed = Secret(bytes(32))
    assert alike(*synthesize(trees, Marginals(4000, 10, counts), 4000, seed)) < 0.1
    drawn, number = synthesize(trees, Marginals(4000, 10, counts, shared), 4000, seed)
    assert alike(drawn, number) > 0.6
    for column, tree in enumerate(trees):
        seen = np.bincount(drawn[column], weights=number, minlength=tree.codes)
        assert np.abs(seen - counts[column]).max() < 0.3 * counts[column].max()


def test_columns_with_many_values_are_looked_at_on_a_coarser_level() -> None:
    trees = (deep(1000), deep(500), flat(4))
    fine = {pair.columns: pair.levels for pair in pairs_of(trees)}
    assert fine == {(0, 1): (1, 1), (0, 2): (0, 0), (1, 2): (0, 0)}
    assert all(np.prod(pair.shape) <= CELLS for pair in pairs_of(trees))


@pytest.mark.usefixtures("made_up")
def test_how_many_records_have_a_pair_changes_nothing_that_is_public() -> None:
    """Rows are exchanged so that no column changes and pairs below k, and those above, get other numbers of records."""
    study = study_of(3, k=4)
    trees = tables_of(study, draw_people(3, 2, 0))["p0"].trees
    ages, towns = [0, 1], [0, 1]

    def table(both: int, other: int) -> Ints:
        rows = [(ages[0], towns[0])] * both + [(ages[0], towns[1])] * other
        rows += [(ages[1], towns[0])] * other + [(ages[1], towns[1])] * both
        return np.array([[age, 0, town] for age, town in rows], dtype=np.int32).T

    rare, rarer = (of_records(study, trees, table(*counts), True) for counts in ((20, 3), (22, 1)))
    often = of_records(study, trees, table(18, 5), True)
    for one, other in zip(rare.counts + rare.shared, rarer.counts + rarer.shared, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(list_nodes(study, trees, rare, 2000), list_nodes(study, trees, rarer, 2000))
    assert any(not np.array_equal(one, other) for one, other in zip(rare.shared, often.shared, strict=True))
