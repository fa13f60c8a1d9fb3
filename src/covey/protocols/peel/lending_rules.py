"""The rules of lending that everybody knows: where records become spare, how many, and when a move pays."""

from __future__ import annotations

from covey.option import Flag

LEND = Flag(
    "lend",
    False,
    "classes with more records than they need lend some to combinations that lack a few to reach k (default false): "
    "about 1% less loss, and more in the ledger; for three parties or more that ask for k and k_insider alone",
)
STAGES, OF_FEW = 16, 24
"""Places of the list at which records become spare, at most, and those of a list of FEW nodes."""
FEW = 100
LATER = 10
"""A record that finds no class at a node is taken to lose more later: 2 / LATER of what it would lose there, and
1 / LATER of a column at most."""


def stages(nodes: int) -> list[int]:
    """The places of a list of so many nodes at which records become spare; near its beginning they are closest."""
    number = OF_FEW if nodes <= FEW else STAGES
    return sorted({nodes * place * place // number**2 for place in range(number)})


def places(k: int) -> int:
    """The number of spare records that a tuple counts at most."""
    return 2 * k // 5


def limits(k: int, parties: int, fewest: int) -> list[int]:
    """The numbers of records that each party may keep of a class, of which the smallest that suffices is taken.

    With `fewest` or more, no party sees fewer records of others than that after a class has lent, unless it saw none.
    """
    found = [max(-(-k // parties), fewest)]
    while found[-1] < k:
        found.append(min(k, found[-1] + max(1, k // 32)))
    return found


def units(k: int, records: int) -> list[int]:
    """The numbers by which each party divides its remaining records, to be asked whether there are k all the same."""
    found = [1]
    while found[-1] * k < records:
        found.append(found[-1] + max(1, found[-1] // 4))
    return found


def pays(k: int, place: int, loses: int, cost: int, scale: int) -> bool:
    """True if the spare record at a place of the line is counted.

    `cost` is what a record of the tuple loses, `loses` how much more that is than this one loses now, and `scale` what
    a column without labels costs.
    """
    return place <= places(k) and LATER * place * loses <= min(2 * cost, scale) * (k - place)
