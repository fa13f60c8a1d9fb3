"""Shuffle: everyone learns all parties' rows, in an order of its own, and nobody learns whose a row was.

Source    ours, after Chaum's decryption mix; the rows stay sealed to a joint key until everyone has approved.
Roles     every party alike, two or more; each is a mixer in turn, in the order of their names.
Security  an origin stays hidden while one mixer besides the row's owner is honest. A row that was altered
          does not open, a repeated one is refused, and each party checks that all its rows have come through
          before it gives its part of the key: whoever replaces rows ends the run before anything is opened.
Not       with two parties a row that is not ours is the other's; a mixer can stop the run; a party can put in
          rows of its own making; a replaced row is noticed by its owner, but which mixer did it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from covey.crypto.elgamal import KeyShare, joint_key
from covey.crypto.group import Point, Scalar
from covey.crypto.rng import Label
from covey.crypto.seal import OVERHEAD, Sealed, seal, unseal
from covey.errors import Aborted, InputError, PeerError
from covey.secure import batches
from covey.secure.batches import LENGTH_BYTES, Batch, pad, unpad
from covey.secure.declare import RELEASE, Cost, Leakage, Traffic
from covey.secure.jointkey import check_part, check_promise, whole
from covey.wire import FRAME_BYTES, Bytes32, Bytes64, Channel, Message, gather

KEYS_BYTES = FRAME_BYTES + 176
SHARE_BYTES = FRAME_BYTES + 60

LEAKAGE = Leakage(
    everyone=(
        "all {rows} rows of the release, in random order; not whose they are, as long as one other party or more "
        "shuffles them honestly",
        "how many rows each party hands in to be shuffled ({submitted}){dummies}",
    ),
    about=RELEASE,
)
LEAKAGE_OF_TWO = Leakage(
    everyone=(
        "all {rows} rows of the release and, with two parties, also whose they are: what is not ours is the other's",
    ),
    about=RELEASE,
)


def leakage(parties: int) -> Leakage:
    """The leakage of a run among that many."""
    return LEAKAGE_OF_TWO if parties == 2 else LEAKAGE


def sealed_size(length: int, layers: int) -> int:
    """Bytes of a row of that length below that many mixers' layers."""
    return LENGTH_BYTES + length + OVERHEAD * (1 + layers)


def _legs(counts: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Each list that is sent, as its number of rows and their size: submissions, the cascade, the outcome."""
    last = len(counts) - 1
    submissions = [(count, last) for count in counts[1:]]
    cascade = [(sum(counts), last - mixer) for mixer in range(last)]
    legs = submissions + cascade + [(sum(counts), 0)] * last
    return [(rows, sealed_size(length, layers)) for rows, layers in legs]


def _traffic(counts: Sequence[int], length: int) -> Traffic:
    legs = _legs(counts, length)
    carried = sum(batches.messages(*leg) for leg in legs), sum(batches.size(*leg) for leg in legs)
    return Traffic.exchange(len(counts), KEYS_BYTES) + Traffic(len(counts) + 1, *carried)


COST = Cost(_traffic)
"""Of `mix`, for the numbers of rows in the order of the parties' names, and the padded rows' length."""

OPENING_COST = Cost(lambda parties: Traffic.exchange(parties, SHARE_BYTES))
"""Of `open_rows`."""


class MixerKeys(Message, tag="shuffle.keys"):
    """The sender's key as a mixer, its part of the joint key, and the proof that it knows that part."""

    mixing: Point
    opening: Point
    knows: Bytes64


class Onions(Batch, tag="shuffle.onions"):
    """Rows below the layers of the mixers that are still to come."""


class MixedRows(Batch, tag="shuffle.rows"):
    """The mixed rows, sealed to the joint key only."""


class Share(Message, tag="shuffle.share"):
    """The sender's part of the joint key, given away after approval."""

    secret: Bytes32


@dataclass(frozen=True)
class Mixed:
    """The rows of all parties, mixed and still sealed."""

    sealed: Sealed
    publics: Mapping[str, Point]
    context: tuple[Label, ...]
    share: KeyShare = field(repr=False)


async def mix(channel: Channel, rows: Sequence[bytes], *, counts: Mapping[str, int], length: int) -> Mixed:
    """Mixes everyone's rows; nothing can be read before `open_rows`.

    `counts` has, for each party, the public number of rows it submits: fewer than that are filled up with
    dummies. Rows shorter than `length` are padded. Each call needs a step of its own.
    Raises `PeerError` where rows were altered, repeated, lost or replaced.
    """
    padded = pad(rows, _due(channel, counts), length)
    rng = channel.rng.child("shuffle")
    mixing, opening = KeyShare(rng.stream("mixing")), KeyShare(rng.stream("opening"))
    context = ("shuffle", channel.session, channel.step)
    keys = MixerKeys(mixing.public, opening.public, opening.prove(rng.stream("proof"), *context, channel.me))
    theirs = await channel.exchange(keys)
    for party, promised in theirs.items():
        check_promise(channel, party, promised.opening, promised.knows, *context)
    publics = {channel.me: keys, **theirs}
    joint = joint_key(publics[party].opening for party in channel.parties)

    mine = seal(padded, joint, rng.stream("row"), *context, "row")
    onions = mine
    for mixer in reversed(channel.parties[1:]):
        onions = seal(onions.rows(), publics[mixer].mixing, rng.stream("onion", mixer), *context, mixer)
    mixed = await _cascade(channel, onions, counts, length, mixing.surrender(), context)
    _check_outcome(channel, mixed, mine)
    return Mixed(mixed, {party: key.opening for party, key in publics.items()}, context, opening)


async def open_rows(channel: Channel, mixed: Mixed, *, approved: bool) -> list[bytes]:
    """All parties' rows without the dummies, sorted; every party has to call it.

    Without our approval our part of the key stays here, and `Aborted` is raised.
    """
    if not approved:
        raise Aborted("the rows stay sealed: their opening was not approved", resumable=False)
    mine = mixed.share.surrender()
    shares = await channel.exchange(Share(mine.reveal()))
    parts = [check_part(channel, party, share.secret, mixed.publics[party]) for party, share in shares.items()]
    try:
        rows = unseal(mixed.sealed, whole([mine, *parts]), *mixed.context, "row")
        return sorted(row for row in map(unpad, rows) if row is not None)
    except InputError as error:
        raise _somebody(channel, f"it submitted what is no row: {error}") from None


async def _cascade(
    channel: Channel,
    mine: Sealed,
    counts: Mapping[str, int],
    length: int,
    secret: Scalar,
    context: tuple[Label, ...],
) -> Sealed:
    """Every mixer takes its layer off all rows and shuffles them; the last one shows the outcome to everyone."""
    mixers, place = channel.parties, channel.parties.index(channel.me)
    last, total = len(mixers) - 1, sum(counts.values())
    order = channel.rng.child("shuffle").stream("order").permutation(total)
    if place == 0:
        layered = sealed_size(length, last)
        parts = await gather(*(batches.receive(channel, peer, Onions, counts[peer], layered) for peer in channel.peers))
        batch = _distinct(channel, Sealed.join([mine, *parts]), "one of the parties").take(order)
    else:
        await batches.send(channel, mixers[0], Onions, mine)
        before = mixers[place - 1]
        onions = await batches.receive(channel, before, Onions, total, sealed_size(length, last - place + 1))
        batch = _peeled(channel, onions, before, secret, (*context, channel.me)).take(order)
    if place < last:
        await batches.send(channel, mixers[place + 1], Onions, batch)
        return await batches.receive(channel, mixers[last], MixedRows, total, sealed_size(length, 0))
    await gather(*(batches.send(channel, peer, MixedRows, batch) for peer in channel.peers))
    return batch


def _peeled(channel: Channel, onions: Sealed, before: str, secret: Scalar, context: tuple[Label, ...]) -> Sealed:
    """The rows without our layer; what was altered or repeated is the fault of the mixer before us."""
    _distinct(channel, onions, before)
    try:
        return Sealed.parse(unseal(onions, secret, *context))
    except InputError as error:
        raise channel.refusal(before, f"it passed on what is no onion: {error}") from None


def _check_outcome(channel: Channel, mixed: Sealed, mine: Sealed) -> None:
    """All our rows are there, and none twice: else we never give our part of the key."""
    _distinct(channel, mixed, channel.parties[-1])
    arrived = dict(zip(mixed.heads, mixed.bodies, strict=True))
    if any(arrived.get(head) != body for head, body in zip(mine.heads, mine.bodies, strict=True)):
        raise _somebody(channel, "rows of ours were replaced on their way through the mixers")


def _distinct(channel: Channel, sealed: Sealed, party: str) -> Sealed:
    if not sealed.heads.distinct():
        raise channel.refusal(party, "a row occurs twice")
    return sealed


def _due(channel: Channel, counts: Mapping[str, int]) -> int:
    if set(counts) != set(channel.parties) or len(counts) < 2 or any(count < 0 for count in counts.values()):
        raise InputError(f"give the number of rows of each of {', '.join(channel.parties)}, and of no one else")
    return counts[channel.me]


def ideal(inputs: Mapping[str, Sequence[bytes]]) -> list[bytes]:
    """A trusted party's answer."""
    return sorted(row for rows in inputs.values() for row in rows)


def _somebody(channel: Channel, reason: str) -> PeerError:
    return channel.refusal(" or ".join(channel.peers), reason)
