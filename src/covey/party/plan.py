"""The plan of a run: its cost and what it teaches, from the protocol's declaration and the parties' numbers of rows.

Disk and memory are those of one party, about: the journal, with as much of what is read as it may keep, or the two
states, the transcript and the release; and a process with the libraries, its table, and what a protocol holds for all
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from covey.party import released
from covey.plain import Shown
from covey.protocols import Forecast, Protocol, of_study
from covey.protocols.shared.columns import recognition
from covey.secure import row_counts
from covey.study import Study, insiders
from covey.table import Table
from covey.wire.frame import SIGNED

_HANDSHAKE_ROUNDS = 9
"""TCP, TLS, the greeting, hello, nonce, confirm, keys; the farewell and the seal."""

LINES = {
    "0 ms, 1 Gbit/s": (0.0, 125e6),
    "10 ms, 100 Mbit/s": (0.01, 12.5e6),
    "30 ms, 20 Mbit/s": (0.03, 2.5e6),
}
"""Kinds of lines between parties: latency in seconds, bytes a second."""
NEAR, FAR = 1.5, 4.0
"""A run takes so many times its plan at most, or at least that part: with rows of one's own, and without."""

BEARABLE_SECONDS = 30.0
"""No choice that takes less is too slow."""

JOURNAL_BYTES, TRANSCRIPT_BYTES = 120, 360
"""Bytes of a message's hash in the journal, and of its line in the transcript."""
STATE_BYTES, LINES_OF_STATES = 150, 2000
"""Bytes of a row in a state, and lines that states and the first messages take in the transcript."""
RELEASE_BYTES = 400
"""Bytes of a row in the release and in the report."""


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """A forecast, and the time that it stands for on a given network."""

    study: Study
    protocol: Protocol
    rows: Mapping[str, int]
    forecast: Forecast
    seconds: float
    looked: bool = False
    """True if a party's own rows were looked at."""
    choices: Mapping[str, float] = field(default_factory=dict)
    """Seconds under other options, what teaches least first."""

    @property
    def within(self) -> float | None:
        """The factor by which rounds and bytes may be more or less; None where the data do not decide on them."""
        return None if self.protocol.rehearse is None else NEAR if self.looked else FAR

    @property
    def lines(self) -> dict[str, tuple[float, str]]:
        """On three kinds of lines: seconds, and what takes most of them."""
        parties = max(1, len(self.study.parties))
        return {name: _seconds(self.forecast, parties, *line) for name, line in LINES.items()}

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "study", repr(self.study.name)
        yield "protocol", self.protocol.name
        yield "rounds", f"{self.forecast.rounds:,}"
        yield "traffic", f"{self.forecast.bytes:,} bytes"
        yield "time", f"about {self.seconds:.1f} s"

    @property
    def read(self) -> int:
        """Bytes that one party reads, about."""
        return self.forecast.bytes // max(1, len(self.study.parties))

    def disk(self, journal: int) -> int:
        """Bytes that one party needs on its disk, if its journal keeps so much of what it reads."""
        messages = 2 * self.forecast.messages // max(1, len(self.study.parties))
        if not self.keeps_messages:
            states = LINES_OF_STATES * TRANSCRIPT_BYTES + 2 * STATE_BYTES * sum(self.rows.values())
            return states + TRANSCRIPT_BYTES * messages // SIGNED + RELEASE_BYTES * sum(self.rows.values())
        files = (JOURNAL_BYTES + TRANSCRIPT_BYTES) * messages + RELEASE_BYTES * sum(self.rows.values())
        return min(self.read, journal) + files

    @property
    def keeps_messages(self) -> bool:
        """False where a run keeps states, whatever its journal may keep."""
        return self.protocol.computing is None

    @property
    def memory(self) -> int:
        """Bytes of memory that one party needs, about."""
        split = self.study.partition == "vertical"  # then all have the same people
        return memory_of(self.protocol, max(self.rows.values(), default=0) if split else sum(self.rows.values()))

    @property
    def learns(self) -> dict[str, list[str]]:
        """Sentences on what each party will learn; a collector stands first, and all who enrol with it together."""
        found = self.protocol.learned(self.study.with_respondents, self.forecast.lessons)
        first = self.study.of_party_role("collector")
        return {name: found[name] for name in (*first, *(each for each in found if each not in first))}

    @property
    def repairs(self) -> list[str]:
        """Departures of a paper's own system from its paper, with reasons; none for a protocol of ours."""
        printed = self.protocol.printed
        return [] if printed is None else [repair.sentence() for repair in printed.repairs]

    @property
    def advice(self) -> str | None:
        """A better choice on this network, in a sentence; None where the study's own is as good."""
        if not self.choices:
            return None
        bearable = max(2 * min(self.choices.values()), BEARABLE_SECONDS)
        best = next(name for name, seconds in self.choices.items() if seconds <= bearable)
        if best == self.forecast.chosen:
            return None
        names = list(self.choices)
        why = "teaches less" if names.index(best) < names.index(self.forecast.chosen) else "the ledger says more"
        took = f"about {self.choices[best]:.0f} s instead of {self.choices[self.forecast.chosen]:.0f} s"
        return f"on this network take {best}: {took}, and {why}"

    def describe(self, journal: int) -> dict[str, object]:
        """The plan for programs; the journal keeps so much of what is read."""
        return {
            "study": self.study.name,
            "protocol": self.protocol.name,
            "rows": dict(self.rows),
            "seconds": round(self.seconds, 2),
            "lines": {
                name: {"seconds": round(seconds, 2), "bottleneck": most} for name, (seconds, most) in self.lines.items()
            },
            "within": self.within,
            "rounds": self.forecast.rounds,
            "messages": self.forecast.messages,
            "bytes": self.forecast.bytes,
            "disk": self.disk(journal),
            "disk_for_replay": self.disk(self.read),
            "memory": self.memory,
            "looked_at_data": self.looked,
            "learns": self.learns,
            "insider_k": self.forecast.insider_k,
            "opens": None if self.protocol.printed is None else self.protocol.printed.opens,
            "repairs": self.repairs,
            "mind": [*insiders.warning(self.study), *self.forecast.mind],
            "choices": {name: round(seconds, 2) for name, seconds in self.choices.items()},
            "advice": self.advice,
        }


def _with_statements(forecast: Forecast, study: Study, rows: Mapping[str, int]) -> Forecast:
    """The forecast of a run that begins with everyone's statement of its number of rows."""
    asked = len(study.parties), len(study.holders)
    return replace(
        forecast,
        rounds=forecast.rounds + row_counts.COST.rounds(*asked),
        messages=forecast.messages + row_counts.COST.messages(*asked),
        bytes=forecast.bytes + row_counts.COST.bytes(*asked),
        lessons=[(row_counts.LEAKAGE, {}), *forecast.lessons],
        mind=(*row_counts.warnings(rows, study.privacy.k), *forecast.mind),
    )


def _with_recognition(forecast: Forecast, study: Study) -> Forecast:
    """The forecast of a run in which owners of exact columns count the people whom they find, and tell everyone."""
    owners = recognition.owners(study)
    if not owners:
        return forecast
    spent = recognition.COST.of(len(study.parties), len(owners))
    return replace(
        forecast,
        rounds=forecast.rounds + spent.rounds,
        messages=forecast.messages + spent.messages,
        bytes=forecast.bytes + spent.bytes,
        lessons=[*forecast.lessons, (recognition.LEAKAGE, recognition.asked(study))],
    )


def memory_of(protocol: Protocol, rows: int) -> int:
    """Bytes of memory that a party needs, about, in a run over so many rows of all parties, or people they share."""
    return protocol.memory.process + protocol.memory.row * rows


def make_plan(
    study: Study, rows: Mapping[str, int], latency: float, bandwidth: float, own: Table | None = None
) -> Plan:
    """The plan for these rows, where every party's line has that latency (seconds) and bandwidth (bytes a second).

    Where the protocol's cost depends on the data, the others' rows are taken to be like one's own, if these are given.
    """
    protocol = of_study(study)
    looked = protocol.rehearse is not None and own is not None and own.rows > 0
    if protocol.rehearse is not None and own is not None and own.rows > 0:
        forecast = protocol.rehearse(study, rows, own)
    else:
        forecast = protocol.foresee(study, rows)
    forecast = _with_recognition(forecast, study)
    forecast = replace(forecast, lessons=[*forecast.lessons, *released.lessons(protocol)])
    if study.states_rows:
        forecast = _with_statements(forecast, study, rows)
    parties = max(1, len(study.parties))
    seconds, _ = _seconds(forecast, parties, latency, bandwidth)
    choices = {name: _seconds(other, parties, latency, bandwidth)[0] for name, other in forecast.choices.items()}
    return Plan(study, protocol, rows, forecast, seconds, looked, choices)


def _seconds(forecast: Forecast, parties: int, latency: float, bandwidth: float) -> tuple[float, str]:
    """The seconds on lines of that latency (seconds) and bandwidth (bytes a second), and what takes most of them."""
    parts = {
        "waiting for messages": (forecast.rounds + _HANDSHAKE_ROUNDS) * latency,
        "sending": forecast.bytes / parties / bandwidth,
        "computing": forecast.seconds,
    }
    return sum(parts.values()), max(parts, key=parts.__getitem__)
