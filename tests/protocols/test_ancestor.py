"""The secure least common ancestor keeps its promises on random trees: ideal, cost, determinism, shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Role, run_parties
from tests.harness.spent import heard, said, shapes, spent
from tests.harness.strategies import hierarchies

from covey.errors import InputError, PeerError
from covey.hierarchy import Hierarchy, numbers
from covey.protocols.as_printed.cluster_rows import ancestor
from covey.protocols.as_printed.cluster_rows.ancestor import COST, Present, leakage
from covey.protocols.as_printed.cluster_rows.descent import NOTHING, Nodes
from covey.wire import Channel, chunks


@dataclass(frozen=True)
class Case:
    """Trees, every party's closures, and the public ones."""

    trees: tuple[Hierarchy, ...]
    inputs: Mapping[str, Nodes]
    below: Nodes | None = None


def roles_for(case: Case, receiver: str | None = None) -> dict[str, Role[Nodes | None]]:
    """Every party brings its closures."""

    def role(mine: Nodes) -> Role[Nodes | None]:
        return lambda channel: ancestor.common(channel, case.trees, mine, below=case.below, receiver=receiver)

    return {name: role(mine) for name, mine in case.inputs.items()}


def under(tree: Hierarchy, bound: int) -> list[int]:
    """The nodes at or below one, the slow way."""
    found = []
    for node in range(tree.nodes):
        climbed = node
        while climbed not in (bound, tree.root):
            climbed = int(tree.parent[climbed])
        if climbed == bound:
            found.append(node)
    return found


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Two, three or five parties; some without records in a cell, some cells not asked for."""
    trees = tuple(draw(st.lists(hierarchies(most_leaves=6), min_size=1, max_size=3)))
    trees = tuple(tree.with_missing() if draw(st.booleans()) else tree for tree in trees)
    clusters = draw(st.integers(0, 4))
    names = "abcde"[: draw(st.sampled_from([2, 3, 5]))]
    bounds = np.full((clusters, len(trees)), NOTHING, dtype=np.int32)
    inputs = {name: bounds.copy() for name in names}
    for column, tree in enumerate(trees):
        for cluster in range(clusters):
            bound = draw(st.sampled_from([NOTHING, tree.root, *range(tree.nodes)]))
            bounds[cluster, column] = bound
            choices = list(range(tree.nodes)) if bound == NOTHING else under(tree, bound)
            for own in inputs.values():
                own[cluster, column] = draw(st.sampled_from([NOTHING, *choices]))
    if draw(st.booleans()):
        return Case(trees, inputs)
    return Case(trees, inputs, bounds)


@settings(deadline=None)
@given(cases(), st.data())
def test_the_receivers_learn_the_ideal_ancestors_and_others_nothing(case: Case, data: st.DataObject) -> None:
    receiver = data.draw(st.sampled_from([None, *case.inputs]))
    ideal = ancestor.ideal(case.trees, case.inputs, case.below)
    for name, outcome in run_parties(roles_for(case, receiver)).items():
        answer = outcome.unwrap()
        assert (answer is None) == (receiver not in (None, name))
        if answer is not None:
            assert np.array_equal(answer, ideal)


@settings(deadline=None)
@given(cases(), st.booleans())
def test_the_cost_is_as_declared(case: Case, one: bool) -> None:
    outcomes = run_parties(roles_for(case, "b" if one else None))
    cost = spent(outcomes)
    mine = case.inputs["a"]
    bounds = ancestor.roots(case.trees, len(mine)) if case.below is None else case.below
    n = len(case.inputs)
    size = (n, ancestor.places(case.trees, bounds, n), mine.size, one)
    assert cost.rounds == COST.rounds(*size)
    assert cost.messages == COST.messages(*size)
    assert cost.bytes == pytest.approx(COST.bytes(*size), rel=0.02)


AGE = numbers(Decimal(0), Decimal(99), [Decimal(5), Decimal(10), Decimal(20)])


def ages(**closures: Sequence[str | None]) -> dict[str, Nodes]:
    """Every party's closures of the age column, by label."""

    def node(label: str | None) -> int:
        found = NOTHING if label is None else AGE.node(label)
        assert found is not None
        return found

    return {name: np.array([[node(label)] for label in labels], dtype=np.int32) for name, labels in closures.items()}


@pytest.mark.parametrize("names", ["ab", "abc", "abcde"])
def test_two_ages_meet_in_the_smallest_common_interval(names: str) -> None:
    inputs = ages(**{key: ["10", "12", "40"] for key in names} | {"a": ["15", "13", None]})
    outcomes = run_parties(roles_for(Case((AGE,), inputs)))
    for outcome in outcomes.values():
        answer = outcome.unwrap()
        assert answer is not None
        assert [AGE.labels[node] for node in answer[:, 0]] == ["[10, 19]", "[10, 14]", "40"]


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_party_alone_in_a_cluster_has_its_own_closure_opened(names: str) -> None:
    inputs = ages(**{key: [None] for key in names} | {"a": ["[20, 39]"]})
    for outcome in run_parties(roles_for(Case((AGE,), inputs))).values():
        answer = outcome.unwrap()
        assert answer is not None
        assert AGE.labels[answer[0, 0]] == "[20, 39]"


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_cluster_of_nobody_has_no_ancestor(names: str) -> None:
    inputs = ages(**{key: [None] for key in names})
    for outcome in run_parties(roles_for(Case((AGE,), inputs))).values():
        answer = outcome.unwrap()
        assert answer is not None
        assert answer.tolist() == [[NOTHING]]


def test_among_three_nobody_sees_who_has_no_record() -> None:
    """Whatever a party has, it says as much, and the ancestor alone is opened."""
    few = Case((AGE,), ages(a=["10"], b=[None], c=["15"]))
    many = Case((AGE,), ages(a=["10"], b=["15"], c=["[10, 19]"]))
    assert shapes(run_parties(roles_for(few))) == shapes(run_parties(roles_for(many)))


def test_between_two_lengths_do_not_depend_on_the_records() -> None:
    few = Case((AGE,), ages(a=["10", None], b=[None, None]))
    many = Case((AGE,), ages(a=["10", "11"], b=["[20, 39]", "99"]))
    assert shapes(run_parties(roles_for(few))) == shapes(run_parties(roles_for(many)))


def test_between_two_nothing_is_said_about_cells_that_are_not_asked_for() -> None:
    below = np.array([[NOTHING], [AGE.root], [NOTHING]], dtype=np.int32)
    outcomes = run_parties(roles_for(Case((AGE,), ages(a=["10", "11", "12"], b=["13", "14", None]), below)))
    for me, peer in ("ab", "ba"):
        (present,) = heard(outcomes[me], peer, Present)
        assert present.cells == bytes([0b01000000])


@pytest.mark.parametrize("names", ["ab", "abc", "abcd"])
def test_the_same_bytes_are_sent_however_the_network_interleaves(names: str) -> None:
    case = Case((AGE,), ages(**{key: ["10", "20", None] for key in names} | {"a": ["15", "13", None]}))
    calm = said(run_parties(roles_for(case), seed=7))
    for weather in range(3):
        rough = FaultyNetwork(names, Weather(delay=20), weather)
        assert said(run_parties(roles_for(case), seed=7, network=rough)) == calm
    assert said(run_parties(roles_for(case), seed=8)) != calm


def test_a_closure_outside_the_public_one_is_refused_at_home() -> None:
    below = np.array([[AGE.node("[20, 39]")]], dtype=np.int32)
    outcome = run_parties(roles_for(Case((AGE,), ages(a=["10"], b=["20"], c=["21"]), below)))["a"]
    assert isinstance(outcome.error, InputError)
    assert "column 0" in str(outcome.error)


@pytest.mark.parametrize("wrong", [np.zeros((2, 2), dtype=np.int32), np.full((2, 1), 10_000, dtype=np.int32)])
def test_nodes_of_the_wrong_shape_or_of_no_tree_are_refused(wrong: Nodes) -> None:
    outcome = run_parties(roles_for(Case((AGE,), dict.fromkeys("abc", wrong))))["a"]
    assert isinstance(outcome.error, InputError)


def test_a_peer_that_answers_with_nodes_outside_the_public_closure_is_refused() -> None:
    below = np.array([[AGE.node("[20, 39]")]], dtype=np.int32)

    async def liar(channel: Channel) -> Nodes | None:
        mine = np.full((1, 1), NOTHING, dtype=np.int32)
        found = await ancestor.common(channel, (AGE,), mine, below=below, receiver="a")
        outside = np.full((1, 1), AGE.root, dtype="<i4")
        await channel.at("answer").send("b", ancestor.FoundAncestors(outside.tobytes()))
        return found

    async def honest(channel: Channel) -> Nodes | None:
        return await ancestor.common(channel, (AGE,), ages(b=["20"])["b"], below=below)

    async def liars(channel: Channel) -> Nodes | None:
        return await (liar if channel.me == "a" else honest)(channel)

    error = run_parties(dict.fromkeys("ab", liars))["b"].error
    assert isinstance(error, PeerError)
    assert "outside the public closure" in str(error)


def test_the_ledger_says_what_is_learned() -> None:
    assert len(leakage(3).sentences(cells=4, parties=3)) == 1
    assert "above all 3 parties' records in each of 4 cells" in leakage(3).sentences("receiver", cells=4, parties=3)[1]
    assert "the other party has no record" in leakage(2).sentences(cells=4, parties=2)[1]


@pytest.mark.parametrize("receiver", [None, "a"])
def test_many_nodes_of_two_parties_travel_in_chunks_at_the_declared_cost(
    receiver: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = (np.array([[leaf, NOTHING], [NOTHING, leaf], [leaf, leaf]], dtype=np.int32) for leaf in (1, 9))
    case = Case((AGE, AGE), {"a": mine, "b": other})
    whole = run_parties(roles_for(case, receiver))
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 16)  # of six cells
    parts = run_parties(roles_for(case, receiver))
    first, again = whole["a"].unwrap(), parts["a"].unwrap()
    assert first is not None and again is not None and np.array_equal(first, again)
    size = 2, ancestor.places(case.trees, ancestor.roots(case.trees, 3), 2), 6, receiver is not None
    assert spent(parts).messages == COST.messages(*size) > spent(whole).messages
    assert spent(parts).rounds == COST.rounds(*size)
