"""A joint key is named in parts and opened in parts; each part is checked against what its owner had promised."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from covey.crypto import proof
from covey.crypto.group import Point, Scalar, Scalars, generator_times
from covey.crypto.rng import Label
from covey.errors import InputError
from covey.wire import Channel


def check_promise(channel: Channel, party: str, public: Point, knows: bytes, *context: Label) -> None:
    """Raises `PeerError` unless the party proves that it knows the secret of its part.

    Without this, whoever names its part last could choose it so that it alone opens everything.
    """
    if not proof.holds(knows, public, *context, party):
        reason = "it does not prove that it knows its part of the joint key"
        raise channel.refusal(party, reason)


def check_part(channel: Channel, party: str, secret: bytes, public: Point) -> Scalar:
    """The party's secret part. Raises `PeerError` unless it belongs to the public part that was promised."""
    try:
        part = Scalar(secret)
        if generator_times(part) == public:
            return part
        reason = "its part of the joint key is not the one that it had promised"
    except InputError as error:
        reason = str(error)
    raise channel.refusal(party, reason)


def whole(parts: Iterable[Scalars]) -> Scalar:
    """The secret of the joint key, from everyone's parts."""
    return Scalar(reduce(Scalars.plus, parts).reveal())
