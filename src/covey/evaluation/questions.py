"""Evaluates a release: what it is good for and how exposed people are, in order, and a sentence on each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from covey.errors import InputError
from covey.evaluation.attacks import disclosure, link
from covey.evaluation.axes import Axis, axes
from covey.evaluation.distributions import pair_distances, query_errors, single_distances
from covey.evaluation.findings import Evaluation, Exposure, InPopulation, Prediction, Uniques, Use
from covey.evaluation.population import in_counted_population, in_population, uniques
from covey.evaluation.prediction import predict
from covey.evaluation.statistics import means, regression
from covey.judge.matching import meant
from covey.judge.released import Released, read_release
from covey.judge.tuples import Original, alike, read_original, read_rows, spans
from covey.sources import Data, connect
from covey.sources.release import content_hash
from covey.study import Study, StudyLike


def evaluate(
    release: Data,
    study: StudyLike,
    original: Data | None = None,
    *,
    target: str | None = None,
    population: Data | float | None = None,
    seed: int = 0,
) -> Evaluation:
    """Evaluates a release: its use against the original rows, and the risk that people run.

    `target` names the column of a prediction task. `population` is a table of the population, the number of its
    people, or, below 1, the part of it that was released. The same seed draws the same queries and people.

    Raises InputError if the release is of another study, or a table or the target does not fit.
    """
    study = Study.of(study)
    source = connect(release, counted=True)
    released = read_release(source, study, with_plain=False)
    against = None if original is None else read_original(connect(original, counted=True), study)
    if target is not None and against is None:
        raise InputError("a prediction is tested on original rows: give the original (--original DATA)")
    absent: dict[str, str] = {}
    columns = [] if against is None else axes(released, against)
    use = None if against is None else _use(columns, released, against, target, seed, absent)
    if against is None:
        absent["use"] = "it is measured against original rows: give --original"
        absent["risk.before"] = absent["risk.linkage"] = absent["use"]
    risk = _risk(columns, released, against, study, population, seed, absent)
    path = Path(release) if isinstance(release, str | Path) else None
    return Evaluation(
        release=source.name,
        study=study.name,
        study_hash=study.study_hash,
        rows=released.rows,
        original_rows=None if against is None else against.table.rows,
        use=use,
        risk=risk,
        useful=_useful(use),
        exposed=_exposed(risk, int(released.sizes.min())),
        absent=absent,
        release_sha256=content_hash(path) if path is not None and path.exists() else None,
    )


def _use(
    columns: list[Axis], released: Released, against: Original, target: str | None, seed: int, absent: dict[str, str]
) -> Use:
    released_rows, original_rows = released.table.counts, against.table.counts
    prediction: Prediction | None = None
    if target is not None:
        prediction = predict(columns, target, released_rows, original_rows, seed)
    else:
        absent["use.prediction"] = "no column to predict was named: give --target"
    outcome = target or next((cells.column.name for cells in released.sensitive), columns[-1].name if columns else "")
    fit = regression(columns, outcome, released_rows, original_rows) if len(columns) > 1 else None
    if fit is None:
        absent["use.regression"] = f"{outcome!r} is constant, or other columns say each other"
    return Use(
        queries=query_errors(columns, released_rows, original_rows, seed),
        single=single_distances(columns, released_rows, original_rows),
        pairs=pair_distances(columns, released_rows, original_rows),
        means=means(columns, released_rows, original_rows),
        regression=fit,
        prediction=prediction,
    )


def _risk(
    columns: list[Axis],
    released: Released,
    against: Original | None,
    study: Study,
    population: Data | float | None,
    seed: int,
    absent: dict[str, str],
) -> Exposure:
    risk, fraction = _population(released, study, population)
    original_uniques: Uniques | None = None
    if fraction is None:
        absent["risk.population"] = absent["risk.uniques"] = "the population is not known: give --population"
    elif against is not None:
        quasi = against.table.of(study.quasi)
        group, _ = alike([cells.codes for cells in quasi], len(against.table.counts))
        original_uniques = uniques(np.bincount(group, weights=against.table.counts).astype(np.int64), fraction)
    return Exposure(
        before=original_uniques,
        after=None if fraction is None else uniques(released.sizes, fraction),
        population=risk,
        disclosure=disclosure(released),
        linkage=None
        if against is None
        else link(columns, released.table.counts, against.table.counts, study.privacy.k, seed),
    )


def _population(
    released: Released, study: Study, population: Data | float | None
) -> tuple[InPopulation | None, float | None]:
    """The risk within the population, and the part of it that was released."""
    if population is None:
        return None, None
    if isinstance(population, int | float):
        fraction = population if population <= 1 else released.rows / population
        if not 0 < fraction <= 1:
            raise InputError(
                f"--population {population:g}: give a part above 0 and up to 1, or a number of people of at least "
                f"the release's {released.rows:,} rows"
            )
        return in_population(released.sizes, fraction), fraction
    people = read_rows(connect(population, counted=True), study.quasi)
    stretches = [spans(cells, people.table) for cells in released.quasi]
    if people.table.rows < released.rows:
        raise InputError(f"{people.table.name}: the population has fewer people than the release has rows")
    risk = in_counted_population(released.sizes, meant(released, people.table, stretches), people.table.rows)
    return risk, risk.fraction


def _useful(use: Use | None) -> str:
    """One sentence on what the release is good for."""
    if use is None:
        return "What the release is good for was not measured: that takes the original rows."
    wide = [errors for errors in use.queries if errors.columns <= 2]
    middle = float(np.median([errors.median for errors in wide])) if wide else 0.0
    sentence = f"A count over one or two columns is wrong by {middle:.1%} at the median"
    if use.pairs:
        worst = use.pairs[0]
        sentence += (
            f"; of pairs of columns {' and '.join(worst.columns)} changed most "
            f"({worst.total_variation:.0%} of the rows would have to move)"
        )
    if use.prediction is not None:
        score = use.prediction.scores[0]
        sentence += (
            f"; {use.prediction.target} is predicted with an AUC of {score.auc_release:.2f}, "
            f"from the original {score.auc_original:.2f}"
        )
    return sentence + "."


def _exposed(risk: Exposure, k: int) -> str:
    """One sentence on how exposed people are."""
    highest = 1 / k if risk.population is None else risk.population.highest
    scope = "among those released" if risk.population is None else "in the population"
    sentence = f"A person is found {scope} with a chance of {highest:.1%} at most"
    if risk.linkage is not None:
        attack = risk.linkage
        sentence += f"; an attack on {attack.tried:,} people picked their own row in {attack.reidentified:.1%} of cases"
    worst = max(risk.disclosure, key=lambda secret: secret.guessed - secret.guessed_before, default=None)
    if worst is not None:
        sentence += (
            f"; from its class {worst.column} is guessed right for {worst.guessed:.0%} of the people "
            f"({worst.guessed_before:.0%} without the release's classes)"
        )
    if worst is not None and worst.homogeneous_rows:
        sentence += f", and for {worst.homogeneous_rows:.1%} it is certain"
    return sentence + "."
