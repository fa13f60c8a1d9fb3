"""The comparer as the paper prints it, without the two repairs: only for tests that break it. Never run it on data."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from covey.crypto.rng import Rng
from covey.secure.listing import Compare, Test, read_numbers
from covey.secure.sealing import CiphertextBatch, Encryption

B = TypeVar("B", bound=CiphertextBatch)


def compare(encryption: Encryption[B], job: Compare, rng: Rng) -> B:
    """Section 5.3, phase 2: Z_{i, k - y''_j} (X_i / x''_j)^{theta_ij}, with no power on Z, and not re-randomised."""
    entries = encryption.read(job.entries, rng.stream("check"))
    starts = np.arange(0, len(entries), job.k)
    ours = [-number for number in read_numbers(job.tuples)]
    entry = np.repeat(starts, len(ours) // len(starts))
    thetas = encryption.draw(rng.stream("theta"), len(entry))
    apart = entries.take(entry).plus_numbers(ours).scaled(thetas)
    return apart.plus(entries.take(entry + np.frombuffer(job.picks, "<i4")))


def test(encryption: Encryption[B], job: Test, rng: Rng) -> B:
    """Section 5.3, phase 1: the product, re-randomised, but with no power on it."""
    entries = encryption.read(job.entries, rng.stream("check"))
    starts = np.arange(0, len(entries), job.k)
    ours = [-number for number in read_numbers(job.tuples)]
    factors = encryption.draw(rng.stream("r"), len(starts))
    apart = entries.take(starts).plus_numbers(ours).scaled(factors)
    whole = apart.plus(entries.take(starts + np.frombuffer(job.picks, "<i4"))).total()
    return encryption.rerandomised(whole, rng.stream("fresh"))
