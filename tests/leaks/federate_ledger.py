"""A provider's ledger of `federate`, in figures: from all tables what the ledger's sentences say that one learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from covey.protocols.as_printed.federate.groups import Group, divisible, joined
from covey.protocols.as_printed.federate.ideal import Owns, keeps, keeps_exactly, turn
from covey.protocols.as_printed.federate.parameters import Parameters

T = TypeVar("T")
"""What a provider learns of one group."""


@dataclass(frozen=True)
class ProviderLedger(Generic[T]):
    """A provider's ledger, in figures."""

    provider: str
    feasible: bool
    levels: tuple[tuple[T, ...], ...] = ()
    joined: tuple[tuple[bool, ...], ...] = ()
    """For exact values, each time: which groups could stay."""
    classes: int = 0


def learned(provider: str, params: Parameters, owns: Owns, of_group: Callable[[Group], T]) -> ProviderLedger[T]:
    """What the sentences come to for one provider; `of_group` says it for one group."""
    everyone = Group("", np.arange(len(params.population)))
    if not keeps(params, owns, [everyone.members]):
        return ProviderLedger(provider, False)
    levels, below = [], [everyone]
    leaves: list[Group] = []
    while groups := divisible(params, below, leaves):
        below = []
        for group in groups:
            _, halves = turn(params, owns, group, keeps)
            leaves += [group] if halves is None else []
            below += [] if halves is None else halves
        levels.append(tuple(map(of_group, groups)))
    leaves.sort(key=lambda group: group.path)
    tested = []
    while params.sensitive:
        good = [keeps_exactly(params, owns, group.members) for group in leaves]
        tested.append(tuple(good))
        if all(good):
            break
        leaves = joined(leaves, [group for group, fine in zip(leaves, good, strict=True) if not fine])
    return ProviderLedger(provider, True, tuple(levels), tuple(tested), len(leaves))
