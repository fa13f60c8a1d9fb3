"""What one of three providers of `federate` sees follows from its own table and its ledger; shares say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.harness.federate_cases import CURIOUS, GYM, INSURER, Users, lasting_of, owns_of, tables_of
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.several_cases import SCHOOL, draw_several, several_of
from tests.leaks.several_simulator import Learned, Other, Tape, declared

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.field import F61
from covey.crypto.rng import Rng, Stream
from covey.protocols.as_printed.federate import checking, several, shared_numbers
from covey.protocols.as_printed.federate.delivery import ClassCount, ClassLabels, NumberParts
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.role import provider, recipient
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Result, Seat
from covey.secure import shares
from covey.secure.declare import Leakage
from covey.study import Study
from covey.wire import Channel
from covey.wire.frame import read

NAMES = (GYM, SCHOOL, INSURER)
OPTIONS = ("candidates = 3", 'candidates = 2\npresence = "sensitive"', "alpha = 1")


class Quiet:
    """Neither progress nor a ledger."""

    def phase(self, name: str, of: int = 1) -> None: ...

    def reach(self, done: int) -> None: ...

    def learns(self, leakage: Leakage, **numbers: object) -> None: ...


async def agree(proposal: Proposal) -> None:
    """Votes carry nothing."""


def world(options: str, seed: int) -> tuple[Study, Users]:
    study = several_of(40, options=options, delta=0.95)
    return study, draw_several(Rng(seed_of(seed)).stream("views"), study, 14, 4, 2)


def seat_of(study: Study, party: str, users: Users, channel: Channel) -> Seat:
    table = tables_of(study, users).get(party)
    return Seat(study, table, channel, Quiet(), Quiet(), agree, lasting_of(party))


@dataclass
class View:
    """What a provider heard and found: shapes, what was opened by step, and every share that it was sent."""

    shape: list[tuple[str, str, str, int, int]] = field(default_factory=list)
    opened: dict[str, Words] = field(default_factory=dict)
    classes: int = 0


def watch(monkeypatch: pytest.MonkeyPatch, me: str, tape: Tape) -> View:
    """Notes what is opened to a provider, and its own parts."""
    view = View()
    opened, to_each, summand = shared_numbers.opened, shared_numbers.opened_to_each, shares.summand
    shown = checking.shown

    async def noting(channel: Channel, numbers: Words) -> Words:
        found = await opened(channel, numbers)
        if channel.me == me:
            view.opened[channel.step] = found
        return found

    async def noting_each(channel: Channel, numbers: Mapping[str, Words]) -> Words:
        found = await to_each(channel, numbers)
        if channel.me == me:
            view.opened[channel.step] = found
        return found

    def parted(channel: Channel, held: Words, streams: Mapping[str, Stream], field: object) -> Words:
        found = summand(channel, held, streams, F61)
        if channel.me == me:
            tape.note(channel.step, found)
        return found

    async def noting_shown(channel: Channel, mine: Words) -> Words:
        found = await shown(channel, mine)
        if channel.me == me:
            view.opened[channel.step] = found
        return found

    monkeypatch.setattr(checking, "shown", noting_shown)
    for module in (shared_numbers, several):
        monkeypatch.setattr(module, "opened", noting)
        monkeypatch.setattr(module, "opened_to_each", noting_each, raising=False)
    monkeypatch.setattr(shares, "summand", parted)
    return view


def seen(view: View, outcome: Outcome[Result]) -> View:
    for peer, letters in outcome.notebook.letters.items():
        for raw in letters:
            letter = read(raw)
            head = letter.header
            if peer != CURIOUS and head.step.startswith("federate"):
                view.shape.append((peer, head.step, head.tag, head.number, len(letter.payload)))
    view.shape.sort()
    return view


def real_view(study: Study, users: Users, me: str, seed: int) -> View:
    def role(party: str) -> Role[Result]:
        play = recipient if party == CURIOUS else provider
        return lambda channel: play(seat_of(study, party, users, channel))

    with pytest.MonkeyPatch.context() as monkeypatch:
        view = watch(monkeypatch, me, Tape(seed))
        ends = run_parties({party: role(party) for party in (*NAMES, CURIOUS)}, seed=seed)
        return seen(view, ends[me])


def simulated_view(study: Study, own: Users, learned: Learned, seed: int) -> View:
    """The provider in the ledger, on its own users, against the simulator."""
    me, params, tape = learned.provider, Parameters.of(study), Tape(seed)

    async def whole(channel: Channel) -> Result:
        return await provider(seat_of(study, me, own, channel))

    def made_up(name: str) -> Role[Result]:
        async def play(channel: Channel) -> Result:
            await Other(name, params, learned, tape).play(channel)
            return Result()

        return play

    async def reader(channel: Channel) -> Result:
        at = channel.at("federate")
        view.classes = [(await at.at("ready").receive(name, ClassCount)).classes for name in NAMES][NAMES.index(me)]
        count = view.classes * params.width
        await at.at("release", "numbers").receive_all(me, NumberParts, count)
        await at.at("release", "boxes").receive(me, ClassLabels)
        return Result()

    with pytest.MonkeyPatch.context() as monkeypatch:
        view = watch(monkeypatch, me, tape)
        roles = {name: whole if name == me else made_up(name) for name in NAMES}
        ends = run_parties({**roles, CURIOUS: reader}, seed=seed)
        for end in ends.values():
            end.unwrap()
        return seen(view, ends[me])


def told(view: View) -> dict[str, list[int]]:
    """What is opened and means something: who divides, users above cuts, the best cut, verdicts."""
    found = {}
    for step, numbers in view.opened.items():
        last = step.rsplit("/", 1)[-1]
        if last in ("range", "best"):
            found[step] = numbers.tolist()
        elif last == "users":
            found[step] = sorted(numbers.tolist())  # in no order
        elif last == "verdict":
            found[step] = (numbers == 0).astype(int).tolist()
    return found


def meaningless(view: View) -> Words:
    """Everything else that is opened, and verdicts that are not zero."""
    rest = [own for step, own in view.opened.items() if step.rsplit("/", 1)[-1] not in ("range", "best", "users")]
    numbers = np.concatenate(rest)
    return np.asarray(numbers[numbers != 0])


def uniform(numbers: Words) -> bool:
    """True if the numbers fill the field evenly, by Kolmogorov and Smirnov at one in ten thousand."""
    places = np.sort(numbers.astype(np.float64)) / F61.prime
    steps = np.arange(1, len(places) + 1) / len(places)
    gap = max(float(np.max(steps - places)), float(np.max(places - steps + 1 / len(places))))
    return bool(gap * np.sqrt(len(places)) < 2.23)


@pytest.mark.parametrize(
    ("me", "options"),
    [
        (SCHOOL, OPTIONS[0]),
        (GYM, OPTIONS[1]),
        pytest.param(INSURER, OPTIONS[0], marks=pytest.mark.thorough),
        pytest.param(INSURER, OPTIONS[1], marks=pytest.mark.slow),
        pytest.param(SCHOOL, OPTIONS[2], marks=pytest.mark.slow),
    ],
)
def test_a_simulator_with_the_ledger_alone_makes_the_view_of_a_provider(me: str, options: str) -> None:
    study, users = world(options, seed=3)
    real = real_view(study, users, me, seed=1)
    learned = declared(me, *owns_of(study, users), Rng(seed_of(7)).stream("ledger"))
    made = simulated_view(study, {me: users[me]}, learned, seed=1)
    assert made.shape == real.shape
    assert told(made) == told(real)
    assert made.classes == learned.classes
    assert uniform(meaningless(real))
    assert uniform(meaningless(made))


def test_the_uniformity_test_tells_numbers_under_short_masks() -> None:
    drawn = F61.draw(Rng(seed_of(1)).stream("short"), 2000)
    assert uniform(drawn)
    assert not uniform(drawn >> np.uint64(1))


def test_fewer_than_half_find_nothing_in_shares_of_membership_and_two_of_three_find_everyone() -> None:
    """The limit that the ledger names: two providers who pool their shares know the third one's users."""
    study, users = world("alpha = 1", seed=3)
    held = {}
    enrol = several.enrol

    async def noting(channel: Channel, own: OwnUsers) -> several.ProviderShares:
        held[channel.me] = await enrol(channel, own)
        return held[channel.me]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(several, "enrol", noting)
        real_view(study, users, GYM, seed=1)
    params, owns = owns_of(study, users)
    secret = owns[params.providers.index(INSURER)].member
    row = params.providers.index(INSURER)
    alone = {name: held[name].bits[row] for name in (GYM, SCHOOL)}
    for numbers in alone.values():
        assert uniform(numbers)
        assert uniform(numbers[secret]), "the same where the insurer has a user"
    places = {name: place for place, name in enumerate(sorted(params.providers), start=1)}
    pooled = sharing.reveal({places[name]: own for name, own in alone.items()}, degree=1)
    assert np.array_equal(pooled == 1, secret)
