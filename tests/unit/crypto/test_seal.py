"""A sealed row opens for its key, unaltered and in its context, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import seed_of
from tests.harness.tiers import examples

from covey.crypto.elgamal import KeyShare
from covey.crypto.rng import Rng
from covey.crypto.seal import OVERHEAD, Sealed, seal, unseal
from covey.errors import InputError


def key(seed: int = 0) -> KeyShare:
    """A key of one part."""
    return KeyShare(Rng(seed_of(seed)).stream("key"))


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=5), st.integers(0, 99))
def test_rows_open_as_they_were_sealed(rows: list[bytes], seed: int) -> None:
    holder = key(seed)
    sealed = seal(rows, holder.public, Rng(seed_of(seed)).stream("seal"), "here")
    assert [len(row) for row in sealed.rows()] == [len(row) + OVERHEAD for row in rows]
    assert unseal(Sealed.parse(sealed.rows()), holder.surrender(), "here") == rows


def test_equal_rows_look_unequal_when_sealed() -> None:
    sealed = seal([b"same"] * 20, key().public, Rng(seed_of(1)).stream("seal"))
    assert len(set(sealed.bodies)) == len(set(sealed.heads)) == 20


def test_an_altered_row_or_a_foreign_key_or_context_does_not_open() -> None:
    holder = key()
    sealed = seal([b"a row", b"another"], holder.public, Rng(seed_of(2)).stream("seal"), "session", 1)
    for place in range(len(sealed.bodies[1])):
        bent = bytearray(sealed.bodies[1])
        bent[place] ^= 1
        with pytest.raises(InputError, match="sealed row 1 does not open"):
            unseal(Sealed(sealed.heads, [sealed.bodies[0], bytes(bent)]), holder.surrender(), "session", 1)
    with pytest.raises(InputError, match="sealed row 0"):
        unseal(Sealed(sealed.heads.take([1, 0]), sealed.bodies), holder.surrender(), "session", 1)
    with pytest.raises(InputError, match="sealed row 0"):
        unseal(sealed, key(7).surrender(), "session", 1)
    with pytest.raises(InputError, match="sealed row 0"):
        unseal(sealed, holder.surrender(), "session", 2)


def test_heads_and_bodies_come_in_pairs() -> None:
    sealed = seal([b"x"], key().public, Rng(seed_of(3)).stream("seal"))
    with pytest.raises(InputError, match="1 heads beside 2 bodies"):
        Sealed(sealed.heads, sealed.bodies * 2)
