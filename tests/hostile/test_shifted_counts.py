"""A release by counts: a party that takes a value's count away, and gives another's, is noticed by whose it was."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness.hospitals import ILLS, Person, study_of, tables_of
from tests.harness.parties import run_parties

from covey.arrays import Words
from covey.errors import Aborted
from covey.protocols.shared import rows
from covey.secure import sum as secure_sum
from covey.wire import Channel

PEOPLE: dict[str, list[Person]] = {
    "east": [(1, "F", "none"), (2, "M", "none")],
    "north": [(1, "F", "flu"), (2, "M", "flu"), (3, "F", "none")],
    "south": [(1, "F", "asthma"), (2, "M", "none")],
}


def added_up(parties: tuple[str, ...], shift: dict[str, int]) -> dict[str, rows.Rows | Exception | None]:
    """All records in one class, their values added up; east's counts are shifted by so much."""
    study = study_of("cluster", parties)
    tables = tables_of(study, {name: PEOPLE[name] for name in parties})
    sizes = np.array([sum(table.rows for table in tables.values())])

    async def role(channel: Channel) -> rows.Rows:
        table = tables[channel.me]
        return await rows._add_up(channel, study, table.with_class(np.zeros(table.rows, dtype=np.int64)), sizes)

    honest = secure_sum.total

    async def lying(channel: Channel, mine: Words) -> Words:
        if channel.me == "east":
            for ill, more in shift.items():
                mine = mine.copy()
                mine[ILLS.index(ill)] += np.uint64(more % (1 << 64))
        return await honest(channel, mine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secure_sum, "total", lying)
        ends = run_parties(dict.fromkeys(parties, role))
    return {name: end.answer if end.error is None else end.error for name, end in ends.items()}


@pytest.mark.parametrize("parties", [("east", "north"), ("east", "north", "south")])
def test_counts_that_were_taken_away_from_a_party_are_noticed_by_it(parties: tuple[str, ...]) -> None:
    """North's two with flu are to be published as having an ulcer: the class's size stays what it was."""
    north = added_up(parties, {"flu": -1, "ulcer": 1})["north"]
    assert isinstance(north, Aborted)
    assert "took records" in str(north) and "column 'ill'" in str(north) and "flu" not in str(north)


def test_counts_as_they_are_add_up() -> None:
    for opened in added_up(("east", "north", "south"), {}).values():
        assert isinstance(opened, rows.Rows)
        assert sorted(opened.cells["ill"]) == sorted(ill for own in PEOPLE.values() for _, _, ill in own)
