"""`federate` among three providers and four: delta toward every set of them, what is refused, and what is told when."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.federate_cases import CURIOUS, GYM, INSURER, Users, owns_of, tables_of, trial_of
from tests.harness.harness import answers, lines, run
from tests.harness.network import seed_of
from tests.harness.several_cases import BANK, SCHOOL, draw_several, names_of, several_of, text_of
from tests.harness.tiers import examples
from tests.harness.trial import Trial

from covey.crypto.rng import Rng
from covey.errors import InputError, Unmet
from covey.judge import verify
from covey.party.audit.script import strays
from covey.protocols.as_printed import federate
from covey.protocols.as_printed.federate import cost, leakage
from covey.protocols.as_printed.federate.groups import INFEASIBLE
from covey.protocols.as_printed.federate.ideal import divide, keeps
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.study import Study

Rows = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By provider and id, the cells by column."""


def some(providers: int = 3, seed: int = 1, common: int = 24, missed: int = 5, alone: int = 2) -> tuple[Study, Users]:
    study = several_of(80, providers, delta=0.9)
    return study, draw_several(Rng(seed_of(seed)).stream("some"), study, common, missed, alone)


# -- delta toward every set of providers


def covers(label: str, value: str) -> bool:
    """Reads a released label by itself: all, an interval with its ends, or a value."""
    if label == "*":
        return True
    if label.startswith("["):
        low, high = (float(end) for end in label.strip("[]").split(","))
        return low <= float(value) <= high
    return label == value


def cells_of(study: Study, users: Users) -> Rows:
    columns = {name: [column.name for column in study.held_by(name)[1:]] for name in users}
    return {
        name: {uid: dict(zip(columns[name], row, strict=True)) for uid, row in own.items()}
        for name, own in users.items()
    }


def shares(rows: Rows, release: pa.Table, quasi: set[str]) -> Iterator[tuple[tuple[str, ...], float]]:
    """By every set of providers that is not all: each share of the users that they have in common behind labels."""
    released = release.to_pylist()
    for size in range(1, len(rows)):
        for names in combinations(rows, size):
            both = set.intersection(*(set(rows[name]) for name in names))
            known = [{key: cell for name in names for key, cell in rows[name][uid].items()} for uid in both]
            columns = [column for column in known[0] if column in quasi] if known else []
            for width in range(1, len(columns) + 1):
                for chosen in combinations(columns, width):
                    for labels in {tuple(row[column] for column in chosen) for row in released}:
                        out = sum(tuple(row[column] for column in chosen) == labels for row in released)
                        behind = sum(all(map(covers, labels, (user[c] for c in chosen))) for user in known)
                        yield names, out / behind if behind else np.inf


@pytest.mark.parametrize(("providers", "delta", "missed", "seed"), [(3, 0.85, 12, 4), (3, 0.9, 8, 1), (4, 0.9, 8, 6)])
def test_a_release_keeps_delta_toward_every_set_of_providers(
    providers: int, delta: float, missed: int, seed: int
) -> None:
    """By the definition, from the released rows and the providers' tables alone.

    With tests of single providers, these users' releases show some of two or three providers' users for certain.
    """
    study = several_of(140, providers, delta=delta)
    alone = 16 if providers == 3 else 14
    users = draw_several(Rng(seed_of(seed)).stream("every set"), study, 30, missed, alone)
    found = federate.ideal(study, tables_of(study, users))
    assert found.release is not None and found.figures is not None
    assert found.figures.classes > 1, "or the test is about nothing"
    quasi = {column.name for column in study.quasi}
    worst: dict[tuple[str, ...], float] = {}
    for names, share in shares(cells_of(study, users), found.release, quasi):
        worst[names] = max(share, worst.get(names, 0.0))
    assert len(worst) == 2**providers - 2
    assert max(worst.values()) <= delta
    assert max(share for names, share in worst.items() if len(names) > 1) > max(
        share for names, share in worst.items() if len(names) == 1
    ), "those who put their lists side by side are nearest to the limit"


def colluding() -> tuple[Study, Users]:
    """Of each provider's users a third is common; but whoever is the gym's and the school's is common."""
    study = several_of(80, delta=0.8, options="alpha = 1")
    drawn = draw_several(Rng(seed_of(4)).stream("colluding"), study, 12, 6, 12)
    common = set.intersection(*(set(own) for own in drawn.values()))
    users = {name: dict(own) for name, own in drawn.items()}
    for uid in set(users[GYM]) & set(users[SCHOOL]) - common:
        del users[GYM][uid]
    return study, users


def test_a_share_that_only_two_providers_together_find_ends_the_run() -> None:
    """Toward each provider alone delta would hold: a test of single providers releases what two of them then read."""
    study, users = colluding()
    params, owns = owns_of(study, users)
    common = set.intersection(*(set(own) for own in users.values()))
    assert all(len(common) <= 0.8 * len(own) for own in users.values())
    assert common == set(users[GYM]) & set(users[SCHOOL])
    assert not keeps(params, owns, [np.arange(80)])
    tables = tables_of(study, users)
    with pytest.raises(Unmet, match="delta must be 1 or more"):
        federate.ideal(study, tables)
    names = (*names_of(3), CURIOUS)
    trial = Trial(study, federate.PROTOCOL, {**tables, CURIOUS: None}, dict.fromkeys(names), lambda *_: None)
    ends = run(trial)
    for name in names_of(3):
        assert isinstance(ends[name].error, Unmet)
        assert str(ends[name].error) == INFEASIBLE
    assert all(end.finished is None for end in ends.values())


members = st.lists(st.sets(st.integers(0, 11)), min_size=3, max_size=5)


@given(members, st.integers(1, 3), st.fractions(0, 1, max_denominator=12).filter(bool))
@settings(max_examples=examples(60), deadline=None)
def test_leaving_out_one_provider_at_a_time_is_as_strict_as_every_set(
    has: list[set[int]], k: int, delta: object
) -> None:
    """Of sets of numbers: the shares that `keeps` looks at are the largest of all."""
    common = len(set.intersection(*has))

    def share(names: tuple[int, ...]) -> float:
        both = len(set.intersection(*(has[name] for name in names)))
        return common / both if both else (np.inf if common else 0.0)

    every = [share(names) for size in range(1, len(has)) for names in combinations(range(len(has)), size)]
    one_out = [share(names) for names in combinations(range(len(has)), len(has) - 1)]
    assert max(every) == max(one_out)


@given(st.integers(0, 10_000), st.sampled_from([3, 4]), st.sampled_from(["candidates = 3", "alpha = 1"]))
@settings(max_examples=examples(3), deadline=None)
def test_real_equals_ideal_on_generated_users(seed: int, providers: int, options: str) -> None:
    stream = Rng(seed_of(seed)).stream("generated")
    study = several_of(30, providers, delta=0.99, options=options, exact=seed % 2 == 0)
    users = draw_several(stream, study, 4 + stream.below(5), 1 + stream.below(3), stream.below(3))
    trial = trial_of(study, users)
    assert answers(trial, run(trial, seed=seed)) == trial.ideal


def test_exact_values_keep_delta_toward_those_who_know_them() -> None:
    study = several_of(80, delta=0.9, options='presence = "sensitive"')
    users = draw_several(Rng(seed_of(6)).stream("exact"), study, 24, 10, 2)
    params, owns = owns_of(study, users)
    rows = cells_of(study, users)
    division = divide(params, owns)
    for group in division.leaves:
        here = {params.population[member] for member in group.members.tolist()}
        for other in (GYM, SCHOOL):
            for ill in ("no", "yes"):
                known = {
                    uid for uid in set(rows[other]) & set(rows[INSURER]) & here if rows[INSURER][uid]["ill"] == ill
                }
                out = known & set(rows[GYM]) & set(rows[SCHOOL])
                assert len(out) <= 0.9 * len(known)
    loose = divide(dataclasses.replace(params, sensitive=False), owns)
    assert len(loose.leaves) > len(division.leaves), "or the test is about nothing"


# -- the judge


def test_the_judge_counts_providers_together_from_their_own_tables() -> None:
    study, users = some(3)
    found = federate.ideal(study, tables_of(study, users))
    assert found.release is not None
    rows = cells_of(study, users)
    frames = {
        name: pa.Table.from_pylist([{"uid": uid, **row} for uid, row in own.items()]) for name, own in rows.items()
    }
    verdict = verify(found.release, study, providers=frames)
    assert verdict.answer
    quasi = {column.name for column in study.quasi}
    worst: dict[str, float] = {}
    for names, share in shares(rows, found.release, quasi):
        spelled = "delta for " + " and ".join(map(repr, names))
        worst[spelled] = max(share, worst.get(spelled, 0.0))
    said = {each.name: each.reached for each in verdict.requirements if each.name.startswith("delta")}
    assert said == pytest.approx(worst)
    strict = dataclasses.replace(study, privacy=dataclasses.replace(study.privacy, delta=0.6))
    assert not verify(found.release, strict, providers=frames).answer


# -- the study


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("alpha = 0.5", 'schedule = "paper"', "is for two providers"),
        ('[columns.grade]\nrole = "quasi"', '[columns.grade]\nrole = "plain"', "published as they are"),
        ('[parties.researcher]\nrole = "recipient"\n', "", "recipient"),
    ],
)
def test_what_several_providers_cannot_run_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    text = text_of(3, options="alpha = 0.5")
    assert old in text
    (tmp_path / "population.csv").write_text("u0\nu1\n")
    with pytest.raises(InputError, match=reason):
        federate.PROTOCOL.judge(Study.parse(text.replace(old, new), tmp_path))


def test_more_marks_of_exact_values_than_can_be_shared_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.protocols.as_printed.federate.parameters.MOST_MARKS", 100)
    Parameters.of(several_of(50))
    with pytest.raises(InputError, match="2 combinations of exact values and 51 people"):
        Parameters.of(several_of(51))
    Parameters.of(several_of(51, exact=False))


def test_the_provider_with_exact_columns_is_the_last_one() -> None:
    assert Parameters.of(several_of(12, 4)).providers == (GYM, SCHOOL, BANK, INSURER)
    assert Parameters.of(several_of(12, 4)).second == INSURER


# -- the run


@pytest.mark.few(1)
@pytest.mark.parametrize("options", ['presence = "sensitive"', "alpha = 1"])
def test_a_run_says_what_its_script_declares_and_nothing_else(options: str) -> None:
    study = several_of(40, delta=0.95, options=options)
    said = lines(run(trial_of(study, draw_several(Rng(seed_of(9)).stream("script"), study, 12, 6, 1))))
    assert strays(study, federate.PROTOCOL, said, finished=True) == []
    moved = [dataclasses.replace(line, step="federate/enrol/bits") for line in said if line.tag == "federate.halves"]
    assert moved
    assert strays(study, federate.PROTOCOL, [*said, *moved], finished=True)


def test_with_alpha_of_one_no_number_of_users_is_told() -> None:
    study = several_of(40, delta=0.95, options="alpha = 1")
    said = lines(run(trial_of(study, draw_several(Rng(seed_of(8)).stream("alone"), study, 12, 4, 1))))
    steps = {line.step.rsplit("/", 1)[-1] for line in said}
    assert "chosen" in steps
    assert not steps & {"upper", "users", "scores", "best"}


def test_the_ledger_of_several_says_who_must_not_pool_what() -> None:
    params = Parameters.of(several_of(40))
    parts = [leakage.of_meeting(params), *leakage.before(params)]
    told = " ".join(line for part in parts for line in part.sentences("provider"))
    assert "as long as fewer than half of the providers pool their shares" in told
    assert "delta toward every set of providers" in told
    assert "the other provider" not in told


@pytest.mark.parametrize("providers", [3, 4])
def test_the_plan_is_near_what_a_run_says(providers: int) -> None:
    study = several_of(400, providers, k=3, delta=0.9)
    users = draw_several(Rng(seed_of(9)).stream("plan"), study, 100, 40, 20)
    params, owns = owns_of(study, users)
    division = divide(params, owns)
    taken = cost.of_run(params, division, 12 * len(division.leaves) * len(study.quasi))
    forecast = cost.foresee(study, {name: len(own) for name, own in users.items()})
    assert 0.4 < forecast.rounds / taken.rounds < 2.5
    assert 0.4 < forecast.bytes / taken.bytes < 2.5
    learned = federate.PROTOCOL.learned(study, forecast.lessons)
    assert all(learned[name] for name in (*names_of(providers), CURIOUS))
    assert any("every set of providers" in line for line in learned[GYM])
