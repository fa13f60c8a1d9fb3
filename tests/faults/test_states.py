"""A run on shares keeps states, not messages: it goes on from the last one that all have, or ends for all."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.consortium import Site, found, jobs, run_together
from tests.faults.test_resume import all_finished, log, nobody_there, sessions

from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, InputError
from covey.party.audit.folders import audit
from covey.party.audit.replay import replay
from covey.party.identity import keys as keyring
from covey.party.record.forget import forget
from covey.party.record.names import JOURNAL, STATES
from covey.party.record.run_record import Agreement
from covey.party.session import handshake
from covey.party.session.approval import asking_on_terminal
from covey.party.session.run import Job
from covey.party.session.states import Place, StateJournal, agreed_state
from covey.protocols.peel import kept
from covey.protocols.protocol import LAST
from covey.summary import Summary

COMPUTING = ("a", "b", "c")


def undecided(sites: dict[str, Site]) -> dict[str, Job]:
    """Returns everyone's job; nobody is there to answer for north."""
    return jobs(sites) | {"north": replace(sites["north"].job(), decide=nobody_there)}


def released(sites: dict[str, Site]) -> set[str]:
    """Returns the releases that are in the folders."""
    return {file.read_text() for site in sites.values() if (file := site.out / "release.csv").exists()}


@pytest.fixture
def sites(tmp_path: Path) -> dict[str, Site]:
    """Returns three sites whose run was cut off before the release was approved."""
    sites = found(tmp_path, protocol="peel")
    ends = run_together(undecided(sites))
    assert all(isinstance(end, Aborted) and end.resumable for end in ends.values()), ends
    assert not released(sites)
    return sites


def refused(ends: dict[str, Summary | CoveyError], words: str) -> bool:
    """Returns True if everybody is told these words, and nobody may go on."""
    return all(isinstance(end, Aborted) and not end.resumable and words in str(end) for end in ends.values())


def test_a_run_that_was_cut_off_goes_on_behind_its_last_window_and_asks_nobody_twice(sites: dict[str, Site]) -> None:
    again = jobs(sites) | {"south": replace(sites["south"].job(), decide=asking_on_terminal())}
    assert all((site.out / JOURNAL).stat().st_size < 4096 for site in sites.values())
    ends = run_together(again)
    assert all_finished(ends), ends
    assert len(released(sites)) == 1
    assert {len(names) for names in sessions(sites).values()} == {1}
    assert all("attempt 2 behind window" in log(site) for site in sites.values())
    assert {json.loads((site.out / "ledger.json").read_text())["attempts"] for site in sites.values()} == {2}
    assert [case.wrong for case in audit([site.out for site in sites.values()])] == [(), (), ()]


def test_an_audit_finds_neighbours_that_do_not_hold_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(1 << 20))
    monkeypatch.setattr(kept, "hashes", lambda *columns: (b"%d" % next(numbers), b"%d" % next(numbers)))
    sites = found(tmp_path, protocol="peel")
    assert all_finished(run_together(jobs(sites)))
    sentences = [sentence for case in audit([site.out for site in sites.values()]) for sentence in case.wrong]
    assert sentences and all("do not hold the same of the state behind window" in sentence for sentence in sentences)


def test_shares_are_erased_at_the_end_and_what_was_signed_can_be_signed_again_however_often(
    sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all_finished(run_together(jobs(sites)))
    for name, site in sites.items():
        with closing(StateJournal.resume(site.out / JOURNAL, keyring.load(site.keys).journal)) as journal:
            (state,) = journal.states.values()
        assert state.place.number == LAST and state.ended is not None, name
    certificates = {(site.out / "certificate.json").read_bytes() for site in sites.values()}
    for name in ("release.csv", "summary.json"):
        (sites["south"].out / name).unlink()
    monkeypatch.setattr(handshake, "ATTEMPTS", 1)
    assert all_finished(run_together(jobs(sites, for_others=True)))
    assert {(site.out / "certificate.json").read_bytes() for site in sites.values()} == certificates


def test_a_party_ends_alone_what_all_had_signed(sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*parts: object, **named: object) -> None:
        raise InputError("no room")

    monkeypatch.setattr("covey.party.record.folder.RunFolder.keep", full)
    ends = run_together(jobs(sites))
    assert all(isinstance(end, Aborted) and end.resumable for end in ends.values()), ends
    monkeypatch.undo()
    assert all_finished(run_together({"south": sites["south"].job()}))
    assert not audit([sites["south"].out])[0].wrong
    assert (sites["south"].out / "classes.csv").exists()


def test_with_other_data_nothing_begins_anew_and_everybody_is_told(sites: dict[str, Site]) -> None:
    data, before = sites["south"].data, sites["south"].data.read_text()
    data.write_text(before + "P9,34,F,none\n")
    ends = run_together(jobs(sites))
    assert refused(ends, "nothing begins anew by itself"), ends
    assert "the data changed here" in str(ends["south"]) and "party 'south'" in str(ends["north"])
    assert not released(sites)
    data.write_text(before)
    assert all_finished(run_together(jobs(sites)))


def test_a_state_that_was_lost_ends_the_session_for_all(sites: dict[str, Site]) -> None:
    for name in STATES:
        (sites["south"].out / name).unlink(missing_ok=True)
    assert refused(run_together(jobs(sites)), "party 'south' has lost its state")
    assert not released(sites)


def test_a_folder_without_its_journal_ends_the_session_for_all(sites: dict[str, Site]) -> None:
    (sites["south"].out / JOURNAL).unlink()
    assert refused(run_together(jobs(sites)), "'south' cannot go on with the session")
    assert not released(sites)


def test_a_session_has_so_many_attempts_at_most(sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "ATTEMPTS", 2)
    run_together(undecided(sites))
    assert refused(run_together(jobs(sites)), "was cut off 2 times")


def test_a_damaged_state_is_named_and_nobody_is_dialled(sites: dict[str, Site]) -> None:
    state = next(sites["north"].out / name for name in STATES if (sites["north"].out / name).exists())
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content)
    (end,) = run_together({"north": sites["north"].job()}).values()
    assert isinstance(end, InputError) and f"{state}: was altered or is damaged" in str(end)


def test_what_a_run_keeps_is_sealed_and_forgotten(sites: dict[str, Site]) -> None:
    out = sites["north"].out
    assert all(name.encode() not in (out / state).read_bytes() for state in STATES for name in ("north", "flu"))
    gone = forget(out, unfinished=True)
    assert {path.name for path in gone} == {JOURNAL, *STATES}
    assert not any((out / name).exists() for name in (JOURNAL, *STATES))


def test_a_run_that_kept_states_is_not_replayed(sites: dict[str, Site]) -> None:
    with pytest.raises(InputError, match="keeps states and no messages"):
        replay(sites["north"].out, sites["north"].keys, str(sites["north"].data))


def test_no_two_attempts_draw_the_same_or_speak_under_the_same_id() -> None:
    first = Agreement(bytes(32), Secret(bytes(32)), {}, {}, {})
    others = [replace(first, attempt=attempt, nonce=bytes([nonce]) * 32) for attempt in (2, 3) for nonce in (1, 2)]
    drawn = [agreement.rng.stream("any").bytes(16) for agreement in (first, *others)]
    assert len({*drawn}) == 5
    assert len({agreement.attempt_id for agreement in others}) == 4


@pytest.mark.parametrize(
    ("places", "agreed"),
    [
        ({"a": [], "b": [], "c": []}, None),
        ({"a": [], "b": [(0, 1)], "c": []}, None),
        ({"a": [(3, 1), (4, 1)], "b": [(3, 1)], "c": [(2, 1), (3, 1)]}, (3, 1)),
        ({"a": [(3, 1), (4, 2)], "b": [(4, 1), (4, 2)], "c": [(4, 2), (5, 2)]}, (4, 2)),
        ({"a": [(7, 1), (LAST, 1)], "b": [(7, 1), (LAST, 1)], "c": [(7, 1)]}, (7, 1)),
        ({"a": [(LAST, 1)], "b": [(7, 1), (LAST, 1)], "c": [(LAST, 1)]}, (LAST, 1)),
        ({"a": [(7, 1), (LAST, 1)], "b": [(7, 1), (LAST, 1)], "c": [(7, 1), (LAST, 1)], "d": []}, (7, 1)),
    ],
)
def test_a_session_goes_on_from_the_last_state_that_all_who_compute_have(
    places: dict[str, list[tuple[int, int]]], agreed: tuple[int, int] | None
) -> None:
    have = {name: [Place(*place) for place in own] for name, own in places.items()}
    assert agreed_state(have, COMPUTING) == (None if agreed is None else Place(*agreed))


@pytest.mark.parametrize("lost", [[], [(3, 1), (4, 1)], [(8, 1), (9, 1)]])
def test_a_state_that_is_older_or_of_another_attempt_is_refused(lost: list[tuple[int, int]]) -> None:
    have = {"a": [Place(8, 2)], "b": [Place(*place) for place in lost], "c": [Place(8, 2), Place(9, 2)]}
    with pytest.raises(Aborted, match="put an older one back"):
        agreed_state(have, COMPUTING)
