"""What a party of `suppress` sees follows from its own table and the release: known attacks, and simulated views.

The attacks succeed against the printed protocol (`printed_suppress`) and fail against ours. Passing them is no proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from tests.harness.harness import lines, run
from tests.harness.hospitals import Person, tables_of
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard, shapes
from tests.harness.suppress_cases import SITES, draw_people, study_of, trial_of
from tests.leaks.printed_suppress import compare as printed_compare
from tests.leaks.printed_suppress import test as printed_test

from covey.crypto import group, ibe, pairing, sodium
from covey.crypto.group import Point, Scalar, Scalars, generator_times
from covey.crypto.rng import Label, Rng, derive
from covey.crypto.secret import Secret
from covey.crypto.sodium import Operand
from covey.party.session.progress import Progress
from covey.protocols import Proposal, Result, Seat
from covey.protocols.as_printed.suppress import ideal
from covey.protocols.as_printed.suppress.layout import BinLayout, Bounds
from covey.protocols.as_printed.suppress.messages import (
    CiphertextPart,
    Issued,
    Offered,
    ReleasedPart,
    TableSize,
    TableVerdict,
    TupleCounts,
    receive_rows,
    receive_tuples,
    send_tuples,
    spell_rows,
)
from covey.protocols.as_printed.suppress.parameters import AUTHORITY, Parameters
from covey.protocols.as_printed.suppress.role import authority, holder
from covey.protocols.as_printed.suppress.run import in_lanes
from covey.protocols.as_printed.suppress.tuples import (
    JointClasses,
    KeptTuples,
    Labels,
    OwnReleasedRows,
    OwnTuples,
    key_of,
    number_of,
)
from covey.protocols.shared.rows import carried
from covey.secure import listing
from covey.secure.declare import Leakage
from covey.secure.listing import Compare, EncryptNumbers, Settle, spell_numbers
from covey.secure.sealing import ElGamal, Waters
from covey.sources.release import canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Message, gather

K = 3
DOMAIN = [f"value {number}" for number in range(40)]
PRINTED, OURS = "as printed", "ours"


def rng(*labels: Label) -> Rng:
    return Rng(derive(seed_of(11), *labels))


@dataclass(frozen=True)
class Alice:
    """A keyholder with everything that it knows: its key, and the tape of its own randomness."""

    encryption: Waters | ElGamal
    key: ibe.IdentityKey | Scalar

    @classmethod
    def of(cls, scheme: str) -> Alice:
        if scheme == "elgamal":
            secret = Scalar.fresh(rng("alice").stream("key"))
            return cls(ElGamal(Point(generator_times(secret).data), secret), secret)
        master = ibe.Master(rng("authority").stream("master"))
        key = master.issue("alice", rng("authority").stream("key"))
        return cls(Waters(ibe.Recipient.of(master.parameters, "alice")), key)

    def number(self, value: str) -> int:
        return number_of("qi", key_of((value,)), self.encryption.order)

    def seal(self, entries: list[tuple[str, int]], seed: bytes) -> tuple[bytes, list[int]]:
        """Its list as it sends it, and the exponents t that it drew."""
        numbers = [each for value, _ in entries for each in (self.number(value), *[0] * (K - 1))]
        known = bytes(each for _, rows in entries for each in (1, *(j <= rows for j in range(1, K))))
        raw = listing.do(EncryptNumbers(self.encryption.raw, seed, spell_numbers(numbers), known))
        return raw, self.encryption.draw(Rng(Secret(seed)).stream("seal"), len(numbers))

    def opened(self, raw: bytes) -> list[bytes]:
        """The plaintexts, as elements."""
        if isinstance(self.encryption, Waters) and isinstance(self.key, ibe.IdentityKey):
            sealed = self.encryption.read(raw, rng("open", raw[:64]).stream("check"))
            return [element.serialize() for element in self.key.opened(sealed)]
        assert isinstance(self.encryption, ElGamal) and isinstance(self.key, Scalar)
        pairs = self.encryption.read(raw, rng("open").stream("check")).inner
        return list(pairs.second.minus(pairs.first.times(self.key)))

    @property
    def one(self) -> bytes:
        """The plaintext of zero."""
        return pairing.ONE.serialize() if isinstance(self.encryption, Waters) else bytes(group.POINT_BYTES)


def bob(alice: Alice, entries: bytes, bins: list[list[tuple[str, int]]], variant: str, seed: bytes) -> bytes:
    """The comparer's answer: in each bin values with their numbers of rows."""
    numbers = [alice.number(value) for one in bins for value, _ in one]
    picks = np.array([K - rows for one in bins for _, rows in one], dtype="<i4").tobytes()
    job = Compare(alice.encryption.raw, seed, entries, K, spell_numbers(numbers), picks)
    if variant == OURS:
        return listing.do(job)
    if isinstance(alice.encryption, Waters):
        return printed_compare(alice.encryption, job, rng(seed)).pack()
    return printed_compare(alice.encryption, job, rng(seed)).pack()


def printed_total(alice: Alice, job: listing.Test) -> bytes:
    """The comparer's answer in the first phase, as printed."""
    if isinstance(alice.encryption, Waters):
        return printed_test(alice.encryption, job, rng("printed")).pack()
    return printed_test(alice.encryption, job, rng("printed")).pack()


SCHEMES = pytest.mark.parametrize("scheme", ["elgamal", "waters"])


def exact_count(alice: Alice, entries: bytes, answer: bytes) -> int | None:
    """F1: the keyholder looks for its own z's among the answers; which one came back tells the comparer's count."""
    z = alice.opened(entries)
    for element in alice.opened(answer):
        for j in range(1, K):
            if element == z[j] and element != alice.one:
                return K - j
    return None


@SCHEMES
def test_f1_the_printed_protocol_tells_how_often_a_suppressed_tuple_occurs_and_ours_does_not(scheme: str) -> None:
    """Vector 9: the release is the same whether the comparer has one row of `a` or none."""
    alice = Alice.of(scheme)
    entries, _ = alice.seal([("a", 1)], bytes(32))
    with_a, without = [[("a", 1), ("e", 1)]], [[("d", 1), ("e", 1)]]
    assert exact_count(alice, entries, bob(alice, entries, with_a, PRINTED, b"1" * 32)) == 1
    assert exact_count(alice, entries, bob(alice, entries, without, PRINTED, b"2" * 32)) is None
    assert exact_count(alice, entries, bob(alice, entries, with_a, OURS, b"3" * 32)) is None
    assert exact_count(alice, entries, bob(alice, entries, without, OURS, b"4" * 32)) is None
    alone = [[("a", 1)]]  # fewer places than counts: each answer has a power of its own
    assert exact_count(alice, entries, bob(alice, entries, alone, PRINTED, b"5" * 32)) == 1
    assert exact_count(alice, entries, bob(alice, entries, alone, OURS, b"6" * 32)) is None


@SCHEMES
def test_f1_in_phase_one_a_product_of_z_s_comes_back_in_print_and_not_from_us(scheme: str) -> None:
    alice = Alice.of(scheme)
    entries, _ = alice.seal([("a", 1), ("b", 1)], bytes(32))
    numbers = spell_numbers([alice.number("a"), alice.number("b")])
    picks = np.array([K - 1, K - 1], dtype="<i4").tobytes()  # one row of each at the comparer: two in all fall short
    job = listing.Test(alice.encryption.raw, b"1" * 32, entries, K, numbers, picks)
    z = alice.encryption.read(entries, rng("z").stream("check"))
    own = alice.opened(z.take([K - 1, 2 * K - 1]).total().pack())
    assert alice.opened(printed_total(alice, job)) == own
    settled = listing.do(Settle(alice.encryption.raw, b"2" * 32, listing.do(job)))
    assert alice.opened(settled) != own and alice.opened(settled) != [alice.one]
    whole = alice.encryption.read(listing.do(job), rng("z").stream("check")).total()
    rho = alice.encryption.draw(Rng(Secret(b"2" * 32)).stream("rho"), 1)
    assert alice.opened(whole.scaled(rho).pack()) == alice.opened(settled)
    assert whole.scaled(rho).pack() != settled  # the same number, and nothing else of the ciphertext is the same


def dictionary_attack(alice: Alice, tape: list[int], value: str, entries: bytes, answer: bytes) -> set[tuple[str, int]]:
    """F2: from C2 = g^(t_Z + t_X theta) the keyholder gets g^theta, and tests every candidate and count with it."""
    order, z = alice.encryption.order, alice.opened(entries)
    found = set()
    width = alice.encryption.width
    for at, plain in zip(range(0, len(answer), width), alice.opened(answer), strict=True):
        for rows in range(1, K):
            theta = _power_of_theta(alice, answer[at : at + width], tape[0], tape[K - rows])
            for candidate in DOMAIN:
                exponent = (alice.number(value) - alice.number(candidate)) % order
                if exponent and plain == _times(alice, theta, exponent, z[K - rows]):
                    found.add((candidate, rows))
    return found


def _power_of_theta(alice: Alice, ciphertext: bytes, t_x: int, t_z: int) -> object:
    """g^theta, if the answer was not re-randomised; in GT, where the plaintexts are, for Waters' encryption."""
    inverse = pow(t_x, -1, alice.encryption.order)
    if isinstance(alice.encryption, Waters):
        point = pairing.read_g1(ciphertext[pairing.GT_BYTES : pairing.GT_BYTES + 48])
        base = (point - pairing.GENERATOR_1 * pairing.scalar(t_z)) * pairing.scalar(inverse)
        return pairing.pair(base, pairing.GENERATOR_2)
    first = Point(ciphertext[:32])
    return first.minus(generator_times(Scalars.of([t_z]))).times(Scalars.of([inverse]))


def _times(alice: Alice, theta: object, exponent: int, z: bytes) -> bytes:
    if isinstance(theta, group.Points):
        return theta.times(Scalars.of([exponent])).plus(group.Points(z, identity=True)).data
    assert isinstance(theta, pairing.GT)
    return bytes((theta ** pairing.scalar(exponent) * pairing.GT.deserialize(z)).serialize())


@SCHEMES
def test_f2_tuples_that_do_not_match_are_looked_up_in_print_and_not_with_us(scheme: str) -> None:
    alice = Alice.of(scheme)
    entries, tape = alice.seal([(DOMAIN[0], 1)], b"t" * 32)
    hidden = [[(DOMAIN[7], 1), (DOMAIN[23], 2)]]
    printed = bob(alice, entries, hidden, PRINTED, b"5" * 32)
    assert dictionary_attack(alice, tape, DOMAIN[0], entries, printed) == {(DOMAIN[7], 1), (DOMAIN[23], 2)}
    ours = bob(alice, entries, hidden, OURS, b"6" * 32)
    assert dictionary_attack(alice, tape, DOMAIN[0], entries, ours) == set()


@SCHEMES
def test_answers_of_two_tables_with_one_release_look_alike(scheme: str) -> None:
    """Section 7, 1: as many ones in each row, and nothing among the rest that the keyholder has chosen or can make."""
    alice = Alice.of(scheme)
    entries, _ = alice.seal([("a", 1), ("f", 2)], bytes(32))
    z = alice.opened(entries)
    for seed, second in ((b"1" * 32, "a"), (b"2" * 32, "d")):
        bins = [[(second, 1), ("e", 1), ("g", 2)], [("f", 1), (second, 1), ("e", 2)]]
        opened = alice.opened(bob(alice, entries, bins, OURS, seed))
        assert [element == alice.one for element in opened] == [False] * 3 + [True, False, False]
        rest = {element for element in opened if element != alice.one}
        assert len(rest) == 5 and not rest & products(alice, z)


def products(alice: Alice, z: list[bytes]) -> set[bytes]:
    """All products of up to three of the keyholder's own plaintexts."""
    found = set()
    for size in (1, 2, 3):
        for chosen in itertools.combinations(z, size):
            if isinstance(alice.encryption, Waters):
                element = pairing.ONE
                for raw in chosen:
                    element = element * pairing.GT.deserialize(raw)
                found.add(element.serialize())
            else:
                point = group.Points(chosen[0], identity=True)
                for raw in chosen[1:]:
                    point = point.plus(group.Points(raw, identity=True))
                found.add(point.data)
    return found


def test_non_matches_never_repeat_when_only_the_comparer_s_coins_change() -> None:
    """Section 7, 3."""
    alice = Alice.of("elgamal")
    entries, _ = alice.seal([("a", 1)], bytes(32))
    bins = [[("a", 1), ("b", 2), ("a", 2)]]
    seen: list[bytes] = []
    for turn in range(60):
        opened = alice.opened(bob(alice, entries, bins, OURS, turn.to_bytes(32, "big")))
        assert opened[2] == alice.one
        seen += opened[:2]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("hashed", [False, True])
def test_the_place_of_a_match_is_uniform(hashed: bool) -> None:
    """Section 7, 3: chi-square over the places of one tuple in its bin."""
    layout = BinLayout(40, 8, hashed=hashed)
    keys = [key_of((str(number),)) for number in range(5)]
    places = []
    for turn in range(800):
        table = layout.fill(keys, b"public", rng("fill", turn).stream("fill"))
        row = int(np.flatnonzero((table == 3).any(axis=1))[0])
        places.append(int(np.flatnonzero(table[row] == 3)[0]))
    counts = np.bincount(places, minlength=8)
    assert float(((counts - 100) ** 2 / 100).sum()) < 24.3, counts  # 7 degrees of freedom, p = 0.001


@pytest.mark.thorough
def test_the_sequence_and_the_sizes_of_messages_follow_from_the_release() -> None:
    """Section 7, 4: what is suppressed is drawn anew until the release is the same again; all that is seen stays."""
    found = 0
    for seed in range(400):
        stream = rng("pairs", seed).stream("people")
        people = draw_people(stream, 5, 9, 4)
        other = {name: [*own] for name, own in people.items()}
        study = study_of("elgamal")
        tables = tables_of(study, people)
        owns = [OwnTuples.of(tables[name]) for name in SITES]
        if owns[0].rows < K:
            continue
        kept = ideal.decide(K, owns[0], owns[1])
        for name, keeps in zip(SITES, kept, strict=True):
            for place in np.flatnonzero(~keeps).tolist():
                old = people[name][place]
                other[name][place] = (4 + stream.below(12), old[1], old[2])
        twin = ideal.decide(K, *(OwnTuples.of(tables_of(study, other)[name]) for name in SITES))
        if all(keeps.all() for keeps in kept) or not all(map(np.array_equal, kept, twin)):
            continue
        shapes = [_shape(people, seed), _shape(other, seed)]
        assert shapes[0] == shapes[1], f"seed {seed}"
        found += 1
        if found == 4:
            return
    pytest.fail("too few pairs of tables were found")


def _shape(people: dict[str, list[Person]], seed: int) -> list[tuple[str, str, str, int]]:
    trial = trial_of(study_of("elgamal"), people)
    return [(line.sender, line.recipient, line.step, line.size) for line in lines(run(trial, seed=seed))]


def test_the_order_of_a_party_s_rows_is_not_in_what_it_sends() -> None:
    """Rows with other cells change places in the file; the messages with rows stay as they are, to the byte."""
    people: dict[str, list[Person]] = {
        name: [(1, "F", ill) for ill in ("flu", "none", "asthma", "flu", "ulcer")] for name in SITES
    }
    mirrored = {name: own[::-1] for name, own in people.items()}
    said = [comparer_s_runs(study_of("elgamal", k=K), each)[0] for each in (people, mirrored)]
    rows = [[heard(run[me], peer, ReleasedPart) for me, peer in (SITES, SITES[::-1])] for run in said]
    assert rows[0] == rows[1] and rows[0][0]


def test_which_of_the_two_lists_matched_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparer swaps its two answers at random; the paper does too, although the release tells as much."""
    views: list[bytes] = []
    real = listing.do

    def watch(job: listing.AnyJob) -> bytes:
        answer = real(job)
        if isinstance(job, listing.FindZeros):
            views.append(answer)
        return answer

    monkeypatch.setattr(listing, "do", watch)
    people: dict[str, list[Person]] = {
        "north": [(1, "F", "flu"), (1, "F", "flu"), (2, "F", "flu")],
        "south": [(2, "F", "flu"), (1, "F", "flu")],
    }
    for seed in range(8):
        run(trial_of(study_of("elgamal", k=2), people), seed=seed)
    assert {*views} == {b"\x00\x01", b"\x01\x00"}


def recorded(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> list[tuple[str, int]]:
    """Which group operations a piece of work does, and on how many elements."""
    done: list[tuple[str, int]] = []

    def compute(name: str, count: int, *operands: Operand) -> bytes:
        done.append((name, count))
        return sodium.compute(name, count, *operands)

    with monkeypatch.context() as patch:
        patch.setattr(group, "compute", compute)
        work()
    return done


def test_the_comparer_works_alike_on_random_lists_and_with_empty_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 7, 5: neither the list nor the number of its own tuples changes what it computes."""
    alice = Alice.of("elgamal")
    real, _ = alice.seal([("a", 1), ("b", 2)], bytes(32))
    numbers = spell_numbers([0] * 6)
    random = listing.do(EncryptNumbers(alice.encryption.raw, b"r" * 32, numbers, bytes(6)))
    full = [[("a", 1), ("b", 1), ("c", 2)], [("d", 1), ("e", 2), ("f", 1)]]
    empty = [[("none", 1)] * 3] * 2
    works = [
        recorded(monkeypatch, partial(bob, alice, entries, bins, OURS, b"s" * 32))
        for entries, bins in ((real, full), (random, full), (real, empty))
    ]
    assert works[0] == works[1] == works[2] and works[0]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["elgamal", pytest.param("waters", marks=pytest.mark.slow)])
def test_the_keyholder_s_answers_are_those_of_a_simulator(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 7, 6: from its own table and the release one can tell how many answers are one, in every row."""
    views: list[bytes] = []
    real = listing.do

    def watch(job: listing.AnyJob) -> bytes:
        answer = real(job)
        if isinstance(job, listing.FindZeros):
            views.append(answer)
        return answer

    monkeypatch.setattr(listing, "do", watch)
    for seed in range(12 if scheme == "elgamal" else 4):
        people = draw_people(rng("simulated", seed).stream("people"), 4, 10, 3)
        trial = trial_of(study_of(scheme, k=K), people)
        views.clear()
        run(trial, seed=seed)
        assert [sum(view) for view in views[:1]] == simulated(trial.study, people)[:1], f"seed {seed}"
        assert sum(map(sum, views[1:])) == sum(simulated(trial.study, people)[1:]), f"seed {seed}"


def simulated(study: Study, people: dict[str, list[Person]]) -> list[int]:
    """M^(A): the ones of the verdict, and those of the comparisons, from the keyholder's table and the release only."""
    tables = tables_of(study, people)
    terms = Parameters.of(study)
    owns = {name: OwnTuples.of(tables[name]) for name in SITES}
    keyholder, comparer = terms.parts({name: own.rows for name, own in owns.items()})
    kept = dict(zip((keyholder, comparer), ideal.decide(terms.k, owns[keyholder], owns[comparer]), strict=True))
    if all(keeps.all() for keeps in kept.values()):
        return [1]
    own = owns[keyholder]
    remaining = own.remaining(own.given_up(terms.k))
    theirs = owns[comparer]
    shown = np.bincount(theirs.place[kept[comparer]], minlength=len(theirs.keys))  # the release, by owner
    frequent = {theirs.keys[place] for place in np.flatnonzero(shown >= terms.k).tolist()}
    mine = {own.keys[place] for place in np.unique(own.place[kept[keyholder]]).tolist()}
    listed = np.flatnonzero((remaining > 0) & (remaining < terms.k)).tolist()
    return [0, sum(own.keys[place] in mine and own.keys[place] not in frequent for place in listed)]


# -- M^(B): the comparer against somebody who knows nothing but what the comparer ends up with


class _Unread:
    """A ledger that nobody reads here."""

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        pass


async def _agreed(proposal: Proposal) -> None:
    pass


def seat_of(study: Study, name: str, table: Table | None, channel: Channel) -> Seat:
    return Seat(study, table, channel, Progress(name, ()), _Unread(), _agreed, seed_of(9))


@dataclass(frozen=True)
class Simulator:
    """The paper's M^(B), repaired: it plays the keyholder, from the release's rows that are the keyholder's.

    The rows stand as in the keyholder's file. The paper's release has them so; ours is sorted, and where the table was
    anonymous as it stood, which of equally frequent tuples comes first in the file decides whose k rows are given up:
    the ledger says so.
    """

    study: Study
    shown: OwnReleasedRows
    anonymous: bool
    key: Point = field(default_factory=lambda: Point(generator_times(Scalar.fresh(rng("M").stream("key"))).data))

    def named(self) -> dict[Labels, int]:
        """Message 1. Finding 8: where nothing was suppressed, what would have been given up is computed anew."""
        k = self.study.privacy.k
        if not self.anonymous or len(self.shown.tuples) < k:
            return {labels: count for labels, count in self.shown.kept.counts.items() if count >= k}
        rows = [labels for labels in self.shown.tuples if labels is not None]
        listed = list(dict.fromkeys(rows))
        own = OwnTuples.sorted(listed, np.array([listed.index(row) for row in rows], dtype=np.int64))
        left = own.remaining(own.given_up(k)).tolist()
        return {labels: count for labels, count in zip(own.labels, left, strict=True) if count >= k}

    async def play(self, channel: Channel) -> Result:
        study, terms, rows = self.study, Parameters.of(self.study), len(self.shown.tuples)
        among = channel.among(*terms.holders)
        (peer,) = among.peers
        encryption, digest = await self._encryption(channel, terms)
        theirs = (await among.at("sizes").exchange(TableSize(rows, digest)))[peer].rows
        named = self.named()
        await send_tuples(among.at("frequent"), peer, named)
        known = await receive_tuples(among.at("frequent"), peer, study, theirs, terms.k)
        if isinstance(encryption, ElGamal):
            await among.at("key").send(peer, Offered(self.key))
        bounds = Bounds.of(terms, (rows, theirs), (sum(named.values()), sum(known.values())))
        for which in range(2):
            await self._list(among.at("test", which), peer, encryption, bounds.tested, bounds.test_chunk)
        await among.at("answer").receive(peer, CiphertextPart)
        await among.at("verdict").send(peer, TableVerdict(self.anonymous))
        if not self.anonymous and bounds.given_up:

            async def read(at: Channel, chunk: int) -> None:
                for _ in range(bounds.pieces):
                    await at.receive(peer, CiphertextPart)

            await gather(
                self._list(among.at("list"), peer, encryption, bounds.layout.bins, bounds.compare_chunk),
                in_lanes(among.at("compare"), bounds.compare_chunks, read),
            )
        await send_tuples(among.at("kept"), peer, self.shown.kept.counts)
        told = KeptTuples(await receive_tuples(among.at("kept"), peer, study, theirs, 1), theirs)
        classes = JointClasses.of(study, [self.shown.kept, told])
        names = [column.name for column in carried(study)]
        await among.at("rows").stream(peer, spell_rows(self.shown, classes))
        await receive_rows(among.at("rows"), peer, names, told, classes)
        return Result()

    async def _encryption(self, channel: Channel, terms: Parameters) -> tuple[Waters | ElGamal, bytes]:
        if terms.encryption == "elgamal":
            return ElGamal(self.key), bytes(32)
        parameters = (await channel.at("issue").receive(AUTHORITY, Issued)).parameters
        return Waters(ibe.Recipient.of(parameters, terms.name_of(channel.me))), parameters.digest

    async def _list(self, channel: Channel, peer: str, encryption: Waters | ElGamal, length: int, chunk: int) -> None:
        """As many ciphertexts as are due, of numbers that nobody knows."""
        k = self.study.privacy.k

        async def write(at: Channel, number: int) -> None:
            due = k * (min((number + 1) * chunk, length) - number * chunk)
            seed = rng("M", at.step, number).stream("list").bytes(32)
            await at.send(
                peer, CiphertextPart(listing.do(EncryptNumbers(encryption.raw, seed, bytes(32 * due), bytes(due))))
            )

        await in_lanes(channel, -(-length // chunk), write)


def comparer_s_runs(study: Study, people: dict[str, list[Person]]) -> tuple[dict[str, Outcome[Result]], ...]:
    """A real run, and one in which the comparer meets the simulator instead."""
    tables = tables_of(study, people)
    terms = Parameters.of(study)
    owns = [OwnTuples.of(tables[name]) for name in SITES]
    kept = ideal.decide(terms.k, owns[0], owns[1])
    shown = OwnReleasedRows.of(owns[0], kept[0], tables[SITES[0]])
    simulator = Simulator(study, shown, anonymous=bool(kept[0].all() and kept[1].all()))

    def plays(name: str) -> Callable[[Channel], Awaitable[Result]]:
        role = authority if name == AUTHORITY else holder
        return lambda channel: role(seat_of(study, name, tables.get(name), channel))

    real = {party.name: plays(party.name) for party in study.parties}
    return run_parties(real, seed=3), run_parties({**real, SITES[0]: simulator.play}, seed=3)


CLEAR: tuple[type[Message], ...] = (TableSize, TupleCounts, TableVerdict, ReleasedPart)


def ciphertexts_seen(outcome: Outcome[Result], width: int) -> list[bytes]:
    raw = b"".join(message.items for message in heard(outcome, SITES[0], CiphertextPart))
    return [raw[at : at + width] for at in range(0, len(raw), width)]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("scheme", "seeds"), [("elgamal", 14), ("waters", 1), pytest.param("waters", 6, marks=pytest.mark.slow)]
)
def test_the_comparer_cannot_tell_the_keyholder_from_a_simulator_that_has_the_release_alone(
    scheme: str, seeds: int
) -> None:
    """Section 7, 6: the same messages in the clear, as many ciphertexts of the same sizes, the same release."""
    study, kinds = study_of(scheme, k=K), set()
    for seed in range(seeds):
        people = draw_people(rng("M^(B)", seed).stream("people"), 4, 10, 1 + seed % 3)
        real, made_up = comparer_s_runs(study, people)
        assert real[SITES[1]].error is None and made_up[SITES[1]].error is None, f"seed {seed}"
        views = [run[SITES[1]] for run in (real, made_up)]
        for kind in CLEAR:
            told = [heard(view, SITES[0], kind) for view in views]
            assert told[0] == told[1] and told[0], f"seed {seed}: {kind.__name__}"
        assert shapes(real) == shapes(made_up), f"seed {seed}"
        releases = [view.unwrap().release for view in views]
        assert releases[0] is not None and releases[1] is not None
        assert canonical_csv(releases[0]) == canonical_csv(releases[1]), f"seed {seed}"
        width = Waters.width if scheme == "waters" else ElGamal.width
        seen = [ciphertexts_seen(view, width) for view in views]
        assert len(seen[0]) == len(seen[1]) == len({*seen[0]}) == len({*seen[1]})
        assert not {*seen[0]} & {*seen[1]}
        kinds.add(heard(views[0], SITES[0], TableVerdict)[0].anonymous)
    assert kinds == {True, False} or seeds == 1
