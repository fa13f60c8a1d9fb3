"""Key agreement: both sides get the same secret, and no trick makes them agree by accident."""

from __future__ import annotations

import pytest

from covey.crypto.agreement import AgreementKey
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import InputError


def _key(number: int) -> AgreementKey:
    return AgreementKey(Rng(Secret(bytes([number]) * 32)).stream("agreement"))


def test_both_sides_of_a_pair_get_the_same_secret() -> None:
    assert _key(1).shared(_key(2).public, b"s") == _key(2).shared(_key(1).public, b"s")


def test_another_context_or_another_peer_gives_another_secret() -> None:
    assert _key(1).shared(_key(2).public, b"s") != _key(1).shared(_key(2).public, b"t")
    assert _key(1).shared(_key(2).public, b"s") != _key(1).shared(_key(3).public, b"s")


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31)])
def test_a_point_of_small_order_is_refused(point: bytes) -> None:
    with pytest.raises(InputError, match="large order"):
        _key(1).shared(point, b"s")


def test_a_copy_of_our_own_key_is_refused() -> None:
    with pytest.raises(InputError, match="copy of ours"):
        _key(1).shared(_key(1).public, b"s")


def test_a_key_shows_its_private_half_to_nobody() -> None:
    assert repr(_key(1)) == "AgreementKey(…)"
