"""A verdict: each requirement of the study beside what the release reaches, and every figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from covey.plain import Shown
from covey.summary import SingledOut


class Requirement(msgspec.Struct, frozen=True):
    """One thing that the study asks, of one column or of the whole release."""

    name: str
    column: str | None
    bound: Literal["at least", "at most"]
    asked: float
    reached: float | None  # absent where it has no meaning, which never meets what was asked
    met: bool
    detail: str = ""

    def __str__(self) -> str:
        subject = f" of {self.column!r}" if self.column is not None else ""
        result = "it cannot be computed" if self.reached is None else f"it is {self.reached:.6g}"
        return f"{self.name}{subject} must be {self.bound} {self.asked:.6g} but {result}{self.detail}"


class Diversity(msgspec.Struct, frozen=True):
    """The l and t of one sensitive column. Each figure is that of the worst class.

    `recursive` is the largest l for which every class is recursively (c, l)-diverse, 0 if there is none.
    A distance is absent where it has no meaning: no order, or no hierarchy of the values.
    """

    column: str
    distinct: int
    frequency: float
    entropy: float
    recursive: int
    c: float
    t_equal: float
    t_ordered: float | None
    t_hierarchy: float | None


class Risk(msgspec.Struct, frozen=True):
    """The chance that one attacker finds a person: highest, average, and the share above 1/k."""

    highest: float
    average: float
    at_risk: float


class Risks(msgspec.Struct, frozen=True):
    """Three attackers: the prosecutor, the journalist, and the marketer, who wants many people."""

    prosecutor: Risk
    journalist: Risk
    marketer: float
    population: str  # among whom the journalist and the marketer search


class VerifiedLoss(msgspec.Struct, frozen=True):
    """Every measure. The three entropies need the original's frequencies and are absent without it."""

    lm: float
    precision: float
    em: float | None
    em_monotone: float | None
    entropy: float | None
    dm: int
    c_avg: float
    cm: dict[str, int]  # per sensitive column


class Matched(msgspec.Struct, frozen=True):
    """The release against its original."""

    rows: int  # originals that could be released
    dropped: int  # originals left out by a column's missing = "drop"
    unmatched: int  # released rows for which no original of their own is left
    withheld: int  # originals that no released row stands for
    linked: float  # the part of the originals whose exact published cells, one or two, one released row alone has


class Verdict(Shown, msgspec.Struct, frozen=True):
    """The judge's answer: every requirement and the figure reached. `answer` is yes only if all are met."""

    release: str
    study: str
    study_hash: str
    answer: bool
    requirements: tuple[Requirement, ...]
    rows: int
    classes: int
    k: int
    singled_out: SingledOut
    constant: tuple[str, ...]  # exact columns with one value
    kept: float  # over all columns but identifiers, keys and constants: 1 - LM, 1 if exact, 0 if it waits for an answer
    suppressed_rows: int  # rows with every quasi cell at the root
    suppressed_cells: int
    diversity: tuple[Diversity, ...]
    risk: Risks
    loss: VerifiedLoss
    original: Matched | None
    absent: dict[str, str]  # figures that could not be computed, and why
    notes: tuple[str, ...]

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "answer", "yes" if self.answer else f"no: {self.sentence()}"
        yield "singled out by one cell", f"{self.singled_out.one:,}"
        yield "by two", f"{self.singled_out.two:,}"
        yield "rows", f"{self.rows:,}"
        yield "classes", f"{self.classes:,}"
        yield "k", f"{self.k:,}"
        yield "highest risk", f"{self.risk.prosecutor.highest:.3g}"
        if self.answer:
            yield "kept", f"{self.kept:.3f}"
            yield "loss (lm)", f"{self.loss.lm:.4f}"

    def __bool__(self) -> bool:
        return self.answer

    @property
    def unmet(self) -> tuple[Requirement, ...]:
        return tuple(requirement for requirement in self.requirements if not requirement.met)

    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.answer:
            return f"{self.release}: yes, it keeps all that study {self.study!r} asks"
        return f"{self.release}: no, it falls short of study {self.study!r}: " + "; ".join(map(str, self.unmet))

    def to_json(self) -> str:
        """The verdict for programs."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()
