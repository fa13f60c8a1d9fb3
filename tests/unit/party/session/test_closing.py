"""The closing: parties that saw different runs, or computed different releases, find out before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.harness.cases import CASES
from tests.harness.harness import End, run
from tests.harness.trial import Trial

from covey.errors import CoveyError, PeerError
from covey.party.record.run_certificate import RunCertificate, check, statement_b, to_sign
from covey.protocols import Figures, Result, Seat, count
from covey.wire import MemoryNetwork
from covey.wire.frame import FRAME_BYTES, SALT_BYTES, SEQUENCE_BYTES, read, split

TRIAL = CASES["count"].draw(1)


def with_result(change: Callable[[Result], Result]) -> Trial:
    """North computes something else than the others."""

    async def other(seat: Seat) -> Result:
        result = await count.holder(seat)
        return change(result) if seat.party == "north" else result

    protocol = replace(count.PROTOCOL, roles={"holder": other})
    return replace(TRIAL, protocol=protocol)


def complaints(ends: dict[str, End]) -> dict[str, CoveyError | None]:
    assert not any(end.finished for end in ends.values())
    return {name: end.error for name, end in ends.items()}


def test_another_release_is_noticed_by_everyone_before_it_is_written() -> None:
    def longer(result: Result) -> Result:
        assert result.release is not None
        extra = pa.table({name: ["x"] for name in result.release.column_names})
        return replace(result, release=pa.concat_tables([result.release, extra]))

    found = complaints(run(with_result(longer)))
    assert any(isinstance(error, PeerError) and error.party == "north" for error in found.values())
    assert "another release" in str(found["south"])


def test_other_figures_of_the_same_release_are_not_signed() -> None:
    def better(result: Result) -> Result:
        assert isinstance(result.figures, Figures)
        return replace(result, figures=replace(result.figures, loss={"lm": 0.0}))

    found = complaints(run(with_result(better)))
    assert "did not sign the certificate" in str(found["south"])


class Meddler(MemoryNetwork):
    """Changes the random bytes of one message, which no role looks at."""

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        letter = read(split(frame)[1])
        if (sender, recipient, letter.header.tag) == ("north", "south", "sum.masked"):
            place = SEQUENCE_BYTES + len(letter.raw) - len(letter.payload) - SALT_BYTES
            frame = frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]
        await super().carry(sender, recipient, frame)


def test_a_message_that_is_not_what_was_sent_is_noticed_though_its_content_is_the_same() -> None:
    assert FRAME_BYTES > SALT_BYTES
    found = complaints(run(TRIAL, network=Meddler(TRIAL.names)))
    assert any("something else than we" in str(error) for error in found.values())


@pytest.fixture(scope="module")
def certified() -> RunCertificate:
    ends = run(TRIAL)
    closed = [end.finished.record.closed for end in ends.values() if end.finished is not None]
    assert all(each is not None and each.certificate == closed[0].certificate for each in closed if closed[0])
    assert closed[0] is not None
    return closed[0].certificate


def checked(certified: RunCertificate) -> list[str]:
    certificates = {name: keys.certificate for name, keys in TRIAL.keys.items()}
    return check(certified, TRIAL.certified, certificates, dict.fromkeys(TRIAL.names, True))


def test_all_parties_hold_the_same_certificate_and_it_holds(certified: RunCertificate) -> None:
    assert checked(certified) == []
    assert set(certified.a_signatures) == set(certified.b_signatures) == set(TRIAL.names)


def test_every_change_of_a_certificate_is_named(certified: RunCertificate) -> None:
    assert certified.b is not None
    north = TRIAL.keys["north"]
    forgeries = {
        "of another study": replace(certified, a={**certified.a, "study_hash": "00"}),
        "of a run among other": replace(certified, a={**certified.a, "roster_hash": "00"}),
        "another protocol": replace(certified, a={**certified.a, "protocol": "sum"}),
        "party 'east' has not signed this statement A": replace(certified, a={**certified.a, "version": "9"}),
        "not signed by party 'south'": replace(certified, a_signatures=_without(certified.a_signatures, "south")),
        "whose it is not to sign": replace(certified, b_signatures={**certified.b_signatures, "west": b"x" * 64}),
        "party 'south' has not signed this statement B": replace(
            certified,
            b={**certified.b, "k_reached": 99},
            b_signatures={**certified.b_signatures, "north": north.sign(to_sign({**certified.b, "k_reached": 99}))},
        ),
        "belongs to another statement A": replace(certified, b={**certified.b, "A_sha256": "00"}),
        "another k": replace(certified, b={**certified.b, "k": 2}),
    }
    for sentence, forged in forgeries.items():
        assert any(sentence in each for each in checked(forged)), sentence


def test_a_party_without_the_release_signs_and_writes_a_alone() -> None:
    trial = CASES["sum"].draw(1)
    closed = [end.finished.record.closed for end in run(trial).values() if end.finished is not None]
    assert len(closed) == len(trial.names)
    for each in closed:
        assert each is not None
        assert each.certificate.b is None
        assert set(each.certificate.a_signatures) == set(trial.names)


def test_statement_b_rounds_losses_so_that_two_machines_agree() -> None:
    figures = [Figures(rows=3, classes=1, k_reached=3, loss={"lm": loss}) for loss in (0.1 + 0.2, 0.3)]
    statements = [statement_b(TRIAL.study, {}, b"r" * 32, each) for each in figures]
    assert statements[0] == statements[1]


def _without(signatures: dict[str, bytes], name: str) -> dict[str, bytes]:
    return {party: signature for party, signature in signatures.items() if party != name}
