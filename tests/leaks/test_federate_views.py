"""What a provider sees of `federate` does not tell the other's users from its dummy users, and what does is said."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from tests.harness.federate_cases import GYM, INSURER, draw_users, study_of, tables_of, trial_of
from tests.harness.harness import lines, run
from tests.harness.leaks import Tape
from tests.harness.network import seed_of

from covey.arrays import Bits, Floats
from covey.crypto.rng import Rng, derive
from covey.protocols.as_printed.federate.cutting import Halves
from covey.protocols.as_printed.federate.groups import Group
from covey.protocols.as_printed.federate.ideal import keeps, turn
from covey.protocols.as_printed.federate.meeting import MembershipBits
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.wire import frame as frames
from covey.wire.message import decode, tag_of

PEOPLE, RUNS = 240, 45
Features = list[tuple[tuple[str, ...], bool]]


def seen_in_a_run(seed: int, *, together: bool, alpha: float) -> Features:
    """For each user of the insurer's: all that the insurer sees of it, and is it the gym's?

    Its own values; the side of every cut that the gym made; whether more or fewer of the insurer's users than of the
    population are on that side, which the numbers above candidates tell too; at which depth its group was not divided.
    `together`: people's stay goes with their age, so that the insurer's column foretells the gym's.
    """
    stream = Rng(seed_of(seed)).stream("people")
    study = study_of(PEOPLE, k=3, delta=0.9, options=f"alpha = {alpha}")
    users = {name: dict(own) for name, own in draw_users(stream, PEOPLE, 80, 60).items()}
    for uid in users[INSURER]:
        if together:
            age = users[GYM][uid][0] if uid in users[GYM] else str(stream.below(20))
            users[INSURER][uid] = (str(int(age) // 2), *users[INSURER][uid][1:])
    tables, params = tables_of(study, users), Parameters.of(study)
    first, second = (
        OwnUsers.of(params, tables[name], derive(seed_of(seed), name)) for name in (params.first, params.second)
    )
    groups = [Group("", np.arange(PEOPLE))]
    sides: defaultdict[int, str] = defaultdict(str)
    dense: defaultdict[int, str] = defaultdict(str)
    depth: dict[int, int] = {}
    while groups:
        group = groups.pop()
        step, halves = turn(params, (first, second), group, keeps)
        if halves is None:
            depth |= dict.fromkeys(group.members.tolist(), len(group.path))
            continue
        groups += halves
        if step.divider == 0:
            share = len(second.holding(group.members)) / len(group.members)
            for half in halves:
                more = "+" if len(second.holding(half.members)) > share * len(half.members) else "-"
                for member in half.members.tolist():
                    sides[member] += half.path[-1]
                    dense[member] += half.path[-1] + more
    found: Features = []
    for member in second.holding(np.arange(PEOPLE)).tolist():
        uid = params.population[member]
        stay, weight, ill = users[INSURER][uid]
        features = (
            sides[member][:1],
            f"{int(stay) // 5}{sides[member][:1]}",
            f"{int(weight) // 40}{ill}",
            sides[member][:3],
            dense[member][:2],
            dense[member][2:4],
            str(depth[member]),
        )
        found.append((features, bool(first.member[member])))
    return found


def auc(*, together: bool, alpha: float) -> float:
    """A naive Bayes classifier trained on two thirds of the runs, judged on the rest."""
    runs = [seen_in_a_run(seed, together=together, alpha=alpha) for seed in range(RUNS)]
    counted: defaultdict[tuple[int, str], Floats] = defaultdict(lambda: np.ones(2))
    for features, is_real in (each for one in runs[: 2 * RUNS // 3] for each in one):
        for place, value in enumerate(features):
            counted[place, value][int(is_real)] += 1
    judged = [each for one in runs[2 * RUNS // 3 :] for each in one]
    odds = np.array([sum(np.log(counted[p, v][1] / counted[p, v][0]) for p, v in enumerate(f)) for f, _ in judged])
    real = np.array([real for _, real in judged])
    ranks = odds.argsort(kind="stable").argsort(kind="stable") + 1.0
    for value in np.unique(odds):
        same = odds == value
        ranks[same] = ranks[same].mean()
    positives = int(real.sum())
    return float((ranks[real].sum() - positives * (positives + 1) / 2) / (positives * (len(real) - positives)))


@pytest.mark.thorough
@pytest.mark.parametrize("alpha", [0.5, 1])
def test_dummy_users_are_told_from_real_ones_no_better_than_by_a_coin(alpha: float) -> None:
    assert auc(together=False, alpha=alpha) == pytest.approx(0.5, abs=0.035)


def test_columns_that_go_together_tell_some_dummy_users_as_the_docs_say() -> None:
    """The limit of the method: dummy values are drawn without regard to the other provider's columns."""
    assert 0.55 < auc(together=True, alpha=1) < 0.95


def trial_with_a_tape() -> tuple[Tape, dict[str, set[bytes]]]:
    trial = trial_of(study_of(30, options="candidates = 3"), draw_users(Rng(seed_of(4)).stream("x"), 30, 12, 6))
    tape = Tape(trial.names)
    run(trial, network=tape)
    sent: dict[str, set[bytes]] = {GYM: set(), INSURER: set()}
    for sender, _, frame in tape.frames:
        letter = frames.read(frames.split(frame)[1])
        if letter.header.tag == tag_of(MembershipBits):
            numbers = decode(MembershipBits, bytes(letter.payload)).numbers
            width = numbers.width
            sent[sender] |= {numbers.data[at : at + width] for at in range(0, len(numbers.data), width)}
    return tape, sent


def test_membership_ciphertexts_never_reappear() -> None:
    tape, sent = trial_with_a_tape()
    assert {name: len(own) for name, own in sent.items()} == {GYM: 30, INSURER: 30}
    for _, _, frame in tape.frames:
        letter = frames.read(frames.split(frame)[1])
        if letter.header.tag == tag_of(MembershipBits):
            continue
        payload = bytes(letter.payload)
        assert not any(ciphertext in payload for own in sent.values() for ciphertext in own)


def halves_in(tape: Tape) -> list[tuple[str, str, bytes]]:
    """Who was said to be in which half, by step."""
    letters = [frames.read(frames.split(frame)[1]) for _, _, frame in tape.frames]
    found = [each for each in letters if each.header.tag == tag_of(Halves)]
    return sorted((each.header.sender, each.header.step, bytes(each.payload)) for each in found)


def test_a_second_run_divides_alike_and_says_nothing_alike() -> None:
    """The same keys and data: everybody is on the same side of every cut, and no ciphertext is the same."""
    trial = trial_of(study_of(30, options="candidates = 3"), draw_users(Rng(seed_of(4)).stream("x"), 30, 12, 6))
    tapes = [Tape(trial.names) for _ in range(2)]
    first, second = (lines(run(trial, seed=seed, network=tape)) for seed, tape in zip((1, 2), tapes, strict=True))
    shape = [(line.sender, line.recipient, line.step, line.tag, line.size) for line in first]
    assert shape == [(line.sender, line.recipient, line.step, line.tag, line.size) for line in second]
    assert not {line.digest for line in first if "federate/divide" in line.step} & {line.digest for line in second}
    assert halves_in(tapes[0]) == halves_in(tapes[1]) != []


def test_whoever_changes_sides_between_runs_with_other_dummy_keys_is_a_dummy_and_with_the_same_nobody_does() -> None:
    """Why the key lasts: the second run of a provider that lost it exposes dummy users, and the attack finds them."""
    users = draw_users(Rng(seed_of(5)).stream("x"), PEOPLE, 80, 60)
    study = study_of(PEOPLE, k=3, delta=0.9, options="alpha = 1")
    tables, params = tables_of(study, users), Parameters.of(study)
    everyone = Group("", np.arange(PEOPLE))

    def upper(key: int) -> Bits:
        own = OwnUsers.of(params, tables[GYM], seed_of(key))
        values = own.codes(0, everyone.members, "")
        return np.asarray(values >= np.median(values[own.member]))

    moved = upper(1) != upper(2)
    real = np.array([uid in users[GYM] for uid in params.population])
    assert not moved[real].any()
    assert int(moved.sum()) > 20
    assert np.array_equal(upper(1), upper(1))


def test_the_recipient_hears_of_no_id_and_of_no_group_on_the_way() -> None:
    tape, _ = trial_with_a_tape()
    tags = {
        frames.read(frames.split(frame)[1]).header.tag
        for _, recipient, frame in tape.frames
        if recipient == "researcher"
    }
    ours = {tag for tag in tags if tag.startswith(("federate", "compare", "cardinality"))}
    assert ours == {"federate.ready", "federate.boxes", "federate.veils", "federate.veiled"}
