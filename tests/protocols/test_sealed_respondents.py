"""Letters of respondents give the release of a reference that shares no code; bad ones are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.collect_cases import HUB
from tests.harness.harness import run
from tests.harness.network import seed_of
from tests.harness.peel_respondents_cases import TRUSTEES, draw_people, rows_of, study_of
from tests.harness.tiers import few_first
from tests.harness.trial import Trial, keys_of
from tests.protocols.sealed_runs import expected
from tests.reference.studies import Drawn, draw, records_of

from covey.arrays import Words
from covey.crypto.rng import Rng, fresh_seed
from covey.errors import Aborted, InputError, Unmet
from covey.party.simulate.letters import letters_of, load_rows
from covey.protocols.peel import RESPONDENTS as PROTOCOL
from covey.protocols.peel import letters
from covey.protocols.peel.respondents import ideal, judge, word_of
from covey.protocols.peel.terms import Terms
from covey.protocols.protocol import Letters
from covey.study import Study
from covey.study.study import RESPONDENTS

PARTIES = f'[parties.{HUB}]\nrole = "collector"\n' + "".join(f'[parties.{n}]\nrole = "trustee"\n' for n in TRUSTEES)
INSIDERS = ("k_insider", "l_insider", "most_of_a_class")


def collected(seed: int, folder: Path, rows: tuple[int, int]) -> tuple[Drawn, pa.Table]:
    """The study of a seed as a collection, without the conditions on holders, and everyone's rows."""
    drawn = draw(seed, folder, rows)
    text = (drawn.study.text or "").partition("[parties.")[0].replace('"horizontal"', '"respondents"')
    kept = [line for line in text.splitlines() if not line.startswith(INSIDERS)]
    study = Study.parse("\n".join([*kept, PARTIES]), folder)
    whole: dict[str, list[str]] = {column.name: [] for column in study.columns}
    for table in drawn.tables:
        for tree, column, codes in zip(drawn.terms.trees, study.quasi, table.codes, strict=True):
            whole[column.name] += [tree.labels[code] for code in codes.tolist()]
        for column in study.sensitive:
            values = table.values(column.name)
            whole[column.name] += [values.labels[code] for code in values.codes.tolist()]
    missing = dict.fromkeys(("<missing>", "?"), "")
    table = pa.table({name: [missing.get(cell, cell) for cell in cells] for name, cells in whole.items()})
    terms, loaded = Terms.of(study), load_rows(study, table)
    asked = replace(drawn.asked, holders=0, k_insider=1, most_of_a_class=None, l_insider=None)
    return replace(drawn, study=study, terms=terms, records=tuple(records_of(terms, [loaded])), asked=asked), table


def rows_told(drawn: Drawn) -> list[tuple[str, ...]]:
    """The rows of the reference's release, sorted."""
    classes, *_ = expected(drawn, None)
    return sorted((*labels, *drawn.records[cell].values) for labels, _, cells in classes for cell in cells)


def rows_in(release: pa.Table | None, study: Study) -> list[tuple[str, ...]]:
    """The rows of a release, sorted."""
    assert release is not None
    names = [column.name for column in (*study.quasi, *study.sensitive)]
    return sorted(zip(*(release.column(name).cast(pa.string()).to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 300))])
def test_respondents_have_the_release_of_the_reference(seed: int, tmp_path: Path) -> None:
    drawn, rows = collected(seed, tmp_path, (20, 120))
    told = rows_told(drawn)
    if told:
        release = ideal(drawn.study, {RESPONDENTS: load_rows(drawn.study, rows)}).release
        assert rows_in(release, drawn.study) == told
    else:
        with pytest.raises(Unmet):
            ideal(drawn.study, {RESPONDENTS: load_rows(drawn.study, rows)})


@pytest.mark.parametrize("seed", few_first(range(40), 2))
def test_letters_on_shares_have_the_release_of_the_reference(seed: int, tmp_path: Path) -> None:
    drawn, rows = collected(seed, tmp_path, (20, 50))
    told, trial = rows_told(drawn), trial_of(drawn.study, rows)
    ends = run(trial)
    finished = ends[HUB].finished
    assert (None if finished is None else rows_in(finished.release, drawn.study)) == (told or None)
    assert all(end.error is None or not told for end in ends.values())


def trial_of(study: Study, rows: pa.Table, delivered: Mapping[str, bytes] | None = None) -> Trial:
    """A run on the letters of these rows, or on others."""
    given = {name: letters_of(study, name, rows, seed_of(1)) for name in (HUB, *TRUSTEES)}
    if delivered is not None:
        given[HUB] = Letters(delivered)
    names = (HUB, *TRUSTEES)
    return Trial(
        study, PROTOCOL, dict.fromkeys(names), dict.fromkeys(names), lambda name, finished: None, letters=given
    )


PEOPLE = 21
STUDY = study_of(k=3)
ROWS = rows_of(draw_people(3, PEOPLE))


def written(handle: str, word: Words, *, parts: Iterable[int] = range(3), sealed_for: str | None = None) -> bytes:
    """A letter that its writer made up: the parts of some trustees hold shares of another word."""
    keys = {name: letters_of(STUDY, name, ROWS, seed_of(1)).own for name in TRUSTEES}
    public = {name: key.public for name, key in keys.items() if key is not None}
    enrolment = keys_of("respondent")
    own = enrolment.certificate.public_key, enrolment.tls.sign
    width, rng = word_of(STUDY, judge(STUDY)).width, Rng(fresh_seed())
    hashed = sealed_for or STUDY.study_hash
    true = letters.write(hashed, handle, word, width, public, rng, own)
    other = letters.write(hashed, handle, word ^ np.uint64(1), width, public, Rng(fresh_seed()), own)
    mixed = [(true if place in parts else other).parts[place] for place in range(3)]
    answer = letters.Letter(mixed, own[0], true.signature)
    content = letters.statement(STUDY.study_hash, handle, answer.digests)
    return letters.pack(letters.Letter(mixed, own[0], enrolment.tls.sign(content)))


def word_with(digits: int, mood: int) -> Words:
    """A record's word: digits of age and sex, then a mood, of which there are three."""
    width = word_of(STUDY, judge(STUDY)).width
    return np.array([[(digits << 2 | mood) & ((1 << width) - 1)]], np.uint64)


BAD = {
    "a value that the study does not list": lambda handle: written(handle, word_with(5, 3)),
    "shares that are not the same at two trustees": lambda handle: written(handle, word_with(5, 1), parts=(0, 1)),
    "a letter to another collection": lambda handle: written(handle, word_with(5, 1), sealed_for="ab" * 32),
    "another's letter": lambda handle: letters_of(STUDY, HUB, ROWS, seed_of(1)).delivered["r01"],
}


@pytest.mark.few(2)
@pytest.mark.parametrize("what", BAD)
def test_a_letter_that_is_no_answer_is_left_out_by_name_and_the_others_are_released(what: str, tmp_path: Path) -> None:
    good = letters_of(STUDY, HUB, ROWS, seed_of(1)).delivered
    ends = run(trial_of(STUDY, ROWS, {**good, "r07a": BAD[what]("r07a")}), folder=tmp_path)
    finished = ends[HUB].finished
    assert finished is not None, [end.error for end in ends.values()]
    due = ideal(STUDY, {RESPONDENTS: load_rows(STUDY, ROWS)}).release
    assert rows_in(finished.release, STUDY) == rows_in(due, STUDY)
    sentence = "whose letters were no answers and were left out: r07a (number 8)"
    assert all(sentence in (tmp_path / name / "ledger.json").read_text() for name in (HUB, *TRUSTEES))


def test_more_than_one_of_twenty_letters_that_are_no_answers_end_the_run(tmp_path: Path) -> None:
    good = letters_of(STUDY, HUB, ROWS, seed_of(1)).delivered
    bad = {f"s{number}": written(f"s{number}", word_with(5, 3)) for number in range(4)}
    few = dict(list(good.items())[:7])
    ends = run(trial_of(STUDY, ROWS, {**few, **bad}), folder=tmp_path)
    assert {type(end.error) for end in ends.values()} == {Aborted}
    assert "4 of 11 letters would be left out" in str(ends["board"].error)


def test_sensitive_columns_list_their_values_and_conditions_on_holders_are_refused() -> None:
    text = STUDY.text or ""
    refused: Sequence[tuple[str, str, str]] = (
        ('values = ["good", "fair", "bad"]\n', "", "column 'mood': in a collection a sensitive column has its values"),
        ("k = 3", "k = 3\nk_insider = 2", "k_insider"),
        ("[protocol]\n", "[protocol]\ncommittee = 3\n", "committee is gone"),
    )
    for old, new, reason in refused:
        with pytest.raises(InputError, match=reason):
            judge(Study.parse(text.replace(old, new)))
