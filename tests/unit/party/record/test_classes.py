"""classes.csv, beside a release: labels, size and node of each class, for those who get the release."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.protocols.peelers import draw_people, frame_of, names_of, study_of

import covey
from covey.arrays import Longs
from covey.party.audit.folders import audit
from covey.protocols.peel.rule import Classes
from covey.study import Study

QUASI = ("age", "sex", "town")


def run(folder: Path) -> Path:
    """Returns the folder of a run of three holders and a helper."""
    study, people = Study.parse(f'{study_of().text}[parties.office]\nrole = "helper"\n'), draw_people(3, 30, 1)
    data = {name: frame_of(study, own) for name, own in people.items()}
    covey.simulate(study, data, seed=1).save(folder)
    return folder


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return [*csv.DictReader(text)]


def test_the_classes_are_those_of_the_release_and_a_helper_gets_none(tmp_path: Path) -> None:
    folder = run(tmp_path / "out")
    classes = rows_of(folder / "classes.csv")
    assert [*classes[0]] == [*QUASI, "size", "node"]
    sizes = Counter[tuple[str, ...]]()
    for row in classes:
        sizes[tuple(row[name] for name in QUASI)] += int(row["size"])
        levels = [int(level) for level in row["node"].split(" ")]
        assert len(levels) == 3 and all(
            label != "*" or level > 0 for label, level in zip(row.values(), levels, strict=False)
        )
    assert sizes == Counter(tuple(row[name] for name in QUASI) for row in rows_of(folder / "release.csv"))
    content = (folder / "classes.csv").read_bytes()
    assert all((folder / name / "classes.csv").read_bytes() == content for name in names_of(3))
    assert not (folder / "office" / "classes.csv").exists()
    assert [each.wrong for each in audit([folder / name for name in (*names_of(3), "office")])] == [()] * 4


def test_an_audit_finds_classes_that_are_not_those_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Classes.table

    def forged(classes: Classes, *given: object) -> object:
        sizes: Longs = classes.sizes.copy()
        sizes[0] += 1
        return table(replace(classes, sizes=sizes), *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Classes, "table", forged)
    folder = run(tmp_path / "out")
    (case,) = audit([folder / "p0"])
    assert [*case.wrong] == ["classes.csv: has other classes than the rows of the release"]
