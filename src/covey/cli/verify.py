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
    found = judge(release, agreed, original, by_party("--provider", provider or []))
    reached = next((each.reached for each in found.requirements if each.name == "k"), None)
    if isinstance(signed_k := signed.get("k_reached"), int) and reached != signed_k:
        raise Unmet(f"{certificate}: the parties signed k = {signed_k}, the release has {reached}")
    if as_json:
        typer.echo(found.to_json())
    else:
        _render(found)
        loss = signed.get("loss")
        if found.answer and isinstance(loss, dict) and isinstance(lm := loss.get("lm"), float):
            typer.echo(f"signed loss: lm {lm:.4g}, with every row that was withheld as lost in full")
    if not found.answer:
        raise Unmet(found.sentence())


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


def _render(found: Verdict) -> None:
    from rich.text import Text

    shown = console()
    answer = Text("yes", "bold green") if found.answer else Text("no", "bold red")
    shown.print(Text.assemble(answer, f"  {found.release} under study {found.study!r}"))
    counted = found.singled_out.sentence()
    shown.print(f"{counted[0].upper()}{counted[1:]}.", markup=False)
    shown.print(
        f"{plural(found.rows, 'row')} in {plural(found.classes, 'class', 'classes')}; "
        f"{plural(found.suppressed_rows, 'row')} and {plural(found.suppressed_cells, 'cell')} suppressed\n"
    )
    shown.print(_requirements(found.requirements))
    if found.diversity:
        shown.print()
        for part in _diversity(found.diversity):
            shown.print(part)
    shown.print()
    shown.print(_risk(found.risk))
    _print_loss(shown, found)
    for note in found.notes:
        shown.print(f"\nnote: {note}", markup=False)


def _requirements(requirements: tuple[Requirement, ...]) -> Table:
    rows = [
        (
            (each.name if each.column is None else f"{each.name} of {each.column}") + each.detail,
            each.bound, _figure(each.asked), _figure(each.reached), verdict(each.met),
        )
        for each in requirements
    ]  # fmt: skip
    return table(("the study asks", "", "", "reached", ""), rows, right=("reached",))


def _diversity(found: tuple[Diversity, ...]) -> tuple[Table, Table]:
    """l and t of each sensitive column; two tables, which are not too wide for a terminal."""
    diverse, near = ("distinct", "frequency", "entropy", "recursive"), ("equal", "ordered", "hierarchy")
    of_l = [
        (
            each.column, *map(_figure, (each.distinct, each.frequency, each.entropy)),
            f"{each.recursive} (c = {each.c:g})",
        )
        for each in found
    ]  # fmt: skip
    of_t = [(each.column, *map(_figure, (each.t_equal, each.t_ordered, each.t_hierarchy))) for each in found]
    return (
        table(("l in the worst class", *diverse), of_l, right=diverse),
        table(("t in the worst class", *near), of_t, right=near),
    )


def _risk(risk: Risks) -> Table:
    numbers = ("highest", "average", "rows above 1/k")
    rows = [
        (name, _figure(each.highest), _figure(each.average), f"{each.at_risk:.2%}")
        for name, each in (("prosecutor", risk.prosecutor), ("journalist", risk.journalist))
    ]
    return table(
        (f"risk among {risk.population}", *numbers),
        [*rows, ("marketer", "", _figure(risk.marketer), "")],
        right=numbers,
    )


def _print_loss(shown: Console, verdict: Verdict) -> None:
    loss = verdict.loss
    parts = {
        "lm": loss.lm, "em": loss.em, "em-monotone": loss.em_monotone, "entropy": loss.entropy,
        "precision": loss.precision, "dm": loss.dm, "c_avg": loss.c_avg,
        **{f"cm of {column}": count for column, count in loss.cm.items()},
    }  # fmt: skip
    if verdict.answer:
        spelled = ", ".join(f"{name} {_figure(value)}" for name, value in parts.items())
        shown.print(f"\nkept {verdict.kept:.3f} of 1; loss over the quasi columns: {spelled}", markup=False)
    if verdict.original is not None:
        found = verdict.original
        shown.print(
            f"\nagainst the original: {plural(found.rows, 'row')}, {found.withheld:,} withheld, {found.dropped:,} "
            f"dropped for missing values; {found.unmatched:,} released rows have no original of their own"
        )
        shown.print(f"{found.linked:.2%} of its rows have exact cells, one or two, that one released row alone has")
    elif verdict.answer:
        shown.print("(-: needs the original's frequencies; what was withheld is not in the file: give --original)")


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
