from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import samples
from covey.errors import InputError, StudyError, Unmet
from covey.protocols import of_study
from covey.schema import Role
from covey.study import Study

TEXT = """
[study]
name = "trial"
protocol = "cluster"
partition = "horizontal"

[privacy]
k = 5
l = 2

[protocol]
as_printed = true

[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10] }

[columns.region]
role = "quasi"
hierarchy = "region.csv"
site = true

[columns.diagnosis]
role = "sensitive"
values = ["none", "flu"]

[parties.north]
address = "127.0.0.1:7701"
certificate = "north.pem"

[parties.south]
address = "127.0.0.1:7702"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "region.csv").write_text("Kent;South;*\nYork;North;*\n")
    (tmp_path / "north.pem").write_text("a certificate")
    return tmp_path


def load(folder: Path, text: str = TEXT) -> Study:
    (folder / "study.toml").write_text(text)
    return Study.load(folder / "study.toml")


def problems(folder: Path, text: str) -> str:
    with pytest.raises(StudyError) as refused:
        load(folder, text)
    return "\n".join(refused.value.problems)


def test_a_study_is_read_as_it_stands(folder: Path) -> None:
    study = load(folder)
    assert (study.name, study.protocol, study.partition, study.privacy.k, study.privacy.l) == (
        "trial",
        "cluster",
        "horizontal",
        5,
        2,
    )
    assert [column.name for column in study.quasi] == ["age", "region"]
    assert study.column("region").site
    assert study.column("diagnosis").role is Role.SENSITIVE
    assert study.party("north").address == "127.0.0.1:7701"
    assert study.layout == (("age", "region", "diagnosis"), ("north", "south"))


@pytest.mark.parametrize("name", samples.names())
def test_every_sample_study_loads(name: str) -> None:
    assert Study.load(samples.path(name) / "study.toml").quasi


def test_all_problems_come_at_once_each_with_its_line(folder: Path) -> None:
    text = TEXT.replace("k = 5", "k = 1").replace('role = "sensitive"', 'role = "secret"').replace("site =", "sites =")
    found = problems(folder, text)
    assert "line 8: [privacy] k must be a whole number of 2 or more" in found
    assert "line 21: [columns.region] unknown key 'sites'; did you mean 'site'?" in found
    assert "line 24: [columns.diagnosis] role must be one of" in found


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("k = 5", "", "needs k"),
        ("k = 5", "k = 5.5", "whole number"),
        ("k = 5", "k = true", "whole number"),
        ("l = 2", "l = nan", "finite"),
        ("l = 2", "l = inf", "finite"),
        ("l = 2", "l = 1" + 400 * "0", "finite"),
        ("l = 2", "delta = 0.5", "cannot enforce delta"),
        ('"cluster"', '"clustr"', "did you mean 'cluster'"),
        ('"horizontal"', '"respondents"', "needs partition"),
        ('name = "trial"', "name = 7", "must be a text"),
        ('name = "trial"', r'name = "tr\u001b[2Jial"', "name has control characters"),
        ('hierarchy = "region.csv"', "", "needs a hierarchy"),
        ('hierarchy = "region.csv"', 'hierarchy = "../region.csv"', "outside the study's folder"),
        ('hierarchy = "region.csv"', 'hierarchy = "/etc/passwd"', "outside the study's folder"),
        ('hierarchy = "region.csv"', 'hierarchy = "release.csv"', "calls a file of its own; rename the file"),
        ('hierarchy = "region.csv"', 'hierarchy = "absent.csv"', "cannot be read"),
        ('hierarchy = "region.csv"', "hierarchy = { min = nan, max = 3 }", "finite"),
        ('hierarchy = "region.csv"', "hierarchy = { prefix = [2, 3] }", "shorter"),
        ('hierarchy = "region.csv"', "hierarchy = { date = [] }", "first and last day"),
        ('hierarchy = "region.csv"', "hierarchy = 3", "hierarchy must be"),
        ('role = "sensitive"', 'role = "plain"', "l needs a column"),
        ('values = ["none", "flu"]', 'values = ["none", "none"]', "twice"),
        ('"127.0.0.1:7702"', '"nowhere"', "HOST:PORT"),
        ("[parties.south]", '[parties."a b"]', "party name"),
        ("[parties.south]", '[parties.south]\nrole = "collector"', "has no collector"),
        ("[columns.diagnosis]", '[columns.key]\nrole = "key"\n[columns.diagnosis]', "only a vertical study has a key"),
        ("[columns.diagnosis]", '[columns."a\\u202eb"]\nrole = "plain"\n[columns.diagnosis]', "control characters"),
        ("[columns.diagnosis]", '[columns.AGE]\nrole = "plain"\n[columns.diagnosis]', "only in capitals"),
        ('role = "sensitive"', 'role = "sensitive"\nidentifies = false', "identifies is gone; write singles_out"),
        ("[protocol]", "[protocol]\nlend = true", "[protocol] lend is gone; leave it out: about 1% more"),
        ("[protocol]", "[protocol]\nnodes = 9", "[protocol] nodes is gone; set effort in [utility]"),
        ("[protocol]", '[protocol]\nschedule = "guarded"', "schedule is gone; leave it out for the printed messages"),
        ("[parties.south]", '[parties.south]\nrole = "helper"', "has no helper"),
        ('role = "sensitive"', 'role = "sensitive"\nsingles_out = " "', "needs a reason"),
        ('role = "sensitive"', 'role = "sensitive"\nsingles_out = true', "must be a text"),
        ('role = "sensitive"', 'role = "identifier"\nsingles_out = "asked"', "of role identifier is not"),
        ("[privacy]", "[privat]", "did you mean 'privacy'"),
        ("[study]", "[study", "line 2"),
    ],
)
def test_a_wrong_study_says_what_is_wrong(folder: Path, old: str, new: str, word: str) -> None:
    assert old in TEXT
    assert word in problems(folder, TEXT.replace(old, new, 1))


def test_a_linked_file_is_refused(folder: Path) -> None:
    (folder / "region.csv").rename(folder / "elsewhere.csv")
    (folder / "region.csv").symlink_to(folder / "elsewhere.csv")
    assert "is a link" in problems(folder, TEXT)


def test_a_vertical_study_needs_a_key_and_every_column_an_owner(folder: Path) -> None:
    text = TEXT.replace('"horizontal"', '"vertical"')
    found = problems(folder, text)
    assert 'one column with role = "key"' in found
    assert "party 'north' needs its columns" in found
    assert "no party lists column 'age'" in found


def test_a_column_has_one_owner_and_the_key_is_not_listed(folder: Path) -> None:
    text = TEXT.replace('"horizontal"', '"vertical"').replace(
        "[columns.age]", '[columns.id]\nrole = "key"\n[columns.age]'
    )
    text = text.replace("[parties.north]", '[parties.north]\ncolumns = ["id", "age", "region"]')
    text = text.replace("[parties.south]", '[parties.south]\ncolumns = ["region", "diagnosis"]')
    found = problems(folder, text)
    assert "the key 'id' belongs to every party" in found
    assert "'region' is listed by 'north' too" in found


def test_the_hash_knows_the_agreement_and_the_roster_hash_the_roster(folder: Path) -> None:
    study = load(folder)
    moved = load(folder, TEXT.replace("7701", "7711"))
    assert moved.study_hash == study.study_hash
    assert moved.roster_hash != study.roster_hash
    (folder / "north.pem").write_text("another certificate")
    assert load(folder).study_hash == study.study_hash
    assert load(folder).roster_hash != study.roster_hash


def test_the_content_of_a_hierarchy_file_changes_the_hash_and_its_line_ends_do_not(folder: Path) -> None:
    before = load(folder).study_hash
    (folder / "region.csv").write_bytes(b"Kent;South;*\r\nYork;North;*\r\n")
    assert load(folder).study_hash == before
    (folder / "region.csv").write_text("Kent;South;*\nYork;South;*\n")
    assert load(folder).study_hash != before


@given(st.randoms(use_true_random=False), st.booleans())
def test_order_comments_and_white_space_do_not_change_the_hash(random, spaced: bool) -> None:  # type: ignore[no-untyped-def]
    folder = samples.path("hospitals")
    text = (folder / "study.toml").read_text()
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("["):
            blocks.append([])
        if line and not line.startswith("#"):
            blocks[-1].append(line)
    random.shuffle(blocks)
    for block in blocks:
        body = block[1:]
        if not any("[" in line and "]" not in line for line in body):
            random.shuffle(body)
        block[1:] = body
    lines = [line for block in blocks for line in block]
    shuffled = "\n".join(f"{line}  # why" if spaced and line.startswith("[") else line for line in lines)
    assert Study.parse(shuffled, folder).study_hash == Study.load(folder / "study.toml").study_hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"trial"', '"trail"'),
        ("k = 5", "k = 6"),
        ("l = 2", "l = 3"),
        ("l = 2", "l = 2\nsite_l = 2"),
        ("l = 2", 'l = 2\ndiversity = "entropy"'),
        ("max = 99", "max = 100"),
        ("steps = [10]", "steps = [20]"),
        ("site = true", "site = false"),
        ('"flu"', '"cold"'),
        ("[columns.diagnosis]", "[columns.illness]"),
        ("[parties.south]", "[parties.east]"),
        ("as_printed = true", 'as_printed = true\ncalls = "turn"'),
        ("[columns.age]", '[utility]\nmeasure = "em"\n[columns.age]'),
        ('role = "sensitive"', 'role = "sensitive"\nmissing = "drop"'),
        ('role = "sensitive"', 'role = "sensitive"\nnull = ["?"]'),
        ('role = "sensitive"', 'role = "sensitive"\nsingles_out = "all agreed"'),
        ("site = true", "site = true\nweight = 2"),
        ('partition = "horizontal"', 'partition = "horizontal"\nsizes = "public"'),
    ],
)
def test_any_change_of_content_changes_the_hash(folder: Path, old: str, new: str) -> None:
    assert old in TEXT
    assert load(folder, TEXT.replace(old, new, 1)).study_hash != load(folder).study_hash


def test_a_default_said_aloud_is_the_same_agreement(folder: Path) -> None:
    spoken = TEXT.replace('role = "sensitive"', 'role = "sensitive"\nmissing = "value"').replace("l = 2", "l = 2.0")
    assert load(folder, spoken).study_hash == load(folder).study_hash


@pytest.mark.parametrize(
    "aloud",
    ['calls = "ring"', "k0 = 0.5", 'calls = "ring"\n[utility]\nmeasure = "lm"\nsuppression = 1'],
)
def test_an_option_with_its_default_is_the_same_agreement(folder: Path, aloud: str) -> None:
    spoken = TEXT.replace("as_printed = true", f"as_printed = true\n{aloud}")
    study = load(folder, spoken)
    assert study.study_hash == load(folder).study_hash
    older = replace(study, as_written=True)
    assert older.study_hash != study.study_hash
    assert study.as_recorded(older.study_hash).study_hash == older.study_hash
    assert study.as_recorded(study.study_hash).study_hash == study.study_hash
    assert study.as_recorded("another").study_hash == study.study_hash


def test_a_study_that_names_a_papers_system_and_not_as_printed_is_refused_with_the_ways_out(folder: Path) -> None:
    bare = load(folder, TEXT.replace("as_printed = true", ""))
    with pytest.raises(Unmet, match="paper's own system") as refused:
        of_study(bare)
    for way in ('protocol = "peel"', 'role = "helper"', "as_printed = true", "covey anonymize"):
        assert way in str(refused.value)


def test_a_study_with_parties_runs_peel_unless_it_says_otherwise(folder: Path) -> None:
    text = TEXT.replace('protocol = "cluster"\n', "").replace("as_printed = true", "").replace("site = true", "")
    assert load(folder, text).protocol == "peel"


def test_a_study_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml: cannot be read"):
        Study.load(tmp_path / "absent.toml")


def test_an_unknown_party_is_told_the_known_ones(folder: Path) -> None:
    with pytest.raises(InputError, match="it has north, south"):
        load(folder).party("west")


@pytest.mark.parametrize("tree", ['"flat"', "{ prefix = [2, 1] }"])
@pytest.mark.parametrize("value", ["", "*"])
def test_values_that_mean_missing_or_suppressed_are_refused(tree: str, value: str, tmp_path: Path) -> None:
    text = f'[study]\nname = "s"\n[privacy]\nk = 2\n[columns.x]\nrole = "quasi"\nhierarchy = {tree}\n'
    with pytest.raises(StudyError, match=r"line 8: .*cannot list the empty text or \*"):
        Study.parse(f'{text}values = ["abc", "abd", "{value}"]\n', tmp_path)
