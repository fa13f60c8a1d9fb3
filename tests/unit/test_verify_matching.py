"""Every released row needs an original of its own: what the judge finds when one has none."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.harness.tiers import examples
from tests.harness.trees import covers

from covey import measures
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Open
from covey.judge import verify
from covey.study import Study

STUDY = """
[study]
name = "trial"
[privacy]
k = 2
[columns.id]
role = "identifier"
{id}
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 19, steps = [5, 10] }}
{age}
[columns.code]
role = "quasi"
hierarchy = {{ prefix = [2, 1] }}
[columns.pay]
role = "quasi"
hierarchy = "interval"
step = 10
[columns.illness]
role = "sensitive"
singles_out = "there are few rows"
[columns.nights]
role = "plain"
singles_out = "there are few rows"
"""
COLUMNS = ["age", "code", "pay", "illness", "nights"]


def study(age: str = "", id: str = "") -> Study:  # noqa: A002 - the column's name
    return Study.parse(STUDY.format(age=age, id=id))


def table(*rows: str) -> pd.DataFrame:
    return pd.DataFrame([row.split("|") for row in rows], columns=COLUMNS)


BEFORE = table("3|111|10|flu|1", "4|112|20|cold|1", "7|121|30|flu|2", "8|122|40|none|2")
AFTER = table("[0, 4]|11*|[10, 20]|flu|1", "[0, 4]|11*|[10, 20]|cold|1", "[5, 9]|12*|*|flu|2", "[5, 9]|12*|*|none|2")


def against(after: pd.DataFrame, before: pd.DataFrame = BEFORE, **more: str) -> tuple[bool, int, int]:
    verdict = verify(after, study(**more), before)
    assert verdict.original is not None
    return verdict.answer, verdict.original.unmatched, verdict.original.withheld


def test_a_true_release_matches_in_any_order() -> None:
    assert against(AFTER.iloc[[2, 0, 3, 1]]) == (True, 0, 0)


def test_a_swapped_sensitive_value_is_found() -> None:
    swapped = AFTER.assign(illness=["flu", "none", "flu", "cold"])
    assert against(swapped) == (False, 2, 2)
    assert (
        "released rows without an original of their own must be at most 0"
        in verify(swapped, study(), BEFORE).sentence()
    )


def test_a_changed_plain_value_is_found() -> None:
    assert against(AFTER.assign(nights=["1", "1", "2", "3"])) == (False, 1, 1)


def test_a_duplicated_row_has_no_original_left() -> None:
    assert against(pd.concat([AFTER, AFTER.iloc[[0]]])) == (False, 1, 0)


def test_a_row_that_covers_nothing_is_found() -> None:
    strange = AFTER.copy()
    strange.loc[[0, 1], "age"] = "[10, 14]"
    assert against(strange) == (False, 2, 2)


@pytest.mark.parametrize(("column", "label"), [("age", "5"), ("code", "13*"), ("code", "999"), ("pay", "[11, 19]")])
def test_labels_of_every_kind_must_cover(column: str, label: str) -> None:
    strange = AFTER.copy()
    strange.loc[[0, 1], column] = label
    assert against(strange) == (False, 2, 2)


def test_fewer_than_k_withheld_is_fine_and_k_are_a_no() -> None:
    one = pd.concat([BEFORE, table("19|999|50|flu|1")])
    assert against(AFTER, one) == (True, 0, 1)
    two = pd.concat([one, table("19|999|50|flu|1")])
    assert against(AFTER, two) == (False, 0, 2)


def test_what_keeps_k_but_not_what_insiders_may_see_may_be_withheld_by_a_protocol_and_is_noted() -> None:
    more = pd.concat([BEFORE, table("19|999|50|flu|1", "19|999|50|flu|1")])
    for insider, answer in ((2, True), (1, False)):
        asked = (
            f'[study]\nprotocol = "peel"\npartition = "horizontal"\nname = "t"\n[privacy]\nk_insider = {insider}\nk = 2'
        )
        joint = Study.parse(STUDY.format(age="", id="").replace('[study]\nname = "trial"\n[privacy]\nk = 2', asked))
        verdict = verify(AFTER, joint, more)
        assert verdict.answer is answer
        assert any("2 originals are withheld" in note for note in verdict.notes) is answer


def test_rows_dropped_for_missing_values_are_not_withheld() -> None:
    more = pd.concat([BEFORE, table("|111|10|flu|1", "|112|10|flu|1")])
    verdict = verify(AFTER, study(age='missing = "drop"'), more)
    assert verdict.original is not None
    assert (verdict.answer, verdict.original.withheld, verdict.original.dropped) == (True, 0, 2)
    assert against(AFTER, more) == (False, 0, 2)


def test_a_missing_identifier_drops_a_row_too() -> None:
    verdict = verify(AFTER, study(id='missing = "drop"'), pd.concat([BEFORE, BEFORE]).assign(id=["x"] * 4 + [""] * 4))
    assert verdict.original is not None
    assert (verdict.answer, verdict.original.withheld, verdict.original.dropped) == (True, 0, 4)


def test_a_missing_original_value_is_an_error_where_the_study_says_so() -> None:
    more = pd.concat([BEFORE, table("|111|10|flu|1")])
    with pytest.raises(InputError, match="column 'age' has no value in 1 row"):
        verify(AFTER, study(age='missing = "error"'), more)


def test_missing_is_covered_by_itself_and_the_root_alone() -> None:
    missing = table("|111||flu|1", "|111||cold|1")
    assert against(table("*|111|*|flu|1", "*|111|*|cold|1"), missing) == (True, 0, 0)
    assert against(table("|111||flu|1", "|111||cold|1"), missing) == (True, 0, 0)
    assert against(table("[0, 9]|111|*|flu|1", "[0, 9]|111|*|cold|1"), missing) == (False, 2, 2)
    assert against(table("*|111|[0, 9]|flu|1", "*|111|[0, 9]|cold|1"), missing) == (False, 2, 2)


def test_an_original_that_does_not_fit_the_study_is_refused() -> None:
    for row, column in (("99|111|10|flu|1", "age"), ("3|111|ten|flu|1", "pay")):
        with pytest.raises(InputError, match=f"column {column!r} has values in 1 row that its hierarchy does not"):
            verify(AFTER, study(), pd.concat([BEFORE, table(row)]))


def test_a_greedy_matching_is_not_enough() -> None:
    """The wide row could take either original; only one choice leaves one for the narrow row."""
    before = table("1|111|10|flu|1", "2|111|10|flu|1")
    for after in (["[0, 4]", "1"], ["[0, 4]", "2"], ["1", "[0, 4]"], ["2", "[0, 4]"]):
        verdict = verify(table(*(f"{age}|111|10|flu|1" for age in after)), study(), before)
        assert verdict.original is not None
        assert verdict.original.unmatched == 0


MATCHING = import_module("covey.judge.matching")


def test_matching_part_by_part_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MATCHING, "_PAIRS_AT_ONCE", 1)
    assert against(AFTER) == (True, 0, 0)
    assert against(AFTER.assign(illness=["flu", "none", "flu", "cold"])) == (False, 2, 2)


def test_more_pairs_than_fit_in_memory_are_refused_before_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MATCHING, "_MOST_PAIRS", 3)
    same = table(*["3|111|10|flu|1"] * 2, *["4|111|10|flu|1"] * 2)
    wide = table(*["[0, 4]|111|10|flu|1"] * 2, *["*|111|10|flu|1"] * 2)
    with pytest.raises(InputError, match="more than 3 pairs"):
        verify(wide, study(), same)


def test_journalists_search_all_whom_the_labels_could_mean() -> None:
    wide = table("*|*|*|flu|1", "*|*|*|cold|1", "[5, 9]|12*|*|flu|2", "[5, 9]|12*|*|none|2")
    risk = verify(wide, study(), BEFORE).risk
    assert risk.population == "the original"
    assert (risk.prosecutor.highest, risk.prosecutor.average) == (1 / 2, 1 / 2)
    assert (risk.journalist.highest, risk.journalist.average) == (1 / 2, (2 / 4 + 2 / 2) / 4)
    assert risk.marketer == risk.journalist.average


def test_the_entropies_agree_with_the_measures_and_by_hand() -> None:
    one = Study.parse(
        '[study]\nname = "e"\n[privacy]\nk = 2\n[columns.age]\nrole = "quasi"\n'
        "hierarchy = { min = 0, max = 3, steps = [2] }\n"
    )
    before = pd.DataFrame({"age": list("0001") + list("23") + ["3"]})
    after = pd.DataFrame({"age": ["[0, 1]"] * 4 + ["*", "*"]})
    loss = verify(after, one, before).loss
    tree = one.column("age").tree()
    counts = np.array([3, 1, 1, 2, 0])
    pair, root = tree.node("[0, 1]"), tree.root
    em, monotone = measures.em(tree, counts), measures.em_monotone(tree, counts)
    assert loss.em == pytest.approx((4 * em[pair] + 3 * em[root]) / 7)  # a withheld row is lost in full
    assert loss.em_monotone == pytest.approx((4 * monotone[pair] + 3 * monotone[root]) / 7)
    own = 3 * math.log2(4 / 3) + math.log2(4) + math.log2(7) + 2 * math.log2(7 / 2)
    assert loss.entropy == pytest.approx(own / 7)
    assert loss.dm == 4 * 4 + 2 * 2 + 7
    assert loss.lm == pytest.approx((4 * 1 / 3 + 3) / 7)


def test_without_a_full_matching_a_row_s_own_entropy_is_absent() -> None:
    verdict = verify(AFTER.assign(nights="9"), study(), BEFORE)
    assert verdict.loss.entropy is None
    assert "no original of their own" in verdict.absent["loss.entropy"]


ages = st.sampled_from(["1", "3", "7", "12", ""])
codes = st.sampled_from(["111", "112", "121", "2"])
pays = st.sampled_from(["10", "20", "35.5", ""])
values = st.tuples(ages, codes, pays, st.sampled_from(["flu", "cold"]), st.just("1"))
age_labels = st.sampled_from(["1", "3", "[0, 4]", "[0, 9]", "*", ""])
code_labels = st.sampled_from(["111", "11*", "1*", "2", "*"])
pay_labels = st.sampled_from(["10", "[10, 20]", "[10, 36]", "*", ""])
labels = st.tuples(age_labels, code_labels, pay_labels, st.sampled_from(["flu", "cold"]), st.just("1"))


@settings(max_examples=examples(80), deadline=None)
@given(after=st.lists(labels, min_size=1, max_size=12), before=st.lists(values, min_size=1, max_size=12))
def test_the_matching_is_the_best_assignment_row_by_row(
    after: list[tuple[str, ...]], before: list[tuple[str, ...]]
) -> None:
    agreed = study()
    fits = np.array([[_covers(agreed, label, value) for value in before] for label in after])
    rows, columns = linear_sum_assignment(fits, maximize=True)
    best = int(fits[rows, columns].sum())
    _, unmatched, withheld = against(pd.DataFrame(after, columns=COLUMNS), pd.DataFrame(before, columns=COLUMNS))
    assert (unmatched, withheld) == (len(after) - best, len(before) - best)


def _covers(agreed: Study, label: tuple[str, ...], value: tuple[str, ...]) -> bool:
    if label[3:] != value[3:]:
        return False
    return all(
        _covers_cell(agreed.column(name).hierarchy, a, b)
        for name, a, b in zip(COLUMNS[:3], label[:3], value[:3], strict=True)
    )


def _covers_cell(tree: Hierarchy | Open | None, label: str, value: str) -> bool:
    assert tree is not None
    if "" in (label, value):
        return label in (value, "*")
    return covers(tree, label, value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"before\.csv: there is no such file"):
        verify(AFTER, study(), tmp_path / "before.csv")
