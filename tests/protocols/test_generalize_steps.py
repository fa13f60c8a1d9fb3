"""The small steps of `generalize`: who is counted, who rises, what the release's figures say, whom a party believes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.harness.generalize_cases import Person, draw_people, stream_of, study_of, tables_of, trial_of
from tests.harness.harness import answers, run
from tests.harness.parties import run_parties

from covey import measures
from covey.errors import PeerError, Unmet
from covey.protocols.as_printed.generalize import ideal, role, rounds
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import GroupNumbers
from covey.protocols.shared.columns import release
from covey.study import Study
from covey.wire import Channel

# -- own columns


def a_local(people: list[Person], **asked: object) -> Generalization:
    """The clinic's own columns (age, sex), every value as it is."""
    study = study_of(**asked)  # type: ignore[arg-type]
    table = tables_of(study, {f"P{n}": person for n, person in enumerate(people)})["clinic"]
    start = np.zeros((2, len(people)), dtype=np.int64)
    return Generalization(table.trees, table.codes, (1.0, 1.0), start, np.ones(len(people), dtype=bool))


AGES: list[Person] = [(age, "F", "flu", 0, "a") for age in (0, 2, 4, 6)] + [(15, "M", "flu", 0, "a")] * 2


def test_only_who_is_in_the_pool_counts_and_rises() -> None:
    own = a_local(AGES)
    assert own.most_distinct() == (0, 5 * 1024)
    own.settle(np.array([True, True, True, False, False, False]))
    assert own.pool.tolist() == [False] * 3 + [True] * 3
    assert own.most_distinct() == (1, 2 * 1024)  # F and M; a tie with age, which goes to the last
    assert own.groups().tolist() == [0, 1, 1]
    assert own.step()
    assert own.levels.tolist() == [[0] * 6, [0, 0, 0, 1, 1, 1]]
    own.settle(np.array([True, False, False]))
    assert own.pool.tolist() == [False] * 4 + [True] * 2
    own.settle(np.array([True, True]))
    assert own.most_distinct() == (-1, 0)


def test_of_several_levels_the_lowest_rises() -> None:
    own = a_local(AGES)
    own.levels[0] = [0, 0, 1, 1, 2, 2]
    assert own.step()
    assert own.levels[0].tolist() == [1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("name", ["hilbert", "mondrian", "peel"])
def test_whom_the_local_anonymizer_suppresses_the_study_need_not_allow(name: str) -> None:
    """Whoever starts at the roots is not lost by that: how much is suppressed is seen at the end."""
    for seed in range(4):
        study = replace(study_of(k=4, options=f'local = "{name}"'), suppression=0.0)
        table = tables_of(study, draw_people(stream_of(seed, "suppressed"), 19))["clinic"]
        assert np.bincount(Generalization.of(table, Parameters.of(study)).groups()).min() >= 4


def test_the_cap_is_one_more_than_all_levels() -> None:
    study = study_of()
    assert Parameters.of(study).cap == 1 + sum(column.tree().height for column in study.quasi)


# -- figures


def opened_of(study: Study) -> release.ReleasedRows:
    """Three classes: as it is, with two columns at the root, and with all of them."""
    roots = [column.tree().root for column in study.quasi]
    nodes = np.array([[0, 0, 0, 0], [0, 0, roots[2], roots[3]], roots], dtype=np.int32)
    klass = np.repeat([0, 1, 2], [4, 3, 3])
    return release.ReleasedRows(klass, nodes, {"ill": ["flu"] * 10})


def test_who_is_withheld_counts_as_lost_in_every_figure() -> None:
    study = study_of(k=3)
    whole, less = (release.result(study, opened_of(study), withheld=withheld).figures for withheld in (0, 2))
    assert whole is not None
    assert less is not None
    assert (whole.rows, whole.withheld, less.rows, less.withheld) == (10, 0, 10, 2)
    assert whole.loss["lm"] == pytest.approx((3 * 2 / 4 + 3) / 10)
    assert less.loss["lm"] == pytest.approx((3 * 2 / 4 + 3 + 2) / 12)
    sizes = np.array([4, 3, 3])
    assert whole.loss["dm"] == measures.discernibility(sizes)
    assert less.loss["dm"] == measures.discernibility(sizes, 2) > measures.discernibility(sizes)


@pytest.mark.parametrize(("withheld", "allowed"), [(0, 0.3), (2, 5 / 12)])
def test_suppressed_are_those_at_all_roots_and_those_withheld(withheld: int, allowed: float) -> None:
    study = study_of(k=3)
    release.result(replace(study, suppression=allowed), opened_of(study), withheld=withheld)
    with pytest.raises(Unmet, match=rf"{3 + withheld} of {10 + withheld} records would be suppressed"):
        release.result(replace(study, suppression=allowed - 0.01), opened_of(study), withheld=withheld)


def test_the_loss_that_is_told_beforehand_counts_the_withheld_wholly() -> None:
    own = a_local(AGES)
    own.pool[:] = False
    assert role.lost_parts(own) == 0
    own.pool[:2] = True
    assert role.lost_parts(own) == 2 * 2 * role.UNIT


# -- rounds


def left_over() -> dict[str, Person]:
    """Six alike at both parties, and two who share neither age nor bill with anyone: fewer than k to the end."""
    people: dict[str, Person] = {f"P{n}": (1, "F", "flu", 1, "a") for n in range(6)}
    people |= {f"Q{n}": (15, "M", "none", 1, "a") for n in range(3)}
    people |= {f"R{n}": (1, "F", "none", 15, "b") for n in range(3)}
    return people | {"S": (15, "M", "none", 15, "b")}


def test_who_is_left_over_with_finished_cells_is_withheld_in_a_run_too() -> None:
    study = study_of(k=3, options='variant = "finished-cells"')
    tables = tables_of(study, left_over())
    figures = ideal.ideal(study, tables).figures
    assert figures is not None
    assert (figures.rows, figures.withheld) == (12, 1)
    trial = trial_of(study, tables)
    assert answers(trial, run(trial)) == trial.ideal
    assert ideal.follow(Parameters.of(study), tables).withheld.sum() == 1


def test_a_single_group_does_not_decide_while_others_are_small() -> None:
    """After a round with finished cells the rest may be alike at one party, and too few of a kind at the other."""
    people: dict[str, Person] = {f"P{n}": (1, "F", "flu", 1, "a") for n in range(5)}
    people |= {f"Q{n}": (1, "F", "flu", 15, "a") for n in range(3)}
    people |= {"R0": (15, "F", "none", 1, "a"), "R1": (15, "F", "none", 15, "a"), "R2": (15, "F", "none", 15, "a")}
    study = study_of(k=3, options='variant = "finished-cells"')
    tables = tables_of(study, people)
    clear = ideal.follow(Parameters.of(study), tables)
    assert [found.groups for found in clear.rounds][:2] == [(2, 2), (1, 2)]
    trial = trial_of(study, tables)
    assert answers(trial, run(trial)) == trial.ideal


def test_the_party_with_fewer_groups_encrypts_and_the_observer_where_both_have_as_many() -> None:
    parameters = Parameters.of(study_of())
    assert (parameters.observer, parameters.partner) == ("clinic", "billing")
    encryptors = [rounds.encryptor_of(parameters, groups) for groups in ((2, 3), (3, 2), (2, 2))]
    assert encryptors == ["clinic", "billing", "clinic"]


def test_a_tie_between_the_parties_goes_to_the_partner() -> None:
    assert rounds.observer_moves(7, 6)
    assert not rounds.observer_moves(6, 7)
    assert not rounds.observer_moves(7, 7)


@pytest.mark.parametrize("options", ["", 'variant = "finished-cells"'])
def test_more_groups_than_can_have_k_people_are_refused_in_the_first_round_of_every_variant(options: str) -> None:
    study = study_of(k=3, options=options)
    parameters = Parameters.of(study)
    tables = tables_of(study, draw_people(stream_of(2), 30))

    def fair() -> Callable[[Channel], Awaitable[object]]:
        async def play(channel: Channel) -> object:
            ids = [b"%02d" % number for number in range(30)]
            return await rounds.agree(
                channel, parameters, Generalization.of(tables["clinic"], parameters), ids, lambda done: None
            )

        return play

    async def liar(channel: Channel) -> object:
        await channel.at("round", 1, "shape").exchange(GroupNumbers(30, 11))
        return await channel.at("until the end").receive("clinic", GroupNumbers)

    error = run_parties({"clinic": fair(), "billing": liar})["clinic"].error
    assert isinstance(error, PeerError)
    assert "11 groups of 30 people; each is to have 3 or more" in str(error)
