"""The walks of docs/architecture.md are true: a traced run enters the files of each walk, in its order."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.collection.town import Town, everyone
from tests.consortium import found
from tests.walks import entered

from covey import samples
from covey.cli import main
from covey.party.collection import collecting
from covey.party.collection.opening import Collection
from covey.party.session.run import run_party

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
MOST = 16
LAST = "sources/release.py"
"""Here a row becomes a row of the release."""


def walk(heading: str) -> list[str]:
    """The files that the page lists below that heading, in its order."""
    section = PAGE.read_text().split(f"### {heading}\n")[1].split("\n#")[0]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE)


def call(*arguments: object) -> Callable[[], None]:
    def work() -> None:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        assert not ended.value.code

    return work


def anonymize(folder: Path) -> list[str]:
    sample = samples.copy("clinic", folder / "sample")
    rows = (sample / "clinic.csv").read_text().splitlines(keepends=True)[:60]
    (sample / "few.csv").write_text("".join(rows))
    study = (sample / "study.toml").read_text()
    for role in ("plain", "sensitive"):  # of few rows some have a value of their own
        study = study.replace(f'role = "{role}"', f'singles_out = "made up"\nrole = "{role}"')
    (sample / "study.toml").write_text(study)
    return entered(call("anonymize", sample / "study.toml", "--data", sample / "few.csv", "--out", folder / "out"))


def run(folder: Path) -> list[str]:
    sites = found(folder)
    for site in sites.values():
        text = site.study.read_text().replace('protocol = "count"', 'protocol = "peel"')
        site.study.write_text(text.replace('column = "age"\nlevel = 1\n', ""))
    north = sites["north"]
    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(run_party, sites[name].job()) for name in ("south", "east")]
        options = ("--data", north.data, "--keys", north.keys, "--out", north.out, "--approve", "--wait", 1)
        files = entered(call("run", north.study, "--as", "north", *options))
        for other in others:
            other.result()
    return files


def collect(folder: Path) -> list[str]:
    """A respondent's side, then the collector's: each on a thread of its own, so that their order is their own."""
    town = Town(folder)
    people = [town.person(place, token) for place, token in enumerate(town.invite(8))]
    collection = Collection.prepare(town.service(8))

    async def others() -> None:
        for ended in await everyone(people[1:]):
            assert not isinstance(ended, BaseException), ended

    with ThreadPoolExecutor(3) as pool:
        collector = pool.submit(entered, lambda: asyncio.run(collecting.collect(collection)))
        crowd = pool.submit(asyncio.run, others())
        respondent = pool.submit(entered, lambda: asyncio.run(people[0].run()))
        crowd.result()
        files = respondent.result()
        return list(dict.fromkeys([*files, *collector.result()]))


WALKS = {"`covey anonymize`": anonymize, "`covey run` with `peel`": run, "`covey collect`": collect}


@pytest.mark.parametrize("heading", WALKS)
def test_a_walk_is_short(heading: str) -> None:
    assert 5 < len(walk(heading)) <= MOST


@pytest.mark.few(1)
@pytest.mark.parametrize("heading", WALKS)
def test_a_run_goes_the_way_of_its_walk(heading: str, tmp_path: Path) -> None:
    files, listed = WALKS[heading](tmp_path), walk(heading)
    files = files[: files.index(LAST) + 1]
    passed = [file for file in files if file in listed]
    if heading == "`covey collect`":  # who is drawn as a trustee meets the committee's files earlier
        passed.sort(key=listed.index)
    assert passed == listed
