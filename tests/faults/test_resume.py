"""A second `covey run` goes on where the first stopped, with the same session; with anything else a new one begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.consortium import NAMES, RELEASE, Site, found, jobs, run_together

from covey.errors import Aborted, CoveyError, InputError
from covey.party.audit.folders import audit
from covey.party.session.approval import asking_on_terminal
from covey.party.session.run import Job
from covey.summary import Summary

Ends = Mapping[str, Summary | CoveyError]


async def refuse(shown: object) -> bool:
    return False


async def nobody_there(shown: object) -> bool:
    raise Aborted("nobody is there to approve", resumable=True)


def undecided(sites: Mapping[str, Site]) -> dict[str, Job]:
    """Everyone's job, where one party cannot ask anybody."""
    return jobs(sites) | {"north": replace(sites["north"].job(), decide=nobody_there)}


def sessions(sites: Mapping[str, Site]) -> dict[str, list[str]]:
    """The sessions in each party's log, in order, each once."""
    found_: dict[str, list[str]] = {}
    for name, site in sites.items():
        words = (line.split() for line in (site.out / "run.log").read_text().splitlines() if "the session" in line)
        found_[name] = list(dict.fromkeys(line[line.index("session") + 1] for line in words))
    return found_


def all_finished(ends: Ends) -> bool:
    return all(isinstance(end, Summary) for end in ends.values())


def log(site: Site) -> str:
    return (site.out / "run.log").read_text()


def test_a_run_without_approval_stops_safely_and_a_second_call_goes_on(tmp_path: Path) -> None:
    sites = found(tmp_path)
    first = run_together(undecided(sites))
    assert all(isinstance(end, Aborted) and end.resumable for end in first.values()), first
    assert not any((site.out / "release.csv").exists() for site in sites.values())
    second = run_together(jobs(sites))
    assert all_finished(second), second
    assert {len(names) for names in sessions(sites).values()} == {1}
    assert "goes on; " in log(sites["south"])
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}
    assert [each.wrong for each in audit([site.out for site in sites.values()])] == [(), (), ()]


def test_who_has_approved_is_not_asked_again(tmp_path: Path) -> None:
    sites = found(tmp_path)
    run_together(undecided(sites))
    again = jobs(sites) | {"south": replace(sites["south"].job(), decide=asking_on_terminal())}
    assert all_finished(run_together(again))


def test_a_refusal_stays_one_in_its_folder(tmp_path: Path) -> None:
    sites = found(tmp_path)
    refusing = jobs(sites) | {"north": replace(sites["north"].job(), decide=refuse)}
    for attempt in (refusing, jobs(sites)):
        ends = run_together(attempt)
        assert all(isinstance(end, Aborted) and not end.resumable for end in ends.values()), ends
    assert not any((site.out / "release.csv").exists() for site in sites.values())


def test_with_other_data_a_new_session_begins_and_says_so(tmp_path: Path) -> None:
    sites = found(tmp_path)
    run_together(undecided(sites))
    data = sites["south"].data
    data.write_text(data.read_text() + "P9,34,F,none\n")
    assert all_finished(run_together(jobs(sites)))
    assert {len(names) for names in sessions(sites).values()} == {2}
    assert "is given up, because the data changed" in log(sites["south"])
    assert "is given up, because party 'south' cannot go on with it" in log(sites["north"])
    assert '[30, 39]",7' in (sites["north"].out / "release.csv").read_text()


def test_what_a_given_up_session_taught_stays_in_the_ledger(tmp_path: Path) -> None:
    sites = found(tmp_path)
    run_together(undecided(sites))
    (sites["south"].out / "journal").unlink()
    assert all_finished(run_together(jobs(sites)))
    for site in sites.values():
        ledger = json.loads((site.out / "ledger.json").read_text())
        assert len(ledger["earlier"]) == 1
        assert any("took part" in sentence for sentence in ledger["earlier"][0]["learned"])


def test_what_a_given_up_session_taught_stays_however_often_the_next_one_is_cut_off(tmp_path: Path) -> None:
    sites = found(tmp_path, NAMES[:2])
    run_together(undecided(sites))
    (sites["south"].out / "journal").unlink()
    run_together(undecided(sites))
    assert all_finished(run_together(jobs(sites)))
    assert {len(names) for names in sessions(sites).values()} == {2}
    for site in sites.values():
        ledger = json.loads((site.out / "ledger.json").read_text())
        assert len(ledger["earlier"]) == 1
        assert ledger["earlier"][0]["session"] != ledger["session"]
        assert any("took part" in sentence for sentence in ledger["earlier"][0]["learned"])


def test_other_parties_first_begin_a_new_session_because_roles_follow_from_the_order(tmp_path: Path) -> None:
    sites = found(tmp_path, NAMES[:2])
    run_together(undecided(sites))
    for site in sites.values():
        head, *parties = site.study.read_text().split("[parties.")
        site.study.write_text("[parties.".join([head, *reversed(parties)]))
    assert all_finished(run_together(jobs(sites)))
    assert {len(names) for names in sessions(sites).values()} == {2}
    assert "is given up, because the order of parties changed" in log(sites["south"])


def test_a_resumed_session_has_nothing_earlier_in_its_ledger(tmp_path: Path) -> None:
    sites = found(tmp_path)
    run_together(undecided(sites))
    assert all_finished(run_together(jobs(sites)))
    assert not any("earlier" in (site.out / "ledger.json").read_text() for site in sites.values())


def test_a_finished_run_helps_a_peer_that_lost_its_last_files(tmp_path: Path) -> None:
    """What a party has read up to the last signature is in its journal: it ends alone, or with whoever is there."""
    sites = found(tmp_path)
    assert all_finished(run_together(jobs(sites)))
    before = {name: (site.out / "summary.json").read_bytes() for name, site in sites.items()}
    assert all_finished(run_together(jobs(sites, for_others=True)))
    assert before == {name: (site.out / "summary.json").read_bytes() for name, site in sites.items()}
    assert "only for peers that were cut off" in log(sites["north"])


def test_a_finished_folder_says_so_at_once_and_waits_for_nobody(tmp_path: Path) -> None:
    sites = found(tmp_path)
    assert all_finished(run_together(jobs(sites)))
    (end,) = run_together({"north": replace(sites["north"].job(), wait=3600.0)}).values()
    assert isinstance(end, InputError)
    assert end.exit_code == 2
    assert "this run is finished" in str(end) and "--for-others" in str(end)
    assert (sites["north"].out / "release.csv").read_text() == RELEASE


def test_a_finished_folder_is_not_given_up_for_other_data(tmp_path: Path) -> None:
    sites = found(tmp_path)
    assert all_finished(run_together(jobs(sites)))
    sites["north"].data.write_text(sites["south"].data.read_text())
    (end,) = run_together({"north": sites["north"].job()}).values()
    assert isinstance(end, InputError)
    assert "holds a finished run with another state of the data" in str(end)
    assert (sites["north"].out / "release.csv").read_text() == RELEASE


def test_a_finished_party_does_not_begin_anew_for_a_peer_without_a_journal(tmp_path: Path) -> None:
    sites = found(tmp_path)
    assert all_finished(run_together(jobs(sites)))
    for name in ("journal", "release.csv", "summary.json"):
        (sites["south"].out / name).unlink()
    ends = run_together(jobs(sites, for_others=True))
    assert not any(isinstance(end, Summary) for end in ends.values())
    assert "finished here" in str(ends["north"])
    assert (sites["north"].out / "release.csv").read_text() == RELEASE


def test_a_damaged_journal_is_named_and_nobody_is_dialled(tmp_path: Path) -> None:
    sites = found(tmp_path)
    run_together(undecided(sites))
    journal = sites["north"].out / "journal"
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 1
    journal.write_bytes(content)
    (end,) = run_together({"north": sites["north"].job()}).values()
    assert isinstance(end, InputError)
    assert "journal: was altered or is damaged" in str(end)


def test_an_ended_run_leaves_a_signed_transcript_of_how_far_it_went(tmp_path: Path) -> None:
    sites = found(tmp_path)
    run_together(undecided(sites))
    audited = audit([site.out for site in sites.values()])
    assert [each.wrong for each in audited] == [(), (), ()]
    assert not any(each.finished for each in audited)
    assert all(each.messages > 0 for each in audited)
