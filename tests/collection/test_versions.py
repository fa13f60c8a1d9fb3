"""Respondents, trustees and pages of another version of the protocol part at the greeting, and both sides are told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.collection.callers import Caller, enrolled
from tests.collection.peeling_town import THREE, BrowserTown, PeelingTown, come
from tests.collection.test_web import PageVisitor
from tests.collection.town import Running, Town, collecting
from tests.harness.clock import on_real_clock
from tests.harness.versions import another_build

from covey.errors import AccessError, InputError
from covey.party.collection import page
from covey.party.collection.opening import Collection
from covey.protocols import peel
from covey.protocols.as_printed import collect
from covey.wire.standing import words

pytestmark = pytest.mark.timeout(90)


async def noted(running: Running, words: str) -> None:
    """Returns once the collector's log has these words."""
    async with asyncio.timeout(20):
        while words not in running.log:  # noqa: ASYNC110 - the log tells nobody
            await asyncio.sleep(0.02)


@on_real_clock
async def test_a_respondent_of_another_version_is_told_and_the_collector_too(tmp_path: Path) -> None:
    town, version = Town(tmp_path), collect.PROTOCOL.version
    with another_build(collect, version + 1):
        person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        with pytest.raises(AccessError, match=f"the collector has version {version} of protocol 'collect'") as ended:
            await person.run()
        assert "the collector is behind; install the same version of Covey everywhere" in str(ended.value)
        assert "Nothing of your answers was sent" in str(ended.value)
        held = running.collection.register.held
        assert held.enrolled and not held.ready
        await noted(running, "left at the greeting: the collector has version")


@pytest.mark.thorough
@on_real_clock
async def test_who_says_ready_with_another_version_all_the_same_is_hung_up_on(tmp_path: Path) -> None:
    town, version = Town(tmp_path), collect.PROTOCOL.version
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        await enrolled(person)
        connection, hello = await person.dialer.connect(known=True)
        caller = Caller(connection, hello)
        await connection.say(words.Ready(person.invitation.study, hello.software, version - 1))
        assert await caller.heard() is None
        assert not running.collection.register.held.ready
        await noted(running, f"has version {version - 1} of protocol 'collect', the collector has version {version}")


@pytest.mark.thorough
@on_real_clock
async def test_answers_and_trustees_of_another_version_are_refused(tmp_path: Path) -> None:
    town, version = PeelingTown(tmp_path), peel.RESPONDENTS.version
    tokens = town.invite(2)
    async with collecting(town, 6) as running:
        with another_build(peel, version + 1):
            trustee = town.trustee(THREE[0])
            with pytest.raises(AccessError, match="the collector is behind"):
                await trustee.run()
            with pytest.raises(AccessError, match="the collector is behind"):
                await town.delivery(0, tokens[0]).deliver()
        assert not running.collection.register.held.answers
        await noted(running, f"{THREE[0]} left at the greeting")
        come(town, running)
        await town.delivery(0, tokens[0]).deliver()
        assert len(running.collection.register.held.answers) == 1, "with the same version it goes on"


@pytest.mark.thorough
@on_real_clock
async def test_a_page_that_another_version_made_is_refused_before_it_enrols(tmp_path: Path) -> None:
    town, version = BrowserTown(tmp_path), peel.RESPONDENTS.version
    assert json.loads(json.dumps(page.describe(town.study)))["protocol"] == version
    assert "Covey-Protocol" in page.build(town.study).decode()
    visitor = PageVisitor(town, town.invite(1)[0])
    state = json.dumps({"invitation": "00" * 32}).encode()
    async with collecting(town, 6) as running:
        for path in ("/api/state", "/api/enrol", "/api/deliver"):
            for made in (str(version + 1), "x" * 80):
                status, answer = await visitor.post(path, state, {"Covey-Protocol": made})
                assert (status, answer["code"]) == (403, "version")
                assert "of protocol 'peel'" in answer["why"]
        assert (await visitor.post("/api/state", state, {"Covey-Protocol": str(version)}))[1] == {"state": "unknown"}
        assert not running.collection.register.held.enrolled


def test_every_language_of_the_page_says_it() -> None:
    said = json.loads((Path(page.__file__).parent / "words.json").read_text())
    assert all("title_version" in words and "page_version" in words for words in said.values())


@pytest.mark.thorough
@on_real_clock
async def test_a_collection_goes_on_with_the_version_that_began_it_alone(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    version = peel.RESPONDENTS.version
    async with collecting(town, 6) as running:
        come(town, running)
        await town.delivery(0, town.invite(1)[0]).deliver()
    began = f"this collection began with version {version} of protocol 'peel', and this is version {version + 1}"
    with another_build(peel, version + 1), pytest.raises(InputError, match=began):
        Collection.prepare(town.service(6))
    async with collecting(town, 6) as running:
        assert len(running.collection.register.held.answers) == 1
