"""The prime-order group that all blinding rests on: ristretto255 (RFC 9496), one array at a time.

What is not the canonical encoding of an element never becomes a `Points`; neither does the identity, unless it
is the outcome of our own arithmetic. Scalars are secret: they print as nothing, and have no way onto the wire.
Hashing to the group is RFC 9380's `ristretto255_XMD:SHA-512_R255MAP_RO_`; each use names its own domain.
The arithmetic runs in constant time (libsodium); the Python around it does not promise that.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NoReturn

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.rng import Label, Stream, spell
from covey.crypto.sodium import ELEMENT, HASH, Operand, compute, same, valid_points
from covey.errors import InputError

ORDER = 2**252 + 27742317777372353535851937790883648493
"""The number of elements, a prime."""

POINT_BYTES = ELEMENT
SCALAR_BYTES = ELEMENT

_DOMAIN_BYTES = 255
_BLOCK = bytes(128)  # SHA-512's


class Scalars:
    """Exponents, secret and canonical; a batch that is applied element by element."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        """Raises `InputError` unless each 32 bytes are a number from 1 to ORDER - 1."""
        if len(data) % SCALAR_BYTES:
            raise InputError(f"scalars have {SCALAR_BYTES} bytes each, these are {len(data)} in all")
        for start in range(0, len(data), SCALAR_BYTES):
            if not 0 < int.from_bytes(data[start : start + SCALAR_BYTES], "little") < ORDER:
                raise InputError("a scalar that is zero, or not reduced modulo the group's order")
        self._data = bytes(data)

    @classmethod
    def draw(cls, stream: Stream, count: int) -> Scalars:
        """That many, uniform: 512 random bits each, reduced modulo the order."""
        return cls(_arithmetic("scalar_reduce", count, Operand(stream.bytes(HASH * count), HASH)))

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Scalars:
        """Public numbers, negative ones too, none a multiple of the order."""
        return cls(b"".join((number % ORDER).to_bytes(SCALAR_BYTES, "little") for number in numbers))

    def reveal(self) -> bytes:
        """The bytes themselves: for arithmetic, or for a key share that the protocol opens, and nothing else."""
        return self._data

    def numbers(self) -> list[int]:
        """The same as whole numbers, for the responses of a proof: this arithmetic does not run in constant time."""
        starts = range(0, len(self._data), SCALAR_BYTES)
        return [int.from_bytes(self._data[start : start + SCALAR_BYTES], "little") for start in starts]

    def inverse(self) -> Scalars:
        """One divided by each."""
        return Scalars(_arithmetic("scalar_invert", len(self), Operand(self._data)))

    def times(self, other: Scalars) -> Scalars:
        """The products; one scalar may stand for many equal ones."""
        return Scalars(_arithmetic("scalar_mul", *_aligned(self._data, other._data)))

    def plus(self, other: Scalars) -> Scalars:
        """The sums, none of which may be zero; one scalar may stand for many equal ones."""
        return Scalars(_arithmetic("scalar_add", *_aligned(self._data, other._data)))

    def __len__(self) -> int:
        return len(self._data) // SCALAR_BYTES

    def __repr__(self) -> str:
        return f"Scalars({len(self)} …)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalars) and hmac.compare_digest(self._data, other._data)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")


class Scalar(Scalars):
    """One exponent."""

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        if len(data) != SCALAR_BYTES:
            raise InputError(f"a scalar has {SCALAR_BYTES} bytes, these are {len(data)}")
        super().__init__(data)

    @classmethod
    def fresh(cls, stream: Stream) -> Scalar:
        """A uniform one."""
        return cls(stream.scalar_bytes(ORDER))

    def __repr__(self) -> str:
        return "Scalar(…)"


class Points:
    """Elements of the group in their canonical encodings, 32 bytes each. A field of this type may be sent."""

    __slots__ = ("data",)
    item_bytes: ClassVar[int] = POINT_BYTES

    data: bytes

    def __init__(self, data: bytes, *, identity: bool = False) -> None:
        """Raises `InputError` for what encodes no element, and for the identity unless it is allowed."""
        if len(data) % POINT_BYTES:
            raise InputError(f"points have {POINT_BYTES} bytes each, these are {len(data)} in all")
        self.data = bytes(data)
        for index, valid in enumerate(valid_points(self.data)):
            if not valid:
                raise InputError(f"point {index} is not the canonical encoding of an element of the group")
        if not identity and self.identities().any():
            raise InputError(f"point {int(np.argmax(self.identities()))} is the identity")

    @classmethod
    def _known(cls, data: bytes) -> Points:
        """Points that our own arithmetic has made, and that need no check."""
        points = object.__new__(cls)
        points.data = data
        return points

    @classmethod
    def join(cls, parts: Iterable[Points]) -> Points:
        """One batch after the other."""
        return Points._known(b"".join(part.data for part in parts))

    def times(self, by: Scalars) -> Points:
        """Each multiplied by its scalar, or all by the same one. Costs 50 microseconds of one core each."""
        count, scalars, points = _aligned(by.reveal(), self.data)
        return Points._known(compute("crypto_scalarmult_ristretto255", count, scalars, points))

    def plus(self, other: Points) -> Points:
        """The sums; one point may stand for many equal ones."""
        return Points._known(_arithmetic("add", *_aligned(self.data, other.data)))

    def minus(self, other: Points) -> Points:
        """The differences; one point may stand for many equal ones."""
        return Points._known(_arithmetic("sub", *_aligned(self.data, other.data)))

    def take(self, order: Longs | Sequence[int]) -> Points:
        """The points at these places, in this order."""
        rows = np.frombuffer(self.data, dtype=np.uint8).reshape(-1, POINT_BYTES)
        return Points._known(rows[np.asarray(order, dtype=np.int64)].tobytes())

    def slice(self, first: int, last: int) -> Points:
        """The points from `first` up to but not including `last`."""
        return Points._known(self.data[first * POINT_BYTES : last * POINT_BYTES])

    def identities(self) -> Bits:
        """Marks the points that are the identity."""
        rows = np.frombuffer(self.data, dtype=np.uint8).reshape(-1, POINT_BYTES)
        marks: Bits = np.equal(rows.max(axis=1, initial=0), 0)
        return marks

    def distinct(self) -> bool:
        """No element occurs twice: encodings are canonical, so equal elements have equal bytes."""
        return len(set(self)) == len(self)

    def pack(self) -> bytes:
        """The bytes on the wire."""
        return self.data

    @classmethod
    def unpack(cls, raw: bytes) -> Points:
        """Points from the wire: none of them the identity. Raises `ValueError` for anything else."""
        try:
            return cls(raw)
        except InputError as error:
            raise ValueError(str(error)) from None

    def __iter__(self) -> Iterator[bytes]:
        return (self.data[start : start + POINT_BYTES] for start in range(0, len(self.data), POINT_BYTES))

    def __len__(self) -> int:
        return len(self.data) // POINT_BYTES

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Points) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"Points({len(self)})"


class Point(Points):
    """One element of the group."""

    __slots__ = ()

    def __init__(self, data: bytes, *, identity: bool = False) -> None:
        if len(data) != POINT_BYTES:
            raise InputError(f"a point has {POINT_BYTES} bytes, these are {len(data)}")
        super().__init__(data, identity=identity)


def generator_times(scalars: Scalars) -> Points:
    """The generator multiplied by each scalar. Costs 16 microseconds of one core each."""
    return Points._known(compute("crypto_scalarmult_ristretto255_base", len(scalars), Operand(scalars.reveal())))


def weighted_sum(points: Points, weights: Scalars) -> Points:
    """The sum of all points, each multiplied by its scalar: one point, which may be the identity."""
    if len(points) != len(weights) or not len(points):
        raise InputError(f"{len(points)} points beside {len(weights)} weights: a sum needs as many of both, and one")
    rest = points.times(weights)
    while len(rest) > 1:
        half = len(rest) // 2
        added = rest.slice(0, half).plus(rest.slice(half, 2 * half))
        rest = Points.join([added, rest.slice(2 * half, len(rest))])
    return rest


def powers(numbers: Iterable[int]) -> Points:
    """The generator multiplied by each number, zero included; equal numbers are computed once."""
    listed = [number % ORDER for number in numbers]
    place = {number: index for index, number in enumerate(dict.fromkeys(listed))}
    raw = b"".join(number.to_bytes(SCALAR_BYTES, "little") for number in place)
    made = Points._known(compute("crypto_scalarmult_ristretto255_base", len(place), Operand(raw)))
    return made.take([place[number] for number in listed])


def hash_to_group(texts: Iterable[bytes], *domain: Label) -> Points:
    """One element per text, whose logarithm nobody knows. Equal texts under unequal domains are unrelated."""
    tag = spell("covey", *domain)
    if len(tag) > _DOMAIN_BYTES:
        tag = b"H2C-OVERSIZE-DST-" + hashlib.sha512(b"H2C-OVERSIZE-DST-" + tag).digest()
    return hash_with_tag(texts, tag)


def hash_with_tag(texts: Iterable[bytes], tag: bytes) -> Points:
    """Hashes to the group under RFC 9380's domain separation tag as it stands."""
    uniform = b"".join(expand(texts, tag))
    return Points._known(_arithmetic("from_hash", len(uniform) // HASH, Operand(uniform, HASH)))


def expand(texts: Iterable[bytes], tag: bytes) -> Iterator[bytes]:
    """RFC 9380's expand_message_xmd with SHA-512, 64 bytes for each text."""
    if not 0 < len(tag) <= _DOMAIN_BYTES:
        raise InputError(f"a domain separation tag has 1 to {_DOMAIN_BYTES} bytes")
    ending = tag + bytes([len(tag)])
    start = hashlib.sha512(_BLOCK)
    for text in texts:
        inner = start.copy()
        inner.update(text + HASH.to_bytes(2, "big") + b"\x00" + ending)
        yield hashlib.sha512(inner.digest() + b"\x01" + ending).digest()


def _arithmetic(name: str, count: int, *operands: Operand) -> bytes:
    return compute(f"crypto_core_ristretto255_{name}", count, *operands)


def _aligned(left: bytes, right: bytes) -> tuple[int, Operand, Operand]:
    """Two operands of equal length, or one element beside many."""
    count = (len(right) if len(left) == ELEMENT else len(left)) // ELEMENT
    if len(right) not in (ELEMENT, count * ELEMENT):
        raise InputError(f"{len(left) // ELEMENT} elements beside {len(right) // ELEMENT}")
    first, second = (Operand(data) if len(data) == count * ELEMENT else same(data) for data in (left, right))
    return count, first, second


GENERATOR = generator_times(Scalars.of([1]))
