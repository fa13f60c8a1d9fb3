"""What each role sees when `peel` runs over columns: the attacks that it withstands, and what sizes tell."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pytest
from tests.harness.columns_cases import TWO, draw_people, stream_of
from tests.harness.harness import run
from tests.harness.peel_columns_cases import study_of, trial_of
from tests.harness.trial import Trial

from covey.arrays import Bits, Ints, Longs
from covey.bench.papers import columns_attack as attack
from covey.crypto.group import ORDER, POINT_BYTES, Points, Scalars, generator_times
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.protocols.peel_columns import asking, groups, leakage, pairs, tags, visits
from covey.protocols.peel_columns.asking import Due, HolderVisit
from covey.protocols.peel_columns.groups import Groups
from covey.protocols.peel_columns.parameters import Parameters
from covey.table import group
from covey.wire import Channel


@dataclass
class Seen:
    """One question as the evaluator sees it."""

    parts: list[list[int]]
    sums: list[int]
    points: Points
    due: Due
    answers: list[Groups]

    def numbers(self) -> Longs:
        """Each position's group at the first visit, by its tag."""
        return tags.alike(tags.tags(self.sums[: self.due.people], self.points.slice(0, self.due.people)))


@dataclass
class Spy:
    """Listens at the evaluator, and at a holder."""

    evaluator: list[Seen] = field(default_factory=list)
    holder: list[tuple[Longs, list[Groups]]] = field(default_factory=list)
    """The order of people at each visit, and the groups that it was told."""
    asked: dict[str, list[HolderVisit]] = field(default_factory=dict)
    """What each holder brought to each visit."""
    peeling: visits.HolderPeeling | None = None

    def listen(self, patch: pytest.MonkeyPatch, me: str = "office") -> None:
        add_up, judged, ask, digest = tags.add_up, asking.judged, asking.ask, visits.HolderPeeling.digest
        parts: list[list[list[int]]] = []

        def heard_parts(given: list[list[int]]) -> list[int]:
            parts.append(given)
            return add_up(given)

        def heard_sums(
            params: Parameters, sums: Sequence[int], points: Points, due: Due, least: int, layers: int
        ) -> list[Groups]:
            found = judged(params, sums, points, due, least, layers)
            self.evaluator.append(Seen(parts[-1], list(sums), points, due, found))
            return found

        async def heard_answers(
            channel: Channel, params: Parameters, asked: Sequence[HolderVisit], people: int, least: int, turn: int
        ) -> list[Groups]:
            self.asked.setdefault(channel.me, []).append(asked[0])
            found = await ask(channel, params, asked, people, least, turn)
            if channel.me == me and channel.step.startswith("visit"):
                order = tags.Disguise(asked[0].seed, len(params.holders), people).order()
                self.holder.append((order, found))
            return found

        def heard_end(peeling: visits.HolderPeeling) -> bytes:
            self.peeling = peeling
            return digest(peeling)

        patch.setattr(tags, "add_up", heard_parts)
        patch.setattr(asking, "judged", heard_sums)
        patch.setattr(asking, "ask", heard_answers)
        patch.setattr(visits.HolderPeeling, "digest", heard_end)


def spied(
    monkeypatch: pytest.MonkeyPatch, people: int = 200, k: int = 5, options: str = "nodes = 25", privacy: str = ""
) -> tuple[Spy, Trial]:
    """A run of random people, listened to."""
    study = study_of(TWO, k=k, options=options, privacy=privacy)
    trial, spy = trial_of(study, draw_people(stream_of(1, "peel views"), people)), Spy()
    with monkeypatch.context() as patch:
        spy.listen(patch)
        ends = run(trial)
    assert all(end.error is None for end in ends.values())
    return spy, trial


def elsewhere(trial: Trial) -> Longs:
    """Each person's values at the clinic, as one number: what the office must not learn."""
    table = trial.tables["clinic"]
    assert table is not None
    return group([*table.codes], table.rows)[0]


# -- differences


def pairs_with_a_common_difference(differences: dict[tuple[int, int], object]) -> attack.Pairs:
    """Pairs of tuples whose difference some other pair has too: they differ in one holder's part."""
    times = Counter(differences.values())
    return {pair for pair, difference in differences.items() if times[difference] > 1}


@pytest.mark.parametrize("shown", ["sums", "blinded sums", "tags"])
def test_differences_of_sums_tell_who_shares_a_holders_values_and_differences_of_tags_do_not(shown: str) -> None:
    """Sums T = a + b have T(a, b) - T(a, b') = T(a', b) - T(a', b'). Their inverses in the exponent have not."""
    first, second = np.arange(36) // 6, np.arange(36) % 6
    disguise = tags.Disguise(Secret(hashlib.sha256(b"differences").digest()), 2, 36)
    own = [
        tags.pseudorandom(Secret(bytes([holder]) * 32), [part.astype(np.int32)], 36)
        for holder, part in enumerate((first, second))
    ]
    sums = [(a + b) % ORDER for a, b in zip(*own, strict=True)]
    order, blinds = disguise.order(), disguise.blinds(0)
    parts = [tags.read(disguise.masked(0, holder, own[holder], order)) for holder in range(2)]
    blinded, points = tags.add_up(parts), disguise.points(0)
    assert blinded == [blind * sums[person] % ORDER for blind, person in zip(blinds, order.tolist(), strict=True)]
    found = tags.tags(blinded, points).take(np.argsort(order))
    assert found == generator_times(Scalars.of(tags.inverses(sums)))
    seen: dict[tuple[int, int], object] = {}
    places = np.argsort(order).tolist()
    for one, other in combinations(range(36), 2):
        if shown == "sums":
            seen[one, other] = min((sums[one] - sums[other]) % ORDER, (sums[other] - sums[one]) % ORDER)
        elif shown == "blinded sums":
            difference = (blinded[places[one]] - blinded[places[other]]) % ORDER
            seen[one, other] = min(difference, ORDER - difference)
        else:
            both = found.slice(one, one + 1), found.slice(other, other + 1)
            seen[one, other] = min(both[0].minus(both[1]).pack(), both[1].minus(both[0]).pack())
    claimed = pairs_with_a_common_difference(seen)
    truth = {(i, j) for i, j in seen if first[i] == first[j] or second[i] == second[j]}
    if shown == "sums":
        assert truth <= claimed
        # what else recurs are the diagonals of a rectangle, which the sides give away
        assert len(truth) > 100
    else:
        assert claimed == set()


# -- who is alike


def test_a_holder_is_told_the_classes_and_no_other_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shares another's values without sharing a class is not found: the attack on `cluster`'s pivot fails."""
    spy, trial = spied(monkeypatch)
    assert spy.peeling is not None
    label, left, told = spy.peeling.label, np.arange(200), []
    for _, answers in spy.holder:
        for members in answers[0]:
            told.append(set(left[members].tolist()))
        gone = {person for members in told for person in members}
        left = np.array([person for person in range(200) if person not in gone])
    classes = [set(np.flatnonzero(label == number).tolist()) for number in range(int(label.max()) + 1)]
    assert sorted(map(sorted, told)) == sorted(map(sorted, classes))
    truth = elsewhere(trial)
    alike = {(i, j) for i, j in combinations(range(200), 2) if truth[i] == truth[j]}
    together = {pair for members in classes for pair in combinations(sorted(members), 2)}
    found = attack.score(together, set(combinations(range(200), 2)), truth)
    assert found.precision < 0.6 and found.recall < 0.5  # as readers of the release guess who know their own class
    assert alike - together


def test_the_evaluator_cannot_say_whom_its_tags_are_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows even, here, who is in play, and takes people in the order that it gets them."""
    spy, trial = spied(monkeypatch)
    truth, claimed, compared = elsewhere(trial), set[tuple[int, int]](), set[tuple[int, int]]()
    label = np.full(200, -1)
    for seen, (order, answers) in zip(spy.evaluator, spy.holder, strict=False):
        in_play = np.flatnonzero(label < 0)
        number = seen.numbers()
        assert len(number) == len(in_play) == len(order)
        for one, other in combinations(range(len(number)), 2):
            pair = (int(in_play[one]), int(in_play[other]))
            compared.add(pair)
            if number[one] == number[other]:
                claimed.add(pair)
        for members in answers[0]:
            label[in_play[members]] = 1
    found = attack.score(claimed, compared, truth)
    assert found.claims > 500
    assert found.precision < 1.15 * found.base


def test_the_evaluator_and_a_holder_see_who_is_alike_elsewhere_and_cannot_try_guesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They take masks and blinds off: what is left are hashes under a key that the other holder has alone."""
    spy, _ = spied(monkeypatch, 60, options="nodes = 5")
    assert len(spy.asked["office"]) > 2
    for seen, ours, theirs in zip(spy.evaluator, spy.asked["clinic"], spy.asked["office"], strict=True):
        disguise, parts = tags.Disguise(ours.seed, 2, seen.due.people), theirs.layers[0]
        bare = zip(seen.parts[1], disguise.masks(0, 1), tags.inverses(disguise.blinds(0)), strict=True)
        hashes = np.array([(number - mask) * inverse % ORDER for number, mask, inverse in bare], dtype=object)
        hashes = hashes[np.argsort(disguise.order())]  # by person
        alike = group([*parts], seen.due.people)[0]
        assert ((hashes[:, np.newaxis] == hashes) == (alike[:, np.newaxis] == alike)).all()
        for key in (ours.seed, ours.own):
            for labels in ((0,), (0, 0), (0, 1)):
                guessed = tags.pseudorandom(derive(key, "worth", *labels), parts, seen.due.people)
                assert not set(guessed) & set(hashes.tolist())


# -- linking visits


def linked_by_size(spy: Spy) -> tuple[int, int, int]:
    """Groups of 2 or more that have the only such size at two visits in a row: all, and those of the same people; and
    the groups of 2 or more that there were."""
    claims = right = every = 0
    play, before = np.arange(len(spy.holder[0][0])), None
    for seen, (order, answers) in zip(spy.evaluator, spy.holder, strict=False):
        people = play[order]
        found = [frozenset(people[members].tolist()) for members in groups.of_numbers(seen.numbers(), 2)]
        sizes = Counter(map(len, found))
        only = {len(members): members for members in found if sizes[len(members)] == 1}
        every += len(found)
        if before is not None:
            for size in only.keys() & before.keys():
                claims += 1
                right += only[size] == before[size]
        before = only
        gone = {int(play[member]) for members in answers[0] for member in members}
        play = np.array([person for person in play.tolist() if person not in gone])
    return claims, right, every


@pytest.mark.thorough
def test_sizes_link_few_groups_from_one_visit_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """600 people, k = 10: the ledger says that a group that stays of the same size is likely the same people."""
    spy, _ = spied(monkeypatch, people=600, k=10, options="nodes = 60")
    claims, right, every = linked_by_size(spy)
    assert claims < 0.1 * every
    assert right > 0


# -- nothing is used twice


def repeated_points(spy: Spy) -> int:
    """Points that occur twice in the whole run: a blind that was used again shows so."""
    raw = [bytes(point) for seen in spy.evaluator for point in seen.points]
    return len(raw) - len(set(raw))


def kept_places(spy: Spy) -> float:
    """How much likelier two positions that are alike at one visit are alike at the next than by chance."""
    kept = expected = 0.0
    for one, other in zip(spy.evaluator, spy.evaluator[1:], strict=False):
        if one.due.people == other.due.people:
            first, second = (seen.numbers()[: one.due.people] for seen in (one, other))
            both = [number[:, np.newaxis] == number for number in (first, second)]
            pairs = [float(np.triu(each, 1).sum()) for each in both]
            kept += float(np.triu(both[0] & both[1], 1).sum())
            expected += pairs[0] * pairs[1] / (one.due.people * (one.due.people - 1) / 2)
    return kept / max(expected, 1.0)


def consistent_masks(spy: Spy) -> int:
    """Positions whose numbers of one holder differ between two visits as they would if its masks were the same.

    With equal masks x - x' = a w - a' w', where w are the sums, and a, a' belong to the groups: three positions of the
    same two groups have one equation too many.
    """
    found = 0
    for one, other in combinations(spy.evaluator[:-1], 2):
        if one.due.people != other.due.people or one.due.visits > 1:
            continue
        both = one.numbers() * 100_000 + other.numbers()
        for members in groups.of_numbers(both, 3):
            rows = [
                (one.sums[at], -other.sums[at] % ORDER, (one.parts[0][at] - other.parts[0][at]) % ORDER)
                for at in members[:3].tolist()
            ]
            (a, b, c), (d, e, f), (g, h, i) = rows
            found += (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)) % ORDER == 0
    return found


def broken(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """One kind of randomness is the same at every visit with as many people."""
    whole = getattr(tags.Disguise, method)

    def again(disguise: tags.Disguise, *arguments: object) -> object:
        return whole(tags.Disguise(Secret(bytes(32)), disguise.holders, disguise.people), *arguments)

    monkeypatch.setattr(tags.Disguise, method, again)


@pytest.mark.thorough
def test_statistics_notice_a_permutation_a_blind_or_a_mask_that_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, _ = spied(monkeypatch, 60, k=12, options="nodes = 12\npairs = false")
    assert repeated_points(honest) == 0
    assert consistent_masks(honest) == 0
    assert kept_places(honest) < 1.7
    found = {}
    for method in ("order", "blinds", "masks"):
        with monkeypatch.context() as patch:
            broken(patch, method)
            found[method], _ = spied(patch, 60, k=12, options="nodes = 12\npairs = false")
    assert kept_places(found["order"]) > 2
    assert repeated_points(found["blinds"]) > 50
    assert consistent_masks(found["masks"]) > 0


def test_a_holders_numbers_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    spy, _ = spied(monkeypatch, 100)
    raw = b"".join(tags.spelled(seen.parts[1])[:31] for seen in spy.evaluator)
    low = b"".join(
        tags.spelled(seen.parts[1])[at : at + 31]
        for seen in spy.evaluator
        for at in range(0, 32 * len(seen.parts[1]), 32)
    )
    assert raw[:31] == low[:31]
    counts = np.bincount(np.frombuffer(low, np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 400  # 255 degrees of freedom: one in 10^8 exceeds it


# -- simulators


def simulated(sizes: Sequence[int], holders: int, seed: int) -> tuple[list[list[int]], Points]:
    """The evaluator's view of a visit, made from nothing but the sizes of its groups."""
    rng = Rng(Secret(hashlib.sha256(b"simulator %d" % seed).digest()))
    people = sum(sizes)
    values = generator_times(Scalars.draw(rng.stream("tags"), len(sizes)))
    own = np.repeat(np.arange(len(sizes)), sizes)[rng.stream("order").permutation(people)]
    sums = tags.draw(rng.stream("sums"), people)
    points = values.take(own).times(Scalars(tags.spelled(sums)))
    parts = [tags.draw(rng.stream("part", holder), people) for holder in range(holders - 1)]
    last = [(total - sum(each)) % ORDER for total, *each in zip(sums, *parts, strict=True)]
    return [*parts, last], points


def test_the_evaluators_view_is_made_from_the_sizes_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real and simulated views have equal shapes, tags with equal multiplicities, and bytes that look alike."""
    spy, trial = spied(monkeypatch, 100)
    params = Parameters.of(trial.study)
    octets: dict[str, list[bytes]] = {"real": [], "simulated": []}
    for place, seen in enumerate(spy.evaluator[:-1]):
        sizes = np.bincount(seen.numbers()).tolist()
        parts, points = simulated(sizes, 2, place)
        again = asking.judged(params, tags.add_up(parts), points, seen.due, params.k, 1)
        assert sorted(map(len, again[0])) == sorted(map(len, seen.answers[0]))
        assert [len(part) for part in parts] == [len(part) for part in seen.parts]
        for name, (given, at) in {"real": (seen.parts, seen.points), "simulated": (parts, points)}.items():
            octets[name] += [tags.spelled(part) for part in given] + [at.pack()]
    table = np.stack([np.bincount(_inner(b"".join(each)), minlength=256) for each in octets.values()])
    expected = table.sum(axis=0) / 2
    assert ((table - expected) ** 2 / expected).sum() < 400


def test_the_evaluators_view_of_pairs_of_values_is_made_from_how_many_people_have_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Made-up people have tags like people; from the counts in any order the same bits follow, in that order."""
    seen: list[tuple[list[list[int]], list[int], Points, int, list[bool]]] = []
    add_up, judged, parts = tags.add_up, pairs.judged, []

    def heard_parts(given: list[list[int]]) -> list[int]:
        parts.append(given)
        return add_up(given)

    def heard(sums: list[int], points: Points, people: int, k: int) -> Bits:
        bits = judged(sums, points, people, k)
        seen.append((parts[-1], sums, points, people, bits.tolist()))
        return bits

    monkeypatch.setattr(tags, "add_up", heard_parts)
    monkeypatch.setattr(pairs, "judged", heard)
    run(trial_of(study_of(TWO, k=5, options="nodes = 9"), draw_people(stream_of(1, "peel views"), 100)))
    octets: dict[str, list[bytes]] = {"real": [], "simulated": []}
    assert len(seen) == 4  # age and sex with income and stay
    for place, (given, sums, points, people, bits) in enumerate(seen):
        number = tags.alike(tags.tags(sums, points))
        counts = np.bincount(number[:people], minlength=len(bits))[number[people:]]
        assert sorted(number[people:].tolist()) == list(range(len(bits)))  # each pair of values once
        made, at = simulated((counts + 1).tolist(), 2, place)
        first = np.unique(tags.alike(tags.tags(add_up(made), at)), return_index=True)[1]  # a made-up person of each
        order = np.concatenate([np.setdiff1d(np.arange(len(points)), first), first])
        again = judged([add_up(made)[spot] for spot in order], at.take(order), people, 5)
        assert sorted(again.tolist()) == sorted(bits)
        for name, (shown, drawn) in {"real": (given, points), "simulated": (made, at)}.items():
            octets[name] += [tags.spelled(part) for part in shown] + [drawn.pack()]
    table = np.stack([np.bincount(_inner(b"".join(each)), minlength=256) for each in octets.values()])
    expected = table.sum(axis=0) / 2
    assert ((table - expected) ** 2 / expected).sum() < 400


def _inner(raw: bytes) -> Ints:
    """All bytes but the highest of each element, which the order bounds."""
    rows = np.frombuffer(raw, np.uint8).reshape(-1, POINT_BYTES)[:, :-1]
    return rows.ravel().astype(np.int32)


def test_a_holders_view_of_the_visits_is_made_from_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given the classes, the nodes at which they were found, and the secret of all holders, answers follow."""
    spy, _ = spied(monkeypatch, 100)
    assert spy.peeling is not None
    label, number, play = spy.peeling.label, 0, np.arange(100)
    for seen, (order, answers) in zip(spy.evaluator, spy.holder, strict=False):
        found = len(answers[0])
        place = np.argsort(order)
        made = [place[np.flatnonzero(label[play] == each)] for each in range(number, number + found)]
        assert sorted(sorted(each.tolist()) for each in made) == sorted(sorted(m.tolist()) for m in seen.answers[0])
        number += found
        play = np.flatnonzero((label < 0) | (label >= number))
    assert number == len(spy.peeling.boxes)


def test_with_l_the_evaluator_sees_how_often_values_occur_together_in_small_groups_too_and_is_said_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It needs none of that below k; the ledger says that it gets it."""
    plain = study_of(TWO, k=5, options="nodes = 4", privacy="l = 1.5")
    sensitive = replace(plain.column("stay"), role=plain.column("ill").role, hierarchy=None)
    columns = tuple(sensitive if column.name == "stay" else column for column in plain.columns)
    study, spy, small = replace(plain, columns=columns), Spy(), 0
    with monkeypatch.context() as patch:
        spy.listen(patch)
        run(trial_of(study, draw_people(stream_of(1, "peel views"), 60)))
    seen, count = spy.evaluator[0], spy.evaluator[0].due.people
    layers = [tags.alike(tags.tags(seen.sums[at : at + count], seen.points.slice(at, at + count)))
              for at in range(0, 3 * count, count)]  # fmt: skip
    clinic, office = (spy.asked[name][0] for name in ("clinic", "office"))
    order = tags.Disguise(clinic.seed, 2, count).order()
    values = np.stack([office.layers[1][-1], clinic.layers[2][-1]])[:, order]  # stay and illness, which are hidden
    for members in groups.of_numbers(layers[0], 2):
        shown, true = (
            Counter(map(tuple, columns[:, members].T.tolist())) for columns in (np.stack(layers[1:]), values)
        )
        assert sorted(shown.values()) == sorted(true.values())
        small += len(members) < 5
    assert small > 3
    said = [
        sentence
        for part, numbers in leakage.before(Parameters.of(study), looks=False)
        for sentence in part.sentences("evaluator", **numbers)
    ]
    assert any("also of fewer than 5" in sentence and "occur together" in sentence for sentence in said)


def test_with_l_tags_of_a_value_differ_between_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same value has other tags in other groups: a table of groups by values does not come out."""
    spy, _ = spied(monkeypatch, 100, privacy="l = 1.5")
    for seen in spy.evaluator[:-1]:
        people = seen.due.people
        first = seen.numbers()
        second = tags.alike(tags.tags(seen.sums[people : 2 * people], seen.points.slice(people, 2 * people)))
        for members in groups.of_numbers(second, 1):
            assert len(set(first[members].tolist())) == 1
