"""`covey anonymize`: one owner's table, by a centralized algorithm."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.check import probed
from covey.cli.options import Data, Encoding, Format, Json, Parts, StudyFile, Written, complete_algorithms, encoded
from covey.cli.output import console, print_json, require_publishable, table
from covey.errors import Aborted, InputError
from covey.plain import plural

if TYPE_CHECKING:
    from rich.console import Console

    from covey.anonymizers.explain import Explanation
    from covey.option import Value
    from covey.release import Release
    from covey.study import Study
    from covey.summary import Summary


class Order(StrEnum):
    """The order in which the engine writes the rows of a release."""

    CONTENT = "content"
    RANDOM = "random"


_MOST_QUESTIONS = 20


def anonymize(
    study: StudyFile,
    data: Data,
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the release.")],
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help="peel, sequential, mondrian, hilbert or datafly.",
            autocompletion=complete_algorithms,
        ),
    ] = "peel",
    k: Annotated[int | None, typer.Option("--k", min=2, help="Another k than the study's, for a quick look.")] = None,
    l: Annotated[float | None, typer.Option("--l", min=1, help="Another l than the study's.")] = None,  # noqa: E741
    t: Annotated[float | None, typer.Option("--t", min=0, max=1, help="Another t than the study's.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier release in DIR.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what cost most, and what a weaker request would save.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Equal seeds give equal releases.")] = 0,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, help="Units of work for the search; more never makes the release worse."),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option("--effort", metavar="NAME", help="quick, normal or thorough (a minute): how long peel searches."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="The number of cores to use; the release does not depend on it."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the algorithm.")
    ] = None,
    encoding: Encoding = None,
    on_engine: Annotated[
        bool,
        typer.Option(
            "--on-engine",
            help="Leave the rows where they are: on the disk, in DuckDB, for CSV and Parquet that memory cannot hold, "
            "or on a PostgreSQL server. Always so for Spark, and for a folder or a pattern of Parquet files.",
        ),
    ] = False,
    written: Written = Format.CSV,
    parts: Parts = 1,
    order: Annotated[
        Order,
        typer.Option("--order", help="With --format parquet: sort rows by content, or draw their order anew."),
    ] = Order.CONTENT,
    as_json: Json = False,
) -> None:
    """Anonymizes a table that one owner holds; DIR gets release.csv, report.html, summary.json and the study.

    Example: covey anonymize study.toml --data clinic.csv --out out --algorithm mondrian
    """
    from covey.cli.display import ProgressDisplay
    from covey.publish import anonymize as publish
    from covey.publish import require_room
    from covey.sources.folders import is_many
    from covey.sources.writing import SPARK
    from covey.study import Study

    agreed = Study.load(study)
    require_room(folder, force=force)
    options = read_options(algorithm, [*(option or []), *([] if effort is None else [f"effort={effort}"])])
    for sentence in probed(agreed, 1) if algorithm == "peel" else ():
        print(f"covey: {sentence}", file=sys.stderr, flush=True)
    if on_engine or is_many(data) or data.startswith(SPARK):
        _on_engine(
            data, agreed, folder, algorithm, {"--k": k, "--l": l, "--t": t, "--explain": explain or None}, options,
            written=written, parts=parts, order=order, seed=seed, budget=budget, threads=threads, force=force,
            as_json=as_json,
        )  # fmt: skip
        return
    if written is not Format.CSV or order is not Order.CONTENT or parts > 1:
        raise InputError(
            "--format, --parts and --order are for --on-engine; `covey export` writes a release in other formats"
        )
    try:
        with ProgressDisplay() as progress:
            release = publish(
                encoded(data, encoding), agreed, algorithm, seed=seed, budget=budget, threads=threads, explain=explain,
                options=options, progress=progress, k=k, l=l, t=t,
            )  # fmt: skip
            progress("writing the release and its report", 0.95)
            release.save(folder)
    except KeyboardInterrupt:
        raise Aborted("cancelled; nothing was written", resumable=False) from None
    if as_json:
        print_json(_described(release))
    else:
        _render(release, folder)
    require_publishable(release.figures, folder)


def _on_engine(
    data: str,
    study: Study,
    folder: Path,
    algorithm: str,
    unable: dict[str, object],
    options: dict[str, Value],
    *,
    written: Format,
    parts: int,
    order: Order,
    seed: int,
    budget: int | None,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Anonymizes a table whose rows stay in the engine."""
    from covey.cli.display import ProgressDisplay
    from covey.publish_large import anonymize_on_engine

    refused = [name for name, value in unable.items() if value is not None]
    if refused:
        raise InputError(f"{refused[0]} is for tables in memory; write it into the study, or leave out --on-engine")
    try:
        with ProgressDisplay() as progress:
            summary = anonymize_on_engine(
                data, study, folder, algorithm, written=written.value, parts=parts, order=order.value, seed=seed,
                budget=budget, threads=threads, options=options, progress=progress, force=force,
            )  # fmt: skip
    except KeyboardInterrupt:
        raise Aborted("cancelled; nothing was written", resumable=False) from None
    if as_json:
        print_json(summary.describe())
    else:
        render_figures(summary, study)
        name = f"release.{written.value}"
        console().print(f"\nwrote {folder / name}, report.html, summary.json, study.toml", markup=False)
        render_waiting(study, summary)
    require_publishable(summary, folder)


def read_options(algorithm: str, texts: list[str]) -> dict[str, Value]:
    """Reads NAME=VALUE texts as options of the algorithm. Raises InputError that names the one that is wrong."""
    from covey.anonymizers import find

    options = {option.name: option for option in find(algorithm).options}
    values: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in options:
            descriptions = (
                "; ".join(f"{key} (default {option.default}): {option.says}" for key, option in options.items())
                or "none"
            )
            raise InputError(
                f"algorithm {algorithm} has no option {text!r}; its options are NAME=VALUE of {descriptions}"
            )
        try:
            values[name] = options[name].read(value)
        except ValueError as error:
            raise InputError(f"option {error}") from None
    return values


def _described(release: Release) -> dict[str, object]:
    import msgspec

    answer = dict(release.summary)
    if release.explanation is not None:
        answer["explanation"] = msgspec.to_builtins(release.explanation)
    return answer


def render_figures(summary: Summary, study: Study) -> None:
    """Prints the figures of one owner's release."""
    screen = console()
    for line in summary.counted():
        screen.print(line, markup=False, soft_wrap=True)
    diverse = f", l = {summary.l_reached:.3g}" if summary.l is not None else ""
    screen.print(
        f"{plural(summary.rows or 0, 'row')} in {plural(summary.classes or 0, 'class', 'classes')}; the smallest has "
        f"{summary.k_reached:,} (k = {study.privacy.k}){diverse}; {plural(summary.withheld, 'row')} withheld, "
        f"{plural(summary.suppressed_cells or 0, 'cell')} suppressed",
        soft_wrap=True,
    )
    screen.print(f"{summary.algorithm} took {summary.seconds:.1f} s")
    for warning in summary.warnings:
        screen.print(f"note: {warning}", markup=False, soft_wrap=True)


def render_waiting(study: Study, summary: Summary) -> None:
    """Prints the questions of the columns that wait."""
    screen, waiting = console(), study.waiting
    for column in waiting[:_MOST_QUESTIONS]:
        screen.print(f"{column.name} waits: {column.question}".rstrip(" :"), markup=False, soft_wrap=True)
    if len(waiting) > _MOST_QUESTIONS:
        screen.print(f"and {len(waiting) - _MOST_QUESTIONS} more: the study has their questions")
    if waiting and summary.refused is None:
        total, verb = len(study.released) + len(waiting), "waits" if len(waiting) == 1 else "wait"
        screen.print(f"Yes for {len(study.released)} of {total} columns; {len(waiting)} {verb} for you")


def _render(release: Release, folder: Path) -> None:
    screen = console()
    render_figures(release.figures, release.study)
    if release.explanation is not None:
        _render_explanation(screen, release.explanation, [column.name for column in release.study.quasi])
    screen.print(f"\nwrote {folder / 'release.csv'}, report.html, summary.json, study.toml", markup=False)
    render_waiting(release.study, release.figures)


def _render_explanation(screen: Console, explanation: Explanation, names: list[str]) -> None:
    numbers = ("loss", "of all", "exact", "suppressed")
    costs = table(
        ("column", *numbers),
        (
            (column.name, f"{column.loss:.4f}", f"{column.part:.1%}", f"{column.exact:.1%}", f"{column.suppressed:.1%}")
            for column in explanation.columns
        ),
        right=numbers, title="what the columns cost",
    )  # fmt: skip
    largest = table(
        ("records", "of all loss", *names),
        ((f"{group.records:,}", f"{group.part:.1%}", *group.labels) for group in explanation.largest),
        right=("records", "of all loss"), title="the largest classes",
    )  # fmt: skip
    weaker = [
        (alternative.request, f"{alternative.loss:.4f}", f"{alternative.saves:+.4f}")
        for alternative in explanation.alternatives
    ]
    savings = table(
        ("request", "loss", "saves"),
        [("as it is, by the same little effort", f"{explanation.trial:.4f}", ""), *weaker],
        right=("loss", "saves"), title="what asking for less would buy",
    )  # fmt: skip
    for part in (costs, largest, savings):
        screen.print()
        screen.print(part)
