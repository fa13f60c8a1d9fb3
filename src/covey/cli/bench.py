"""`covey bench`: compares protocols and algorithms on one table, and judges the papers' claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, PartyTables, WholeTable, by_party, complete_experiments, require_one_kind
from covey.cli.output import console, fitted
from covey.cli.output import table as show_table
from covey.errors import Aborted, InputError, Unmet

if TYPE_CHECKING:
    from covey.bench.dataset import Dataset
    from covey.bench.findings import Chapter, Setting


_ADULT_PLACES = ("adult", "../shared/data/adult")
_ALLOWANCE, _QUICK_ALLOWANCE = 12.0, 3.0


def bench(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=complete_experiments,
            help="An experiment: cluster, columns, worlds, peel, generalize, suppress, federate, collect; or papers: "
            "all of them.",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option("--study", metavar="STUDY", help="Compare on this study's data instead of the sample."),
    ] = None,
    data: PartyTables = None,
    table: WholeTable = None,
    k: Annotated[list[int] | None, typer.Option("--k", min=2, help="A k to try; may be given several times.")] = None,
    adult: Annotated[
        Path | None,
        typer.Option("--adult", metavar="DIR", help="The folder with Adult, as `covey data fetch adult` leaves it."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use smaller tables and fewer points.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Run every protocol at every k, however long it takes.")] = False,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for bench.html and bench.json.")
    ] = Path("bench-out"),
    as_json: Json = False,
) -> None:
    """Compares every protocol, every centralized algorithm, and each owner alone, on one table.

    Without NAME, on three hospitals that ship or on a study of yours. With NAME, the figures of a protocol's paper.

    Examples: covey bench; covey bench papers --quick; covey bench --study study.toml --table all.csv --k 5 --k 11
    """
    from covey.bench import page, papers

    comparing = study is not None or bool(data) or table is not None or bool(k) or full
    if name is not None and comparing:
        raise InputError(f"--study, --data, --table, --k and --full are for a comparison; `covey bench {name}` is none")
    began = time.monotonic()

    def tell(sentence: str) -> None:
        typer.echo(f"{time.monotonic() - began:5.0f} s  {sentence}", err=True)

    try:
        if name is None:
            dataset = _dataset(study, data or [], table)
            chapters = [_compared(dataset, tuple(k or ()), quick, full, tell)]
            title = f"{dataset.name}: what each way of anonymizing loses"
        else:
            chapters = []
            title = "What the papers claim, and what we found" if name == papers.ALL else f"{name}: claims and figures"
            for chapter in papers.chapters(name, _setting(adult, quick, tell)):
                chapters.append(chapter)
                page.save(folder, title, chapters)
    except KeyboardInterrupt:
        raise Aborted("interrupted; chapters that had ended are written", resumable=False) from None
    page.save(folder, title, chapters)
    if as_json:
        typer.echo(page.as_json(chapters))
    else:
        _render(chapters, folder)
    failed = [
        chapter.name for chapter in chapters if any(note.startswith(papers.FAILED) for note in chapter.findings.notes)
    ]
    if failed:
        raise Unmet(f"chapters that failed: {', '.join(failed)}; their notes in {folder} say why")


def _dataset(study: Path | None, data: list[str], table: str | None) -> Dataset:
    from covey.bench import dataset as datasets
    from covey.study import Study

    if study is None:
        if data or table is not None:
            raise InputError("--data and --table need the study that they belong to: add --study STUDY")
        return datasets.sample()
    agreed = Study.load(study)
    require_one_kind(data, table)
    return datasets.of_table(agreed, table) if table else datasets.of_parties(agreed, by_party("--data", data))


def _compared(data: Dataset, ks: Sequence[int], quick: bool, full: bool, tell: Callable[[str], None]) -> Chapter:
    from covey.bench import compare
    from covey.bench.findings import Chapter

    start = time.perf_counter()
    allowance = float("inf") if full else _QUICK_ALLOWANCE if quick else _ALLOWANCE
    thresholds = tuple(sorted(set(ks))) or (compare.QUICK_KS if quick else compare.KS)
    findings = compare.compare(data, thresholds, allowance=allowance, tell=tell)
    subject = "Every protocol, every centralized algorithm, and each owner alone, on the same people."
    return Chapter("compare", subject, "", findings, time.perf_counter() - start)


def _setting(adult: Path | None, quick: bool, tell: Callable[[str], None]) -> Setting:
    from covey.bench.findings import Setting

    if adult is not None and not (adult / "adult.csv").is_file():
        raise InputError(f"{adult}: has no adult.csv; `covey data fetch adult --out {adult}` puts one there")
    folders = [adult] if adult is not None else [Path(folder) for folder in _ADULT_PLACES]
    return Setting(quick, next((folder for folder in folders if (folder / "adult.csv").is_file()), None), tell)


def _render(chapters: Sequence[Chapter], folder: Path) -> None:
    from rich.text import Text

    from covey.bench.page import FIGURES, PAGE, spell

    screen = console()
    for chapter in chapters:
        screen.print(f"\n[bold]{chapter.name}[/bold], {chapter.seconds:.0f} s")
        for table in chapter.findings.tables:
            if not table.long:
                rows = [[spell(cell) for cell in row] for row in table.rows]
                head, rows, aside = fitted(table.head, rows, table.numbers, screen.width)
                screen.print(show_table(head, rows, right=table.numbers, title=table.title))
                for line in aside:
                    screen.print(Text(line))
        for claim in chapter.findings.claims:
            screen.print(Text(f"{claim.holds:>9}  {claim.where}: {claim.says} Found: {claim.found}"))
        for remark in chapter.findings.remarks:
            screen.print(Text(f"   remark  {remark.where}: {remark.says} {remark.remark}"))
        for note in chapter.findings.notes:
            screen.print(Text(f"note: {note}"))
    screen.print(f"\nwrote {folder / PAGE}, with plots, and {folder / FIGURES}", markup=False)
