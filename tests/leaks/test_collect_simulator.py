"""Simulators for `collect` along a curve (Xue and others, definition 1 and theorem 2), which run.

M_svr plays all respondents against the real collector. It has the release and what the ledger says that the collector
learns: everyone's position, and for each class and column the lowest and the highest value. It makes up a record for
everyone that fits, and answers each position under the key, without a look at the index. M_i plays the collector and
everybody else against one real respondent; it has the release, and makes up positions too. Neither has a record of
those whom it plays. The observed party must not notice: the same outcome, messages of the same types, sizes and steps,
what an answer binds the same, and all else points that never come back.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from tests.harness.collect_cases import HUB, MOODS, Person, names_of, study_of, trial_of
from tests.harness.harness import End, run
from tests.harness.leaks import Tape
from tests.harness.trial import Trial
from tests.protocols.collectors import anyone

from covey.arrays import Bits, Longs
from covey.crypto.elgamal import Ciphertexts, encrypt
from covey.crypto.group import Scalars
from covey.protocols.as_printed.collect import answers, collector, fetch, respondent, zero_test
from covey.protocols.as_printed.collect.answers import Answers, Layout
from covey.protocols.as_printed.collect.keys import Membership
from covey.protocols.as_printed.collect.line import cut_line
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.protocol import Seat
from covey.wire import frame
from covey.wire.message import decode, tag_of

PEOPLE, K = 10, 3
CARRIED = ("mood",)


@dataclass(frozen=True)
class Leaked:
    """L_svr: what the ledger says that the collector learns, and the release by class. No record is in it."""

    positions: Longs
    group: Longs
    """The class of each respondent, in the order of handles."""
    bounds: Mapping[int, tuple[tuple[int, int], ...]]
    """For each class the lowest and the highest code of each quasi column."""
    moods: Mapping[int, tuple[str, ...]]
    """The sensitive values of each class, sorted: the release has them in no order."""


@dataclass
class View:
    """What one party of a run had: its end, what it was sent, and what was opened to it."""

    end: End
    frames: list[tuple[str, str, str, int]]
    """Sender, step, type and size of every message."""
    points: list[bytes]
    """All points of the answers that it was sent."""
    positions: Longs
    zeros: list[Bits]


def watched(patch: pytest.MonkeyPatch, trial: Trial, party: str, seed: int = 0) -> View:
    """One run, as this party sees it."""
    positions: list[Longs] = []
    zeros: list[Bits] = []
    opened, asked = collector.open_positions, zero_test.Tester.zeros

    async def opening(*arguments: object) -> Longs:
        found: Longs = await opened(*arguments)  # type: ignore[arg-type]
        positions.append(found)
        return found

    async def testing(self: zero_test.Tester, ciphertexts: Ciphertexts) -> Bits:
        found = await asked(self, ciphertexts)
        zeros.append(found)
        return found

    with patch.context() as inner:
        inner.setattr(collector, "open_positions", opening)
        inner.setattr(zero_test.Tester, "zeros", testing)
        tape = Tape(trial.names)
        ends = run(trial, seed=seed, network=tape)
    for end in ends.values():
        if end.error is not None:
            raise end.error
    letters = [(sender, frame.read(frame.split(raw)[1])) for sender, to, raw in tape.frames if to == party]
    answered = [decode(Answers, each.payload) for _, each in letters if each.header.tag == tag_of(Answers)]
    return View(
        end=ends[party],
        frames=sorted((sender, e.header.step, e.header.tag, len(e.payload)) for sender, e in letters),
        points=[bytes(point) for each in answered for half in (each.first, each.second) for point in half],
        positions=positions[-1],
        zeros=zeros,
    )


def leaked(trial: Trial, people: Sequence[Person], positions: Longs) -> Leaked:
    """The functionality: what a trusted party tells the collector of these people."""
    study = trial.certified
    names = names_of(len(people))
    order = np.argsort(positions, kind="stable")
    group = np.empty(len(people), dtype=np.int64)
    group[order] = cut_line(positions[order], K)
    tables = [trial.tables[name] for name in names]
    codes = np.concatenate([table.codes for table in tables if table is not None], axis=1)
    classes = range(int(group.max()) + 1)
    assert [column.name for column in study.quasi] == ["age", "sex"]
    return Leaked(
        positions,
        group,
        {each: tuple((min(own), max(own)) for own in codes[:, group == each].tolist()) for each in classes},
        {each: tuple(sorted(people[place][2] for place in np.flatnonzero(group == each).tolist())) for each in classes},
    )


def made_up(leak: Leaked) -> list[Person]:
    """A record for everyone that fits what was leaked: one member has the lowest values, the others the highest."""
    seen: Counter[int] = Counter()
    found: list[Person] = []
    for own in leak.group.tolist():
        number, (age, sex) = seen[own], leak.bounds[own]
        seen[own] += 1
        high = int(number > 0)
        found.append((age[high], "FM"[sex[high]], leak.moods[own][number]))
    return found


def answering(leak: Leaked, names: Sequence[str]) -> object:
    """A simulated respondent's answer: the position that was leaked, under the key; nothing of the index is in it."""

    async def answer(seat: Seat, parameters: Parameters, hub: str, membership: Membership, key: object) -> None:
        channel, table = seat.channel.at("answers"), seat.records
        await fetch.read(seat.channel.at("fetch"), parameters, hub, membership.lot, 0)
        position = int(leak.positions[names.index(seat.party)])
        entry = encrypt([position], membership.key, channel.rng.stream("entry"))
        marks, layout = answers.marks(parameters, table), Layout.of(parameters, table.trees)
        hide, fresh = channel.rng.stream("hide"), Scalars.draw(channel.rng.stream("fresh"), len(marks))
        given = await asyncio.to_thread(answers.answer, entry, 0, marks, membership.key, hide, fresh)
        proof = await asyncio.to_thread(answers.prove, channel, layout, given, marks, membership.key, fresh)
        await channel.send(hub, Answers(given.first, given.second, proof))

    return answer


def nameless(view: View) -> Counter[tuple[str, str, int]]:
    """Steps, types and sizes of all messages, whoever they are from or about."""
    return Counter((re.sub(r"r\d\d", "r", step), tag, size) for _, step, tag, size in view.frames)


def rows_of(view: View) -> object:
    finished = view.end.finished
    assert finished is not None
    release = finished.release
    return None if release is None else sorted(map(str, release.to_pylist()))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [3, 4])
def test_the_collector_cannot_tell_respondents_from_a_simulator_with_the_release_and_its_ledger(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    study, people = study_of(PEOPLE, k=K), anyone(seed, PEOPLE)
    trial = trial_of(study, people)
    real = watched(monkeypatch, trial, HUB)
    leak = leaked(trial, people, real.positions)
    invented = made_up(leak)
    assert invented != people
    with monkeypatch.context() as patch:
        patch.setattr(respondent, "answer", answering(leak, names_of(PEOPLE)))
        made = watched(monkeypatch, trial_of(study, invented), HUB, seed=1)
    assert np.array_equal(made.positions, real.positions)
    assert [each.tolist() for each in made.zeros] == [each.tolist() for each in real.zeros]
    assert rows_of(made) == rows_of(real)
    assert nameless(made) == nameless(real)  # who is a trustee, and who mixes when, is drawn
    both = real.points + made.points
    assert len(set(both)) == len(both)


@pytest.mark.thorough
def test_statistics_notice_a_simulator_that_knows_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other bounds than were leaked, the tests' answers differ: they are bound by them."""
    study, people = study_of(PEOPLE, k=K), anyone(3, PEOPLE)
    trial = trial_of(study, people)
    real = watched(monkeypatch, trial, HUB)
    leak = leaked(trial, people, real.positions)
    wrong = Leaked(leak.positions, leak.group, dict.fromkeys(leak.bounds, ((0, 0), (0, 0))), leak.moods)
    with monkeypatch.context() as patch:
        patch.setattr(respondent, "answer", answering(wrong, names_of(PEOPLE)))
        made = watched(monkeypatch, trial_of(study, made_up(wrong)), HUB, seed=1)
    assert [each.tolist() for each in made.zeros] != [each.tolist() for each in real.zeros]


def far_apart(parameters: Parameters, group: Longs) -> Longs:
    """Positions that nobody has, under which the same respondents come together."""
    least, most = 2 * parameters.low * (parameters.b + 1), parameters.largest_image
    step = (most - least) // (int(group.max()) + 2)
    return (least + 1 + step * (group + 1) + np.arange(len(group))).astype(np.int64)


@pytest.mark.thorough
@pytest.mark.parametrize("trustee", [True, False], ids=["a trustee", "no trustee"])
def test_a_respondent_cannot_tell_the_others_from_a_simulator_with_the_release(
    monkeypatch: pytest.MonkeyPatch, trustee: bool
) -> None:
    study, people, names = study_of(PEOPLE, k=K), anyone(5, PEOPLE), names_of(PEOPLE)
    trial = trial_of(study, people)
    first = watched(monkeypatch, trial, HUB)
    helps = {sender for sender, _, tag, _ in first.frames if tag == "committee.founded"}
    observed = sorted(helps if trustee else set(names) - helps)[0]
    real = watched(monkeypatch, trial, observed)
    leak = leaked(trial, people, real.positions)
    positions = far_apart(Parameters.of(study), leak.group)
    invented = made_up(leak)
    invented[names.index(observed)] = people[names.index(observed)]
    opened = collector.open_positions

    async def pretended(*arguments: object) -> Longs:
        await opened(*arguments)  # type: ignore[arg-type]
        return positions

    with monkeypatch.context() as patch:
        patch.setattr(collector, "open_positions", pretended)
        made = watched(monkeypatch, trial_of(study, invented), observed)
    assert not set(real.positions.tolist()) & set(positions.tolist())
    assert made.frames == real.frames


def test_what_is_made_up_fits_what_was_leaked_and_is_nobody_s_record() -> None:
    leak = Leaked(np.arange(6), np.array([0, 0, 0, 1, 1, 1]), {0: ((2, 9), (0, 1)), 1: ((20, 20), (1, 1))},
                  {0: MOODS[:3], 1: (MOODS[0],) * 3})  # fmt: skip
    found = made_up(leak)
    assert {person[0] for person in found[:3]} == {2, 9}
    assert {person[1] for person in found[3:]} == {"M"}
    assert sorted(person[2] for person in found[:3]) == sorted(MOODS[:3])
