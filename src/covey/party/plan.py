"""The plan of a run: its cost and what it teaches, from the protocol's declaration and the parties' numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from covey.protocols import Forecast, Protocol, of_study
from covey.study import Study, insiders

_HANDSHAKE_ROUNDS = 9
"""TCP, TLS, the greeting, hello, nonce, confirm, keys; the farewell and the seal."""

BEARABLE_SECONDS = 30.0
"""No choice that takes less is too slow."""


@dataclass(frozen=True)
class Plan:
    """A forecast, and the time that it stands for on a given network."""

    study: Study
    protocol: Protocol
    rows: Mapping[str, int]
    forecast: Forecast
    seconds: float
    choices: Mapping[str, float] = field(default_factory=dict)
    """Seconds under other options, what teaches least first."""

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

    def describe(self) -> dict[str, object]:
        """The plan for programs."""
        return {
            "study": self.study.name,
            "protocol": self.protocol.name,
            "rows": dict(self.rows),
            "seconds": round(self.seconds, 2),
            "rounds": self.forecast.rounds,
            "messages": self.forecast.messages,
            "bytes": self.forecast.bytes,
            "learns": {name: list(sentences) for name, sentences in self.forecast.learns.items()},
            "insider_k": self.forecast.insider_k,
            "mind": [*insiders.warning(self.study), *self.forecast.mind],
            "choices": {name: round(seconds, 2) for name, seconds in self.choices.items()},
            "advice": self.advice,
        }


def make_plan(study: Study, rows: Mapping[str, int], latency: float, bandwidth: float) -> Plan:
    """The plan for these rows on a network with that latency (seconds) and bandwidth (bytes a second)."""
    protocol = of_study(study)
    forecast = protocol.foresee(study, rows)
    lines = max(1, len(study.parties) * (len(study.parties) - 1))

    def seconds(under: Forecast) -> float:
        network = (under.rounds + _HANDSHAKE_ROUNDS) * latency + under.bytes / lines / bandwidth
        return network + under.seconds

    choices = {name: seconds(other) for name, other in forecast.choices.items()}
    return Plan(study, protocol, rows, forecast, seconds(forecast), choices)
