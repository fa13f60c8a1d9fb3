"""Takenouchi, Kawamura & Ohsuga: tables 1 and 2 between three processes, and the definition's worked numbers.

Table 1 prints user 5 at 16:30 and puts it before 16:00 in (c) and (d); here it watches at 15:30, and the printed time
is kept for what it shows: then a class of (d) is all of provider B's users. Table 2 comes without data; these are made
so that its two cuts follow from them, up to dummy users, which the seed makes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from covey.judge import verify
from covey.judge.released import read_release
from covey.judge.risk import judge_presence
from covey.measures import discernibility
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.protocols.as_printed.federate.score import dummy_entropy
from covey.sources import connect
from covey.study import Study

SEED_1, SEED_2 = 4, 119
"""Of simulations whose dummy users leave the paper's cuts as they are."""

Release = list[tuple[str, str, str]]

STUDY = """
[study]
name = "segments"
protocol = "federate"
partition = "vertical"
[privacy]
k = 2
{delta}
[protocol]
as_printed = true
population = "population.csv"
candidates = 0
[columns.user]
role = "key"
[columns.income]
role = "quasi"
hierarchy = "income.csv"
missing = "error"
[columns.time]
role = "quasi"
hierarchy = "time.csv"
missing = "error"
[columns.title]
role = "sensitive"
values = ["X movie", "Y sports"]
singles_out = "nobody is real"
missing = "error"
[parties.finance]
columns = ["income"]
[parties.video]
columns = ["time", "title"]
[parties.agency]
role = "recipient"
"""
INCOME_1 = {1: 30, 2: 40, 3: 55, 5: 60, 6: 65, 8: 70}
VIDEO_1 = {
    1: ("16:00", "X movie"), 2: ("17:00", "Y sports"), 4: ("17:30", "X movie"), 5: ("15:30", "Y sports"),
    6: ("15:00", "X movie"), 7: ("12:00", "Y sports"), 9: ("14:00", "Y sports"), 10: ("14:30", "X movie"),
}  # fmt: skip
AS_PRINTED = {**VIDEO_1, 5: ("16:30", "Y sports")}
CUT_AT_50 = [("<50K", "16:00-", "X movie"), ("<50K", "16:00-", "Y sports"),
             ("50K<=", "-15:59", "X movie"), ("50K<=", "-15:59", "Y sports")]  # fmt: skip
CUT_AT_60 = [("<60K", "16:00-", "X movie"), ("<60K", "16:00-", "Y sports"),
             ("60K<=", "-15:59", "X movie"), ("60K<=", "-15:59", "Y sports")]  # fmt: skip

INCOME_2 = {1: 30, 2: 35, 6: 50, 7: 65, 11: 30, 12: 60, 3: 25, 8: 70, 9: 55}
VIDEO_2 = {
    1: ("0:00", "X movie"), 2: ("18:00", "Y sports"), 6: ("0:00", "X movie"), 7: ("18:00", "Y sports"),
    11: ("20:00", "X movie"), 12: ("23:00", "Y sports"), 4: ("20:00", "X movie"), 5: ("20:00", "X movie"),
    10: ("23:00", "Y sports"), 13: ("20:00", "Y sports"), 14: ("20:00", "Y sports"), 15: ("23:00", "X movie"),
}  # fmt: skip
TABLE_2 = [("<40K", "0:00-18:59", "X movie"), ("<40K", "0:00-18:59", "Y sports"),
           ("40K<=", "0:00-18:59", "X movie"), ("40K<=", "0:00-18:59", "Y sports"),
           ("*", "19:00-23:59", "X movie"), ("*", "19:00-23:59", "Y sports")]  # fmt: skip


def lay_out(
    folder: Path, people: int, cut: int, evening: int, income: dict[int, int], video: dict[int, tuple[str, str]],
    delta: str = "",
) -> Study:  # fmt: skip
    """A study whose hierarchies have the paper's two bands, and both providers' tables."""
    folder.mkdir(exist_ok=True)
    (folder / "population.csv").write_text("".join(f"User {number}\n" for number in range(1, people + 1)))
    below, above = f"<{cut}K", f"{cut}K<="
    bands = [f"{number};{below if number < cut else above};*\n" for number in range(20, 80, 5)]
    (folder / "income.csv").write_text("".join(bands))
    late, early = (f"{evening}:00-", f"-{evening - 1}:59") if evening < 19 else ("19:00-23:59", "0:00-18:59")
    hours = [f"{hour}:{minute:02};{late if hour >= evening else early};*\n" for hour in range(24) for minute in (0, 30)]
    (folder / "time.csv").write_text("".join(hours))
    (folder / "study.toml").write_text(STUDY.format(delta=delta))
    users = pa.table({"user": [f"User {n}" for n in income], "income": [str(k) for k in income.values()]})
    seen = pa.table({
        "user": [f"User {n}" for n in video],
        "time": [time for time, _ in video.values()],
        "title": [title for _, title in video.values()],
    })  # fmt: skip
    pyarrow.csv.write_csv(users, folder / "finance.csv")
    pyarrow.csv.write_csv(seen, folder / "video.csv")
    return Study.load(folder / "study.toml")


def data_of(folder: Path) -> dict[str, str]:
    return {name: str(folder / f"{name}.csv") for name in ("finance", "video")}


def rows_of(path: Path) -> Counter[tuple[str, ...]]:
    """The rows of a release, without the apostrophe that guards labels such as `-15:59` from spreadsheets."""
    lines = path.read_text().splitlines()[1:]
    return Counter(tuple(cell.removeprefix("'") for cell in line.split(",")) for line in lines)


def shares(folder: Path, study: Study, rows: Release) -> dict[str, float]:
    released = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("income", "time", "title"))})
    read = read_release(connect(released), study, with_plain=True)
    return {name: share for (name,), share in judge_presence(read, study, data_of(folder)).items()}


def test_table_1_cut_at_50k_shows_two_users_for_certain_and_at_60k_two_in_three(tmp_path: Path) -> None:
    at_50 = lay_out(tmp_path / "c", 10, 50, 16, INCOME_1, VIDEO_1)
    assert shares(tmp_path / "c", at_50, CUT_AT_50)["finance"] == 1.0
    at_60 = lay_out(tmp_path / "d", 10, 60, 16, INCOME_1, VIDEO_1)
    found = shares(tmp_path / "d", at_60, CUT_AT_60)
    assert found == {"finance": pytest.approx(2 / 3), "video": pytest.approx(2 / 3)}


def test_table_1_as_printed_has_a_class_of_common_users_only_on_provider_bs_side(tmp_path: Path) -> None:
    """User 5 at 16:30 is after 16:00: with its title beside it, all of B's two such users are in the release."""
    text_of = STUDY.replace("candidates = 0", 'candidates = 0\npresence = "sensitive"')
    study = lay_out(tmp_path, 10, 60, 16, INCOME_1, AS_PRINTED, "delta = 0.9")
    (tmp_path / "study.toml").write_text(text_of.format(delta="delta = 0.9"))
    exact = Study.load(tmp_path / "study.toml")
    printed = [("<60K", "16:00-", "X movie"), ("<60K", "16:00-", "Y sports"), ("60K<=", "16:00-", "Y sports"),
               ("60K<=", "-15:59", "X movie")]  # fmt: skip
    assert shares(tmp_path, study, printed)["video"] == 0.75
    assert shares(tmp_path, exact, printed)["video"] == 1.0


@pytest.mark.thorough
def test_table_1_between_three_processes_takes_the_cut_at_60k(tmp_path: Path) -> None:
    study = lay_out(tmp_path / "study", 10, 60, 16, INCOME_1, VIDEO_1, "delta = 0.667")
    simulate(study, data_of(tmp_path / "study"), tmp_path / "out", SimulationSetting(seed=seed_of(SEED_1)))
    release = tmp_path / "out" / "release.csv"
    assert rows_of(release) == Counter(CUT_AT_60)
    verdict = verify(str(release), study, providers=data_of(tmp_path / "study"))
    assert verdict.answer
    assert {each.name: each.reached for each in verdict.requirements}["delta for 'finance'"] == pytest.approx(2 / 3)
    for provider in ("finance", "video"):
        assert not (tmp_path / "out" / provider / "release.csv").exists()
    assert (tmp_path / "out" / "agency" / "release.csv").exists()


@pytest.mark.slow
def test_table_2_between_three_processes(tmp_path: Path) -> None:
    study = lay_out(tmp_path / "study", 15, 40, 19, INCOME_2, VIDEO_2)
    summary = simulate(study, data_of(tmp_path / "study"), tmp_path / "out", SimulationSetting(seed=seed_of(SEED_2)))
    assert rows_of(tmp_path / "out" / "release.csv") == Counter(TABLE_2)
    assert summary.loss["dm"] == 12


def test_the_papers_dm() -> None:
    assert discernibility(np.full(150, 8)) == 9600
    assert discernibility(np.array([1200])) == 1_440_000
    assert discernibility(np.array([2, 2, 2])) == 12


@pytest.mark.parametrize(
    ("shares", "entropy"), [((0.5, 0.5), 0.6931), ((0.9, 0.6), 0.4013), ((1, 0.5), 0.3466), ((0, 0.9), 0.0948)]
)
def test_the_dummy_entropy_as_printed(shares: tuple[float, float], entropy: float) -> None:
    upper, lower = (int(100 * share) for share in shares)
    found = dummy_entropy(200, np.array([100]), upper + lower, np.array([upper]), weighted=False)
    assert found[0] == pytest.approx(entropy, abs=1e-4)


def test_the_printed_entropy_prefers_unequal_shares_at_times_and_the_weighted_one_never() -> None:
    """60 dummies among 100 users in halves of 20 and 80: 60% in both, or 30% and 67.5%."""
    upper_dummies = np.array([12, 6])
    printed, weighted = (
        dummy_entropy(100, np.array([20, 20]), 60, upper_dummies, weighted=each) for each in (False, True)
    )
    assert printed[0] == pytest.approx(0.613, abs=1e-3)
    assert printed[1] == pytest.approx(0.627, abs=1e-3)
    assert weighted[0] > weighted[1]
