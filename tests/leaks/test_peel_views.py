"""What a party sees in `peel` follows from its own records and what the ledger names: a simulator, and liars.

The simulator gets the shapes of messages and the functionality's answers: which tests reach k, which buckets are pure,
which tuples and counts are published. It never sees another party's records. What it makes up is compared with what
parties really saw, by every statistic below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard
from tests.protocols.peelers import (
    Peeled,
    Person,
    draw_people,
    expected,
    list_of,
    marginals_of,
    names_of,
    study_of,
    tables_of,
    visit,
)

from covey.arrays import Bits, Words
from covey.crypto.factorial import field_for
from covey.crypto.field import F61, Field
from covey.errors import Aborted
from covey.protocols.peel import purity
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.search import Finder
from covey.protocols.peel.supply import LANES, Supply
from covey.protocols.peel.tuples import Lattice
from covey.protocols.peel.visits import Peeling
from covey.secure import coin, shares, threshold_test
from covey.secure.threshold_test import Prepared
from covey.table import Table
from covey.wire import Channel, gather

Outcomes = Mapping[str, Outcome[Peeled]]


TESTS = field_for(3, 3)
"""The field of the tests of k = 2 and k = 3 among three."""


def looks_uniform(words: Words, field: Field, *, none_is_zero: bool = False) -> bool:
    """Whether the elements of a small field, or the highest bits, are spread as by chance (a miss in about 10^5)."""
    bins = field.prime if field.small else 64
    counts = np.bincount((words >> np.uint64(0 if field.small else field.bits - 6)).astype(np.int64), minlength=bins)
    if none_is_zero and field.small:
        bins, counts = bins - 1, counts[1:]
    chi = float(np.sum((counts - len(words) / bins) ** 2 / (len(words) / bins)))
    return abs(chi - (bins - 1)) < 4.5 * math.sqrt(2 * (bins - 1))


def unpacked(outcomes: Outcomes, packed: list[bytes]) -> list[Words]:
    """The numbers of each test's message, of which there is one for each test of the visits."""
    widths = [width for _, width in outcomes["p0"].unwrap().sizes.tested]
    return [TESTS.unpack(raw)[:width] for raw, width in zip(packed, widths, strict=True)]


def parts_of_tests(outcomes: Outcomes, sender: str) -> list[Words]:
    """What one party sent to the others at the end of each test."""
    reader = next(name for name in outcomes if name != sender)
    return unpacked(outcomes, [message.parts for message in heard(outcomes[reader], sender, threshold_test.Part)])


def examined_parts(outcomes: Outcomes, sender: str) -> list[Words]:
    """What one party sent to the others at each opening of an examination."""
    reader = next(name for name in outcomes if name != sender)
    return [message.parts.words for message in heard(outcomes[reader], sender, purity.OpenedParts)]


def opened(outcomes: Outcomes, parts: Callable[[Outcomes, str], list[Words]], field: Field) -> list[Words]:
    """What everyone saw at each opening: the parts' sums."""
    return [shares.total(each, field) for each in zip(*(parts(outcomes, name) for name in outcomes), strict=True)]


def run(
    rows: int = 300, seed: int = 1, per_record: int = 1, k: int = 3, options: str = ""
) -> tuple[Outcomes, Mapping[str, Table]]:
    study = study_of(3, k=k, privacy="k_insider = 1", options=f"buckets = {per_record}\n{options}")
    tables = tables_of(study, draw_people(3, rows, seed))
    return visit(study, tables, seed=seed), tables


def test_a_test_opens_nothing_but_its_answer() -> None:
    outcomes, tables = run()
    done = outcomes["p0"].unwrap()
    seen = np.concatenate(opened(outcomes, parts_of_tests, TESTS))
    plain = expected(study_of(3, k=3, privacy="k_insider = 1", options="buckets = 1"), tables, done.nodes, done.seed)
    dense = plain.tuples - (plain.heavy - plain.impure)
    assert len(seen) == plain.tests
    assert int((seen != 0).sum()) == plain.heavy + dense
    assert looks_uniform(seen[seen != 0], TESTS, none_is_zero=True)


def test_an_examination_opens_zero_for_pure_buckets_and_a_random_number_for_others() -> None:
    outcomes, _ = run(rows=400, k=2)
    done = outcomes["p0"].unwrap()
    openings = opened(outcomes, examined_parts, F61)
    spreads = np.concatenate(openings[0::2])  # each examination opens spreads, then the pure ones' tuples
    assert len(spreads) == done.openings.heavy
    assert int((spreads != 0).sum()) == done.openings.impure
    hidden = [row for row in openings[1::2] if len(row)]
    counts = np.concatenate([row[: len(row) // 2] for row in hidden])
    assert counts.min() > 4000  # a count times a random factor: never a count as it is


UNIFORM = ("dealt", "factors", "masked", "part")
"""The messages of which nothing but their length is bound by an answer."""


def simulated_view(shape: Mapping[str, list[int]], zero: list[Bits], seed: int) -> dict[str, list[Words]]:
    """What a peer could have sent, made up from lengths and the tests' answers alone.

    `zero` says of each opening where 0 is opened; this party and its other peer sent parts that the simulator draws
    too: only the sum is bound by the answer.
    """
    random = np.random.default_rng(seed)

    def draw(size: int) -> Words:
        return random.integers(0, TESTS.prime, size, dtype=np.uint64)

    view = {kind: [draw(size) for size in shape[kind]] for kind in UNIFORM}
    other = [random.integers(1, TESTS.prime, len(answer), dtype=np.uint64) for answer in zero]
    view["sum"] = [np.where(answer, np.uint64(0), number) for answer, number in zip(zero, other, strict=True)]
    return view


def real_view(outcomes: Outcomes, me: str, peer: str) -> dict[str, list[Words]]:
    """What a party heard from a peer; of three, it derives what the other one deals, layer by layer."""
    dealt = [each for name in outcomes if name != me for each in heard(outcomes[me], name, threshold_test.Dealt)]
    masked = heard(outcomes[me], peer, threshold_test.MaskedNumbers)
    return {
        "dealt": [TESTS.unpack(message.shares) for message in dealt],
        "factors": [TESTS.unpack(message.parts) for message in heard(outcomes[me], peer, threshold_test.FactorPart)],
        "masked": unpacked(outcomes, [message.numbers for message in masked]),
        "part": parts_of_tests(outcomes, peer),
        "sum": opened(outcomes, parts_of_tests, TESTS),
    }


def statistics(view: Mapping[str, list[Words]]) -> dict[str, object]:
    """Everything that a distinguisher here looks at."""
    flat = {kind: np.concatenate(rows) for kind, rows in view.items()}
    answers: dict[str, object] = {kind: looks_uniform(flat[kind], TESTS) for kind in UNIFORM}
    answers["lengths"] = {kind: [len(row) for row in rows] for kind, rows in view.items()}
    answers["zeros"] = [np.flatnonzero(row == 0).tolist() for row in view["sum"]]
    answers["sums"] = looks_uniform(flat["sum"][flat["sum"] != 0], TESTS, none_is_zero=True)
    answers["masked and part together"] = looks_uniform(TESTS.add(flat["masked"], flat["part"]), TESTS)
    return answers


@pytest.mark.parametrize(("peer", "options"), [("p1", ""), ("p2", ""), ("p1", "lend = true")])
def test_a_simulator_without_the_others_records_makes_the_same_view(peer: str, options: str) -> None:
    outcomes, _ = run(rows=400, options=options)
    real = real_view(outcomes, "p0", peer)
    shape = {kind: [len(row) for row in rows] for kind, rows in real.items()}
    made_up = simulated_view(shape, [row == 0 for row in real["sum"]], seed=5)
    assert statistics(real) == statistics(made_up)
    assert all(value is True for value in statistics(real).values() if isinstance(value, bool))


def test_the_statistics_tell_a_view_whose_masks_are_missing() -> None:
    outcomes, tables = run(rows=400)
    real = real_view(outcomes, "p0", "p1")
    bare = dict(real, masked=[np.minimum(row, np.uint64(9)) for row in real["masked"]])
    assert statistics(bare)["masked"] is False
    assert len(tables) == 3


def examined_view(outcomes: Outcomes, me: str, peer: str) -> dict[str, list[Words]]:
    """What a party heard from a peer at the examinations, and what was opened there."""
    openings = opened(outcomes, examined_parts, F61)
    return {
        "shares": [message.shares.words for message in heard(outcomes[me], peer, purity.Shares)],
        "part": [message.parts.words for message in heard(outcomes[me], peer, purity.OpenedParts)],
        "spread": openings[0::2],  # each examination opens spreads, then the pure ones' tuples
        "hidden": openings[1::2],
    }


def examined_by_simulator(real: Mapping[str, list[Words]], seed: int) -> dict[str, list[Words]]:
    """The same, made up from lengths, from which buckets are pure, and from the pure ones' tuples: one limb each."""
    random = np.random.default_rng(seed)

    def draw(size: int) -> Words:
        return random.integers(1, F61.prime, size, dtype=np.uint64)

    view = {kind: [draw(len(row)) for row in real[kind]] for kind in ("shares", "part")}
    view["spread"] = [np.where(row == 0, np.uint64(0), draw(len(row))) for row in real["spread"]]
    view["hidden"] = []
    for row, known in zip(real["hidden"], tuples_in(real), strict=True):
        factor = draw(len(row) // 2)
        view["hidden"].append(np.concatenate([factor, F61.multiply(factor, known)]))
    return view


def tuples_in(view: Mapping[str, list[Words]]) -> list[Words]:
    """What the functionality answers for pure buckets: their tuples, the ratios of what was opened."""
    halves = [(row[: len(row) // 2], row[len(row) // 2 :]) for row in view["hidden"]]
    return [F61.multiply(second, F61.inverse(first)) if len(first) else first for first, second in halves]


def examined_statistics(view: Mapping[str, list[Words]]) -> dict[str, object]:
    flat = {kind: np.concatenate(rows) for kind, rows in view.items()}
    counts = np.concatenate([row[: len(row) // 2] for row in view["hidden"]])
    return {
        "lengths": {kind: [len(row) for row in rows] for kind, rows in view.items()},
        "zeros": [np.flatnonzero(row == 0).tolist() for row in view["spread"]],
        "tuples": [row.tolist() for row in tuples_in(view)],
        **{kind: looks_uniform(flat[kind], F61) for kind in ("shares", "part")},
        "spreads": looks_uniform(flat["spread"][flat["spread"] != 0], F61),
        "counts": looks_uniform(counts, F61),
    }


def test_a_simulator_makes_the_view_of_an_examination_without_the_others_records() -> None:
    outcomes, _ = run(rows=400, k=2)
    real = examined_view(outcomes, "p0", "p1")
    made_up = examined_by_simulator(real, seed=7)
    assert examined_statistics(real) == examined_statistics(made_up)
    assert all(value is True for value in examined_statistics(real).values() if isinstance(value, bool))
    assert sum(map(len, real["spread"])) > 30
    bare = dict(real, hidden=[np.minimum(row, np.uint64(99)) for row in real["hidden"]])
    assert examined_statistics(bare)["counts"] is False


def test_two_others_who_swap_their_records_leave_the_third_one_the_same_openings() -> None:
    study, people = study_of(3, k=3, privacy="k_insider = 1", options="buckets = 1"), draw_people(3, 80, 4)
    swapped = {"p0": people["p0"], "p1": people["p2"], "p2": people["p1"]}
    runs = [visit(study, tables_of(study, each), seed=3) for each in (people, swapped)]
    zeros = [[np.flatnonzero(row == 0).tolist() for row in opened(each, parts_of_tests, TESTS)] for each in runs]
    assert zeros[0] == zeros[1]
    assert runs[0]["p0"].unwrap().openings == runs[1]["p0"].unwrap().openings
    assert runs[0]["p0"].unwrap().classes.sizes == runs[1]["p0"].unwrap().classes.sizes
    assert np.array_equal(runs[0]["p0"].unwrap().own.label, runs[1]["p0"].unwrap().own.label)


class Bent(Supply):
    """A party that spoils its shares of what was prepared."""

    async def take(self, width: int) -> Prepared:
        prepared = await super().take(width)
        spoilt = prepared.field.add(prepared.factors[0], np.ones(width, dtype=np.uint64))
        return replace(prepared, factors=np.stack([spoilt, *prepared.factors[1:]]))


def play_with(liar: type[Supply], people: Mapping[str, list[Person]]) -> Mapping[str, Outcome[Peeling]]:
    """A run in which the last party keeps another supply than the others."""
    study = study_of(len(people), k=3)
    tables, params = tables_of(study, people), Parameters.of(study)
    nodes, known = list_of(study, tables), marginals_of(study, tables)

    async def role(channel: Channel) -> Peeling:
        table = tables[channel.me]
        joint = await coin.toss(channel.at("coin"))
        kind = liar if channel.me == names_of(len(people))[-1] else Supply
        own, supply = OwnRecords.of(table, params), kind(channel.at("prepare"), params.k)
        peeling = Peeling(Finder(params, Lattice.of(table.trees), nodes, own, joint, supply, known))
        await gather(peeling.run(channel.at("visit"), lambda done: None), *(supply.work() for _ in range(LANES)))
        return peeling

    return run_parties(dict.fromkeys(people, role))


def test_a_party_that_spoils_the_preparation_ends_the_run_before_a_count_is_opened() -> None:
    outcomes = play_with(Bent, draw_people(3, 60, 1))
    for name in ("p0", "p1"):
        error = outcomes[name].error
        assert isinstance(error, Aborted)
        assert "did not keep to the protocol" in str(error)
        assert not error.resumable
        assert not any(entry.header.tag == "sum.masked" for entry in outcomes[name].notebook.sent_entries)
