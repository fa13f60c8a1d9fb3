"""Respondents, trustees and collectors that lie: each lie is refused with the liar's name, and nothing is released."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.harness.collect_cases import HUB, study_of, trial_of
from tests.harness.harness import answers as answers_of
from tests.harness.harness import run
from tests.harness.tiny_keys import TINY
from tests.harness.trial import Trial

from covey.arrays import Longs
from covey.crypto import range_proof
from covey.crypto.elgamal import Ciphertexts, KeyShare, encrypt
from covey.crypto.group import Points, Scalars
from covey.crypto.paillier import PublicKey
from covey.crypto.seal import Sealed
from covey.errors import CoveyError, PeerError, Unmet
from covey.protocols.as_printed.collect import (
    answers,
    collector,
    fetch,
    index,
    keys,
    parameters,
    post,
    release,
    respondent,
    submit,
    zero_test,
)
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.protocol import Seat
from covey.wire import Channel, Message

PEOPLE = [(1, "F", "good"), (2, "F", "bad"), (29, "M", "fair"), (30, "M", "good")]


def lied(trial: Trial) -> dict[str, CoveyError]:
    """How everyone's run ended: nobody may have finished."""
    ends = run(trial)
    assert all(end.finished is None for end in ends.values())
    return {name: end.error for name, end in ends.items() if end.error is not None}


def small(privacy: str = "") -> Trial:
    return trial_of(study_of(4, k=2, privacy=privacy, note=True), PEOPLE)


def blamed(errors: dict[str, CoveyError], victim: str) -> str:
    """What the one who noticed says; it must be the others' fault."""
    error = errors[victim]
    assert isinstance(error, PeerError), error
    return str(error)


def twisted(monkeypatch: pytest.MonkeyPatch, module: object, name: str, twist: Callable[..., object]) -> None:
    """Lets one function lie: `twist` gets the original's answer and its arguments."""
    original = getattr(module, name)

    def lying(*arguments: object) -> object:
        return twist(original(*arguments), *arguments)

    monkeypatch.setattr(module, name, lying)


def test_a_respondent_with_too_few_numbers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def shorter(made: list[int], *arguments: object) -> list[int]:
        return made[:-1] if arguments[2] == 2 else made

    twisted(monkeypatch, index, "drawn", shorter)
    said = blamed(lied(small()), HUB)
    assert "'r02'" in said and "halves of numbers" in said


def test_a_respondent_with_too_many_marks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def longer(
        seat: Seat, parameters: Parameters, hub: str, membership: keys.Membership, key: PublicKey | None
    ) -> None:
        if seat.party != "r01":
            await original(seat, parameters, hub, membership, key)
            return
        await fetch.read(seat.channel.at("fetch"), parameters, hub, membership.lot, 0)
        made = encrypt([1] * 99, membership.key, seat.channel.rng.stream("lie"))
        await seat.channel.at("answers").send(hub, answers.Answers(made.first, made.second, b""))

    original = respondent.answer
    monkeypatch.setattr(respondent, "answer", longer)
    said = blamed(lied(small()), HUB)
    assert "'r01'" in said and "halves of marks" in said


def test_a_position_that_no_cell_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(made: Ciphertexts, *arguments: object) -> Ciphertexts:
        return made.plus_numbers([1 << 40] + [0] * (len(made) - 1))

    twisted(monkeypatch, answers, "answer", elsewhere)
    said = blamed(lied(small()), HUB)
    assert "a position that no cell has" in said


def large_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """One respondent encrypts a number of 2^40 for the first of its cells, and proves something else if it must."""
    twisted(monkeypatch, index, "drawn", lambda made, *rest: [made[0] + (1 << 40), *made[1:]] if rest[2] == 1 else made)
    honest = range_proof.prove
    monkeypatch.setattr(
        range_proof, "prove", lambda numbers, *rest: honest([min(number, 300) for number in numbers], *rest)
    )


def test_a_respondent_with_a_number_out_of_range_is_named_and_no_innocent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a proof everyone behind that cell stands where no cell is, and is blamed for it."""
    large_number(monkeypatch)
    said = blamed(lied(small()), HUB)
    assert "'r01'" in said and "lie in rho" in said


def test_under_a_dealt_key_nobody_is_blamed_for_a_number_out_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "DEALT_BITS", TINY)  # made in no time, and protects nothing
    large_number(monkeypatch)
    study = study_of(4, k=2, protocol='grid = 16\ncommittee = 3\nscheme = "paillier"')
    errors = lied(trial_of(study, PEOPLE))
    assert isinstance(errors[HUB], Unmet) and "nobody can tell" in str(errors[HUB])


@pytest.mark.parametrize("mark", [-1, 2])
def test_a_respondent_whose_marks_are_no_marks_is_named_before_anything_is_opened(
    monkeypatch: pytest.MonkeyPatch, mark: int
) -> None:
    """Marks of -1 cancel a neighbour's out: ages 1, 2 and 3 would be published as 3, and nobody would notice."""

    def lie(made: Ciphertexts, entry: object, jitter: object, own: list[int], *_: object) -> Ciphertexts:
        if sum(own[:31]) != 29:  # the age of r01 alone is 2
            return made
        return made.plus_numbers([0, *((mark - 1) * each for each in own[:31]), *[0] * len(own[31:])])

    twisted(monkeypatch, answers, "answer", lie)
    errors = lied(small())
    said = blamed(errors, HUB)
    assert "'r01'" in said and "its marks" in said


def test_a_trustee_whose_part_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from covey.crypto.threshold_key import PartialOpening, Trustee

    original = Trustee.unlock

    def wrong(self: Trustee, first: Points, *rest: object) -> PartialOpening:
        part = original(self, first, *rest)  # type: ignore[arg-type]
        return PartialOpening(part.points.times(Scalars.of([2])), part.proof) if self.place == 2 else part

    monkeypatch.setattr(Trustee, "unlock", wrong)
    said = blamed(lied(small()), HUB)
    assert "was not made with its share" in said


def test_a_collector_that_hands_out_an_index_of_another_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    twisted(monkeypatch, index, "spell", lambda raw, *_: raw[:-64])
    assert "an index of" in blamed(lied(small()), "r00")


def test_an_entry_that_is_no_ciphertext_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    twisted(monkeypatch, index, "spell", lambda raw, *_: b"\xff" * len(raw))
    assert "is no ciphertext" in blamed(lied(small()), "r00")


def test_a_collector_that_makes_classes_below_k_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def lonely(enrolment: keys.Enrolment, members: list[int]) -> list[str]:
        return [enrolment.handles[members[0]]]

    monkeypatch.setattr(release, "named", lonely)
    errors = lied(small())
    assert any("fewer than 2 members" in str(error) for error in errors.values())


def test_a_collector_that_names_a_member_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(enrolment: keys.Enrolment, members: list[int]) -> list[str]:
        return [enrolment.handles[members[0]]] * 2

    monkeypatch.setattr(release, "named", doubled)
    errors = lied(small())
    assert any("named twice" in str(error) for error in errors.values())


def test_a_collector_that_opens_something_else_than_every_position_first_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = collector.open_positions

    async def single(
        tester: zero_test.Tester, parameters: Parameters, enrolment: keys.Enrolment, given: Sequence[Ciphertexts]
    ) -> Longs:
        await tester.open(given[0].slice(0, 1))  # one respondent's position, alone
        return await original(tester, parameters, enrolment, given)

    monkeypatch.setattr(collector, "open_positions", single)
    errors = lied(small())
    assert any("every position once, and first" in str(error) for error in errors.values())


def test_a_collector_that_repeats_a_ciphertext_in_an_opening_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = collector.open_positions

    async def repeated(
        tester: zero_test.Tester, parameters: Parameters, enrolment: keys.Enrolment, given: Sequence[Ciphertexts]
    ) -> Longs:
        return await original(tester, parameters, enrolment, [given[0]] * len(given))

    monkeypatch.setattr(collector, "open_positions", repeated)
    errors = lied(small())
    assert any("repeated" in str(error) for error in errors.values())


def test_a_mixer_that_replaces_a_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubling(batch: Sealed, *_: object) -> Sealed:
        return Sealed.join([batch.slice(0, 1)] * len(batch))

    twisted(monkeypatch, submit, "permuted", doubling)
    errors = lied(small())
    assert any("a row occurs twice" in str(error) for error in errors.values())


def test_a_mixer_that_passes_on_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(batch: Sealed, *_: object) -> Sealed:
        return Sealed(batch.heads, [bytes(len(body)) for body in batch.bodies])

    twisted(monkeypatch, submit, "permuted", noisy)
    errors = lied(small())
    assert any("cannot be read" in str(error) or "no row" in str(error) for error in errors.values())


def test_a_row_that_the_study_does_not_know_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import msgspec

    monkeypatch.setattr(submit, "spell_row", lambda *_: msgspec.msgpack.encode(["splendid", "note"]))
    said = blamed(lied(small()), HUB)
    assert "does not list" in said and "splendid" not in said


def test_a_key_without_its_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = keys.join

    async def unproved(channel: Channel, parameters: Parameters, hub: str) -> keys.Membership:
        if channel.me != "r03":
            return await original(channel, parameters, hub)
        own = KeyShare(channel.rng.stream("lie"))
        await channel.at("enrol").send(hub, keys.RespondentKey(own.public, bytes(64)))
        return await original(channel, parameters, hub)

    monkeypatch.setattr(keys, "join", unproved)
    said = blamed(lied(small()), HUB)
    assert "'r03'" in said and "does not prove" in said


def test_a_letter_that_was_altered_on_its_way_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def meddling(channel: Channel, lines: Sequence[tuple[str, str]], letters: int) -> None:
        original_send = Channel.send

        async def send(self: Channel, to: str, message: Message) -> None:
            if isinstance(message, post.Parcel) and self.me == HUB:
                message = post.Parcel(message.sealed[:-1] + bytes([message.sealed[-1] ^ 1]))
            await original_send(self, to, message)

        monkeypatch.setattr(Channel, "send", send)
        await original(channel, lines, letters)

    original = post.carry
    monkeypatch.setattr(post, "carry", meddling)
    errors = lied(small())
    assert any("does not open" in str(error) for error in errors.values())


def test_groups_that_are_not_the_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Channel.send

    async def send(self: Channel, to: str, message: object) -> None:
        if isinstance(message, zero_test.Task) and message.sizes:
            message = zero_test.Task(message.what, message.number, [*message.sizes, 1])
        await original(self, to, message)  # type: ignore[arg-type]

    monkeypatch.setattr(Channel, "send", send)
    errors = lied(small(privacy="l = 1.2"))
    assert any("groups" in str(error) for error in errors.values())


def test_the_run_that_all_these_lies_are_told_in_ends_well_without_them() -> None:
    trial = small(privacy="l = 1.2")
    assert answers_of(trial, run(trial)) == trial.ideal
