"""The costs of the committees of `collect`, to the message: what the harness and the tests hold runs to."""

from __future__ import annotations

from covey.crypto.group import POINT_BYTES
from covey.crypto.threshold_paillier import SLACK_BITS
from covey.protocols.as_printed.collect.dealt_committee import Cut
from covey.secure import ciphers, lists
from covey.secure.declare import Cost, Traffic
from covey.wire import FRAME_BYTES

HASH_BYTES = FRAME_BYTES + 64
DEALT_BYTES = FRAME_BYTES + 160
FOUNDED_BYTES = FRAME_BYTES + 40
PROOF_BYTES = FRAME_BYTES + 122
KEY_BYTES = FRAME_BYTES + 38
CONFIRMED_BYTES = FRAME_BYTES + 64
PROVED_BYTES = FRAME_BYTES + 34

COMMITTEE = Cost(
    lambda trustees, threshold, opener: Traffic(
        (3 if trustees > 1 else 0) + opener,
        3 * trustees * (trustees - 1) + opener * trustees,
        trustees * (trustees - 1) * (2 * HASH_BYTES + DEALT_BYTES + threshold * POINT_BYTES)
        + opener * trustees * (FOUNDED_BYTES + threshold * POINT_BYTES),
    )
)
"""The cost of `found`, and of `learn` beside it where there is an opener."""

COMMITTEE_OPENING = Cost(
    lambda threshold, count: Traffic(
        2 if count else 1,
        threshold * (2 * lists.messages(count) + 1 if count else 1),
        threshold * (2 * lists.size(count) + PROOF_BYTES if count else lists.size(0)),
    )
)
"""The cost of `unlock` and as many `serve` as are needed."""


def _key_bytes(trustees: int, cut: Cut, bits: int) -> int:
    return bits // 4 * (2 + trustees) if cut == "shamir" else bits // 8 * 3


def _share_bytes(cut: Cut, bits: int) -> int:
    return bits // 4 if cut == "shamir" else bits // 4 + SLACK_BITS // 8 + 1


DEALT = Cost(
    lambda trustees, cut, bits: Traffic(
        2,
        2 * trustees + 1,
        (trustees + 1) * (KEY_BYTES + _key_bytes(trustees, cut, bits))
        + trustees * (_share_bytes(cut, bits) + CONFIRMED_BYTES),
    )
)
"""The cost of `deal` with its `accept` and `learn`."""


def _proof_bytes(trustees: int, cut: Cut, bits: int) -> int:
    if cut != "shamir":
        return 0
    factorial = sum(place.bit_length() for place in range(2, trustees + 1))
    return PROVED_BYTES + 2 * (bits // 4) + (2 * bits + factorial + 256) // 8


DEALT_OPENING = Cost(
    lambda trustees, threshold, cut, bits, count: (
        Traffic(
            2,
            threshold * (2 * ciphers.messages(count, bits) + (cut == "shamir")),
            threshold * (2 * ciphers.size(count, bits) + _proof_bytes(trustees, cut, bits)),
        )
        if count
        else Traffic()
    )
)
"""The cost of `unlock` and as many `serve` as are needed."""
