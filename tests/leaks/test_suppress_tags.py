"""Among three parties of `suppress`, the tags of tuples that are not named tell nobody a name: a guess cannot be tried.

The attack is a dictionary: whoever sees tags computes the mark of every tuple that there could be. It succeeds where
the powers are left away, where all of them are known, and where the logarithms of marks are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from tests.harness.harness import run
from tests.harness.network import seed_of
from tests.harness.suppress_cases import THREE, study_of, trial_of
from tests.harness.trial import Trial

from covey.crypto.group import Points, Scalars, generator_times, powers
from covey.crypto.rng import Rng
from covey.protocols.suppress.messages import CiphertextPart
from covey.protocols.suppress.several import Mixer
from covey.protocols.suppress.tuples import key_of, number_of
from covey.secure.sealing import ElGamal
from covey.wire import Channel, Message

SCHEME = ElGamal(generator_times(Scalars.of([1])))
EVERY = [(str(age), sex) for age, sex in itertools.product(range(16), "FM")]


def trial() -> Trial:
    """One tuple is everybody's; each has rare ones of its own."""
    people = {
        "east": [(1, "F", "flu"), (2, "M", "none"), (2, "M", "flu")],
        "north": [(1, "F", "none"), (3, "F", "ulcer")],
        "south": [(1, "F", "flu"), (5, "M", "flu"), (6, "M", "flu")],
    }
    return trial_of(study_of("elgamal", sites=THREE), people)


def seen(monkeypatch: pytest.MonkeyPatch, *, powers: bool) -> tuple[list[bytes], list[bytes]]:
    """The tags that everyone sees in a run, and the marks that are named; without powers, everyone's power is one."""
    tags: list[bytes] = []
    named: list[bytes] = []
    honest_tags, honest_named = Mixer.tags, Mixer.named

    async def watch_tags(self: Mixer, *given: object) -> list[bytes]:
        found = await honest_tags(self, *given)  # type: ignore[arg-type]
        tags[:] = found
        return found

    async def watch_named(self: Mixer, given: Sequence[bytes]) -> list[bytes]:
        named[:] = await honest_named(self, given)
        return list(named)

    monkeypatch.setattr(Mixer, "tags", watch_tags)
    monkeypatch.setattr(Mixer, "named", watch_named)
    if not powers:
        monkeypatch.setattr(Mixer, "power", 1)
    assert all(end.finished for end in run(trial(), seed=3).values())
    return tags, named


def dictionary() -> dict[bytes, tuple[str, str]]:
    """The mark of every tuple that there could be."""
    return {SCHEME.marks([key_of(labels)]): labels for labels in EVERY}


def test_without_secret_powers_every_suppressed_tuple_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tags, _ = seen(monkeypatch, powers=False)
    known = dictionary()
    assert {known[tag] for tag in tags} == {("1", "F"), ("2", "M"), ("3", "F"), ("5", "M"), ("6", "M")}


def test_of_what_is_suppressed_no_tag_is_any_tuple_s_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    tags, named = seen(monkeypatch, powers=True)
    known = dictionary()
    assert len(tags) == 8 and not set(tags) & set(known)
    assert [known[mark] for mark in named] == [("1", "F")]


def guesses(tags: Sequence[bytes], named: bytes, name: tuple[str, str]) -> set[tuple[str, str]]:
    """Tuples with numbers for logarithms: from the tag of a named one and two numbers follows any other's tag."""
    number = {labels: number_of("qi", key_of(labels), ElGamal.order) for labels in EVERY}
    factors = {labels: number[labels] * pow(number[name], -1, ElGamal.order) for labels in EVERY}
    return {labels for labels in EVERY if Points(named).times(Scalars.of([factors[labels]])).data in tags}


def test_a_named_tuple_does_not_give_the_others_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack finds everything where a tuple is a number in the exponent, as it is in the two-party form."""
    secret = [(labels, number_of("qi", key_of(labels), ElGamal.order)) for labels in EVERY[2:8]]
    power = 1_000_003
    naive = {labels: powers([number * power]).data for labels, number in secret}
    name = EVERY[2]
    assert guesses(list(naive.values()), naive[name], name) == set(naive)

    tags, _ = seen(monkeypatch, powers=True)
    ours = next(tag for tag in tags if tags.count(tag) == 3)
    assert guesses([tag for tag in tags if tag != ours], ours, ("1", "F")) == set()


def test_two_who_conspire_cannot_look_up_what_the_third_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """North and south put their powers and their parts of the key together: east's power alone hides its tuples."""
    powers: dict[str, int] = {}
    honest = Mixer.named

    async def watch(self: Mixer, given: Sequence[bytes]) -> list[bytes]:
        powers[self.channel.me] = self.power
        return await honest(self, given)

    monkeypatch.setattr(Mixer, "named", watch)
    tags, _ = seen(monkeypatch, powers=True)
    known, order = dictionary(), ElGamal.order
    both = pow(powers["north"] * powers["south"], -1, order)
    check = Rng(seed_of(1)).stream("check")
    assert not {SCHEME.raised(tag, both, check) for tag in tags} & set(known)
    everyone = pow(powers["north"] * powers["south"] * powers["east"], -1, order)
    assert {SCHEME.raised(tag, everyone, check) for tag in tags} <= set(known)  # and that is what it takes


def test_no_list_leaves_a_party_in_the_order_or_the_form_in_which_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, str, bytes]] = []
    honest = Channel.send

    async def send(self: Channel, to: str, message: Message) -> None:
        if isinstance(message, CiphertextPart):
            said.append((self.me, self.step, message.items))
        await honest(self, to, message)

    monkeypatch.setattr(Channel, "send", send)
    run(trial(), seed=3)
    lists = [items for _, step, items in said if step in ("list", "mix")]
    halves = [items[at : at + 32] for items in lists for at in range(0, len(items), 32)]
    assert len(halves) == len(set(halves))
