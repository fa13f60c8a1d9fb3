"""A key without a dealer: any t of its n parts open, fewer say nothing, and a wrong part is told from a right one."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import seed_of
from tests.harness.tiers import examples
from tests.unit.crypto import ristretto

from covey.crypto import proof
from covey.crypto.elgamal import Ciphertexts, KeyShare, Logarithms, encrypt, joint_key, opened, rerandomise
from covey.crypto.group import GENERATOR, ORDER, Points, Scalar, Scalars, generator_times, powers, weighted_sum
from covey.crypto.rng import Rng
from covey.crypto.threshold_key import (
    LARGEST_COMMITTEE,
    CommitteeKey,
    Dealer,
    PartialOpening,
    Trustee,
    dealt_right,
    lagrange_weights,
    value_at,
)
from covey.errors import InputError

BAD = tomllib.loads((Path(__file__).parents[2] / "hostile" / "elements.toml").read_text())


def committee(trustees: int, threshold: int, seed: int = 0) -> list[Trustee]:
    """Trustees who have made a key together."""
    rng = Rng(seed_of(seed))
    dealers = [Dealer(threshold, rng.stream("dealer", place)) for place in range(trustees)]
    key = CommitteeKey.of([dealer.commitments for dealer in dealers])
    return [Trustee(place, [dealer.share(place) for dealer in dealers], key) for place in range(1, trustees + 1)]


def unlocked(some: Sequence[Trustee], hidden: Ciphertexts, seed: int = 7) -> Points:
    """What these trustees make of the ciphertexts, each part checked."""
    rng, key = Rng(seed_of(seed)), some[0].key
    parts = {}
    for trustee in some:
        part = trustee.unlock(hidden.first, rng.stream(trustee.place), "test")
        assert key.holds(trustee.place, hidden.first, part, "test")
        parts[trustee.place] = part.points
    return key.combine(parts)


@pytest.mark.parametrize("threshold", range(1, 7))
def test_every_subset_of_t_of_six_opens(threshold: int) -> None:
    trustees = committee(6, threshold, threshold)
    hidden = encrypt([0, 1, 5000], trustees[0].key.public, Rng(seed_of(1)).stream("x"))
    for some in combinations(trustees, threshold):
        assert opened(hidden, [unlocked(some, hidden)]) == powers([0, 1, 5000])


@pytest.mark.parametrize("threshold", range(2, 7))
def test_one_part_too_few_says_nothing(threshold: int) -> None:
    """With t - 1 shares every secret is as likely: interpolated as if they were enough, equal numbers look unequal."""
    trustees = committee(6, threshold)
    hidden = encrypt([5] * 20, trustees[0].key.public, Rng(seed_of(1)).stream("x"))
    parts = {t.place: hidden.first.times(t._secret) for t in trustees[: threshold - 1]}
    with pytest.raises(InputError, match="are needed"):
        trustees[0].key.combine(parts)
    weights = lagrange_weights(list(parts))
    guess = [part.times(Scalars.of([weights[place]])) for place, part in parts.items()]
    assert len(set(opened(hidden, guess))) == 20


def test_the_openers_own_key_is_needed_too_where_it_was_added() -> None:
    """SK = sk_V + sk_C: no coalition of trustees, whatever its size, opens without the opener."""
    trustees, own = committee(5, 3), KeyShare(Rng(seed_of(3)).stream("own"))
    key = joint_key([own.public, trustees[0].key.public])
    hidden = encrypt([9] * 10, key, Rng(seed_of(4)).stream("x"))
    theirs = unlocked(trustees[:3], hidden)
    assert opened(hidden, [theirs, own.unlock(hidden)]) == powers([9] * 10)
    assert len(set(opened(hidden, [theirs]))) == 10


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 99))
def test_shares_are_values_of_the_sum_of_the_polynomials_in_a_second_implementation(
    threshold: int, more: int, seed: int
) -> None:
    """The same with plain integers and the other ristretto255 of the tests."""
    trustees = threshold + more
    rng = Rng(seed_of(seed))
    dealers = [Dealer(threshold, rng.stream(place)) for place in range(trustees)]
    plain = [[int.from_bytes(each.reveal(), "little") for each in dealer._coefficients] for dealer in dealers]
    total = [sum(column) % ristretto.L for column in zip(*plain, strict=True)]
    key = CommitteeKey.of([dealer.commitments for dealer in dealers])
    assert key.public.data == ristretto.encode(ristretto.multiply(total[0], ristretto.generator()))
    for place in range(1, trustees + 1):
        trustee = Trustee(place, [dealer.share(place) for dealer in dealers], key)
        value = sum(each * place**degree for degree, each in enumerate(total)) % ristretto.L
        assert int.from_bytes(trustee._secret.reveal(), "little") == value
        assert key.public_of(place) == powers([value])


def test_shares_are_those_of_rfc_9591() -> None:
    """FROST(ristretto255, SHA-512), appendix E.3: a polynomial of degree 1 and its three shares."""
    secret = "1b25a55e463cfd15cf14a5d3acc3d15053f08da49c8afcf3ab265f2ebc4f970b"
    slope = "410f8b744b19325891d73736923525a4f596c805d060dfb9c98009d34e3fec02"
    shares = (
        "5c3430d391552f6e60ecdc093ff9f6f4488756aa6cebdbad75a768010b8f830e",
        "b06fc5eac20b4f6e1b271d9df2343d843e1e1fb03c4cbb673f2872d459ce6f01",
        "f17e505f0e2581c6acfe54d3846a622834b5e7b50cad9a2109a97ba7a80d5c04",
    )
    dealer = Dealer(2, Rng(seed_of(0)).stream("replaced"))
    dealer._coefficients = [Scalar(bytes.fromhex(secret)), Scalar(bytes.fromhex(slope))]
    dealer.commitments = generator_times(Scalars(bytes.fromhex(secret + slope)))
    assert [dealer.share(place).reveal().hex() for place in (1, 2, 3)] == list(shares)
    key = CommitteeKey(dealer.commitments, 3)
    assert key.public.data.hex() == "e2a62f39eede11269e3bd5a7d97554f5ca384f9f6d3dd9c3c0d05083c7254f57"
    for place, share in enumerate(shares, start=1):
        assert key.public_of(place) == generator_times(Scalar(bytes.fromhex(share)))


# ---- the note's vectors


def test_the_encrypted_index_of_the_notes_first_vector_opens_to_the_ascending_numbers() -> None:
    """T1 and T2: offsets and increments of respondents and server, added up under encryption."""
    trustees = committee(5, 3)
    key, rng = trustees[0].key.public, Rng(seed_of(5))
    offsets = encrypt([20, 22, 25, 21], key, rng.stream("offsets")).total()
    respondents = encrypt([11, 14, 17, 12, 19, 13, 16, 18], key, rng.stream("d"))
    joint = respondents.plus_numbers([15, 12, 11, 18, 13, 17, 14, 16])
    first = joint.slice(0, 1).plus(offsets)
    index = rerandomise(Ciphertexts.join([first, joint.slice(1, 8)]).running_totals(), key, rng.stream("again"))
    logarithms = Logarithms(400)
    numbers = logarithms.of(opened(index, [unlocked(trustees[1:4], index)])).tolist()
    assert numbers == [114, 140, 168, 198, 230, 260, 290, 324]
    chosen = rerandomise(index.take([0, 0, 1, 4, 5, 7]), key, rng.stream("chosen"))
    assert not set(chosen.first) & set(index.first), "a submitted ciphertext must not be found in the index"
    images = logarithms.of(opened(chosen, [unlocked(trustees[:3], chosen)])).tolist()
    assert images == [114, 114, 140, 230, 260, 324]


def test_the_thermometer_of_the_notes_fifth_vector_opens_to_the_minimum_and_nothing_else() -> None:
    """T5: 7, 3, 9, 3 in [0, 12): each trustee raises every position to a power of its own before it is opened."""
    trustees = committee(3, 2)
    key, rng = trustees[0].key.public, Rng(seed_of(6))
    members = [
        encrypt([int(value <= a) for a in range(12)], key, rng.stream("member", n))
        for n, value in enumerate((7, 3, 9, 3))
    ]
    total = members[0]
    for member in members[1:]:
        total = total.plus(member)
    for trustee in trustees:
        hidden = total.scaled(Scalars.draw(rng.stream("power", trustee.place), 12))
        total = rerandomise(hidden, key, rng.stream("again", trustee.place))
    points = opened(total, [unlocked(trustees[:2], total)])
    assert "".join("01"[int(not zero)] for zero in points.identities()) == "000111111111"
    assert np.argmin(points.identities()) == 3
    counts = set(powers(range(1, 5)))
    assert len(set(points)) == 10 and not set(points) & counts, "how many members lie below stays hidden"


# ---- what is refused


def test_a_share_that_does_not_fit_is_noticed_by_its_recipient() -> None:
    dealer, other = (Dealer(2, Rng(seed_of(seed)).stream("x")) for seed in (1, 2))
    assert dealt_right(dealer.share(4), 4, dealer.commitments)
    assert not dealt_right(dealer.share(4), 5, dealer.commitments)
    assert not dealt_right(other.share(4), 4, dealer.commitments)
    altered = Scalar(dealer.share(4).plus(Scalars.of([1])).reveal())
    assert not dealt_right(altered, 4, dealer.commitments)
    with pytest.raises(InputError, match="do not fit"):
        Trustee(1, [dealer.share(1), other.share(2)], CommitteeKey.of([dealer.commitments, other.commitments]))


@pytest.mark.parametrize("place", [0, -1])
def test_no_one_is_dealt_the_secrets_place(place: int) -> None:
    with pytest.raises(InputError, match="place 0"):
        Dealer(2, Rng(seed_of(1)).stream("x")).share(place)


@pytest.mark.parametrize(("threshold", "trustees"), [(0, 3), (4, 3), (1, LARGEST_COMMITTEE + 1)])
def test_a_threshold_that_cannot_be_met_is_refused(threshold: int, trustees: int) -> None:
    with pytest.raises(InputError):
        CommitteeKey(powers(range(1, threshold + 1)), trustees)


def test_commitments_that_cancel_out_or_differ_in_length_make_no_key() -> None:
    dealer = Dealer(2, Rng(seed_of(1)).stream("x"))
    against = dealer.commitments.times(Scalars.of([-1]))
    with pytest.raises(InputError, match="cancel"):
        CommitteeKey.of([dealer.commitments, against])
    with pytest.raises(InputError, match="same length"):
        CommitteeKey.of([dealer.commitments, dealer.commitments.slice(0, 1)])


def test_parts_of_wrong_number_place_or_length_are_not_combined() -> None:
    trustees = committee(4, 2)
    key, first = trustees[0].key, powers([3, 4])
    part = trustees[0].unlock(first, Rng(seed_of(1)).stream("x")).points
    for parts in (
        {1: part},
        {1: part, 2: part, 3: part},
        {0: part, 1: part},
        {1: part, 5: part},
        {1: part, 2: part.slice(0, 1)},
    ):
        with pytest.raises(InputError):
            key.combine(parts)


Opening = tuple[list[Trustee], Points, PartialOpening]


@pytest.fixture(scope="module")
def opening() -> Opening:
    """A batch of forty first halves, and the first trustee's part."""
    trustees = committee(3, 2)
    first = encrypt(list(range(40)), trustees[0].key.public, Rng(seed_of(1)).stream("x")).first
    return trustees, first, trustees[0].unlock(first, Rng(seed_of(2)).stream("y"), "here", 5)


def test_a_right_part_is_accepted(opening: Opening) -> None:
    trustees, first, part = opening
    assert trustees[0].key.holds(1, first, part, "here", 5)


def test_a_part_is_refused_at_another_place_or_in_another_context(
    opening: Opening,
) -> None:
    """A replayed part does not hold for another trustee, session, step or call."""
    trustees, first, part = opening
    key = trustees[0].key
    assert not key.holds(2, first, part, "here", 5)
    assert not key.holds(1, first, part, "there", 5)
    assert not key.holds(1, first, part, "here", 6)
    assert not key.holds(1, first, part, "here")
    assert not committee(3, 2, seed=9)[0].key.holds(1, first, part, "here", 5)


@pytest.mark.parametrize("place", [0, 17, 39])
def test_one_wrong_point_among_many_is_noticed(opening: Opening, place: int) -> None:
    trustees, first, part = opening
    points = list(part.points)
    points[place] = powers([77]).data
    wrong = PartialOpening(Points(b"".join(points)), part.proof)
    assert not trustees[0].key.holds(1, first, wrong, "here", 5)
    remade = proof.prove_equal(
        trustees[0]._secret,
        trustees[0].key.public_of(1),
        first,
        wrong.points,
        Rng(seed_of(3)).stream("z"),
        "here",
        5,
        1,
    )
    assert not trustees[0].key.holds(1, first, PartialOpening(wrong.points, remade), "here", 5), (
        "not even with a new proof"
    )


def test_two_points_that_are_wrong_in_opposite_ways_are_noticed(
    opening: Opening,
) -> None:
    """Without weights from a hash, errors that cancel out in the sum would pass."""
    trustees, first, part = opening
    error = powers([5])
    points = [part.points.slice(n, n + 1) for n in range(40)]
    points[0], points[1] = points[0].plus(error), points[1].minus(error)
    wrong = Points.join(points)
    ones = Scalars.of([1] * 40)
    assert weighted_sum(wrong, ones) == weighted_sum(part.points, ones)
    remade = proof.prove_equal(
        trustees[0]._secret, trustees[0].key.public_of(1), first, wrong, Rng(seed_of(3)).stream("z"), "here", 5, 1
    )
    assert not trustees[0].key.holds(1, first, PartialOpening(wrong, remade), "here", 5)


def test_points_in_another_order_are_noticed(opening: Opening) -> None:
    trustees, first, part = opening
    turned = part.points.take([1, 0, *range(2, 40)])
    assert not trustees[0].key.holds(1, first, PartialOpening(turned, part.proof), "here", 5)
    assert not trustees[0].key.holds(1, first.take([1, 0, *range(2, 40)]), part, "here", 5)


def test_a_batch_of_another_length_is_refused(opening: Opening) -> None:
    trustees, first, part = opening
    key = trustees[0].key
    assert not key.holds(1, first.slice(0, 39), part, "here", 5)
    assert not key.holds(1, first, PartialOpening(part.points.slice(0, 39), part.proof), "here", 5)
    assert not key.holds(1, first.slice(0, 0), PartialOpening(part.points.slice(0, 0), part.proof), "here", 5)


@pytest.mark.parametrize("at", range(0, proof.EQUALITY_BYTES, 5))
def test_a_proof_with_one_bit_turned_is_refused(opening: Opening, at: int) -> None:
    trustees, first, part = opening
    bent = bytearray(part.proof)
    bent[at] ^= 1
    assert not trustees[0].key.holds(1, first, PartialOpening(part.points, bytes(bent)), "here", 5)


@pytest.mark.parametrize("size", [0, 31, 32, 64, 95, 97, 128])
def test_a_proof_of_another_length_is_refused(opening: Opening, size: int) -> None:
    trustees, first, part = opening
    cut = (part.proof + bytes(40))[:size]
    assert not trustees[0].key.holds(1, first, PartialOpening(part.points, cut), "here", 5)


@pytest.mark.parametrize("vector", BAD["points"], ids=[each["why"] for each in BAD["points"]])
def test_a_proof_with_a_malformed_point_is_refused(opening: Opening, vector: dict[str, str]) -> None:
    trustees, first, part = opening
    raw = bytes.fromhex(vector["hex"])
    for bent in (raw + part.proof[32:], part.proof[:32] + raw + part.proof[64:]):
        assert not trustees[0].key.holds(1, first, PartialOpening(part.points, bent), "here", 5)


@pytest.mark.parametrize("vector", BAD["scalars"], ids=[each["why"] for each in BAD["scalars"]])
def test_a_proof_with_a_malformed_scalar_is_refused(opening: Opening, vector: dict[str, str]) -> None:
    trustees, first, part = opening
    bent = part.proof[:64] + bytes.fromhex(vector["hex"])
    assert not trustees[0].key.holds(1, first, PartialOpening(part.points, bent), "here", 5)


def test_a_proof_made_without_the_secret_is_refused(opening: Opening) -> None:
    trustees, first, part = opening
    other = Scalar.fresh(Rng(seed_of(8)).stream("x"))
    forged = proof.prove_equal(
        other, trustees[0].key.public_of(1), first, part.points, Rng(seed_of(9)).stream("x"), "here", 5, 1
    )
    assert not trustees[0].key.holds(1, first, PartialOpening(part.points, forged), "here", 5)


def test_a_part_made_with_another_secret_than_the_trustees_is_refused(
    opening: Opening,
) -> None:
    """Consistent in itself: every point and the proof with one secret, which is not the share."""
    trustees, first, _ = opening
    other = Scalar.fresh(Rng(seed_of(8)).stream("x"))
    points = first.times(other)
    made = proof.prove_equal(
        other, trustees[0].key.public_of(1), first, points, Rng(seed_of(9)).stream("x"), "here", 5, 1
    )
    assert not trustees[0].key.holds(1, first, PartialOpening(points, made), "here", 5)


def test_a_proof_about_unequal_lists_or_none_never_holds(opening: Opening) -> None:
    trustees, first, part = opening
    public = trustees[0].key.public_of(1)
    for bases, multiples in (
        (first.slice(0, 39), part.points),
        (first, part.points.slice(0, 39)),
        (first.slice(0, 0), part.points.slice(0, 0)),
    ):
        assert not proof.equal_holds(part.proof, public, bases, multiples, "here", 5, 1)


def test_the_knowledge_of_a_constant_is_proved_for_one_party_only() -> None:
    dealer = Dealer(2, Rng(seed_of(1)).stream("x"))
    made = dealer.prove(Rng(seed_of(2)).stream("y"), "session", "north")
    public = CommitteeKey(dealer.commitments, 2).public
    assert proof.holds(made, public, "session", "north")
    assert not proof.holds(made, public, "session", "south")
    assert not proof.holds(made, CommitteeKey(dealer.commitments.slice(1, 2), 2).public, "session", "north")


def test_secrets_do_not_print() -> None:
    trustee = committee(3, 2)[0]
    for holder in (trustee, Dealer(2, Rng(seed_of(1)).stream("x"))):
        assert "…" in repr(holder)
        assert trustee._secret.reveal().hex() not in repr(holder)


# ---- sums and readings that the protocol rests on


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60))
def test_running_totals_are_those_of_the_plain_numbers(plain: list[int]) -> None:
    share = KeyShare(Rng(seed_of(1)).stream("key"))
    sums = encrypt(plain, share.public, Rng(seed_of(2)).stream("x")).running_totals()
    assert opened(sums, [share.unlock(sums)]) == powers(np.cumsum(plain).tolist())


@pytest.mark.parametrize(("bound", "count"), [(1, 1), (7, 3), (5000, 1), (5000, 40), (1 << 16, 1 << 20)])
def test_a_table_of_any_size_reads_every_number_below_its_bound_and_none_above(bound: int, count: int) -> None:
    logarithms = Logarithms.for_many(bound, count)
    numbers = sorted({0, bound // 3, bound // 2, bound - 1})
    assert logarithms.of(powers(numbers)).tolist() == numbers
    assert logarithms.of(powers([bound, bound + 1, -1])).tolist() == [-1, -1, -1]


def test_a_weighted_sum_needs_as_many_weights_as_points() -> None:
    assert weighted_sum(powers([1, 2, 3]), Scalars.of([5, 7, 11])) == powers([52])
    assert weighted_sum(GENERATOR, Scalars.of([ORDER - 1])) == powers([-1])
    for points, weights in ((powers([1, 2]), Scalars.of([1])), (powers([]), Scalars.of([]))):
        with pytest.raises(InputError):
            weighted_sum(points, weights)


def test_commitments_are_evaluated_at_any_place() -> None:
    commitments = powers([3, 5, 7])
    assert value_at(commitments, 10) == powers([3 + 50 + 700])
