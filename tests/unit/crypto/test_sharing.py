"""Shares: any `degree` of them say nothing, one more says all, and products work."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.harness.network import seed_of

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import F31, F61, Field
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError

FIELDS = pytest.mark.parametrize("field", [F31, F61], ids=["31 bits", "61 bits"])


def by_place(stack: Words) -> dict[int, Words]:
    return dict(enumerate(stack, start=1))


@settings(deadline=None)
@given(
    st.sampled_from([F31, F61]),
    st.integers(1, 9),
    st.lists(st.integers(0, (1 << 61) - 2), max_size=6),
    st.integers(0, 99),
)
def test_every_large_enough_set_of_shares_opens_the_secrets(
    field: Field, parties: int, numbers: list[int], seed: int
) -> None:
    secrets = field.elements(numbers)
    degree = sharing.threshold(parties)
    shares = by_place(sharing.share(secrets, degree, parties, Rng(seed_of(seed)).stream("x"), field))
    for chosen in combinations(shares, degree + 1):
        assert np.array_equal(sharing.reveal({place: shares[place] for place in chosen}, degree, field), secrets)
    assert np.array_equal(sharing.reveal(shares, degree, field), secrets)


@FIELDS
@pytest.mark.parametrize("parties", [3, 4, 5, 9])
def test_as_many_shares_as_the_degree_are_uniform_whatever_the_secret(field: Field, parties: int) -> None:
    degree = sharing.threshold(parties)
    secrets = np.zeros(40_000, dtype=np.uint64)
    shares = sharing.share(secrets, degree, parties, Rng(seed_of(2)).stream("x"), field)
    for chosen in combinations(range(parties), degree):
        top = sum((shares[place] >> np.uint64(field.bits - 1)) << np.uint64(i) for i, place in enumerate(chosen))
        counts = np.bincount(np.asarray(top, dtype=np.int64), minlength=2**degree)
        assert chisquare(counts).pvalue > 1e-6


@FIELDS
@pytest.mark.parametrize("parties", [3, 4, 5, 9])
def test_a_product_is_opened_masked_and_reduced(field: Field, parties: int) -> None:
    degree = sharing.threshold(parties)
    rng = Rng(seed_of(5))
    a, b = field.draw(rng.stream("a"), 50), field.draw(rng.stream("b"), 50)
    of_a, of_b = (sharing.share(x, degree, parties, rng.stream("share", i), field) for i, x in enumerate((a, b)))
    products = [field.multiply(x, y) for x, y in zip(of_a, of_b, strict=True)]
    zeros = sharing.share(np.zeros(50, np.uint64), 2 * degree, parties, rng.stream("zero"), field)
    hidden = {place: field.add(products[place - 1], zeros[place - 1]) for place in range(1, parties + 1)}
    product = field.multiply(a, b)
    assert np.array_equal(sharing.reveal(hidden, 2 * degree, field), product)
    assert not np.array_equal(hidden[1], products[0])
    resent = [sharing.share(own, degree, parties, rng.stream("again", i), field) for i, own in enumerate(products)]
    reduced = {
        mine: sharing.reduce_degree({place: resent[place - 1][mine - 1] for place in range(1, parties + 1)}, field)
        for mine in range(1, parties + 1)
    }
    assert np.array_equal(sharing.reveal(reduced, degree, field), product)


@FIELDS
def test_shares_of_zero_stand_for_zero_and_are_not_zero(field: Field) -> None:
    zeros = sharing.share(np.zeros(1000, np.uint64), 4, 5, Rng(seed_of(1)).stream("z"), field)
    assert not sharing.reveal(by_place(zeros), 4, field).any()
    assert all(np.count_nonzero(row) > 990 for row in zeros)


def pair_seeds(names: list[str]) -> dict[str, dict[str, Secret]]:
    def seed(one: str, other: str) -> Secret:
        return derive(seed_of(11), *sorted((one, other)))

    return {me: {peer: seed(me, peer) for peer in names if peer != me} for me in names}


@FIELDS
def test_pair_masks_cancel_over_all_parties_and_over_no_fewer(field: Field) -> None:
    names = ["a", "b", "c", "d"]
    masks = []
    for me, seeds in pair_seeds(names).items():
        streams = {peer: Rng(seed).stream("m") for peer, seed in seeds.items()}
        masks.append(sharing.pair_masks(me, streams, 100, field))
    total = np.zeros(100, dtype=np.uint64)
    for mask in masks:
        assert np.count_nonzero(mask) > 90
        assert not total.any() or np.count_nonzero(total) > 90
        total = field.add(total, mask)
    assert not total.any()


@FIELDS
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("size", [3, 4, 5, 8, 9])
def test_dealt_and_derived_shares_are_points_of_one_polynomial(field: Field, last: bool, size: int) -> None:
    names = [f"p{i}" for i in range(size)]
    seeds = pair_seeds(names)
    table = {me: Dealing(me, seeds[me], "x", last=last, field=field) for me in names}
    secrets = field.elements(range(20))
    tau = sharing.threshold(size)
    for dealer in names:
        for random in (False, True):
            sent, own = (
                table[dealer].deal_random(20, Rng(seed_of(3)).stream(dealer)) if random else table[dealer].deal(secrets)
            )
            assert len(sent) == size - 1 - tau
            shares = {}
            for place, name in enumerate(names, start=1):
                if name == dealer:
                    shares[place] = own
                elif table[name].derives(dealer, name):
                    assert name not in sent
                    shares[place] = table[name].derived(dealer, 20)
                else:
                    shares[place] = sent[name]
            opened = sharing.reveal(shares, tau, field)  # refuses points off the polynomial
            assert random != np.array_equal(opened, secrets)


def test_two_dealings_from_both_ends_send_every_recipient_of_an_odd_table_one_vector() -> None:
    names = [f"p{i}" for i in range(5)]
    seeds = pair_seeds(names)
    first, second = (Dealing("p2", seeds["p2"], "x", last=last) for last in (False, True))
    sent = [*first.deal(F61.elements([1]))[0], *second.deal_random(1, Rng(seed_of(3)).stream("own"))[0]]
    assert sorted(sent) == ["p0", "p1", "p3", "p4"]


@pytest.mark.parametrize("places", [[0, 1], [1, 1], [1, 2, 2], [-1, 1], [2, 0, 3], []])
def test_place_zero_and_repeated_places_are_refused(places: list[int]) -> None:
    with pytest.raises(InputError, match="place"):
        sharing.weights(places)
    pairs = {place: F61.elements([1]) for place in places}
    with pytest.raises(InputError):
        sharing.reveal(pairs, len(places) if len(pairs) < len(places) else 1)


def test_too_few_shares_are_refused() -> None:
    with pytest.raises(InputError, match="3 shares are needed"):
        sharing.reveal({1: F61.elements([1]), 2: F61.elements([1])}, 2)


def test_a_degree_that_its_parties_cannot_open_is_refused() -> None:
    with pytest.raises(InputError, match="degree 3"):
        sharing.share(F61.elements([1]), 3, 3, Rng(seed_of(1)).stream("x"))


def test_a_share_off_the_polynomial_is_found_out() -> None:
    shares = by_place(sharing.share(F61.elements([5, 6]), 1, 4, Rng(seed_of(1)).stream("x")))
    shares[4] = F61.add(shares[4], F61.elements([0, 1]))
    with pytest.raises(InputError, match="place 4"):
        sharing.reveal(shares, 1)


@pytest.mark.parametrize(
    ("vector", "why"),
    [
        ([1, 2], "2 shares, expected 3"),
        ([1, 2, 3, 4], "4 shares, expected 3"),
        ([1, 2, (1 << 61) - 1], "outside the field"),
        ([(1 << 64) - 1, 0, 0], "outside the field"),
    ],
)
def test_a_peers_vector_of_the_wrong_length_or_range_is_refused(vector: list[int], why: str) -> None:
    words = np.array(vector, dtype=np.uint64)
    with pytest.raises(PeerError, match=why) as refused:
        sharing.accept(words, 3, party="north", step="turn/3")
    assert (refused.value.party, refused.value.step) == ("north", "turn/3")
