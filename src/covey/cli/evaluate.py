"""`covey evaluate`: what a release is good for, and how exposed people are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json
from covey.cli.output import console, table

if TYPE_CHECKING:
    from rich.console import Console

    from covey.evaluation.findings import Evaluation, InPopulation, Linkage, Uniques, Use

_PAIRS_SHOWN = 5


def evaluate(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="The released table: CSV, Parquet, postgres://…")],
    study: Annotated[str, typer.Option("--study", metavar="STUDY", help="The study under which it was released.")],
    original: Annotated[
        str | None,
        typer.Option("--original", metavar="DATA", help="Original rows, against which the release is measured."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", help="The column that is predicted from the others."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            metavar="N|PART|DATA",
            help="The population from which the rows are: its size, the part of it that is released, or its table.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Draws other queries and people.")] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Also write evaluation.json into this folder, for `covey report --data`.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measures what a release is good for (queries, distributions, predictions) and how exposed people are.

    Example: covey evaluate out/release.csv --study study.toml --original clinic.csv --target diagnosis
    """
    from covey.evaluation import FILE
    from covey.evaluation.questions import evaluate as measure
    from covey.files import PRIVATE, write_atomically
    from covey.study import Study

    evaluation = measure(
        release, Study.load(study), original, target=target, population=_population(population), seed=seed
    )
    if folder is not None:
        write_atomically(folder / FILE, (evaluation.to_json() + "\n").encode(), PRIVATE)
    if as_json:
        typer.echo(evaluation.to_json())
    else:
        _render(evaluation)


def _population(text: str | None) -> str | float | None:
    """A number, or the path of a table."""
    if text is None:
        return None
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def _render(evaluation: Evaluation) -> None:
    screen = console()
    screen.print(f"{evaluation.release} under study {evaluation.study!r}: {evaluation.rows:,} rows\n", markup=False)
    screen.print(f"Use: {evaluation.useful}", markup=False)
    if evaluation.use is not None:
        _print_use(screen, evaluation.use)
    screen.print(f"\nRisk: {evaluation.exposed}", markup=False)
    _print_risk(screen, evaluation)
    for name, reason in evaluation.absent.items():
        screen.print(f"({name.removeprefix('use.').removeprefix('risk.')}: {reason})", markup=False)


def _print_use(screen: Console, use: Use) -> None:
    screen.print()
    rows = [
        (f"{query.columns}", f"{query.selectivity:.0%}", f"{query.median:.1%}", f"{query.percentile_95:.0%}",
         f"{query.uncertain:.0%}")
        for query in use.queries
    ]  # fmt: skip
    headings: tuple[str, ...] = ("columns", "true for", "median error", "95th percentile", "uncertain")
    screen.print(table(headings, rows, right=headings, title="COUNT queries"))
    screen.print()
    worst = [
        (
            " and ".join(distribution.columns),
            f"{distribution.total_variation:.1%}",
            _both(distribution.association, distribution.association_released),
        )
        for distribution in (*use.single[:_PAIRS_SHOWN], *use.pairs[:_PAIRS_SHOWN])
    ]
    headings = ("columns", "distance", "Cramér's V, released")
    screen.print(table(headings, worst, right=headings[1:], title="Distributions, the worst of each kind"))
    estimates = [(f"mean of {mean.name}", mean) for mean in use.means]
    if use.regression is not None:
        outcome = use.regression.outcome
        estimates += [(f"{outcome} on {coefficient.name}", coefficient) for coefficient in use.regression.coefficients]
    if estimates:
        screen.print()
        lines = [
            (name, _interval(estimate.original), _interval(estimate.release), f"{estimate.overlap:.2f}")
            for name, estimate in estimates
        ]
        headings = ("", "original", "release", "overlap")
        screen.print(table(headings, lines, right=headings[1:], title="Estimates with 95% intervals"))
    if use.prediction is not None:
        task = use.prediction
        screen.print()
        scores = [
            (score.model, f"{score.auc_release:.3f}", f"{score.auc_original:.3f}", f"{score.accuracy_release:.1%}",
             f"{score.accuracy_original:.1%}")
            for score in task.scores
        ]  # fmt: skip
        headings = (f"predicting {task.target}", "AUC", "original's", "accuracy", "original's ")
        screen.print(table(headings, scores, right=headings[1:]))
        screen.print(
            f"trained on {task.trained_on:,} rows, tested on {task.tested_on:,} originals held back; guessing the most "
            f"frequent value is right for {task.guessing:.1%}"
        )


def _print_risk(screen: Console, evaluation: Evaluation) -> None:
    risk = evaluation.risk
    for period, estimate in (("before", risk.before), ("after", risk.after)):
        if estimate is not None:
            screen.print(f"\nunique in the population, {period}: {_uniques(estimate)}", markup=False)
    if risk.population is not None:
        screen.print(_in_population(risk.population))
    if risk.linkage is not None:
        screen.print(_linkage(risk.linkage))
    if risk.disclosure:
        screen.print()
        rows = [
            (secret.column, f"{secret.guessed_before:.1%}", f"{secret.guessed:.1%}", f"{secret.worst_class:.1%}",
             f"{secret.nearly_certain:.1%}", f"{secret.homogeneous_rows:.1%}")
            for secret in risk.disclosure
        ]  # fmt: skip
        headings = ("guessing", "before", "from a class", "worst class", "nine in ten", "certain")
        screen.print(table(headings, rows, right=headings[1:]))


def _uniques(uniques: Uniques) -> str:
    if not uniques.sample_uniques:
        return "nobody (no class has one person)"
    estimators = {"Pitman": uniques.pitman, "Zayatz": uniques.zayatz, "SNB": uniques.snb}
    figures = ", ".join(f"{name} {'-' if value is None else f'{value:,.0f}'}" for name, value in estimators.items())
    return f"{uniques.share:.2%} of the people by {uniques.chosen} ({figures}); {uniques.sample_uniques:,} in the table"


def _in_population(risk: InPopulation) -> str:
    method = "counted in its table" if risk.exact else "estimated"
    return (
        f"found in the population ({method}; {risk.fraction:.2%} of it is released): {risk.highest:.2%} at most, "
        f"{risk.average:.2%} on average; membership follows with a chance of {risk.delta:.0%} at most"
    )


def _linkage(linkage: Linkage) -> str:
    guessed = ", ".join(
        f"{name} guessed right for {share:.0%} ({linkage.guessed_before[name]:.0%} without the release)"
        for name, share in linkage.guessed.items()
    )
    return (
        f"linkage attack on {linkage.tried:,} people: own row picked in {linkage.reidentified:.2%} of cases at most, "
        f"among {linkage.picked:,.1f} equally near rows on average" + (f"; {guessed}" if guessed else "")
    )


def _interval(estimate: Sequence[float]) -> str:
    value, low, high = estimate
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def _both(original: float | None, released: float | None) -> str:
    return "" if original is None or released is None else f"{original:.2f}, {released:.2f}"
