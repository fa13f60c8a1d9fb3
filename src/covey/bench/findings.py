"""The findings of an experiment: result tables, plots, judged claims, and remarks on claims that are not judged.

An experiment prints nothing, draws nothing and writes no file; the command line and `page` show its findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal

Cell = str | int | float | None
Holds = Literal["yes", "in part", "no", "not tried"]


@dataclass(frozen=True)
class Setting:
    """The circumstances of an experiment."""

    quick: bool
    """True for smaller tables and fewer points: about two minutes instead of as long as it takes."""
    adult: Path | None
    """The folder with Adult as `covey data fetch adult` leaves it; None where there is none."""
    tell: Callable[[str], None] = lambda sentence: None
    """Receives a sentence about each measurement before it starts."""
    seed: int = 1


@dataclass(frozen=True)
class ResultTable:
    """A table of results; every row has as many cells as the head. None stands for a cell that was not measured."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    long: bool = False
    """True if it is too long or wide for a terminal; the page and the JSON have it in any case."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The headings of the columns that have numbers."""
        columns = zip(self.head, zip(*self.rows, strict=True), strict=True) if self.rows else ()
        return tuple(heading for heading, cells in columns if any(isinstance(cell, int | float) for cell in cells))

    @staticmethod
    def of(
        title: str, records: Iterable[object], columns: Mapping[str, str], note: str = "", long: bool = False
    ) -> ResultTable:
        """Builds a table of records; `columns` maps each heading to an attribute."""
        cells = [attrgetter(attribute) for attribute in columns.values()]
        rows = tuple(tuple(cell(record) for cell in cells) for record in records)
        return ResultTable(title, tuple(columns), rows, note, long)


@dataclass(frozen=True)
class Curve:
    """One curve of a plot, with its points from left to right."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """A plot of one quantity against another."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    note: str = ""


def curves(points: Iterable[tuple[str, float, float | None]]) -> tuple[Curve, ...]:
    """Collects points into one curve for each label; points without y are left out."""
    series: dict[str, list[tuple[float, float]]] = {}
    for label, x, y in points:
        if y is not None:
            series.setdefault(label, []).append((float(x), float(y)))
    return tuple(Curve(label, tuple(sorted(pairs))) for label, pairs in series.items())


@dataclass(frozen=True)
class Claim:
    """A claim of a paper in our words, what was found, and the verdict."""

    where: str
    """The figure, table or section of the source."""
    says: str
    found: str
    holds: Holds

    @staticmethod
    def counted(location: str, says: str, successes: int, cases: int, found: str = "", slack: float = 0.0) -> Claim:
        """Judges a claim by the number of cases in which it held.

        A share of `slack` of the cases may differ, where single cases are a matter of luck.
        """
        tolerance = slack * cases
        holds: Holds = "yes" if successes >= cases - tolerance else "no" if successes <= tolerance else "in part"
        return Claim(location, says, found or f"in {successes} of {cases} cases", holds)


@dataclass(frozen=True)
class Remark:
    """A remark on a claim that no measurement decides."""

    where: str
    says: str
    remark: str


@dataclass(frozen=True)
class Findings:
    """All results of an experiment. The notes name the data, and what was left out."""

    tables: tuple[ResultTable, ...] = ()
    plots: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """The experiment behind one name of `covey bench NAME`."""

    about: str
    source: str
    """The paper whose figures are put to the test; empty for a comparison of our own."""
    run: Callable[[Setting], Findings]


@dataclass(frozen=True)
class Chapter:
    """The findings of one experiment under its name."""

    name: str
    about: str
    source: str
    findings: Findings
    seconds: float
