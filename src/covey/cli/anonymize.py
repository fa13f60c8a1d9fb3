"""`covey anonymize`: one owner's table, by a centralized algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from covey.cli import complete
from covey.cli.options import Data, Encoding, Json, StudyFile, encoded
from covey.cli.output import console, print_json, table
from covey.errors import Aborted, InputError
from covey.plain import plural

if TYPE_CHECKING:
    from rich.console import Console

    from covey.anonymizers.explain import Explanation
    from covey.option import Value
    from covey.release import Release


def anonymize(
    study: StudyFile,
    data: Data,
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
    k: Annotated[int | None, typer.Option("--k", min=1, help="Another k than the study's, for a quick look.")] = None,
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
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="The number of cores to use; the release does not depend on it."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the algorithm.")
    ] = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Anonymizes a table that one owner holds; DIR gets release.csv, report.html, summary.json and the study.

    Example: covey anonymize study.toml --data clinic.csv --out out --algorithm mondrian
    """
    from covey.cli.waiting import ProgressDisplay
    from covey.publish import anonymize as publish
    from covey.publish import require_room
    from covey.study import Study

    agreed = Study.load(study)
    require_room(out, force=force)
    options = read_options(algorithm, option or [])
    try:
        with ProgressDisplay() as progress:
            release = publish(
                encoded(data, encoding), agreed, algorithm, seed=seed, budget=budget, threads=threads, explain=explain,
                options=options, progress=progress, k=k, l=l, t=t,
            )  # fmt: skip
            progress("writing the release and its report", 0.95)
            release.save(out)
    except KeyboardInterrupt:
        raise Aborted("cancelled; nothing was written", resumable=False) from None
    if as_json:
        print_json(_described(release))
    else:
        _render(release, out)


def read_options(algorithm: str, given: list[str]) -> dict[str, Value]:
    """Reads NAME=VALUE texts as options of the algorithm. Raises InputError that names the one that is wrong."""
    from covey.anonymizers import find

    known = {option.name: option for option in find(algorithm).options}
    found: dict[str, Value] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            listed = "; ".join(f"{key} (default {own.default}): {own.says}" for key, own in known.items()) or "none"
            raise InputError(f"algorithm {algorithm} has no option {text!r}; its options are NAME=VALUE of {listed}")
        try:
            found[name] = known[name].read(value)
        except ValueError as error:
            raise InputError(f"option {error}") from None
    return found


def _described(release: Release) -> dict[str, object]:
    import msgspec

    answer = dict(release.summary)
    if release.explanation is not None:
        answer["explanation"] = msgspec.to_builtins(release.explanation)
    return answer


def _render(release: Release, out: Path) -> None:
    shown, said = console(), release.summary
    rows, classes, withheld, cells = (
        int(str(said[name])) for name in ("rows", "classes", "withheld", "suppressed_cells")
    )
    asked = release.study.privacy
    diverse = f", l = {said['l_reached']:.3g}" if said.get("l") is not None else ""
    shown.print(
        f"{plural(rows, 'row')} in {plural(classes, 'class', 'classes')}; the smallest has {said['k_reached']:,} "
        f"(k = {asked.k}){diverse}; {plural(withheld, 'row')} withheld, {plural(cells, 'cell')} suppressed",
        soft_wrap=True,
    )
    loss = release.loss
    shown.print(f"loss: lm {loss.lm:.4f}, em {loss.em:.4f}, dm {loss.dm:,}, c_avg {loss.c_avg:.3f}")
    shown.print(f"{said['algorithm']} took {said['seconds']:.1f} s")
    for warning in cast("list[str]", said["warnings"]):
        shown.print(f"note: {warning}", markup=False, soft_wrap=True)
    if release.explanation is not None:
        _render_explanation(shown, release.explanation, [column.name for column in release.study.quasi])
    shown.print(f"\nwrote {out / 'release.csv'}, report.html, summary.json, study.toml", markup=False)


def _render_explanation(shown: Console, why: Explanation, names: list[str]) -> None:
    numbers = ("loss", "of all", "exact", "suppressed")
    costs = table(
        ("column", *numbers),
        (
            (each.name, f"{each.loss:.4f}", f"{each.part:.1%}", f"{each.exact:.1%}", f"{each.suppressed:.1%}")
            for each in why.columns
        ),
        right=numbers, title="what the columns cost",
    )  # fmt: skip
    largest = table(
        ("records", "of all loss", *names),
        ((f"{own.records:,}", f"{own.part:.1%}", *own.labels) for own in why.largest),
        right=("records", "of all loss"), title="the largest classes",
    )  # fmt: skip
    weaker = [(other.request, f"{other.loss:.4f}", f"{other.saves:+.4f}") for other in why.alternatives]
    less = table(
        ("request", "loss", "saves"),
        [("as it is, by the same little effort", f"{why.trial:.4f}", ""), *weaker],
        right=("loss", "saves"), title="what asking for less would buy",
    )  # fmt: skip
    for part in (costs, largest, less):
        shown.print()
        shown.print(part)
