"""The end of a run, in a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from covey.cli.display import size


def render(summary: Mapping[str, object], out: Path) -> None:
    """What was released, what it cost, where it is."""
    if "release_sha256" in summary:
        typer.echo(_released(summary))
    else:
        typer.echo("The run is finished; the release went to others.")
    seconds, rounds = summary["seconds"], summary["rounds"]
    typer.echo(f"It took {seconds} s, {rounds} rounds and {size(_number(summary['bytes']))} among all parties.")
    ledger = summary.get("ledger")
    if isinstance(ledger, list):
        typer.echo("What was learned:")
        for sentence in ledger:
            typer.echo(f"  {sentence}")
    typer.echo(f"Everything is in {out}: begin with report.html")


def _released(summary: Mapping[str, object]) -> str:
    withheld = summary.get("withheld")
    left_out = f", {withheld:,} withheld" if isinstance(withheld, int) and withheld else ""
    diversity = f", l = {_number(summary['l_reached']):.3g}" if summary.get("l_reached") is not None else ""
    loss = summary.get("loss")
    lm = loss.get("lm") if isinstance(loss, Mapping) else None
    cost = f"; loss (lm) {lm:.4f}" if isinstance(lm, float) else ""
    return (
        f"Released: {summary['rows']:,} rows in {summary['classes']:,} classes{left_out}; the smallest has "
        f"{summary['k_reached']:,} (k = {summary['k']}){diversity}{cost}."
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
