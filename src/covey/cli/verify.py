"""`covey verify`: what a release keeps, recomputed from the files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.errors import InputError, Unmet

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from covey.judge import Diversity, Requirement, Risks, Verdict
    from covey.study import Study


def verify(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="The released table: CSV, Parquet, postgres://…")],
    study: Annotated[str, typer.Option("--study", metavar="STUDY", help="The study that it was released under.")],
    original: Annotated[
        str | None,
        typer.Option("--original", metavar="DATA", help="The table before, to match every row with its own."),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider",
            metavar="PARTY=DATA",
            help="A provider's own table: how many of its users are in the release? (delta; once for each)",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="The run's certificate.json: does it vouch for this release?"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Recomputes k, l, t, risks and every loss of a release from the files alone; exit 1 if it falls short.

    Example: covey verify out/release.csv --study study.toml --original clinic.csv
    """
    from covey.judge import verify as judge
    from covey.study import Study

    agreed = Study.load(study)
    signed_k = None
    if certificate is not None:
        signed_k = _require_certificate(certificate, release, agreed, quiet=as_json)
        if _is_of_counts(agreed):
            typer.echo(json.dumps({"answer": True}) if as_json else "yes  a table of counts that the parties signed")
            return
    verdict = judge(release, agreed, original, _tables(provider or []))
    reached = next((each.reached for each in verdict.requirements if each.name == "k"), None)
    if signed_k is not None and reached != signed_k:
        raise Unmet(f"{certificate}: the parties signed k = {signed_k}, the release has {reached}")
    if as_json:
        typer.echo(verdict.to_json())
    else:
        _render(verdict)
    if not verdict.answer:
        raise Unmet(verdict.sentence())


def _tables(given: list[str]) -> dict[str, str]:
    tables: dict[str, str] = {}
    for pair in given:
        name, equals, data = pair.partition("=")
        if not equals or not name or not data or name in tables:
            raise InputError(f"--provider {pair!r}: write it PARTY=DATA, each party once")
        tables[name] = data
    return tables


def _is_of_counts(study: Study) -> bool:
    from covey.protocols import named

    return study.protocol is not None and named(study.protocol)[0].release == "counts"


def _require_certificate(path: Path, release: str, study: Study, *, quiet: bool) -> int | None:
    """The k that the parties signed. Raises Unmet unless they signed that this release came out of this study."""
    from covey.party.record.signatures import vouch

    vouched = vouch(path, release, study)
    if vouched.wrong:
        raise Unmet(f"{path}: {vouched.wrong[0]}")
    if not quiet:
        for name, fingerprint in vouched.fingerprints.items():
            typer.echo(f"signed by {name}: {fingerprint}")
    signed = vouched.certificate.b or {}
    k = signed.get("k_reached")
    return k if isinstance(k, int) else None


def _render(verdict: Verdict) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    answer = Text("yes", "bold green") if verdict.answer else Text("no", "bold red")
    console.print(Text.assemble(answer, f"  {verdict.release} under study {verdict.study!r}"))
    console.print(
        f"{verdict.rows:,} rows in {verdict.classes:,} classes; {verdict.suppressed_rows:,} rows and "
        f"{verdict.suppressed_cells:,} cells suppressed\n"
    )
    console.print(_asked(verdict.requirements))
    if verdict.diversity:
        console.print()
        console.print(_diversity(verdict.diversity))
    console.print()
    console.print(_risk(verdict.risk))
    _print_loss(console, verdict)
    for note in verdict.notes:
        console.print(f"\nnote: {note}", markup=False)


def _asked(requirements: tuple[Requirement, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("the study asks", "", "", "reached", ""):
        table.add_column(heading, justify="right" if heading == "reached" else "left")
    for each in requirements:
        name = each.name if each.column is None else f"{each.name} of {each.column}"
        met = Text("ok", "green") if each.met else Text("no", "red")
        table.add_row(Text(name + each.detail), each.bound, _figure(each.asked), _figure(each.reached), met)
    return table


def _diversity(found: tuple[Diversity, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("worst class")
    for heading in ("l distinct", "frequency", "entropy", "recursive", "t equal", "ordered", "hierarchy"):
        table.add_column(heading, justify="right")
    for each in found:
        table.add_row(
            Text(each.column),
            _figure(each.distinct),
            _figure(each.frequency),
            _figure(each.entropy),
            f"{each.recursive} (c = {each.c:g})",
            *map(_figure, (each.t_equal, each.t_ordered, each.t_hierarchy)),
        )
    return table


def _risk(risk: Risks) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"risk among {risk.population}")
    for heading in ("highest", "average", "rows above 1/k"):
        table.add_column(heading, justify="right")
    for name, each in (("prosecutor", risk.prosecutor), ("journalist", risk.journalist)):
        table.add_row(name, _figure(each.highest), _figure(each.average), f"{each.at_risk:.2%}")
    table.add_row("marketer", "", _figure(risk.marketer), "")
    return table


def _print_loss(console: Console, verdict: Verdict) -> None:
    loss = verdict.loss
    parts = {
        "lm": loss.lm, "em": loss.em, "em-monotone": loss.em_monotone, "entropy": loss.entropy,
        "precision": loss.precision, "dm": loss.dm, "c_avg": loss.c_avg,
        **{f"cm of {column}": count for column, count in loss.cm.items()},
    }  # fmt: skip
    console.print("\nloss: " + ", ".join(f"{name} {_figure(value)}" for name, value in parts.items()), markup=False)
    if verdict.original is not None:
        found = verdict.original
        console.print(
            f"\nagainst the original: {found.rows:,} rows, {found.withheld:,} withheld, {found.dropped:,} dropped for "
            f"missing values; {found.unmatched:,} released rows have no original of their own"
        )
    elif loss.em is None:
        console.print("(-: needs the original's frequencies; give --original)")


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
