"""One table is dealt to the parties whole: nothing is lost, nothing is doubled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from tests.consortium import study_text

from covey import samples
from covey.errors import InputError
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of, write_hands
from covey.study import Study

STUDY = Study.parse(study_text())
ROWS = 100
TABLE = pa.table(
    {
        "patient": [f"P{i}" for i in range(ROWS)],
        "age": [str(i % 90) for i in range(ROWS)],
        "sex": ["F" if i % 3 else "M" for i in range(ROWS)],
        "diagnosis": ["flu" if i % 2 else "none" for i in range(ROWS)],
    }
)


def rows(table: pa.Table) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_rows_are_dealt_in_equal_shares_and_all_of_them() -> None:
    hands = deal(STUDY, TABLE, seed=seed_of(1))
    assert sorted(hand.num_rows for hand in hands.values()) == [33, 33, 34]
    assert sum((rows(hand) for hand in hands.values()), Counter()) == rows(TABLE)


def test_equal_seeds_deal_alike_and_others_do_not() -> None:
    first, again, other = (deal(STUDY, TABLE, seed=seed_of(n))["north"] for n in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_a_skewed_deal_gives_each_party_a_range_of_the_column() -> None:
    hands = deal(STUDY, TABLE, skew="age", seed=seed_of(1))
    ages = {name: [int(age) for age in hand.column("age").to_pylist()] for name, hand in hands.items()}
    assert max(ages["north"]) <= min(ages["south"])
    assert max(ages["south"]) <= min(ages["east"])
    by_text = deal(STUDY, TABLE, skew="diagnosis", seed=seed_of(1))
    assert set(by_text["north"].column("diagnosis").to_pylist()) == {"flu"}


def test_columns_are_dealt_as_the_study_says() -> None:
    study = Study.load(samples.path("clinic-billing") / "study.toml")
    whole = pa.table({column.name: ["1", "2"] for column in study.columns})
    hands = deal(study, whole)
    for party in study.holders:
        assert set(hands[party.name].column_names) == {*(party.columns or ()), study.key.name if study.key else ""}
        assert hands[party.name].num_rows == 2
    with pytest.raises(InputError, match="--skew"):
        deal(study, whole, skew="age")


def test_fewer_rows_than_parties_cannot_be_dealt() -> None:
    with pytest.raises(InputError, match="2 rows for 3 parties"):
        deal(STUDY, TABLE.slice(0, 2))


def test_a_table_without_a_column_is_named() -> None:
    with pytest.raises(InputError, match="'sex'"):
        deal(STUDY, TABLE.drop_columns(["sex"]))


def test_a_written_hand_reads_back_and_is_its_partys_alone(tmp_path: Path) -> None:
    hands = deal(STUDY, TABLE, seed=seed_of(1))
    paths = write_hands(hands, tmp_path)
    table = load_table(STUDY, "north", paths["north"])
    assert table is not None
    assert table.rows == hands["north"].num_rows
    assert Path(paths["north"]).stat().st_mode & 0o077 == 0


def test_a_study_of_respondents_has_nobody_to_deal_to_here() -> None:
    study = Study.load(samples.path("survey") / "study.toml")
    whole = pa.table({column.name: ["1"] for column in study.columns})
    with pytest.raises(InputError, match="only to a study's parties"):
        deal(study, whole)


def test_data_goes_to_those_who_hold_some_and_to_nobody_else() -> None:
    study = Study.load(samples.path("providers") / "study.toml")
    assert load_table(study, "researcher", None) is None
    with pytest.raises(InputError, match="party 'researcher' holds no data"):
        load_table(study, "researcher", "gym.csv")
    with pytest.raises(InputError, match="party 'gym' needs its data"):
        load_table(study, "gym", None)
