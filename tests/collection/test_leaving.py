"""Each rule for those who leave: before anything is opened, among the trustees, and within a class."""

from __future__ import annotations

from functools import cache

import pytest
from tests.collection.leavers import Outcome, Vanish, leaving
from tests.harness.collect_cases import HUB, Person, names_of, study_of

from covey.crypto.rng import Stream
from covey.crypto.seal import Sealed
from covey.errors import Left, PeerError, Unmet
from covey.protocols.as_printed.collect import index, leakage, submit
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.wire import Channel, Header

pytestmark = pytest.mark.timeout(60)

# r00 to r03 are one crowd, r04 to r06 another: two classes, of four and of three
CROWDS: list[Person] = [
    (1, "F", "good"), (2, "F", "bad"), (3, "F", "fair"), (1, "F", "bad"),
    (29, "M", "fair"), (30, "M", "good"), (31, "M", "bad"),
]  # fmt: skip


@cache
def trustees(count: int = 7) -> tuple[str, ...]:
    """Who founds the committee if all enrol, as a run shows that ends after it."""
    people = [*CROWDS, *CROWDS][:count]
    outcome = leaving(study_of(count), people, lambda name, header: header.tag == "collect.numbers")
    return tuple(sorted({sender for sender, tag in outcome.tags if tag == "collect.parcel" and sender != HUB}))


def at(name: str, tag: str, number: int = 0) -> Vanish:
    """Vanishes before its message of that type (and number among those of that type)."""
    seen = [0]

    def vanish(sender: str, header: Header) -> bool:
        if sender != name or header.tag != tag:
            return False
        seen[0] += 1
        return seen[0] > number

    return vanish


def no_trustee(among: range) -> str:
    return next(name for name in names_of(7)[among.start : among.stop] if name not in trustees())


def opened(outcome: Outcome) -> bool:
    return any(tag == "committee.unlocked" for _, tag in outcome.tags)


# -- before anything is opened


def test_nobody_leaves_and_everyone_is_released() -> None:
    outcome = leaving(study_of(7), CROWDS)
    assert outcome.rows == 7 and not outcome.gone
    assert leakage.LEFT not in outcome.learned


def test_who_does_not_enrol_is_left_out() -> None:
    outcome = leaving(study_of(7), CROWDS, at("r00", "collect.enrolled"))
    assert outcome.rows == 6 and set(outcome.gone) == {"r00"}
    assert leakage.LEFT in outcome.learned


def test_too_few_who_enrol_end_the_run() -> None:
    outcome = leaving(study_of(7), CROWDS, lambda name, header: name > "r01" and header.tag == "collect.enrolled")
    assert isinstance(outcome.error, Unmet) and "fewer than k = 3" in str(outcome.error)
    assert not opened(outcome)


@pytest.mark.thorough
def test_a_trustee_who_leaves_while_the_key_is_made_ends_the_attempt_with_its_name() -> None:
    for number in (0, 2, 4):  # a promise, a deal, an echo: two letters of each
        outcome = leaving(study_of(7), CROWDS, at(trustees()[1], "collect.parcel", number))
        assert isinstance(outcome.error, Left) and outcome.error.party == trustees()[1]
        assert not opened(outcome) and set(outcome.gone) == {trustees()[1]}


def test_who_leaves_before_giving_numbers_ends_the_attempt_with_its_name() -> None:
    outcome = leaving(study_of(7), CROWDS, at("r03", "collect.numbers"))
    assert isinstance(outcome.error, Left) and outcome.error.party == "r03"
    assert not opened(outcome)


@pytest.mark.thorough
def test_who_leaves_without_an_answer_is_left_out() -> None:
    outcome = leaving(study_of(7), CROWDS, at(no_trustee(range(4)), "collect.answers"))
    assert outcome.rows == 6


def test_too_few_answers_open_nothing() -> None:
    outcome = leaving(study_of(7), CROWDS, lambda name, header: name > "r01" and header.tag == "collect.answers")
    assert isinstance(outcome.error, Unmet) and not opened(outcome)


@pytest.mark.thorough
def test_above_the_limit_for_sending_the_index_too_who_asks_nothing_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from covey.protocols.as_printed.collect import parameters

    monkeypatch.setattr(parameters, "BROADCAST_CELLS", 8)
    parameters._LAST.clear()
    outcome = leaving(study_of(7), CROWDS, at(no_trustee(range(4)), "collect.query"))
    assert outcome.rows == 6
    parameters._LAST.clear()


# -- trustees


@pytest.mark.few(1)
@pytest.mark.parametrize("tag", ["committee.unlocked", "committee.proved", "collect.blinded"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_spare_takes_the_place_of_a_trustee_who_leaves(tag: str, place: int) -> None:
    outcome = leaving(study_of(7), CROWDS, at(trustees()[place], tag))
    assert outcome.gone.keys() == {trustees()[place]}
    assert any(sender == trustees()[2] and said == "committee.unlocked" for sender, said in outcome.tags)
    assert outcome.rows in (6, 3, 4)  # its own class goes on without it, or is withheld


def test_a_spare_takes_over_where_order_is_to_be_hidden_too() -> None:
    study = study_of(7, privacy="l = 1.3")
    outcome = leaving(study, CROWDS, at(trustees()[0], "collect.blinded"))
    assert outcome.rows in (6, 3, 4)


def test_below_a_majority_of_trustees_nothing_is_opened_and_nothing_released() -> None:
    gone = set(trustees()[:2])
    outcome = leaving(study_of(7), CROWDS, lambda name, header: name in gone and header.tag == "committee.unlocked")
    assert isinstance(outcome.error, Unmet) and "2 of 3 trustees" in str(outcome.error)
    assert outcome.result is None


# -- classes


def large_and_small() -> tuple[str, str]:
    """Someone of the class of four, and someone of the class of three, who are no trustees."""
    return no_trustee(range(4)), no_trustee(range(4, 7))


def test_a_class_goes_on_without_who_does_not_hand_in_while_k_remain() -> None:
    large, _ = large_and_small()
    outcome = leaving(study_of(7), CROWDS, at(large, "collect.onions"))
    assert outcome.rows == 6 and outcome.result is not None and outcome.result.figures is not None
    assert outcome.result.figures.withheld == 1 and outcome.result.figures.k_reached == 3


def test_a_class_that_falls_below_k_is_withheld_and_counted_as_lost() -> None:
    _, small = large_and_small()
    outcome = leaving(study_of(7), CROWDS, at(small, "collect.onions"))
    assert outcome.rows == 4 and outcome.result is not None and outcome.result.figures is not None
    assert outcome.result.figures.withheld == 3
    assert any("(1 of them)" in sentence for sentence in outcome.sentences)
    assert not outcome.ends.keys() - {small}, "the others were told, and not asked to hand in below k"
    assert outcome.result.figures.loss["lm"] >= 3 / 7  # type: ignore[operator]


@pytest.mark.thorough
def test_classes_cut_with_a_spare_member_can_lose_one() -> None:
    people = [*CROWDS, (30, "M", "fair")]  # two crowds of four
    protocol = "grid = 16\ncommittee = 3\nspare = 1"
    small = next(name for name in names_of(8)[4:] if name not in trustees(8))
    outcome = leaving(study_of(8, protocol=protocol), people, at(small, "collect.onions"))
    assert outcome.rows == 7 and outcome.result is not None and outcome.result.figures is not None
    assert outcome.result.figures.k_reached == 3
    everyone = leaving(study_of(8, protocol=protocol), people)
    assert everyone.result is not None and everyone.result.figures is not None
    assert everyone.rows == 8 and everyone.result.figures.k_reached == 4


def test_too_few_respondents_for_spare_members_are_no_reason_to_end() -> None:
    assert leaving(study_of(7, protocol="grid = 16\ncommittee = 3\nspare = 9"), CROWDS).rows == 7


def test_a_mixer_who_leaves_in_the_midst_of_the_mix_costs_its_own_row_only() -> None:
    large, _ = large_and_small()
    outcome = leaving(study_of(7), CROWDS, at(large, "collect.onions", 1))
    assert outcome.rows == 6


def test_who_refuses_to_hand_in_counts_as_having_left() -> None:
    large, _ = large_and_small()
    outcome = leaving(study_of(7), CROWDS, refuse=[large])
    assert outcome.rows == 6 and outcome.gone[large] == "refused"


def test_no_class_left_is_a_clean_end() -> None:
    outcome = leaving(study_of(7), CROWDS, lambda name, header: name > "r01" and header.tag == "collect.onions")
    assert isinstance(outcome.error, Unmet) and "no class has k = 3" in str(outcome.error)
    assert outcome.result is None


@pytest.mark.thorough
def test_a_class_that_is_not_diverse_without_who_left_is_withheld() -> None:
    people: list[Person] = [
        (1, "F", "good"), (2, "F", "good"), (3, "F", "fair"), (1, "F", "bad"),
        (29, "M", "fair"), (30, "M", "good"), (31, "M", "bad"),
    ]  # fmt: skip
    study = study_of(7, privacy="l = 2")  # of four, two may answer alike; of three, one
    leaver = next(name for name in ("r02", "r03") if name not in trustees())
    outcome = leaving(study, people, at(leaver, "collect.onions"))
    assert outcome.rows == 3 and leakage.SMALLER in outcome.learned


@pytest.mark.thorough
def test_a_class_that_is_still_diverse_without_who_left_is_released() -> None:
    study = study_of(7, privacy="l = 1.4")
    large, _ = large_and_small()
    outcome = leaving(study, CROWDS, at(large, "collect.onions"))
    assert outcome.rows in (6, 3) and leakage.SMALLER in outcome.learned


# -- those who lie are left out like those who leave


def test_numbers_of_the_wrong_length_end_the_attempt_with_the_liars_name(monkeypatch: pytest.MonkeyPatch) -> None:
    original = index.drawn

    def shorter(parameters: Parameters, respondents: int, number: int, numbers: Stream) -> list[int]:
        made = original(parameters, respondents, number, numbers)
        return made[:-1] if number == 2 else made

    monkeypatch.setattr(index, "drawn", shorter)
    outcome = leaving(study_of(7), CROWDS)
    assert isinstance(outcome.error, Left) and outcome.error.party == "r02"


@pytest.mark.thorough
def test_a_row_that_cannot_be_read_costs_its_class_and_not_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    liar = no_trustee(range(4, 7))
    sealed = submit.Member._hand_in

    async def garbage(self: submit.Member, at: Channel, own: submit.Class, row: bytes) -> None:
        await sealed(self, at, own, b"\xff" if self.channel.me == liar else row)

    monkeypatch.setattr(submit.Member, "_hand_in", garbage)
    outcome = leaving(study_of(7), CROWDS)
    assert outcome.rows == 4


# -- respondents do not believe everything


def test_a_company_that_grows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = submit.Assembly.join
    turns: list[int] = []

    async def growing(self: submit.Assembly, names: list[str]) -> submit.Class:
        turns.append(len(names))
        if len(turns) > 2:
            names = [*names, "r06"] if "r06" not in names else [*names, "r00"]
        return await original(self, names)

    monkeypatch.setattr(submit.Assembly, "join", growing)
    large, _ = large_and_small()
    outcome = leaving(study_of(7), CROWDS, at(large, "collect.onions"))
    assert any(isinstance(error, PeerError) and "only become smaller" in str(error) for error in outcome.ends.values())


@pytest.mark.thorough
def test_a_company_below_k_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = submit.Assembly._tell

    async def shrinking(self: submit.Assembly, name: str, task: submit.Company) -> None:
        again = task.what == "join" and name in self._at
        await original(self, name, submit.Company("join", task.keys[:2]) if again else task)

    monkeypatch.setattr(submit.Assembly, "_tell", shrinking)
    large, _ = large_and_small()
    outcome = leaving(study_of(7), CROWDS, at(large, "collect.onions"))
    assert any("fewer than 3 members" in str(error) for error in outcome.ends.values())


@pytest.mark.thorough
def test_nobody_mixes_twice_for_one_company(monkeypatch: pytest.MonkeyPatch) -> None:
    original = submit.Assembly._pass

    async def again(self: submit.Assembly, batch: Sealed, size: int, mixer: str) -> Sealed:
        await original(self, batch, size, mixer)
        return await original(self, batch, size, mixer)

    monkeypatch.setattr(submit.Assembly, "_pass", again)
    outcome = leaving(study_of(7), CROWDS)
    assert any("a second time" in str(error) for error in outcome.ends.values())


def test_the_collector_is_named_as_such_in_none_of_these() -> None:
    assert HUB not in leaving(study_of(7), CROWDS, at("r00", "collect.answers")).gone
