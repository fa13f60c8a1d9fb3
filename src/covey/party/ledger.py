"""The ledger: what this party learned, and what the others could learn of it, in sentences.

A sentence is written down before the step that would teach it, so that the ledger of a run that broke off
names everything that had been, or could have been, learned by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from covey.protocols import Protocol
from covey.secure.declare import Leakage
from covey.study import Study

PRESENCE = Leakage(
    everyone=(
        "that {names} took part in the study {study!r}, and when each of them sent how many bytes",
        "each party's certificate and the session's public commitments",
    )
)

ENROLLED = Leakage(
    roles={
        "collector": ("who enrolled in the study {study!r}, and when each of them sent how many bytes",),
        "respondent": ("who collects for the study {study!r}",),
    }
)


@dataclass
class Ledger:
    """Sentences by party, each once, in the order in which they came to hold."""

    study: Study
    protocol: Protocol
    party: str
    lines: dict[str, list[str]] = field(default_factory=dict)
    earlier: list[object] = field(default_factory=list)
    """What sessions taught that were given up for this one."""
    listener: Callable[[], None] = lambda: None
    """Told of every new sentence, before the step that teaches it."""

    def met(self) -> None:
        """The parties have shaken hands."""
        if self.study.partition == "respondents":
            self.learns(ENROLLED, study=self.study.name)
            return
        names = ", ".join(party.name for party in self.study.parties)
        self.learns(PRESENCE, names=names, study=self.study.name)

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        """From here on every party may know what the sentences of its role say."""
        for party in self.study.parties:
            role = self.protocol.role_name(self.study, party.name)
            lines = self.lines.setdefault(party.name, [])
            for fragment in leakage.sentences(role, **numbers):
                sentence = f"{party.name} learned {fragment}."
                if sentence not in lines:
                    lines.append(sentence)
        self.listener()

    @property
    def own(self) -> list[str]:
        """What this party learned."""
        return list(self.lines.get(self.party, ()))

    @property
    def others(self) -> dict[str, list[str]]:
        """What each other party could learn."""
        return {name: list(lines) for name, lines in self.lines.items() if name != self.party}

    def describe(self, outcome: str) -> dict[str, object]:
        """The content of ledger.json."""
        return {
            "study": self.study.name,
            "study_hash": self.study.study_hash,
            "protocol": self.protocol.name,
            "party": self.party,
            "outcome": outcome,
            "learned": self.own or ["Nothing: the run ended before the parties had met."],
            "others": self.others,
        } | ({"earlier": self.earlier} if self.earlier else {})
