"""Collections over TLS on one machine: people come, go and come back, the collector is cut off, and k is kept."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.collection.town import Running, Town, at_phase, collecting, everyone
from tests.harness.clock import on_real_clock
from tests.harness.tiers import few_first

from covey.cli import main
from covey.errors import InputError, Unmet
from covey.party.audit.folders import audit
from covey.party.audit.replay import replay
from covey.party.collection import status
from covey.party.collection.responding import Respondent, respond

PHASES = ("keys", "index", "positions", "classes", "release")
pytestmark = pytest.mark.timeout(90)


@pytest.mark.thorough
@on_real_clock
async def test_a_collection_leaves_what_every_run_leaves(tmp_path: Path) -> None:
    town = Town(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(6))]
    async with collecting(town, 6) as running:
        assert set(await everyone(people)) == {"released"}
        await running.task
    assert town.judged() == 6
    names = {path.name for path in town.out.iterdir()}
    assert names >= {
        "release.csv",
        "summary.json",
        "ledger.json",
        "transcript.jsonl",
        "certificate.json",
        "report.html",
    }
    assert not [sentence for each in audit([town.out]) for sentence in each.wrong]
    found = status.read(town.out)
    assert found["phase"] == "finished" and found["enrolled"] == 6 and not found["running"]
    everything = b"".join(path.read_bytes() for path in town.out.iterdir() if path.name != "journal")
    assert all(handle.encode() in everything for handle in town.handles(6))  # by handle, and by nothing else
    assert b"respondent-" not in (town.out / "transcript.jsonl").read_bytes()


@pytest.mark.parametrize("phase", few_first(PHASES))
@on_real_clock
async def test_a_respondent_cut_off_in_any_phase_comes_back_and_goes_on(tmp_path: Path, phase: str) -> None:
    town = Town(tmp_path)
    tokens = town.invite(5)
    people = [town.person(place, token) for place, token in enumerate(tokens)]
    async with collecting(town, 5) as running:
        first = asyncio.create_task(people[0].run())
        at_phase(people[0], phase, first.cancel)
        others = asyncio.create_task(everyone(people[1:]))
        await asyncio.wait([first])
        assert first.cancelled()
        again = town.person(0, tokens[0])
        assert await again.run() == "released"
        assert set(await others) == {"released"}
        await running.task
    assert town.judged() == 5 and town.summary()["withheld"] == 0
    assert running.log.count("attempt") == 1, "nobody was asked to begin anew"


@pytest.mark.few(1)
@pytest.mark.parametrize("phase", ("enrolment", *PHASES))
@on_real_clock
async def test_a_collector_cut_off_in_any_phase_goes_on_and_asks_nobody_twice(tmp_path: Path, phase: str) -> None:
    town = Town(tmp_path)
    tokens = town.invite(5)
    people = [town.person(place, token) for place, token in enumerate(tokens)]
    reached = asyncio.Event()
    if phase != "enrolment":
        at_phase(people[0], phase, reached.set)
    staying = asyncio.create_task(everyone(people if phase != "enrolment" else people[:3]))
    async with collecting(town, 5) as running:
        if phase == "enrolment":
            held = running.collection.register.held
            while len(held.ready) < 3:  # noqa: ASYNC110 - the register tells nobody
                await asyncio.sleep(0.02)
        else:
            await reached.wait()
    assert not (town.out / "release.csv").exists() or phase == "release"
    later = asyncio.create_task(everyone(people[3:])) if phase == "enrolment" else staying
    if not (town.out / "release.csv").exists():
        async with collecting(town, 5) as running:
            held = running.collection.register.held
            assert len(held.enrolled) == (3 if phase == "enrolment" else 5)
            await running.task
    assert set(await staying) | set(await later) == {"released"}
    assert town.judged() == 5 and town.summary()["withheld"] == 0
    lines = [json.loads(line)["line"] for line in (town.out / "collection.jsonl").read_text().splitlines()]
    assert lines.count("enrolled") == lines.count("ready") == 5 and lines.count("started") == 1
    assert not [sentence for each in audit([town.out]) for sentence in each.wrong]


@pytest.mark.thorough
@pytest.mark.parametrize("phase", few_first(PHASES[::-1]))
@on_real_clock
async def test_who_vanishes_in_any_phase_is_left_out_after_the_deadline(tmp_path: Path, phase: str) -> None:
    town = Town(tmp_path, k=3)
    people = [town.person(place, token) for place, token in enumerate(town.invite(9))]
    async with collecting(town, 9, phase_seconds=4.0) as running:
        gone = asyncio.create_task(people[0].run())
        at_phase(people[0], phase, gone.cancel)
        others = await everyone(people[1:])
        await running.task
    released = [how for how in others if how == "released"]
    assert town.judged() == len(released) >= 3
    handle = town.handles(1)[0]
    if phase in ("keys", "index"):
        assert len(released) == 8
    if len(released) < 9 and phase != "release":
        assert handle in json.dumps(town.summary()) or handle in running.log
    assert int(str(town.summary()["k_reached"])) >= 3


def attempts(running: Running) -> int:
    started = running.collection.register.held.started
    return 0 if started is None else started.attempt


@pytest.mark.thorough
@on_real_clock
async def test_who_comes_back_too_late_is_told_that_it_was_left_out(tmp_path: Path) -> None:
    town = Town(tmp_path)
    tokens = town.invite(6)
    people = [town.person(place, token) for place, token in enumerate(tokens)]
    late, again = people[0], asyncio.Event()
    async with collecting(town, 6, phase_seconds=3.0) as running:
        gone = asyncio.create_task(late.run())
        at_phase(late, "index", gone.cancel)
        people[1].say = lambda sentence: again.set() if attempts(running) == 2 else None
        others = asyncio.create_task(everyone(people[1:]))
        await again.wait()  # in the second attempt: the first was given up
        with pytest.raises(Unmet, match="left out"):
            await town.person(0, tokens[0]).run()
        assert set(await others) == {"released"}
        await running.task
    assert town.judged() == 5 and "attempt 2 begins among 5" in running.log


@pytest.mark.thorough
@on_real_clock
async def test_a_collector_shows_by_replay_that_it_kept_to_the_protocol(tmp_path: Path) -> None:
    town = Town(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(7))]
    async with collecting(town, 7, phase_seconds=4.0) as running:
        gone = asyncio.create_task(people[0].run())
        at_phase(people[0], "positions", gone.cancel)
        await everyone(people[1:])
        await running.task
    assert await asyncio.to_thread(replay, town.out, tmp_path / "keys") == []
    transcript = town.out / "transcript.jsonl"
    assert transcript.read_text().count("collect.company") >= 6


@pytest.mark.thorough
@on_real_clock
async def test_too_few_who_stay_end_the_collection_for_good_and_release_nothing(tmp_path: Path) -> None:
    town = Town(tmp_path, k=4)
    people = [town.person(place, token) for place, token in enumerate(town.invite(5))]
    async with collecting(town, 5, phase_seconds=3.0) as running:
        tasks = [asyncio.create_task(person.run()) for person in people]
        for person, task in list(zip(people, tasks, strict=True))[:2]:
            at_phase(person, "index", task.cancel)
        with pytest.raises(Unmet, match="nothing"):
            await running.task
        rest = await asyncio.gather(*tasks[2:], return_exceptions=True)
    assert all(isinstance(end, Unmet) for end in rest)
    assert not (town.out / "release.csv").exists() and (town.out / "ledger.json").exists()
    assert status.read(town.out)["phase"] == "ended"
    with pytest.raises(InputError, match="ended"):
        async with collecting(town, 5):
            pass


def test_a_finished_respondent_says_so_and_its_journal_is_erased(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import threading

    town = Town(tmp_path)
    tokens = town.invite(3)

    async def office() -> None:
        async with collecting(town, 3) as running:
            await running.task

    thread = threading.Thread(target=lambda: asyncio.run(office()))
    thread.start()
    people = [town.person(place, token) for place, token in enumerate(tokens)]
    ends: dict[int, str] = {}

    def take_part(place: int, person: Respondent) -> None:
        ends[place] = respond(person)

    threads = [threading.Thread(target=take_part, args=pair) for pair in enumerate(people)]
    for each in threads:
        each.start()
    for each in (*threads, thread):
        each.join(60)
    assert set(ends.values()) == {"released"}
    assert not (town.home(0) / "journal").exists()
    main_arguments = ["collect", "respond", str(town.path), "--invite", tokens[0], "--folder", str(town.home(0))]
    with pytest.raises(SystemExit) as ended:
        main(main_arguments)
    assert ended.value.code == 0 and "already" in capsys.readouterr().out


@on_real_clock
async def test_a_quorum_that_is_not_reached_at_the_closing_time_ends_it(tmp_path: Path) -> None:
    from dataclasses import replace

    from covey.party.collection.collecting import collect
    from covey.party.collection.opening import Collection

    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    service = replace(town.service(3), closes=1)
    collection = Collection.prepare(service)
    with pytest.raises(Unmet, match="at the closing time"):
        await collect(collection)
    assert person is not None
    collection.register.close()
