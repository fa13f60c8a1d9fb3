"""Row counts that everyone states and signs: shown before the approval, certified, and no lie goes unnoticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.consortium import NAMES, ROWS, Site, found, jobs, run_together
from tests.harness.cluster_cases import same_choices
from tests.harness.hospitals import SITES, draw_people, frame_of, stream_of, study_of

import covey
from covey.party.audit.folders import audit
from covey.party.plan import make_plan
from covey.party.record.ledger import Ledger
from covey.party.session.approval import ApprovalQuestion
from covey.protocols import Figures, Proposal, of_study
from covey.secure import row_counts
from covey.secure.declare import Leakage
from covey.summary import Summary
from covey.wire import Channel, Message

PUBLIC = 'sizes = "public"'
COUNTS = {name: len(ROWS[name]) for name in NAMES}
pytestmark = pytest.mark.xdist_group("stated rows")


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[dict[str, Site]]:
    made = found(tmp_path, NAMES, k=2)
    for site in made.values():
        text = site.study.read_text().replace('protocol = "count"', 'protocol = "peel"')
        text = text.replace('[protocol]\ncolumn = "age"\nlevel = 1\n', "")
        site.study.write_text(text.replace("[study]\n", f"[study]\n{PUBLIC}\n"))
    yield made


def wrong(sites: dict[str, Site]) -> list[str]:
    return [sentence for each in audit([site.out for site in sites.values()]) for sentence in each.wrong]


@pytest.mark.thorough
def test_stated_rows_are_shown_signed_and_certified(sites: dict[str, Site]) -> None:
    screens: list[str] = []

    async def read(question: ApprovalQuestion) -> bool:
        screens.append(" ".join(question.screen(80).split()))
        return True

    ends = run_together(jobs(sites, decide=read))
    for name, end in ends.items():
        assert isinstance(end, Summary), end
        assert end.row_counts == COUNTS
        assert any("north 4, south 5 and east 3" in sentence for sentence in end.ledger)
        signed = json.loads((sites[name].out / "certificate.json").read_text())["A"]
        assert signed["rows"] == COUNTS
        assert "rows, as each signed" in (sites[name].out / "report.html").read_text()
    assert all("north 4 (33%), south 5 (42%) and east 3 (25%), as each party stated" in shown for shown in screens)
    assert wrong(sites) == []
    summary = sites["east"].out / "summary.json"
    summary.write_text(summary.read_text().replace('"north": 4', '"north": 9'))
    assert any("summary.json" in sentence for sentence in wrong(sites))


def test_who_states_other_numbers_to_other_parties_is_found_before_anything_opens(
    sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Channel.send

    async def two_faced(self: Channel, peer: str, message: Message) -> None:
        if isinstance(message, row_counts.StatedRows) and (self.me, peer) in (("south", "north"), ("east", "north")):
            message = row_counts.StatedRows(message.rows + (1 if self.me == "south" else -1))  # the sum is as before
        await honest(self, peer, message)

    monkeypatch.setattr(Channel, "send", two_faced)
    ends = run_together(jobs(sites))
    assert "asked about other figures" in str(ends["north"])
    assert not any(isinstance(end, Summary) for end in ends.values())
    assert not any((site.out / "release.csv").exists() for site in sites.values())


def test_who_enters_more_rows_than_it_states_is_noticed_before_anything_opens(
    sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """South brings five rows, and would have the others believe that they are two."""
    honest = row_counts.state

    async def small(channel: Channel, holders: tuple[str, ...], mine: int) -> dict[str, int]:
        return await honest(channel, holders, 2 if channel.me == "south" else mine)

    monkeypatch.setattr(row_counts, "state", small)
    ends = run_together(jobs(sites))
    for name in ("north", "east"):
        assert "stated 9 rows in all, and 12 were counted jointly" in str(ends[name])
    assert not any((site.out / "release.csv").exists() for site in sites.values())


def test_a_party_beside_which_the_others_have_fewer_than_k_rows_is_warned_of() -> None:
    study = study_of("peel", k=5, head=PUBLIC)
    ledger = Ledger(study, of_study(study), "east")
    figures = Figures(rows=100, classes=9, k_reached=5)
    stated = {"east": 96, "north": 2, "south": 2}
    question = ApprovalQuestion.of(study, Proposal(Leakage(), figures=figures), ledger, stated)
    shown = " ".join(question.screen(80).split())
    assert "WARNING: party east has 96 of the 100 rows, so that all others have fewer than k = 5" in shown
    assert "row counts east 96 (96%), north 2 (2%) and south 2 (2%)" in shown
    assert question.digest != replace(question, stated={**stated, "east": 95, "north": 3}).digest
    assert question.digest != replace(question, stated={}).digest == question.proposal.digest
    assert not row_counts.warnings({"east": 90, "north": 5, "south": 5}, 5)
    assert any("party east has 96" in sentence for sentence in make_plan(study, stated, 0.0, 1e9).forecast.mind)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("protocol", "names", "messages"), [("cluster", SITES, 6), ("count", SITES, 6), ("suppress", SITES[1:], 4)]
)
def test_the_plan_says_that_rows_are_stated_and_what_that_costs(
    protocol: str, names: tuple[str, ...], messages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_choices(monkeypatch)  # the first labels of `cluster` are random
    people = draw_people(stream_of(5, "stated"), names, 8, 12)
    tables = {name: frame_of(own) for name, own in people.items()}
    rows = {name: len(own) for name, own in people.items()}
    options = 'compare = "bins"' if protocol == "suppress" else ""
    costs, spent = [], []
    for head in ("", PUBLIC):
        study = study_of(protocol, names, head=head, options=options)
        plan, run = make_plan(study, rows, 0.0, 1e9), covey.simulate(study, tables, seed=1).summary
        costs.append((plan.forecast.rounds, plan.forecast.messages, plan.forecast.bytes))
        spent.append((int(str(run["rounds"])), int(str(run["messages"])), int(str(run["bytes"]))))
        assert any("each states before the search" in each for each in plan.learns["south"]) == bool(head)
        assert ("row_counts" in run) == bool(head)
    added, took = ([after - before for before, after in zip(*pair, strict=True)] for pair in (costs, spent))
    assert added[:2] == took[:2] == [1, messages]  # an authority hears it too
    assert abs(added[2] - took[2]) < 0.05 * took[2]
