"""Parties whose rows lie on engines, ended by SIGKILL in the midst of a run: they go on without counting again."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyarrow import csv
from tests.consortium import RELEASE, found
from tests.faults.test_sigkill import end, start
from tests.harness.engines import as_folder, postgres_server

from covey.party.audit.folders import audit
from covey.party.record.names import COUNTS
from covey.sources.release import release_digest

pytestmark = [pytest.mark.thorough, pytest.mark.postgres]


def test_parties_that_are_killed_go_on_without_counting_again(tmp_path: Path) -> None:
    sites = found(tmp_path)
    rows = {name: csv.read_csv(site.data) for name, site in sites.items()}
    with postgres_server() as server:
        data = {
            "north": str(as_folder(rows["north"], tmp_path / "rows")),
            "south": server.store("south", rows["south"]),
            "east": str(sites["east"].data),
        }

        written = {"north": ("--format", "parquet", "--parts", "2")}

        def run(doomed: Mapping[str, int], *more: str) -> dict[str, tuple[int, str]]:
            return end(
                {
                    name: start(site, doomed.get(name, 0), *more, *written.get(name, ()), data=data[name])
                    for name, site in sites.items()
                }
            )

        first = run({"north": 14, "south": 14})
        assert first["north"][0] == first["south"][0] == -signal.SIGKILL, first
        for name, words in {"north": "the rows stay on DuckDB", "south": "the rows stay on PostgreSQL"}.items():
            assert words in first[name][1] and "is counted: " in first[name][1], first[name]
            assert (sites[name].out / COUNTS).exists()
        second = run({}, "--for-others")
    assert {code for code, _ in second.values()} == {0}, second
    for name in ("north", "south"):
        assert "has not changed and is not counted again" in second[name][1], second[name]
        assert not (sites[name].out / COUNTS).exists()
    releases = [site.out / ("release.parquet" if name in written else "release.csv") for name, site in sites.items()]
    assert {*map(release_digest, releases)} == {hashlib.sha256(RELEASE.encode()).hexdigest()}
    assert [each.wrong for each in audit([site.out for site in sites.values()])] == [(), (), ()]
