"""Pairs of values where columns are split: one bit for each pair, the same list as where rows are split."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.harness.columns_cases import THREE, TWO, draw_people, stream_of
from tests.harness.harness import answers, lines, run
from tests.harness.peel_columns_cases import study_of, trial_of
from tests.harness.tiers import few_first

from covey.arrays import Bits, Ints
from covey.crypto.group import Points
from covey.errors import PeerError
from covey.protocols import find
from covey.protocols.peel_columns import asking, pairs
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.shared.peeling import nodes
from covey.protocols.shared.peeling.marginals import Marginals, of_records
from covey.protocols.shared.peeling.pairs import cells_of
from covey.wire import Channel, Chunk

FEW = "nodes = 9"
"""So few generalizations that the list has not all of them."""


@pytest.mark.parametrize("split", [TWO, THREE, {"a": ("age", "stay"), "b": ("sex", "income", "ill")}])
def test_holders_learn_which_pairs_of_values_k_people_share(
    split: dict[str, Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(split, options=FEW)
    trial = trial_of(study, draw_people(stream_of(2, "pairs"), 90))
    seen: list[Marginals] = []

    def heard(study: object, trees: object, known: Marginals, most: int) -> Ints:
        seen.append(known)
        return list_nodes(study, trees, known, most)  # type: ignore[arg-type]

    list_nodes = nodes.list_nodes
    monkeypatch.setattr("covey.protocols.peel_columns.role.list_nodes", heard)
    assert answers(trial, run(trial)) == dict(trial.ideal)
    params, trees = Parameters.of(study), tuple(column.tree() for column in study.quasi)
    codes = np.zeros((len(trees), 90), dtype=np.int32)
    for name in params.holders:
        table = trial.tables[name]
        assert table is not None
        codes[params.own_places(name)] = table.codes
    expected = of_records(study, trees, codes, pairs=True)
    assert len(seen) == len(params.holders)
    for known in seen:
        assert [bits.tolist() for bits in known.shared] == [bits.tolist() for bits in expected.shared]
        assert any(bits.any() for bits in known.shared) and not all(bits.all() for bits in known.shared)


@pytest.mark.parametrize(("options", "looks"), few_first([(FEW, True), ("pairs = false\n" + FEW, False), ("", False)]))
def test_the_plan_tells_what_is_learned_wherever_somebody_looks(options: str, looks: bool) -> None:
    study = study_of(THREE, options=options)
    ends = run(trial_of(study, draw_people(stream_of(4, "told"), 60)))
    assert ("peel.pairs" in {line.tag for line in lines(ends)}) == looks
    cells = cells_of([column.tree() for column in study.quasi])
    protocol = find("peel", "vertical")
    learned = protocol.learned(study, protocol.foresee(study, dict.fromkeys(THREE, 60)).lessons)
    for name, words in (("clinic", f"which of {cells} pairs of values"), ("judge", "have each pair of their values")):
        assert any(words in line for line in learned[name]) == looks


def test_few_questions_are_asked_at_once_where_there_are_many_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "AT_ONCE", 150)
    trial = trial_of(study_of(THREE, options=FEW), draw_people(stream_of(2, "pairs"), 90))
    ends = run(trial)
    assert answers(trial, ends) == dict(trial.ideal)
    turns = {line.step for line in lines(ends) if line.step.startswith("pairs/asked/")}
    assert len(turns) == sum(1 for _ in pairs.batches(pairs.questions(Parameters.of(trial.study)), 90)) > 2


def test_the_evaluator_answers_with_a_bit_for_each_pair_of_values_and_names_nobody() -> None:
    """An answer has room for the bits, and for nothing that grows with the people."""
    sizes = {}
    for people in (60, 600):
        study = study_of(TWO, options=FEW)
        ends = run(trial_of(study, draw_people(stream_of(2, "pairs"), people)))
        told = [line for line in lines(ends) if line.step.startswith("pairs") and line.sender == "judge"]
        assert {line.tag for line in told} == {"peel.pairs"}
        sizes[people] = sum(line.size for line in told)
        cells = sum(question.cells for question in pairs.questions(Parameters.of(study)))
        assert sizes[people] < 2 * (cells // 8 + 400)
    assert sizes[60] == sizes[600]


@pytest.mark.thorough
def test_the_evaluators_made_up_people_come_in_an_order_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many runs, the position of a pair of values among the evaluator's answers is uniform."""
    found: list[Bits] = []
    judged = pairs.judged

    def seen(sums: Sequence[int], points: Points, people: int, k: int) -> Bits:
        bits = judged(sums, points, people, k)
        found.append(bits)
        return bits

    monkeypatch.setattr(pairs, "judged", seen)
    people = [(1, "F", "low", 1, "flu")] * 8
    for seed in range(16):
        run(trial_of(study_of(TWO, k=4, options="nodes = 1"), people), seed=seed)
    asked = len(pairs.questions(Parameters.of(study_of(TWO))))
    first = [found[at] for at in range(0, len(found), asked)]
    assert len(first) == 16
    places = [int(np.flatnonzero(bits)[0]) for bits in first]  # one pair of values is shared
    assert all(bits.sum() == 1 for bits in first)
    size = len(first[0])
    assert len(set(places)) > 0.5 * min(16, size)
    assert abs(np.mean(places) - (size - 1) / 2) < 4 * size / np.sqrt(12 * 16)


def tampered(patch: pytest.MonkeyPatch, sender: str, peer: str, kind: type, value: Callable[[bytes], bytes]) -> None:
    """One party sends another something else about pairs."""
    send = Channel.send_all

    async def other(channel: Channel, to: str, sent: type[Chunk[bytes]], content: bytes, columns: int = 1) -> None:
        lies = channel.step.startswith("pairs") and (channel.me, to, sent) == (sender, peer, kind)
        await send(channel, to, sent, value(content) if lies else content, columns=columns)

    patch.setattr(Channel, "send_all", other)


@pytest.mark.parametrize("liar", ["judge", "insurer"])
def test_bits_that_differ_from_holder_to_holder_end_the_run(liar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists then differ, and holders compare them before the first visit."""
    tampered(monkeypatch, liar, "clinic", pairs.SharedPairs, lambda bits: bytes(255 - byte for byte in bits))
    ends = run(trial_of(study_of(THREE, options=FEW), draw_people(stream_of(2, "pairs"), 90)))
    errors = [end.error for end in ends.values()]
    assert any(isinstance(error, PeerError) and "lists other nodes" in str(error) for error in errors)
    assert all(end.finished is None for end in ends.values())


def test_a_number_that_is_none_names_its_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    tampered(monkeypatch, "clinic", "judge", asking.MaskedPositions, lambda raw: b"\xff" * len(raw))
    ends = run(trial_of(study_of(THREE, options=FEW), draw_people(stream_of(2, "pairs"), 90)))
    error = ends["judge"].error
    assert isinstance(error, PeerError) and error.party == "clinic" and "not reduced" in str(error)
