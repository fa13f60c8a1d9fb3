"""`federate`: what a study must say, what dummy users are, what ends a run, and who gets what."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.harness import federate_cases
from tests.harness.federate_cases import (
    CURIOUS,
    GYM,
    INSURER,
    Users,
    draw_users,
    lasting_of,
    owns_of,
    study_of,
    tables_of,
    trial_of,
)
from tests.harness.harness import answers, lines, run
from tests.harness.network import seed_of
from tests.harness.parties import run_parties
from tests.harness.several_cases import draw_several, several_of
from tests.harness.trial import Trial
from typer.testing import CliRunner

from covey import samples
from covey.cli import app
from covey.crypto import paillier
from covey.crypto.rng import Rng
from covey.errors import Aborted, InputError, Unmet
from covey.judge import verify
from covey.party.audit.script import strays
from covey.party.session.data import load_table
from covey.protocols.as_printed import federate
from covey.protocols.as_printed.federate import cost, leakage, release, score
from covey.protocols.as_printed.federate import parameters as federate_parameters
from covey.protocols.as_printed.federate.delivery import ClassCount
from covey.protocols.as_printed.federate.groups import INFEASIBLE, Group, exceeds
from covey.protocols.as_printed.federate.ideal import divide, keeps, keeps_exactly, turn
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Result, Seat
from covey.schema import Role
from covey.secure.declare import Leakage
from covey.study import Study
from covey.table import Table
from covey.wire import Channel

POPULATION = 60
COLUMNS = {GYM: ("age", "sex"), INSURER: ("stay", "weight", "ill")}


def some_users(seed: int = 1, common: int = 24, extra: int = 12) -> dict[str, dict[str, tuple[str, ...]]]:
    drawn = draw_users(Rng(seed_of(seed)).stream("users"), POPULATION, common, extra)
    return {name: {uid: tuple(row) for uid, row in own.items()} for name, own in drawn.items()}


# -- the study


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('[columns.sex]\nrole = "quasi"', '[columns.sex]\nrole = "plain"', "published as they are"),
        ('values = ["no", "yes"]\n', "", "list its values"),
        ("range = [40, 120]\n", "step = 5\n", "public range"),
        ('hierarchy = "flat"\nvalues = ["F", "M"]', 'hierarchy = "flat"', "list its domain"),
        ("bits = 256", "bits = 1000", "3072"),
        ("bits = 256", "bits = 256\nalpha = 1.5", "alpha"),
        ("bits = 256", "bits = 256\ncandidates = -1", "candidates"),
        (
            'values = ["F", "M"]',
            f'values = ["F", "{"M" * 1025}"]',
            "'sex': a label .* 1,025 characters; .*1,024",
        ),
        ("bits = 256", 'bits = 256\nalpha = "half"', "alpha"),
        ("bits = 256", "bits = 256\nalpha = true", "alpha"),
        ("bits = 256", "bits = 256\ncandidates = 257", "candidates"),
        ("bits = 256", "bits = 256\ncandidates = 2.5", "candidates"),
        ("bits = 256", 'bits = 256\nschedule = "paper"', "runs on schedule"),
        ("delta = 0.9", "", "needs a delta"),
        (
            'role = "sensitive"\nvalues = ["no", "yes"]\nsingles_out = "nobody is real"\n',
            'role = "identifier"\nvalues = ["no", "yes"]\n',
            "needs a delta, and a column",
        ),
        ('range = [40, 120]\nmissing = "error"', 'range = [40, 120]\nmissing = "value"', "public range"),
        ('population = "population.csv"\n', "", "needs population = "),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_with_what_to_change(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    text = federate_cases._STUDY.format(k=2, delta="delta = 0.9", options='presence = "sensitive"', bits=256)
    assert old in text
    (tmp_path / "population.csv").write_text("u0\nu1\n")
    with pytest.raises(InputError, match=reason):
        federate.PROTOCOL.judge(Study.parse(text.replace(old, new), tmp_path))


def test_a_population_with_an_id_twice_is_refused(tmp_path: Path) -> None:
    study = study_of(4)
    doubled = dataclasses.replace(study, files={"population.csv": b"u0\nu1\nu0\n"})
    with pytest.raises(InputError, match="more than once"):
        Parameters.of(doubled)
    with pytest.raises(InputError, match="lists 0 ids"):
        Parameters.of(dataclasses.replace(study, files={"population.csv": b"\n\n"}))


def test_a_population_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(4)
    with pytest.raises(InputError, match="was not found"):
        Parameters.of(dataclasses.replace(study, files={}))
    with pytest.raises(InputError, match="is not UTF-8"):
        Parameters.of(dataclasses.replace(study, files={"population.csv": b"u0\n\xff\n"}))
    monkeypatch.setattr("covey.protocols.as_printed.federate.parameters.MOST_PEOPLE", 3)
    with pytest.raises(InputError, match="lists 4 ids; 1 to 3 can be handled"):
        Parameters.of(study)


def test_more_combinations_of_exact_values_than_can_be_counted_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.protocols.as_printed.federate.parameters.MOST_VALUES", 1)
    with pytest.raises(InputError, match="2 combinations of values; 1 can be counted"):
        Parameters.of(study_of(4))


def test_one_provider_alone_or_no_recipient_is_refused() -> None:
    study = study_of(4)
    for left in ((GYM, CURIOUS), (GYM, INSURER)):
        parties = tuple(party for party in study.parties if party.name in left)
        with pytest.raises(InputError, match="two or more parties with columns"):
            Parameters.of(dataclasses.replace(study, parties=parties))


def test_delta_is_a_fraction_of_small_numbers_so_that_comparisons_stay_short() -> None:
    delta = Parameters.of(study_of(4, delta=0.123456789)).delta
    assert delta is not None and delta.denominator <= 10_000
    assert 0 <= Fraction("0.123456789") - delta < Fraction(1, 10_000)


def test_the_populations_content_is_part_of_the_studys_hash() -> None:
    study = study_of(4)
    other = dataclasses.replace(study, files={"population.csv": b"u0\nu1\nu2\nu4\n"})
    assert study.study_hash != other.study_hash


def test_rows_of_strangers_and_repeated_ids_are_refused_without_being_quoted() -> None:
    study = study_of(4)
    params = Parameters.of(study)
    users: Users = {GYM: {"u0": ("1", "F"), "u77": ("2", "M")}, INSURER: {"u0": ("1", "50", "no")}}
    with pytest.raises(InputError, match="1 row has an id that the population does not list") as caught:
        OwnUsers.of(params, tables_of(study, users)[GYM], lasting_of(GYM))
    assert "u77" not in str(caught.value)
    table = tables_of(study, {GYM: {"u0": ("1", "F"), "u1": ("2", "M")}})[GYM]
    with pytest.raises(InputError, match="1 row repeat an id"):
        OwnUsers.of(params, table.select(np.array([0, 1, 1])), lasting_of(GYM))
    with pytest.raises(InputError, match="no key column"):
        OwnUsers.of(params, dataclasses.replace(table, key=None), lasting_of(GYM))


def test_keys_that_protect_nothing_are_refused_outside_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federate_parameters, "check_bits", paillier.check_bits)
    with pytest.raises(InputError, match="2048 or 3072"):
        federate.PROTOCOL.judge(study_of(4))
    federate.PROTOCOL.judge(study_of(4, bits=2048))


# -- dummy users


def own_of(users: dict[str, dict[str, tuple[str, ...]]], name: str = GYM) -> OwnUsers:
    params, owns = owns_of(study_of(POPULATION), users)
    return owns[params.providers.index(name)]


def test_dummy_users_have_values_of_existing_users_of_their_group() -> None:
    own = own_of(some_users())
    group = np.arange(0, POPULATION, 2)
    rows, mine = own.rows(group, "01"), own.row[own.holding(group)]
    assert set(rows.tolist()) <= set(mine.tolist())
    real = own.row[group] >= 0
    assert np.array_equal(rows[real], own.row[group][real])


def test_a_second_run_makes_the_same_dummy_users_and_another_path_or_key_others() -> None:
    own, again = own_of(some_users()), own_of(some_users())
    group = np.arange(POPULATION)
    assert np.array_equal(own.rows(group, "0"), again.rows(group, "0"))
    assert not np.array_equal(own.rows(group, "0"), own.rows(group, "1"))
    other = OwnUsers.of(own.params, own.table, seed_of(99))
    assert not np.array_equal(own.rows(group, "0"), other.rows(group, "0"))
    assert not set(own.marks.tolist()) & set(other.marks.tolist())


def test_other_terms_make_the_same_dummy_users() -> None:
    users = some_users()
    group = np.arange(POPULATION)
    found = [
        owns_of(study_of(POPULATION, k=k, delta=delta), users)[1][0].rows(group, "")
        for k, delta in ((2, 0.9), (3, 0.9), (2, 0.8))
    ]
    assert all(np.array_equal(found[0], each) for each in found)


def test_one_user_more_changes_few_dummy_users() -> None:
    users = some_users(common=20)
    own = own_of(users)
    new = next(f"u{n}" for n in range(POPULATION) if f"u{n}" not in users[GYM])
    more = own_of({**users, GYM: {**users[GYM], new: ("3", "F")}})
    group = np.arange(POPULATION)
    before, after = own.rows(group, ""), more.rows(group, "")
    assert int((before != after).sum()) <= 8  # the new one, and those who have its values now


def test_dummy_values_follow_the_existing_users() -> None:
    """Over many groups every existing user is copied about as often as any other."""
    own = own_of(some_users())
    group = np.arange(POPULATION)
    dummies = own.row[group] < 0
    copied = np.bincount(np.concatenate([own.rows(group, format(n, "b"))[dummies] for n in range(300)]))
    expected = copied.mean()
    assert copied.min() > 0.6 * expected
    assert copied.max() < 1.5 * expected


# -- the cut


def test_candidates_are_quantiles_with_both_sides_and_the_most_even_first() -> None:
    params = Parameters.of(study_of(4, options="candidates = 4"))
    values = np.repeat(np.arange(10), 10)
    cuts = score.candidates(params, values)
    assert len(cuts) == 4
    assert ((cuts.upper > 0) & (cuts.upper < 100)).all()
    uneven = np.abs(100 - 2 * cuts.upper)
    assert (np.diff(uneven) >= 0).all()
    everything = score.candidates(dataclasses.replace(params, candidates=0), values)
    assert sorted(everything.codes.tolist()) == list(range(1, 10))


def test_a_group_of_one_value_has_no_candidates() -> None:
    assert len(score.candidates(Parameters.of(study_of(4)), np.full(7, 3))) == 0


def test_alpha_of_one_takes_the_median() -> None:
    users = some_users()
    params, owns = owns_of(study_of(POPULATION, options="alpha = 1\ncandidates = 0"), users)
    step, halves = turn(params, owns, Group("", np.arange(POPULATION)), lambda *_: True)
    assert step.candidates > 1
    assert halves is not None
    sizes = [len(half.members) for half in halves]
    assert sum(sizes) == POPULATION


# -- feasibility


def counts(common: int, extra: int, delta: str) -> bool:
    params = dataclasses.replace(Parameters.of(study_of(4)), delta=Fraction(delta))
    return not exceeds(params, common, common + extra)


def test_the_root_is_tested_too() -> None:
    assert not counts(1200, 600, "0.6")
    assert counts(1200, 600, "0.667")
    assert counts(1200, 1200, "0.5")


def infeasible() -> tuple[Study, dict[str, dict[str, tuple[str, ...]]]]:
    return study_of(POPULATION, delta=0.5, options="alpha = 1"), some_users(common=20, extra=10)


def lopsided(larger: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Nearly all users of one provider are common, and few of the other's."""
    users = some_users(common=20, extra=16)
    smaller = INSURER if larger == GYM else GYM
    kept = [uid for uid in users[smaller] if uid in users[larger]]
    return {larger: users[larger], smaller: {uid: users[smaller][uid] for uid in kept}}


@pytest.mark.few(3)
@pytest.mark.parametrize("schedule", ["level", "paper"])
@pytest.mark.parametrize(
    ("why", "k", "delta", "users"),
    [
        ("delta fails for both", 2, 0.5, some_users(common=20, extra=10)),
        ("delta fails for the insurer's users", 2, 0.9, lopsided(GYM)),
        ("delta fails for the gym's users", 2, 0.9, lopsided(INSURER)),
        ("fewer than k are common", 21, 0.9, some_users(common=20, extra=10)),
        ("k is above the population", 500, None, some_users(common=20, extra=10)),
    ],
)
def test_where_everyone_is_too_few_or_too_many_nothing_is_released_and_one_bit_is_said(
    why: str, k: int, delta: float | None, users: dict[str, dict[str, tuple[str, ...]]], schedule: str
) -> None:
    study = study_of(POPULATION, k=k, delta=delta, options=f'alpha = 1\nschedule = "{schedule}"')
    tables = tables_of(study, users)
    with pytest.raises(Unmet):
        federate.ideal(study, tables)
    trial = Trial(
        study, federate.PROTOCOL, {**tables, CURIOUS: None}, dict.fromkeys((GYM, INSURER, CURIOUS)), lambda *_: None
    )
    ends = run(trial)
    for name in (GYM, INSURER):
        error = ends[name].error
        assert isinstance(error, Unmet)
        assert error.exit_code == 1
        assert str(error) == INFEASIBLE
        assert not any(digit in str(error) for digit in "0123456789")
    error = ends[CURIOUS].error
    assert isinstance(error, Aborted) and error.exit_code == 1
    assert all(end.finished is None for end in ends.values())
    assert not any("divide/0" in line.step for line in lines(ends))


def test_an_exact_value_that_only_common_users_have_is_infeasible_in_the_end() -> None:
    """Groups are joined until one is left, and that one does not keep delta for the value either."""
    drawn = some_users(common=20, extra=10)
    ill = {uid: (*row[:2], "yes" if uid in drawn[GYM] else "no") for uid, row in drawn[INSURER].items()}
    users = {GYM: drawn[GYM], INSURER: ill}
    study = study_of(POPULATION, delta=0.9, options='alpha = 1\npresence = "sensitive"')
    tables = tables_of(study, users)
    with pytest.raises(Unmet, match="one class"):
        federate.ideal(study, tables)
    trial = Trial(
        study, federate.PROTOCOL, {**tables, CURIOUS: None}, dict.fromkeys((GYM, INSURER, CURIOUS)), lambda *_: None
    )
    ends = run(trial)
    assert isinstance(ends[GYM].error, Unmet)
    assert isinstance(ends[INSURER].error, Unmet)
    assert all(end.finished is None for end in ends.values())


def test_a_simulation_ends_with_exit_1_and_names_the_smallest_delta(tmp_path: Path) -> None:
    """A real run says one bit; a simulation has both tables anyway."""
    study, users = infeasible()
    (tmp_path / "population.csv").write_bytes(study.files["population.csv"])
    text = federate_cases._STUDY.format(k=2, delta="delta = 0.5", options="alpha = 1", bits=256)
    (tmp_path / "study.toml").write_text(text)
    call = ["simulate", str(tmp_path / "study.toml"), "--in-process", "--out", str(tmp_path / "out")]
    for name, own in users.items():
        columns = [column.name for column in study.held_by(name)]
        rows = [",".join((uid, *cells)) for uid, cells in own.items()]
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
        call += ["--data", f"{name}={tmp_path / name}.csv"]
    found = CliRunner().invoke(app, call)
    assert isinstance(found.exception, Unmet) or found.exit_code == 1
    said = str(found.exception) if isinstance(found.exception, Unmet) else found.output
    assert "delta must be 0.6667 or more" in said
    assert not list(tmp_path.rglob("release.csv"))


def test_the_trusted_party_names_the_smallest_delta() -> None:
    study, users = infeasible()
    with pytest.raises(Unmet, match=r"delta must be 0.6667 or more"):
        federate.ideal(study, tables_of(study, users))
    with pytest.raises(Unmet, match="fewer than k users are common"):
        federate.ideal(study_of(POPULATION, k=50), tables_of(study, users))


def test_the_smallest_delta_counts_exact_values_where_presence_does() -> None:
    """Half of either provider's users are common; but of the insurer's, all who are ill."""
    users: Users = {
        GYM: {f"u{n}": (str(n), "F") for n in (*range(6), *range(12, 18))},
        INSURER: {f"u{n}": ("1", "50", "yes" if n < 3 else "no") for n in range(12)},
    }
    study = study_of(18, delta=0.8)
    assert federate.ideal(study, tables_of(study, users)).release is not None
    study = study_of(18, delta=0.8, options='presence = "sensitive"')
    with pytest.raises(Unmet, match="delta must be 1 or more"):
        federate.ideal(study, tables_of(study, users))


def test_a_delta_of_just_the_roots_share_releases_everyone_as_one_class() -> None:
    study, users = study_of(POPULATION, delta=0.5, options="alpha = 1"), some_users(common=12, extra=12)
    found = federate.ideal(study, tables_of(study, users))
    assert found.figures is not None
    assert found.figures.rows == 12


@pytest.mark.parametrize(("delta", "counted"), [(0.33333, "3333/10000"), (0.99999, "9999/10000"), (0.25, "1/4")])
def test_a_delta_is_never_rounded_up(delta: float, counted: str) -> None:
    assert Parameters.of(study_of(POPULATION, delta=delta)).delta == Fraction(counted) <= Fraction(repr(delta))


def test_what_a_finely_written_delta_releases_is_what_the_judge_lets_pass() -> None:
    """A third of each provider's users are common: more than 0.33333 by a little."""
    users = some_users(common=12, extra=24)
    frames = {
        name: pa.table({"uid": list(own), **dict(zip(COLUMNS[name], zip(*own.values(), strict=True), strict=True))})
        for name, own in users.items()
    }

    def released(delta: float) -> pa.Table:
        study = study_of(POPULATION, delta=delta, options="alpha = 1")
        found = federate.ideal(study, tables_of(study, users)).release
        assert found is not None
        return found

    with pytest.raises(Unmet):
        released(0.33333)
    for asked, passes in ((0.33334, True), (0.33333, False)):
        verdict = verify(released(0.33334), study_of(POPULATION, delta=asked), providers=frames)
        assert verdict.answer is passes


# -- the release


@pytest.mark.parametrize("schedule", ["level", "paper"])
def test_without_a_delta_only_k_is_kept(schedule: str) -> None:
    options = f'alpha = 1\ncandidates = 2\nschedule = "{schedule}"'
    trial = trial_of(study_of(24, delta=None, options=options), draw_users(Rng(seed_of(8)).stream("k"), 24, 14, 2))
    assert answers(trial, run(trial)) == trial.ideal


@pytest.mark.parametrize("numbers", [[[-1, 5]], [[1 << 41, 0]], [[1, 0]]])
def test_numbers_that_no_honest_providers_send_are_not_released(numbers: list[list[int]]) -> None:
    params, owns = owns_of(study_of(POPULATION), some_users())
    boxes = [[own.box(np.arange(POPULATION))] for own in owns]
    with pytest.raises(Aborted, match="did not keep to the protocol"):
        release.result(params, boxes, np.array(numbers))
    assert release.result(params, boxes, np.array([[1, 4]])).release is not None


def test_every_class_keeps_k_and_delta_on_both_sides() -> None:
    for seed in range(6):
        params, owns = owns_of(study_of(POPULATION, k=3, delta=0.8), some_users(seed))
        division = divide(params, owns)
        assert sum(len(group.members) for group in division.leaves) == POPULATION
        assert keeps(params, owns, [group.members for group in division.leaves])


def test_exact_values_keep_delta_where_asked_for() -> None:
    users = some_users(3)
    params, owns = owns_of(study_of(POPULATION, options='presence = "sensitive"', delta=0.85), users)
    division = divide(params, owns)
    assert all(keeps_exactly(params, owns, group.members) for group in division.leaves)
    loose = divide(dataclasses.replace(params, sensitive=False), owns)
    assert any(not keeps_exactly(params, owns, group.members) for group in loose.leaves)


def test_the_recipient_alone_gets_the_release_and_figures() -> None:
    trial = trial_of(study_of(POPULATION), some_users())
    ends = run(trial)
    assert answers(trial, ends) == trial.ideal
    for name in (GYM, INSURER):
        finished = ends[name].finished
        assert finished is not None
        assert finished.release is None
    finished = ends[CURIOUS].finished
    assert finished is not None and finished.release is not None


@pytest.mark.thorough
def test_both_schedules_release_the_same() -> None:
    users = some_users(5, common=10, extra=6)
    found = [
        run(trial_of(study_of(POPULATION, options=f'schedule = "{schedule}"\ncandidates = 3'), users))
        for schedule in ("level", "paper")
    ]
    first, second = (ends[CURIOUS].finished for ends in found)
    assert first is not None and second is not None and first.release is not None
    assert first.release.equals(second.release)


def test_a_level_takes_the_same_number_of_messages_however_many_groups_it_has() -> None:
    ends = run(trial_of(study_of(POPULATION), some_users()))
    steps: dict[str, int] = {}
    for line in lines(ends):
        parts = line.step.split("/")
        if parts[:2] == ["federate", "divide"] and parts[2].isdigit():
            steps[parts[2]] = steps.get(parts[2], 0) + 1
    assert len(steps) >= 3
    assert max(steps.values()) <= 2 * (1 + 1 + 1 + 4 * 3 + 6 + 1) + 4


@pytest.mark.few(1)
@pytest.mark.parametrize("options", ['presence = "sensitive"', "alpha = 1", 'schedule = "paper"\ncandidates = 2'])
def test_a_run_says_what_its_script_declares_and_nothing_else(options: str) -> None:
    study = study_of(30, delta=0.95, options=options)
    trial = trial_of(study, draw_users(Rng(seed_of(7)).stream("script"), 30, 12, 6))
    said = lines(run(trial))
    assert strays(study, federate.PROTOCOL, said, finished=True) == []
    without = [line for line in said if line.tag != "federate.bit-key"]
    assert strays(study, federate.PROTOCOL, without, finished=True)
    moved = [dataclasses.replace(line, step="federate/meet") for line in said if line.tag == "federate.halves"]
    assert strays(study, federate.PROTOCOL, [*said, *moved], finished=True)


class Noting:
    """A ledger, a progress and a voter that note after how many messages of their party they were told what."""

    def __init__(self, channel: Channel) -> None:
        self.channel, self.told = channel, list[tuple[int, object]]()

    def phase(self, name: str, of: int = 1) -> None: ...

    def reach(self, done: int) -> None: ...

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        self.told.append((self.channel.tally.messages.total(), leakage))

    async def approve(self, proposal: Proposal) -> None:
        self.told.append((self.channel.tally.messages.total(), proposal.opens))


@pytest.mark.parametrize("schedule", ["level", "paper", "several"])
def test_everything_is_in_the_ledger_before_it_is_opened_and_the_release_is_approved(schedule: str) -> None:
    stream = Rng(seed_of(7)).stream("ledger")
    if schedule == "several":
        study = several_of(40, delta=0.95, options="candidates = 2")
        tables = tables_of(study, draw_several(stream, study, 12, 4, 1))
    else:
        study = study_of(24, options=f'candidates = 2\nschedule = "{schedule}"')
        tables = tables_of(study, draw_users(stream, 24, 12, 6))
    params, noted = Parameters.of(study), dict[str, Noting]()

    def role(name: str) -> Callable[[Channel], Awaitable[Result]]:
        def play(channel: Channel) -> Awaitable[Result]:
            book = noted[name] = Noting(channel)
            seat = Seat(study, tables.get(name), channel, book, book, book.approve, lasting_of(name))
            return federate.PROTOCOL.play(seat)

        return play

    outcomes = run_parties({name: role(name) for name in (*params.providers, CURIOUS)})
    for name, outcome in outcomes.items():
        outcome.unwrap()
        entries = [*outcome.notebook.sent_entries, *outcome.notebook.received_entries]
        steps = [entry.header.step for entry in entries if entry.header.step.startswith("federate")]
        by_root = sum(step.startswith(("federate/meet", "federate/enrol", "federate/divide/root")) for step in steps)
        before_release = sum(not step.startswith("federate/release") for step in steps)
        opening = leakage.of_release(params)
        assert noted[name].told == [
            (0, leakage.of_meeting(params)),
            *((0 if name == CURIOUS else by_root, leakage) for leakage in leakage.before(params)),
            (before_release, leakage.READY),
            (before_release, opening),
            (before_release, opening),
        ]


def test_the_recipient_waits_for_providers_as_long_as_they_live() -> None:
    """Hours of dividing; no message is due from the providers, and the recipient's patience is not for that."""
    study = study_of(24)

    async def provider(channel: Channel) -> Result:
        await asyncio.sleep(30_000)
        await channel.at("federate", "ready").send(CURIOUS, ClassCount(3))
        return Result()

    books: list[Noting] = []

    async def recipient(channel: Channel) -> Result:
        books.append(book := Noting(channel))
        return await federate.recipient(Seat(study, None, channel, book, book, book.approve, seed_of(1)))

    roles = {GYM: provider, INSURER: provider, CURIOUS: recipient}
    run_parties(roles, silence=1e6, patience=600)  # it ends when the providers, who say no more, leave
    assert (2, leakage.READY) in books[0].told


def test_with_alpha_of_one_no_number_of_users_is_told() -> None:
    ends = run(trial_of(study_of(POPULATION, options="alpha = 1"), some_users()))
    tags = {line.tag for line in lines(ends)}
    assert "federate.above" not in tags
    assert "federate.scores" not in tags


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, dict[str, Table]]:
    folder = samples.copy("providers", tmp_path_factory.mktemp("plan") / "sample")
    study = Study.load(folder / "study.toml")
    tables = {party.name: load_table(study, party.name, str(folder / f"{party.name}.csv")) for party in study.holders}
    return study, {name: table for name, table in tables.items() if table is not None}


@pytest.mark.parametrize(("k", "delta"), [(2, 0.75), (20, None)])
def test_the_plan_is_near_what_a_run_on_the_sample_says(
    sample: tuple[Study, dict[str, Table]], k: int, delta: float | None
) -> None:
    """Rounds, messages and bytes of the course that a run takes, which other tests hold to be the run's."""
    study, tables = sample
    study = dataclasses.replace(study, privacy=dataclasses.replace(study.privacy, k=k, delta=delta))
    params = Parameters.of(study)
    owns = [OwnUsers.of(params, tables[name], lasting_of(name)) for name in params.providers]
    division = divide(params, owns)
    taken = cost.of_run(params, division, 12 * len(division.leaves) * len(study.quasi))
    forecast = cost.foresee(study, {name: table.rows for name, table in tables.items()})
    assert 0.5 < forecast.rounds / taken.rounds < 2
    assert 0.5 < forecast.messages / taken.messages < 2
    assert 0.5 < forecast.bytes / taken.bytes < 2
    assert all(federate.PROTOCOL.learned(study, forecast.lessons)[name] for name in ("gym", "insurer", "researcher"))


def test_the_plan_counts_every_number_of_the_release_and_longer_keys(sample: tuple[Study, dict[str, Table]]) -> None:
    """Seconds are measured by a benchmark; here only that what makes a run long makes the plan long."""
    study, tables = sample
    rows = {name: table.rows for name, table in tables.items()}
    usual = cost.foresee(study, rows).seconds
    columns = tuple(
        dataclasses.replace(
            column, role=Role.SENSITIVE, hierarchy=None, values=tuple(f"v{number}" for number in range(2300))
        )
        if column.name == "diagnosis"
        else column
        for column in study.columns
    )
    assert cost.foresee(dataclasses.replace(study, columns=columns), rows).seconds > 3 * usual
    longer = dataclasses.replace(study, options={**study.options, "bits": 3072})
    assert cost.foresee(longer, rows).seconds > 1.3 * usual
    alone = dataclasses.replace(study, options={**study.options, "alpha": 1})
    assert cost.foresee(alone, rows).seconds < usual
