"""l and t of each sensitive column: kept, judged, foretold, and refused where a protocol cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import Covey

import covey as product
from covey.errors import StudyError, Unmet
from covey.study import Study

HEAD = '[study]\nname = "x"\n{head}[privacy]\nk = 4\n{privacy}[columns.age]\nrole = "quasi"\n'
HEAD += "hierarchy = {{ min = 0, max = 99, steps = [5, 10, 20, 40] }}\n"


def study(ill: str = "", pay: str = "", privacy: str = "", head: str = "", more: str = "") -> Study:
    sensitive = '[columns.{}]\nrole = "sensitive"\nvalues = ["a", "b", "c", "d"]\n{}\n'
    text = HEAD.format(head=head, privacy=privacy) + sensitive.format("ill", ill) + sensitive.format("pay", pay) + more
    return Study.parse(text, Path())


def rows(count: int = 400) -> pa.Table:
    draw = np.random.default_rng(3)
    return pa.table({
        "age": [str(age) for age in draw.integers(0, 100, count)],
        "ill": draw.choice(list("abcd"), count, p=[0.3, 0.3, 0.2, 0.2]),
        "pay": draw.choice(list("abcd"), count, p=[0.7, 0.1, 0.1, 0.1]),
    })  # fmt: skip


@pytest.mark.parametrize("algorithm", ["peel", "mondrian", "sequential", "hilbert", "datafly"])
def test_each_column_keeps_its_own_l(algorithm: str) -> None:
    asked = study(ill="l = 2.5", pay="l = 1.25")
    verdict = product.verify(product.anonymize(rows(), asked, algorithm, budget=None).table, asked)
    reached = {each.column: each.frequency for each in verdict.diversity}
    assert verdict.answer and reached["ill"] >= 2.5 - 1e-9 and reached["pay"] >= 1.25 - 1e-9
    assert reached["pay"] < 2.5, "the l of one column is not asked of the other"


def test_a_column_without_l_is_asked_for_none_and_its_own_t_is_kept() -> None:
    asked = study(ill="l = 3\nt = 0.25")
    release = product.anonymize(rows(), asked, budget=1)
    verdict = product.verify(release.table, asked)
    assert {each.column for each in verdict.requirements if each.name.startswith(("l (", "t ("))} == {"ill"}
    assert verdict.answer and release.summary["l"] == 3


def test_an_l_that_cannot_be_kept_is_foretold_with_its_column(covey: Covey, tmp_path: Path) -> None:
    asked = study(ill="l = 2", pay="l = 2")
    with pytest.raises(
        Unmet, match=r"l = 2 \(frequency\) cannot be kept for column 'pay': the whole table reaches 1\.38"
    ):
        product.anonymize(rows(), asked)
    text = HEAD.format(head="", privacy="l = 2\n") + '[columns.pay]\nrole = "sensitive"\n'
    (tmp_path / "study.toml").write_text(text)
    (tmp_path / "data.csv").write_text("age,pay\n" + "".join(f"{age},{'ab'[age % 4 == 0]}\n" for age in range(40)))
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert (
        called.code == 1
        and "column 'pay': l = 2 (frequency) cannot be kept: the whole table reaches 1.33" in called.err
    )
    (tmp_path / "data.csv").write_text("age,pay\n1,a\n2,b\n")
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert called.code == 1 and "k = 4 cannot be kept by 2 rows" in called.err


def test_one_l_for_all_is_the_studys_wherever_it_is_written() -> None:
    everywhere, once = study(ill="l = 2", pay="l = 2"), study(privacy="l = 2\n")
    assert everywhere.study_hash == once.study_hash and everywhere.privacy.l == 2
    assert study(ill="l = 2").study_hash != once.study_hash


def test_a_protocol_that_keeps_one_l_refuses_several() -> None:
    parties = "[parties.a]\n[parties.b]\n[parties.c]\n"
    head = 'protocol = "cluster"\npartition = "horizontal"\n'
    assert study(ill="l = 2", pay="l = 2", head=head, more=parties).privacy.l == 2
    with pytest.raises(StudyError, match="asks the same l of every sensitive column"):
        study(ill="l = 2", pay="l = 1.5", head=head, more=parties)
    with pytest.raises(StudyError, match="l is for sensitive columns"):
        study(more='[columns.x]\nrole = "plain"\nl = 2\n')
