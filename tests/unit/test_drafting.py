"""A release without a study file: `covey.anonymize(frame, k=10)`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import covey
from covey.errors import InputError


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    rows = 600
    return pd.DataFrame(
        {
            "patient no": [f"{100_000 + row}" for row in range(rows)],
            "surname": rng.choice(["Ahlgren", "Bergqvist", "Cederlund", "Dahlström"], rows),
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(["Lund", "Malmö", "Ystad"], rows),
            "outcome": rng.choice(["better", "same", "worse"], rows, p=[0.5, 0.3, 0.2]),
        }
    )


def test_a_frame_and_k_are_enough_and_the_release_says_what_was_left_out(frame: pd.DataFrame) -> None:
    release = covey.anonymize(frame, k=8)
    assert release.figures.k == 8
    assert {"patient no", "surname"} <= set(release.left_out)
    assert all(release.left_out.values())
    assert not {"patient no", "surname"} & set(release.arranged.column_names)


def test_the_drafted_study_repeats_the_release_from_memory_and_from_its_file(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    release = covey.anonymize(frame, k=8)
    path = release.study.save(tmp_path / "study")
    release.save(tmp_path / "out")
    for study in (release.study, path, str(path), tmp_path / "out" / "study.toml"):
        assert covey.anonymize(frame, study).content == release.content


def test_overrides_say_what_columns_are(frame: pd.DataFrame) -> None:
    release = covey.anonymize(
        frame,
        k=5,
        quasi=["sex"],
        sensitive=["outcome"],
        drop=["town"],
        hierarchies={"age": {"min": 0, "max": 120, "steps": [10, 30]}},
    )
    roles = {column.name: str(column.role) for column in release.study.columns}
    assert roles["sex"] == roles["age"] == "quasi"
    assert roles["outcome"] == "sensitive"
    assert roles["town"] == "identifier"
    assert "[10, 19]" in release.study.column("age").tree().labels


def test_a_hierarchy_file_is_taken_into_the_study(frame: pd.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "town.csv"
    file.write_text("Lund;south;*\nMalmö;south;*\nYstad;coast;*\n")
    release = covey.anonymize(frame, k=5, hierarchies={"town": file})
    assert "hierarchies/town.csv" in release.study.files


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quasi": "age"}, "name the columns in a list"),
        ({"quasi": ["agee"]}, "there is no column 'agee'"),
        ({"quasi": ["age"], "drop": ["age"]}, "two roles"),
        ({"hierarchies": {"age": {"min": object()}}}, "no place in a study"),
        ({"hierarchies": {"town": "nowhere.csv"}}, "nowhere.csv"),
    ],
)
def test_wrong_overrides_are_refused_in_a_sentence(frame: pd.DataFrame, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        covey.anonymize(frame, k=5, **wrong)  # type: ignore[arg-type]


def test_overrides_beside_a_study_are_refused(frame: pd.DataFrame) -> None:
    release = covey.anonymize(frame, k=5)
    with pytest.raises(InputError, match="with a study change the study"):
        covey.anonymize(frame, release.study, drop=["age"])


def test_a_study_may_be_a_dict(frame: pd.DataFrame) -> None:
    study = {
        "study": {"name": "as a dict"},
        "privacy": {"k": 5},
        "columns": {"age": {"role": "quasi", "hierarchy": {"min": 0, "max": 120, "steps": [5, 10, 20, 40]}}},
    }
    release = covey.anonymize(frame, study)
    assert release.arranged.column_names == ["age"]
    assert covey.verify(release.table, study).answer


@pytest.mark.parametrize("study", [3, ["study"], b"study"])
def test_what_is_no_study_is_refused(frame: pd.DataFrame, study: object) -> None:
    with pytest.raises(InputError, match="a study is a path, a Study or a dict"):
        covey.anonymize(frame, study)  # type: ignore[arg-type]
