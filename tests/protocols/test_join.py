"""The join keeps its promises: the rows side by side, the ids seen by nobody, no row linked to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.clock import on_real_clock
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard, said, shapes, spent
from tests.harness.tiers import examples
from tests.harness.town import Town

from covey.crypto.elgamal import Ciphertexts, KeyShare, opened
from covey.crypto.group import POINT_BYTES, Points, Scalar, powers
from covey.crypto.rng import Stream
from covey.errors import Aborted, InputError, PeerError
from covey.secure import book
from covey.secure import join as block
from covey.secure.join import COST, LEAKAGE, OPENING_COST, Blended, blend, ideal, open_rows
from covey.secure.jointkey import whole
from covey.wire import Channel, chunks

Table = Mapping[str, bytes]
Joined = list[tuple[bytes, ...]] | None


def blending(inputs: Mapping[str, Table], recipient: str | None = None) -> dict[str, Role[Blended]]:
    """The first stage alone: every owner brings its rows by id."""

    def role(table: Table) -> Role[Blended]:
        return lambda channel: blend(channel.at("join"), list(table), list(table.values()), recipient=recipient)

    return {name: role(table) for name, table in everyone(inputs, recipient).items()}


def roles(inputs: Mapping[str, Table], recipient: str | None = None) -> dict[str, Role[Joined]]:
    """Both stages, approved by all."""

    def role(first: Role[Blended]) -> Role[Joined]:
        async def play(channel: Channel) -> Joined:
            return await open_rows(channel.at("open"), await first(channel), approved=True)

        return play

    return {name: role(first) for name, first in blending(inputs, recipient).items()}


def everyone(inputs: Mapping[str, Table], recipient: str | None) -> dict[str, Table]:
    """The owners' tables, and nothing for the recipient."""
    return {**inputs, **({recipient: {}} if recipient else {})}


def tables(names: str, people: int, distinct: int) -> dict[str, dict[str, bytes]]:
    """Rows that fall into so many groups at each owner."""
    return {
        name: {f"person {i}": f"{name}: group {i * (place + 1) % distinct}".encode() for i in range(people)}
        for place, name in enumerate(names)
    }


@st.composite
def aligned(draw: st.DrawFn) -> dict[str, dict[str, bytes]]:
    """Two to four owners of the same people, each in an order of its own."""
    names = draw(st.lists(st.text("abcdef-", min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
    people = draw(st.lists(st.text(max_size=4), max_size=6, unique=True))
    rows = st.sampled_from([b"", b"x", b"yy", b"long" * 20])
    return {name: {person: draw(rows) for person in draw(st.permutations(people))} for name in names}


@settings(max_examples=examples(30), deadline=None)
@given(aligned(), st.booleans(), st.integers(0, 1000))
def test_whoever_opens_learns_the_ideal_table_and_the_others_nothing(
    inputs: dict[str, dict[str, bytes]], to_recipient: bool, seed: int
) -> None:
    recipient = "recipient" if to_recipient else None
    for name, outcome in run_parties(roles(inputs, recipient), seed=seed).items():
        assert outcome.unwrap() == (ideal(inputs) if recipient in (None, name) else None)


@on_real_clock
async def test_the_recipient_learns_the_ideal_table_over_tls(tmp_path: Path) -> None:
    inputs = tables("ab", 40, 5)
    outcomes = await Town.found("abz", tmp_path).play_all(roles(inputs, "z"))
    assert outcomes["z"].unwrap() == ideal(inputs)
    assert outcomes["a"].unwrap() is outcomes["b"].unwrap() is None


def test_the_same_bytes_are_sent_however_the_network_interleaves() -> None:
    inputs = tables("abc", 6, 3)
    calm = said(run_parties(roles(inputs, "z"), seed=7))
    for weather in range(3):
        network = FaultyNetwork("abcz", Weather(delay=20), weather)
        assert said(run_parties(roles(inputs, "z"), seed=7, network=network)) == calm
    assert said(run_parties(roles(inputs, "z"), seed=8)) != calm


@pytest.mark.parametrize("recipient", [None, "z"])
@pytest.mark.parametrize(("names", "people", "chunk"), [("ab", 50, 30), ("abc", 4, 1 << 15), ("abcd", 0, 1 << 15)])
def test_the_cost_is_as_declared(
    names: str, people: int, chunk: int, recipient: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", chunk * POINT_BYTES)
    inputs = tables(names, people, 3)
    books = [sorted(set(table.values())) for table in inputs.values()]
    shape = (len(names), people, recipient is not None)
    first = spent(run_parties(blending(inputs, recipient)))
    both = spent(run_parties(roles(inputs, recipient)))
    assert first.rounds == COST.rounds(*shape)
    assert first.messages == COST.messages(*shape)
    assert first.bytes == pytest.approx(COST.bytes(*shape), rel=0.02)
    assert both.rounds - first.rounds <= OPENING_COST.rounds(books, recipient is not None)
    assert both.messages - first.messages == OPENING_COST.messages(books, recipient is not None)
    assert both.bytes - first.bytes == pytest.approx(OPENING_COST.bytes(books, recipient is not None), rel=0.02)


def test_tables_with_equally_many_people_give_messages_of_equal_shape_until_they_are_opened() -> None:
    assert shapes(run_parties(blending(tables("ab", 8, 2)))) == shapes(run_parties(blending(tables("ab", 8, 8))))


# ---- the order, and who could link a row


def codes(message: list[block.Passed] | list[block.Blend], secret: Scalar) -> list[int]:
    """The codes of a list in its order: what only all parts of the key together show."""
    [part] = message
    people = len(part.points) // 3
    first, second = part.points.slice(people, 2 * people), part.points.slice(2 * people, 3 * people)
    table = {point: code for code, point in enumerate(powers(range(people)))}
    return [table[point] for point in opened(Ciphertexts(first, second), [first.times(secret)])]


def kept_places(people: int, runs: int) -> int:
    """How many of an owner's rows come back at the place at which they left, over some runs."""
    kept = 0
    inputs = tables("ab", people, people)
    for seed in range(runs):
        outcomes = run_parties(blending(inputs), seed=seed)
        secret = whole(outcome.unwrap().share.surrender() for outcome in outcomes.values())
        left = codes(heard(outcomes["b"], "a", block.Passed), secret)
        back = codes(heard(outcomes["a"], "b", block.Blend), secret)
        assert sorted(left) == sorted(back) == list(range(people))
        kept += sum(one == other for one, other in zip(left, back, strict=True))
    return kept


def test_a_second_blinder_that_keeps_order_gives_every_row_away(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = block.reblind

    def keep_order(batch: Sequence[Points], *rest: object) -> list[Points]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Stream, "permutation", lambda stream, size: list(range(size)))
            return honest(batch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(block, "reblind", keep_order)
    assert kept_places(10, 3) == 30


def test_our_second_blinder_gives_no_row_away() -> None:
    assert kept_places(10, 40) < 70  # by chance 40, with a standard deviation of 6


def test_a_list_does_not_leave_in_the_order_of_the_table() -> None:
    kept = 0
    for seed in range(40):
        outcomes = run_parties(blending(tables("ab", 10, 10)), seed=seed)
        secret = whole(outcome.unwrap().share.surrender() for outcome in outcomes.values())
        left = codes(heard(outcomes["b"], "a", block.Passed), secret)
        kept += sum(code == place for place, code in enumerate(left))
    assert kept < 70  # by chance 40, with a standard deviation of 6


def test_nothing_of_a_list_comes_back_as_it_left() -> None:
    outcomes = run_parties(blending(tables("ab", 10, 2)))
    [left], [back] = heard(outcomes["b"], "a", block.Passed), heard(outcomes["a"], "b", block.Blend)
    assert not set(left.points) & set(back.points)


def test_two_joins_of_the_same_tables_share_no_element() -> None:
    inputs = tables("ab", 6, 2)

    async def role(channel: Channel) -> None:
        table = inputs[channel.me]
        for turn in range(2):
            await blend(channel.at(turn), list(table), list(table.values()))

    outcomes = run_parties(dict.fromkeys("ab", role))
    elements = [point for part in heard(outcomes["a"], "b", block.Passed) for point in part.points]
    assert len(elements) == len(set(elements)) == 36


# ---- what is refused


def test_a_repeated_id_is_refused_at_home_without_being_quoted() -> None:
    async def role(channel: Channel) -> Blended:
        return await blend(channel, ["patient-77", "patient-77"], [b"x", b"y"])

    for outcome in run_parties(dict.fromkeys("ab", role)).values():
        assert isinstance(outcome.error, InputError)
        assert "patient-77" not in str(outcome.error)


def test_tables_of_different_people_are_not_joined() -> None:
    inputs = {"a": {"1": b"x", "2": b"y"}, "b": {"1": b"x", "3": b"y"}}
    for outcome in run_parties(roles(inputs)).values():
        assert isinstance(outcome.error, Aborted)
        assert "align" in str(outcome.error)
    fewer = {"a": {"1": b"x", "2": b"y"}, "b": {"1": b"x"}}
    assert all(outcome.answer is None for outcome in run_parties(roles(fewer)).values())


@pytest.mark.parametrize(
    ("recipient", "ids", "rows", "message"),
    [("q", [], [], "not a party"), ("b", ["1"], [b"x"], "two owners"), (None, ["1"], [], "1 ids and 0 rows")],
)
def test_wrong_calls_are_refused_at_home(
    recipient: str | None, ids: list[str], rows: list[bytes], message: str
) -> None:
    async def role(channel: Channel) -> Blended:
        return await blend(channel, ids, rows, recipient=recipient)

    for outcome in run_parties(dict.fromkeys("ab", role)).values():
        assert isinstance(outcome.error, InputError)
        assert message in str(outcome.error)


def test_without_approval_the_part_of_the_key_stays_at_home() -> None:
    inputs = tables("ab", 4, 2)

    def role(first: Role[Blended], approved: bool) -> Role[Joined]:
        async def play(channel: Channel) -> Joined:
            return await open_rows(channel.at("open"), await first(channel), approved=approved)

        return play

    stages = blending(inputs, "z")
    outcomes = run_parties({name: role(first, name != "b") for name, first in stages.items()})
    assert isinstance(outcomes["b"].error, Aborted)
    assert isinstance(outcomes["z"].error, Aborted)
    assert not any(e.header.tag in ("join.share", "book.page") for e in outcomes["b"].notebook.sent_entries)


def test_a_key_without_a_proof_is_refused() -> None:
    async def liar(channel: Channel) -> Joined:
        share = KeyShare(channel.rng.stream("lie"))
        await channel.at("join").exchange(block.JoinKey(share.public, bytes(64)))
        return None

    error = run_parties({**roles(tables("ab", 2, 2)), "b": liar})["a"].error
    assert isinstance(error, PeerError)
    assert "does not prove" in error.reason


def dishonest(secret: bytes, announced: int, pages: list[list[bytes]]) -> Role[Joined]:
    """An owner that blends properly, and at the opening says something else."""

    async def play(channel: Channel) -> Joined:
        blended = await blend(channel.at("join"), ["1", "2"], [b"x", b"y"])
        opening = channel.at("open")
        own = secret or blended.share.surrender().reveal()
        await opening.send("a", block.JoinShare(own, announced))
        for page in pages:
            await opening.send("a", book.Page(page))
        await opening.receive("a", block.JoinShare)
        return None

    return play


@pytest.mark.parametrize(
    ("secret", "announced", "pages", "reason"),
    [
        ((7).to_bytes(32, "little"), 2, [[b"x", b"y"]], "not the one that it had promised"),
        (bytes(32), 2, [[b"x", b"y"]], "zero"),
        (b"", 2, [[b"y", b"x"]], "not sorted"),
        (b"", 2, [[b"x", b"x"]], "not sorted"),
        (b"", 2, [[b"x", b"y", b"z"]], "more or fewer"),
        (b"", 2, [[]], "more or fewer"),
        (b"", 1, [[b"x"]], "not in its book"),
    ],
)
def test_an_owner_that_opens_something_else_is_refused(
    secret: bytes, announced: int, pages: list[list[bytes]], reason: str
) -> None:
    inputs = {"a": {"1": b"p", "2": b"q"}, "b": {}}
    outcomes: dict[str, Outcome[Joined]] = run_parties({**roles(inputs), "b": dishonest(secret, announced, pages)})
    error = outcomes["a"].error
    assert isinstance(error, PeerError)
    assert (error.party, reason in error.reason) == ("b", True)


@pytest.mark.thorough
def test_bad_weather_ends_in_the_table_or_in_a_typed_abort() -> None:
    inputs = tables("ab", 3, 2)
    for seed in range(60):
        weather = Weather(delay=30, loss=20, repeat=20, swap=20, cut_at=seed if seed % 5 == 0 else None)
        network = FaultyNetwork("abz", weather, seed)
        for name, outcome in run_parties(roles(inputs, "z"), seed=seed, network=network).items():
            if outcome.error is None:
                assert outcome.unwrap() == (ideal(inputs) if name == "z" else None)
            else:
                assert isinstance(outcome.error, (Aborted, PeerError))


def test_the_ledger_tells_the_opener_from_the_owner() -> None:
    assert len(LEAKAGE.sentences("owner", rows=5)) == 1
    assert "without ids" in LEAKAGE.sentences("opener", rows=5)[1]
