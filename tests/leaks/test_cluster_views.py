"""What a party of `cluster` sees: uniform shares, and joint numbers of k records or more; not who has what."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from tests.harness.hospitals import Person, draw_people, stream_of, study_of, trial_of
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard, shapes

from covey.arrays import Bits, Words
from covey.crypto.field import Field
from covey.protocols.cluster_rows import divide, guarded
from covey.protocols.cluster_rows.party import Disclosures, SearchParty, SecureBlocks
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.cluster_rows.state import State
from covey.protocols.protocol import SILENT
from covey.secure import shares
from covey.secure.sum import Masked
from covey.secure.threshold_test import Dealt, Part
from covey.secure.threshold_test import MaskedNumbers as Hidden
from covey.table import Table
from covey.wire import Channel, Chunk
from covey.wire.frame import read
from covey.wire.message import tag_of

K = 4
NAMES = ("a", "b", "c")
YOUNG: Person = (1, "F", "flu")
OLD: Person = (12, "M", "none")


def problem_and_tables(people: Mapping[str, list[Person]]) -> tuple[ClusterProblem, dict[str, Table]]:
    study = study_of("cluster", NAMES, k=K)
    tables = {name: table for name, table in trial_of(study, people).tables.items() if table is not None}
    return ClusterProblem.of(study, tables["a"].trees, None), tables


def searched(
    people: Mapping[str, list[Person]], seed: int = 0, *, strict: bool = False, disclosed: Disclosures | None = None
) -> dict[str, Outcome[PublicClusters]]:
    """The guarded search alone; every party's notebook has all that it was sent. Disclosures are those of party a."""
    return search(*problem_and_tables(people), seed, strict=strict, disclosed=disclosed)


def search(
    problem: ClusterProblem, tables: Mapping[str, Table], seed: int = 0, *, strict: bool, disclosed: Disclosures | None
) -> dict[str, Outcome[PublicClusters]]:
    records = sum(table.rows for table in tables.values())

    async def role(channel: Channel) -> PublicClusters:
        codes = tables[channel.me].codes
        mine = disclosed if disclosed is not None and channel.me == "a" else Disclosures()
        party = SearchParty(SecureBlocks.over(channel), problem, codes, SILENT, mine)
        return (await guarded.search(party, records, strict=strict))[1]

    return run_parties(dict.fromkeys(NAMES, role), seed=seed)


def drawn(seed: int = 0, most: int = 60) -> dict[str, list[Person]]:
    return draw_people(stream_of(seed, "views"), NAMES, most, most)


def masked_by(outcome: Outcome[PublicClusters]) -> np.ndarray:
    """All that party a was sent by b under masks of 64 bits."""
    return np.concatenate([each.values.words for each in heard(outcome, "b", Masked)])


ONE_WORKER = "it keeps the runs"


@cache
def run_of(seed: int) -> tuple[np.ndarray, dict[str, list[np.ndarray]]]:
    """What party a is sent in the run of a seed: masked words, and places in smaller fields, from 0 to below 1."""
    places: dict[str, list[np.ndarray]] = {}
    receive, chance = shares.receive, np.random.default_rng(seed)

    async def noted(channel: Channel, peer: str, kind: type[Chunk[bytes]], field: Field, due: int) -> Words:
        words = await receive(channel, peer, kind, field, due)
        if channel.me == "a":
            places.setdefault(tag_of(kind), []).append((words + chance.random(len(words))) / field.prime)
        return words

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shares, "receive", noted)
        return masked_by(searched(drawn(seed), seed)["a"]), places


@pytest.mark.thorough
def test_every_masked_number_looks_uniform() -> None:
    words = np.concatenate([run_of(seed)[0] for seed in range(5)])
    assert uniform(np.ascontiguousarray(words).view(np.uint8))


@pytest.mark.parametrize("kind", ["reach.dealt", "reach.factor", "reach.masked", "reach.part"])
def test_everything_that_a_test_sends_looks_uniform_in_its_field(kind: str) -> None:
    assert uniform(np.concatenate([256 * place for seed in range(5) for place in run_of(seed)[1][kind]]))


def uniform(numbers: np.ndarray) -> bool:
    """Whether numbers below 256 are spread as chance spreads them."""
    counts = np.bincount(numbers.astype(np.int64), minlength=256)
    expected = counts.sum() / 256
    assert expected > 3
    return 150 < float(((counts - expected) ** 2 / expected).sum()) < 380  # 255 degrees of freedom


def test_no_mask_and_no_share_is_ever_sent_twice() -> None:
    heard_by_a = searched(drawn(3))["a"]
    wide = masked_by(heard_by_a)
    assert len(np.unique(wide)) == len(wide)
    narrow = [each.shares for each in heard(heard_by_a, "b", Dealt)]
    narrow += [each.numbers for each in heard(heard_by_a, "b", Hidden)]
    narrow += [each.parts for each in heard(heard_by_a, "b", Part)]
    long = [each for each in narrow if len(each) >= 12]
    assert len(set(long)) == len(long) >= 10


def test_every_state_that_is_said_has_clusters_of_k_or_more() -> None:
    outcomes = searched(drawn(1))
    states = [state for sender in "bc" for state in heard(outcomes["a"], sender, State)]
    assert states
    assert all(int(state.sizes.words.min()) >= K for state in states)
    assert all(int(state.sizes.words.sum()) == 180 for state in states)


def test_the_strict_schedule_opens_the_numbers_of_parts_that_are_formed_and_of_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So opened sets are nested, and what is left of one without those within has k records or more, or none."""
    cuts: list[tuple[int, list[int]]] = []
    carry_out = divide.carry_out

    def watched(
        problem: ClusterProblem, clusters: PublicClusters, may_cut: Bits, cut: divide.BestCuts
    ) -> divide.DividedClusters:
        for place in np.flatnonzero(cut.column >= 0):
            cell = place * problem.columns + cut.column[place]
            parts = cut.count[cut.separate & (cut.below.cell == cell)].tolist()
            cuts.append((int(clusters.sizes[cut.below.clusters[place]]), parts))
        return carry_out(problem, clusters, may_cut, cut)

    problem, tables = problem_and_tables(drawn(3))
    monkeypatch.setattr(divide, "carry_out", watched)  # not before: the ideal cuts too
    disclosed = Disclosures()
    found = search(problem, tables, strict=True, disclosed=disclosed)["a"].unwrap()
    assert len(found) > 5
    assert len(cuts) > 3 * 3  # by three parties, alike
    assert disclosed.counts == sum(len(parts) for _, parts in cuts) // 3
    for whole, parts in cuts:
        rest = whole - sum(parts)
        assert min(parts) >= K
        assert rest == 0 or rest >= K


def test_a_party_cannot_tell_which_of_the_others_has_what() -> None:
    """Two others exchange all their records: the first one's view has the same shapes and the same joint states."""
    hands = {"a": [YOUNG, OLD], "b": [YOUNG] * 7 + [OLD], "c": [OLD] * 6}
    swapped = {"a": hands["a"], "b": hands["c"], "c": hands["b"]}
    one, other = searched(hands), searched(swapped)
    assert shapes(one) == shapes(other)
    for sender in "bc":
        said = [[state.nodes for state in heard(run["a"], sender, State)] for run in (one, other)]
        assert said[0] == said[1]
    assert one["a"].unwrap().digest() == other["a"].unwrap().digest()


def test_lengths_and_steps_do_not_depend_on_who_has_how_many_rows() -> None:
    even = {"a": [YOUNG] * 3 + [OLD] * 3, "b": [YOUNG] * 3 + [OLD] * 3, "c": [YOUNG] * 3 + [OLD] * 3}
    uneven = {"a": [YOUNG], "b": [YOUNG] * 8 + [OLD] * 8, "c": [OLD]}
    assert shapes(searched(even)) == shapes(searched(uneven))


def test_no_step_is_used_twice_between_two_parties() -> None:
    letters = [read(raw).header for raw in searched(drawn(2))["a"].notebook.letters["b"]]
    places = [(header.step, header.tag, header.number) for header in letters]
    assert len(set(places)) == len(places)
