"""Cluster with columns split: what it releases, what each step may not do, and whom it refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.harness.columns_cases import THREE, TWO, draw_people, stream_of, study_of, tables_of, trial_of
from tests.harness.harness import answers, run, spent
from tests.harness.parties import run_parties
from tests.harness.trial import Trial

from covey.arrays import Longs
from covey.crypto.rng import Rng
from covey.errors import Aborted, CoveyError, InputError, PeerError, StudyError, Unmet
from covey.judge import verify
from covey.protocols import find, of_study
from covey.protocols.as_printed.cluster_columns import argmin, ideal
from covey.protocols.as_printed.cluster_columns.algorithm import search
from covey.protocols.as_printed.cluster_columns.clustering import Clustering
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns, row_starts
from covey.protocols.as_printed.cluster_columns.parameters import CAP, Parameters
from covey.protocols.as_printed.cluster_columns.questions import Decision, row_argmin
from covey.protocols.as_printed.cluster_columns.randomness import public_draws
from covey.protocols.as_printed.cluster_columns.role import add_up_figures, decide
from covey.protocols.protocol import Figures
from covey.protocols.shared.columns import meeting, ownership, parts, release
from covey.secure import book
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.wire import Channel

FOUR = {"clinic": ("ill",), "home": ("age", "sex"), "insurer": ("stay",), "office": ("income",)}


def release_of(trial: Trial) -> object:
    finished = next(iter(run(trial).values())).finished
    assert finished is not None and finished.release is not None
    return finished.release


# -- what comes out


@pytest.mark.few(2)
@pytest.mark.parametrize("split", [TWO, THREE, FOUR], ids=["two", "three", "four"])
def test_any_number_of_holders_release_what_a_trusted_party_would(split: Mapping[str, tuple[str, ...]]) -> None:
    study = study_of(split, k=4)
    trial = trial_of(study, draw_people(stream_of(1, "any"), 90))
    assert answers(trial, run(trial)) == trial.ideal


def test_the_split_of_columns_does_not_change_the_release_much() -> None:
    """Prices are rounded the same whoever has a column: two, three and four holders find the same classes."""
    people = draw_people(stream_of(2, "split"), 120)
    losses = [
        find("cluster", "vertical").ideal(study, tables_of(study, people)).figures
        for study in map(study_of, (TWO, THREE, FOUR))
    ]
    lm = [float(figures.loss["lm"] or 0) for figures in losses if figures is not None]
    assert max(lm) < 1.15 * min(lm)


def test_every_class_keeps_k_and_l() -> None:
    study = study_of(THREE, k=4, privacy="l = 2")
    trial = trial_of(study, draw_people(stream_of(3, "diverse"), 150))
    verdict = verify(release_of(trial), study)  # type: ignore[arg-type]
    assert verdict.answer, verdict.sentence()


def test_l_that_all_records_together_do_not_reach_is_refused_with_what_would_be() -> None:
    people = [
        (*person[:4], "flu" if place % 3 else "none") for place, person in enumerate(draw_people(stream_of(4), 30))
    ]
    study = study_of(privacy="l = 2")
    with pytest.raises(Unmet, match=r"l = 2 cannot be kept: all common records together reach 1\.5"):
        trial_of(study, people)
    ends = run(Trial(study, find("cluster", "vertical"), tables_of(study, people), {}, lambda name, finished: None))
    assert "l = 2 cannot be kept" in str(ends["clinic"].error)


def test_exact_values_of_two_holders_are_permuted_within_each_class() -> None:
    people = draw_people(stream_of(6, "two"), 60)
    study = study_of(k=6, note="office")
    trial = trial_of(study, people)
    ends = run(trial)
    assert answers(trial, ends) == trial.ideal
    finished = ends["clinic"].finished
    assert finished is not None and finished.release is not None
    together = set(zip(finished.release["ill"].to_pylist(), finished.release["note"].to_pylist(), strict=True))
    true = {(person[4], f"note {place}") for place, person in enumerate(people)}
    assert len(together & true) < 0.7 * len(people)
    assert {note for _, note in together} == {note for _, note in true}


def test_the_loss_is_that_of_centralized_sequential_clustering() -> None:
    from covey.anonymizers import anonymize
    from covey.anonymizers.build import build
    from covey.party.session.data import load_table

    people = draw_people(stream_of(8, "loss"), 900)
    study = study_of(THREE, k=6)
    ours = find("cluster", "vertical").ideal(study, tables_of(study, people)).figures
    whole = replace(study, protocol=None, partition=None, parties=(replace(study.parties[0], columns=None),))
    frames = {"id": [str(place) for place in range(900)]}
    for place, name in enumerate(("age", "sex", "income", "stay", "ill")):
        frames[name] = [str(person[place]) for person in people]
    import pyarrow as pa

    table = load_table(whole, study.parties[0].name, pa.table(frames))
    assert table is not None and ours is not None
    problem = build(table).problem
    central = float(np.mean([anonymize(problem, "sequential", seed=seed).loss(problem) for seed in range(3)]))
    assert float(ours.loss["lm"] or 0) < 1.15 * central


@pytest.mark.few(1)
@pytest.mark.parametrize("split", [TWO, THREE], ids=["two", "three"])
def test_the_plan_foresees_what_a_run_costs(split: Mapping[str, tuple[str, ...]]) -> None:
    study = study_of(split, k=5)
    rows = 900
    forecast = find("cluster", "vertical").foresee(study, dict.fromkeys(split, rows))
    real = spent(run(trial_of(study, draw_people(stream_of(9, "plan"), rows))))
    for foreseen, was in (
        (forecast.rounds, real.rounds),
        (forecast.messages, real.messages),
        (forecast.bytes, real.bytes),
    ):
        assert was / 2.5 < foreseen < 2.5 * was


# -- the search


def owners(study: Study, count: int, seed: int) -> tuple[dict[str, OwnColumns], Rng]:
    tables = meeting.common_rows(study, tables_of(study, draw_people(stream_of(seed, "search"), count)))
    parameters = Parameters.of(study)
    return {name: OwnColumns.of(parameters, table, name) for name, table in tables.items()}, public_draws(["x"])


def total_cost(own: Mapping[str, OwnColumns]) -> int:
    """What all clusters cost, all holders together."""
    return sum(int((part.state.cost * part.state.size).sum()) for part in own.values() if part.state is not None)


def test_every_move_of_a_batch_lowers_the_cost_by_exactly_what_was_computed() -> None:
    own, drawn = owners(study_of(THREE, k=6), 120, 1)
    label = drawn.stream("start").words_below(20, 120).astype(np.int64)
    run_of = Clustering.of(label, 6, drawn)
    run_of.begin()
    for part in own.values():
        part.group(run_of.label)
    moves = 0
    while (batch := run_of.next_batch()) is not None:
        shares = [part.prices(batch.records, batch.starts, batch.candidates) for part in own.values()]
        total = argmin.add_up(shares).astype(np.int64)
        places = row_argmin(batch.starts, total.astype(np.uint32))
        price = {int(record): int(total[start + place] - total[start] % CAP) for record, start, place in
                 zip(batch.records, batch.starts[:-1], places, strict=True)}  # fmt: skip
        for record, target in run_of.accept(batch, batch.candidates[batch.starts[:-1] + places]):
            before = total_cost(own)
            for part in own.values():
                part.move(record, target)
            assert total_cost(own) - before == price[record]
            moves += 1
    assert moves > 50


def test_looking_only_at_what_has_changed_changes_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched() -> Longs:
        own, _ = owners(study_of(k=5), 150, 2)
        return ideal.play({name: search(part, public_draws(["x"]), public_draws(["x"])) for name, part in own.items()})

    quick = searched()

    def everything(self: Clustering, records: Longs, alive: Longs) -> tuple[Longs, Longs]:
        rows = [np.concatenate([[self.label[record]], alive[alive != self.label[record]]]) for record in records]
        return np.full(len(records), len(alive)), np.concatenate(rows)

    monkeypatch.setattr(Clustering, "compare", everything)
    assert np.array_equal(searched(), quick)


def test_a_batch_touches_no_cluster_twice_and_puts_the_rest_off() -> None:
    run_of = Clustering(np.repeat(np.arange(4), 5), 4, np.arange(20))
    run_of.begin()
    batch = run_of.next_batch()
    assert batch is not None and len(batch.records) == 20
    made = list(run_of.accept(batch, np.where(run_of.label[batch.records] == 3, 3, 3)))
    assert len(made) == 1
    late = run_of.waiting
    assert len(late) == 14  # five of cluster 3 stay, one of the others has moved


# -- who adds up


@pytest.mark.parametrize("reply", [[3, 0], [0, 2**32 - 1], [0], [0, 0, 0], []])
def test_a_place_that_no_row_has_is_refused_by_name(reply: list[int]) -> None:
    parameters = Parameters.of(study_of())
    starts, shares = row_starts([3, 3]), np.arange(6, dtype=np.uint32)

    async def role(channel: Channel) -> object:
        at = channel.at("ask")
        if channel.me != parameters.pivot:
            return await argmin.argmin(at, parameters, starts, shares)
        await argmin.receive(at, "office", argmin.Shared, 6)
        await at.send("office", argmin.Chosen(np.array(reply, dtype="<u4").tobytes()))
        return None

    error = run_parties(dict.fromkeys(parameters.holders, role))["office"].error
    assert isinstance(error, PeerError) and error.party == "clinic" and error.step == "ask"


def test_a_label_beyond_its_bound_is_refused_by_name() -> None:
    parameters = Parameters.of(study_of())

    async def role(channel: Channel) -> object:
        mine = np.array([0, 700]) if channel.me == "clinic" else None
        return await decide(channel.at("say"), parameters, Decision(2, 600, mine))

    error = run_parties(dict.fromkeys(("clinic", "office"), role))["office"].error
    assert isinstance(error, PeerError) and error.party == "clinic"


def said_by(role: Callable[[Channel], Awaitable[object]]) -> CoveyError | None:
    """How the office fared."""
    return run_parties(dict.fromkeys(("clinic", "office"), role))["office"].error


@pytest.mark.parametrize("raw", [b"\x00", b"\x00\x00\x00"])
def test_more_or_fewer_numbers_than_are_due_are_refused_by_name(raw: bytes) -> None:
    async def role(channel: Channel) -> object:
        if channel.me == "clinic":
            await channel.at("say").send("office", parts.DecidedNumbers(raw))
            return None
        return await parts.receive_numbers(channel.at("say"), "clinic", 2, 200)

    error = said_by(role)
    assert isinstance(error, PeerError)
    assert error.party == "clinic"
    assert "bytes, expected 2" in str(error)


KNOWN = Figures(rows=4, classes=2, k_reached=2)


@pytest.mark.parametrize(
    ("announced", "sizes", "node", "codes", "reason"),
    [
        ((3, 2), [2, 2], 0, [0, 1, 0, 1], "announces 3 classes"),
        ((2, 5), [2, 2], 0, [0, 1, 0, 1], "classes of 5 exact rows"),
        ((2, 2), [2, 3], 0, [0, 1, 0, 1], "have 5 rows, 4 were counted"),
        ((2, 2), [2, 2], 999, [0, 1, 0, 1], "none of its hierarchy"),
        ((2, 2), [2, 2], 0, [0, 1, 0, 2], "not in its book"),
    ],
)
def test_a_part_of_the_release_that_is_none_is_refused_by_name(
    announced: tuple[int, int], sizes: list[int], node: int, codes: list[int], reason: str
) -> None:
    parameters = Parameters.of(study_of())
    quasi = len(ownership.quasi_columns(parameters.study, "clinic"))
    assert ownership.exact_columns(parameters.study, "clinic")

    async def role(channel: Channel) -> object:
        at = channel.at("rows")
        if channel.me == "office":
            return await parts.receive_contribution(
                at, parameters.study, "clinic", parameters.pivot, rows=KNOWN.rows, classes=KNOWN.classes
            )
        await at.send("office", parts.PartCounts(*announced))
        await parts.send_numbers(at, "office", np.array(sizes), parts._LARGE)
        await parts.send_numbers(at, "office", np.array([node] + [0] * (2 * quasi - 1)), parts._LARGE)
        await book.send(at, "office", tuple(b"%d" % place for place in range(announced[1])))
        await parts.send_numbers(at, "office", np.array(codes), parts._LARGE)
        return None

    error = said_by(role)
    assert isinstance(error, PeerError)
    assert error.party == "clinic"
    assert reason in str(error)


def test_parts_that_do_not_fit_together_are_not_released() -> None:
    parameters = Parameters.of(study_of())
    nodes = {
        name: np.zeros((2, len(ownership.quasi_columns(parameters.study, name))), np.int32)
        for name in parameters.holders
    }

    async def role(channel: Channel) -> object:
        for sizes in (None, np.array([2, 3])):
            shown = {
                name: parts.Contribution(nodes[name], (b"x",), np.zeros(4, np.int64), None)
                for name in parameters.holders
            }
            shown[parameters.pivot] = replace(shown[parameters.pivot], sizes=sizes)
            with pytest.raises(Aborted, match="not as many as were counted"):
                parts.assemble(channel, parameters.study, parameters.pivot, shown)
        return None

    assert said_by(role) is None


def test_a_release_of_other_rows_than_were_approved_or_of_too_many_roots_is_refused() -> None:
    study = study_of()
    exact = sum(column.name not in {each.name for each in study.quasi} for column in study.released)
    roots = np.tile([column.tree().root for column in study.quasi], (12, 1))
    opened = release.released_rows(study, [(roots, [("flu",) * exact] * 12)])
    with pytest.raises(Aborted, match="another number of rows than was approved"):
        release.result(study, opened, approved=13)
    with pytest.raises(Unmet, match=r"12 of 12 records would be suppressed, more than suppression = 0\.5"):
        release.result(replace(study, suppression=0.5), opened)


@pytest.mark.parametrize("told", [(4, 0), (4, 5), (0, 0)])
def test_figures_that_no_release_has_end_the_run(told: tuple[int, int]) -> None:
    parameters = Parameters.of(study_of())

    async def role(channel: Channel) -> object:
        if channel.me == parameters.pivot:
            mine = np.array([*told, 2, 8, 0, 0], dtype=np.uint64)
            return await secure_sum.total(channel.at("figures"), mine)
        people = draw_people(stream_of(1, "figures"), 8)
        table = meeting.common_rows(parameters.study, tables_of(parameters.study, people))[channel.me]
        own = OwnColumns.of(parameters, table, channel.me)
        return await add_up_figures(channel.at("figures"), parameters, own, np.zeros(8, dtype=np.int64))

    error = said_by(role)
    assert isinstance(error, Aborted)
    assert "figures are impossible" in str(error)


# -- studies


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"privacy": "k_insider = 2"}, "cannot enforce k_insider with a vertical split"),
        ({"privacy": 'l = 2\ndiversity = "distinct"'}, "keeps l by frequency"),
    ],
)
def test_what_columns_split_cannot_do_is_said_before_anything_runs(change: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        of_study(study_of(TWO, **change))  # type: ignore[arg-type]


def test_sensitive_columns_of_two_holders_and_l_are_refused() -> None:
    study = study_of({"clinic": ("age", "ill"), "office": ("sex", "income", "stay")}, privacy="l = 2", note="office")
    column = replace(study.column("note"), role=study.column("ill").role)
    both = replace(study, columns=(*(each for each in study.columns if each.name != "note"), column))
    with pytest.raises(InputError, match="the sensitive columns are with 'clinic' and 'office'"):
        of_study(both)


def test_a_start_and_columns_that_do_not_matter_are_refused() -> None:
    study = study_of()
    with pytest.raises(InputError, match="start is no option with partition = 'vertical'"):
        of_study(replace(study, options={**study.options, "start": "paper"}))
    with pytest.raises(InputError, match="every quasi column has weight = 0"):
        of_study(replace(study, columns=tuple(replace(column, weight=0) for column in study.columns)))


def test_a_domain_that_the_study_does_not_list_is_refused() -> None:
    study = study_of()
    from covey.hierarchy.opened import Flat

    opened = replace(study.column("sex"), hierarchy=Flat(), values=None)
    with pytest.raises(
        InputError, match=r"column 'sex': protocol 'cluster' needs a hierarchy that lists the whole domain"
    ):
        of_study(replace(study, columns=tuple(opened if each.name == "sex" else each for each in study.columns)))


def test_a_column_of_two_parties_and_one_of_nobody_are_named_with_their_lines() -> None:
    with pytest.raises(StudyError) as refused:
        study_of({"clinic": ("age", "sex", "ill"), "office": ("sex", "income")})
    assert "'sex' is listed by 'clinic' too" in str(refused.value)
    assert "no party lists column 'stay'" in str(refused.value)


def test_a_rerun_of_the_same_people_finds_the_same_release_whatever_the_seed() -> None:
    trial = trial_of(study_of(k=4), draw_people(stream_of(5, "rerun"), 60))
    assert answers(trial, run(trial, seed=1)) == answers(trial, run(trial, seed=2))


def test_the_pivot_is_the_first_of_the_study_or_who_keeps_l() -> None:
    assert Parameters.of(study_of({"office": ("age", "sex", "income", "stay"), "clinic": ("ill",)})).pivot == "office"
    keeps = study_of({"office": ("age", "sex", "income", "stay"), "clinic": ("ill",)}, privacy="l = 2")
    assert Parameters.of(keeps).pivot == "clinic"
