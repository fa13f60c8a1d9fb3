"""Join: rows that several owners hold of the same people are put side by side, and nobody sees an id.

Source    Jiang & Clifton's last step, in the safer form: tags blinded by every owner, cells encrypted, each list
          shuffled and re-randomised by everyone else before it is joined.
Roles     the owners, two or more, with the same ids (`align` first); the table goes to the recipient if there
          is one, else to every owner.
Security  semi-honest. Whoever sees the joined table cannot tell whose row is whose while one owner besides the
          one who looks, or colludes, is honest: a list leaves its owner and comes back under other tags, other
          ciphertexts, in another order. Nothing can be read before every party has given its part of the key.
Not       a row that shows an exact value is recognised by who knows that value: at most one owner contributes
          exact columns, or they are permuted within their class first. A lying owner can put in what it likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from covey.crypto.commutative import BlindingKey
from covey.crypto.elgamal import Ciphertexts, KeyShare, Logarithms, encrypt, joint_key, opened, rerandomise
from covey.crypto.group import Point, Points, Scalar, Scalars, hash_to_group
from covey.crypto.rng import Stream
from covey.errors import Aborted, InputError
from covey.secure import book, lists
from covey.secure.book import paginate
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.jointkey import check_part, check_promise, whole
from covey.secure.lists import Elements
from covey.wire import FRAME_BYTES, Bytes32, Bytes64, Channel, Count, Message, gather, while_sending

COLUMNS = 3
"""Points of a row under way: its tag and the two halves of its ciphertext."""

KEY_BYTES = FRAME_BYTES + 130
SHARE_BYTES = FRAME_BYTES + 66

LEAKAGE = Leakage(
    everyone=("how many rows are joined ({rows})",),
    roles={
        "opener": ("the joined table: {rows} rows in random order, without ids",),
        "owner": (),
    },
)


def _blend(owners: int, rows: int, recipient: bool) -> Traffic:
    trips = owners * (owners - 1 + (1 if recipient else owners - 1))
    joined = Traffic(owners, trips * lists.messages(rows, COLUMNS), trips * lists.size(rows, COLUMNS))
    return Traffic.exchange(owners + recipient, KEY_BYTES) + joined


COST = Cost(_blend)
"""Of `blend`, with or without a recipient."""


def _opening(books: Sequence[Sequence[bytes]], recipient: bool) -> Traffic:
    openers = 1 if recipient else len(books) - 1
    messages = sum(1 + len(paginate(entries)) for entries in books)
    return Traffic(1, openers * messages, openers * sum(SHARE_BYTES + book.size(entries) for entries in books))


OPENING_COST = Cost(_opening)
"""Of `open_rows`, for each owner's distinct rows, sorted."""


class JoinKey(Message, tag="join.key"):
    """The sender's part of the joint key, and the proof that it knows it."""

    public: Point
    knows: Bytes64


class Passed(Elements, tag="join.passed"):
    """A list on its way round the owners: tags and encrypted codes, blinded by all who have had it."""


class Blend(Elements, tag="join.blend"):
    """A list that every owner has blinded, shuffled and re-randomised."""


class JoinShare(Message, tag="join.share"):
    """The sender's part of the joint key, and how many distinct rows it contributed."""

    secret: Bytes32
    distinct: Count


@dataclass(frozen=True)
class Blended:
    """The joined rows as codes under the joint key; at an owner that gets no table, without them."""

    owners: tuple[str, ...]
    openers: tuple[str, ...]
    columns: Mapping[str, Ciphertexts]
    publics: Mapping[str, Point]
    share: KeyShare = field(repr=False)
    entries: tuple[bytes, ...] = field(repr=False)


async def blend(
    channel: Channel, ids: Sequence[str], rows: Sequence[bytes], *, recipient: str | None = None
) -> Blended:
    """Joins everyone's rows by id; nothing can be read before `open_rows`. The recipient has no rows.

    Each call needs a step of its own. Raises `InputError` for a repeated id, and `Aborted` where the parties
    do not have the same ids.
    """
    owners = _owners(channel, recipient, len(ids), len(rows))
    openers = owners if recipient is None else (recipient,)
    rng = channel.rng.child("join")
    share = KeyShare(rng.stream("share"))
    context = ("join", channel.session, channel.step)
    keys = await channel.exchange(JoinKey(share.public, share.prove(rng.stream("proof"), *context, channel.me)))
    for party, key in keys.items():
        check_promise(channel, party, key.public, key.knows, *context)
    publics = {channel.me: share.public, **{party: key.public for party, key in keys.items()}}
    joint = joint_key(publics[party] for party in channel.parties)

    entries = tuple(sorted(set(rows)))
    finished: dict[str, list[Points]] = {}
    if channel.me in owners:
        blinding = BlindingKey(rng.stream("blinding"))
        code = {entry: number for number, entry in enumerate(entries)}
        order = rng.stream("order").permutation(len(ids))
        tags = blinding.blind(hash_to_group(lists.spelled(ids), *context).take(order))
        hidden = encrypt([code[rows[place]] for place in order.tolist()], joint, rng.stream("rows"))
        travelled = await _round(channel, owners, [tags, hidden.first, hidden.second], blinding, joint)
        finished = await _publish(channel, owners, openers, travelled)
    elif channel.me in openers:
        finished = await _collect(channel, owners, owners)
    return Blended(owners, openers, _joined(finished), publics, share, entries)


async def open_rows(channel: Channel, blended: Blended, *, approved: bool) -> list[tuple[bytes, ...]] | None:
    """The joined rows, sorted, each with one part per owner in the order of their names; None where none is due.

    Every party has to call it. Without our approval our part of the key stays here, and `Aborted` is raised.
    """
    if not approved:
        raise Aborted("the rows stay sealed: their opening was not approved", resumable=False)
    readers = [party for party in blended.openers if party != channel.me]
    reading = channel.me in blended.openers
    books: dict[str, tuple[bytes, ...]] = {channel.me: blended.entries}
    parts: list[Scalars] = [blended.share.surrender()]

    async def tell(reader: str) -> None:
        await channel.send(reader, JoinShare(blended.share.surrender().reveal(), len(blended.entries)))
        await book.send(channel, reader, blended.entries)

    async def read(party: str) -> None:
        share = await channel.receive(party, JoinShare)
        parts.append(check_part(channel, party, share.secret, blended.publics[party]))
        books[party] = await book.receive(channel, party, share.distinct)

    others = [party for party in channel.peers if reading and party in blended.owners]
    await gather(*(tell(reader) for reader in readers), *(read(party) for party in others))
    if not reading:
        return None
    return revealed(channel, blended, books, whole(parts))


async def _round(
    channel: Channel, owners: Sequence[str], own: list[Points], blinding: BlindingKey, joint: Points
) -> list[Points]:
    """Passes the lists round: ours goes out first; what comes in from our left we blind and hand to our right.

    Returns the list that we were the last to blind: that of the owner to our right.
    """
    place = owners.index(channel.me)
    left, right = owners[place - 1], owners[(place + 1) % len(owners)]
    rng, rows = channel.rng.child("join", "round"), len(own[0])
    batch = own
    for hop in range(1, len(owners)):
        reading = lists.receive(channel, left, Passed, columns=COLUMNS, due=rows)
        received = await while_sending(lists.send(channel, right, Passed, batch), reading)
        batch = reblind(received, blinding, joint, rng.stream(hop))
    return batch


async def _publish(
    channel: Channel, owners: Sequence[str], openers: Sequence[str], batch: list[Points]
) -> dict[str, list[Points]]:
    """Shows the list that we were the last to blind to all openers, while reading theirs if we are one."""
    whose = owners[(owners.index(channel.me) + 1) % len(owners)]
    finished: dict[str, list[Points]] = {}

    async def read() -> None:
        finished.update(await _collect(channel, owners, [party for party in owners if party != channel.me]))

    readers = [lists.send(channel, party, Blend, batch) for party in openers if party != channel.me]
    await gather(*readers, *([read()] if channel.me in openers else []))
    return {**finished, whose: batch} if channel.me in openers else {}


async def _collect(channel: Channel, owners: Sequence[str], senders: Sequence[str]) -> dict[str, list[Points]]:
    batches = await gather(*(lists.receive(channel, party, Blend, columns=COLUMNS) for party in senders))
    whose = [owners[(owners.index(party) + 1) % len(owners)] for party in senders]
    return dict(zip(whose, batches, strict=True))


def reblind(batch: Sequence[Points], blinding: BlindingKey, joint: Points, stream: Stream) -> list[Points]:
    """The rows under our blinding, with other ciphertexts, in an order of ours.

    Without the new order, a list's owner would read off which row came from which of its ids.
    """
    tags, first, second = batch
    hidden = rerandomise(Ciphertexts(first, second), joint, stream)
    order = stream.permutation(len(tags))
    return [blinding.blind(tags).take(order), hidden.first.take(order), hidden.second.take(order)]


def _joined(finished: Mapping[str, list[Points]]) -> dict[str, Ciphertexts]:
    """Each owner's ciphertexts, all in the order of the tags."""
    columns, seen = {}, set()
    for owner, (tags, first, second) in finished.items():
        order = sorted(range(len(tags)), key=list(tags).__getitem__)
        columns[owner] = Ciphertexts(first, second).take(order)
        seen.add(tags.take(order))
    if len(seen) > 1:
        raise Aborted(
            "the parties' tables do not have the same ids: align them before they are joined", resumable=False
        )
    return columns


def revealed(
    channel: Channel, blended: Blended, books: Mapping[str, Sequence[bytes]], secret: Scalar
) -> list[tuple[bytes, ...]]:
    """The joined rows, sorted, from the joint key's secret and all books."""
    parts = []
    for owner in blended.owners:
        hidden, entries = blended.columns[owner], books[owner]
        codes = Logarithms(max(1, len(entries))).of(opened(hidden, [hidden.first.times(secret)])).tolist()
        if any(not 0 <= code < len(entries) for code in codes):
            raise channel.refusal(owner, "a row's code is not in its book")
        parts.append([entries[code] for code in codes])
    return sorted(zip(*parts, strict=True))


def ideal(inputs: Mapping[str, Mapping[str, bytes]]) -> list[tuple[bytes, ...]]:
    """A trusted party's answer, given each owner's rows by id."""
    tables = [inputs[owner] for owner in sorted(inputs)]
    return sorted(tuple(table[own] for table in tables) for own in tables[0])


def _owners(channel: Channel, recipient: str | None, ids: int, rows: int) -> tuple[str, ...]:
    owners = tuple(party for party in channel.parties if party != recipient)
    if recipient is not None and recipient not in channel.parties:
        raise InputError(f"the recipient {recipient!r} is not a party of this session")
    if len(owners) < 2:
        raise InputError("a join takes two owners or more")
    if ids != rows or (channel.me == recipient and rows):
        raise InputError(f"{ids} ids and {rows} rows: an owner gives one row for each id, the recipient gives none")
    return owners
