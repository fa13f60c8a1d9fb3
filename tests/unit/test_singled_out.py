"""Rows that one published cell or two single out, against a count in plain Python that shares nothing with it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from tests.conftest import Covey as Command

import covey
from covey import publish
from covey.errors import Unmet
from covey.judge import singled_out
from covey.judge.singled_out import NAME
from covey.sources import connect
from covey.study import Study

HEAD = '[study]\nname = "trial"\n[privacy]\nk = 2\n'


def column(name: str, role: str, more: str = "") -> str:
    tree = '\nhierarchy = "flat"' if role == "quasi" else ""
    return f'[columns.{name}]\nrole = "{role}"{tree}\n{more}\n'


def drawn(seed: int, rows: int) -> tuple[Study, pd.DataFrame]:
    """A release with labels, values that few rows bear, missing cells and a constant."""
    at = np.random.default_rng(seed)
    cells = {
        "age": [at.choice(["[20, 39]", "[40, 59]", "*"]) for _ in range(rows)],
        "town": [at.choice(["York", "Kent", "*"]) for _ in range(rows)],
        "illness": [at.choice(["flu", "cold", "none"]) for _ in range(rows)],
        "stay": [str(int(at.exponential(5))) for _ in range(rows)],
        "note": [at.choice(["", "", "", "a", "b", f"n{at.integers(rows)}"]) for _ in range(rows)],
        "ward": ["W1"] * rows,
    }
    quasi = column("age", "quasi") + column("town", "quasi")
    exact = column("illness", "sensitive") + "".join(column(name, "plain") for name in ("stay", "note", "ward"))
    return Study.parse(HEAD + quasi + exact), pd.DataFrame(cells)


def counted_by_hand(table: pd.DataFrame) -> tuple[int, int, dict[str, int], dict[frozenset[str], int]]:
    """Rows by one cell, by two, by column, and by pair of columns; from dicts of the cells alone."""
    rows = table.to_dict("records")
    one, two, columns, pairs = set(), set(), {}, {}
    for name in table.columns:
        often = Counter(row[name] for row in rows)
        alone = {place for place, row in enumerate(rows) if often[row[name]] == 1}
        one |= alone
        columns[name] = len(alone)
    for names in combinations(table.columns, 2):
        together = Counter((row[names[0]], row[names[1]]) for row in rows)
        alone = {place for place, row in enumerate(rows) if together[row[names[0]], row[names[1]]] == 1}
        two |= alone
        pairs[frozenset(names)] = len(alone)
    return len(one), len(two), {name: n for name, n in columns.items() if n}, {p: n for p, n in pairs.items() if n}


@pytest.mark.parametrize("seed", range(8))
def test_the_judge_counts_what_a_count_by_hand_finds(seed: int) -> None:
    study, table = drawn(seed, 40 * (seed + 1))
    found = covey.verify(table, study).singled_out
    one, two, columns, pairs = counted_by_hand(table)
    assert (found.one, found.two, found.columns, found.only_exact) == (one, two, columns, False)
    assert 0 < one <= two
    assert [pair.rows for pair in found.pairs] == sorted(pairs.values(), reverse=True)[:10]
    assert all(pairs[frozenset(pair.columns)] == pair.rows for pair in found.pairs)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_release_is_counted_alike_wherever_it_lies(kind: str, tmp_path: Path) -> None:
    study, table = drawn(1, 90)
    table.to_csv(tmp_path / "release.csv", index=False)
    table.to_parquet(tmp_path / "release.parquet")
    given = table if kind == "arrow" else tmp_path / f"release.{kind}"
    assert covey.verify(given, study).singled_out == covey.verify(table, study).singled_out


def test_codes_that_memory_should_not_hold_lie_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    study, table = drawn(2, 120)
    expected = covey.verify(table, study).singled_out
    monkeypatch.setattr(singled_out, "limit", lambda: 100)
    assert covey.verify(table, study).singled_out == expected


def test_many_values_are_counted_by_sorting_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    study, table = drawn(3, 120)
    expected = covey.verify(table, study).singled_out
    monkeypatch.setattr(singled_out, "_DENSE", 0)
    monkeypatch.setattr(singled_out, "_LEAST_DENSE", 0)
    assert covey.verify(table, study).singled_out == expected


@pytest.mark.parametrize(("name", "most"), [("MOST_ROWS", 6), ("MOST_PAIRS", 2)])
def test_of_very_many_rows_or_columns_only_pairs_with_an_exact_one_are_counted_and_it_says_so(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quasi = ["*|York", "*|York", "*|*", "[20, 39]|*", "[20, 39]|*", "[20, 39]|York", "*|York"]
    table = pd.DataFrame([cells.split("|") for cells in quasi], columns=["age", "town"])
    table["stay"] = ["1", "1", "2", "2", "2", "1", "1"]
    study = Study.parse(HEAD + column("age", "quasi") + column("town", "quasi") + column("stay", "plain"))
    assert counted_by_hand(table)[3] == {frozenset(("age", "town")): 2, frozenset(("age", "stay")): 2}
    assert covey.verify(table, study).singled_out.two == 2
    monkeypatch.setattr(singled_out, name, most)
    verdict = covey.verify(table, study)
    assert verdict.singled_out.only_exact
    assert [pair.columns for pair in verdict.singled_out.pairs] == [["age", "stay"]]
    assert "only those with an exact column were counted" in verdict.notes[-1]


SAFE = pd.DataFrame({"age": ["*"] * 4, "illness": ["flu", "flu", "cold", "cold"], "stay": ["1", "1", "2", "3"]})
BOTH = column("age", "quasi") + column("illness", "sensitive")


def test_a_value_that_one_row_alone_bears_is_a_no_that_names_the_column_and_no_cell() -> None:
    verdict = covey.verify(SAFE, Study.parse(HEAD + BOTH + column("stay", "plain")))
    assert [(each.name, each.column, each.reached) for each in verdict.unmet] == [(NAME, "stay", 2)]
    assert "of 'stay' must be at most 0 but it is 2" in verdict.sentence()
    assert not verdict
    with pytest.raises(AssertionError):
        assert verdict


def test_a_missing_cell_that_one_row_alone_has_singles_it_out() -> None:
    table = SAFE.assign(stay=pd.Series(["1", "1", "1", None], dtype=object))
    verdict = covey.verify(table, Study.parse(HEAD + BOTH + column("stay", "plain")))
    assert verdict.singled_out.columns == {"stay": 1}


@pytest.mark.parametrize("role", ["plain", "sensitive"])
def test_a_column_that_the_study_allows_with_a_reason_is_counted_and_no_no(role: str) -> None:
    allowed = Study.parse(HEAD + BOTH + column("stay", role, 'singles_out = "everybody agreed"'))
    verdict = covey.verify(SAFE, allowed)
    assert verdict and verdict.singled_out.one == 2
    (asked,) = [each for each in verdict.requirements if each.name == NAME]
    assert "'stay': everybody agreed" in asked.detail


def test_what_is_kept_is_the_mean_over_the_columns_that_could_be_published() -> None:
    study = Study.parse(HEAD + column("id", "identifier") + BOTH + column("stay", "plain") + column("ward", "plain"))
    table = pd.DataFrame(
        {
            "age": ["[0, 9]", "[0, 9]", "*", "*"],
            "illness": ["flu", "flu", "cold", "cold"],
            "stay": ["1", "1", "2", "2"],
            "ward": ["W1"] * 4,
        }
    )
    verdict = covey.verify(table, study)
    assert verdict.constant == ("ward",)
    assert verdict.kept == pytest.approx(((1 - verdict.loss.lm) + 1 + 1) / 3)  # age, illness, stay


def test_the_linked_share_is_that_of_originals_whose_exact_cells_lead_to_one_released_row() -> None:
    study = Study.parse(HEAD + BOTH + column("stay", "plain", 'singles_out = "made up"'))
    before = SAFE.assign(age=["1", "2", "3", "4"])
    verdict = covey.verify(SAFE, study, before)
    assert verdict.original is not None
    assert verdict.original.linked == 0.5  # the third and the fourth row, by their stay
    by_two = SAFE.assign(illness=["flu", "cold", "flu", "cold"], stay=["1", "1", "2", "2"])
    verdict = covey.verify(by_two, study, by_two.assign(age=["1", "2", "3", "4"]))
    assert verdict.original is not None and verdict.singled_out.one == 0
    assert verdict.original.linked == 1.0  # each by illness and stay together


def test_an_owner_s_release_is_written_and_says_no_before_anything_else() -> None:
    study = Study.parse(HEAD + BOTH + column("stay", "plain"))
    release = covey.anonymize(SAFE.assign(age=["1", "1", "2", "2"]), study)
    assert release.singled_out is not None and release.singled_out.columns == {"stay": 2}
    assert release.kept is not None and release.loss.lm is not None
    assert repr(release).startswith("Release(answer no: one published cell singles out people, by the column 'stay'")
    assert "loss" not in repr(release) and "kept" not in repr(release)


@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_a_release_that_stays_on_the_engine_is_counted_too(written: Literal["csv", "parquet"], tmp_path: Path) -> None:
    study, table = Study.parse(HEAD + BOTH + column("stay", "plain")), SAFE.assign(age=["1", "1", "2", "2"])
    table.to_parquet(tmp_path / "table.parquet")
    summary = covey.anonymize_on_engine(tmp_path / "table.parquet", study, tmp_path / "out", written=written)
    in_memory = covey.anonymize(table, study).figures
    assert summary.singled_out == in_memory.singled_out and summary.refused == in_memory.refused is not None
    assert summary.kept == in_memory.kept
    assert (tmp_path / "out" / f"release.{written}").exists()


def test_the_command_ends_with_exit_one_also_for_rows_on_an_engine(covey: Command, tmp_path: Path) -> None:
    SAFE.assign(age=["1", "1", "2", "2"]).to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "study.toml").write_text(HEAD + BOTH + column("stay", "plain"))
    given = ("anonymize", tmp_path / "study.toml", "--data", tmp_path / "table.csv")
    for more in ((), ("--on-engine",), ("--json",)):
        out = tmp_path / f"out{''.join(more)}"
        ended = covey(*given, *more, "--out", out)
        assert ended.code == 1 and "no, do not publish this: one published cell singles out people" in ended.err
        assert (out / "release.csv").is_file() and (out / "report.html").is_file()
    assert json.loads(ended.out)["loss"]["lm"] is not None  # for programs the loss stays


def test_other_faults_of_a_release_are_never_published() -> None:
    study, table = Study.parse(HEAD + BOTH + column("stay", "plain")), SAFE.assign(age=["1", "2", "3", "4"])
    with pytest.raises(Unmet, match="k must be at least 2"):
        publish.judged(connect(table), study)
