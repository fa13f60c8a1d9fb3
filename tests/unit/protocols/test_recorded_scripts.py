"""Recorded scripts: an honest run fits its protocol's, and what these options do not say is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest
from tests.harness.cases import CASES
from tests.harness.harness import lines, run
from tests.harness.trial import Trial
from tests.record_scripts import FINGERPRINTED, VERSIONS, described, fingerprint, folder_of, missing, unraised

from covey.party.audit.script import strays
from covey.party.record.transcript import Entry as Message
from covey.protocols import all_protocols
from covey.protocols.shared.script import FILE, load, settings

SAMPLE = FINGERPRINTED[:6]
OTHERS = ("cluster-columns", "peel-columns", "collect", "peel")
FOLDERS = (
    "as_printed/cluster_rows", "as_printed/federate", "as_printed/generalize", "as_printed/suppress",
)  # fmt: skip
FOREIGN = {
    "cluster": ("cluster/start/close/present", "ancestor.present"),
    "cluster of two": ("cluster/bits/test/1", "reach.part"),
    "federate": ("federate/divide/root/k", "window.has"),
    "federate of several": ("federate/divide/root/signs", "compare.digits"),
    "generalize": ("round/1/done", "generalize.done"),
    "suppress by elgamal": ("issue", "suppress.issued"),
}
"""A message of each protocol that other options have, and this case's do not."""


@cache
def smallest(name: str) -> Trial:
    return CASES[name].smallest()


@pytest.fixture(scope="module", params=SAMPLE)
def played(request: pytest.FixtureRequest) -> tuple[str, list[Message]]:
    return request.param, lines(run(smallest(request.param)))


def odd(name: str, messages: list[Message]) -> str:
    trial = smallest(name)
    return "\n".join(strays(trial.study, trial.protocol, messages, finished=True))


@pytest.mark.few(3)
def test_an_honest_run_fits_its_script(played: tuple[str, list[Message]]) -> None:
    assert odd(*played) == ""


@pytest.mark.few(3)
def test_messages_change_only_together_with_the_version(played: tuple[str, list[Message]]) -> None:
    name, said = played
    assert unraised(smallest(name).protocol, {name: fingerprint(said)}) == ""


@pytest.mark.parametrize("name", ["count", *(pytest.param(each, marks=pytest.mark.thorough) for each in OTHERS)])
def test_so_do_those_of_protocols_without_a_recorded_script(name: str) -> None:
    trial = smallest(name)
    assert unraised(trial.protocol, {name: fingerprint(lines(run(trial)))}) == ""


def test_defaults_change_only_together_with_the_version_and_every_version_is_written_down() -> None:
    written = json.loads(VERSIONS.read_text())
    for protocol in all_protocols():
        own = written[folder_of(protocol)]
        assert own["messages"]
        due = described(protocol, {})
        known = {name: own["defaults"].get(name) for name in due["defaults"]}  # type: ignore[attr-defined]
        assert {**own, "messages": {}, "defaults": known} == due, unraised(protocol, {}) or (
            f"write the version down: python -m tests.record_scripts {folder_of(protocol)}"
        )


def test_a_default_or_a_message_that_changes_under_the_same_version_is_named() -> None:
    peel = next(each for each in all_protocols() if folder_of(each) == "peel")
    options = tuple(
        replace(option, default="reference") if option.name == "frequencies" else option
        for option in peel.requirements.options
    )
    changed = replace(peel, requirements=replace(peel.requirements, options=options))
    assert "peel: frequencies changed under version" in unraised(changed, {})
    assert "peel changed under version" in unraised(peel, {"peel": fingerprint([])})
    assert unraised(replace(changed, version=peel.version + 1), {"peel": fingerprint([])}) == ""


@pytest.mark.few(3)
def test_what_does_not_belong_to_the_run_is_refused(played: tuple[str, list[Message]]) -> None:
    name, said = played
    vote = next(message for message in said if message.tag == "approval.vote")
    step, tag = FOREIGN[name]
    assert "declares no 'sum.foreign' there" in odd(name, [*said, replace(vote, tag="sum.foreign", number=1)])
    assert "declares no 'approval.vote' there" in odd(name, [*said, replace(vote, step="elsewhere")])
    assert "2 messages 'approval.vote'" in odd(name, [*said, replace(vote, number=1)])
    assert f"declares no '{tag}' there" in odd(name, [*said, replace(vote, step=step, tag=tag)])


def test_the_recorder_finds_nothing_new_in_a_run_that_was_recorded() -> None:
    assert missing([smallest("suppress by elgamal")]) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_lines_need_only_settings_that_a_study_may_have(folder: str) -> None:
    package = f"covey.protocols.{folder.replace('/', '.')}"
    (protocol,) = (each for each in all_protocols() if f"{each.ideal.__module__}.".startswith(f"{package}."))
    known = {option.name for option in protocol.requirements.options} | {"mismatch"}
    plain = {"two parties", "three parties or more", "recipient", "no recipient", *protocol.requirements.privacy}
    plain |= {"two holders", "three holders or more"}
    plain |= {"evaluate"} if protocol.requirements.evaluates else set()
    for line in load(package):
        for need in line.needs:
            assert need in plain or need.partition("=")[0] in known, f"{FILE}: {line}"


def test_the_settings_of_a_study_include_the_defaults_of_its_options() -> None:
    assert {"calls=turn", "two parties"} <= settings(smallest("cluster of two").study)
