"""The same people released twice: how many hide among fewer than k for whoever knows their classes in both.

The clinic that ships is released twice, by two algorithms or with two k. The intersection attack takes a person's
class in each release as known; who shares both classes with her is who she hides among.
"""

from __future__ import annotations

from collections import Counter

from covey import samples
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.sources.source import connect
from covey.study import Study
from covey.table import build as build_table
from covey.table import read

PAIRS = ((("peel", 5), ("mondrian", 5)), (("peel", 5), ("peel", 8)), (("peel", 5), ("peel", 5)))
K = 5


def places(algorithm: str, k: int) -> list[tuple[int, int]]:
    """Each row's item and class; rows of one item are told apart by nothing, so they are matched in order."""
    folder = samples.path("clinic")
    study = Study.load(folder / "study.toml")
    columns = study.columns
    source = connect(str(folder / "clinic.csv"))
    built = build(
        build_table(read(source.batches([column.name for column in columns]), columns, source.name), study), k=k
    )
    partition = anonymize(built.problem, algorithm)
    seats: dict[int, list[int]] = {}
    for item, group, count in zip(
        partition.item.tolist(), partition.group.tolist(), partition.count.tolist(), strict=True
    ):
        seats.setdefault(item, []).extend([group] * count)
    return [(item, seats[item].pop() if seats.get(item) else -1) for item in built.item_of_row.tolist()]


def run(arguments: list[str]) -> None:
    for first, second in PAIRS:
        pairs = zip(places(*first), places(*second), strict=True)
        groups = Counter((first_seat[1], second_seat[1]) for first_seat, second_seat in pairs)
        people = sum(groups.values())
        exposed = sum(count for count in groups.values() if count < K)
        singled_out = sum(count for count in groups.values() if count == 1)
        print(
            f"{first[0]} at k = {first[1]}, then {second[0]} at k = {second[1]}: of {people:,} people "
            f"{exposed:,} share both classes with fewer than {K - 1} others, {singled_out:,} with nobody"
        )
