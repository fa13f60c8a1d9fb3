"""What an experiment of `covey bench` is: it measures, and gives back tables, pictures and judged claims.

An experiment prints nothing, draws nothing and writes no file: whoever shows the findings does (terminal, page, JSON).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Cell = str | int | float | None
Holds = Literal["yes", "in part", "no", "not tried"]


@dataclass(frozen=True)
class Setting:
    """How an experiment is to be done."""

    quick: bool
    """Smaller tables and fewer points: within two minutes or so instead of as long as it takes."""
    adult: Path | None
    """The folder with Adult as `covey data fetch adult` leaves it; None where it is not to be had."""
    tell: Callable[[str], None] = lambda sentence: None
    """Whom to tell what is being measured now."""
    seed: int = 1


@dataclass(frozen=True)
class Grid:
    """A table: a head, and rows of as many cells; a cell that was not measured is None."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    long: bool = False
    """Whether it is too long or wide for a terminal; the page and the JSON have it all the same."""


@dataclass(frozen=True)
class Curve:
    """A line of a plot, by its points from left to right."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """A picture: some quantity against another."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """What a paper (or a note of ours) claims, in our words, and what was found."""

    where: str
    """The source's figure, table or section."""
    says: str
    found: str
    holds: Holds


@dataclass(frozen=True)
class Findings:
    """What an experiment found. `notes` say on which data, and what was left out."""

    tables: tuple[Grid, ...] = ()
    plots: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One name that `covey bench NAME` knows."""

    name: str
    about: str
    source: str
    """The paper whose figures it puts to the test; empty where it is our own comparison."""
    run: Callable[[Setting], Findings]


@dataclass(frozen=True)
class Chapter:
    """One experiment's findings under its name."""

    name: str
    about: str
    source: str
    findings: Findings
    seconds: float
