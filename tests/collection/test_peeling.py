"""Collections by `peel` over TLS: respondents send one letter and go, trustees compute, anybody may be cut off."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.collection.peeling_town import THREE, PeelingTown, come, hand_in, letter_of, serving
from tests.collection.town import collecting
from tests.harness.clock import on_real_clock

from covey.errors import Aborted, AccessError, InputError, PeerError, Unmet
from covey.party.audit.folders import audit
from covey.party.collection import receipts, status, trustee_keys
from covey.party.collection.delivering import Delivery
from covey.party.collection.eligibility import collected
from covey.party.collection.trustee import DONE, Trustee
from covey.protocols.peel import letters
from covey.protocols.peel.letters import Letter
from covey.wire.standing import words

pytestmark = pytest.mark.timeout(240)


@on_real_clock
async def test_respondents_hand_in_and_go_and_the_release_is_a_trusted_partys(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 8) as running, serving(town) as staying:
        people = await hand_in(town, 8)
        await running.task
        assert await asyncio.gather(*staying) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(8)
    folders = [town.out, *(tmp_path / name for name in THREE)]
    assert [sentence for each in audit(folders) for sentence in each.wrong] == []
    signed = json.loads((town.out / "certificate.json").read_text())["A signed by"]
    assert set(signed) == {"office", *THREE}
    board, collector = town.out / "board.json", town.keys.certificate
    for each in people:
        receipt = each.home.receipt() or {}
        assert receipts.check(town.study, collector, receipt, board) is None
    assert not any(handle in board.read_text() for handle in town.handles(8))
    assert status.read(town.out)["phase"] == "finished"
    assert not any(trustee_keys.exists(tmp_path / name) for name in THREE), "keys for letters are erased"
    assert await town.trustee("board").run() == DONE, "nothing is left to do"
    missing = json.loads(board.read_text())
    missing["lines"].pop()
    board.write_text(json.dumps(missing))
    assert receipts.check(town.study, collector, receipt, board) == "the board is not what the collector signed"


def when_told(machine: Trustee, phase: str, then: Callable[[], object]) -> Trustee:
    """Lets something happen, once, when that trustee's role reaches a phase."""
    done: list[bool] = []

    def say(sentence: str) -> None:
        if sentence == f"taking part: {phase}" and not done:
            done.append(True)
            then()

    machine.say = say
    return machine


@pytest.mark.few(1)
@pytest.mark.parametrize("phase", ["windows", pytest.param("release", marks=pytest.mark.thorough)])
@on_real_clock
async def test_a_trustee_cut_off_in_any_phase_goes_on(tmp_path: Path, phase: str) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 6) as running, serving(town, "board", "university") as others:
        machine = town.trustee("patients")
        first = asyncio.create_task(machine.run())
        when_told(machine, phase, first.cancel)
        await hand_in(town, 6)
        await asyncio.wait([first])
        assert first.cancelled()
        async with serving(town, "patients") as again:
            await running.task
            assert await asyncio.gather(*others, *again) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)


@pytest.mark.thorough
@pytest.mark.parametrize("phase", ["windows", "release"])
@on_real_clock
async def test_a_collector_cut_off_in_any_phase_goes_on_and_nobody_is_asked_twice(tmp_path: Path, phase: str) -> None:
    town = PeelingTown(tmp_path)
    reached = asyncio.Event()
    machine = when_told(town.trustee("board"), phase, reached.set)
    staying = [asyncio.create_task(machine.run())]
    async with serving(town, "patients", "university") as others:
        async with collecting(town, 6):
            await hand_in(town, 6)
            await reached.wait()
        async with collecting(town, 6) as again:
            await again.task
            assert await asyncio.gather(*staying, *others) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)
    assert again.log.count("the answers are closed") == 1


@pytest.mark.thorough
@on_real_clock
async def test_without_a_trustee_nothing_more_is_opened_and_the_run_goes_on_when_it_is_back(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    async with serving(town, "board", "university") as others:
        async with collecting(town, 6, phase_seconds=1.0) as running:
            machine = town.trustee("patients")
            lost = asyncio.create_task(machine.run())
            when_told(machine, "windows", lost.cancel)
            await hand_in(town, 6)
            with pytest.raises(Aborted, match="trustee 'patients' was not connected for 1 seconds, and cannot be done"):
                await running.task
        assert not (town.out / "release.csv").exists()
        assert not any(each.done() for each in others), "the others wait for it"
        async with collecting(town, 6) as again, serving(town, "patients") as back:
            await again.task
            assert await asyncio.gather(*others, *back) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)


@on_real_clock
async def test_letters_that_are_no_answers_are_refused_or_left_out_by_name_and_the_others_released(
    tmp_path: Path,
) -> None:
    town = PeelingTown(tmp_path)
    tokens = town.invite(9)
    async with collecting(town, 9) as running, serving(town) as staying:
        people = [town.delivery(place, token) for place, token in enumerate(tokens)]
        for each in people[:8]:
            await each.deliver()
        held = running.collection.register.held
        copied = held.answers[town.handles(1)[0]]
        with pytest.raises(Unmet, match="its parts are not signed by the key that was enrolled"):
            await bent(people[8], lambda answer: letters.unpack(base64.b64decode(copied), town.width)).deliver()
        again = town.delivery(0, tokens[0])
        assert await again.deliver() == await again.deliver()
        with pytest.raises(Unmet, match="another answer came before under this handle"):
            await bent(again, lambda answer: town.signed(again, letter_of(town, again, 3))).deliver()
        with pytest.raises(Unmet, match="a sealed part of 50 bytes for each of 3 trustees"):
            await bent(again, shortened).deliver()
        await bent(people[8], lambda answer: town.signed(people[8], swapped(answer))).deliver()
        await running.task
        assert await asyncio.gather(*staying) == [DONE] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(8), "what does not open is left out"
    place = sorted(town.handles(9)).index(town.handles(9)[8]) + 1
    sentence = f"whose letters were no answers and were left out: {town.handles(9)[8]} (number {place})"
    assert all(sentence in (folder / "ledger.json").read_text() for folder in (town.out, tmp_path / "board"))


def shortened(answer: Letter) -> Letter:
    """A letter of which a part is too short."""
    return Letter([*answer.parts[:2], answer.parts[2][:-1]], answer.key, answer.signature)


def swapped(answer: Letter) -> Letter:
    """A letter whose parts are at the wrong trustees."""
    return Letter([answer.parts[1], answer.parts[0], answer.parts[2]], answer.key, answer.signature)


def bent(person: Delivery, how: Callable[[Letter], Letter]) -> Delivery:
    """A respondent that sends something else than its answer."""

    class Bent(Delivery):
        def letter(self, handle: str, shown: list[words.SignedKey]) -> Letter:  # type: ignore[override]
            return how(super().letter(handle, shown))

    return Bent(person.study, person.hub, person.home, person.invitation)


@pytest.mark.thorough
@on_real_clock
async def test_a_late_answer_and_a_second_board_are_refused(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    tokens = town.invite(7)
    async with collecting(town, 6) as running:
        machine = town.trustee("board")
        halted = asyncio.create_task(machine.run())
        when_told(machine, "windows", halted.cancel)
        async with serving(town, "patients", "university"):
            for place in range(6):
                await town.delivery(place, tokens[place]).deliver()
            await asyncio.wait([halted])
            with pytest.raises(AccessError, match="nobody can enrol any more"):
                await town.delivery(6, tokens[6]).deliver()
            assert not running.task.done()
    shutil.rmtree(town.out)
    again = [town.delivery(place + 10, token) for place, token in enumerate(town.invite(6))]
    async with collecting(town, 6) as second, serving(town, "patients", "university"):
        come(town, second)
        for each in again:
            await each.deliver()
        with pytest.raises(PeerError, match="two releases could be compared"):
            await town.trustee("board").run()
        with pytest.raises(Aborted, match="stopped the run"):
            await second.task


@on_real_clock
async def test_a_trustee_that_lost_its_key_is_refused_and_everybody_has_to_send_again(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 6) as running:
        come(town, running)
        await town.delivery(0, town.invite(1)[0]).deliver()
        shutil.rmtree(tmp_path / "board")
        with pytest.raises(AccessError, match="sealed to another key of trustee 'board', and nobody else can"):
            await town.trustee("board").run()


@on_real_clock
async def test_nothing_is_sealed_before_all_trustees_have_come_and_signed_their_keys(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 6) as running:
        person = town.delivery(0, town.invite(1)[0])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await person.deliver()
        come(town, running)
        held = running.collection.register.held
        key = held.trustees["board"]
        held.trustees["board"] = type(key)("board", "00" * 32, key.signature, key.time)
        with pytest.raises(PeerError, match="keys that the trustees did not sign"):
            await person.deliver()
        assert not held.answers


def test_a_collection_has_three_trustees_that_are_independent_of_each_other(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    text = town.path.read_text()
    refused = (
        ("".join(text.partition("[parties.board]")[:1]), "has three trustees, and the study names none"),
        (text.replace('role = "trustee"', 'role = "trustee"\nlabel = "The office"', 2), "are one organisation"),
        (
            text.replace('values = ["good", "fair", "bad"]\n', ""),
            "column 'mood': in a collection a",
        ),
        (text.replace('"peel"', '"collect"'), 'has no trustee; write protocol = "peel", whose trustees'),
        (
            text.replace('"peel"', '"collect"').partition("[parties.board]")[0],
            "is the paper's own system",
        ),
    )
    for changed, reason in refused:
        town.path.write_text(changed)
        with pytest.raises((InputError, Unmet), match=reason):
            collected(town.path)
    (tmp_path / "board.pem").write_bytes((tmp_path / "office.pem").read_bytes())
    town.path.write_text(text)
    with pytest.raises(InputError, match="'board' and 'office' are one organisation"):
        collected(town.path)


def test_a_letter_opens_for_its_trustee_its_enrolment_and_its_collection_alone(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    person = town.delivery(0, town.invite(1)[0])
    answer, study, own = letter_of(town, person, 0), town.study.study_hash, town.trustee("board").own
    assert own is not None
    read = (answer.key, "board", own, answer.parts[0], town.width)
    assert letters.read(study, "r-1", *read) is not None
    assert letters.read(study, "r-2", *read) is None, "sent again under another handle"
    assert letters.read("00" * 32, "r-1", *read) is None, "of another collection"
    assert letters.read(study, "r-1", answer.key, "board", own, answer.parts[1], town.width) is None
    assert letters.read(study, "r-1", bytes(32), "board", own, answer.parts[0], town.width) is None
