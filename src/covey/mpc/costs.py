"""The words that each kernel sends, round by round: a table for trusted parties, and one for a run that is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from covey.mpc.gates import units
from covey.mpc.kernels import DIGEST_WORDS
from covey.mpc.outside import SEED_WORDS
from covey.mpc.planes import blocks, width_of
from covey.mpc.sums import BITS
from covey.mpc.supply import dimensions
from covey.mpc.tags import TAG
from covey.mpc.triples import COIN


class Load(NamedTuple):
    """Words that travel in one round: from each of the three to the previous party and to the next; lines outside."""

    to_previous: tuple[int, int, int] = (0, 0, 0)
    to_next: tuple[int, int, int] = (0, 0, 0)
    outside: tuple[int, ...] = ()
    opened: bool = False
    """True if what goes to the previous party is opened; one hash of all that is opened in a round goes to the next."""
    units: int = 0
    """Units of triples that are used up."""


def _back(words: int) -> Load:
    return Load((words, words, words))


def around(words: int) -> Load:
    """Returns the load of a message to both neighbours."""
    return Load((words, words, words), (words, words, words))


def _opened(words: int, taken: int = 0) -> Load:
    return Load((words, words, words), opened=True, units=taken)


def _of(party: int, words: int) -> tuple[int, int, int]:
    return tuple(words * (party == sender) for sender in range(3))  # type: ignore[return-value]


class Costs:
    """The loads of a run among parties who do what the protocol says."""

    def share(self, width: int, records: int, holder: int) -> Iterator[Load]:
        """Yields the loads of an input: what the two others cannot draw themselves."""
        words = width * blocks(records)
        if holder < 3:
            yield Load(_of(holder, words), _of(holder, words))
        elif words:
            yield Load(outside=(2 * SEED_WORDS, SEED_WORDS + words, SEED_WORDS + words))

    def product(self, x: int, y: int, records: int) -> Iterator[Load]:
        """Yields the load of ANDs: so many planes of one factor with so many of the other."""
        yield _back(y * blocks(records))

    def reveal(self, width: int, records: int, to: int | None) -> Iterator[Load]:
        """Yields the load of an opening."""
        words = width * blocks(records)
        if to is None:
            yield _back(words)
        elif to < 3:
            yield Load(_of((to + 1) % 3, words))
        else:
            yield Load(outside=(words, words))

    def product_opened(self, x: int, y: int, records: int) -> Iterator[Load]:
        """Yields the loads of an AND that is opened."""
        yield around(blocks(records))

    def all(self, width: int, records: int) -> Iterator[Load]:
        """Yields the loads of a tree of ANDs."""
        while width > 1:
            yield from self.product(width // 2, width // 2, records)
            width -= width // 2

    def less(self, width: int, records: int, *, distinct: bool = False) -> Iterator[Load]:
        """Yields the loads of a comparison; of distinct words the last AND is opened."""
        groups = width + (not distinct)
        while groups > 1:
            pairs = groups // 2
            product = self.product_opened if distinct and groups == 2 else self.product
            yield from product(pairs, 2 * pairs - 1 + groups % 2, records)
            groups -= pairs
        if distinct and width == 1:
            yield from self.product_opened(1, 1, records)

    def add(self, width: int, records: int) -> Iterator[Load]:
        """Yields the loads of an adder whose spans double."""
        yield from self.product(width, width, records)
        for level in range(width_of(width - 1)):
            length = width - (1 << level)
            yield from self.product(length, 2 * length, records)

    def shuffle(self, width: int, records: int, firsts: Sequence[int] = (0, 1, 2)) -> Iterator[Load]:
        """Yields the loads of three passes, each by the party `first` and its next."""
        words = width * blocks(records)
        for first in firsts:
            yield Load(_of((first + 1) % 3, words), _of(first, words))

    def batch(self, size: int) -> Iterator[Load]:
        """Yields the loads of triples made ahead: there are none."""
        return iter(())


class CheckedCosts(Costs):
    """The loads of a run in which deviations are detected."""

    def share(self, width: int, records: int, holder: int) -> Iterator[Load]:
        """Yields the loads of an input, and of the neighbours' comparison."""
        yield from super().share(width, records, holder)
        if width * records:
            yield around(DIGEST_WORDS)

    def product(self, x: int, y: int, records: int) -> Iterator[Load]:
        """Yields the load of ANDs: both factors are opened under masks."""
        planes = units(x, y) if y else 0
        yield _opened((planes + y) * blocks(records), planes * blocks(records))

    def reveal(self, width: int, records: int, to: int | None) -> Iterator[Load]:
        """Yields the load of an opening: a share from one of its holders, its hash from the other."""
        words = width * blocks(records)
        if to is None:
            yield _opened(words)
        elif words and to < 3:
            yield Load(_of((to + 1) % 3, words), _of((to + 2) % 3, DIGEST_WORDS))
        elif words:
            yield Load(outside=(words + DIGEST_WORDS,) * 3)

    def product_opened(self, x: int, y: int, records: int) -> Iterator[Load]:
        """Yields the loads of an AND, and of its opening."""
        yield from self.product(x, y, records)
        yield _opened(blocks(records))

    def shuffle(self, width: int, records: int, firsts: Sequence[int] = (0, 1, 2)) -> Iterator[Load]:
        """Yields the loads of tags, of three passes, and of the check."""
        if width * records:
            yield _back(records)
            yield from super().shuffle(width + TAG, records, firsts)
            yield around(1)
            yield _opened(width + COIN)
            yield _opened(1)

    def batch(self, size: int) -> Iterator[Load]:
        """Yields the loads of so many units of triples: products, then coins and sums of the check."""
        coin = (around(1), _opened(COIN))
        yield _back(2 * size + 1)
        yield from coin
        yield _back(3**BITS - 2**BITS)
        yield from coin
        for count in dimensions(size):
            yield _back(3**count - 1)
            yield from coin
        yield _opened(3)
