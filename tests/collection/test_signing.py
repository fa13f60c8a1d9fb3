"""Trustees sign the run that they saw, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.collection.town import record_of
from tests.harness.peel_survey_cases import TRUSTEES, study_of

from covey.errors import CoveyError
from covey.party.record import run_certificate
from covey.party.record.run_certificate import Statement
from covey.party.record.transcript import Head, Pair
from covey.party.session import trustees as closing
from covey.party.session.trustees import CollectorClosing
from covey.party.simulate.respondents import simulate
from covey.wire import Channel

PEOPLE = [record_of(place) for place in range(6)]
CELLS = {name: [person[name] for person in PEOPLE] for name in PEOPLE[0]}
ROWS = pa.table({"name": [str(place) for place in range(6)], **CELLS})


def test_a_collector_that_shows_another_run_gets_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    true = CollectorClosing.seals

    async def seals(
        self: CollectorClosing,
        channel: Channel,
        a: Statement,
        heads: Mapping[Pair, Head],
        signatures: Mapping[Pair, bytes],
    ) -> dict[str, bytes]:
        pair = (TRUSTEES[0], channel.me)
        other = {**heads, pair: replace(heads[pair], digest=bytes(32))}
        return await true(self, channel, a, other, signatures)

    monkeypatch.setattr(CollectorClosing, "seals", seals)
    with pytest.raises(CoveyError, match="'office' broke the protocol at farewell: it saw another run"):
        simulate(study_of(0), ROWS, seed=1)


def test_a_trustee_that_signs_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    true = run_certificate.statement_a
    monkeypatch.setattr(closing, "statement_a", lambda *given: {**true(*given), "version": "another"})
    with pytest.raises(CoveyError, match=f"party '{TRUSTEES[0]}' broke the protocol at seal: it did not sign"):
        simulate(study_of(0), ROWS, seed=1)
