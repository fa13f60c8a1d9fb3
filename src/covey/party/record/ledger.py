"""The ledger: what this party learned, and what the others could learn of it, in sentences.

A sentence is written down before the step that would teach it, so that the ledger of a run that broke off
names everything that had been, or could have been, learned by then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from covey.plain import listed
from covey.protocols import Protocol
from covey.secure.declare import TAKING_PART, Fact, Leakage, facts
from covey.study import Study

NOTHING = "Nothing: the run ended before the parties had met."

PRESENCE = Leakage(
    everyone=(
        "that {names} took part in the study {study!r}; each one's certificate; when each sent messages, and how large",
    ),
    about=TAKING_PART,
)

AGAIN = Leakage(everyone=("that the run was cut off and went on",), about=TAKING_PART)

ENROLLED = Leakage(
    roles={
        "collector": ("who enrolled in the study {study!r}; when each of them sent messages, and how large",),
        "respondent": ("who collects for the study {study!r}",),
    },
    about=TAKING_PART,
)


@dataclass
class Ledger:
    """Sentences by party, each once, in the order in which they came to hold."""

    study: Study
    protocol: Protocol
    party: str
    lines: dict[str, list[str]] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    """The topic of each fact."""
    numbers: dict[str, object] = field(default_factory=dict)
    """The numbers that the sentences mention, the last of each name."""
    session: str = ""
    """The session that taught it, once there is one: a later run of the folder tells it from another by this."""
    earlier: list[dict[str, object]] = field(default_factory=list)
    """The ledgers of sessions that were given up for this one."""
    attempts: int = 1
    """The attempts that it took until the release was opened."""
    listener: Callable[[], None] = lambda: None
    """Told of every new sentence, before the step that teaches it."""

    def belong(self, session: str, before: Sequence[dict[str, object]]) -> None:
        """It is that session's from here on: what `before` has of the session is taken up, the rest stays earlier.

        A session that goes on may stop again before it comes to what it had taught the first time.
        """
        self.session = session
        self.earlier = []
        for entry in before:
            if entry.get("session") != session:
                self.earlier.append(entry)
                continue
            others = entry.get("others")
            told = dict(others) if isinstance(others, Mapping) else {}
            for party, sentences in (told | {self.party: entry.get("learned")}).items():
                lines = self.lines.setdefault(str(party), [])
                known = sentences if isinstance(sentences, list) else []
                lines += [str(sentence) for sentence in known if sentence not in lines]
            with contextlib.suppress(msgspec.ValidationError):
                self.topics |= {fact.fact: fact.about for fact in msgspec.convert(entry.get("facts", []), list[Fact])}

    def met(self) -> None:
        """The parties have shaken hands."""
        if self.study.partition == "respondents":
            self.learns(ENROLLED, study=self.study.name)
            if len(self.study.parties) == 1:
                return
        names = listed([party.name for party in self.study.parties])
        self.learns(PRESENCE, names=names, study=self.study.name)

    def again(self, attempts: int) -> None:
        """The run goes on from a state, so many attempts in all."""
        self.attempts = attempts
        if attempts > 1:
            self.learns(AGAIN)

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        """From here on every party may know what the sentences of its role say."""
        for name, fragments in self.protocol.learned(self.study, [(leakage, numbers)]).items():
            lines = self.lines.setdefault(name, [])
            self.topics |= dict.fromkeys(fragments, leakage.about)
            sentences = [f"{name} learned {fragment}." for fragment in fragments]
            lines += [sentence for sentence in sentences if sentence not in lines]
        self.numbers |= numbers
        self.listener()

    def foresee(self, leakage: Leakage, numbers: Mapping[str, object]) -> list[Fact]:
        """The facts that every party is about to learn, without writing them down."""
        return facts(self.protocol.learned(self.study, [(leakage, numbers)]), {})

    @property
    def facts(self) -> list[Fact]:
        """Every fact once, by topic, with the parties that learned it; this party comes first."""
        mine = {self.party: self.own} if self.own else {}
        return facts(mine | self.others, self.topics)

    @property
    def own(self) -> list[str]:
        """The sentences on what this party learned."""
        return list(self.lines.get(self.party, ()))

    @property
    def others(self) -> dict[str, list[str]]:
        """The sentences on what each other party could learn."""
        return {name: list(lines) for name, lines in self.lines.items() if name != self.party}

    def describe(self, outcome: str) -> dict[str, object]:
        """The content of ledger.json."""
        return {
            "study": self.study.name,
            "study_hash": self.study.study_hash,
            "protocol": self.protocol.name,
            "party": self.party,
            "outcome": outcome,
            "learned": self.own or [NOTHING],
            "others": self.others,
            "facts": [msgspec.to_builtins(fact) for fact in self.facts],
        } | {
            key: value
            for key, value in (
                ("session", self.session), ("attempts", self.attempts * (self.attempts > 1)), ("earlier", self.earlier)
            )
            if value
        }  # fmt: skip
