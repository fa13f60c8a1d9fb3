"""The transcript: one head for the same messages, however they arrived; every change is found."""

from __future__ import annotations

from itertools import permutations

from tests.harness.cases import CASES
from tests.harness.harness import run
from tests.harness.network import FaultyNetwork, Weather

from covey.party.record.transcript import Entry, Transcript, start

SESSION = b"s" * 16
PAIR = ("north", "south")


def line(step: str, number: int = 0, depth: int = 1, digest: bytes = b"d" * 32) -> Entry:
    return Entry(*PAIR, step, "a.tag", number, depth, 300, digest)


def head(*lines: Entry) -> bytes:
    return Transcript({PAIR: list(lines)}).head(SESSION, PAIR).digest


def test_the_head_does_not_depend_on_the_order_of_arrival() -> None:
    lines = [line("turn/2"), line("turn/10"), line("turn/2", number=1), line("late", depth=3)]
    assert len({head(*order) for order in permutations(lines)}) == 1


def test_numbers_in_steps_count_as_numbers() -> None:
    transcript = Transcript({PAIR: [line("turn/10"), line("turn/9"), line("turn/2")]})
    assert [each.step for each in transcript.ordered(PAIR)] == ["turn/2", "turn/9", "turn/10"]


def test_every_part_of_every_message_counts() -> None:
    base = head(line("a"), line("b"))
    others = [
        head(line("a"), line("c")),
        head(line("a"), line("b", number=1)),
        head(line("a"), line("b", depth=2)),
        head(line("a"), line("b", digest=b"e" * 32)),
        head(line("a")),
        head(line("a"), line("b"), line("b", number=1)),
        Transcript({PAIR: [line("a"), line("b")]}).head(b"t" * 16, PAIR).digest,
        start(SESSION, PAIR),
    ]
    assert len({base, *others}) == len(others) + 1


def test_both_ends_of_every_pair_have_the_same_head_in_any_weather() -> None:
    trial = CASES["shuffle"].draw(1)
    for seed in range(3):
        ends = run(trial, seed=4, network=FaultyNetwork(trial.names, Weather(delay=9), seed))
        session = next(end.finished.session for end in ends.values() if end.finished is not None)
        for sender in trial.names:
            for recipient in set(trial.names) - {sender}:
                pair = (sender, recipient)
                heads = {ends[end].transcript.head(session, pair).digest for end in pair}
                assert len(heads) == 1
