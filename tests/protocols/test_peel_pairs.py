"""Pairs of values: who shares them is looked at before the list is made; one bit for each pair, and never a count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.protocols.peelers import draw_people, frame_of, study_of, tables_of

import covey
from covey.arrays import Ints
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols import peel
from covey.protocols.shared.peeling import nodes
from covey.protocols.shared.peeling.ideal import peel_all
from covey.protocols.shared.peeling.marginals import Marginals, of_records
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.protocols.shared.peeling.pairs import CELLS, cells_of, pairs_of
from covey.protocols.shared.peeling.synthetic import count_families, in_families, synthesize
from covey.sources.release import arrange, canonical_csv
from covey.study import Study


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


def alike(codes: Ints) -> float:
    """The part of the records whose first two values are the same."""
    return float((codes[0] == codes[1]).mean())


def relatives(families: int, differs: float, columns: int, rows: int) -> Ints:
    """Records (columns x rows, values 0 to 7) that are each like one of a few, but for some cells."""
    random = np.random.default_rng(1)
    anew = np.minimum(random.geometric(0.4, (columns, rows)) - 1, 7)
    of = (families * random.random(rows) ** 2).astype(np.int64)
    return np.where(random.random((columns, rows)) < differs, anew, anew[:, of]).astype(np.int32)


def eights() -> Hierarchy:
    levels = [np.arange(8), 8 + np.arange(8) // 2, 12 + np.arange(8) // 4, np.full(8, 14)]
    return Hierarchy([f"v{place}" for place in range(14)] + ["*"], np.array(levels, dtype=np.int32))


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
    assert alike(synthesize(trees, Marginals(4000, 10, counts), 4000, seed)) < 0.1
    drawn = synthesize(trees, Marginals(4000, 10, counts, shared), 4000, seed)
    assert alike(drawn) > 0.6
    for column, tree in enumerate(trees):
        seen = np.bincount(drawn[column], minlength=tree.codes)
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


def families_of(codes: Ints, k: int) -> int:
    trees = tuple(eights() for _ in codes)
    counts = tuple(np.bincount(own, minlength=8) for own in codes)
    shared = tuple(pair.count(trees, codes) >= k for pair in pairs_of(trees))
    known, seeds = Marginals(codes.shape[1], k, counts, shared), [Secret(bytes([place] * 32)) for place in (1, 2)]
    tables = [synthesize(trees, known, codes.shape[1], seed) for seed in seeds]
    return count_families(trees, known, tables, seeds[1])


def test_families_are_seen_from_the_pairs_and_there_are_none_where_columns_are_independent() -> None:
    few, many = (families_of(relatives(families, 0.1, 14, 3000), 10) for families in (20, 400))
    assert 0 < few < many < 3000
    assert families_of(relatives(20, 1.0, 14, 3000), 10) == 0


def test_records_of_a_family_share_more_cells_than_others() -> None:
    records = relatives(1, 1.0, 9, 2000)
    assert np.array_equal(in_families(records, 0, Secret(bytes(32))), records)
    near = in_families(records, 8, Secret(bytes(32)))
    heads = records[:, :8, np.newaxis]
    most = [(table[:, np.newaxis] == heads).mean(axis=0).max(axis=0).mean() for table in (records, near)]
    assert most[1] > most[0] + 0.1
    for column in range(9):  # the frequencies stay, but for which records were the heads
        assert abs(int((near[column] == 0).sum()) - int((records[column] == 0).sum())) < 700


@pytest.mark.thorough
def test_people_who_agree_in_many_columns_lose_less_with_a_list_for_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lattice has 4^14 nodes, too many to be listed; a list for pairs of columns loses more."""
    monkeypatch.setattr(nodes, "PROBES", 400)
    codes = relatives(20, 0.1, 14, 1500)
    text = '[study]\nname = "wide"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 8\n'
    lines = [";".join(eights().labels[node] for node in path) for path in eights().up.T.tolist()]
    (tmp_path / "eights.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for party in "abc":
        text += f"[parties.{party}]\n"
    for column in range(14):
        text += f'[columns.c{column}]\nrole = "quasi"\nhierarchy = "eights.csv"\n'
    study = Study.parse(text, tmp_path)
    trees = tuple(column.tree() for column in study.quasi)
    codes = np.array([tree.encode([f"v{code}" for code in own]) for tree, own in zip(trees, codes, strict=True)])

    def loss() -> float:
        published, _ = peel_all(study, trees, codes, lambda *_: _[2] >= 8, nodes=2000, merge=False, pairs=True)
        return float(published.figures(study, trees, codes.shape[1]).loss["lm"] or 0)

    with_families = loss()
    monkeypatch.setattr(nodes, "count_families", lambda *_: 0)
    assert with_families < 0.95 * loss()
