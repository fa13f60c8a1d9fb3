"""A helper serves the studies of a folder: two holders of rows publish together with it, and with nobody else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from tests.conftest import Covey
from tests.consortium import Site, found, run_together

from covey.errors import CoveyError, InputError
from covey.party.session.helper import HelperService, serve
from covey.summary import Summary

HOLDERS, HELPER = ("north", "south"), "office"


def prepared(folder: Path) -> dict[str, Site]:
    """Two holders, and a helper in whose folder of studies the same study lies."""
    sites = found(folder, (*HOLDERS, HELPER))
    for site in sites.values():
        text = site.study.read_text().replace('protocol = "count"', 'protocol = "peel"')
        text = text.replace(f"[parties.{HELPER}]", f'[parties.{HELPER}]\nrole = "helper"')
        site.study.write_text(text.replace('column = "age"\nlevel = 1\n', ""))
    studies = sites[HELPER].folder / "studies" / "small"
    studies.mkdir(parents=True)
    shutil.copy(sites[HELPER].study, studies / "study.toml")
    return sites


def service_of(site: Site, said: list[str], *, once: bool = True) -> HelperService:
    return HelperService(site.folder / "studies", HELPER, site.keys, 20.0, once=once, notice=said.append, look=0.2)


def published(sites: dict[str, Site], serving: Callable[[], int]) -> dict[str, Summary | CoveyError]:
    """Runs the holders beside a helper that serves one study."""
    served: list[int] = []
    helper = Thread(target=lambda: served.append(serving()), daemon=True)
    helper.start()
    ends = run_together({name: sites[name].job() for name in HOLDERS})
    helper.join(20)
    assert served == [1]
    return ends


def test_a_helper_waits_for_certificates_and_serves_a_study_once(tmp_path: Path) -> None:
    sites, said = prepared(tmp_path), list[str]()
    studies, certs = sites[HELPER].folder / "studies", sites[HELPER].folder / "certs"
    other = studies / "other.toml"
    other.write_text('[study]\nname = "of nobody here"\n[privacy]\nk = 2\n[columns.age]\nrole = "quasi"\n')

    def late() -> int:
        def notice(sentence: str) -> None:
            said.append(sentence)
            if "certs" in sentence:
                shutil.copytree(certs, studies / "small" / "certs", dirs_exist_ok=True)

        return serve(replace(service_of(sites[HELPER], said), notice=notice))

    ends = published(sites, late)
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    releases = {(sites[name].out / "release.csv").read_bytes() for name in HOLDERS}
    assert len(releases) == 1
    run = studies / "runs" / "small" / "0001"
    assert (run / "ledger.json").exists() and not (run / "release.csv").exists()
    assert any("small/study.toml: waits: " in sentence and "certs" in sentence for sentence in said)
    assert any(sentence.startswith("other.toml: waits: ") for sentence in said)
    assert said[-1] == "small/study.toml: finished"


def test_a_helper_needs_no_data_and_no_folder_for_its_runs(covey: Covey, tmp_path: Path) -> None:
    site = prepared(tmp_path)[HELPER]
    studies = site.folder / "studies"
    refused = covey("run", studies, "--as", HELPER, "--keys", site.keys, "--data", site.data)
    assert refused.code == 2 and "who has no --data" in refused.err
    assert covey("run", site.study, "--as", HELPER, "--keys", site.keys).code == 2
    once = covey("run", site.study, "--as", HELPER, "--keys", site.keys, "--out", site.out, "--once")
    assert once.code == 2 and "--once is for a helper" in once.err
    with pytest.raises(InputError, match="is no folder"):
        serve(HelperService(site.study, HELPER, site.keys, 1.0))
