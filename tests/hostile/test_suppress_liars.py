"""A party of `suppress` that does not keep to the protocol is named, and the run ends before it publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
from tests.harness.cases import CASES
from tests.harness.harness import lines, run
from tests.harness.network import seed_of
from tests.harness.parties import run_parties
from tests.harness.suppress_cases import study_of

from covey.arrays import Longs
from covey.crypto.ibe import IdentityKey, Master
from covey.crypto.rng import Rng
from covey.errors import Aborted, PeerError
from covey.protocols.as_printed.suppress import keyholder
from covey.protocols.as_printed.suppress.messages import (
    CiphertextPart,
    Issued,
    ReleasedPart,
    TableSize,
    TupleCounts,
    receive_tuples,
)
from covey.protocols.as_printed.suppress.run import HolderRun
from covey.protocols.as_printed.suppress.tuples import JointClasses, KeptTuples
from covey.study import Study
from covey.wire import Channel, Message, Vector

M = TypeVar("M", bound=Message)
Lie = Callable[[Channel, Message], Message]
MASTER = Master(Rng(seed_of(9)).stream("another authority"))


def told(scheme: str, liar: str, lie: Lie, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the others say of a party whose messages are changed; nobody has a release."""
    honest = Channel.send

    async def send(self: Channel, to: str, message: Message) -> None:
        await honest(self, to, lie(self, message) if self.me == liar else message)

    monkeypatch.setattr(Channel, "send", send)
    ends = run(CASES[f"suppress by {scheme}"].smallest(), seed=4)
    assert all(end.finished is None for end in ends.values())
    return [str(end.error) for name, end in ends.items() if name != liar and isinstance(end.error, PeerError)]


def changed(kind: type[M], step: str, change: Callable[[M], Message]) -> Lie:
    """The lie that changes one kind of message at one step."""

    def lie(channel: Channel, message: Message) -> Message:
        return change(message) if isinstance(message, kind) and channel.step.startswith(step) else message

    return lie


def words(*numbers: int) -> Vector:
    return Vector(np.array(numbers, dtype=np.uint64))


LISTS = {
    "a chunk that is too short": ("north", "test", lambda m: CiphertextPart(m.items[:-1]), "bytes of ciphertexts"),
    "a chunk that is too long": ("north", "list", lambda m: CiphertextPart(m.items * 2), "bytes of ciphertexts"),
    "a damaged element of phase 1": ("north", "test", lambda m: CiphertextPart(flipped(m.items)), "test/0/0"),
    "a damaged element of phase 2": ("north", "list", lambda m: CiphertextPart(flipped(m.items)), "list/0"),
    "zeros for ciphertexts": ("north", "list", lambda m: CiphertextPart(bytes(len(m.items))), "list/0"),
    "a damaged answer of phase 1": ("south", "answer", lambda m: CiphertextPart(flipped(m.items)), "answer"),
    "a damaged answer of phase 2": ("south", "compare", lambda m: CiphertextPart(flipped(m.items)), "compare/0"),
    "too few answers": (
        "south",
        "compare",
        lambda m: CiphertextPart(m.items[: len(m.items) // 2]),
        "bytes of ciphertexts",
    ),
}


def flipped(raw: bytes) -> bytes:
    return bytes([raw[0] ^ 1]) + raw[1:]


@pytest.mark.few(4)
@pytest.mark.parametrize("scheme", ["elgamal", "waters"])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_none_is_refused(name: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    liar, step, change, reason = LISTS[name]
    (sentence,) = told(scheme, liar, changed(CiphertextPart, step, change), monkeypatch)
    assert liar in sentence and reason in sentence


TUPLES: dict[str, tuple[Callable[[TupleCounts], Message], str]] = {
    "a value that the study does not list": (
        lambda m: TupleCounts(["99", "F"], words(2), False),
        "no tuple of the study",
    ),
    "the sign of suppression": (lambda m: TupleCounts(["*", "*"], words(2), False), "no tuple of the study"),
    "a tuple twice": (lambda m: TupleCounts(["1", "F", "1", "F"], words(2, 2), False), "or twice"),
    "out of order": (lambda m: TupleCounts(["2", "F", "1", "F"], words(2, 2), False), "or twice"),
    "a count below k": (lambda m: TupleCounts(["1", "F"], words(1), False), "no tuple of the study"),
    "more rows than it has": (lambda m: TupleCounts(["1", "F", "2", "F"], words(2, 2), False), "more rows"),
    "cells without counts": (lambda m: TupleCounts(["1", "F"], words(), False), "due length"),
    "more to come, of which nothing comes": (lambda m: TupleCounts([], words(), True), "due length"),
    "more than a message holds": (lambda m: TupleCounts(["1", "F"] * 4097, words(*[2] * 4097), False), "due length"),
}


@pytest.mark.parametrize("name", TUPLES)
def test_a_list_of_frequent_tuples_that_is_none_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, reason = TUPLES[name]
    (sentence,) = told("elgamal", "north", changed(TupleCounts, "frequent", change), monkeypatch)
    assert "'north'" in sentence and "frequent" in sentence and reason in sentence


def without_last(message: ReleasedPart) -> ReleasedPart:
    """One suppressed row fewer: they stand last."""
    width = len(message.cells) // len(message.classes)
    return ReleasedPart(Vector(message.classes.words[:-1]), message.cells[:-width])


async def _read(channel: Channel) -> object:
    text = '[study]\nname = "open"\nprotocol = "suppress"\n[privacy]\nk = 2\n[protocol]\nencryption = "elgamal"\n'
    study = Study.parse(text + '[columns.x]\nrole = "quasi"\nhierarchy = "flat"\n[parties.a]\n[parties.b]\n')
    return await receive_tuples(channel, "liar", study, 9, 2)


def test_the_sign_of_suppression_is_no_value_where_the_study_lists_none_either() -> None:
    async def liar(channel: Channel) -> None:
        await channel.send("fair", TupleCounts(["*"], words(2), False))

    error = run_parties({"fair": _read, "liar": liar})["fair"].error
    assert isinstance(error, PeerError) and "no tuple of the study" in str(error)


def test_rows_other_than_those_of_the_named_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for change in (
        lambda m: ReleasedPart(words(*[0] * len(m.classes)), m.cells),
        lambda m: ReleasedPart(words(*[99] * len(m.classes)), m.cells),
        lambda m: ReleasedPart(words(*[1 << 40] * len(m.classes)), m.cells),
        lambda m: ReleasedPart(m.classes, m.cells[:-1]),
        without_last,
    ):
        with monkeypatch.context() as patch:
            (sentence,) = told("elgamal", "south", changed(ReleasedPart, "rows", change), patch)
        assert "'south'" in sentence and "rows" in sentence


def test_tuples_that_are_not_k_anonymous_with_ours_are_never_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's fallback, the exchange of both tables, is not run: there is nothing that a liar could gain by it."""
    lie = changed(TupleCounts, "kept", lambda m: TupleCounts(["4", "F"], words(1), False))
    assert told("elgamal", "north", lie, monkeypatch) == []
    ends = run(CASES["suppress by elgamal"].smallest(), seed=4)
    errors = [end.error for end in ends.values()]
    assert any(isinstance(error, Aborted) and "not k-anonymous together" in str(error) for error in errors)


def claims_anonymity(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keyholder that says whatever was found that nothing has to be suppressed, and names all its tuples."""
    honest = keyholder.test

    async def test(run: HolderRun, key: bytes, remaining: Longs) -> bool:
        await honest(run, key, remaining)
        return True

    monkeypatch.setattr(keyholder, "test", test)


def test_a_false_verdict_brings_out_no_tuple_of_the_comparer(monkeypatch: pytest.MonkeyPatch) -> None:
    claims_anonymity(monkeypatch)
    ends = run(CASES["suppress by elgamal"].smallest(), seed=4)
    said = [(line.sender, line.step) for line in lines(ends)]
    assert ("north", "kept") in said and ("south", "kept") not in said
    assert all(end.finished is None for end in ends.values())
    assert isinstance(ends["south"].error, Aborted) and "not k-anonymous together" in str(ends["south"].error)


def test_a_false_verdict_with_guesses_in_place_of_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the guesses, and with two rows withheld, what both keep would be k-anonymous."""
    claims_anonymity(monkeypatch)
    lie = changed(TupleCounts, "kept", lambda m: TupleCounts(["3", "F", "7", "F"], words(1, 1), False))
    (sentence,) = told("elgamal", "north", lie, monkeypatch)
    assert "'north'" in sentence and "fewer rows than it has" in sentence


def test_a_tuple_that_the_keyholder_made_up_does_not_show_how_often_the_comparer_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lie = changed(TupleCounts, "kept", lambda m: TupleCounts(["4", "F"], words(1), False))
    assert told("elgamal", "north", lie, monkeypatch) == []
    said = [(line.sender, line.step) for line in lines(run(CASES["suppress by elgamal"].smallest(), seed=4))]
    assert ("north", "kept") in said and ("south", "kept") not in said


def test_suppressed_rows_are_k_alike_too_or_nothing_is_published() -> None:
    with pytest.raises(Aborted, match="not k-anonymous together"):
        JointClasses.of(study_of("elgamal"), [KeptTuples({("1", "F"): 3}, 4), KeptTuples({("1", "F"): 3}, 4)])


def test_a_party_names_no_more_frequent_rows_than_are_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keyholder gives up two of its four rows: three frequent ones are too many."""
    lie = changed(TupleCounts, "frequent", lambda m: TupleCounts(["1", "F"], words(3), False))
    (sentence,) = told("elgamal", "north", lie, monkeypatch)
    assert "'north'" in sentence and "more rows than it said" in sentence


def test_an_authority_that_issues_another_name_s_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(message: Issued) -> Issued:
        return Issued("north@clinics/2026-10", message.parameters, message.key)

    sentences = told("waters", "authority", changed(Issued, "issue", rename), monkeypatch)
    assert sentences and all("another name than" in sentence for sentence in sentences)


def test_a_key_that_does_not_fit_the_parameters_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = MASTER.issue("north@clinics/2026-11", Rng(seed_of(9)).stream("key"))

    def exchange(message: Issued) -> Issued:
        return Issued(message.name, message.parameters, IdentityKey.unpack(stranger.pack()))

    sentences = told("waters", "authority", changed(Issued, "issue", exchange), monkeypatch)
    assert sentences and all("is not that of" in sentence for sentence in sentences)


def test_an_authority_that_tells_the_two_different_parameters_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def split(message: Issued) -> Issued:
        if not message.name.startswith("north"):
            return message
        return Issued(message.name, MASTER.parameters, MASTER.issue(message.name, Rng(seed_of(9)).stream("split")))

    sentences = told("waters", "authority", changed(Issued, "issue", split), monkeypatch)
    assert sentences and all("other parameters" in sentence for sentence in sentences)


def test_a_party_that_claims_more_rows_than_it_shows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = changed(TableSize, "sizes", lambda m: TableSize(m.rows + 5000, m.parameters))
    assert len(told("elgamal", "south", lie, monkeypatch)) <= 1  # the lists are not as long as due, on either side


def test_a_party_that_claims_a_number_of_rows_beyond_reason_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = changed(TableSize, "sizes", lambda m: TableSize(1 << 40, m.parameters))
    (sentence,) = told("elgamal", "south", lie, monkeypatch)
    assert "'south'" in sentence and "more than 2,000,000 rows" in sentence
