"""A party that deviates from `peel` with columns split: where others notice, and where they cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from msgspec.structs import replace as changed
from tests.harness.columns_cases import THREE, TWO, draw_people, stream_of
from tests.harness.harness import answers, run
from tests.harness.parties import run_parties
from tests.harness.peel_columns_cases import study_of, trial_of
from tests.harness.trial import Trial

from covey.arrays import Ints, Longs
from covey.crypto.group import ORDER, Points, Scalars, generator_times
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import CoveyError, PeerError, Unmet
from covey.judge import verify
from covey.protocols.peel_columns import asking, classes, groups, leftover, marginals, role, tags, visits
from covey.protocols.peel_columns.asking import Due
from covey.protocols.peel_columns.groups import Groups
from covey.protocols.peel_columns.parameters import Parameters
from covey.wire import Channel, Chunk, Vector

PEOPLE = draw_people(stream_of(1, "liars"), 60)
Answers = list[Groups]


def trial(privacy: str = "", options: str = "nodes = 20") -> Trial:
    return trial_of(study_of(THREE, privacy=privacy, options=options), PEOPLE)


def errors(tried: Trial) -> dict[str, CoveyError | None]:
    return {name: end.error for name, end in run(tried).items()}


def lying(monkeypatch: pytest.MonkeyPatch, lie: Callable[[Answers], Answers]) -> None:
    """The evaluator changes its answers."""
    judged = asking.judged

    def other(params: Parameters, sums: Sequence[int], points: Points, due: Due, least: int, layers: int) -> Answers:
        return lie(judged(params, sums, points, due, least, layers))

    monkeypatch.setattr(asking, "judged", other)


def shorten(found: Answers) -> Answers:
    return [[members[:2] for members in each] for each in found]


def swap(found: Answers) -> Answers:
    """Two groups exchange a member each."""
    for each in found:
        if len(each) > 1:
            each[0][0], each[1][0] = each[1][0], each[0][0]
    return found


def repeat(found: Answers) -> Answers:
    return [[np.concatenate([members, members[:1]]) for members in each] for each in found]


def invent(found: Answers) -> Answers:
    return [[members + 1000 for members in each] for each in found]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (shorten, "a group of fewer than 3"),
        (swap, "people of one group differ in our columns"),
        (repeat, "or one twice"),
        (invent, "a member that there is not"),
    ],
)
def test_wrong_groups_end_the_run_by_the_evaluators_name(
    lie: Callable[[Answers], Answers], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying(monkeypatch, lie)
    found = errors(trial())
    named = [error for error in found.values() if isinstance(error, PeerError) and error.party == "judge"]
    assert named
    assert any(reason in str(error) for error in named)


def test_a_group_that_is_not_diverse_is_noticed_by_the_owner_of_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = asking.judged

    def careless(params: Parameters, sums: Sequence[int], points: Points, due: Due, least: int, layers: int) -> Answers:
        chosen = [place for place in range(len(sums)) if place // due.people % layers == 0]
        return judged(params, [sums[place] for place in chosen], points.take(chosen), due, least, 1)

    monkeypatch.setattr(asking, "judged", careless)
    found = errors(trial("l = 2"))
    assert "does not keep l in our columns" in str(found["clinic"])


def test_people_who_are_left_out_go_unnoticed_and_the_release_still_keeps_k(monkeypatch: pytest.MonkeyPatch) -> None:
    """The docstring's hole: a group that is not named is as if it were too small."""
    lying(monkeypatch, lambda found: [each[1:] if len(each) > 1 else each for each in found])
    tried = trial()
    ends = run(tried)
    assert all(end.error is None for end in ends.values())
    assert answers(tried, ends) != dict(tried.ideal)
    finished = ends["clinic"].finished
    assert finished is not None and finished.release is not None
    assert verify(finished.release, tried.study).answer


def test_holders_who_are_told_different_groups_notice_before_anything_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Channel.send_all

    async def equivocate(channel: Channel, to: str, kind: type[Chunk[bytes]], items: bytes, **more: int) -> None:
        if kind is asking.Alike and to == "office" and channel.step.startswith("visit"):
            items = groups.pack([[]])
        await send(channel, to, kind, items, **more)

    monkeypatch.setattr(Channel, "send_all", equivocate)
    tried = trial_of(study_of(THREE, k=60, options="nodes = 1"), PEOPLE)
    found = errors(tried)
    assert any("told it other groups than us" in str(error) for error in found.values())


def test_classes_that_differ_are_not_united(monkeypatch: pytest.MonkeyPatch) -> None:
    lying(monkeypatch, lambda found: [[np.concatenate(each)] if len(each) > 1 else each for each in found])
    params = Parameters.of(study_of())
    boxes = np.array([[0, 0], [1, 1], [1, 1], [0, 0], [2, 1]], dtype=np.int32)

    async def role(channel: Channel) -> object:
        if channel.me == params.evaluator:
            await asking.answer_classes(channel.at("classes"), params, 60)
            return None
        own = boxes[:, :2]
        trees = [column.tree() for column in params.study.quasi[:2]]
        return await classes.unite(
            channel.at("classes"), params, trees, (Secret(bytes(32)), Secret(bytes(32))), own, np.arange(5)
        )

    outcomes = run_parties(dict.fromkeys((*params.holders, params.evaluator), role))
    assert all("differ in our columns" in str(outcomes[name].error) for name in params.holders)


def test_a_holder_whose_masks_do_not_cancel_out_leaves_nobody_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = tags.Disguise.masks

    def other(disguise: tags.Disguise, layer: int, holder: int) -> list[int]:
        found = masks(disguise, layer, holder)
        return [mask + place + 1 for place, mask in enumerate(found)] if holder == 1 else found

    monkeypatch.setattr(tags.Disguise, "masks", other)
    found = errors(trial())
    assert all(isinstance(found[name], Unmet) for name in THREE)


def test_a_holder_that_swaps_its_own_people_is_believed_as_if_it_had_such_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A holder that lies about its own values changes the classes: no protocol can tell that from another table."""
    parts = visits.HolderPeeling._parts

    def other(peeling: visits.HolderPeeling, levels: Ints, people: Longs) -> list[Ints]:
        own = parts(peeling, levels, people)
        first = next(iter(peeling.table.quasi), None)
        return [part[::-1].copy() for part in own] if first is not None and first.name == "income" else own

    monkeypatch.setattr(visits.HolderPeeling, "_parts", other)
    tried = trial()
    ends = run(tried)
    assert all(end.error is None for end in ends.values())
    assert answers(tried, ends) != dict(tried.ideal)


def test_a_holder_that_aims_at_anothers_values_learns_nobody_it_guessed_right() -> None:
    """The leader sends T less the office's hash of a guess: with that hash, whoever it guessed right would be alike."""
    params = Parameters.of(study_of(TWO))
    people, draws = 80, np.random.default_rng(3)
    truth, guess = (draws.integers(0, 4, people).astype(np.int32) for _ in range(2))
    seed, own = Secret(b"s" * 32), Secret(b"o" * 32)

    async def aim(at: Channel) -> Groups:
        disguise = tags.Disguise(seed, 2, people)
        hashes = tags.pseudorandom(derive(seed, "worth", 0, 1), [guess], people)
        await at.send(params.evaluator, Due(people, 1))
        sent = disguise.masked(0, 0, [1000 - each for each in hashes], disguise.order())
        await at.send_all(params.evaluator, asking.MaskedPositions, sent)
        await at.send_all(params.evaluator, asking.Blinds, disguise.points(0))
        [found] = groups.unpack(await at.receive_all(params.evaluator, asking.Alike, None), 1, people, 3)
        return [disguise.order()[members] for members in found]

    async def role(channel: Channel) -> object:
        at = channel.at("visit")
        if channel.me == params.evaluator:
            await asking.answer(at, params, await asking.receive_due(at, params, Due(people, 1)), 3, 0)
            return None
        if channel.me == params.leader:
            return await aim(at)
        return await asking.ask(at, params, [asking.HolderVisit(seed, own, [[truth]])], people, 3, 0)

    ends = run_parties(dict.fromkeys((*params.holders, params.evaluator), role))
    found = ends[params.leader].unwrap()
    assert isinstance(found, list) and found
    assert all(len(set(guess[members].tolist())) == 1 for members in found)  # as if its guesses were its values


@pytest.mark.parametrize(
    ("numbers", "reason", "liar"),
    [
        (ORDER.to_bytes(32, "little") * 2, "not reduced modulo the group's order", "clinic"),
        (bytes(64), "add up to zero, which chance never does: one of the holders did not", None),
        (bytes(32), "32 bytes, expected 64", "clinic"),
    ],
)
def test_numbers_that_none_can_be_are_refused(numbers: bytes, reason: str, liar: str | None) -> None:
    """By name, but for a zero sum: whoever sends last, or anybody who knows the masks, can cause one."""
    params = Parameters.of(study_of())

    async def role(channel: Channel) -> object:
        at = channel.at("visit")
        if channel.me == params.evaluator:
            due = await asking.receive_due(at, params, Due(2, 1))
            await asking.answer(at, params, due, 2, 0)
            return None
        if channel.me == params.leader:
            await at.send(params.evaluator, Due(2, 1))
        await at.send(params.evaluator, asking.MaskedPositions(numbers if channel.me == params.leader else bytes(64)))
        if channel.me == params.leader:
            drawn = generator_times(Scalars.of([2, 3]))
            await at.send(params.evaluator, asking.Blinds(drawn))
        return None

    error = run_parties(dict.fromkeys((*params.holders, params.evaluator), role))[params.evaluator].error
    assert (error.party if isinstance(error, PeerError) else None) == liar
    assert reason in str(error)


@pytest.mark.parametrize("due", [Due(3, 1), Due(2, 2)])
def test_more_people_or_visits_than_there_can_be_are_refused(due: Due) -> None:
    params = Parameters.of(study_of())

    async def role(channel: Channel) -> object:
        if channel.me == params.evaluator:
            return await asking.receive_due(channel.at("visit"), params, Due(2, 1))
        if channel.me == params.leader:
            await channel.at("visit").send(params.evaluator, due)
        return None

    error = run_parties(dict.fromkeys((*params.holders, params.evaluator), role))[params.evaluator].error
    assert isinstance(error, PeerError)
    assert "expected at most 1 of 2" in str(error)


@pytest.mark.few(1)
@pytest.mark.parametrize("counts", [[1, 1, 1, 0], [99, 0, 0, 0], [2, 0, 0, 0], [20, 20, 20, 20]])
def test_counts_that_no_table_has_are_refused(counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The office says how many people have each income, and none: of 60, and three is the fewest that may be told."""
    said, sent = marginals.Frequencies, Channel.broadcast_all

    async def lie(channel: Channel, kind: type[Chunk[Vector]], items: Vector) -> None:
        if kind is said and channel.me == "office":
            items = Vector(np.array(counts, np.uint64))
        await sent(channel, kind, items)

    monkeypatch.setattr(Channel, "broadcast_all", lie)
    found = errors(trial())
    assert any("its counts of column 'income' cannot be" in str(error) for error in found.values())


def test_a_holder_that_tells_another_size_of_the_release_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = role.tell

    async def other(channel: Channel, params: Parameters, told: role.Told) -> None:
        await tell(channel, params, changed(told, rows=told.rows + 1) if channel.me == "office" else told)

    monkeypatch.setattr(role, "tell", other)
    found = errors(trial())["judge"]
    assert isinstance(found, PeerError)
    assert found.party == "office"


def test_a_place_that_no_class_has_is_refused_where_people_are_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    made = leftover.Cheapest
    send = Channel.send_all

    async def lie(channel: Channel, to: str, kind: type[Chunk[bytes]], items: bytes, **more: int) -> None:
        await send(channel, to, kind, b"\xff" * len(items) if kind is made else items, **more)

    monkeypatch.setattr(Channel, "send_all", lie)
    tried = next(
        each
        for seed in range(50)
        if _left_over(each := trial_of(study_of(k=4, options='leftover = "merge"'), draw_people(stream_of(seed), 23)))
    )
    found = errors(tried)
    assert any("it names a place that there is not" in str(error) for error in found.values())


def _left_over(tried: Trial) -> bool:
    """True if a run without merging would withhold somebody."""
    plain = replace(tried.study, options={})
    tables = {name: table for name, table in tried.tables.items() if table is not None}
    figures = tried.protocol.ideal(plain, tables).figures
    return figures is not None and figures.withheld > 0
