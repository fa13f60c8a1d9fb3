"""`covey anonymize`: one owner's table, by a centralized algorithm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from covey.cli import complete
from covey.errors import Aborted, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from covey.anonymizers.explain import Explanation
    from covey.publish import Release


def anonymize(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study file.")],
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="A CSV or Parquet file, or postgres://…")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the release.")],
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help="peel, sequential, mondrian, hilbert or datafly.",
            autocompletion=complete.algorithms,
        ),
    ] = "peel",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what cost most, and what asking for less would buy.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Equal seeds give equal releases.")] = 0,
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, help="Work units for the search; more is never worse.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Cores to use; the release does not depend on it.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the algorithm's own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Anonymizes a table that one owner holds: release.csv, report.html, summary.json and the study, in DIR.

    Example: covey anonymize study.toml --data clinic.csv --out out --algorithm mondrian
    """
    from covey.cli.waiting import Waiting
    from covey.publish import anonymize as publish
    from covey.study import Study

    agreed = Study.load(study)
    options = read_options(algorithm, option or [])
    try:
        with Waiting() as progress:
            release = publish(
                data, agreed, algorithm, seed=seed, budget=budget, threads=threads, explain=explain, options=options,
                progress=progress,
            )  # fmt: skip
        release.save(out)
    except KeyboardInterrupt:
        raise Aborted("cancelled; nothing was written", resumable=False) from None
    if as_json:
        typer.echo(_as_json(release))
    else:
        _render(release, out)


def read_options(algorithm: str, given: list[str]) -> dict[str, object]:
    """`NAME=VALUE` texts as the algorithm's own options. Raises InputError that names the one that is wrong."""
    from covey.anonymizers import find

    known = find(algorithm).options
    found: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            listed = "; ".join(f"{key} (default {own.default}): {own.says}" for key, own in known.items()) or "none"
            raise InputError(f"algorithm {algorithm} has no option {text!r}; its options are NAME=VALUE of {listed}")
        found[name] = known[name].read(name, value)
    return found


def _as_json(release: Release) -> str:
    import msgspec

    answer = dict(release.summary)
    if release.explanation is not None:
        answer["explanation"] = msgspec.to_builtins(release.explanation)
    return json.dumps(answer, indent=2, ensure_ascii=False)


def _render(release: Release, out: Path) -> None:
    from rich.console import Console

    console, said = Console(highlight=False), release.summary
    asked = release.study.privacy
    diverse = f", l = {said['l_reached']:.3g}" if asked.l is not None else ""
    console.print(
        f"{said['rows']:,} rows in {said['classes']:,} classes; the smallest has {said['k_reached']:,} (k = {asked.k})"
        f"{diverse}; {said['withheld']:,} rows withheld, {said['suppressed_cells']:,} cells suppressed",
        soft_wrap=True,
    )
    loss = release.loss
    console.print(f"loss: lm {loss.lm:.4f}, em {loss.em:.4f}, dm {loss.dm:,}, c_avg {loss.c_avg:.3f}")
    console.print(f"{said['algorithm']} took {said['seconds']:.1f} s")
    for warning in cast("list[str]", said["warnings"]):
        console.print(f"note: {warning}", markup=False, soft_wrap=True)
    if release.explanation is not None:
        _render_explanation(console, release.explanation, [column.name for column in release.study.quasi])
    console.print(f"\nwrote {out / 'release.csv'}, report.html, summary.json, study.toml", markup=False)


def _render_explanation(console: Console, why: Explanation, names: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    columns = Table(title="what the columns cost", title_justify="left", box=None, pad_edge=False, header_style="bold")
    columns.add_column("column")
    for heading in ("loss", "of all", "exact", "suppressed"):
        columns.add_column(heading, justify="right")
    for each in why.columns:
        columns.add_row(
            Text(each.name), f"{each.loss:.4f}", f"{each.part:.1%}", f"{each.exact:.1%}", f"{each.suppressed:.1%}"
        )
    largest = Table(title="the largest classes", title_justify="left", box=None, pad_edge=False, header_style="bold")
    largest.add_column("records", justify="right")
    largest.add_column("of all loss", justify="right")
    for name in names:
        largest.add_column(Text(name))
    for own in why.largest:
        largest.add_row(f"{own.records:,}", f"{own.part:.1%}", *(Text(label) for label in own.labels))
    less = Table(title="what asking for less would buy", title_justify="left", box=None, pad_edge=False)
    less.add_column("request")
    less.add_column("loss", justify="right")
    less.add_column("saves", justify="right")
    less.add_row("as it is, by the same little effort", f"{why.trial:.4f}", "")
    for other in why.alternatives:
        less.add_row(Text(other.request), f"{other.loss:.4f}", f"{other.saves:+.4f}")
    for part in (columns, largest, less):
        console.print()
        console.print(part)
