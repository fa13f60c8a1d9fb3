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
    out: Annotated[
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

    found = measure(release, Study.load(study), original, target=target, population=_population(population), seed=seed)
    if out is not None:
        write_atomically(out / FILE, (found.to_json() + "\n").encode(), PRIVATE)
    if as_json:
        typer.echo(found.to_json())
    else:
        _render(found)


def _population(text: str | None) -> str | float | None:
    """A number, or the path of a table."""
    if text is None:
        return None
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def _render(found: Evaluation) -> None:
    shown = console()
    shown.print(f"{found.release} under study {found.study!r}: {found.rows:,} rows\n", markup=False)
    shown.print(f"Use: {found.useful}", markup=False)
    if found.use is not None:
        _print_use(shown, found.use)
    shown.print(f"\nRisk: {found.exposed}", markup=False)
    _print_risk(shown, found)
    for name, why in found.absent.items():
        shown.print(f"({name.removeprefix('use.').removeprefix('risk.')}: {why})", markup=False)


def _print_use(shown: Console, use: Use) -> None:
    shown.print()
    rows = [
        (f"{each.columns}", f"{each.selectivity:.0%}", f"{each.median:.1%}", f"{each.percentile_95:.0%}",
         f"{each.uncertain:.0%}")
        for each in use.queries
    ]  # fmt: skip
    headings: tuple[str, ...] = ("columns", "true for", "median error", "95th percentile", "uncertain")
    shown.print(table(headings, rows, right=headings, title="COUNT queries"))
    shown.print()
    worst = [
        (" and ".join(each.columns), f"{each.total_variation:.1%}", _both(each.association, each.association_released))
        for each in (*use.single[:_PAIRS_SHOWN], *use.pairs[:_PAIRS_SHOWN])
    ]
    headings = ("columns", "distance", "Cramér's V, released")
    shown.print(table(headings, worst, right=headings[1:], title="Distributions, the worst of each kind"))
    estimates = [(f"mean of {each.name}", each) for each in use.means]
    if use.regression is not None:
        of = use.regression.outcome
        estimates += [(f"{of} on {each.name}", each) for each in use.regression.coefficients]
    if estimates:
        shown.print()
        lines = [
            (name, _interval(each.original), _interval(each.release), f"{each.overlap:.2f}") for name, each in estimates
        ]
        headings = ("", "original", "release", "overlap")
        shown.print(table(headings, lines, right=headings[1:], title="Estimates with 95% intervals"))
    if use.prediction is not None:
        task = use.prediction
        shown.print()
        scores = [
            (each.model, f"{each.auc_release:.3f}", f"{each.auc_original:.3f}", f"{each.accuracy_release:.1%}",
             f"{each.accuracy_original:.1%}")
            for each in task.scores
        ]  # fmt: skip
        headings = (f"predicting {task.target}", "AUC", "original's", "accuracy", "original's ")
        shown.print(table(headings, scores, right=headings[1:]))
        shown.print(
            f"trained on {task.trained_on:,} rows, tested on {task.tested_on:,} originals held back; guessing the most "
            f"frequent value is right for {task.guessing:.1%}"
        )


def _print_risk(shown: Console, found: Evaluation) -> None:
    risk = found.risk
    for when, each in (("before", risk.before), ("after", risk.after)):
        if each is not None:
            shown.print(f"\nunique in the population, {when}: {_uniques(each)}", markup=False)
    if risk.population is not None:
        shown.print(_in_population(risk.population))
    if risk.linkage is not None:
        shown.print(_linkage(risk.linkage))
    if risk.disclosure:
        shown.print()
        rows = [
            (each.column, f"{each.guessed_before:.1%}", f"{each.guessed:.1%}", f"{each.worst_class:.1%}",
             f"{each.nearly_certain:.1%}", f"{each.homogeneous_rows:.1%}")
            for each in risk.disclosure
        ]  # fmt: skip
        headings = ("guessing", "before", "from a class", "worst class", "nine in ten", "certain")
        shown.print(table(headings, rows, right=headings[1:]))


def _uniques(found: Uniques) -> str:
    if not found.sample_uniques:
        return "nobody (no class has one person)"
    by = {"Pitman": found.pitman, "Zayatz": found.zayatz, "SNB": found.snb}
    each = ", ".join(f"{name} {'-' if value is None else f'{value:,.0f}'}" for name, value in by.items())
    return f"{found.share:.2%} of the people by {found.chosen} ({each}); {found.sample_uniques:,} in the table"


def _in_population(found: InPopulation) -> str:
    how = "counted in its table" if found.exact else "estimated"
    return (
        f"found in the population ({how}; {found.fraction:.2%} of it is released): {found.highest:.2%} at most, "
        f"{found.average:.2%} on average; membership follows with a chance of {found.delta:.0%} at most"
    )


def _linkage(found: Linkage) -> str:
    guessed = ", ".join(
        f"{name} guessed right for {share:.0%} ({found.guessed_before[name]:.0%} without the release)"
        for name, share in found.guessed.items()
    )
    return (
        f"linkage attack on {found.tried:,} people: own row picked in {found.reidentified:.2%} of cases at most, among "
        f"{found.picked:,.1f} equally near rows on average" + (f"; {guessed}" if guessed else "")
    )


def _interval(estimate: Sequence[float]) -> str:
    value, low, high = estimate
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def _both(one: float | None, other: float | None) -> str:
    return "" if one is None or other is None else f"{one:.2f}, {other:.2f}"
