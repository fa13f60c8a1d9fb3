"""The roles: two holders, of which one holds the key and the other compares, and the authority that issues keys."""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits
from covey.crypto.group import Point, Scalar, generator_times
from covey.crypto.ibe import IdentityKey, Master, Recipient
from covey.crypto.rng import Rng
from covey.errors import PeerError, Unmet
from covey.protocols.as_printed.suppress import comparer, keyholder, leakage
from covey.protocols.as_printed.suppress.layout import Bounds
from covey.protocols.as_printed.suppress.messages import (
    Issued,
    Offered,
    TableSize,
    receive_rows,
    receive_tuples,
    require_sendable,
    send_tuples,
    spell_rows,
)
from covey.protocols.as_printed.suppress.parameters import AUTHORITY, MOST_ROWS, Parameters
from covey.protocols.as_printed.suppress.run import FUNCTION, WORTH_WORKERS, HolderRun
from covey.protocols.as_printed.suppress.tuples import JointClasses, KeptTuples, Labels, OwnReleasedRows, OwnTuples
from covey.protocols.protocol import Proposal, Result, Seat
from covey.protocols.shared.rows import carried
from covey.secure.sealing import ElGamal, Waters
from covey.secure.workers import Workers
from covey.wire import Channel, gather


async def authority(seat: Seat) -> Result:
    """Issues each holder the key of its name, and sees nothing else of the run but that it is approved.

    The master key follows from the authority's own key file: it is the same in every run, and no file holds it besides.
    """
    parameters = Parameters.of(seat.study)
    seat.progress.phase("keys")
    master = Master(Rng(seat.lasting).stream("waters master"))
    *early, opening = leakage.parts(parameters)
    seat.note(*((part, leakage.numbers(parameters)) for part in early))
    with seat.channel.at("issue") as channel:
        for party, key in _keys(master, parameters, channel.rng).items():
            await channel.send(party, Issued(parameters.name_of(party), master.parameters, key))
    seat.progress.phase("release")
    await seat.propose(Proposal(opening, leakage.numbers(parameters)))
    return Result()


def _keys(master: Master, parameters: Parameters, rng: Rng) -> dict[str, IdentityKey]:
    """The key of each holder's name."""
    names = {party: parameters.name_of(party) for party in parameters.holders}
    return {party: master.issue(name, rng.stream("key", name)) for party, name in names.items()}


async def holder(seat: Seat) -> Result:
    """A holder of rows. Raises Unmet for fewer than k rows in all, Aborted where the outcome is not k-anonymous."""
    parameters, own = Parameters.of(seat.study), OwnTuples.of(seat.records)
    channel = seat.channel.among(*parameters.holders)
    seat.progress.phase("keys")
    issued = await _issued(seat, parameters) if parameters.encryption == "waters" else None
    rows = await _sizes(seat, channel, own.rows, issued)
    if sum(rows.values()) < parameters.k:
        raise Unmet(f"the parties together have fewer than k = {parameters.k} rows; nothing can be released")
    (peer,) = channel.peers
    parts = parameters.parts(rows)

    seat.progress.phase("frequent")
    holds_key = parts[0] == channel.me
    given_up = own.given_up(parameters.k) if holds_key else np.zeros(own.rows, dtype=bool)
    remaining = own.remaining(given_up)
    named = own.frequent(remaining, parameters.k)
    known = await _name(seat, channel, named, rows[peer] - (0 if holds_key else parameters.given_up(rows[peer])))
    sums = {channel.me: sum(named.values()), peer: sum(known.values())}
    bounds = Bounds.of(parameters, (rows[parts[0]], rows[parts[1]]), (sums[parts[0]], sums[parts[1]]))
    encryption, key = await _encryption(channel, parameters, parts[0], issued)

    seat.ledger.learns(leakage.KEPT, **leakage.numbers(parameters))
    async with Workers(FUNCTION, None if bounds.ciphertexts >= WORTH_WORKERS else 0) as workers:
        run = HolderRun(seat, parameters, channel, peer, own, known, bounds, workers, encryption)
        if holds_key:
            keeps = await keyholder.keep(run, key, given_up, remaining)
            kept, told = await _tell_first(run, keeps, rows[peer])
        else:
            anonymous = await comparer.answer(run)
            kept, told = await _tell_last(run, anonymous, rows[peer])

    seat.progress.phase("release")
    return await _release(seat, channel, parameters, kept, told)


async def _issued(seat: Seat, parameters: Parameters) -> Issued:
    """Our key from the authority. Raises PeerError for one that is not ours or does not fit."""
    seat.ledger.learns(leakage.parts(parameters)[0], **leakage.numbers(parameters))
    with seat.channel.at("issue") as channel:
        issued = await channel.receive(AUTHORITY, Issued)
    name = parameters.name_of(channel.me)
    if issued.name != name:
        raise PeerError(party=AUTHORITY, step="issue", reason=f"it issued a key for another name than {name!r}")
    if not issued.key.fits(issued.parameters, name):
        raise PeerError(party=AUTHORITY, step="issue", reason=f"the key that it issued is not that of {name!r}")
    return issued


async def _sizes(seat: Seat, channel: Channel, own: int, issued: Issued | None) -> dict[str, int]:
    """All parties' numbers of rows. Raises PeerError for too many, or if the authority told them different things.

    A list is as long as the rows that a peer says it has: it would have to be made before that could be found a lie.
    """
    most, parameters = seat.study.rows_at_most or MOST_ROWS, Parameters.of(seat.study)
    digest = bytes(32) if issued is None else issued.parameters.digest
    seat.ledger.learns(leakage.COUNTS, **leakage.numbers(parameters))
    theirs = await channel.at("sizes").exchange(TableSize(own, digest))
    for peer, size in theirs.items():
        if size.parameters != digest:
            reason = f"it gave party {peer!r} other parameters than us, or {peer!r} says so"
            raise PeerError(party=AUTHORITY, step="issue", reason=reason)
        if size.rows > most:
            raise PeerError(party=peer, step="sizes", reason=f"it says that it has more than {most:,} rows")
    return {channel.me: own, **{peer: size.rows for peer, size in theirs.items()}}


async def _name(seat: Seat, channel: Channel, named: dict[Labels, int], rows: int) -> dict[Labels, int]:
    """Both name the tuples of which they have k rows by themselves; the peer's, of at most so many rows."""
    (peer,) = channel.peers

    async def tell() -> dict[Labels, int]:
        await send_tuples(channel.at("frequent"), peer, named)
        return {}

    hear = receive_tuples(channel.at("frequent"), peer, seat.study, rows, seat.study.privacy.k)
    _, known = await gather(tell(), hear)
    return known


async def _encryption(
    channel: Channel, parameters: Parameters, keyholder: str, issued: Issued | None
) -> tuple[Waters | ElGamal, bytes]:
    """The encryption under the keyholder's key, and that key where it is ours."""
    (peer,) = channel.peers
    ours = keyholder == channel.me
    if issued is not None:
        recipient = Recipient.of(issued.parameters, parameters.name_of(keyholder))
        return Waters(recipient), issued.key.pack() if ours else b""
    at = channel.at("key")
    if not ours:
        return ElGamal((await at.receive(peer, Offered)).key), b""
    secret = Scalar.fresh(at.rng.stream("elgamal"))
    public = Point(generator_times(secret).data)
    await at.send(peer, Offered(public))
    return ElGamal(public, secret), secret.reveal()


async def _tell_first(run: HolderRun, keeps: Bits, rows: int) -> tuple[OwnReleasedRows, KeptTuples]:
    """The keyholder names what it keeps, and hears what the comparer keeps."""
    mine = OwnReleasedRows.of(run.own, keeps, run.seat.records)
    channel = run.channel.at("kept")
    await send_tuples(channel, run.peer, mine.kept.counts)
    return mine, KeptTuples(await receive_tuples(channel, run.peer, run.seat.study, rows, 1), rows)


async def _tell_last(run: HolderRun, anonymous: bool, rows: int) -> tuple[OwnReleasedRows, KeptTuples]:
    """The comparer keeps what it has k rows of, and what the keyholder keeps too.

    It says so only once it has seen that this is k-anonymous: or a verdict that is a lie would bring out every tuple.
    """
    channel, own = run.channel.at("kept"), run.own
    theirs = KeptTuples(await receive_tuples(channel, run.peer, run.seat.study, rows, 1), rows)
    if anonymous and theirs.suppressed:
        reason = "it keeps fewer rows than it has, after a verdict that nothing is to be suppressed"
        raise PeerError(party=run.peer, step=channel.step, reason=reason)
    keeps = np.array(
        [
            anonymous or count >= run.parameters.k or labels in theirs.counts
            for labels, count in zip(own.labels, own.counts, strict=True)
        ],
        dtype=bool,
    )
    mine = OwnReleasedRows.of(own, keeps[own.place], run.seat.records)
    JointClasses.of(run.seat.study, [mine.kept, theirs])
    await send_tuples(channel, run.peer, mine.kept.counts)
    return mine, theirs


async def _release(
    seat: Seat, channel: Channel, parameters: Parameters, mine: OwnReleasedRows, theirs: KeptTuples
) -> Result:
    """Both see that what is kept is k-anonymous, approve, and exchange their rows as they are released."""
    (peer,) = channel.peers
    classes = JointClasses.of(seat.study, [mine.kept, theirs])
    require_sendable(mine)
    figures, preview = classes.figures(seat.study), classes.preview(seat.study)
    await seat.propose(Proposal(leakage.ROWS, leakage.numbers(parameters), figures, preview))
    names = [column.name for column in carried(seat.study)]
    with channel.at("rows") as at:

        async def tell() -> OwnReleasedRows:
            await at.stream(peer, spell_rows(mine, classes))
            return mine

        both = await gather(tell(), receive_rows(at, peer, names, theirs, classes))
    return classes.result(seat.study, both)
