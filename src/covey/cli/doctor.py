"""`covey doctor`: examines this machine, and what a party of a study needs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import KEYS, Json, Keys, Listen, listen_address
from covey.cli.output import console, print_json, table, verdict
from covey.cli.plan import read_rows
from covey.doctor import Finding, examine
from covey.errors import InputError, Unmet

if TYPE_CHECKING:
    from covey.study import Study


def doctor(
    out: Annotated[Path, typer.Option(help="The folder to which a run would write.")] = Path(),
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
    findings = examine(out)
    if study is not None:
        findings += _for_study(study, party, keys, out, listen, rows or [], wait, relay)
    elif party is not None or relay:
        raise InputError(f"{'--relay' if relay else '--as'} needs the study: add --study study.toml")
    unfit = [finding for finding in findings if not finding.fit]
    if as_json:
        print_json({"fit": not unfit, "findings": [asdict(each) for each in findings]})
    else:
        shown = [(verdict(each.fit, "fit", "unfit"), each.name, each.found, each.advice) for each in findings]
        console().print(table(("", "examined", "found", "what to do"), shown))
    if unfit:
        what = "this machine is unfit" if study is None else "not ready"
        raise Unmet(f"{what}: " + "; ".join(f"{each.name}: {each.advice}" for each in unfit))


def _for_study(
    path: Path,
    party: str | None,
    keys: Path,
    out: Path,
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
        raise InputError(f"say which party runs here: --as ({', '.join(each.name for each in study.parties)})")
    study.party(party)
    if not 0 <= wait <= 24 * 60:
        raise InputError("--wait must be a number of minutes, at most a day")
    plan = make_plan(study, _likely(study, rows), 0.03, 1e7)
    seconds = max(QUICK_SECONDS, 60 * wait)
    return Examination(study, party, keys, out, plan, LIMIT, listen_address(listen), seconds, relay).findings()


def _likely(study: Study, rows: list[str]) -> dict[str, int]:
    """The rows to plan for: as given, else as many as each may have."""
    given = read_rows(study, rows)
    return given if rows or study.rows_at_most is None else dict.fromkeys(given, study.rows_at_most)
