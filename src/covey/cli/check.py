"""`covey check` and `covey doctor`: is the data fit for the study, and is this machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import KEYS, Data, Encoding, Json, Keys, Listen, StudyFile, encoded, listen_address
from covey.cli.output import console, print_json, table, verdict
from covey.cli.plan import read_rows
from covey.doctor import Finding, examine
from covey.errors import InputError, Unmet
from covey.plain import plural

if TYPE_CHECKING:
    from covey.fitness import Fitness
    from covey.study import Study

_SHOWN = 20
_SEPARATING_SHOWN = 3


def check(
    study: StudyFile,
    data: Data,
    party: Annotated[str | None, typer.Option("--as", metavar="PARTY", help="The party that holds this data.")] = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Checks data against the study: schema, values missing from a hierarchy, columns that identify, local risk.

    Example: covey check study.toml --as north --data north.csv
    """
    from covey.party.session.data import check_data
    from covey.study import Study

    agreed = Study.load(study)
    fitness = check_data(agreed, encoded(data, encoding), party)
    notices: list[str] = []
    if fitness.fit and party is not None and agreed.protocol is not None:
        fitness = replace(fitness, problem=_refused(agreed, party, encoded(data, encoding), notices.append))
    if agreed.protocol in (None, "peel"):
        notices += probed(agreed, fitness.rows if fitness.risk is None else fitness.risk.tuples)
    fitness = replace(fitness, notes=(*fitness.notes, *notices))
    if as_json:
        print_json({"fit": fitness.fit, **asdict(fitness)})
    else:
        _render(fitness, agreed.privacy.k)
    if not fitness.fit:
        problems = [fitness.problem] if fitness.problem else []
        problems += [f"column {column.name!r}: {column.problem}" for column in fitness.columns if column.problem]
        raise Unmet(f"{fitness.source} is not fit for the study: {'; '.join(problems)}")


def _refused(study: Study, party: str, data: str, notice: Callable[[str], None]) -> str | None:
    """The reason why a run would refuse the data, or None."""
    from covey.party.session.data import load_table

    try:
        load_table(study, party, data, notice=notice)
    except (InputError, Unmet) as error:
        return str(error)
    return None


def probed(study: Study, tuples: int) -> Iterator[str]:
    """Warns if `peel` cannot visit every generalization of so many tuples."""
    from covey.anonymizers.peel.lattice import is_small

    if not study.quasi or not all(column.closed for column in study.quasi):
        return
    nodes = math.prod(column.tree().levels for column in study.quasi)
    if not is_small(nodes, tuples):
        yield (
            f"the quasi columns have {nodes:,} generalizations, too many to visit all: peel visits those that probes "
            "find, which may lose some percent more; fewer quasi columns or fewer levels would let all be visited, and "
            "covey anonymize --effort thorough looks for more"
        )


def _render(fitness: Fitness, k: int) -> None:
    screen = console()
    numbers = ("values", "missing", "unknown")
    rows = [
        (column.name, column.role, f"{column.distinct:,}", f"{column.missing:,}", f"{len(column.unknown):,}",
         verdict(not column.problem))
        for column in fitness.columns
    ]  # fmt: skip
    screen.print(f"{fitness.source}: {plural(fitness.rows, 'row')}", markup=False)
    screen.print(table(("column", "role", *numbers, ""), rows, right=numbers))
    if fitness.problem:
        screen.print(f"\n{fitness.problem}", markup=False, style="red")
    for column in fitness.columns:
        if column.problem:
            screen.print(f"\n{column.name}: {column.problem}", markup=False, style="red")
            for value, count in list(column.unknown.items())[:_SHOWN]:
                screen.print(f"  {value!r} in {plural(count, 'row')}", markup=False)
            if len(column.unknown) > _SHOWN:
                screen.print(f"  and {len(column.unknown) - _SHOWN:,} more; --json lists them all")
    if fitness.dropped:
        dropped = plural(fitness.dropped, "row is", "rows are")
        screen.print(f'\n{dropped} dropped: a column with missing = "drop" has no value there')
    if fitness.risk is not None:
        risk, unique = fitness.risk, plural(fitness.risk.unique, "record is", "records are")
        screen.print(
            f"\nbefore anonymization {unique} unique in the quasi columns and {risk.below_k:,} "
            f"share these with fewer than {k}; the most exposed one is singled out with probability {risk.highest:.2g}"
        )
    if fitness.separating:
        rows_ = [
            (" and ".join(combination.columns), f"{combination.distinctness:.1%}", f"{combination.separation:.2%}")
            for combination in fitness.separating[:_SEPARATING_SHOWN]
        ]
        headings = ("columns that tell records apart", "distinct", "pairs told apart")
        screen.print()
        screen.print(table(headings, rows_, right=headings[1:]))
    if fitness.ignored:
        screen.print(f"\nnot in the study, never read: {', '.join(fitness.ignored)}", markup=False)
    for note in fitness.notes:
        screen.print(f"\nnote: {note}", markup=False)
    screen.print("\nfit for the study" if fitness.fit else "\nnot fit for the study", style="bold")


def doctor(
    folder: Annotated[Path, typer.Option("--out", help="The folder to which a run would write.")] = Path(),
    study: Annotated[Path | None, typer.Option("--study", metavar="STUDY", help="The study to get ready for.")] = None,
    party: Annotated[str | None, typer.Option("--as", metavar="PARTY", help="The party that runs here.")] = None,
    keys: Keys = KEYS,
    listen: Listen = None,
    rows: Annotated[
        list[str] | None, typer.Option("--rows", metavar="N", help="The rows of every party, or PARTY=N, for the plan.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="MINUTES", help="Answer and call the other parties so long; both sides.")
    ] = 0.0,
    relay: Annotated[
        bool, typer.Option("--relay", help="Examine the way to the study's relay: names, proxy, TLS, clock, access.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Examines this machine: Python, packages, clocks, folder, compiler, ports; says what to do if one is unfit.

    With --study and --as also what a run needs: keys, certificates, port, each partner, its clock, disk and memory.

    Example: covey doctor --study study.toml --as north --keys keys --wait 5
    """
    findings = examine(folder)
    if study is not None:
        findings += _for_study(study, party, keys, folder, listen, rows or [], wait, relay)
    elif party is not None or relay:
        raise InputError(f"{'--relay' if relay else '--as'} needs the study: add --study study.toml")
    unfit = [finding for finding in findings if not finding.fit]
    if as_json:
        print_json({"fit": not unfit, "findings": [asdict(finding) for finding in findings]})
    else:
        lines = [
            (verdict(finding.fit, "fit", "unfit"), finding.name, finding.found, finding.advice) for finding in findings
        ]
        console().print(table(("", "examined", "found", "what to do"), lines))
    if unfit:
        subject = "this machine is unfit" if study is None else "not ready"
        raise Unmet(f"{subject}: " + "; ".join(f"{finding.name}: {finding.advice}" for finding in unfit))


def _for_study(
    path: Path,
    party: str | None,
    keys: Path,
    folder: Path,
    listen: str | None,
    rows: list[str],
    wait: float,
    relay: bool,
) -> list[Finding]:
    """Examines what a party of the study needs."""
    from covey.party.plan import make_plan
    from covey.party.session.journal import LIMIT
    from covey.party.session.ready import QUICK_SECONDS, Examination
    from covey.study import Study

    study = Study.load(path)
    if party is None:
        raise InputError(f"say which party runs here: --as ({', '.join(member.name for member in study.parties)})")
    study.party(party)
    if not 0 <= wait <= 24 * 60:
        raise InputError("--wait must be a number of minutes, at most a day")
    plan = make_plan(study, _likely(study, rows), 0.03, 1e7)
    seconds = max(QUICK_SECONDS, 60 * wait)
    return Examination(study, party, keys, folder, plan, LIMIT, listen_address(listen), seconds, relay).findings()


def _likely(study: Study, rows: list[str]) -> dict[str, int]:
    """The rows to plan for: as given, else as many as each may have."""
    counts = read_rows(study, rows)
    return counts if rows or study.rows_at_most is None else dict.fromkeys(counts, study.rows_at_most)
