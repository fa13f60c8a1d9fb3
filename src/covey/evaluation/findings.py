"""The figures of an evaluation, and what they mean in a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from covey.plain import Shown

FILE = "evaluation.json"


class QueryErrors(msgspec.Struct, frozen=True):
    """Relative errors of COUNT queries over so many columns, at about this selectivity."""

    columns: int
    selectivity: float
    queries: int
    median: float
    percentile_95: float
    uncertain: float
    """The median distance between the least and the greatest possible answer, as a part of the true one."""


class Distance(msgspec.Struct, frozen=True):
    """The distance of one column's distribution, or of two columns' joint one, from the original's."""

    columns: tuple[str, ...]
    total_variation: float
    association: float | None = None
    """Cramér's V of two columns in the original."""
    association_released: float | None = None


class Score(msgspec.Struct, frozen=True):
    """One classifier: its figures on originals held back, by what it was trained on."""

    model: str
    auc_release: float
    auc_original: float
    accuracy_release: float
    accuracy_original: float


class Prediction(msgspec.Struct, frozen=True):
    """A column predicted from the others. Whoever guesses the most frequent value has an AUC of one half."""

    target: str
    values: int
    trained_on: int
    tested_on: int
    guessing: float
    """The accuracy of always guessing the most frequent value."""
    scores: tuple[Score, ...]


class Estimate(msgspec.Struct, frozen=True):
    """A mean or a coefficient with its 95% interval, original and released."""

    name: str
    original: tuple[float, float, float]  # estimate, low, high
    release: tuple[float, float, float]
    overlap: float
    """The part of the two intervals that they share (Karr et al. 2006): 1 where they are equal, 0 or less if apart."""


class Regression(msgspec.Struct, frozen=True):
    """Least squares of one column on the others."""

    outcome: str
    coefficients: tuple[Estimate, ...]


class Use(msgspec.Struct, frozen=True):
    """The use of a release: what it is good for. It needs the original rows."""

    queries: tuple[QueryErrors, ...]
    single: tuple[Distance, ...]
    pairs: tuple[Distance, ...]  # the worst first
    means: tuple[Estimate, ...]
    regression: Regression | None
    prediction: Prediction | None


class Uniques(msgspec.Struct, frozen=True):
    """People who are alone in the population, as estimated from a sample's class sizes."""

    sample_uniques: int
    pitman: float | None
    zayatz: float | None
    snb: float | None
    chosen: str
    """The estimator that Dankar et al.'s rule takes."""
    uniques: float
    share: float
    """The estimated part of the population that is unique."""


class InPopulation(msgspec.Struct, frozen=True):
    """The chance of finding a person who is known to be in the population."""

    fraction: float
    """The part of the population that is in the release."""
    highest: float
    average: float
    exact: bool
    """True if a population table was counted; else the population is taken to be Poisson around its expectation."""
    delta: float
    """The highest chance with which membership in the release follows from the labels."""


class Disclosure(msgspec.Struct, frozen=True):
    """Disclosure by classes: what they tell of one sensitive column."""

    column: str
    homogeneous_rows: float  # the part of the rows whose class has one value only
    guessed: float  # the chance of guessing a member's value right from its class
    guessed_before: float  # and without the classes
    nearly_certain: float  # the part of the rows whose class has one value for nine in ten or more
    worst_class: float  # the largest share of one value in a class
    value: str = ""  # never a person's: the column's most frequent value, on which the guess before rests


class Linkage(msgspec.Struct, frozen=True):
    """The attack carried out: an attacker who knows people's quasi values looks for their rows."""

    tried: int
    reidentified: float  # the expected part of the people whose own row is picked, at most
    picked: float  # how many rows are as near as the nearest, on average
    guessed: dict[str, float]  # by sensitive column the part of the people whose value is guessed right
    guessed_before: dict[str, float]


class Exposure(msgspec.Struct, frozen=True):
    """The risk: how exposed people are."""

    before: Uniques | None  # in the original rows
    after: Uniques | None  # in the release
    population: InPopulation | None
    disclosure: tuple[Disclosure, ...]
    linkage: Linkage | None


class Evaluation(Shown, msgspec.Struct, frozen=True):
    """Figures on what a release is good for and on how exposed people are."""

    release: str
    study: str
    study_hash: str
    rows: int
    original_rows: int | None
    use: Use | None
    risk: Exposure
    useful: str
    exposed: str
    absent: dict[str, str]  # figures that could not be computed, and why
    release_sha256: str | None = None  # of a released file

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "study", repr(self.study)
        yield "rows", f"{self.rows:,}"
        yield "use", self.useful
        yield "risk", self.exposed

    def to_json(self) -> str:
        """The evaluation for programs."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()
