"""`covey verify`: recomputes from the files alone what a release keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, by_party
from covey.cli.output import console, print_json, table, verdict
from covey.errors import Unmet
from covey.plain import plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from covey.judge import Diversity, Requirement, Risks, Verdict
    from covey.study import Study


def verify(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="The released table: CSV, Parquet, postgres://…")],
    study: Annotated[str, typer.Option("--study", metavar="STUDY", help="The study under which it was released.")],
    original: Annotated[
        str | None,
        typer.Option(
            "--original", metavar="DATA", help="The original table, to match every released row with its original."
        ),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider",
            metavar="PARTY=DATA",
            help="A provider's table, to compute delta, the share of its users in the release; once for each provider.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="The run's certificate.json, to check that the parties signed this release.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recomputes k, l, t, risks and every loss of a release from the files alone; exit 1 if it falls short.

    Example: covey verify out/release.csv --study study.toml --original clinic.csv
    """
    from covey.judge import verify as judge
    from covey.study import Study

    agreed = Study.load(study)
    signed: Mapping[str, object] = {}
    if certificate is not None:
        signed = _require_certificate(certificate, release, agreed, quiet=as_json)
        if _is_of_counts(agreed):
            if as_json:
                print_json({"answer": True})
            else:
                typer.echo("yes  a table of counts that the parties signed")
            return
    judgement = judge(release, agreed, original, by_party("--provider", provider or []))
    k_reached = next((requirement.reached for requirement in judgement.requirements if requirement.name == "k"), None)
    if isinstance(signed_k := signed.get("k_reached"), int) and k_reached != signed_k:
        raise Unmet(f"{certificate}: the parties signed k = {signed_k}, the release has {k_reached}")
    if as_json:
        typer.echo(judgement.to_json())
    else:
        _render(judgement)
        loss = signed.get("loss")
        if judgement.answer and isinstance(loss, dict) and isinstance(lm := loss.get("lm"), float):
            typer.echo(f"signed loss: lm {lm:.4g}, with every row that was withheld as lost in full")
    if not judgement.answer:
        raise Unmet(judgement.sentence())


def _is_of_counts(study: Study) -> bool:
    from covey.protocols import named

    return study.protocol is not None and named(study.protocol)[0].release == "counts"


def _require_certificate(path: Path, release: str, study: Study, *, quiet: bool) -> Mapping[str, object]:
    """The figures that the parties signed. Raises Unmet unless they signed that this release came out of this study."""
    from covey.party.record.signatures import vouch

    vouched = vouch(path, release, study)
    if vouched.wrong:
        raise Unmet(f"{path}: {vouched.wrong[0]}")
    if not quiet:
        for name, fingerprint in vouched.fingerprints.items():
            typer.echo(f"signed by {name}: {fingerprint}")
    signed = vouched.certificate.b or {}
    if not quiet and signed.get("insider_k") is not None:
        typer.echo(f"signed insider k: {signed['insider_k']} records of others, or none, in each class for each party")
    stated = vouched.certificate.a.get("rows")
    if not quiet and isinstance(stated, dict):
        typer.echo("signed row counts: " + ", ".join(f"{name} {rows:,}" for name, rows in stated.items()))
    return signed


def _render(judgement: Verdict) -> None:
    from rich.text import Text

    screen = console()
    answer = Text("yes", "bold green") if judgement.answer else Text("no", "bold red")
    screen.print(Text.assemble(answer, f"  {judgement.release} under study {judgement.study!r}"))
    counted = judgement.singled_out.sentence()
    screen.print(f"{counted[0].upper()}{counted[1:]}.", markup=False)
    screen.print(
        f"{plural(judgement.rows, 'row')} in {plural(judgement.classes, 'class', 'classes')}; "
        f"{plural(judgement.suppressed_rows, 'row')} and {plural(judgement.suppressed_cells, 'cell')} suppressed\n"
    )
    screen.print(_requirements(judgement.requirements))
    if judgement.diversity:
        screen.print()
        for part in _diversity(judgement.diversity):
            screen.print(part)
    screen.print()
    screen.print(_risk(judgement.risk))
    _print_loss(screen, judgement)
    for note in judgement.notes:
        screen.print(f"\nnote: {note}", markup=False)


def _requirements(requirements: tuple[Requirement, ...]) -> Table:
    rows = [
        (
            _name(requirement),
            requirement.bound, _figure(requirement.asked), _figure(requirement.reached), verdict(requirement.met),
        )
        for requirement in requirements
    ]  # fmt: skip
    return table(("the study asks", "", "", "reached", ""), rows, right=("reached",))


def _name(requirement: Requirement) -> str:
    column = "" if requirement.column is None else f" of {requirement.column}"
    return f"{requirement.name}{column}{requirement.detail}"


def _diversity(columns: tuple[Diversity, ...]) -> tuple[Table, Table]:
    """l and t of each sensitive column, in two tables."""
    diverse, closeness = ("distinct", "frequency", "entropy", "recursive"), ("equal", "ordered", "hierarchy")
    of_l = [
        (
            column.column, *map(_figure, (column.distinct, column.frequency, column.entropy)),
            f"{column.recursive} (c = {column.c:g})",
        )
        for column in columns
    ]  # fmt: skip
    of_t = [
        (column.column, *map(_figure, (column.t_equal, column.t_ordered, column.t_hierarchy))) for column in columns
    ]
    return (
        table(("l in the worst class", *diverse), of_l, right=diverse),
        table(("t in the worst class", *closeness), of_t, right=closeness),
    )


def _risk(risk: Risks) -> Table:
    numbers = ("highest", "average", "rows above 1/k")
    rows = [
        (name, _figure(figures.highest), _figure(figures.average), f"{figures.at_risk:.2%}")
        for name, figures in (("prosecutor", risk.prosecutor), ("journalist", risk.journalist))
    ]
    return table(
        (f"risk among {risk.population}", *numbers),
        [*rows, ("marketer", "", _figure(risk.marketer), "")],
        right=numbers,
    )


def _print_loss(screen: Console, verdict: Verdict) -> None:
    loss = verdict.loss
    parts = {
        "lm": loss.lm, "em": loss.em, "em-monotone": loss.em_monotone, "entropy": loss.entropy,
        "precision": loss.precision, "dm": loss.dm, "c_avg": loss.c_avg,
        **{f"cm of {column}": count for column, count in loss.cm.items()},
    }  # fmt: skip
    if verdict.answer:
        spelled = ", ".join(f"{name} {_figure(value)}" for name, value in parts.items())
        screen.print(f"\nkept {verdict.kept:.3f} of 1; loss over the quasi columns: {spelled}", markup=False)
    if verdict.original is not None:
        matching = verdict.original
        screen.print(
            f"\nagainst the original: {plural(matching.rows, 'row')}, {matching.withheld:,} withheld, "
            f"{matching.dropped:,} dropped for missing values; "
            f"{matching.unmatched:,} released rows have no original of their own"
        )
        screen.print(f"{matching.linked:.2%} of its rows have exact cells, one or two, that one released row alone has")
    elif verdict.answer:
        screen.print("(-: needs the original's frequencies; what was withheld is not in the file: give --original)")


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
