"""Paper 000, On Distributed k-Anonymization: its Table 1, and the tables of theorem 6 for any k and size."""

from __future__ import annotations

import numpy as np
import pytest

from covey.protocols.as_printed.suppress.ideal import decide
from covey.protocols.as_printed.suppress.tuples import OwnTuples

HEALTH = (("645-3032", "45"), ("645-3138", "25"), ("645-3138", "32"), ("645-3138", "26"), ("645-3084", "45"))
Rows = list[tuple[str, ...]]


def suppressed(k: int, first: Rows, second: Rows) -> Rows:
    """Both tables as they are released, one after the other."""
    kept = decide(k, *(own(rows) for rows in (first, second)))
    keeps = [*kept[0].tolist(), *kept[1].tolist()]
    return [row if keep else ("*",) * len(row) for row, keep in zip([*first, *second], keeps, strict=True)]


def own(rows: Rows) -> OwnTuples:
    listed = sorted(set(rows))
    return OwnTuples.sorted(listed, np.array([listed.index(row) for row in rows], dtype=np.int64))


def test_of_table_1_nothing_is_left_by_phone_and_age() -> None:
    assert suppressed(2, list(HEALTH[:3]), list(HEALTH[3:])) == [("*", "*")] * 5


def test_of_table_1_by_phone_the_phone_that_both_have_is_left() -> None:
    phones: Rows = [(phone,) for phone, _ in HEALTH]
    assert suppressed(2, phones[:3], phones[3:]) == [("*",), ("*",), ("645-3138",), ("645-3138",), ("*",)]


def table(marked: str, many: int, rows: int) -> Rows:
    """Theorem 6: `many` rows with a symbol in the first column, and zeros in all others."""
    return [(marked if place < many else "0", "0") for place in range(rows)]


@pytest.mark.parametrize("k", [2, 3, 4, 6])
@pytest.mark.parametrize("more", [0, 1, 5])
def test_theorem_6_three_pairs_have_one_release_and_the_fourth_has_another(k: int, more: int) -> None:
    """Equations 9 and 10, by which no unconditionally private protocol computes a normal function."""
    first, second = k + more, k - 1 + max(1, more)
    t_a, s_a = (table(symbol, 1, first) for symbol in "13")
    t_b, s_b = (table(symbol, k - 1, second) for symbol in "23")
    same = suppressed(k, t_a, t_b)
    assert same == suppressed(k, s_a, t_b) == suppressed(k, t_a, s_b)
    assert not {"1", "2", "3"} & {row[0] for row in same}
    assert suppressed(k, s_a, s_b) == [*s_a, *s_b] != same
