"""delta-max-site-presence, from a release and the providers' tables: by hand, and where it must say no."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from covey.cli import app
from covey.errors import InputError
from covey.judge import verify
from covey.study import Study

STUDY = """
[study]
name = "presence"
protocol = "federate"
partition = "vertical"
[privacy]
k = 2
delta = {delta}
[protocol]
as_printed = true
population = "population.csv"
{options}
[columns.uid]
role = "key"
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 9, steps = [5] }}
[columns.size]
role = "quasi"
hierarchy = "interval"
range = [0, 9]
step = 1
missing = "error"
[columns.ill]
role = "sensitive"
values = ["no", "yes"]
[parties.gym]
columns = ["age", "size"]
[parties.insurer]
columns = ["ill"]
[parties.researcher]
role = "recipient"
"""
GYM = pa.table({"uid": list("abcdef"), "age": ["1", "2", "3", "6", "7", "8"], "size": ["1", "2", "3", "1", "2", "9"]})
INSURER = pa.table({"uid": list("abdxyz"), "ill": ["no", "yes", "no", "yes", "no", "no"]})
RELEASE = pa.table({
    "age": ["[0, 4]"] * 2 + ["[5, 9]"] * 2,
    "size": ["[1, 3]"] * 2 + ["[1, 2]"] * 2,
    "ill": ["no", "yes"] * 2,
})  # fmt: skip


def study_of(folder: Path, delta: float = 0.9, options: str = "") -> Study:
    (folder / "population.csv").write_text("\n".join("abcdefxyz"))
    (folder / "study.toml").write_text(STUDY.format(delta=delta, options=options))
    return Study.load(folder / "study.toml")


def reached(study: Study, release: pa.Table, **providers: pa.Table) -> dict[str, float | None]:
    verdict = verify(release, study, providers=providers)
    return {each.name: each.reached for each in verdict.requirements if each.name.startswith("delta")}


def test_the_largest_share_over_any_set_of_columns_counts(tmp_path: Path) -> None:
    """By age two of three in both bands; by age and size two of the two who are 6 or 7 and of size 1 or 2."""
    study = study_of(tmp_path)
    assert reached(study, RELEASE, gym=GYM) == {"delta for 'gym'": 1.0}


def test_a_share_above_delta_is_a_no_and_a_share_of_delta_a_yes(tmp_path: Path) -> None:
    wide = RELEASE.set_column(1, "size", pa.array(["[1, 9]"] * 4))
    verdict = verify(wide, study_of(tmp_path, 0.666), providers={"gym": GYM})
    assert not verdict.answer
    assert "delta for 'gym' must be at most 0.666 but it is 0.666667" in verdict.sentence()
    assert verify(wide, study_of(tmp_path, 0.6667), providers={"gym": GYM}).answer


def test_exact_values_count_where_the_study_says_so(tmp_path: Path) -> None:
    exact = study_of(tmp_path, options='presence = "sensitive"')
    assert reached(exact, RELEASE, insurer=INSURER) == {"delta for 'insurer'": 1.0}  # two with yes of two


def test_a_label_that_stands_for_nobody_is_a_no(tmp_path: Path) -> None:
    strange = RELEASE.set_column(1, "size", pa.array(["[4, 5]"] * 4))
    assert reached(study_of(tmp_path), strange, gym=GYM) == {"delta for 'gym'": float("inf")}


def test_without_the_tables_a_note_says_what_is_missing(tmp_path: Path) -> None:
    notes = verify(RELEASE, study_of(tmp_path)).notes
    assert any("--provider" in note and "'gym' and 'insurer'" in note for note in notes)


def test_the_recipient_has_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no columns"):
        verify(RELEASE, study_of(tmp_path), providers={"researcher": GYM})


def test_the_command_takes_a_table_per_provider(tmp_path: Path) -> None:
    study_of(tmp_path)
    for name, table in (("gym", GYM), ("release", RELEASE)):
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    call = ["verify", str(tmp_path / "release.csv"), "--study", str(tmp_path / "study.toml"), "--provider"]
    found = CliRunner().invoke(app, [*call, f"gym={tmp_path / 'gym.csv'}"])
    assert found.exit_code == 1
    assert "delta for 'gym'" in found.output
    assert isinstance(CliRunner().invoke(app, [*call, "gym"]).exception, InputError)
