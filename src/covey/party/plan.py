"""What a run will cost and teach, from the protocol's declaration and the parties' numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from covey.protocols import Forecast, Protocol, of_study
from covey.study import Study

_HANDSHAKE_ROUNDS = 9
"""TCP, TLS, the greeting, hello, nonce, confirm, keys; the farewell and the seal."""


@dataclass(frozen=True)
class Plan:
    """A forecast, and the time that it stands for on a given network."""

    study: Study
    protocol: Protocol
    rows: Mapping[str, int]
    forecast: Forecast
    seconds: float

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
            "mind": list(self.forecast.mind),
        }


def make_plan(study: Study, rows: Mapping[str, int], latency: float, bandwidth: float) -> Plan:
    """The plan for these rows on a network with that latency (seconds) and bandwidth (bytes a second)."""
    protocol = of_study(study)
    forecast = protocol.foresee(study, rows)
    lines = max(1, len(study.parties) * (len(study.parties) - 1))
    network = (forecast.rounds + _HANDSHAKE_ROUNDS) * latency + forecast.bytes / lines / bandwidth
    return Plan(study, protocol, rows, forecast, network + forecast.seconds)
