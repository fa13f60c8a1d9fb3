"""Nothing is opened unless everyone agrees; a refusal is final, everywhere, and signed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.consortium import study_text
from tests.harness.clock import run_jumping
from tests.harness.parties import Outcome, run_parties

from covey.errors import Aborted, CoveyError, PeerError
from covey.party.identity import keys
from covey.party.record.ledger import Ledger
from covey.party.session.approval import approve_always, ask_on_terminal, describe, within
from covey.protocols import Figures, Proposal, find
from covey.secure.approval import COST, Vote, ideal, statement, vote
from covey.study import Study
from covey.wire import Channel

NAMES = ("a", "b", "c")
KEYS = {name: keys.make(name) for name in NAMES}
SHOWN = bytes(32)

Decision = Callable[[], Awaitable[bool]]


async def yes() -> bool:
    return True


async def no() -> bool:
    return False


def ballot(
    decisions: dict[str, Decision],
    *,
    shown: dict[str, bytes] | None = None,
    signers: dict[str, keys.Keys] | None = None,
    fellows: tuple[str, ...] = NAMES,
) -> dict[str, Outcome[None]]:
    def role(name: str) -> Callable[[Channel], Awaitable[None]]:
        async def cast(channel: Channel) -> None:
            await vote(
                channel.at("approval"),
                study_hash="00",
                shown=(shown or {}).get(name, SHOWN),
                decide=decisions[name],
                sign=(signers or KEYS)[name].sign,
                verify=lambda peer, signature, content: KEYS[peer].certificate.verifies(signature, content),
                fellows=fellows,
            )

        return cast

    return run_parties({name: role(name) for name in NAMES})


@pytest.mark.parametrize("pattern", range(8))
def test_all_agree_or_nobody_goes_on(pattern: int) -> None:
    decided = {name: bool(pattern >> place & 1) for place, name in enumerate(NAMES)}
    ends = ballot({name: yes if choice else no for name, choice in decided.items()})
    if ideal(decided):
        assert all(end.error is None for end in ends.values())
    else:
        assert all(isinstance(end.error, Aborted) for end in ends.values())
        assert all(end.error is not None and end.error.exit_code == 1 for end in ends.values())


def test_a_refusal_reaches_those_who_are_still_thinking() -> None:
    async def never() -> bool:
        await asyncio.sleep(1e6)
        return True

    ends = ballot({"a": no, "b": never, "c": never})
    assert str(ends["b"].error) == "party 'a' refused the release; nothing was released"
    assert str(ends["c"].error) == "party 'a' refused the release; nothing was released"


def test_a_vote_that_is_not_signed_with_the_voters_key_is_refused() -> None:
    ends = ballot(dict.fromkeys(NAMES, yes), signers={**KEYS, "b": keys.make("b")})
    assert isinstance(ends["a"].error, PeerError)
    assert "not signed with its key" in str(ends["a"].error)


def test_a_vote_on_other_figures_is_refused_among_those_who_saw_them() -> None:
    other = {"b": bytes([1]) * 32}
    ends = ballot(dict.fromkeys(NAMES, yes), shown=other)
    assert isinstance(ends["a"].error, PeerError)
    assert "other figures" in str(ends["a"].error)
    apart = ballot(dict.fromkeys(NAMES, yes), shown=other, fellows=())
    assert all(end.error is None for end in apart.values())


def test_a_vote_is_bound_to_voter_session_study_figures_and_decision() -> None:
    class At:
        session = bytes(16)

    def say(**changes: object) -> bytes:
        parts = {"voter": "a", "study_hash": "00", "shown": SHOWN, "approve": True, **changes}
        return statement(At(), **parts)  # type: ignore[arg-type]

    changed = [say(voter="b"), say(study_hash="01"), say(shown=bytes([1]) * 32), say(approve=False)]
    assert len({say(), *changed}) == 5


def test_the_cost_is_as_declared() -> None:
    ends = ballot(dict.fromkeys(NAMES, yes))
    tallies = [end.tally for end in ends.values()]
    assert {tally.rounds for tally in tallies} == {COST.rounds(3)}
    sent = {pair: count for tally in tallies for pair, count in tally.bytes.items()}
    messages = {pair: count for tally in tallies for pair, count in tally.messages.items()}
    assert sum(messages.values()) == COST.messages(3)
    assert sum(sent.values()) == pytest.approx(COST.bytes(3), rel=0.02)
    assert Vote.__struct_config__.tag == "approval.vote"


def test_without_a_terminal_the_run_stops_so_that_it_can_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/null") as nothing:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(Aborted, match="no terminal") as stopped:
            asyncio.run(ask_on_terminal("figures"))
    assert stopped.value.exit_code == 3


def test_nobody_answering_in_time_stops_the_run_so_that_it_can_go_on() -> None:
    async def never(shown: str) -> bool:
        await asyncio.sleep(1e6)
        return True

    with pytest.raises(Aborted, match="nobody answered within 5 minutes") as stopped:
        run_jumping(within(never, 300)("figures"))
    assert stopped.value.exit_code == 3
    assert run_jumping(within(approve_always, 300)("figures"))


def test_a_person_is_shown_what_was_asked_what_was_reached_and_the_ledger() -> None:
    study = Study.parse(study_text(k=4))
    ledger = Ledger(study, find("count"), "north")
    ledger.met()
    figures = Figures(rows=12, classes=2, k_reached=5, l_reached=2.0, withheld=1, loss={"lm": 0.25, "em": None})
    shown = describe(study, Proposal(opens=("the counts",), figures=figures), ledger)
    for part in ("k asked for: 4", "k reached: 5", "l reached: 2", "loss (lm): 0.2500", "withheld: 1", "the counts"):
        assert part in shown
    assert "north learned that north, south, east took part" in shown
    without = describe(study, Proposal(opens=("the counts",)), ledger)
    assert "k asked for: 4" in without
    assert "k reached" not in without


def test_a_party_that_gets_no_release_is_told_so_and_sees_no_figures() -> None:
    study = Study.parse(study_text(k=4))
    elsewhere = replace(find("count"), receives=lambda study, party: party == "south")
    shown = describe(study, Proposal(opens=("nothing",)), Ledger(study, elsewhere, "north"))
    assert "this party gets none" in shown
    assert "k asked for: 4" in shown


def test_figures_that_differ_in_a_floats_last_digit_are_the_same_figures() -> None:
    one, two = (Figures(rows=1, classes=1, k_reached=1, loss={"lm": value}) for value in (0.1 + 0.2, 0.3))
    assert Proposal((), one).digest == Proposal((), two).digest
    other = Figures(rows=1, classes=1, k_reached=1, loss={"lm": 0.300001})
    assert Proposal((), one).digest != Proposal((), other).digest


def test_equal_figures_have_one_digest_and_others_another() -> None:
    one = Figures(rows=12, classes=2, k_reached=5)
    assert Proposal((), one).digest == Proposal(("sentences do not count",), one).digest
    assert Proposal((), one).digest != Proposal((), Figures(rows=12, classes=2, k_reached=6)).digest
    assert isinstance(Aborted("x", resumable=True), CoveyError)
