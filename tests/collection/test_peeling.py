"""Collections by peeling over TLS: respondents hand in and go, trustees evaluate, anybody may be cut off."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.collection.peeling_town import FIVE, THREE, PeelingTown, hand_in
from tests.collection.town import collecting
from tests.harness.clock import on_real_clock

from covey.errors import Aborted, AccessError, InputError, PeerError, Unmet
from covey.party.audit.folders import audit
from covey.party.collection import receipts, status
from covey.party.collection.delivering import Delivery
from covey.party.collection.eligibility import collected
from covey.party.collection.trustee import NamedTrustee
from covey.party.record.forget import forget
from covey.wire.standing import words
from covey.wire.standing.dialing import Dialer

pytestmark = pytest.mark.timeout(120)


@on_real_clock
async def test_respondents_hand_in_and_go_and_the_release_is_a_trusted_partys(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 8) as running:
        people = await hand_in(town, 8)
        staying = [asyncio.create_task(town.trustee(name).run()) for name in THREE]
        await running.task
        assert await asyncio.gather(*staying) == ["released"] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(8)
    folders = [town.out, *(tmp_path / name for name in THREE)]
    assert [sentence for each in audit(folders) for sentence in each.wrong] == []
    assert all(each.finished and each.scripted for each in audit(folders))
    signed = json.loads((town.out / "certificate.json").read_text())["A signed by"]
    assert set(signed) == {"office", *THREE}
    board, collector = town.out / "board.json", town.keys.certificate
    for each in people:
        receipt = each.home.receipt() or {}
        assert receipts.check(town.study, collector, receipt, board) is None
    assert not any(handle in board.read_text() for handle in town.handles(8))
    assert status.read(town.out)["phase"] == "finished"
    missing = json.loads(board.read_text())
    missing["lines"].pop()
    board.write_text(json.dumps(missing))
    assert receipts.check(town.study, collector, receipt, board) == "the board is not what the collector signed"


def when_told(machine: NamedTrustee, phase: str, then: Callable[[], object]) -> NamedTrustee:
    """Lets something happen, once, when that trustee's role reaches a phase."""
    done: list[bool] = []

    def say(sentence: str) -> None:
        if sentence == f"taking part: {phase}" and not done:
            done.append(True)
            then()

    machine.say = say
    return machine


@pytest.mark.few(1)
@pytest.mark.parametrize("phase", ["shuffle", pytest.param("visits", marks=pytest.mark.thorough), "release"])
@on_real_clock
async def test_a_trustee_cut_off_in_any_phase_goes_on(tmp_path: Path, phase: str) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 6) as running:
        await hand_in(town, 6)
        machine = town.trustee("patients")
        first = asyncio.create_task(machine.run())
        when_told(machine, phase, first.cancel)
        others = [asyncio.create_task(town.trustee(name).run()) for name in ("board", "university")]
        await asyncio.wait([first])
        assert first.cancelled()
        assert await town.trustee("patients").run() == "released"
        assert await asyncio.gather(*others) == ["released"] * 2
        await running.task
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)


@pytest.mark.thorough
@pytest.mark.parametrize("phase", ["shuffle", pytest.param("release", marks=pytest.mark.thorough)])
@on_real_clock
async def test_a_collector_cut_off_in_any_phase_goes_on_and_nobody_is_asked_twice(tmp_path: Path, phase: str) -> None:
    town = PeelingTown(tmp_path)
    reached = asyncio.Event()
    machine = when_told(town.trustee("board"), phase, reached.set)
    async with collecting(town, 6):
        await hand_in(town, 6)
        staying = [asyncio.create_task(machine.run())]
        staying += [asyncio.create_task(town.trustee(name).run()) for name in ("patients", "university")]
        await reached.wait()
    async with collecting(town, 6) as again:
        await again.task
        assert await asyncio.gather(*staying) == ["released"] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)
    assert again.log.count("attempt 1 begins") == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("trustees", "phase"), [(THREE, "visits"), pytest.param(FIVE, "release", marks=pytest.mark.thorough)]
)
@on_real_clock
async def test_without_a_trustee_nothing_more_is_opened_and_the_run_goes_on_when_it_is_back(
    tmp_path: Path, trustees: Sequence[str], phase: str
) -> None:
    town = PeelingTown(tmp_path, trustees=trustees)
    async with collecting(town, 6, phase_seconds=1.0) as running:
        await hand_in(town, 6)
        machine = town.trustee("patients")
        lost = asyncio.create_task(machine.run())
        when_told(machine, phase, lost.cancel)
        staying = [asyncio.create_task(town.trustee(name).run()) for name in trustees if name != "patients"]
        with pytest.raises(Aborted, match="trustee 'patients' was not connected for 1 seconds, and cannot be done"):
            await running.task
    assert not (town.out / "release.csv").exists()
    assert not any(each.done() for each in staying), "the others wait for it"
    async with collecting(town, 6) as again:
        staying.append(asyncio.create_task(town.trustee("patients").run()))
        await again.task
        assert await asyncio.gather(*staying) == ["released"] * len(trustees)
    assert (town.out / "release.csv").read_bytes() == town.ideal(6)


@pytest.mark.parametrize("what", ["copied", pytest.param("changed", marks=pytest.mark.thorough)])
@on_real_clock
async def test_copied_changed_foreign_and_second_answers_are_refused_or_left_out_by_handle(
    tmp_path: Path, what: str
) -> None:
    town = PeelingTown(tmp_path)
    tokens = town.invite(7)
    people = [town.delivery(place, token) for place, token in enumerate(tokens)]
    async with collecting(town, 7) as running:
        for each in people[:6]:
            await each.deliver()
        held = running.collection.register.held
        copied = base64.b64decode(held.answers[town.handles(1)[0]])
        with pytest.raises(PeerError, match="its receipt is not for what we sent"):
            await bent(
                people[6], lambda answer: copied if what == "copied" else answer[:-1] + bytes([answer[-1] ^ 1])
            ).deliver()
        again = town.delivery(0, tokens[0])
        assert await again.deliver() == await again.deliver()
        with pytest.raises(Unmet, match="another answer came before under this handle"):
            await bent(again, lambda answer: copied[:-1] + bytes([copied[-1] ^ 1])).deliver()
        with pytest.raises(Unmet, match="a sealed letter for each of 3 trustees"):
            await bent(again, lambda answer: b"\x90").deliver()
        staying = [asyncio.create_task(town.trustee(name).run()) for name in THREE]
        await running.task
        await asyncio.gather(*staying)
    assert (town.out / "release.csv").read_bytes() == town.ideal(6), "a copy or a changed letter is left out"
    assert town.summary()["withheld"] == 1
    ledger = (town.out / "ledger.json").read_text()
    assert "whose letters were no answer and were left out, by handle: 1 of 7 answers" in ledger


def bent(person: Delivery, how: Callable[[bytes], bytes]) -> Delivery:
    """A respondent that sends something else than its answer."""

    class Bent(Delivery):
        async def _once(self, dialer: Dialer, handle: str, content: bytes) -> words.Delivered:
            return await super()._once(dialer, handle, how(content))

    return Bent(person.study, person.hub, person.home, person.invitation)


@pytest.mark.thorough
@on_real_clock
async def test_a_late_answer_and_a_second_board_are_refused(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    tokens = town.invite(7)
    async with collecting(town, 6) as running:
        for place in range(6):
            await town.delivery(place, tokens[place]).deliver()
        await running.begun()
        with pytest.raises(AccessError, match="nobody can enrol any more"):
            await town.delivery(6, tokens[6]).deliver()
        staying = [asyncio.create_task(town.trustee(name).run()) for name in THREE]
        await running.task
        await asyncio.gather(*staying)
    shutil.rmtree(town.out)
    again = [town.delivery(place + 10, token) for place, token in enumerate(town.invite(6))]
    async with collecting(town, 6) as second:
        for each in again:
            await each.deliver()
        with pytest.raises(PeerError, match="could compare two releases"):
            await town.trustee("board").run()
        assert forget(tmp_path / "patients", unfinished=True)
        with pytest.raises(PeerError, match="could compare two releases"):
            async with asyncio.timeout(20):
                await town.trustee("patients").run()
        assert not second.task.done()


def test_a_collection_by_peeling_needs_trustees_and_an_old_study_its_method(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path, trustees=())
    with pytest.raises(InputError, match="names no trustees"):
        collected(town.path)
    text = town.path.read_text()
    town.path.write_text(text.replace("nodes = 4", "grid = 16"))
    with pytest.raises(InputError, match=r'grid is an option of another method; add method = "curve" to \[protocol\]'):
        collected(town.path)
