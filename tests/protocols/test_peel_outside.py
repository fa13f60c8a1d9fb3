"""More holders than compute: those outside share their rows, vote and read, and a recipient reads alone."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from tests.harness import hospitals
from tests.harness.clock import run_jumping
from tests.harness.harness import over_memory, part_of
from tests.harness.parties import Outcome, run_parties
from tests.harness.safety import kill, some_points
from tests.harness.spent import heard, spent
from tests.harness.trial import Trial
from tests.protocols.peelers import COLUMNS, Person, draw_people, frame_of, names_of, study_of, tables_of
from tests.unit.mpc.boxes import seeds_of

import covey
from covey.arrays import Words
from covey.errors import Aborted, CoveyError, PeerError, Unmet
from covey.mpc import Clear, Opening, Outside, Sealed
from covey.mpc.parcels import Part
from covey.party.record.log import SILENCE
from covey.party.session.approval import ApprovalQuestion
from covey.party.session.data import load_table
from covey.party.session.journal import NO_JOURNAL
from covey.party.session.playing import take_part
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import SimulationSetting
from covey.party.simulate.processes import simulate as simulate_processes
from covey.protocols import Result, of_study
from covey.protocols.peel.parameters import run_of
from covey.protocols.peel.parties import parties_of
from covey.protocols.peel.rule import Classes, Peeling
from covey.protocols.peel.run import Ask
from covey.protocols.protocol import Figures, Preview, Recognition
from covey.sources.release import arrange, canonical_csv
from covey.study import Party, Study
from covey.wire import Channel, MemoryNetwork, gather

EVEN = (20, 20, 20, 20, 20)
COMPUTING = 'computing = ["p4", "p1", "p2"]'
OUTSIDE = ("p0", "p3")


def dealt(sizes: Sequence[int]) -> dict[str, list[Person]]:
    """Returns so many people for each holder."""
    people = iter(draw_people(1, sum(sizes), seed=len(sizes))["p0"])
    return {name: [next(people) for _ in range(size)] for name, size in zip(names_of(len(sizes)), sizes, strict=True)}


def hands_of(study: Study, people: Mapping[str, Sequence[Person]]) -> dict[str, pa.Table]:
    """Returns the holders' tables, with the study's columns alone."""
    schema = pa.schema([(column.name, pa.string()) for column in study.columns])
    return {name: frame_of(study, own).cast(schema) for name, own in people.items()}


def due(study: Study, people: Mapping[str, Sequence[Person]]) -> bytes:
    """Returns the release of a trusted party."""
    hands = hands_of(study, people)
    tables = {name: table for name in hands if (table := load_table(study, name, hands[name])) is not None}
    release = of_study(study).ideal(study, tables).release
    assert release is not None
    return canonical_csv(arrange(release))


@pytest.mark.parametrize(("sizes", "head", "options", "note"), [
    (EVEN, "", COMPUTING, True),
    (EVEN, 'sizes = "public"', COMPUTING, False),
    ((3, 2, 2, 90, 3), "", "", False),
    ((20, 20, 20, 0, 20), "", "", False),
    ((20, 20, 20, 0, 20), 'sizes = "public"', "", True),
])  # fmt: skip
def test_five_holders_of_whom_three_compute_get_the_release_of_a_trusted_party(
    sizes: Sequence[int], head: str, options: str, note: bool
) -> None:
    study, people = study_of(5, head=head, options=options, note=note), dealt(sizes)
    release = covey.simulate(study, hands_of(study, people), seed=1)
    assert release.content == due(study, people)
    assert covey.verify(release.table, study).answer
    computing = parties_of(study)[:3]
    for name, lines in release.ledger.items():
        told = " ".join(lines)
        assert "any two of them together can read every row" in told
        assert "the released cells" in told
        assert ("places in a list that nobody can link" in told) == (name in computing)


def test_a_helper_computes_before_holders_and_gets_no_release() -> None:
    study = study_of(3)
    study = replace(study, parties=(*study.parties, Party("office", role="helper")))
    assert parties_of(study) == ("office", "p0", "p1", "p2")
    people = dealt((20, 20, 20))
    release = covey.simulate(study, hands_of(study, people), seed=1)
    assert release.content == due(study, people)
    assert "the released cells" not in " ".join(release.ledger["office"])


def test_a_recipient_alone_gets_the_release() -> None:
    study = study_of(4)
    study = replace(study, parties=(*study.parties, Party("registry", role="recipient")))
    people = dealt((20, 20, 20, 20))
    release = covey.simulate(study, hands_of(study, people), seed=1)
    assert release.content == due(study, people)
    receivers = [name for name, lines in release.ledger.items() if "the released cells" in " ".join(lines)]
    assert receivers == ["registry"]


def test_fewer_records_than_k_are_told_to_those_outside_and_nothing_is_released() -> None:
    study, people = study_of(5, k=10), dealt((1, 1, 1, 1, 1))
    with pytest.raises(Unmet, match="fewer than k = 10 records"):
        covey.simulate(study, hands_of(study, people), seed=1)
    ends = played(study, people)
    assert all(isinstance(end.error, Unmet) for end in ends.values())


@pytest.mark.parametrize("against", ["p3", "p4", "p0"])
def test_a_no_of_one_holder_ends_the_run_for_all(against: str) -> None:
    """Holder p0 computes, p3 and p4 are outside; each is asked about the same figures."""
    study, people = study_of(5), dealt(EVEN)
    trial = Trial(study, of_study(study), tables_of(study, people), {}, lambda _, finished: finished)
    network, asked = MemoryNetwork(trial.names), dict[str, ApprovalQuestion]()

    async def one(name: str) -> str:
        async def decide(question: ApprovalQuestion) -> bool:
            asked[name] = question
            return name != against

        part = replace(part_of(trial, name, 1, NO_JOURNAL, SILENCE), decide=decide)
        try:
            async with over_memory(network)(name) as link:
                await take_part(part, link)
        except CoveyError as error:
            assert isinstance(error, Aborted) and not error.resumable
            return str(error)
        return "released"

    async def everyone() -> list[str]:
        return await gather(*(one(name) for name in trial.names))

    ends = dict(zip(trial.names, run_jumping(everyone()), strict=True))
    assert ends.pop(against) == "the release was refused here; nothing was released"
    assert set(ends.values()) == {f"party {against!r} refused the release; nothing was released"}
    figures = [question.proposal.figures for question in asked.values()]
    assert len(figures) == 5 and all(shown == figures[0] for shown in figures)


async def agree(figures: Figures, preview: Preview, own: Recognition | None, alone: Sequence[str]) -> None:
    """Lets a run go on to its cells."""


def played(
    study: Study,
    people: Mapping[str, Sequence[Person]],
    ledgers: dict[str, list[Opening]] | None = None,
    ask: Ask = agree,
) -> dict[str, Outcome[Result]]:
    """Returns how each party of a run fares whose seeds are known."""
    run, seeds = run_of(study), seeds_of(1)
    tables = tables_of(study, people)

    async def reached(state: Peeling) -> None: ...

    async def role(channel: Channel) -> Result:
        place = run.parties.index(channel.me)
        if place >= 3:
            line = Outside(channel.at("box"), run.parties)
            return await run.wait(line, place, tables.get(channel.me), ask)
        box = Sealed(channel.at("box"), run.parties, (seeds[place], seeds[(place + 1) % 3]))
        own = {place: tables[channel.me]} if channel.me in tables else {}
        try:
            return await run.play(box, own, ask, reached)
        finally:
            if ledgers is not None:
                ledgers[channel.me] = box.ledger

    return run_parties(dict.fromkeys(run.parties, role), seed=1)


@pytest.mark.parametrize("head", ["", 'sizes = "public"'])
def test_a_holder_outside_reads_what_the_ledger_says_and_the_run_costs_what_was_foretold(head: str) -> None:
    study, people = study_of(5, head=head, options=COMPUTING, note=True), dealt(EVEN)
    run, ledgers = run_of(study), dict[str, list[Opening]]()
    outcomes = played(study, people, ledgers)
    clear = Clear(seeds_of(1))

    async def reached(state: Peeling) -> None: ...

    tables = {run.parties.index(name): table for name, table in tables_of(study, people).items()}
    asyncio.run(run.play(clear, tables, agree, reached))
    cost = spent(outcomes)
    assert (cost.messages, cost.bytes) == (clear.messages, clear.bytes)
    for name in run.parties[:3]:
        assert ledgers[name] == clear.ledger
    for name in OUTSIDE:
        place = run.parties.index(name)
        entries = [entry for entry in clear.ledger if entry.to == place]
        assert [entry.says.key for entry in entries] == ["length", "total", "classes", "classes", "alone", "cells"]
        words = [entry.width * -(-entry.records // 64) for entry in entries]
        told = [entry.records for entry in entries[:-1]]
        for sender, due_words in zip(
            run.parties[:3], ([*told, words[-1]], [4, 4, 4, 4, 4, words[-1]], [4, 4, 4, 4, 4]), strict=True
        ):
            assert [part.words.words.size for part in heard(outcomes[name], sender, Part)] == due_words
        for other in run.parties[3:]:
            assert other == name or not heard(outcomes[name], other, Part)


def test_no_cell_is_opened_where_one_row_alone_has_a_value_and_holders_outside_are_told_so() -> None:
    """Ten notes are of one row each. Here asking ends the run, as it does among parties that do not simulate."""
    study, people = study_of(5, note=True), dealt((30, 20, 20, 20, 20))
    ledgers, told = dict[str, list[Opening]](), list[Sequence[str]]()

    async def ask(figures: Figures, preview: Preview, own: Recognition | None, alone: Sequence[str]) -> None:
        told.append(alone)
        raise Unmet("somebody is singled out")

    ends = played(study, people, ledgers, ask)
    assert told == [["note"]] * 5 and all(isinstance(end.error, Unmet) for end in ends.values())
    for ledger in ledgers.values():
        assert sum(entry.says.key == "alone" and entry.to is None for entry in ledger) == 1
        assert not any(entry.says.key == "cells" for entry in ledger)


@pytest.mark.parametrize("place", [0, -1], ids=["a label", "a size"])
def test_classes_that_no_records_make_are_refused_outside(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = Classes.words

    def forged(classes: Classes) -> Words:
        told = words(classes)
        told[place] = 1 << 20
        return told

    monkeypatch.setattr(Classes, "words", forged)
    ends = played(study_of(5), dealt(EVEN))
    assert isinstance(ends["p3"].error, PeerError)
    assert "the records of this study cannot make" in str(ends["p3"].error)


@pytest.mark.thorough
def test_five_processes_over_tls_write_the_release_of_a_trusted_party(tmp_path: Path) -> None:
    head = '[study]\nname = "small"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 3\n'
    head += f"[protocol]\n{COMPUTING}\n"
    file = tmp_path / "study.toml"
    file.write_text(head + COLUMNS + "".join(f"[parties.{name}]\n" for name in names_of(5)), encoding="utf-8")
    study, people, data = Study.load(file), dealt(EVEN), dict[str, str]()
    for name, table in hands_of(study, people).items():
        data[name] = str(tmp_path / f"{name}.csv")
        write_csv(table, data[name])
    summary = simulate_processes(study, data, tmp_path / "out", SimulationSetting(seed=seed_of(1)))
    assert summary.describe()["release_sha256"] == hashlib.sha256(due(study, people)).hexdigest()
    for name in names_of(5):
        assert (tmp_path / "out" / name / "release.csv").read_bytes() == due(study, people)


@pytest.mark.thorough
def test_a_holder_outside_that_is_killed_goes_on_to_the_release(tmp_path: Path) -> None:
    names = ("east", "middle", "north", "south", "west")
    study = hospitals.study_of("peel", names, k=2)
    people = hospitals.draw_people(hospitals.stream_of(2, "outside"), names, 3, 4)
    trial = hospitals.trial_of(study, people)
    assert parties_of(study)[3:] == ("south", "west")
    points = some_points(trial, names.index("west"), tmp_path / "counting")
    assert [line for place, point in enumerate(points) for line in kill(trial, point, tmp_path / str(place))] == []
