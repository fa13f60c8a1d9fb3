"""Completion in the shell: the names that a command takes, loaded only when Tab is pressed."""

from __future__ import annotations


def protocols(typed: str) -> list[str]:
    """Protocols whose names begin with the typed text."""
    from covey.protocols import names

    return [name for name in names() if name.startswith(typed)]


def algorithms(typed: str) -> list[str]:
    """Centralized algorithms whose names begin with the typed text."""
    from covey.anonymizers import ALGORITHMS

    return [name for name in ALGORITHMS if name.startswith(typed)]


def experiments(typed: str) -> list[str]:
    """Experiments of `covey bench` whose names begin with the typed text."""
    from covey.bench.papers import ALL, MODULES

    return [name for name in (*MODULES, ALL) if name.startswith(typed)]


def samples(typed: str) -> list[str]:
    """Samples whose names begin with the typed text."""
    from covey.samples import names

    return [name for name in names() if name.startswith(typed)]
