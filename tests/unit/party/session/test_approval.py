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
from covey.party.session.approval import ApprovalQuestion, approve_always, asking_on_terminal, within
from covey.protocols import Figures, Proposal, find
from covey.protocols.protocol import Preview
from covey.secure.approval import COST, Vote, ideal, statement, vote
from covey.secure.declare import Leakage
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
            run_jumping(asking_on_terminal()(question()))
    assert stopped.value.exit_code == 3


def test_nobody_answering_in_time_stops_the_run_so_that_it_can_go_on() -> None:
    async def never(shown: ApprovalQuestion) -> bool:
        await asyncio.sleep(1e6)
        return True

    with pytest.raises(Aborted, match="nobody answered within 5 minutes") as stopped:
        run_jumping(within(never, 300)(question()))
    assert stopped.value.exit_code == 3
    assert run_jumping(within(approve_always, 300)(question()))


COUNTS = Leakage(everyone=("{n} counts",), roles={"recipient": ("a table",)})
FIGURES = Figures(rows=12, classes=2, k_reached=5, l_reached=2.0, withheld=1, loss={"lm": 0.25, "em": None})


def question(protocol: str = "count", **more: object) -> ApprovalQuestion:
    study = Study.parse(study_text(k=4))
    ledger = Ledger(study, find(protocol), "north")
    ledger.met()
    return ApprovalQuestion.of(study, Proposal(COUNTS, {"n": 1234567}, **more), ledger)  # type: ignore[arg-type]


def test_a_person_is_shown_one_screen_with_the_decision_first() -> None:
    preview = Preview({"age": 0.5, "sex": 0.0}, ((("[20, 29]", "F"), 7), (("*", "*"), 5)))
    screen = question(figures=FIGURES, preview=preview).screen(80, "out/approval.txt")
    first, *rest = screen.splitlines()
    assert first == "Decide for north: may the study 'small' be released?"
    names = [line.split("  ")[1] for line in rest if line.startswith("  ") and line[2] != " "]
    assert [name.strip() for name in names][2:8] == ["later", "k", "l", "insider k", "rows", "loss (LM)"]
    for part in ("5: each row", "(asked: 4)", "12 in 2 classes; 1 more", "0.250", "age 0.50, sex 0.00", "out/approval"):
        assert part in screen
    assert "If all say yes, every party will learn:\n  - about 1.2 million counts" in screen
    assert "  7     [20, 29]  F" in screen
    assert len(rest) < 40


@pytest.mark.parametrize("width", [40, 80, 132])
def test_the_screen_keeps_to_the_terminals_width(width: int) -> None:
    preview = Preview({f"column{n}": 0.5 for n in range(30)}, ((("a rather long label",) * 30, 7),))
    shown = question(figures=FIGURES, preview=preview).screen(width, "a/folder/approval.txt")
    assert max(map(len, shown.splitlines())) <= width


def test_what_has_not_happened_is_not_told_as_if_it_had() -> None:
    asked = question(figures=FIGURES)
    assert not any("approve" in fact.fact for fact in asked.known)
    assert "learned" not in asked.screen(80).partition("Besides")[0]
    assert (
        "Already learned by every party, whatever you answer:\n  - that north, south and east took part" in asked.full()
    )
    assert "1,234,567 counts" not in asked.screen(80)


def test_labels_cannot_steer_the_terminal_of_whoever_decides() -> None:
    preview = Preview({"age\x1b[2J": 0.5}, ((("\x1b[31mred\n\u202e",), 7),))
    shown = question(figures=FIGURES, preview=preview).screen(80)
    assert "\x1b" not in shown and "\u202e" not in shown


def test_a_party_that_gets_no_release_is_told_so_and_sees_no_figures() -> None:
    study = Study.parse(study_text(k=4))
    elsewhere = replace(find("count"), receives=lambda study, party: party == "south")
    asked = ApprovalQuestion.of(study, Proposal(COUNTS, {"n": 3}, FIGURES), Ledger(study, elsewhere, "north"))
    shown = asked.screen(80)
    assert "opened to south" in " ".join(shown.split())
    assert "not shown: the release goes to others (asked: 4)" in shown
    assert "12 in 2 classes" not in shown
    assert asked.proposal.digest == Proposal(COUNTS).digest


def test_a_party_that_gets_no_release_sees_figures_that_all_have_learned_and_who_gets_the_exact_cells() -> None:
    study = Study.parse(f'{study_text(k=4)}[columns.note]\nrole = "plain"\n')
    elsewhere = replace(find("count"), receives=lambda study, party: party == "south")
    preview = Preview({"age": 0.5}, ((("[20, 29]",), 7),))
    proposal = Proposal(COUNTS, {"n": 3}, FIGURES, preview, known_to_all=True)
    shown = " ".join(ApprovalQuestion.of(study, proposal, Ledger(study, elsewhere, "north")).screen(80).split())
    assert "12 in 2 classes" in shown and "0.250" in shown and "not shown" not in shown
    assert "note, to south alone" in shown


def test_figures_that_differ_in_a_floats_last_digit_are_the_same_figures() -> None:
    one, two = (Figures(rows=1, classes=1, k_reached=1, loss={"lm": value}) for value in (0.1 + 0.2, 0.3))
    assert Proposal(Leakage(), {}, one).digest == Proposal(Leakage(), {}, two).digest
    other = Figures(rows=1, classes=1, k_reached=1, loss={"lm": 0.300001})
    assert Proposal(Leakage(), {}, one).digest != Proposal(Leakage(), {}, other).digest


def test_equal_figures_have_one_digest_and_others_another() -> None:
    one = Figures(rows=12, classes=2, k_reached=5)
    assert Proposal(Leakage(), {}, one).digest == Proposal(COUNTS, {}, one).digest
    assert (
        Proposal(Leakage(), {}, one).digest != Proposal(Leakage(), {}, Figures(rows=12, classes=2, k_reached=6)).digest
    )
    assert isinstance(Aborted("x", resumable=True), CoveyError)
