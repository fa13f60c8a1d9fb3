"""Encrypted lists held against each other: the pure steps of `suppress`, each on one chunk of a list.

Bytes in, bytes out, in this process or a worker's, which for that needs to load no protocol.
Whatever a job draws follows from its seed. Ciphertexts from outside are read, and so tested, before anything is
computed on them. How long a step takes depends on public sizes only: a place that is filled up costs what a tuple does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np

from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.secure.sealing import CiphertextBatch, ElGamal, Encryption, Waters, restore

B = TypeVar("B", bound=CiphertextBatch)
_NUMBER = 32
MALFORMED = b"!"
"""The answer of `work`, before the reason, to ciphertexts of the other party that are none."""
DONE = b"="


class ListingJob(msgspec.Struct, frozen=True, tag=True):
    """The common part of all jobs: the public side of the encryption, and a seed of its own."""

    encryption: bytes
    seed: bytes


class EncryptNumbers(ListingJob, frozen=True):
    """Encrypt these numbers; those that are not known are drawn."""

    numbers: bytes
    known: bytes


class Test(ListingJob, frozen=True):
    """Phase 1: of each entry of a list its tuple minus ours, by a random number, plus one of its z's; all added up."""

    entries: bytes
    k: int
    tuples: bytes
    picks: bytes


class Settle(ListingJob, frozen=True):
    """Phase 1: the sums of all chunks added up, scaled by a random number and re-randomised."""

    sums: bytes


class Compare(ListingJob, frozen=True):
    """Phase 2: each entry of a list against every place of its bin."""

    entries: bytes
    k: int
    tuples: bytes
    picks: bytes


class FindZeros(ListingJob, frozen=True):
    """Tell which of these ciphertexts hold zero."""

    key: bytes
    items: bytes


AnyJob = EncryptNumbers | Test | Settle | Compare | FindZeros


def spell_numbers(numbers: Sequence[int]) -> bytes:
    """Numbers as a job carries them."""
    return b"".join(number.to_bytes(_NUMBER, "little") for number in numbers)


def read_numbers(raw: bytes) -> list[int]:
    """The same numbers again."""
    return [int.from_bytes(raw[at : at + _NUMBER], "little") for at in range(0, len(raw), _NUMBER)]


def work(raw: bytes) -> bytes:
    """Does a job as a worker gets it: its answer, or why the ciphertexts that it was given are none."""
    try:
        return DONE + do(msgspec.msgpack.decode(raw, type=AnyJob))
    except InputError as error:
        return MALFORMED + str(error).encode()


def do(job: AnyJob) -> bytes:
    """Does a job. Raises InputError for ciphertexts from outside that are none."""
    encryption = restore(job.encryption)
    return _do(encryption, job) if isinstance(encryption, Waters) else _do(_elgamal(encryption), job)


def _elgamal(encryption: Waters | ElGamal) -> ElGamal:
    if not isinstance(encryption, ElGamal):
        raise TypeError("there are two encryptions")
    return encryption


def _do(encryption: Encryption[B], job: AnyJob) -> bytes:
    rng = Rng(Secret(job.seed))
    if isinstance(job, EncryptNumbers):
        return seal(encryption, job, rng).pack()
    if isinstance(job, Test):
        return test(encryption, job, rng).pack()
    if isinstance(job, Settle):
        return settle(encryption, job, rng).pack()
    if isinstance(job, Compare):
        return compare(encryption, job, rng).pack()
    sealed = encryption.read(job.items, rng.stream("check"))
    return bytes(encryption.private(job.key).zeros(sealed))


def seal(encryption: Encryption[B], job: EncryptNumbers, rng: Rng) -> B:
    """A chunk of a list."""
    return encryption.seal(read_numbers(job.numbers), rng.stream("seal"), job.known)


def test(encryption: Encryption[B], job: Test, rng: Rng) -> B:
    """The product over i of Z_{i, k - y'_i} (X_i / x'_i)^{r_i}, of one chunk."""
    entries = encryption.read(job.entries, rng.stream("check"))
    starts = np.arange(0, len(entries), job.k)
    ours = [-number for number in read_numbers(job.tuples)]
    factors = encryption.draw(rng.stream("r"), len(starts))
    apart = entries.take(starts).plus_numbers(ours).scaled(factors)
    return apart.plus(entries.take(starts + np.frombuffer(job.picks, "<i4"))).total()


def settle(encryption: Encryption[B], job: Settle, rng: Rng) -> B:
    """R' = rerandomised P^rho: the keyholder must not recognise a product of z's that it chose itself."""
    whole = encryption.read(job.sums, rng.stream("check")).total()
    return encryption.rerandomised(whole.scaled(encryption.draw(rng.stream("rho"), 1)), rng.stream("fresh"))


def compare(encryption: Encryption[B], job: Compare, rng: Rng) -> B:
    """gamma_{i,j} = rerandomised W_{i, y''_j} (X_i / x''_j)^{theta_ij}, with W_{i,y} = Z_{i, k - y}^{phi_{i,y}}.

    The power phi hides from the keyholder which of its own z's came back, and so a count that falls short; the
    re-randomisation hides theta, from which a tuple that did not match could be looked up.
    """
    entries = encryption.read(job.entries, rng.stream("check"))
    starts = np.arange(0, len(entries), job.k)
    ours = [-number for number in read_numbers(job.tuples)]
    slots = len(ours) // len(starts)
    picks = np.frombuffer(job.picks, "<i4")
    entry = np.repeat(starts, slots)
    if job.k - 1 <= slots:  # one power for each z serves all places of a bin: at most one of them matches
        z = np.setdiff1d(np.arange(len(entries)), starts)
        powered = entries.take(z).scaled(encryption.draw(rng.stream("phi"), len(z)))
        w = powered.take(entry // job.k * (job.k - 1) + picks - 1)
    else:
        w = entries.take(entry + picks).scaled(encryption.draw(rng.stream("phi"), len(entry)))
    thetas = encryption.draw(rng.stream("theta"), len(entry))
    apart = entries.take(entry).plus_numbers(ours).scaled(thetas)
    return encryption.rerandomised(apart.plus(w), rng.stream("fresh"))
