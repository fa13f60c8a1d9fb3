"""What is seen when columns are split: a pivot reads who is alike elsewhere; beside an evaluator it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.harness.columns_cases import Person, draw_people, stream_of, study_of, tables_of, trial_of
from tests.harness.harness import run
from tests.harness.network import seed_of
from tests.harness.trial import Trial

from covey.arrays import Longs
from covey.bench.papers import columns_attack as attack
from covey.bench.papers.columns_attack import Sight
from covey.crypto.secret import Secret
from covey.protocols.cluster_columns import argmin, ideal, leakage
from covey.protocols.cluster_columns.algorithm import search
from covey.protocols.cluster_columns.clustering import CandidateClusters, Clustering
from covey.protocols.cluster_columns.own_columns import OwnColumns
from covey.protocols.cluster_columns.parameters import Parameters, Shares
from covey.protocols.cluster_columns.questions import Decision, Question
from covey.protocols.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.shared.columns import meeting
from covey.table import group


@dataclass
class Spy:
    """Listens at the pivot, or at the evaluator: its own shares, the sums it makes, and what all holders know."""

    asked: list[tuple[Longs, Longs, Longs, Shares]] = field(default_factory=list)
    sums: list[Shares] = field(default_factory=list)
    chosen: list[tuple[CandidateClusters, Longs]] = field(default_factory=list)

    def listen(self, patch: pytest.MonkeyPatch) -> None:
        prices, add_up, accept = OwnColumns.prices, argmin.add_up, Clustering.accept

        def heard_prices(own: OwnColumns, records: Longs, starts: Longs, candidates: Longs) -> Shares:
            shares = prices(own, records, starts, candidates)
            if own.pivot:
                self.asked.append((records, starts, candidates, shares))
            return shares

        def heard_sums(parts: list[Shares]) -> Shares:
            total = add_up(parts)
            if self.asked and len(self.sums) < len(self.asked) and len(total) == len(self.asked[-1][3]):
                self.sums.append(total)
            return total

        def heard_choice(course: Clustering, batch: CandidateClusters, target: Longs) -> object:
            if not self.chosen or not np.array_equal(self.chosen[-1][0].records, batch.records):
                self.chosen.append((batch, target))
            return accept(course, batch, target)

        patch.setattr(OwnColumns, "prices", heard_prices)
        patch.setattr(argmin, "add_up", heard_sums)
        patch.setattr(Clustering, "accept", heard_choice)

    def sights(self, *, own: bool) -> list[Sight]:
        """The batches as who adds up would read them; `own` says that it has shares to subtract."""
        return [
            Sight.of(records, starts, candidates, total, shares if own else np.zeros_like(shares))
            for (records, starts, candidates, shares), total in zip(self.asked, self.sums, strict=True)
        ]


def spied(evaluator: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[Spy, Trial]:
    """A run of 240 people whose pivot, or evaluator, is listened to."""
    study = study_of(k=6, evaluator=evaluator)
    trial = trial_of(study, draw_people(stream_of(1, "attack"), 240))
    spy = Spy()
    with monkeypatch.context() as patch:
        spy.listen(patch)
        ends = run(trial)
    assert all(end.error is None for end in ends.values())
    return spy, trial


def elsewhere(trial: Trial) -> Longs:
    """Each common record's values at the office, as one number."""
    tables = {name: table for name, table in trial.tables.items() if table is not None}
    office = meeting.common_rows(trial.study, tables)["office"]
    return group([*office.codes], office.rows)[0]


def test_the_pivot_reads_which_people_are_alike_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger says that it can; this is how."""
    spy, trial = spied(False, monkeypatch)
    claimed, compared = attack.alike(spy.sights(own=True))
    found = attack.score(claimed, compared, elsewhere(trial))
    assert found.precision > 0.95 and found.recall > 0.99 and found.base < 0.2


def test_the_evaluator_cannot_say_whom_its_prices_are_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows even, here, who is examined in which step, and takes rows and candidates in the order it gets them."""
    spy, trial = spied(True, monkeypatch)
    claimed, compared = attack.alike(spy.sights(own=False))
    found = attack.score(claimed, compared, elsewhere(trial))
    assert found.claims < 20 or found.precision < 2 * found.base
    assert found.recall < 0.05


def same_shape(widths: Longs, totals: Shares) -> set[tuple[int, int]]:
    """Pairs of an evaluator's rows that are alike whatever their scale: sorted, from the least to the greatest."""
    ends = np.cumsum(widths)
    rows = [np.sort(totals[end - width : end].astype(np.float64)) for end, width in zip(ends, widths, strict=True)]
    shapes = [(row - row[0]) / (row[-1] - row[0]) for row in rows]
    close = [2 * (1 << 31) / 2**21 / (row[-1] - row[0]) for row in rows]  # noise is less than a unit, at either end
    return {
        (one, other)
        for one in range(len(rows))
        for other in range(one)
        if len(rows[one]) == len(rows[other])
        and np.abs(shapes[one] - shapes[other]).max() < max(0.002, min(close[one], close[other]))
    }


def test_the_evaluator_sees_that_two_unnamed_people_cost_the_same_and_the_ledger_says_so() -> None:
    """Scaling and shuffling keep a row's shape: nineteen pairs with equal prices are found, and nobody's name."""
    stream = stream_of(1, "shapes")
    people, clusters, pairs = 60, 24, 19
    prices = stream.words_below(3000, people * clusters).astype(np.uint32).reshape(people, clusters) + np.uint32(10)
    prices[1 : 2 * pairs : 2] = prices[0 : 2 * pairs : 2]
    starts = np.arange(0, people * clusters + 1, clusters)
    named: list[list[int]] = []
    for number in range(2):
        disguise = argmin.RowDisguise.draw(seed_of(number), starts)
        found = same_shape(disguise.widths, disguise.wear(prices.ravel(), noisy=True))
        true = {tuple(sorted((int(disguise.order[one]), int(disguise.order[other])))) for one, other in found}
        assert true == {(2 * pair, 2 * pair + 1) for pair in range(pairs)}
        named.append(sorted(place for pair in found for place in pair))
    assert named[0] != named[1], "where the rows stand says nothing of whom they are about"
    judged = Parameters.of(study_of(evaluator=True))
    said = " ".join(leakage.of_search(judged).sentences("evaluator", **leakage.numbers(judged)))
    assert "which records without names cost every class the same" in said


def test_the_pivot_beside_an_evaluator_has_nothing_but_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two people that go to one cluster at the same time it may guess that they are alike, as of any cluster's."""
    spy, trial = spied(True, monkeypatch)
    truth = elsewhere(trial)
    claimed: attack.Pairs = set()
    compared: attack.Pairs = set()
    for batch, target in spy.chosen:
        names = batch.records.tolist()
        for one in range(len(names)):
            for other in range(one):
                pair = (min(names[one], names[other]), max(names[one], names[other]))
                compared.add(pair)
                if target[one] == target[other]:
                    claimed.add(pair)
    found = attack.score(claimed, compared, truth)
    assert found.precision < 0.8 and found.recall < 0.2


@pytest.mark.parametrize("evaluator", [False, True])
def test_whoever_adds_up_gets_uniform_shares(evaluator: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Shares] = []
    add_up = argmin.add_up

    def heard(parts: list[Shares]) -> Shares:
        taken.append(parts[-1])
        return add_up(parts)

    monkeypatch.setattr(argmin, "add_up", heard)
    run(trial_of(study_of(k=6, evaluator=evaluator), draw_people(stream_of(2, "uniform"), 200)))
    octets = np.concatenate(taken).view(np.uint8)
    counts = np.bincount(octets, minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 400  # 255 degrees of freedom: one in 10^8 exceeds it


def test_no_disguise_is_worn_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bytes] = []
    draw = argmin.RowDisguise.draw

    def heard(seed: Secret, starts: Longs) -> argmin.RowDisguise:
        drawn.append(seed.reveal())
        return draw(seed, starts)

    monkeypatch.setattr(argmin.RowDisguise, "draw", heard)
    run(trial_of(study_of(evaluator=True), draw_people(stream_of(4, "worn"), 40)))
    assert len(set(drawn)) * 2 == len(drawn)  # both holders draw each, once


def test_the_ledger_says_what_the_pivot_can_do_and_that_an_evaluator_prevents_it() -> None:
    alone, judged = Parameters.of(study_of()), Parameters.of(study_of(evaluator=True))
    pivot = " ".join(leakage.of_search(alone).sentences("pivot", **leakage.numbers(alone)))
    assert "which people share the other's values exactly" in pivot
    assert "exactly" not in " ".join(leakage.of_search(alone).sentences("holder", **leakage.numbers(alone)))
    assert "exactly" not in " ".join(leakage.of_search(judged).sentences("pivot", **leakage.numbers(judged)))
    assert "the order of costs without names" in " ".join(
        leakage.of_search(judged).sentences("evaluator", **leakage.numbers(judged))
    )


class _Seen(Exception):
    """The first clusters have been told."""


def first_clusters(people: Sequence[Person], *, secret: bool) -> tuple[list[str], Longs, Longs]:
    """The common ids and the first clusters, as every holder is told them, and each record's illness, which is not."""
    study = study_of(k=10, privacy="l = 2", schedule="exact")
    tables = meeting.common_rows(study, tables_of(study, people))
    parameters = Parameters.of(study)
    ids = meeting.keys_of(tables["office"], "office")
    told: list[Longs] = []

    def listen(questions: Mapping[str, Question]) -> None:
        said = questions[parameters.pivot]
        if isinstance(said, Decision) and said.mine is not None:
            told.append(said.mine)
            raise _Seen

    owns = {name: OwnColumns.of(parameters, table, name) for name, table in tables.items()}
    dealt = {name: pivot_draws(own, ids, seed_of(7)) if secret else public_draws(ids) for name, own in owns.items()}
    with pytest.raises(_Seen):
        ideal.play({name: search(own, name, public_draws(ids), dealt[name]) for name, own in owns.items()}, listen)
    return ids, told[0], tables["clinic"].values("ill").codes.astype(np.int64)


def guessed(ids: Sequence[str], label: Longs, counts: Longs, k: int) -> Longs:
    """What the office makes of the labels if it knows the draws: who is dealt after whom tells the value of each.

    Records are dealt in turn to all clusters, one value after the other; the counts stand in the release.
    """
    stream, clusters = public_draws(ids).stream("first"), max(1, 2 * len(ids) // k)
    while True:
        order, names = stream.permutation(len(ids)), stream.permutation(clusters)
        if clusters == int(label.max()) + 1:
            break
        clusters //= 2
    turn = np.argsort(names)[label]
    due, left = np.cumsum(counts) - counts, counts.copy()
    guess = np.full(len(ids), -1)
    for record in order.tolist():
        fits = np.flatnonzero((left > 0) & (due % clusters == turn[record]))
        if len(fits):
            guess[record] = fits[0]
            due[fits[0]] += 1
            left[fits[0]] -= 1
    return guess


def test_who_knew_the_draws_of_the_first_clusters_would_read_sensitive_values_from_them() -> None:
    """So they are the pivot's secret: with it, the same attack does no better than guessing."""
    people = draw_people(stream_of(8, "dealt"), 600)
    rate = {}
    for secret in (False, True):
        ids, label, ill = first_clusters(people, secret=secret)
        rate[secret] = float((guessed(ids, label, np.bincount(ill), 10) == ill).mean())
    assert rate[False] > 0.85
    assert rate[True] < 0.35  # four illnesses, about as frequent


def test_other_values_are_dealt_by_other_draws() -> None:
    """Two runs that differ in one person's value do not show by their first clusters whose it is."""
    people = draw_people(stream_of(9, "again"), 120)
    changed = [*people[:-1], (*people[-1][:4], "flu" if people[-1][4] != "flu" else "none")]
    (_, one, _), (_, same, _), (_, other, _) = (first_clusters(each, secret=True) for each in (people, people, changed))
    assert np.array_equal(one, same)
    assert (one == other).mean() < 0.2
