"""The known attacks on `collect`: each succeeds on a variant that is broken on purpose, and fails on ours."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from tests.harness.collect_cases import HUB, names_of, study_of, trial_of
from tests.harness.harness import run
from tests.harness.leaks import Tape
from tests.harness.network import seed_of
from tests.protocols.collectors import Seen, anyone, finished, ranks, seen

from covey.crypto import pir
from covey.crypto.elgamal import Ciphertexts, KeyShare, Logarithms, encrypt, joint_key, opened
from covey.crypto.group import Points
from covey.crypto.rng import Rng
from covey.crypto.threshold_key import CommitteeKey, Dealer, Trustee
from covey.protocols.as_printed.collect import answers, index, keys, release, submit, zero_test
from covey.protocols.as_printed.collect.parameters import Parameters, trees_of
from covey.wire import frame
from covey.wire.message import decode

__all__ = ["seen"]


def rng(*labels: str | int) -> Rng:
    return Rng(seed_of(1)).child("attack", *labels)


# -- equality search: the collector knows the index and looks for what a respondent sent


def positions_and_index(monkeypatch: pytest.MonkeyPatch, *, broken: bool) -> tuple[list[Ciphertexts], Ciphertexts]:
    """What the collector has in its hands after a run: everyone's encrypted position, and its own index."""
    held: dict[str, object] = {}
    if broken:
        monkeypatch.setattr(answers, "rerandomise", lambda ciphertexts, key, stream: ciphertexts)
    make, given = index.build, answers.add_up

    def building(*arguments: object) -> Ciphertexts:
        made = make(*arguments)  # type: ignore[arg-type]
        held["index"] = made
        return made

    def adding(received: list[Ciphertexts], members: list[list[int]]) -> list[Ciphertexts]:
        held["answers"] = received
        return given(received, members)

    monkeypatch.setattr(index, "build", building)
    monkeypatch.setattr(answers, "add_up", adding)
    finished(trial_of(study_of(6), anyone(5, 6)))
    received, made = held["answers"], held["index"]
    assert isinstance(received, list) and isinstance(made, Ciphertexts)
    return [own.slice(0, 1) for own in received], made


def found_by_equality(positions: list[Ciphertexts], made: Ciphertexts) -> list[int]:
    entries = {entry: cell for cell, entry in enumerate(made.first)}
    return [entries.get(own.first.data, -1) for own in positions]


@pytest.mark.thorough
def test_without_rerandomisation_the_collector_reads_every_cell_off_its_own_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    positions, made = positions_and_index(monkeypatch, broken=True)
    study = study_of(6)
    assert found_by_equality(positions, made) == ranks(study, trial_of(study, anyone(5, 6)), names_of(6)).tolist()


def test_our_positions_equal_no_entry_of_the_index_and_never_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    positions, made = positions_and_index(monkeypatch, broken=False)
    assert found_by_equality(positions, made) == [-1] * 6
    seconds = set(made.second)
    assert all(own.second.data not in seconds for own in positions)
    assert len({own.first.data for own in positions}) == 6


def test_the_owner_of_a_number_cannot_find_the_collectors_from_neighbouring_entries() -> None:
    """Without re-randomised entries, E(c) - E(c - 1) - E(d) would be the collector's number in the clear."""
    study = study_of(4)
    parameters, own = Parameters.of(study), KeyShare(rng().stream("key"))
    theirs = [
        encrypt(index.drawn(parameters, 4, number, rng("n").stream(number)), own.public, rng("f").stream(number))
        for number in range(4)
    ]
    drawn = index.draw(parameters, rng().stream("own"), parameters.b + parameters.grid.cells)
    made = index.build(parameters, own.public, theirs, drawn, rng().stream("fresh"))
    first, last = index.block(parameters.grid.cells, 4, 1)
    step = made.slice(first + 1, first + 2).minus(made.slice(first, first + 1)).minus(theirs[1].slice(1, 2))
    assert last - first > 1
    assert not step.first.identities().any(), "the randomness cancels: the collector's number is in the clear"


# -- chain decryption: partial decryptions that pass from trustee to trustee


def committee_of(size: int, threshold: int) -> tuple[CommitteeKey, dict[int, Trustee]]:
    dealers = [Dealer(threshold, rng("dealer").stream(place)) for place in range(size)]
    key = CommitteeKey.of([dealer.commitments for dealer in dealers])
    return key, {
        place: Trustee(place, [dealer.share(place) for dealer in dealers], key) for place in range(1, size + 1)
    }


def test_a_coalition_one_short_of_the_threshold_opens_what_passes_through_its_hands_in_a_chain() -> None:
    """The paper's chain: each trustee adds its part and hands all on. The last ones have a part too many."""
    key, trustees = committee_of(5, 3)
    hidden = encrypt([4711], key.public, rng().stream("position"))
    coalition = [2, 3]
    passed_on = trustees[1].unlock(hidden.first, rng("unlock").stream(1), "chain").points
    own = {
        place: trustees[place].unlock(hidden.first, rng("unlock").stream(place), "chain").points for place in coalition
    }
    points = opened(hidden, [key.combine({1: passed_on, **own})])
    assert Logarithms(10_000).of(points).tolist() == [4711]


def test_in_ours_no_number_of_trustees_opens_anything_without_the_collector() -> None:
    key, trustees = committee_of(5, 3)
    own = KeyShare(rng().stream("collector"))
    joint = joint_key([own.public, key.public])
    hidden = encrypt([4711], joint, rng().stream("position"))
    parts = {
        place: trustee.unlock(hidden.first, rng("unlock").stream(place), "star").points
        for place, trustee in trustees.items()
    }
    logarithms = Logarithms(10_000)
    for places in combinations(parts, 3):
        points = opened(hidden, [key.combine({place: parts[place] for place in places})])
        assert logarithms.of(points).tolist() == [-1]
    points = opened(hidden, [key.combine({place: parts[place] for place in (1, 2, 3)}), own.unlock(hidden)])
    assert logarithms.of(points).tolist() == [4711]


def test_parts_of_an_opening_go_to_the_collector_and_to_nobody_else() -> None:
    trial = trial_of(study_of(6), anyone(2, 6))
    tape = Tape(trial.names)
    assert all(end.error is None for end in run(trial, network=tape).values())
    heads = [frame.read(frame.split(raw)[1]).header for _, _, raw in tape.frames]
    unlocked = [head for head in heads if head.tag in {"committee.unlocked", "committee.proved"}]
    assert unlocked and all(head.recipient == HUB for head in unlocked)
    between = {(head.sender, head.recipient) for head in heads if head.tag.startswith(("collect.", "committee."))}
    assert all(HUB in pair for pair in between), "respondents speak with the collector only"


# -- ranks: what the order in which members are named gives away


def named_order(monkeypatch: pytest.MonkeyPatch, seen: Seen, *, broken: bool, seeds: int) -> float:
    """How often, of two members of a class that are named one after the other, the first stands before the second."""
    hits: list[bool] = []
    for seed in range(seeds):
        trial = trial_of(study_of(8, k=4), anyone(40 + seed, 8))
        tape = Tape(trial.names)
        with monkeypatch.context() as patched:
            if broken:
                patched.setattr(
                    release, "named", lambda enrolment, members: _by_position(enrolment.handles, members, seen)
                )
            assert all(end.error is None for end in run(trial, seed=seed, network=tape).values())
        owner = {decode(keys.RespondentKey, raw).key.data: name for name, raw in said(tape, "collect.enrolled")}
        place = dict(zip(names_of(8), seen.last.tolist(), strict=True))
        for _, raw in said(tape, "collect.company"):
            order = [place[owner[key.data]] for key in decode(submit.Company, raw).keys]
            hits += [one < other for one, other in pairwise(order) if one != other]
    return float(np.mean(hits))


def _by_position(handles: tuple[str, ...], members: list[int], seen: Seen) -> list[str]:
    return [handles[number] for number in sorted(members, key=lambda number: seen.last[number])]


def said(tape: Tape, tag: str) -> list[tuple[str, bytes]]:
    """The senders and contents of all messages of a type."""
    letters = [frame.read(frame.split(raw)[1]) for _, _, raw in tape.frames]
    return [(letter.header.sender, bytes(letter.payload)) for letter in letters if letter.header.tag == tag]


@pytest.mark.thorough
def test_members_named_in_the_order_of_positions_would_learn_their_ranks(
    monkeypatch: pytest.MonkeyPatch, seen: Seen
) -> None:
    assert named_order(monkeypatch, seen, broken=True, seeds=2) == 1.0


@pytest.mark.thorough
def test_members_are_named_in_an_order_that_says_nothing_of_ranks(monkeypatch: pytest.MonkeyPatch, seen: Seen) -> None:
    assert 0.2 < named_order(monkeypatch, seen, broken=False, seeds=5) < 0.8


# -- the mix


def handed_in_and_out(monkeypatch: pytest.MonkeyPatch, *, broken: bool, runs: int) -> Counter[int]:
    """At which place of the collector's last batch the row of a class's first member turns up, over many classes."""
    found: Counter[int] = Counter()
    original = submit.Assembly.collect

    async def watching(self: submit.Assembly, names: list[str], own: submit.Class) -> submit.Gathered:
        gathered = await original(self, names, own)
        assert gathered.rows is not None
        found[[row[-1] for row in gathered.rows].index(names[0])] += 1
        return gathered

    crowds = [(first, "F", "good") for first in (1, 9, 17, 25) for _ in range(3)]
    for seed in range(runs):
        with monkeypatch.context() as patched:
            patched.setattr(submit.Assembly, "collect", watching)
            if broken:
                patched.setattr(submit, "permuted", lambda batch, stream: batch)
            finished(trial_of(study_of(12, note=True), crowds, names_of(12)), seed)
    return found


@pytest.mark.thorough
def test_an_unmixed_submission_tells_the_collector_whose_row_is_whose(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(handed_in_and_out(monkeypatch, broken=True, runs=1)) == {0}


@pytest.mark.thorough
def test_in_ours_a_row_turns_up_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    found = handed_in_and_out(monkeypatch, broken=False, runs=3)
    assert set(found) == {0, 1, 2} and found.total() == 12
    chi_square = sum((found[place] - 4.0) ** 2 / 4.0 for place in range(3))
    assert chi_square < 13.8  # 2 degrees of freedom, one in a thousand


def test_mixers_change_every_byte_that_they_pass_on() -> None:
    trial = trial_of(study_of(4, k=4), [(1, "F", "good")] * 4)
    tape = Tape(trial.names)
    assert all(end.error is None for end in run(trial, network=tape).values())
    letters = [frame.read(frame.split(raw)[1]) for _, _, raw in tape.frames]
    batches = [
        decode(submit.ClassOnions, letter.payload) for letter in letters if letter.header.step.endswith("mix/pass")
    ]
    incoming, outgoing = batches[0::2], batches[1::2]
    for one, other in zip(incoming, outgoing, strict=True):
        assert not set(one.heads) & set(other.heads)


# -- section 10 of the note: what the statistics of messages must look like


def queries(cells: list[int], label: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    shape = pir.shape_of(4096, index.ENTRY_BYTES)
    streams = [rng(label).stream(place) for place in range(len(cells))]
    return pir.ask(pir.Matrix(bytes(32), shape), cells, streams).queries


def test_queries_for_different_cells_have_one_length_and_look_uniform() -> None:
    made = queries([0, 4095, 17], "uniform")
    assert made.shape[0] == 3
    for query in made:
        counts = np.bincount(query >> 28, minlength=16)
        expected = len(query) / 16
        assert float(((counts - expected) ** 2 / expected).sum()) < 45  # 15 degrees of freedom, below one in 10,000


def test_no_two_queries_share_their_randomness() -> None:
    """Two queries from one secret would differ by small errors only."""
    one, other = queries([5, 5], "fresh")
    gap = (one - other).astype(np.int32)
    assert np.median(np.abs(gap.astype(np.int64))) > 1 << 24


@pytest.mark.thorough
def test_the_server_log_after_the_boxes_holds_what_the_search_asked_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Everything that the collector opens: a position each, and at most two searches for each class and column."""
    openings: list[int] = []
    original = zero_test.Tester.open

    async def counting(self: zero_test.Tester, ciphertexts: Ciphertexts) -> Points:
        openings.append(len(ciphertexts))
        return await original(self, ciphertexts)

    monkeypatch.setattr(zero_test.Tester, "open", counting)
    study = study_of(9)
    finished(trial_of(study, anyone(8, 9)))
    assert openings[0] == 9
    classes = 3  # of nine respondents with k = 3
    most = sum(2 * int(np.ceil(np.log2(tree.codes))) for tree in trees_of(study))
    assert sum(openings[1:]) <= classes * most


@pytest.mark.thorough
def test_what_is_opened_later_was_blinded_by_every_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers behind the tests are random multiples: the collector reads zero, or noise."""
    held: list[Points] = []
    original = zero_test.Tester.open

    async def watching(self: zero_test.Tester, ciphertexts: Ciphertexts) -> Points:
        points = await original(self, ciphertexts)
        held.append(points)
        return points

    monkeypatch.setattr(zero_test.Tester, "open", watching)
    finished(trial_of(study_of(6), anyone(3, 6)))
    small = Logarithms(64)
    for points in held[1:]:
        numbers = small.of(points)
        assert set(numbers.tolist()) <= {0, -1}
        assert np.array_equal(numbers == 0, points.identities())


@pytest.mark.thorough
def test_runs_on_other_people_in_the_same_classes_look_the_same_to_everyone(seen: Seen) -> None:
    """Sizes, counts and order of messages follow from positions' order and boxes alone (as of the harness's twins)."""
    one, other = trial_of(study_of(4, k=4), [(1, "F", "good")] * 4), trial_of(study_of(4, k=4), [(2, "F", "bad")] * 4)
    shapes = [
        sorted(
            line.shape
            for end in finished(trial).values()
            for lines in end.transcript.entries.values()
            for line in lines
        )
        for trial in (one, other)
    ]
    assert shapes[0] == shapes[1]
    assert len(seen.positions) == 2
