"""`covey bench`: the comparison that a sceptic wants, and the papers' figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli import complete
from covey.errors import Aborted, InputError

if TYPE_CHECKING:
    from covey.bench.dataset import Stage
    from covey.bench.findings import Chapter, Setting


_ADULT_PLACES = ("adult", "../shared/data/adult")
_ALLOWANCE, _QUICK_ALLOWANCE = 12.0, 3.0


def bench(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=complete.experiments,
            help="cluster, columns, peel, generalize, suppress, federate, collect: a paper's figures; or papers: all.",
        ),
    ] = None,
    study: Annotated[
        Path | None, typer.Option("--study", metavar="STUDY", help="Compare on this study's data, not on the sample.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="PARTY=DATA", help="A party's data; once per party.")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="DATA", help="One table, dealt to the study's parties.")
    ] = None,
    k: Annotated[list[int] | None, typer.Option("--k", min=2, help="A k to try; may be given again.")] = None,
    adult: Annotated[
        Path | None,
        typer.Option("--adult", metavar="DIR", help="Adult, as `covey data fetch adult` leaves it."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller tables, fewer points.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Run every protocol at every k, however long.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="For bench.html and bench.json.")] = Path(
        "bench-out"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Compares every protocol, every centralized algorithm, and each owner alone, on one table.

    Without NAME, on three hospitals that ship or on a study of yours. With NAME, the figures of a protocol's paper.

    Examples: covey bench; covey bench papers --quick; covey bench --study study.toml --table all.csv --k 5 --k 11
    """
    from covey.bench import page

    given = study is not None or bool(data) or table is not None or bool(k) or full
    if name is not None and given:
        raise InputError(f"--study, --data, --table, --k and --full are for a comparison; `covey bench {name}` is none")
    began = time.monotonic()

    def tell(sentence: str) -> None:
        typer.echo(f"{time.monotonic() - began:5.0f} s  {sentence}", err=True)

    try:
        if name is None:
            stage = _stage(study, data or [], table)
            found = [_compared(stage, tuple(k or ()), quick, full, tell)]
            title = f"{stage.name}: what each way of anonymizing loses"
        else:
            found = _papers(name, _setting(adult, quick, tell))
            title = "What the papers claim, and what we found" if name == "papers" else f"{name}: claims and figures"
    except KeyboardInterrupt:
        raise Aborted("interrupted; nothing was written", resumable=False) from None
    page.save(out, title, found)
    if as_json:
        typer.echo(page.as_json(found))
    else:
        _render(found, out)


def _stage(study: Path | None, data: list[str], table: str | None) -> Stage:
    from covey.bench import dataset as datasets
    from covey.cli.simulate import parties_data
    from covey.study import Study

    if study is None:
        if data or table is not None:
            raise InputError("--data and --table need the study that they belong to: add --study STUDY")
        return datasets.sample()
    agreed = Study.load(study)
    if (table is None) == (not data):
        raise InputError("give either --data PARTY=DATA for each party, or --table DATA to deal one table to them")
    return datasets.stage(agreed, parties_data(data)) if table is None else datasets.of_table(agreed, table)


def _compared(stage: Stage, ks: Sequence[int], quick: bool, full: bool, tell: Callable[[str], None]) -> Chapter:
    from covey.bench import compare
    from covey.bench.findings import Chapter

    begun = time.perf_counter()
    allowance = float("inf") if full else _QUICK_ALLOWANCE if quick else _ALLOWANCE
    asked = tuple(sorted(set(ks))) or (compare.QUICK_KS if quick else compare.KS)
    findings = compare.compare(stage, asked, allowance=allowance, tell=tell)
    about = "Every protocol, every centralized algorithm, and each owner alone, on the same people."
    return Chapter("compare", about, "", findings, time.perf_counter() - begun)


def _setting(adult: Path | None, quick: bool, tell: Callable[[str], None]) -> Setting:
    from covey.bench.findings import Setting

    if adult is not None and not (adult / "adult.csv").is_file():
        raise InputError(f"{adult}: has no adult.csv; `covey data fetch adult --out {adult}` puts one there")
    places = [adult] if adult is not None else [Path(place) for place in _ADULT_PLACES]
    return Setting(quick, next((place for place in places if (place / "adult.csv").is_file()), None), tell)


def _papers(name: str, setting: Setting) -> list[Chapter]:
    from covey.bench import papers

    return list(papers.chapters(name, setting))


def _render(found: Sequence[Chapter], out: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from covey.bench.page import FIGURES, PAGE, spell

    console = Console(highlight=False)
    for chapter in found:
        console.print(f"\n[bold]{chapter.name}[/bold], {chapter.seconds:.0f} s")
        for grid in (each for each in chapter.findings.tables if not each.long):
            shown = Table(title=Text(grid.title), title_justify="left", box=None, pad_edge=False, header_style="bold")
            for place, head in enumerate(grid.head):
                numeric = any(isinstance(row[place], int | float) for row in grid.rows)
                shown.add_column(Text(head), justify="right" if numeric else "left")
            for row in grid.rows:
                shown.add_row(*(Text(spell(cell)) for cell in row))
            console.print(shown)
        for claim in chapter.findings.claims:
            console.print(Text(f"{claim.holds:>9}  {claim.where}: {claim.says} Found: {claim.found}"))
        for note in chapter.findings.notes:
            console.print(Text(f"note: {note}"), soft_wrap=True)
    console.print(f"\nwrote {out / PAGE}, with pictures, and {out / FIGURES}", markup=False)
