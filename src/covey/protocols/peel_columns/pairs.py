"""Pairs of values, of two columns each: holders learn which of them k or more people have, and never how many.

Two columns of one holder: it counts alone, and tells the others. Columns of two holders: these two ask the evaluator,
with tags as at a visit (`tags`). Besides the people they bring one made-up person for each pair of values; of each of
these the evaluator tells whether k or more people are like it. It knows which are made up, but not which pair of values
each has: they come in a random order, which follows from the holders' secret. So no holder learns who is alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.group import SCALAR_BYTES, Points
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.protocols.peel_columns import tags
from covey.protocols.peel_columns.asking import Blinds, MaskedPositions
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.peel_columns.tags import visit_seed
from covey.protocols.shared.peeling.pairs import ColumnPair, pairs_of
from covey.secure.declare import Leakage
from covey.table import Table
from covey.wire import Channel, Chunk, gather, while_sending

AT_ONCE = 1 << 19
"""People and pairs of values in one question, about."""

LEAKAGE = Leakage(
    roles={
        "holder": (
            "which of {cells} pairs of values, of two quasi columns each, {k} or more people have; not how many",
        ),
        "evaluator": (
            "for each two quasi columns of different holders, {asked} in all: how many people have each pair of their "
            "values, in a random order; not which values these are, and not who has them",
        ),
    }
)


class SharedPairs(Chunk[bytes], tag="peel.pairs"):
    """A bit for each pair of values, eight to a byte: 1 if k or more people have both."""

    bits: bytes


@dataclass(frozen=True)
class PairQuestion:
    """Two columns of two holders about which the evaluator is asked."""

    number: int
    pair: ColumnPair
    holders: tuple[str, str]

    @property
    def cells(self) -> int:
        """The number of pairs of values."""
        return self.pair.shape[0] * self.pair.shape[1]

    @property
    def speaker(self) -> str:
        """The one of the two that sends the points: in turn, so that all send about as much."""
        return self.holders[self.number % 2]


def owners(params: Parameters) -> list[str]:
    """The holder of each quasi column of the study."""
    of = {place: holder for holder in params.holders for place in params.own_places(holder)}
    return [of[place] for place in range(len(of))]


def questions(params: Parameters) -> list[PairQuestion]:
    """The questions to the evaluator, one for each two columns of different holders."""
    held, pairs = owners(params), pairs_of([column.tree() for column in params.study.quasi])
    asked = [(pair, (held[pair.columns[0]], held[pair.columns[1]])) for pair in pairs]
    return [PairQuestion(number, pair, both) for number, (pair, both) in enumerate(asked) if both[0] != both[1]]


def batches(asked: Sequence[PairQuestion], people: int) -> Iterator[list[PairQuestion]]:
    """The questions, some at once."""
    batch: list[PairQuestion] = []
    for question in asked:
        if batch and sum(people + each.cells for each in (*batch, question)) > AT_ONCE:
            yield batch
            batch = []
        batch.append(question)
    if batch:
        yield batch


async def learn(channel: Channel, params: Parameters, table: Table, secrets: tuple[Secret, Secret]) -> list[Bits]:
    """A holder's part: the bits of each pair of columns. `secrets` are all holders' and our own."""
    trees = [column.tree() for column in params.study.quasi]
    pairs, held = pairs_of(trees), owners(params)
    shared = [np.zeros(0, dtype=np.bool_)] * len(pairs)
    codes = dict(zip(params.own_places(channel.me), table.codes, strict=True))
    alone: dict[str, list[int]] = {holder: [] for holder in params.holders}
    for number, pair in enumerate(pairs):
        first, second = (held[column] for column in pair.columns)
        if first == second:
            alone[first].append(number)
        if first == second == channel.me:
            shared[number] = pair.count(trees, codes) >= params.k

    async def hear(peer: str) -> None:
        told = [pairs[number].shape for number in alone[peer]]
        found = _unpacked(await channel.receive_all(peer, SharedPairs, _bytes(told)), told)
        for number, bits in zip(alone[peer], found, strict=True):
            shared[number] = bits

    among = channel.among(*params.holders)
    mine = _packed([shared[number] for number in alone[channel.me]])
    await while_sending(among.broadcast_all(SharedPairs, mine), gather(*(hear(peer) for peer in among.peers)))

    for turn, batch in enumerate(batches(questions(params), table.rows)):
        found = await _ask(channel.at("asked").at(turn), params, table.rows, codes, batch, secrets)
        for question, bits in zip(batch, found, strict=True):
            shared[question.number] = bits
    return shared


async def _ask(
    channel: Channel,
    params: Parameters,
    people: int,
    codes: dict[int, Ints],
    batch: Sequence[PairQuestion],
    secrets: tuple[Secret, Secret],
) -> list[Bits]:
    """Asks some questions at once: sends our numbers for those about a column of ours, and hears all answers."""
    trees = [column.tree() for column in params.study.quasi]
    sent, points = [], []
    for question in batch:
        if channel.me not in question.holders:
            continue
        side = question.holders.index(channel.me)
        disguise = _disguise(secrets[0], question, people)
        made_up = np.indices(question.pair.shape)[side].ravel()
        places = question.pair.places(trees, side)[codes[question.pair.columns[side]]]
        key = derive(visit_seed(secrets[1], "pair", question.number), "worth")
        worth = tags.pseudorandom(key, [np.concatenate([places, made_up]).astype(np.int32)], disguise.people)
        sent.append(disguise.masked(0, side, worth, _order(disguise, people)))
        if channel.me == question.speaker:
            points.append(disguise.points(0))
    if sent:
        await channel.send_all(params.evaluator, MaskedPositions, b"".join(sent))
    if points:
        await channel.send_all(params.evaluator, Blinds, Points.join(points))
    told = [question.pair.shape for question in batch]
    found = _unpacked(await channel.receive_all(params.evaluator, SharedPairs, _bytes(told)), told)
    answers = []
    for question, bits in zip(batch, found, strict=True):
        order = _order(_disguise(secrets[0], question, people), people)[people:] - people
        answer = np.empty_like(bits)
        answer[order] = bits
        answers.append(answer)
    return answers


async def answer(channel: Channel, params: Parameters, people: int) -> None:
    """The evaluator's part: tells every holder which made-up people k or more are like."""
    for turn, batch in enumerate(batches(questions(params), people)):
        await _answer(channel.at("asked").at(turn), params, people, batch)


async def _answer(channel: Channel, params: Parameters, people: int, batch: Sequence[PairQuestion]) -> None:
    numbers: dict[str, list[int]] = {}
    points: dict[str, Points] = {}

    async def receive(holder: str) -> None:
        sizes = [people + question.cells for question in batch if holder in question.holders]
        if not sizes:
            return
        raw = await channel.receive_all(holder, MaskedPositions, SCALAR_BYTES * sum(sizes))
        try:
            numbers[holder] = tags.read(raw)
        except ValueError as error:
            raise channel.refusal(holder, str(error)) from None
        if spoken := sum(people + question.cells for question in batch if holder == question.speaker):
            points[holder] = await channel.receive_all(holder, Blinds, spoken)

    await gather(*(receive(holder) for holder in params.holders))
    read, spoken = dict.fromkeys(params.holders, 0), dict.fromkeys(params.holders, 0)
    answers = []
    for question in batch:
        size, speaker = people + question.cells, question.speaker
        both = [numbers[holder][read[holder] : read[holder] + size] for holder in question.holders]
        blinds = points[speaker].slice(spoken[speaker], spoken[speaker] + size)
        for holder in question.holders:
            read[holder] += size
        spoken[speaker] += size
        try:
            answers.append(judged(tags.add_up(both), blinds, people, params.k))
        except ValueError:
            reason = "numbers of two holders add up to zero, which chance never does: one of them did not keep to the"
            raise Aborted(f"{reason} protocol", resumable=False) from None
    raw = _packed(answers)
    await gather(*(channel.send_all(holder, SharedPairs, raw) for holder in params.holders))


def judged(sums: Sequence[int], points: Points, people: int, k: int) -> Bits:
    """For each made-up person whether k or more people are like it. Raises ValueError where a sum is zero."""
    number = tags.alike(tags.tags(sums, points))
    count = np.bincount(number[:people], minlength=int(number.max()) + 1)
    return np.asarray(count[number[people:]] >= k)


def _disguise(secret: Secret, question: PairQuestion, people: int) -> tags.Disguise:
    """The randomness of a question, of the two holders' numbers for people and made-up people."""
    return tags.Disguise(visit_seed(secret, "pair", question.number), 2, people + question.cells)


def _order(disguise: tags.Disguise, people: int) -> Longs:
    """The person at each position: people first, then made-up ones, each in a random order."""
    sizes = (people, disguise.people - people)
    first, second = (
        Rng(derive(disguise.seed, "order", who)).stream("order").permutation(size)
        for who, size in zip(("people", "made up"), sizes, strict=True)
    )
    return np.concatenate([first, people + second])


def _packed(bits: Sequence[Bits]) -> bytes:
    return b"".join(np.packbits(each).tobytes() for each in bits)


def _bytes(shapes: Sequence[tuple[int, int]]) -> int:
    return sum((rows * columns + 7) // 8 for rows, columns in shapes)


def _unpacked(raw: bytes, shapes: Sequence[tuple[int, int]]) -> list[Bits]:
    """The bits of each pair of columns back, without those that fill up the last byte."""
    found, at = [], 0
    for rows, columns in shapes:
        size = (rows * columns + 7) // 8
        found.append(np.unpackbits(np.frombuffer(raw[at : at + size], np.uint8))[: rows * columns].astype(np.bool_))
        at += size
    return found
