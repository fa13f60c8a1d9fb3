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
from covey.protocols.as_printed.cluster_columns import argmin, ideal, leakage
from covey.protocols.as_printed.cluster_columns.algorithm import search
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns
from covey.protocols.as_printed.cluster_columns.parameters import Parameters, Shares
from covey.protocols.as_printed.cluster_columns.questions import Decision, Question
from covey.protocols.as_printed.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.shared.columns import meeting
from covey.table import group


@dataclass
class Spy:
    """Listens at the pivot: its own shares, and the sums it makes."""

    asked: list[tuple[Longs, Longs, Longs, Shares]] = field(default_factory=list)
    sums: list[Shares] = field(default_factory=list)

    def listen(self, patch: pytest.MonkeyPatch) -> None:
        prices, add_up = OwnColumns.prices, argmin.add_up

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

        patch.setattr(OwnColumns, "prices", heard_prices)
        patch.setattr(argmin, "add_up", heard_sums)

    def sights(self) -> list[Sight]:
        """The batches as the pivot reads them."""
        return [
            Sight.of(records, starts, candidates, total, shares)
            for (records, starts, candidates, shares), total in zip(self.asked, self.sums, strict=True)
        ]


def spied(monkeypatch: pytest.MonkeyPatch) -> tuple[Spy, Trial]:
    """A run of 240 people whose pivot is listened to."""
    study = study_of(k=6)
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
    spy, trial = spied(monkeypatch)
    claimed, compared = attack.alike(spy.sights())
    found = attack.score(claimed, compared, elsewhere(trial))
    assert found.precision > 0.95 and found.recall > 0.99 and found.base < 0.2


def test_whoever_adds_up_gets_uniform_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Shares] = []
    add_up = argmin.add_up

    def heard(parts: list[Shares]) -> Shares:
        taken.append(parts[-1])
        return add_up(parts)

    monkeypatch.setattr(argmin, "add_up", heard)
    run(trial_of(study_of(k=6), draw_people(stream_of(2, "uniform"), 200)))
    octets = np.concatenate(taken).view(np.uint8)
    counts = np.bincount(octets, minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 400  # 255 degrees of freedom: one in 10^8 exceeds it


def test_the_ledger_says_what_the_pivot_can_do() -> None:
    alone = Parameters.of(study_of())
    pivot = " ".join(leakage.of_search(alone).sentences("pivot", **leakage.numbers(alone)))
    assert "which people share the other's values exactly" in pivot
    assert "exactly" not in " ".join(leakage.of_search(alone).sentences("holder", **leakage.numbers(alone)))


class _Seen(Exception):
    """The first clusters have been told."""


def first_clusters(people: Sequence[Person], *, secret: bool) -> tuple[list[str], Longs, Longs]:
    """The common ids and the first clusters, as every holder is told them, and each record's illness, which is not."""
    study = study_of(k=10, privacy="l = 2")
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
        ideal.play({name: search(own, public_draws(ids), dealt[name]) for name, own in owns.items()}, listen)
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
