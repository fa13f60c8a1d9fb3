"""The insider k: what the parties compute jointly is what a trusted party would; estimates and warnings beside it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.hospitals import SITES, study_of, tables_of
from tests.harness.parties import run_parties

from covey.arrays import Bits, Longs
from covey.errors import InputError, Unmet
from covey.fitness import check
from covey.party.plan import make_plan
from covey.party.record.ledger import Ledger
from covey.party.session.approval import ApprovalQuestion
from covey.protocols import Figures, Proposal, of_study
from covey.protocols.shared import insiders
from covey.secure import conjunction
from covey.secure.declare import Leakage
from covey.sources import connect
from covey.study.insiders import UNPROTECTED, k_insider, warning
from covey.wire import Channel

OFF = "k_insider = 1"


def joint(owns: Mapping[str, Longs], k: int) -> set[int]:
    """What all parties find together."""
    sizes = np.sum(list(owns.values()), axis=0)

    async def role(channel: Channel) -> int:
        async def conjoin(bits: Bits) -> Bits | None:
            return await conjunction.conjoin(channel.at("insider"), bits)

        return await insiders.insider_k(conjoin, sizes, owns[channel.me], k, two=len(owns) == 2)

    return {each.unwrap() for each in run_parties(dict.fromkeys(owns, role)).values()}


@pytest.mark.parametrize(
    ("owns", "expected"),
    [
        ([[5, 0], [1, 7], [0, 0]], 1),
        ([[5, 0], [2, 7], [0, 0]], 2),
        ([[9, 0], [0, 8], [0, 0]], 8),
        ([[30, 40], [30, 40], [31, 50]], 60),
        ([[9, 8], [0, 0], [0, 0]], 8),
        ([[5, 3], [4, 0]], 3),
        ([[5, 0], [0, 4]], 4),
    ],
)
def test_the_joint_insider_k_is_a_trusted_partys(owns: Sequence[Sequence[int]], expected: int) -> None:
    given = {name: np.array(own) for name, own in zip(SITES, owns, strict=False)}
    assert insiders.fewest_of_all(np.sum(list(given.values()), axis=0), list(given.values())) == expected
    assert joint(given, 3) == {expected}


@given(
    st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=1, max_size=5).filter(
        lambda classes: all(map(any, classes))
    ),
    st.integers(2, 9),
)
def test_windows_of_bits_find_every_minimum(classes: list[list[int]], k: int) -> None:
    by_party = np.array(classes).T
    sizes = by_party.sum(axis=0)

    def clear(place: int) -> int:
        """One party's search, where the others' bits follow from their own numbers."""
        asked = [0]

        async def conjoin(bits: Bits) -> Bits:
            first = asked[0] + 1
            asked[0] += len(bits)
            steps = np.arange(first, first + len(bits))
            fewest = [(sizes - own)[(sizes - own) > 0].min(initial=10**6) for own in by_party]
            return np.asarray(steps <= min(fewest))

        return asyncio.run(insiders.insider_k(conjoin, sizes, by_party[place], k, two=False))

    expected = insiders.fewest_of_all(sizes, list(by_party))
    assert {clear(place) for place in range(3)} == {expected}


def test_a_group_that_would_show_one_person_to_an_insider_is_withheld() -> None:
    study = study_of("peel", k=2, privacy=OFF)
    people = {"east": [(1, "F", "flu")] * 3, "north": [(1, "F", "none")], "south": [(9, "M", "flu")] * 2}
    for each, withheld in ((study, 0), (study_of("peel", k=2), 4)):  # one of four is not shown to who has the others
        figures = of_study(each).ideal(each, tables_of(each, people)).figures
        assert figures is not None and figures.withheld == withheld


@pytest.mark.thorough
def test_an_estimate_from_the_rows_falls_with_a_partys_part() -> None:
    study = study_of("peel", k=10, privacy=OFF)
    equal, skewed = dict.fromkeys(SITES, 100), {"east": 1000, "north": 100, "south": 100}
    assert insiders.foretell(study, skewed) == 1
    assert (insiders.foretell(study, equal) or 0) > 2
    assert insiders.foretell(study_of("peel", k=10), skewed) == 2
    assert insiders.foretell(study, {"east": 1000}) is None
    assert (insiders.foretell(study_of("peel", k=2000), dict.fromkeys(SITES, 10**6)) or 0) > 1000


@pytest.mark.parametrize("protocol", ["peel"])
def test_a_study_that_switches_the_protection_off_is_warned_of_everywhere(protocol: str) -> None:
    loose, kept = study_of(protocol, privacy=OFF), study_of(protocol)
    assert (k_insider(loose), k_insider(kept)) == (1, 2)
    assert warning(loose)
    assert not warning(kept)
    rows = dict.fromkeys(SITES, 50)
    for study in (loose, kept):
        said = study is loose
        plan = make_plan(study, rows, 0.0, 1e9)
        assert (UNPROTECTED in str(plan.describe(0)["mind"])) == said
        assert any("single persons' sensitive values" in each for each in plan.learns["east"]) == said
        table = pa.table({column.name: ["1", "2"] if column.name == "age" else ["F", "F"] for column in study.columns})
        assert (UNPROTECTED in str(check(study, connect(table), "east").notes)) == said
        ledger = Ledger(study, of_study(study), "east")
        proposal = Proposal(Leakage(), figures=Figures(rows=9, classes=1, k_reached=9, insider_k=4))
        shown = " ".join(ApprovalQuestion.of(study, proposal, ledger).screen(80).split())
        assert (f"WARNING: {UNPROTECTED}" in shown) == said
        assert "insider k 4: a party that takes its own rows out" in shown


PAIR = SITES[:2]


@pytest.mark.parametrize(
    ("protocol", "names", "privacy", "options", "reason"),
    [
        ("peel", SITES, "most_of_a_class = 0.3", "", "of 3 parties one has at least 1/3 of it"),
        ("peel", SITES, "most_of_a_class = 50", "", "most_of_a_class must be"),
        ("cluster", SITES, "l_insider = 2", "", "cannot enforce l_insider with a horizontal split"),
        ("suppress", PAIR, "most_of_a_class = 0.6", "", "cannot enforce most_of_a_class"),
    ],
)
def test_what_a_protocol_cannot_keep_toward_insiders_is_refused_with_the_reason(
    protocol: str, names: Sequence[str], privacy: str, options: str, reason: str
) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        of_study(study_of(protocol, names, privacy=privacy, options=options))


@pytest.mark.parametrize("protocol", ["peel"])
def test_a_party_that_has_most_of_all_rows_leaves_no_class(protocol: str) -> None:
    study = study_of(protocol, privacy="most_of_a_class = 0.5", k=2)
    people = {"east": [(1, "F", "flu")] * 9, "north": [(1, "F", "none")], "south": [(9, "M", "flu")] * 2}
    with pytest.raises(Unmet, match="most_of_a_class"):
        of_study(study).ideal(study, tables_of(study, people))


def test_older_studies_keep_their_hash() -> None:
    assert study_of("peel").study_hash == "43e2eb8449867420bfd76fe0ecc34043cb88799a95b1754dc11208b9f2c0563d"
    assert study_of("peel", privacy="most_of_a_class = 0.5").study_hash != study_of("peel").study_hash
