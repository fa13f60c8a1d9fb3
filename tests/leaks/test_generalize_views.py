"""What a party sees in `generalize` follows from its own people and what the ledger names; and attacks on less care.

The simulator gets the counts of each round, which the ledger names, and makes up lists of encrypted people. It never
sees the other party's table. What it makes up is compared with what the parties really saw.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.harness.generalize_cases import draw_people, stream_of, study_of, tables_of
from tests.harness.network import seed_of
from tests.harness.spent import heard, shapes
from tests.leaks.test_group_blocks import spellings
from tests.protocols.generalizers import (
    Outcomes,
    canonical,
    incidence,
    run_rounds,
    sent_back,
    sent_out,
    table_1,
)

from covey.arrays import Longs
from covey.crypto.commutative import BlindingKey
from covey.crypto.elgamal import Ciphertexts, KeyShare, encrypt, opened, rerandomise
from covey.crypto.group import POINT_BYTES, Points, Scalar, Scalars, generator_times, hash_to_group
from covey.crypto.rng import Rng, Stream, derive
from covey.protocols.as_printed.generalize import leakage, matrix, threshold
from covey.protocols.as_printed.generalize.ideal import follow
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import Contingency, Grouped, Regrouped, laid_out
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import Round
from covey.study import Study
from covey.table import Table


@pytest.fixture
def example(tmp_path: Path) -> tuple[Study, dict[str, Table]]:
    """The paper's Table 1 in matrix mode: the round with the most to see."""
    return table_1(
        tmp_path,
    )


def wide_run(options: str = "", people: int = 60) -> tuple[Study, dict[str, Table], Outcomes]:
    study = study_of(k=3, options=options)
    tables = tables_of(study, draw_people(stream_of(11, "views"), people))
    return study, tables, run_rounds(study, tables)


def every_point(outcomes: Outcomes) -> list[list[bytes]]:
    """All elements that anyone received, message by message."""
    found = []
    for name, outcome in outcomes.items():
        peer = next(other for other in outcomes if other != name)
        for kind in (Grouped, Regrouped):
            found += [list(message.points) for message in heard(outcome, peer, kind)]
    return found


# -- the simulator's checks


def test_every_element_is_a_valid_point_and_none_repeats_across_lists_or_rounds(
    example: tuple[Study, dict[str, Table]],
) -> None:
    outcomes = run_rounds(*example)
    lists = every_point(outcomes)
    assert len(lists) == 8  # two rounds, out and back, both ways
    for elements in lists:
        assert len(Points(b"".join(elements))) == 12
    everything = [element for elements in lists for element in elements]
    out_and_back = {element for elements in lists[:2] for element in elements}
    # P1's people under both keys are P2's under both keys: that is the point. Nothing else occurs twice.
    assert len(set(everything)) == 2 * (3 * 12)
    assert len(out_and_back) == 24


@pytest.mark.thorough
def test_where_a_person_stands_in_the_list_that_comes_back_says_nothing(
    example: tuple[Study, dict[str, Table]],
) -> None:
    """Position matches over 200 runs, in a group of its own size; each as likely as chance has it."""
    matches = trials = 0
    first = hash_to_group([b"%d" % number for number in range(9)], "positions")
    label = np.repeat(np.arange(3), 3)
    for run in range(200):
        rng = Rng(seed_of(run))
        order, _ = laid_out(label, 3, rng.stream("order"))
        back = first.take(order)
        matches += sum(one == other for one, other in zip(first, back, strict=True))
        trials += 9
    expected = trials / 9
    assert abs(matches - expected) < 4 * np.sqrt(expected)
    # and in real runs: the owner's own order against the one that comes back, after taking our key off again
    assert position_matches(example, 60) == pytest.approx(60 * 12 / 12, abs=4 * np.sqrt(60))


def position_matches(example: tuple[Study, dict[str, Table]], runs: int) -> int:
    """How often an element of P1's first list stands in the returned list where it stood in the list sent."""
    found = 0
    for seed in range(runs):
        outcomes = run_rounds(*example, seed=seed)
        sent = [element for group in sent_out(outcomes["p2"], "p1")[0] for element in group]
        back = [element for group in sent_back(outcomes["p1"], "p2")[0] for element in group]
        key = key_of("p2", seed)
        found += sum(one == other for one, other in zip(key.blind(Points(b"".join(sent))), back, strict=True))
    return found


def key_of(party: str, seed: int) -> BlindingKey:
    """A party's key of the first round, which a test may know."""
    rng = Rng(derive(seed_of(seed), party)).child("step", "round/1")
    return BlindingKey(rng.child("generalize").stream("key"))


def simulated_lists(matrix: Longs, seed: int) -> tuple[list[list[bytes]], list[list[bytes]]]:
    """Lists with these counts, made up of random points: what P1 and P2 could have got back."""
    random = np.random.default_rng(seed)
    stream = Rng(seed_of(seed)).stream("simulator")
    points = iter(generator_times(Scalars.draw(stream, int(matrix.sum()))))
    rows: list[list[bytes]] = [[] for _ in matrix]
    columns: list[list[bytes]] = [[] for _ in matrix.T]
    for (row, column), count in np.ndenumerate(matrix):
        own = [next(points) for _ in range(int(count))]
        rows[row] += own
        columns[column] += own
    shuffled = [[group[place] for place in random.permutation(len(group))] for group in (*rows, *columns)]
    first, second = shuffled[: len(rows)], shuffled[len(rows) :]
    return [first[place] for place in random.permutation(len(rows))], [
        second[place] for place in random.permutation(len(columns))
    ]


def statistics(first: list[list[bytes]], second: list[list[bytes]]) -> dict[str, object]:
    """What a distinguisher here looks at: lengths, the pattern of what is shared, how the bytes are spread."""
    raw = np.frombuffer(b"".join(element for group in first for element in group), dtype=np.uint8)
    low = raw.reshape(-1, POINT_BYTES)[:, 1:31].ravel()
    counts = np.bincount(low >> 4, minlength=16)
    chi = float(np.sum((counts - len(low) / 16) ** 2 / (len(low) / 16)))
    return {
        "sizes": [sorted(map(len, first)), sorted(map(len, second))],
        "pattern": canonical(incidence(first, second)),
        "spread": chi < 45,  # 15 degrees of freedom: chance exceeds this once in 10^4
        "distinct": len({element for group in first for element in group}) == sum(map(len, first)),
    }


def test_a_simulator_with_the_counts_alone_makes_the_same_view() -> None:
    study, tables, outcomes = wide_run()
    rounds_of = follow(Parameters.of(study), tables).rounds
    compared = [found for found in rounds_of if min(found.groups) > 1]
    backs = zip(sent_back(outcomes["clinic"], "billing"), sent_back(outcomes["billing"], "clinic"), strict=True)
    for number, ((mine, theirs), _) in enumerate(zip(backs, compared, strict=True)):
        made_up = simulated_lists(incidence(mine, theirs), number)
        assert statistics(mine, theirs) == statistics(*made_up)
        assert statistics(mine, theirs)["spread"] is True


def test_the_lengths_of_all_messages_follow_from_the_counts() -> None:
    study = study_of(k=3)
    people = draw_people(stream_of(11, "views"), 60)
    others = {f"Q{place}": person for place, person in enumerate(people.values())}
    runs = [run_rounds(study, tables_of(study, each)) for each in (people, others)]
    assert shapes(runs[0]) == shapes(runs[1])


def test_no_id_and_no_hash_of_one_is_in_any_message() -> None:
    study = study_of(k=3)
    people = {f"canary-{n:04}-{n * 7919 % 10007:05}": p for n, p in enumerate(draw_people(stream_of(3), 40).values())}
    outcomes = run_rounds(study, tables_of(study, people))
    everything = b"\n".join(
        raw for o in outcomes.values() for letters in o.notebook.letters.values() for raw in letters
    )
    for person in people:
        assert not any(spelling in everything for spelling in spellings(person.encode()))
        for number in (1, 2):
            point = hash_to_group([person.encode()], "generalize", b"a test's session", f"round/{number}")
            assert point.data not in everything


# -- the attacks


def read_off(outcomes: Outcomes, mine: list[int]) -> list[set[int]]:
    """What P1 reads if it takes the returned list to be in its own order: which of its people share a group of P2's.

    `mine` has P1's people in the order of the list that it sent.
    """
    back = [element for group in sent_back(outcomes["p1"], "p2")[0] for element in group]
    person = dict(zip(back, mine, strict=True))
    return sorted(({person[element] for element in group} for group in sent_back(outcomes["p2"], "p1")[0]), key=min)


def order_of_p1(study: Study, tables: dict[str, Table], seed: int = 0) -> list[int]:
    """P1's own order of the first round, which it knows."""
    label = Generalization.of(tables["p1"], Parameters.of(study)).groups()
    rng = Rng(derive(seed_of(seed), "p1")).child("step", "round/1").child("generalize")
    order, _ = laid_out(label, int(label.max()) + 1, rng.stream("own order"))
    return [int(place) + 1 for place in order]


def test_a_list_that_comes_back_in_order_gives_the_whole_partition_away(
    example: tuple[Study, dict[str, Table]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, tables = example
    truth = [{1, 4, 10}, {2, 3, 9}, {5, 11, 12}, {6, 7, 8}]
    mine = order_of_p1(study, tables)
    assert read_off(run_rounds(study, tables), mine) != truth
    monkeypatch.setattr(matrix, "_anew", lambda channel, theirs: theirs)
    assert read_off(run_rounds(study, tables), mine) == truth


def test_shuffling_groups_or_people_alone_is_not_enough() -> None:
    """What `laid_out` must do: neither a group's place nor a person's place within it may survive."""
    label = np.repeat(np.arange(6), 5)
    places = np.zeros((6, 6))
    inside = np.zeros((5, 5))
    for run in range(600):
        order, sizes = laid_out(label, 6, Rng(seed_of(run)).stream("order"))
        assert sizes.tolist() == [5] * 6
        groups = order.reshape(6, 5)
        places[np.arange(6), groups[:, 0] // 5] += 1
        for group in groups:
            inside[np.arange(5), group % 5] += 1
    assert places.min() > 60
    assert places.max() < 145  # 100 each, within five deviations
    assert inside.min() > 600
    assert inside.max() < 845  # 720 each


def test_keys_that_are_used_twice_link_people_across_rounds() -> None:
    """Two rounds under one key and one domain: equal ciphertexts are equal people. Ours share no element."""
    ids = [b"%d" % number for number in range(12)]
    key = BlindingKey(Rng(seed_of(1)).stream("key"))
    reused = [set(key.blind(hash_to_group(ids, "rounds"))) for _ in range(2)]
    assert reused[0] == reused[1]
    _, _, outcomes = wide_run()
    lists = sent_out(outcomes["clinic"], "billing"), sent_back(outcomes["clinic"], "billing")
    for per_round in lists:
        assert len(per_round) > 1
        people = [{element for group in groups for element in group} for groups in per_round]
        assert not set.intersection(*people[:2])


def test_counts_show_which_of_ones_people_share_a_finer_value_and_the_ledger_says_so() -> None:
    """Where a whole group of P1's lies in one group of P2's, knowing one person's value is knowing all of theirs."""
    cells = Contingency.of(np.array([0, 0, 0, 1, 1, 1]), np.array([4, 4, 4, 4, 5, 5]))
    assert cells.counts.tolist() == [3, 1, 2]
    sentences = leakage.MATRIX.sentences("observer", small="")
    assert any("whoever knows that value of one of them knows it of all" in sentence for sentence in sentences)


# -- threshold


def opened_tests(outcomes: Outcomes, encryptor: str, adder: str) -> tuple[Points, Points]:
    """What the encryptor's tests of the first round hold, opened with its key, and the marks."""
    share = KeyShare(Rng(derive(seed_of(0), encryptor)).child("step", "round/1").child("hidden").stream("key"))
    message = heard(outcomes[encryptor], adder, threshold.CountTests)[0]
    half = len(message.points) // 2
    tests = Ciphertexts(message.points.slice(0, half), message.points.slice(half, 2 * half))
    return opened(tests, [share.unlock(tests)]), heard(outcomes[encryptor], adder, threshold.Marks)[0].points


def roles_of(study: Study, tables: dict[str, Table]) -> tuple[Round, str, str]:
    """The first round, its encryptor and its adder."""
    found = follow(Parameters.of(study), tables).rounds[0]
    fewer = found.groups[0] <= found.groups[1]
    return found, *(("clinic", "billing") if fewer else ("billing", "clinic"))


def test_the_encryptor_finds_one_mark_for_each_pair_and_random_points_else() -> None:
    study, tables, outcomes = wide_run('compare = "threshold"')
    found, encryptor, adder = roles_of(study, tables)
    seen, marks = opened_tests(outcomes, encryptor, adder)
    pairs = found.groups[0] * found.groups[1]
    assert follow(Parameters.of(study), tables).counts[0].bad(3) > 0
    assert len(seen) == threshold.due_tests(60, min(found.groups), max(found.groups))
    assert len(set(seen)) == len(seen)  # equal differences look different: each has a factor of its own
    assert len(set(marks)) == len(marks) == 2 * pairs
    assert len(set(seen) & set(marks)) == pairs
    small = set(generator_times(Scalars.of([n for n in range(-60, 61) if n])))
    assert not small & set(seen)
    assert not seen.identities().any()


@pytest.mark.thorough
def test_how_many_pairs_are_too_small_does_not_show_in_what_the_encryptor_finds() -> None:
    """The marks that are found stand at random among all, whether every pair is too small or none."""
    places: dict[int, list[int]] = {}
    for k in (2, 9):  # counts of 3: none is too small, or all are
        places[k] = []
        for seed in range(40):
            share, marks, tests = returned_for(np.array([3] * 8), np.array([8] * 8), k, seed)
            seen = set(opened(tests, [share.unlock(tests)]))
            places[k] += [place for place, mark in enumerate(marks) if mark in seen]
        assert len(places[k]) == 8 * 40
    spread = [np.bincount(np.array(places[k]) // 4, minlength=4) for k in (2, 9)]
    for counts in spread:  # 80 to each quarter
        assert abs(counts - 80).max() < 5 * np.sqrt(80)


def test_the_marks_of_a_real_run_stand_in_random_order() -> None:
    """Those that stand for `large enough` first would let the encryptor count the pairs that are too small."""
    study, tables, outcomes = wide_run('compare = "threshold"')
    found, encryptor, adder = roles_of(study, tables)
    rng = Rng(derive(seed_of(0), adder)).child("step", "round/1").child("hidden")
    pairs = found.groups[0] * found.groups[1]
    large = set(generator_times(Scalars.draw(rng.stream("large"), pairs)))
    marks = list(heard(outcomes[encryptor], adder, threshold.Marks)[0].points)
    assert large < set(marks)
    assert 0 < sum(mark in large for mark in marks[:pairs]) < pairs


def test_how_far_two_tests_are_apart_says_nothing() -> None:
    """Each has a factor of its own: else those of a pair would stand a step apart from each other, or from its mark."""
    for seed in range(3):
        share, marks, tests = returned_for(np.array([0, 1, 2, 5]), np.array([5] * 4), 4, seed)
        seen = opened(tests, [share.unlock(tests)])
        points = Points.join([seen, marks.take([place for place, own in enumerate(marks) if own not in set(seen)])])
        pairs = np.array([(one, other) for one in range(len(points)) for other in range(len(points)) if one != other])
        apart = points.take(pairs[:, 0]).minus(points.take(pairs[:, 1]))
        assert apart.distinct()


def returned_for(counts: Longs, sizes: Longs, k: int, seed: int) -> tuple[KeyShare, Points, Ciphertexts]:
    """The tests and the shuffled marks of some counts."""
    rng = Rng(seed_of(seed))
    share = KeyShare(rng.stream("key"))
    encrypted = encrypt(counts.tolist(), share.public, rng.stream("counts"))
    large, small = (generator_times(Scalars.draw(rng.stream(name), len(counts))) for name in ("large", "small"))
    tests = threshold.tested(encrypted, sizes, large, small, share.public, k, rng)
    marks = Points.join([large, small])
    return share, marks.take(rng.stream("marks").permutation(len(marks))), tests


def test_the_adder_sees_ciphertexts_and_the_outcome_alone() -> None:
    study, tables, outcomes = wide_run('compare = "threshold"')
    found, encryptor, adder = roles_of(study, tables)
    bits = heard(outcomes[adder], encryptor, threshold.Bits)[0].points
    assert len(set(bits)) == len(bits) == 2 * 60 * (min(found.groups) - 1)
    received = [entry.header for entry in outcomes[adder].notebook.received_entries]
    tags = {header.tag for header in received if not header.step.startswith("round/") or "round/1" in header.step}
    compared = {"match.ask", "match.reply", "match.result"}
    assert tags - compared == {"generalize.shape", "generalize.key", "generalize.bits", "covey.public-key"}


def guesses_right(rerandomise: Callable[[Ciphertexts, Points], Ciphertexts]) -> bool:
    """Whether the encryptor, who knows its own randomness, can test a guess of who is in a group of the adder's."""
    rng = Rng(seed_of(5))
    share = KeyShare(rng.stream("key"))
    randomness = Scalars.draw(rng.stream("bits"), 4)
    bits = encrypt([1, 0, 1, 1], share.public, Rng(seed_of(5)).stream("bits"))
    assert bits.first == generator_times(randomness)
    group = bits.take([0, 2, 3]).total()
    factor = Scalar.fresh(rng.stream("factor"))
    test = rerandomise(group.plus_numbers([-1]).scaled(factor), share.public)
    content = opened(test, [share.unlock(test)])  # factor * (3 - 1) * G
    raw = randomness.reveal()
    one, two, three = (Scalars(raw[32 * place : 32 * place + 32]) for place in (0, 2, 3))
    guess = one.plus(two).plus(three)  # the sum of the randomness of the people in the guess
    return content.times(guess) == test.first.times(Scalars.of([2]))


def test_without_fresh_randomness_the_encryptor_could_test_who_is_in_a_group() -> None:
    assert guesses_right(lambda test, key: test)
    stream = Rng(seed_of(6)).stream("fresh")
    assert not guesses_right(lambda test, key: rerandomise(test, key, stream))


def test_what_the_adder_returns_was_re_randomised_and_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def watched(ciphertexts: Ciphertexts, key: Points, stream: Stream) -> Ciphertexts:
        calls.append(len(ciphertexts))
        return rerandomise(ciphertexts, key, stream)

    monkeypatch.setattr(threshold, "rerandomise", watched)
    orders = set()
    for seed in range(3):
        share, marks, tests = returned_for(np.array([0, 1, 2, 5]), np.array([5, 5, 5, 5]), 4, seed)
        known = set(marks)
        orders.add(tuple(place for place, own in enumerate(opened(tests, [share.unlock(tests)])) if own in known))
    assert calls == [24, 24, 24]
    assert len(orders) == 3
    assert (0, 7, 14, 23) not in orders  # where they would stand in order


def test_groups_are_numbered_by_their_values_and_never_sent_in_that_order(
    example: tuple[Study, dict[str, Table]],
) -> None:
    study, tables = example
    orders = {tuple(order_of_p1(study, tables, seed)) for seed in range(20)}
    assert len(orders) == 20
    for order in orders:
        assert sorted(order) == list(range(1, 13))
