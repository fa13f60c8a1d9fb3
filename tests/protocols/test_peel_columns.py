"""The sealed `peel` of columns: the release of a trusted party, whoever holds which columns, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.columns_cases import THREE, TWO, Person, draw_people, stream_of, tables_of
from tests.harness.harness import run
from tests.harness.peel_columns_cases import FOUR, study_of, trial_of
from tests.harness.spent import spent
from tests.harness.tiers import few_first
from tests.protocols.column_runs import KEY, ask, due, in_the_open, on_shares, parts_of, reached
from tests.protocols.sealed_runs import expected
from tests.protocols.test_sealed_rule import listed
from tests.reference.column_studies import draw_columns
from tests.unit.mpc.boxes import seeds_of

import covey
from covey.arrays import Words
from covey.errors import InputError, PeerError, StudyError, Unmet
from covey.mpc import Clear
from covey.protocols import find, named, of_study
from covey.protocols.peel import columns
from covey.protocols.peel.coding import side_by_side
from covey.protocols.peel.parameters import run_of
from covey.sources.release import arrange, canonical_csv
from covey.study import Study

FIVE = {"a": ("age",), "b": ("sex",), "c": ("income",), "d": ("stay",), "e": ("ill",)}
SEEDS = [
    *range(10),
    *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(10, 60)),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60, 360)),
]


def head(seed: int) -> str:
    return 'sizes = "public"' if seed % 3 == 0 else ""


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_give_the_release_of_the_reference(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, seed)
    drawn = draw_columns(seed, tmp_path, head=head(seed))
    told, box = expected(drawn, None), Clear(seeds_of(seed))
    if not told[0]:
        with pytest.raises(Unmet):
            in_the_open(drawn, box)
        return
    release = in_the_open(drawn, box).release
    assert release is not None
    assert parts_of(drawn.study, release) == parts_of(drawn.study, due(drawn, told))


@pytest.mark.parametrize("seed", few_first([4, 7, 9, 12, *range(20, 60)], 4))
def test_shares_give_the_same_release_at_the_cost_that_was_foretold(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(monkeypatch, seed)
    drawn = draw_columns(seed, tmp_path, rows=(20, 50), head=head(seed))
    clear = Clear(seeds_of(seed))
    try:
        release = in_the_open(drawn, clear).release
    except Unmet as refused:
        outcomes, _ = on_shares(drawn, seed)
        assert {str(outcome.error) for outcome in outcomes.values()} == {str(refused)}
        return
    outcomes, ledgers = on_shares(drawn, seed)
    assert all(ledger == clear.ledger for ledger in ledgers.values())
    results = {name: outcome.answer for name, outcome in outcomes.items()}
    for party in drawn.study.holders:
        result = results[party.name]
        assert result is not None and result.release == release
    cost = spent(outcomes)
    assert (cost.messages, cost.bytes) == (clear.messages, clear.bytes)
    assert 0 <= clear.rounds - cost.rounds <= 12  # what goes to one party alone keeps nobody else waiting


def test_a_holder_of_columns_with_unknown_cells_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    study, people = study_of(k=5), draw_people(stream_of(3, "unknown"), 30)
    words = columns.Columns._words

    def beyond(intake: columns.Columns, place: int, *rest: Any) -> Words:
        """Shares for the clinic's second column, sex, digits that no label has."""

        def wrong(parts: Sequence[Words], widths: Sequence[int]) -> Words:
            return side_by_side([*parts[:3], np.full_like(parts[3], (1 << widths[3]) - 1), *parts[4:]], widths)

        with monkeypatch.context() as patch:
            if place == intake.holders[0]:
                patch.setattr("covey.protocols.peel.columns.side_by_side", wrong)
            return words(intake, place, *rest)

    monkeypatch.setattr(columns.Columns, "_words", beyond)
    with pytest.raises(PeerError, match="cells that the study does not know") as raised:
        find("peel", "vertical").ideal(study, tables_of(study, people))
    assert raised.value.party == "clinic"


@pytest.mark.parametrize("owner", ["clinic", "office"])
def test_exact_values_of_two_owners_are_in_no_row_as_they_belong_together(owner: str) -> None:
    """Those of one owner stand in one row; of two owners each is permuted within its class."""
    study, people = study_of(k=5, note=owner), draw_people(stream_of(3, "owners"), 30)
    release = find("peel", "vertical").ideal(study, tables_of(study, people)).release
    assert release is not None
    assert release.num_rows >= 25
    together = list(zip(release["ill"].to_pylist(), release["note"].to_pylist(), strict=True))
    true = {(person[4], f"note {number}") for number, person in enumerate(people)}
    assert true.issuperset(together) == (owner == "clinic")


def test_the_release_is_the_same_whoever_holds_which_columns() -> None:
    people = draw_people(stream_of(4, "splits"), 40)
    studies = [study_of(split) for split in (TWO, THREE, FIVE)]
    releases = [find("peel", "vertical").ideal(study, tables_of(study, people)).release for study in studies]
    assert len({canonical_csv(arrange(release)) for release in releases}) == 1


def test_people_whom_not_all_have_are_left_out_and_a_study_may_end_instead() -> None:
    people, peel = draw_people(stream_of(5, "absent"), 30), find("peel", "vertical")
    rows = {"clinic": list(range(28)), "office": list(range(2, 30))}
    figures = peel.ideal(study_of(k=5), tables_of(study_of(k=5), people, rows)).figures
    assert figures is not None and figures.rows + figures.withheld == 26
    strict = study_of(k=5, head='mismatch = "abort"')
    for split in (rows, {"clinic": list(range(30)), "office": list(range(2, 30))}):
        with pytest.raises(Unmet, match="the holders do not have the same people"):
            peel.ideal(strict, tables_of(strict, people, split))
    assert peel.ideal(strict, tables_of(strict, people)).release is not None


def test_a_holder_outside_is_told_why_a_run_ends_before_the_first_visit() -> None:
    """Of four holders one does not compute: it hears of too few common people, and of people whom not all have."""
    people = draw_people(stream_of(9, "outside"), 30)
    every = list(range(27))
    cases = {
        "": (list(range(24, 30)), "fewer than k = 5 people"),
        'mismatch = "abort"': (every[1:], "not have the same"),
    }
    for head, (other, words) in cases.items():
        study = study_of(FOUR, k=5, head=head)
        tables = tables_of(study, people, {**dict.fromkeys(FOUR, every), "d": other})
        ends = run(replace(trial_of(study, people), tables=tables))
        assert all(words in str(end.error) for end in ends.values()), ends


def test_fewer_common_people_than_k_release_nothing_and_their_number_is_not_opened() -> None:
    people = draw_people(stream_of(6, "few"), 30)
    rows = {"clinic": list(range(16)), "office": list(range(12, 30))}
    study = study_of(k=5)
    tables, run = tables_of(study, people, rows), replace(run_of(study), key=KEY)
    box = Clear(seeds_of(1))
    with pytest.raises(Unmet, match="fewer than k = 5 people in common"):
        asyncio.run(run.play(box, {run.parties.index(name): table for name, table in tables.items()}, ask, reached))
    assert [(entry.says.key, entry.width) for entry in box.ledger if entry.says.key != "order"] == [
        ("largest", 32), ("range", 1), ("common", 1),
    ]  # fmt: skip


def frames_of(study: Study, people: Sequence[Person], rows: dict[str, list[int]]) -> dict[str, pa.Table]:
    """Returns the holders' tables as they were read."""
    frames = {}
    for name, table in tables_of(study, people, rows).items():
        assert table.key is not None
        cells = {table.key.column.name: [table.key.labels[code] for code in table.key.codes.tolist()]}
        for column, tree, codes in zip(table.quasi, table.trees, table.codes, strict=True):
            cells[column.name] = [tree.labels[code] for code in codes.tolist()]
        for values in table.carried:
            cells[values.column.name] = [values.labels[code] for code in values.codes.tolist()]
        frames[name] = pa.table(cells)
    return frames


def test_a_key_twice_is_refused_before_anything_is_shared_and_is_not_quoted() -> None:
    people = draw_people(stream_of(7, "twice"), 20)
    study = study_of(k=5)
    frames = frames_of(study, people, {name: list(range(20)) for name in TWO})
    frames["clinic"] = pa.concat_tables([frames["clinic"], frames["clinic"].slice(0, 1)])
    with pytest.raises(InputError, match="column 'id', 2 rows share their key with another row") as refused:
        covey.simulate(study, frames, seed=1)
    assert "p000" not in str(refused.value)


def test_a_key_that_a_cheat_enters_twice_makes_no_row_of_its_own_records() -> None:
    """Whoever enters a key twice gets one row or none: two of its records never stand for two holders'."""
    study, people = study_of(k=2), draw_people(stream_of(8, "cheat"), 12)
    tables = tables_of(study, people, {"clinic": range(12), "office": range(6)})
    clinic, key = tables["clinic"], tables["clinic"].key
    assert key is not None
    doubled = replace(clinic.select(np.r_[0:12, 6:12]), key=replace(key, codes=np.r_[key.codes, key.codes[6:12]]))
    run = replace(run_of(study), key=KEY)
    given = {run.parties.index("clinic"): doubled, run.parties.index("office"): tables["office"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "keys_of", lambda table, _: [table.key.labels[code] for code in table.key.codes])
        base = asyncio.run(run.intake.take(Clear(seeds_of(1)), given))
    assert base.records == 6


@pytest.mark.parametrize(("privacy", "options", "words"), [
    ("k_insider = 2", "", "no class has people whom it does not know"),
    ("most_of_a_class = 0.6", "", "cannot enforce most_of_a_class"),
    ("t = 0.3", "", "cannot enforce t"),
    ("", "window = 4", "window is gone"),
    ("", 'leftover = "merge"', "leftover is gone"),
])  # fmt: skip
def test_what_columns_cannot_keep_is_refused_with_what_to_do(privacy: str, options: str, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        study_of(privacy=privacy, options=options)


def test_an_evaluator_of_an_earlier_study_is_told_what_to_be() -> None:
    text = (study_of().text or "").replace('role = "helper"', 'role = "evaluator"')
    with pytest.raises(StudyError, match='has no evaluator; role = "evaluator" is gone; use role = "helper"'):
        Study.parse(text)
    with pytest.raises(InputError, match='diversity = "entropy" is not for a joint study'):
        find("peel", "vertical").judge(study_of(privacy='l = 1.5\ndiversity = "entropy"'))


def test_two_holders_without_a_helper_are_told_to_find_one() -> None:
    study = study_of()
    alone = replace(study, parties=tuple(party for party in study.parties if party.role != "helper"))
    with pytest.raises(Unmet, match="add a third office that holds no data"):
        of_study(alone)


def test_one_name_has_a_protocol_for_rows_and_one_for_columns() -> None:
    assert named("peel-columns") == (find("peel", "vertical"),)
    assert named("peel-rows") == (find("peel", "horizontal"),)
    with pytest.raises(InputError, match="peel-letters"):
        named("peel-letters")
