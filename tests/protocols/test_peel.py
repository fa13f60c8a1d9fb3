"""The sealed `peel` of rows as a protocol: the release of a trusted party, among three holders or two and a helper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.protocols.peelers import Person, draw_people, frame_of, study_of, tables_of

import covey
from covey.arrays import Words
from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.protocols import find, of_study
from covey.protocols.peel.record_word import RecordWord
from covey.sources.release import arrange, canonical_csv
from covey.study import Party, Study
from covey.table import Table


def hands_of(study: Study, people: Mapping[str, Sequence[Person]]) -> dict[str, pa.Table]:
    """Returns the holders' tables, with the study's columns alone."""
    names = [column.name for column in study.columns]
    return {name: frame_of(study, own).select(names) for name, own in people.items()}


def with_helper(study: Study) -> Study:
    return replace(study, parties=(*study.parties, Party("office", role="helper")))


@pytest.mark.parametrize(("parties", "head", "privacy", "note"), [
    (3, "", "", True),
    (3, 'sizes = "public"', "l = 1.5", False),
    (2, "", "most_of_a_class = 0.75", False),
])  # fmt: skip
def test_the_holders_get_the_release_of_a_trusted_party_and_a_helper_gets_none(
    parties: int, head: str, privacy: str, note: bool
) -> None:
    study = study_of(parties, k=3, head=head, privacy=privacy, note=note)
    study = study if parties == 3 else with_helper(study)
    people = draw_people(parties, 25, seed=parties)
    ideal = of_study(study).ideal(study, tables_of(study, people))
    hands = hands_of(study, people)
    release = covey.simulate(study, hands, seed=1)
    assert canonical_csv(arrange(release.table)) == canonical_csv(arrange(ideal.release))
    assert covey.verify(release.table, study).answer
    assert any("any two of them together can read every row" in line for line in release.ledger["p0"])
    assert all("the released cells" not in line for line in release.ledger.get("office", []))


@pytest.mark.parametrize("head", ["", 'sizes = "public"'])
def test_checks_change_no_byte_of_the_release_and_every_summary_says_if_there_were_any(head: str) -> None:
    people, content = draw_people(3, 20, seed=2), dict[str, bytes]()
    for cheating in ("detect", "trust"):
        study = study_of(3, head=head, options=f'cheating = "{cheating}"', note=True)
        release = covey.simulate(study, hands_of(study, people), seed=1)
        content[cheating] = release.content
        assert release.summary["computing"] == ["p0", "p1", "p2"]
        assert release.summary["cheating"] == cheating
        checked = cheating == "detect"
        assert ("soundness_bits" in release.summary) == checked
        assert any("is not caught" in line for line in release.ledger["p0"]) != checked
        assert any("is stopped before anything" in line for line in release.ledger["p0"]) == checked
        if checked:
            assert isinstance(release.summary["soundness_bits"], int)
            assert release.summary["soundness_bits"] >= 40
    assert content["detect"] == content["trust"]


@pytest.mark.parametrize("head", ["", 'sizes = "public"'])
def test_a_holder_whose_rows_have_unknown_cells_is_named_before_anything_else_is_opened(
    head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(3, head=head, note=True)
    tables, words = tables_of(study, draw_people(3, 20, seed=2)), RecordWord.words

    def beyond(word: RecordWord, table: Table) -> Words:
        """Says that a man's sex is the third of two."""
        honest = words(word, table)
        first = word.terms.coding.starts[1]
        if table is tables["p1"]:
            honest[first // 64, 0] |= np.uint64(0b11 << 62 - first % 64)
        return honest

    monkeypatch.setattr(RecordWord, "words", beyond)
    with pytest.raises(PeerError, match="cells that the study does not know") as raised:
        of_study(study).ideal(study, tables)
    assert raised.value.party == "p1"


def test_a_holder_that_shares_other_rows_than_it_counts_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    study, words = study_of(3), RecordWord.words
    tables = tables_of(study, draw_people(3, 20, seed=2))

    def fewer(word: RecordWord, table: Table) -> Words:
        """Leaves out the last row."""
        return words(word, table.select(np.arange(table.rows - (table is tables["p1"]))))

    monkeypatch.setattr(RecordWord, "words", fewer)
    with pytest.raises(Aborted, match="another number of rows than it said"):
        of_study(study).ideal(study, tables)


@pytest.mark.parametrize(("study", "error", "words"), [
    (study_of(2), Unmet, "add a third office that holds no data"),
    (study_of(3, options='computing = ["p0", "p1", "p9"]'), InputError, "names 'p9'"),
    (with_helper(study_of(3, options='computing = ["p0", "p1", "p2"]')), InputError, "helper and does not compute"),
    (study_of(3, options='frequencies = "reference"'), InputError, "name a file"),
])  # fmt: skip
def test_a_study_that_cannot_run_is_refused_with_what_to_do(study: Study, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        find("peel", "horizontal").judge(study)


def test_fewer_records_than_k_release_nothing() -> None:
    study = study_of(3, k=10)
    people = draw_people(3, 3, seed=1)
    hands = hands_of(study, people)
    with pytest.raises(Unmet, match="fewer than k = 10 records"):
        covey.simulate(study, hands, seed=1)


def test_a_plan_foresees_rounds_and_bytes_of_a_run_on_like_rows() -> None:
    """Rounds and bytes are those of a dry run on the first holder's rows, drawn again."""
    study = study_of(3, k=3)
    people = draw_people(3, 40, seed=5)
    tables = tables_of(study, people)
    hands = hands_of(study, people)
    release = covey.simulate(study, hands, seed=1)
    plan = of_study(study).rehearse
    assert plan is not None
    foreseen = plan(study, {name: table.rows for name, table in tables.items()}, tables["p0"])
    for foretold, figure in ((foreseen.bytes, "bytes"), (foreseen.rounds, "rounds")):
        measured = release.summary[figure]
        assert isinstance(measured, int)
        assert foretold / 1.5 < measured < foretold * 1.5
