"""The end of a run: for programs as JSON, for people in a few lines."""

from __future__ import annotations

from pathlib import Path

import typer

from covey.cli import output
from covey.errors import Unmet
from covey.plain import plural
from covey.sizes import spell
from covey.summary import Summary


def render(summary: Summary, out: Path, *, as_json: bool = False, with_ledger: bool = True) -> None:
    """Prints what was released, what it cost, what was learned, and where everything is."""
    from covey.party.record.reporting import facts_of
    from covey.secure.declare import rounded, tell

    if as_json:
        typer.echo(summary.spell().decode().rstrip())
        return
    for line in summary.counted():
        typer.echo(line)
    if summary.release_sha256 is not None:
        typer.echo(_released(summary))
    else:
        typer.echo("The run is finished; the release went to others.")
    cost = f"{summary.seconds or 0:.1f} s, {plural(summary.rounds or 0, 'round')} and {spell(summary.bytes or 0)}"
    typer.echo(f"It took {cost} among all parties.")
    if with_ledger:
        typer.echo("")
        for line in tell(facts_of(out, summary), len(summary.parties), output.width(), "What {} learned:", rounded):
            typer.echo(line)
        typer.echo("")
    typer.echo(f"Everything is in {out}: begin with report.html")


def require_publishable(summary: Summary, out: Path) -> None:
    """Raises Unmet, once all is written and printed, for a release that may not be published."""
    if summary.refused is not None:
        raise Unmet(f"{out}: no, do not publish this: {summary.refused}")


def _released(summary: Summary) -> str:
    classes = plural(summary.classes or 0, "class", "classes")
    left_out = f", {summary.withheld:,} withheld" if summary.withheld else ""
    diversity = f", l = {summary.l_reached:.3g}" if summary.l_reached is not None else ""
    insider = f", insider k = {summary.insider_k}" if summary.insider_k is not None else ""
    return (
        f"Released: {plural(summary.rows or 0, 'row')} in {classes}{left_out}; the smallest has "
        f"{summary.k_reached:,} (k = {summary.k}){insider}{diversity}."
    )
