"""Count: the real protocol answers as a trusted party would, at the declared cost, in the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.consortium import ROWS, study_text
from tests.harness.clock import run_jumping
from tests.harness.joint import outcomes_of
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.tiers import examples

import covey
from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError, Unmet
from covey.party.identity import keys
from covey.party.identity.roster import Roster
from covey.party.record.run_record import Finished
from covey.party.session.data import load_table
from covey.party.session.playing import Participant, take_part
from covey.party.simulate.stage import with_certificates
from covey.protocols import Proposal, Result, Role, Seat, count, find, of_study
from covey.secure.declare import Leakage
from covey.secure.sum import Masked
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.wire import MemoryNetwork, Vector, gather
from covey.wire import frame as frames

NAMES = ("north", "south", "east")
Rows = Sequence[tuple[int, str, str]]


def frame(rows: Rows) -> pa.Table:
    ages, sexes, diagnoses = zip(*rows, strict=True)
    return pa.table(
        {
            "patient": [f"P{i}" for i in range(len(rows))],
            "age": [str(age) for age in ages],
            "sex": list(sexes),
            "diagnosis": list(diagnoses),
        }
    )


FRAMES = {name: frame(rows) for name, rows in ROWS.items()}
KEYS = {name: keys.make(name) for name in NAMES}
SMALL = Study.parse(study_text(k=13))

record = some.tuples(some.integers(0, 99), some.sampled_from("FM"), some.sampled_from(["none", "flu", "diabetes"]))
hands = some.lists(some.lists(record, min_size=1, max_size=12), min_size=2, max_size=4)


@settings(max_examples=examples(12), deadline=None)
@given(hands, some.integers(2, 5), some.integers(0, 3))
def test_the_real_protocol_answers_as_the_ideal_does(dealt: list[Rows], k: int, level: int) -> None:
    names = [f"p{i}" for i in range(len(dealt))]
    study = Study.parse(study_text(names, k=k).replace("level = 1", f"level = {level}"))
    frames = {name: frame(rows) for name, rows in zip(names, dealt, strict=True)}
    tables = {name: table for name in names if (table := load_table(study, name, frames[name])) is not None}
    try:
        expected = count.ideal(study, tables)
    except Unmet:
        with pytest.raises(Unmet, match=f"fewer than k = {k}"):
            covey.simulate(study, frames)
        return
    release = covey.simulate(study, frames)
    assert canonical_csv(arrange(release.table)) == canonical_csv(arrange(expected.release))
    counts = [int(cell) for cell in release.arranged.column("count").to_pylist()]
    assert min(counts) >= k
    assert sum(counts) == sum(map(len, dealt))
    assert release.summary["k_reached"] == min(counts)


@given(some.lists(some.integers(0, 12), min_size=1, max_size=12), some.integers(2, 6))
def test_putting_bands_together_loses_no_record_and_leaves_no_small_count(totals: list[int], k: int) -> None:
    words = np.array(totals, dtype=np.uint64)
    kept, merged = count.merge_small(words, k)
    assert sorted([*kept, *merged]) == [index for index, total in enumerate(totals) if total]
    assert all(totals[index] >= k for index in kept)
    rest = sum(totals[index] for index in merged)
    assert rest == 0 or rest >= k or not kept


class Tape(FaultyNetwork):
    """Keeps what every party says in the session."""

    def __init__(self, names: Sequence[str], weather: Weather, seed: int) -> None:
        super().__init__(names, weather, seed)
        self.said: set[bytes] = set()

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        letter = frames.read(frames.split(frame)[1])
        if letter.header.session != bytes(16):
            self.said.add(bytes(letter.raw))
        await super().carry(sender, recipient, frame)


def take_part_together(network: MemoryNetwork, roles: dict[str, Role] | None = None) -> list[Finished]:
    """Everyone's part with fixed keys and seeds, over that network; some may play a role of their own."""
    study = Study.parse(study_text())
    certified = with_certificates(study, KEYS)
    protocol = of_study(study)

    def part(name: str) -> Participant:
        own = (roles or {}).get(name)
        return Participant(
            study=certified,
            protocol=protocol if own is None else replace(protocol, roles={"holder": own}),
            party=name,
            table=load_table(study, name, FRAMES[name]),
            keys=KEYS[name],
            roster=Roster.of(certified),
            seed=Secret(name.encode().ljust(32, b"\0")),
        )

    async def all_of_them() -> list[Finished]:
        return await gather(*(take_part(part(name), network.link(name)) for name in NAMES))

    return run_jumping(all_of_them())


def test_a_party_says_the_same_bytes_however_the_network_behaves() -> None:
    said = []
    for delay in (0, 5, 20):
        network = Tape(NAMES, Weather(delay=delay), seed=3)
        take_part_together(network)
        said.append(network.said)
    assert len(said[0]) >= count.COST.messages(3, 11)
    assert said[0] == said[1] == said[2]


def test_totals_that_no_parties_could_have_release_nothing() -> None:
    async def liar(seat: Seat) -> Result:
        await seat.approve(Proposal(Leakage()))
        with seat.channel.at("count") as channel:
            await channel.exchange(Masked(Vector(np.full(11, 1 << 63, dtype=np.uint64))))
        return Result()

    with pytest.raises(Aborted, match="did not keep to the protocol"):
        take_part_together(MemoryNetwork(NAMES), {"south": liar})


def test_fewer_records_than_k_in_all_are_never_published() -> None:
    tables = {name: table for name in NAMES if (table := load_table(SMALL, name, FRAMES[name])) is not None}
    with pytest.raises(Unmet, match="fewer than k = 13"):
        count.ideal(SMALL, tables)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_cost_is_as_declared(size: int) -> None:
    names = [f"p{i}" for i in range(size)]
    study = Study.parse(study_text(names))
    summary = covey.simulate(study, dict.fromkeys(names, FRAMES["north"])).summary
    bands = len(count.Bands.of(study).nodes)
    assert summary["rounds"] == count.COST.rounds(size, bands) == 2
    assert summary["messages"] == count.COST.messages(size, bands)
    assert summary["bytes"] == pytest.approx(count.COST.bytes(size, bands), rel=0.02)
    forecast = count.foresee(study, dict.fromkeys(names, 4))
    assert (forecast.rounds, forecast.messages) == (summary["rounds"], summary["messages"])


def test_the_forecast_teaches_what_the_ledger_then_says() -> None:
    study = Study.parse(study_text())
    release = covey.simulate(study, FRAMES)
    for name, fragments in count.PROTOCOL.learned(study, count.foresee(study, {}).lessons).items():
        assert {f"{name} learned {fragment}." for fragment in fragments} <= set(release.ledger[name])


def test_the_ledger_of_two_parties_says_that_a_total_gives_the_other_away() -> None:
    names = ("north", "south")
    release = covey.simulate(Study.parse(study_text(names)), {name: FRAMES[name] for name in names})
    assert any("with two parties a total gives the other's number away" in line for line in release.ledger["north"])


def test_equal_seeds_repeat_a_run_and_a_run_without_one_says_so() -> None:
    study = Study.parse(study_text())
    first, again = (covey.simulate(study, FRAMES, seed=5) for _ in range(2))
    sessions = {outcomes_of(release)["north"].finished.session for release in (first, again)}
    assert len(sessions) == 1
    assert first.summary["reproducible"] is True
    free = covey.simulate(study, FRAMES)
    assert free.summary["reproducible"] is False
    assert outcomes_of(free)["north"].finished.session not in sessions


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ('column = "age"', 'column = "diagnosis"', "no quasi column"),
        ('column = "age"', 'column = "height"', "no column 'height'"),
        ("level = 1", "level = 9", "from 0 to 3"),
        ("level = 1", "level = true", "whole number of 0 or more"),
    ],
)
def test_options_that_no_column_fits_are_named(before: str, after: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        of_study(Study.parse(study_text().replace(before, after)))


def test_a_domain_that_the_study_does_not_list_cannot_be_counted_over() -> None:
    text = study_text().replace('values = ["F", "M"]\n', "").replace('column = "age"', 'column = "sex"')
    with pytest.raises(InputError, match="does not list"):
        of_study(Study.parse(text))


def test_defaults_count_by_the_first_quasi_column_at_its_first_level() -> None:
    text = study_text().replace('[protocol]\ncolumn = "age"\nlevel = 1\n', "")
    bands = count.Bands.of(Study.parse(text))
    assert bands.column.name == "age"
    assert {bands.tree.labels[node] for node in bands.nodes} >= {"[0, 9]", "[90, 99]", ""}


def test_missing_values_are_a_band_of_their_own() -> None:
    study = Study.parse(study_text(k=2))
    lacking = pa.table({**{name: FRAMES["east"].column(name) for name in FRAMES["east"].column_names}, "age": [""] * 3})
    release = covey.simulate(study, {**FRAMES, "east": lacking})
    released = dict(zip(*(column.to_pylist() for column in release.table.columns), strict=True))
    assert released[""] == "3"


def test_an_unknown_protocol_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"there is .*count"):
        find("guess")
