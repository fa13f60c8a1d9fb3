"""Parts of the rule: words of digits, costs in whole numbers, windows, what is refused, and sentences."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.protocols.peelers import study_of
from tests.protocols.sealed_runs import expected, released
from tests.reference.studies import draw
from tests.unit.mpc.boxes import holds, run, seeds_of

from covey.arrays import Words
from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.mpc import Box, Clear, Disclosure
from covey.protocols.peel import agenda, nodes
from covey.protocols.peel.agenda import Window, width_of_next
from covey.protocols.peel.coding import Coding, bits_of, side_by_side
from covey.protocols.peel.costs import UNIT, Lattice, logarithm
from covey.protocols.peel.disclosures import SENTENCES
from covey.protocols.peel.intake import require_range
from covey.protocols.peel.narrowing import borne_alone
from covey.protocols.peel.record_word import in_range
from covey.protocols.peel.rule import Peeling
from covey.protocols.peel.sizes import BITS, joint_records
from covey.protocols.peel.terms import Terms

UNBALANCED = Hierarchy.from_paths(
    [("a", "ab", "x", "*"), ("b", "ab", "x", "*"), ("c", "c", "x", "*"), ("d", "d", "d", "*"), ("e", "e", "e", "*")]
).with_missing()
FLAT = Hierarchy.from_paths([(f"v{leaf}", "*") for leaf in range(300)])


def keys_of(coding: Coding, codes: np.ndarray, node: list[int]) -> list[bytes]:
    bits = np.concatenate(
        [bits_of(*pair) for pair in zip(coding.words(codes), [own.width for own in coding.columns], strict=True)]
    )
    return [column.tobytes() for column in bits[coding.key(node)].T]


def test_two_records_have_one_key_where_their_labels_are_the_same() -> None:
    coding = Coding.of([UNBALANCED, FLAT], ["place", "code"])
    codes = np.array([[leaf % 6, leaf * 7 % 300] for leaf in range(60)], np.int32).T
    for node in np.ndindex(4, 2):
        labels = [(UNBALANCED.up[node[0], a], FLAT.up[node[1], b]) for a, b in codes.T]
        keys = keys_of(coding, codes, list(node))
        assert [[one == other for other in keys] for one in keys] == [
            [one == other for other in labels] for one in labels
        ]


def test_opened_digits_read_as_the_labels_that_made_them() -> None:
    coding = Coding.of([UNBALANCED], ["place"])
    codes = np.arange(UNBALANCED.codes, dtype=np.int32)[np.newaxis]
    bits = bits_of(coding.words(codes)[0], coding.width)
    for level in range(UNBALANCED.levels):
        assert (coding.labels(bits, np.full(codes.shape, level, np.int32)) == UNBALANCED.up[level]).all()


def test_digits_that_no_label_has_stop_the_run() -> None:
    coding = Coding.of([FLAT], ["code"])
    with pytest.raises(Aborted, match="no hierarchy of the study has"):
        coding.labels(np.ones((coding.width, 1), dtype=bool), np.zeros((1, 1), np.int32))


def test_words_of_more_than_64_bits_are_shared_and_opened_as_they_are() -> None:
    coding = Coding.of([FLAT] * 12, [f"code {place}" for place in range(12)])
    codes = np.random.default_rng(1).integers(0, 300, (12, 50)).astype(np.int32)
    words = side_by_side(coding.words(codes), [own.width for own in coding.columns])
    assert coding.width == 108
    assert (coding.labels(bits_of(words, coding.width), np.zeros(codes.shape, np.int32)) == codes).all()


def test_a_hierarchy_that_needs_too_many_bits_is_refused_by_name() -> None:
    """In a chain each level splits one leaf off: a bit a level."""

    def chain(levels: int) -> Hierarchy:
        paths = [[str(leaf) if level < leaf else f"c{level}" for level in range(levels)] for leaf in range(levels)]
        return Hierarchy.from_paths([(*path, "*") for path in paths])

    assert Coding.of([chain(60)], ["fine"]).width == 59
    with pytest.raises(InputError, match="column 'deep'"):
        Coding.of([chain(70)], ["deep"])


def test_logarithms_in_whole_numbers_are_those_of_the_numbers() -> None:
    numbers = np.array([1, 2, 3, 5, 1000, 12345, 2**31, 2**32 - 1])
    for number, found in zip(numbers.tolist(), logarithm(numbers).tolist(), strict=True):
        assert 0 <= math.log2(number) * 2**16 - found < 1.001


@pytest.mark.parametrize("measure", ["lm", "em", "em-monotone", "precision"])
def test_costs_are_those_of_the_measure(measure: str) -> None:
    counts = np.array([5, 0, 7, 100, 3, 1], np.int64)
    (cost,) = Lattice((UNBALANCED,), measure, (1,), (counts,)).columns  # type: ignore[arg-type]
    wanted, scale = integer_costs((UNBALANCED,), measure, (counts,))
    assert np.abs(cost / UNIT - wanted[0] / scale).max() < 1e-3


def test_a_window_ends_where_about_15_percent_have_left() -> None:
    def after(nodes: int, before: int, left: int, records: int = 100_000) -> int:
        window = Window(np.zeros((nodes, 2), np.int32), before)
        return width_of_next([window, window], left, records)

    assert after(10, 100_000, 90_000) == 15
    assert after(10, 100_000, 99_000) == 20  # never more than twice as many
    assert after(10, 100_000, 50_000) == 3
    assert after(128, 100_000, 100_000) == 128
    assert after(1, 100_000, 10_000) == 1
    assert after(10, 2_000, 1_900, records=2_000) == 20  # of a small table, which are visited in turn
    assert after(40, 2_000, 2_000, records=2_000) == 64


@pytest.mark.parametrize(("asked", "words"), [
    ({"t": 0.2}, "t is not for a joint study; ask for l"),
    ({"l": 2.0, "diversity": "entropy"}, 'take diversity = "frequency" with the same l'),
    ({"site_l": 2}, 'take protocol = "cluster"'),
    ({"l": 2.0, "l_insider": 2.0, "diversity": "distinct"}, "leave out diversity"),
])  # fmt: skip
def test_what_the_rule_does_not_keep_is_refused_by_name_with_what_to_do(asked: dict[str, object], words: str) -> None:
    study = study_of()
    with pytest.raises(InputError, match=words):
        Terms.of(replace(study, privacy=replace(study.privacy, **asked)))  # type: ignore[arg-type]


def test_values_that_are_not_listed_are_compared_nowhere() -> None:
    study = study_of(privacy="l = 2")
    unlisted = tuple(replace(column, values=None) if column.name == "ill" else column for column in study.columns)
    with pytest.raises(InputError, match="column 'ill': l needs its values listed"):
        Terms.of(replace(study, columns=unlisted))


def test_the_three_ways_in_share_fourteen_sentences_of_25_words_at_most() -> None:
    assert len(SENTENCES) <= 14
    assert all(len(sentence.split()) <= 25 for sentence in SENTENCES.values())


@pytest.mark.parametrize(("numbers", "k"), [([3, 4, 5], 12), ([0, 0, 12], 12)])
def test_holders_who_have_k_together_learn_how_many(numbers: list[int], k: int) -> None:
    async def role(box: Box, place: int) -> int:
        return await joint_records(box, [box.constant(number, BITS, 1) for number in numbers], k)

    assert run(role) == sum(numbers)


def test_holders_who_have_fewer_than_k_together_learn_no_more() -> None:
    box = Clear(seeds_of(0))
    with pytest.raises(Unmet, match="fewer than k = 13 records"):
        asyncio.run(joint_records(box, [box.constant(number, BITS, 1) for number in (3, 4, 5)], 13))
    assert [(entry.says.key, entry.width) for entry in box.ledger] == [("total", 1)]


@pytest.mark.parametrize("length", [3, 61], ids=["short", "hashed"])
@pytest.mark.parametrize(
    ("values", "alone"), [([4], True), ([4, 4], False), ([1, 2, 1, 2, 3], True), ([7, 7, 7, 0, 0], False)]
)
def test_one_bit_a_column_says_if_one_record_alone_has_a_value(values: list[int], alone: bool, length: int) -> None:
    async def role(box: Box, place: int) -> list[bool]:
        both = np.array([value * 8 + 5 for value in values])
        columns = [slice(0, length), slice(length, length + 3)]
        found: list[bool] = (await borne_alone(box, box.public(both, length + 3), columns)).tolist()
        return found

    assert run(role) == [alone, len(values) == 1]


def test_a_run_that_was_cut_off_between_windows_goes_on_to_the_same_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agenda of the second attempt begins anew, and decides on the windows of the first one once more."""
    for room, name, value in ((agenda, "SMALL", 0), (nodes, "FEW", 0), (nodes, "WHOLE", 0), (agenda, "FIRST", (3, 6))):
        monkeypatch.setattr(room, name, value)
    drawn, kept = draw(7, tmp_path), list[Peeling]()

    async def cut(state: Peeling) -> None:
        kept.append(state)
        if len(state.windows) == 4:
            raise Aborted("cut off", resumable=True)

    with pytest.raises(Aborted):
        asyncio.run(released(Clear(seeds_of(7)), -1, drawn, None, reached=cut))
    box = kept[-1].base.box
    assert asyncio.run(released(box, -1, drawn, None, state=kept[-1])) == expected(drawn, None)


@pytest.mark.parametrize("records", [1, 3, 70])
def test_a_word_beyond_its_domain_is_found_and_the_holder_is_named(records: int) -> None:
    domains = [(np.array([0, 1, 4], np.uint64), 3), (np.zeros(0, np.uint64), 2), (np.arange(11, dtype=np.uint64), 4)]
    good = np.array([4 << 6 | 3 << 4 | 10] * records, np.uint64)
    for wrong in (2 << 6, 4 << 6 | 11):
        bad = good.copy()
        bad[-1] = wrong

        async def role(box: Box, place: int, bad: Words = bad) -> list[bool]:
            first, second = [
                await box.share(holds(place, holder, x), 9, records, holder) for holder, x in ((0, good), (2, bad))
            ]
            await require_range(box, [first], [domains], ["north"])
            flags = await box.open(await in_range(box, second, domains), says=Disclosure("test"))
            with pytest.raises(PeerError, match="cells that the study does not know") as raised:
                await require_range(box, [first, second], [domains] * 2, ["north", "south"])
            assert raised.value.party == "south"
            return [bool(flag) for flag in flags]

        assert run(role) == [True] * (records - 1) + [False]
