"""How hard learning with errors is, in the core-SVP model: the sieve's cost in the block that BKZ needs, nothing else.

The primal attack follows Alkim, Ducas, Pöppelmann and Schwabe (NewHope, 2016, section 6.3): BKZ-b finds the error, of
deviation s in dimension d = n + m + 1 and volume q^m, if s sqrt(b) <= delta(b)^(2 b - d - 1) q^(m / d). The dual attack
(section 6.4) finds a vector of length l = delta(b)^(d - 1) q^(n / d), which tells samples from uniform words with the
advantage exp(-2 pi^2 (l s / q)^2); the sieve gives 2^(0.2075 b) vectors at a time. Samples are free: the attacker takes
as many as suit it. Uniform secrets with enough samples are as hard as secrets from the error's distribution.
"""

from __future__ import annotations

import math

CLASSICAL = 0.292
QUANTUM = 0.265
FREE_VECTORS = 0.2075


def delta(block: int) -> float:
    """The root Hermite factor that BKZ with this block size reaches."""
    return float(((math.pi * block) ** (1 / block) * block / (2 * math.pi * math.e)) ** (1 / (2 * (block - 1))))


def primal(n: int, q: int, deviation: float) -> int:
    """The smallest block size with which the primal attack succeeds."""
    return next(block for block in range(50, 4000) if _finds_error(n, q, deviation, block))


def _finds_error(n: int, q: int, deviation: float, block: int) -> bool:
    best = _dimension(n, q, block)
    for d in range(best - 2, best + 3):
        m = d - n - 1
        if m < 1:
            continue
        left = math.log(deviation) + math.log(block) / 2
        if left <= (2 * block - d - 1) * math.log(delta(block)) + m / d * math.log(q):
            return True
    return False


def with_overhead(n: int, q: int, deviation: float) -> float:
    """The primal attack in the homomorphic encryption standard's model: sieve and BKZ cost 16.4 + log2(8 d) more."""
    block = primal(n, q, deviation)
    return CLASSICAL * block + 16.4 + math.log2(8 * _dimension(n, q, block))


def dual(n: int, q: int, deviation: float, exponent: float = CLASSICAL) -> tuple[float, int]:
    """The least cost of the dual attack, as a power of two, and the block size with which it is reached."""
    costs = []
    for block in range(50, 1500):
        d = _dimension(n, q, block)
        length = math.exp((d - 1) * math.log(delta(block)) + n / d * math.log(q))
        log_advantage = -2 * (math.pi * length * deviation / q) ** 2 / math.log(2)
        costs.append((exponent * block + max(0.0, -2 * log_advantage - FREE_VECTORS * block), block))
    return min(costs)


def _dimension(n: int, q: int, block: int) -> int:
    """The dimension in which the reduced vectors are shortest against the volume."""
    return round(math.sqrt(n * math.log(q) / math.log(delta(block))))
