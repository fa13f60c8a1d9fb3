"""Numbers that stand for "no value", told from honest ones: both sides of each bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from covey.guess.spelling import spelling

ROWS = 600
Draw = Callable[[np.random.Generator], object]


def drawn(draw: Draw, seed: int) -> list[str]:
    source = np.random.default_rng(seed)
    return [str(draw(source)) for _ in range(ROWS)]


def between(low: int, high: int) -> Draw:
    return lambda source: source.integers(low, high + 1)


def around(mean: float, spread: float, low: int, high: int) -> Draw:
    return lambda source: min(high, max(low, round(source.normal(mean, spread))))


def one_of(*values: str) -> Draw:
    return lambda source: source.choice(values)


def tenths(low: float, high: float) -> Draw:
    return lambda source: f"{source.uniform(low, high):.1f}"


def null_of(cells: Sequence[str]) -> set[str]:
    return set(spelling(Counter(cells)).null)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("draw", "codes"),
    [
        (between(18, 90), {"-9": 9}), (between(18, 90), {"999": 9}), (between(18, 90), {"-9": 9, "999": 9, ".": 4}),
        (between(18, 84), {"99": 12}), (between(18, 90), {"999": 1}), (between(18, 90), {"-99": 1}),
        (between(18, 90), {"997": 3, "998": 5, "999": 9}), (between(0, 5000), {"-1": 20}), (between(1, 5), {"9": 40}),
        (between(0, 1), {"9": 40}), (between(1, 5), {"8": 20, "9": 40}), (between(1, 6), {"-8": 9, "-9": 30, "-1": 12}),
        (between(1, 5), {"98": 9, "99": 12}), (between(1, 5), {"77": 9, "88": 9, "99": 12}),
        (around(125, 15, 80, 200), {"888": 10, "999": 10}), (tenths(2, 8), {"99.9": 2}), (tenths(35, 41), {"-99.9": 2}),
        (around(170, 10, 140, 205), {"-9999": 2}), (around(30000, 9000, 5000, 90000), {"999999": 1}),
        (around(30000, 9000, 5000, 90000), {"99999": 30}), (around(30000, 9000, 5000, 90000), {"-999": 2}),
        (between(1990, 2020), {"9999": 5}), (between(0, 40), {"-77": 10, "-88": 10, "-99": 10}),
    ],
)  # fmt: skip
def test_codes_apart_from_all_other_numbers_are_missing(draw: Draw, codes: dict[str, int], seed: int) -> None:
    cells = drawn(draw, seed) + [code for code, count in codes.items() for _ in range(count)]
    assert null_of(cells) == set(codes)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "draw",
    [
        between(60, 105),  # ages up to 105
        around(82, 8, 60, 99),  # ages of old people, 99 among them
        around(82, 8, 60, 104),
        between(18, 99),
        between(-12, 30), around(8, 6, -9, 30), around(10, 6, -5, 30), tenths(-9.9, 9.9),  # degrees
        lambda source: f"{source.normal(0, 3):.2f}",
        lambda source: int(source.exponential(1.7)),  # children, visits
        lambda source: int(source.exponential(20)),
        between(0, 9), between(1, 9), between(0, 99), between(1, 999),  # codes without a gap
        between(1, 7), one_of("-1", "0", "1"), one_of("-2", "-1", "0", "1", "2"),  # answers on a scale
        one_of("19", "49", "99", "199", "249", "499", "599", "799", "999"),  # prices
        lambda source: f"{source.integers(1, 21) * 5}.99",
        lambda source: source.integers(1, 101) * 10 - 1,
        lambda source: int(source.lognormal(10, 0.7)),  # incomes
        lambda source: int(source.lognormal(5, 1.2)),
        lambda source: source.integers(114, 27000) * (source.integers(40) == 0),  # gains: many zeros
        between(1990, 1999), one_of("1", "2"), one_of("9"), one_of("0"), one_of("9", "99"), one_of("0", "8"),
    ],
)  # fmt: skip
def test_honest_numbers_are_no_codes(draw: Draw, seed: int) -> None:
    assert null_of(drawn(draw, seed)) == set()


@pytest.mark.parametrize(
    ("honest", "code", "rows", "is_code"),
    [
        (dict.fromkeys(range(41), 10), -9, 1, False), (dict.fromkeys(range(41), 10), -9, 2, True),
        (dict.fromkeys(range(18, 85), 9), 99, 5, False), (dict.fromkeys(range(18, 85), 9), 99, 7, True),  # 1% of rows
        (dict.fromkeys(range(18, 85), 1), 99, 4, False), (dict.fromkeys(range(18, 85), 1), 99, 5, True),  # five rows
        (dict.fromkeys(range(18, 45), 1), 99, 2, True),  # fewer where it is wide away
        (dict.fromkeys(range(1, 95), 5), 99, 9, False), (dict.fromkeys(range(1, 95), 5), 99, 60, True),  # near, a spike
        (dict.fromkeys(range(1, 95), 1), 99, 9, False), (dict.fromkeys(range(1, 95), 1), 99, 10, True),
        (dict.fromkeys(range(19, 500, 10), 10), 999, 30, False), (dict.fromkeys(range(20, 500, 10), 10), 999, 30, True),
    ],
)  # fmt: skip
def test_a_code_is_told_by_its_rows_and_by_its_distance(
    honest: dict[int, int], code: int, rows: int, is_code: bool
) -> None:
    counts = {str(value): count for value, count in honest.items()} | {str(code): rows}
    assert spelling(counts).null == ((str(code),) if is_code else ())


def test_days_that_nobody_means_are_missing_only_far_from_all_others() -> None:
    visits = {f"20{year}-04-{day:02}": 3 for year in (19, 20, 21) for day in range(1, 29)}
    for odd in ("1900-01-01", "1970-01-01", "1899-12-30", "2999-12-31", "9999-12-31", "0001-01-01"):
        assert spelling({**visits, odd: 2}).null == (odd,), odd
    births = {f"{year}-0{year % 9 + 1}-01": 3 for year in range(1898, 1990)}
    assert spelling({**births, "1900-01-01": 2, "1970-01-01": 2}).null == ()
    assert spelling({"2023-12-31": 3, "2024-01-01": 4, "2025-02-02": 2}).null == ()


@pytest.mark.parametrize(
    ("cells", "null"),
    [
        (["NA", "DE", "FR"], []), (["NA", "male", "female"], ["NA"]), (["ND", "NY", "CA"], []), (["ND", "yes"], ["ND"]),
        (["CR", "PR", "NR"], []), (["UK", "Germany", "Spain"], []), (["accepted", "refused"], []), (["no", "yes"], []),
        (["none", "mild"], []), (["keine Angabe", "ledig"], ["keine Angabe"]), (["(Keine Angabe)", "ledig"],
         ["(Keine Angabe)"]),
        (["ＮＡ", "ja"], ["ＮＡ"]), (["N / A", "ja"], ["N / A"]), (["weiß nicht", "ja"], ["weiß nicht"]),
        (["무응답", "예"], ["무응답"]), (["없음", "예"], []), (["없음", "1", "2"], ["없음"]), (["na", "*"], ["*",
         "na"]),
    ],
)  # fmt: skip
def test_words_for_missing_are_told_from_values(cells: list[str], null: list[str]) -> None:
    assert list(spelling(dict.fromkeys(cells, 5)).null) == null
