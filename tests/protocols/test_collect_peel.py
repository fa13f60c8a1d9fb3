"""`collect` by peeling: real equals ideal, over memory and with drawn or named trustees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collect_cases import HUB, Person
from tests.harness.harness import answers, run
from tests.harness.parties import run_parties
from tests.harness.peel_survey_cases import draw_people, study_of, study_text, trial_of
from tests.harness.trial import Trial

from covey.arrays import Words
from covey.crypto.rng import Rng
from covey.crypto.scalar_field import FQ, ScalarElements, numbers
from covey.errors import Aborted, InputError, PeerError
from covey.protocols.collect_peel import letters
from covey.protocols.collect_peel.collector import Collecting
from covey.protocols.collect_peel.messages import BoardHead
from covey.protocols.collect_peel.parameters import Parameters
from covey.protocols.collect_peel.trustee import Agreed
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.wire import Channel, Chunk


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("seed", "people", "options"),
    [
        (1, 12, {}),
        (2, 12, {"trustees": ()}),
        (3, 12, {"privacy": "l = 2"}),
        (5, 12, {"privacy": 'l = 1.7\ndiversity = "entropy"'}),
        (4, 14, {"privacy": 'l = 2\ndiversity = "distinct"', "note": True, "trustees": ()}),
    ],
)
def test_the_collector_gets_what_a_trusted_party_would_release(
    seed: int, people: int, options: dict[str, object]
) -> None:
    trial = trial_of(study_of(people, **options), draw_people(seed, people))
    assert answers(trial, run(trial)) == trial.ideal


def lying(monkeypatch: pytest.MonkeyPatch, liar: str, how: Callable[[list[int]], list[int]], trustees: int = 3) -> None:
    """One respondent writes something else to the first trustees than its record; to so many of them."""
    honest = letters.write

    def write(
        study_hash: str, handle: str, record: list[int], keys: dict[str, bytes], rng: Rng
    ) -> letters.RespondentLetters:
        true = honest(study_hash, handle, record, keys, rng)
        if handle != liar:
            return true
        false = honest(study_hash, handle, how(list(record)), keys, rng.child("false"))
        return letters.RespondentLetters([*false.letters[:trustees], *true.letters[trustees:]])

    monkeypatch.setattr(letters, "write", write)


def released(trial: Trial) -> list[str]:
    """The rows of the release."""
    content = answers(trial, run(trial))[HUB]
    assert isinstance(content, bytes)
    return content.decode().splitlines()[1:]


def without(trial: Trial, name: str) -> list[str]:
    """The rows that a trusted party would release without one respondent."""
    tables = {own: table for own, table in trial.tables.items() if table is not None and own != name}
    release = trial.protocol.ideal(trial.study, tables).release
    assert release is not None
    return canonical_csv(arrange(release)).decode().splitlines()[1:]


@pytest.mark.thorough
def test_shares_that_lie_on_no_polynomial_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = trial_of(study_of(10), draw_people(5, 10))
    lying(monkeypatch, "r00", lambda record: [number + 1 for number in record], trustees=1)
    assert released(trial) == without(trial, "r00")


@pytest.mark.few(1)
@pytest.mark.parametrize("lie", ["letters", "shares"])
def test_a_trustee_cannot_choose_who_stays_by_leaving_the_others_out(monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    honest, read = Channel.exchange_all, letters.read
    shift = numbers(int(place not in (3, 4, 5)) for place in range(12))  # those stay: somebody, and k - 1 friends

    def unread(study_hash: str, handle: str, me: str, *rest: Any) -> Words | None:
        return None if me == "board" and shift[int(handle[1:])] else read(study_hash, handle, me, *rest)

    async def false(
        self: Channel, kind: type[Chunk[ScalarElements]], items: ScalarElements
    ) -> dict[str, ScalarElements]:
        if self.me != "board" or not self.step.endswith("degree/open"):
            return await honest(self, kind, items)
        theirs = await honest(self, kind, ScalarElements(FQ.add(items.words, shift)))
        return theirs | {"patients": ScalarElements(FQ.add(theirs["patients"].words, shift))}

    if lie == "letters":
        monkeypatch.setattr(letters, "read", unread)
    else:
        monkeypatch.setattr(Channel, "exchange_all", false)
    ends = run(trial_of(study_of(12), draw_people(1, 12)))
    assert ends[HUB].finished is None
    assert "9 of 12 answers would be left out" in str(ends["patients"].error)


@pytest.mark.thorough
def test_an_answer_that_is_none_is_left_out_with_its_class_if_that_becomes_too_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd: list[Person] = [(1, "F", "good")] * 4 + [(20, "M", "bad")] * 3
    lying(monkeypatch, "r00", lambda record: [*record[:-1], 7])
    assert released(trial_of(study_of(7), crowd)) == ["1,F,good"] * 3 + ["20,M,bad"] * 3
    lying(monkeypatch, "r04", lambda record: [*record[:-1], 7])
    assert released(trial_of(study_of(7), crowd)) == ["1,F,good"] * 3


def test_a_class_that_is_diverse_only_by_an_answer_that_is_none_is_withheld_and_the_others_are_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd: list[Person] = [(1, "F", "good")] * 4 + [(20, "M", "bad"), (20, "M", "good"), (20, "M", "fair")]
    lying(monkeypatch, "r00", lambda record: [*record[:-1], 7])
    trial = trial_of(study_of(7, privacy='l = 2\ndiversity = "distinct"'), crowd)
    assert released(trial) == ["20,M,bad", "20,M,fair", "20,M,good"]


def test_numbers_that_only_add_up_like_a_tuples_do_not_keep_its_group_from_being_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people: list[Person] = [(1, "F", "good")] * 4 + [(20, "M", "bad")] * 3
    lying(monkeypatch, "r00", lambda record: [record[0] + 5, *record[1:2], record[2] - 5, *record[3:]])
    assert released(trial_of(study_of(7), people)) == ["1,F,good"] * 4 + ["20,M,bad"] * 3


def test_a_reference_takes_the_place_of_counting_and_a_wrong_one_is_refused_with_its_line(tmp_path: Path) -> None:
    rows = "".join(f"age,{age},3\n" for age in range(32)) + "sex,F,50\nsex,M,46\n"
    (tmp_path / "census.csv").write_text("column,value,count\n" + rows)
    text = study_text(9, protocol='nodes = 3\nreference = "census.csv"')
    trial = trial_of(Study.parse(text, tmp_path), draw_people(6, 9))
    assert answers(trial, run(trial)) == trial.ideal
    (tmp_path / "census.csv").write_text("column,value,count\n" + rows + "age,99,1\n")
    with pytest.raises(InputError, match=r"census\.csv, line 36: must be column,value,count"):
        Parameters.of(Study.parse(text, tmp_path))


@pytest.mark.parametrize(("said", "error"), [((1, 2, 2), PeerError), ((1, 2, 3), Aborted)])
def test_a_trustee_that_differs_is_named_only_against_a_majority(said: tuple[int, ...], error: type[Exception]) -> None:
    trustees = dict(zip("abc", said, strict=True))

    async def role(channel: Channel) -> int:
        if channel.me in trustees:
            await channel.send("hub", BoardHead(trustees[channel.me]))
            return 0
        unused: Any = None
        return (await Collecting(unused, unused, unused, tuple(trustees))._heard(channel, BoardHead)).answers

    caught = run_parties(dict.fromkeys([*trustees, "hub"], role))["hub"].error
    assert type(caught) is error


def test_the_collector_is_not_blamed_alone_for_a_board_that_a_trustee_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Channel.exchange

    async def deny(self: Channel, message: Any) -> object:
        return await honest(self, Agreed(bytes(32)) if self.me == "board" and isinstance(message, Agreed) else message)

    monkeypatch.setattr(Channel, "exchange", deny)
    error = run(trial_of(study_of(6), draw_people(1, 6)))["patients"].error
    assert isinstance(error, Aborted)
    assert "office gave board another board of answers than us, or board says so falsely" in str(error)
