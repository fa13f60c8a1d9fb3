"""`covey check`: is this data fit for the study?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from covey.errors import InputError, Unmet

if TYPE_CHECKING:
    from covey.check import Fitness

_SHOWN = 20


def check(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study file.")],
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="A CSV or Parquet file, or postgres://…")],
    party: Annotated[str | None, typer.Option("--as", metavar="PARTY", help="Which party holds this data.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Is this data fit for the study: schema, values missing from a hierarchy, columns that identify, local risk.

    Example: covey check study.toml --as north --data north.csv
    """
    from covey.check import check as examine
    from covey.sources import connect
    from covey.study import Study

    agreed = Study.load(study)
    if party is not None:
        agreed.party(party)
    elif agreed.partition == "vertical":
        raise InputError("say whose data it is with --as PARTY: each party holds other columns in a vertical study")
    fitness = examine(agreed, connect(data), party)
    if as_json:
        typer.echo(json.dumps({"fit": fitness.fit, **asdict(fitness)}, indent=2, ensure_ascii=False))
    else:
        _render(fitness, agreed.privacy.k)
    if not fitness.fit:
        named = "; ".join(f"column {column.name!r}: {column.problem}" for column in fitness.columns if column.problem)
        raise Unmet(f"{fitness.source} is not fit for the study: {named}")


def _render(fitness: Fitness, k: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "role"):
        table.add_column(heading)
    for heading in ("values", "missing", "unknown"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for column in fitness.columns:
        verdict = Text("no", "red") if column.problem else Text("ok", "green")
        counts = (f"{column.distinct:,}", f"{column.missing:,}", f"{len(column.unknown):,}")
        table.add_row(Text(column.name), column.role, *counts, verdict)
    console.print(f"{fitness.source}: {fitness.rows:,} rows", markup=False)
    console.print(table)
    for column in fitness.columns:
        if column.problem:
            console.print(f"\n{column.name}: {column.problem}", markup=False, style="red")
            for value, rows in list(column.unknown.items())[:_SHOWN]:
                console.print(f"  {value!r} in {rows:,} rows", markup=False)
            if len(column.unknown) > _SHOWN:
                console.print(f"  and {len(column.unknown) - _SHOWN:,} more; --json lists them all")
    if fitness.dropped:
        console.print(f'\n{fitness.dropped:,} rows are dropped: a column with missing = "drop" has no value there')
    if fitness.risk is not None:
        risk = fitness.risk
        console.print(
            f"\nbefore anonymization {risk.unique:,} records are unique in their quasi columns and {risk.below_k:,} "
            f"share them with fewer than {k}; the most exposed one is singled out with probability {risk.highest:.2g}"
        )
    if fitness.ignored:
        console.print(f"\nnot in the study, never read: {', '.join(fitness.ignored)}", markup=False)
    for note in fitness.notes:
        console.print(f"\nnote: {note}", markup=False)
    console.print("\nfit for the study" if fitness.fit else "\nnot fit for the study", style="bold")
