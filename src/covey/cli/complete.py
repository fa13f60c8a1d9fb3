"""What the shell offers behind a Tab: the names that a command knows, loaded only then."""

from __future__ import annotations


def protocols(typed: str) -> list[str]:
    """Protocols whose names begin so."""
    from covey.protocols import names

    return [name for name in names() if name.startswith(typed)]


def algorithms(typed: str) -> list[str]:
    """Centralized algorithms whose names begin so."""
    from covey.anonymizers import ALGORITHMS

    return [name for name in ALGORITHMS if name.startswith(typed)]


def experiments(typed: str) -> list[str]:
    """What `covey bench` knows."""
    from covey.bench.papers import ALL, MODULES

    return [name for name in (*MODULES, ALL) if name.startswith(typed)]


def samples(typed: str) -> list[str]:
    """The data sets that ship."""
    from covey.samples import names

    return [name for name in names() if name.startswith(typed)]
