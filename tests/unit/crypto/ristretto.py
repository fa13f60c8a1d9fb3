"""A second ristretto255, in plain integers from RFC 9496's formulas: slow, and sharing nothing with the first."""

from __future__ import annotations

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)

Extended = tuple[int, int, int, int]
IDENTITY: Extended = (0, 1, 1, 0)


class Invalid(ValueError):
    """Why an encoding is refused."""


def negative(x: int) -> bool:
    return x % P % 2 == 1


def magnitude(x: int) -> int:
    return P - x % P if negative(x) else x % P


def sqrt_ratio(u: int, v: int) -> tuple[bool, int]:
    """Section 4.2: the nonnegative root of u/v, or of i*u/v where u/v is no square."""
    r = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * r * r % P
    flipped = check in (-u % P, -u * SQRT_M1 % P)
    if flipped:
        r = r * SQRT_M1 % P
    return check in (u % P, -u % P), magnitude(r)


INVSQRT_A_MINUS_D = sqrt_ratio(1, -1 - D)[1]
SQRT_AD_MINUS_ONE = P - sqrt_ratio(-D - 1, 1)[1]  # the constant of the RFC is the other root
ONE_MINUS_D_SQ = (1 - D * D) % P
D_MINUS_ONE_SQ = (D - 1) ** 2 % P


def decode(raw: bytes) -> Extended:
    """Section 4.3.1."""
    if len(raw) != 32:
        raise Invalid("length")
    s = int.from_bytes(raw, "little")
    if s >= P:
        raise Invalid("non-canonical")
    if negative(s):
        raise Invalid("negative")
    ss = s * s % P
    u1, u2 = (1 - ss) % P, (1 + ss) % P
    v = (-(D * u1 * u1) - u2 * u2) % P
    square, invsqrt = sqrt_ratio(1, v * u2 * u2)
    den_x = invsqrt * u2 % P
    den_y = invsqrt * den_x * v % P
    x, y = magnitude(2 * s * den_x), u1 * den_y % P
    t = x * y % P
    if not square:
        raise Invalid("non-square")
    if negative(t):
        raise Invalid("negative xy")
    if y == 0:
        raise Invalid("y is zero")
    return x, y, 1, t


def encode(point: Extended) -> bytes:
    """Section 4.3.2."""
    x0, y0, z0, t0 = point
    u1, u2 = (z0 + y0) * (z0 - y0) % P, x0 * y0 % P
    invsqrt = sqrt_ratio(1, u1 * u2 * u2)[1]
    den1, den2 = invsqrt * u1 % P, invsqrt * u2 % P
    z_inv = den1 * den2 * t0 % P
    x, y, den_inv = x0, y0, den2
    if negative(t0 * z_inv):
        x, y = y0 * SQRT_M1 % P, x0 * SQRT_M1 % P
        den_inv = den1 * INVSQRT_A_MINUS_D % P
    if negative(x * z_inv):
        y = -y % P
    return magnitude(den_inv * (z0 - y)).to_bytes(32, "little")


def add(a: Extended, b: Extended) -> Extended:
    """The complete addition on the twisted Edwards curve with a = -1."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    left, right = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    cross, both = 2 * D * t1 * t2 % P, 2 * z1 * z2 % P
    e, f, g, h = right - left, both - cross, both + cross, right + left
    return e * f % P, g * h % P, f * g % P, e * h % P


def negate(a: Extended) -> Extended:
    x, y, z, t = a
    return -x % P, y, z, -t % P


def multiply(scalar: int, point: Extended) -> Extended:
    total = IDENTITY
    for bit in bin(scalar % L)[2:]:
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    return total


def generator() -> Extended:
    """The edwards25519 base point: y = 4/5, x nonnegative."""
    y = 4 * pow(5, -1, P) % P
    x = sqrt_ratio(y * y - 1, D * y * y + 1)[1]
    return x, y, 1, x * y % P


def one_way_map(uniform: bytes) -> Extended:
    """Section 4.3.4: 64 uniform bytes to an element."""
    halves = (int.from_bytes(uniform[start : start + 32], "little") & ((1 << 255) - 1) for start in (0, 32))
    first, second = (_map(half % P) for half in halves)
    return add(first, second)


def _map(t: int) -> Extended:
    r = SQRT_M1 * t * t % P
    u = (r + 1) * ONE_MINUS_D_SQ % P
    v = (-1 - r * D) * (r + D) % P
    square, s = sqrt_ratio(u, v)
    c = P - 1
    if not square:
        s, c = -magnitude(s * t) % P, r
    n = (c * (r - 1) * D_MINUS_ONE_SQ - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P
