"""Whatever a peer sends in place of an element of the group is refused, with the peer's name, before it is used."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.harness.network import seed_of
from tests.harness.parties import Role, run_parties

from covey.crypto.elgamal import KeyShare
from covey.crypto.group import Points, Scalar, powers
from covey.crypto.rng import Rng
from covey.crypto.seal import seal
from covey.errors import CoveyError, InputError, PeerError
from covey.protocols.as_printed.federate import cardinality
from covey.secure import align, join, shuffle
from covey.secure.batches import pad
from covey.secure.shuffle import Mixed, mix, open_rows
from covey.wire import Channel, Count, MemoryNetwork, Message
from covey.wire import frame as frames

VECTORS = tomllib.loads((Path(__file__).parent / "elements.toml").read_text())
POINTS = [(vector["why"], bytes.fromhex(vector["hex"])) for vector in VECTORS["points"]]
SCALARS = [(vector["why"], bytes.fromhex(vector["hex"])) for vector in VECTORS["scalars"]]
REPEATED = [(vector["why"], bytes.fromhex(vector["hex"])) for vector in VECTORS["repeated"]]
SOME = [*POINTS[:3], *POINTS[30:60:10]]
NAMES = {"argvalues": POINTS, "ids": [why for why, _ in POINTS]}


class RawBlinded(Message, tag="cardinality.blinded"):
    """The same message without the checks of its type."""

    total: Count
    points: bytes


class RawAsked(Message, tag="align.asked"):
    """The same message without the checks of its type."""

    total: Count
    points: bytes


class RawPassed(Message, tag="join.passed"):
    """The same message without the checks of its type."""

    total: Count
    points: bytes


class RawKeys(Message, tag="shuffle.keys"):
    """The same message without the checks of its type."""

    mixing: bytes
    opening: bytes
    knows: bytes


class RawShare(Message, tag="shuffle.share"):
    """The same message without the checks of its type."""

    secret: bytes


def refused(honest: Role[object], liar: Role[object], names: tuple[str, str] = ("honest", "liar")) -> PeerError:
    """The honest party's reason for refusing the other, who stays on the line to hear it."""

    async def lie(channel: Channel) -> None:
        await liar(channel)
        await channel.at("waiting").receive(channel.peers[0], RawShare)

    error = run_parties({names[0]: honest, names[1]: lie})[names[0]].error
    assert isinstance(error, PeerError)
    assert error.party == names[1]
    return error


def saying(message: Message, step: str = "") -> Role[object]:
    """A party that says one thing to its only peer."""

    async def role(channel: Channel) -> None:
        await (channel.at(step) if step else channel).send(channel.peers[0], message)

    return role


def test_there_are_more_than_a_hundred_vectors() -> None:
    assert len(POINTS) + len(SCALARS) + len(REPEATED) > 100


@pytest.mark.parametrize(("why", "raw"), **NAMES)  # type: ignore[arg-type]
def test_a_bad_point_is_refused_by_the_group(why: str, raw: bytes) -> None:
    with pytest.raises(InputError):
        Points(raw)


@pytest.mark.parametrize(("why", "raw"), **NAMES)  # type: ignore[arg-type]
def test_a_bad_point_in_a_list_is_refused_with_the_senders_name(why: str, raw: bytes) -> None:
    message = RawBlinded(max(1, len(raw) // 32), raw)
    error = refused(lambda channel: cardinality.count_common(channel, ["1"]), saying(message))
    assert "point" in error.reason


@pytest.mark.parametrize(("why", "raw"), SOME, ids=[why for why, _ in SOME])
def test_a_bad_point_is_refused_by_every_block(why: str, raw: bytes) -> None:
    refused(lambda channel: align.align(channel, ["1"]), saying(RawAsked(1, raw)), ("z honest", "a liar"))

    async def liar(channel: Channel) -> None:
        share = KeyShare(channel.rng.stream("lie"))
        proof = share.prove(channel.rng.stream("proof"), "join", channel.session, channel.step, channel.me)
        await channel.exchange(join.JoinKey(share.public, proof))
        await channel.send(channel.peers[0], RawPassed(1, powers([1, 2]).data + raw))

    refused(lambda channel: join.blend(channel, ["1"], [b"row"]), liar)
    for keys in (RawKeys(raw, powers([2]).data, bytes(64)), RawKeys(powers([2]).data, raw, bytes(64))):
        refused(submitting(), saying(keys, "mix"))


@pytest.mark.parametrize(("why", "raw"), REPEATED, ids=[why for why, _ in REPEATED])
def test_a_repeated_element_is_refused(why: str, raw: bytes) -> None:
    message = RawBlinded(len(raw) // 32, raw)
    error = refused(lambda channel: cardinality.count_common(channel, ["1"]), saying(message))
    assert "repeated" in error.reason


@pytest.mark.parametrize("total", [0, 2, (1 << 26) + 1, (1 << 48) - 1])
def test_a_list_that_is_not_as_long_as_it_says_is_refused(total: int) -> None:
    message = RawBlinded(total, powers([1]).data)
    refused(lambda channel: cardinality.count_common(channel, ["1"]), saying(message))


@pytest.mark.parametrize(("why", "raw"), SCALARS, ids=[why for why, _ in SCALARS])
def test_a_bad_scalar_is_refused_at_home_and_from_a_peer(why: str, raw: bytes) -> None:
    with pytest.raises(InputError):
        Scalar(raw)

    async def honest(channel: Channel) -> list[bytes]:
        mixed = await submitting()(channel)
        assert isinstance(mixed, Mixed)
        return await open_rows(channel.at("open"), mixed, approved=True)

    async def liar(channel: Channel) -> None:
        await submitting()(channel)
        await channel.at("open").send("honest", RawShare(raw))

    refused(honest, liar)


def submitting() -> Role[object]:
    """An honest party of a shuffle between two, up to the opening."""

    async def role(channel: Channel) -> Mixed:
        return await mix(channel.at("mix"), [b"row"], counts=dict.fromkeys(channel.parties, 1), length=8)

    return role


# ---- messages from another session


def test_a_proof_from_another_session_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        share = KeyShare(channel.rng.stream("lie"))
        proof = share.prove(channel.rng.stream("proof"), "shuffle", b"another session!", "mix", channel.me)
        await channel.at("mix").exchange(shuffle.MixerKeys(share.public, share.public, proof))

    assert "does not prove" in refused(submitting(), liar).reason


def test_a_proof_of_another_party_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        share = KeyShare(channel.rng.stream("lie"))
        proof = share.prove(channel.rng.stream("proof"), "shuffle", channel.session, "mix", channel.peers[0])
        await channel.at("mix").exchange(shuffle.MixerKeys(share.public, share.public, proof))

    assert "does not prove" in refused(submitting(), liar).reason


def test_a_row_from_another_session_is_refused() -> None:
    """The last mixer, honest here, finds among the onions one that was sealed to it elsewhere."""

    async def liar(channel: Channel) -> None:
        channel = channel.at("mix")
        rng, context = channel.rng.child("lie"), ("shuffle", channel.session, channel.step)
        share = KeyShare(rng.stream("share"))
        proof = share.prove(rng.stream("proof"), *context, channel.me)
        keys = await channel.exchange(shuffle.MixerKeys(share.public, share.public, proof))
        theirs = await channel.receive("z honest", shuffle.Onions)
        elsewhere = ("shuffle", b"another session!", channel.step, "z honest")
        inner = seal(pad([b"row"], 1, 8), share.public, rng.stream("row"), *elsewhere, "row").rows()
        mine = seal(inner, keys["z honest"].mixing, rng.stream("onion"), *elsewhere)
        batch = Points.join([theirs.heads, mine.heads])
        await channel.send("z honest", shuffle.Onions(batch, theirs.bodies + mine.bodies[0]))

    error = refused(submitting(), liar, ("z honest", "a liar"))
    assert "sealed row 1 does not open" in error.reason


class Rewriting(MemoryNetwork):
    """A network on which one party's messages carry another session's id."""

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        if sender == "b" and letter.header.tag.startswith(("cardinality", "align", "join", "shuffle")):
            fields = {name: getattr(letter.header, name) for name in letter.header.__struct_fields__}
            header = frames.Header(**{**fields, "session": b"another session!"})
            frame = frames.place(sequence, frames.write(header, bytes(16), bytes(letter.payload)).raw)
        await super().carry(sender, recipient, frame)


@pytest.mark.parametrize(
    "block",
    [
        lambda channel: cardinality.count_common(channel, ["1"]),
        lambda channel: align.align(channel, ["1"]),
        lambda channel: join.blend(channel, ["1"], [b"row"]),
        submitting(),
    ],
    ids=["cardinality", "align", "join", "shuffle"],
)
def test_a_message_from_another_session_is_refused_by_every_block(block: Role[object]) -> None:
    error = run_parties(dict.fromkeys("ab", block), network=Rewriting("ab"))["a"].error
    assert isinstance(error, PeerError)
    assert "another session" in error.reason


def test_a_refusal_never_quotes_the_bytes() -> None:
    secret = Scalar.fresh(Rng(seed_of(9)).stream("x")).reveal()
    for make in (Points, Scalar):
        with pytest.raises(CoveyError) as caught:
            make(secret + b"\xff" * 31)
        assert secret.hex() not in str(caught.value)
        assert repr(secret) not in str(caught.value)
