"""An owner of columns looks for its own people in the release: it finds nobody, or the study allows it and all know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from tests.harness import harness
from tests.harness.columns_cases import COLUMNS
from tests.harness.federate_cases import FEDERATE
from tests.harness.generalize_cases import GENERALIZE, GENERALIZE_FINISHED, draw_people, stream_of, study_of, tables_of
from tests.harness.peel_columns_cases import PEEL_COLUMNS
from tests.harness.trial import Case, Trial

import covey
from covey import samples
from covey.arrays import Longs
from covey.errors import Aborted, CoveyError, PeerError, Unmet
from covey.hierarchy import Hierarchy
from covey.party.plan import make_plan
from covey.party.session.approval import ApprovalQuestion
from covey.party.session.data import load_table
from covey.protocols import find
from covey.protocols.as_printed.generalize.ideal import follow
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.protocol import Recognition
from covey.protocols.shared.columns import meeting, recognition
from covey.study import Study, document
from covey.table import Table, Values
from covey.wire import Channel, Message

NAMES = ("generalize", "cluster", "peel", "federate")
OPENED = {"join.share", "cluster.announced", "federate.boxes"}
"""Messages that open rows."""
CASES = (
    COLUMNS,
    PEEL_COLUMNS,
    *(pytest.param(case, marks=pytest.mark.thorough) for case in (GENERALIZE, GENERALIZE_FINISHED, FEDERATE)),
)
AS_IT_IS = {"role": "sensitive"}


def shown(protocol: str, file: str = "study.toml", diagnosis: document.Document | None = None) -> Study:
    """The study that ships for a protocol with columns split; `diagnosis` is the column in place of the shipped one."""
    declared = find(protocol, "vertical")
    folder = samples.path(declared.demonstration.sample)
    content = document.read(folder / file)
    document.table(content, "study")["protocol"] = protocol
    document.table(content, "protocol").pop("as_printed", None)
    if declared.printed is not None:
        document.table(content, "protocol")["as_printed"] = True
    for section, change in declared.demonstration.changes.items():
        document.table(content, section).update(cast("document.Document", change))
    if diagnosis is not None:
        column = document.table(content, "columns", "diagnosis")
        tree = Study.load(folder / file).column("diagnosis").tree()
        column.clear()
        column.update({"values": list(tree.labels[: tree.leaves]), **diagnosis})
    return Study.parse(document.spell(content), folder)


def tables_for(study: Study, protocol: str) -> dict[str, Table]:
    """Each holder's shipped table."""
    folder = samples.path(find(protocol, "vertical").demonstration.sample)
    found = {party.name: load_table(study, party.name, str(folder / f"{party.name}.csv")) for party in study.holders}
    return {name: table for name, table in found.items() if table is not None}


def rows_that_fit(table: Table, release: pa.Table) -> list[int]:
    """The number of released rows that each of an owner's people fits: a stranger to the run reads no more."""
    quasi, exact = [column.name for column in table.quasi], [values.column.name for values in table.carried]
    rows = Counter(zip(*(release.column(name).to_pylist() for name in (*quasi, *exact)), strict=True))
    counts = []
    for row in range(table.rows):
        covers = [
            {tree.labels[node] for node in tree.up[:, codes[row]].tolist()}
            for tree, codes in zip(table.trees, table.codes, strict=True)
        ]
        cells = tuple(values.labels[values.codes[row]] for values in table.carried)
        fitting = [
            count
            for labels, count in rows.items()
            if labels[len(quasi) :] == cells
            and all(label in cover for label, cover in zip(labels, covers, strict=False))
        ]
        counts.append(sum(fitting))
    return counts


def finds(counts: list[int], k: int) -> tuple[int, int]:
    """The people whom the attacker finds alone, and among fewer than k rows."""
    return counts.count(1), sum(0 < count < k for count in counts)


def attacked(study: Study, protocol: str) -> dict[str, tuple[int, int]]:
    """What each owner finds in the release that ships for a protocol."""
    tables = tables_for(study, protocol)
    release = find(protocol, "vertical").ideal(study, tables).release
    assert release is not None
    return {name: finds(rows_that_fit(table, release), study.privacy.k) for name, table in tables.items()}


def demo_of_generalize() -> tuple[Study, dict[str, Table]]:
    """The demonstration as it was: diagnoses are published as they are."""
    study = shown("generalize", diagnosis=dict(AS_IT_IS))
    return study, meeting.common_rows(study, tables_for(study, "generalize"))


@pytest.mark.thorough
def test_a_clinic_that_publishes_diagnoses_finds_its_patients_and_the_count_is_never_below() -> None:
    study, tables = demo_of_generalize()
    release = find("generalize").ideal(study, tables_for(study, "generalize")).release
    assert release is not None
    by_release = finds(rows_that_fit(tables["clinic"], release), 5)
    clinic = follow(Parameters.of(study), tables).locals["clinic"]
    kept = np.flatnonzero(~clinic.pool)
    cells = zip(*clinic.nodes[:, kept].tolist(), tables["clinic"].carried[0].codes[kept].tolist(), strict=True)
    sizes = Counter(cells).values()
    told = sum(size == 1 for size in sizes), sum(size for size in sizes if size < 5)
    found = recognition.count(
        study, [*clinic.nodes[:, kept], clinic.finished[kept]], tables["clinic"].select(kept).carried
    )
    assert found is not None and found.people == 1474
    assert (by_release[0], told) == (121, (559, 1322))
    assert found.alone >= told[0] and found.few >= told[1]
    assert found.losses["diagnosis"] is not None and found.losses["diagnosis"] > 0.9


@pytest.mark.thorough
@pytest.mark.parametrize(("protocol", "file"), [*((name, "study.toml") for name in NAMES), ("federate", "three.toml")])
def test_in_the_runs_that_ship_no_owner_finds_anybody_among_fewer_than_k(protocol: str, file: str) -> None:
    study = shown(protocol, file)
    assert set(attacked(study, protocol).values()) == {(0, 0)}
    assert not any(column.singles_out for column in study.columns)


def without_reasons(case: Case, seed: int) -> Trial:
    """A trial whose study does not allow its exact columns to tell people apart."""
    trial = case.draw(seed)
    columns = tuple(replace(column, singles_out=None) for column in trial.study.columns)
    return replace(trial, study=replace(trial.study, columns=columns), cost=None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_where_an_owner_finds_people_without_a_reason_nobody_gets_a_release(case: Case) -> None:
    trials = [trial for trial in (without_reasons(case, seed) for seed in range(12)) if recognition.owners(trial.study)]
    runs = ((trial, harness.run(trial)) for trial in trials)
    trial, ends = next((trial, ends) for trial, ends in runs if not any(end.finished for end in ends.values()))
    owners = recognition.owners(trial.study)
    errors = {name: end.error for name, end in ends.items()}
    assert all(isinstance(error, Unmet | Aborted) and error.exit_code == 1 for error in errors.values()), errors
    assert not any(message.tag in OPENED for message in harness.lines(ends))
    told = [str(error) for name, error in errors.items() if name in owners and isinstance(error, Unmet)]
    assert told and all("make ill quasi" in text for text in told if "ill" in text)
    others = [str(error) for name, error in errors.items() if name not in owners]
    assert all("the study does not allow it" in text for text in others)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_where_the_study_allows_it_every_officer_reads_how_many_and_why(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: dict[str, ApprovalQuestion] = {}

    async def read(question: ApprovalQuestion) -> bool:
        questions[question.party] = question
        return True

    monkeypatch.setattr(harness, "approve_always", read)
    trial = next(trial for trial in map(case.draw, range(20)) if recognition.owners(trial.study))
    ends = harness.run(trial)
    assert all(end.error is None for end in ends.values())
    for name in trial.names:
        screen = " ".join(questions[name].screen(80).split())
        for owner in recognition.owners(trial.study):
            found = questions[name].recognised[owner]
            if not found.few:
                assert f"{owner} would find none of its" in screen
                continue
            assert (
                f"{owner} would find {found.alone:,} of its {found.people:,} people alone and {found.few:,} among"
                in screen
            )
            assert "WARNING" in screen and "nobody is real" in screen
        assert any("exact" in fact.fact and "would find" in fact.fact for fact in questions[name].known)


def test_the_numbers_stand_in_plan_ledger_and_report(tmp_path: Path) -> None:
    study = study_of(k=3)
    people = draw_people(stream_of(1), 40)
    frames = {
        "clinic": frame(people, {"age": 0, "sex": 1, "ill": 2}),
        "billing": frame(people, {"paid": 3, "plan": 4}),
    }
    planned = make_plan(study, {"clinic": 40, "billing": 40}, 0.0, 1e7).learns
    covey.simulate(study, frames, seed=1).save(tmp_path / "out")
    for name in ("clinic", "billing"):
        assert any("how many of its people clinic could find" in line for line in planned[name])
        learned = json.loads((tmp_path / "out" / name / "ledger.json").read_text())["learned"]
        assert any("by its exact ill, clinic would find" in line for line in learned)
        assert "by its exact ill, clinic would find" in (tmp_path / "out" / name / "report.html").read_text()


def frame(people: Mapping[str, tuple[object, ...]], columns: Mapping[str, int]) -> pa.Table:
    """Some columns of these people."""
    cells = {name: [str(person[place]) for person in people.values()] for name, place in columns.items()}
    return pa.table({"patient": list(people), **cells})


@pytest.mark.parametrize("options", ["", 'variant = "finished-cells"', 'variant = "finished-cells"\nlocal = "peel"'])
@pytest.mark.parametrize("seed", range(6))
def test_the_count_is_never_below_what_the_owner_finds_in_the_release(seed: int, options: str) -> None:
    study = study_of(k=3, options=options)
    tables = tables_of(study, draw_people(stream_of(seed, "recognised"), 60))
    release = find("generalize").ideal(study, tables).release
    assert release is not None
    common = meeting.common_rows(study, tables)
    clinic = follow(Parameters.of(study), common).locals["clinic"]
    kept = np.flatnonzero(~clinic.pool)
    table = common["clinic"].select(kept)
    found = recognition.count(study, [*clinic.nodes[:, kept], clinic.finished[kept]], table.carried)
    alone, few = finds(rows_that_fit(table, release), study.privacy.k)
    assert found is not None and found.alone >= alone and found.few >= few
    assert found.few == 0 or found.losses == {}  # the study allows it


def values(cells: list[str], name: str = "ill", tree: Hierarchy | None = None) -> Values:
    """A column that is published as it is."""
    labels = sorted(set(cells))
    codes = np.array([labels.index(cell) for cell in cells], dtype=np.int32)
    return Values(replace(study_of().column("ill"), name=name, hierarchy=tree), codes, tuple(labels))


def label(*classes: int) -> Longs:
    """The labels of rows."""
    return np.array(classes, dtype=np.int64)


def test_rows_are_counted_that_are_alone_or_among_few_with_equal_labels_and_cells() -> None:
    assert recognition.among_few([label(0, 0, 0, 1, 1, 2)], 3) == (1, 3)
    assert recognition.among_few([label(0, 0, 0, 1, 1, 1), label(0, 0, 0, 0, 0, 0)], 3) == (0, 0)
    assert recognition.among_few([label(0, 0, 0, 1, 1, 1), label(0, 0, 1, 0, 0, 0)], 3) == (1, 3)


def test_only_the_columns_that_the_study_does_not_allow_end_a_run() -> None:
    ill = study_of().column("ill")
    reasons = {"ill": None, "same": None, "rare": "everybody knows it"}
    columns = tuple(replace(ill, name=name, singles_out=reason) for name, reason in reasons.items())
    study, classes = replace(study_of(k=2), columns=columns), label(0, 0, 0, 0)
    rare, flu = values(["a", "a", "a", "b"], "rare"), values(["flu", "flu", "none", "none"])
    assert recognition.count(study, [classes], []) is None
    assert recognition.count(study, [classes], [flu]) == Recognition(4, 0, 0)
    assert recognition.count(study, [classes], [rare]) == Recognition(4, 1, 1)
    assert recognition.count(study, [classes], [values(["x"] * 4, "same"), rare]) == Recognition(4, 1, 1)
    both = recognition.count(study, [classes], [flu, rare])
    assert both is not None and (both.alone, both.few, list(both.losses)) == (2, 2, ["ill"])


def test_the_loss_of_the_way_out_is_that_of_the_lowest_level_at_which_k_rows_are_alike() -> None:
    classes = label(0, 0, 0, 0, 1, 1)
    tree = Hierarchy.from_paths(
        [("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "gut", "*"), ("pain", "gut", "*")]
    )
    cells = ["flu", "cough", "ulcer", "ulcer", "flu", "flu"]
    lost = recognition.loss_of_generalizing([classes], values(cells, tree=tree), 2)
    assert lost == pytest.approx((4 * (1 / 3)) / 6)
    assert recognition.loss_of_generalizing([classes], values(cells), 2) == pytest.approx(4 / 6)
    assert recognition.loss_of_generalizing([classes], values(["flu"] * 6), 2) == 0


def lying(monkeypatch: pytest.MonkeyPatch, to: str | None = None, **changes: object) -> None:
    """Clinic tells other numbers, to one party or to all."""
    honest = Channel.send

    async def tell(self: Channel, peer: str, message: Message) -> None:
        if isinstance(message, recognition.RecognisedPeople) and to in (None, peer):
            message = recognition.RecognisedPeople(
                **{"people": message.people, "alone": message.alone, "few": message.few, "allowed": True} | changes  # type: ignore[arg-type]
            )
        await honest(self, peer, message)

    monkeypatch.setattr(Channel, "send", tell)


@pytest.mark.parametrize("changes", [{"alone": 10**6}, {"few": 10**6}])
def test_numbers_of_people_that_cannot_be_are_refused(changes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    lying(monkeypatch, to=None, **changes)
    ends = harness.run(COLUMNS.draw(1))
    assert any(isinstance(end.error, PeerError) and "cannot be" in str(end.error) for end in ends.values())
    assert not any(end.finished for end in ends.values())


def test_an_owner_that_says_that_the_study_allows_it_is_refused_where_the_study_has_no_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lying(monkeypatch, few=3, alone=3, people=9)
    ends = harness.run(without_reasons(COLUMNS, 1))
    assert any(isinstance(end.error, PeerError) and "cannot be" in str(end.error) for end in ends.values())


def test_an_owner_that_tells_two_parties_different_numbers_is_found_at_the_vote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lying(monkeypatch, to="office", few=0, alone=0)
    ends = harness.run(COLUMNS.draw(1))
    errors: list[CoveyError | None] = [end.error for end in ends.values()]
    assert any("asked about other figures" in str(error) for error in errors)
    assert not any(end.finished for end in ends.values())
