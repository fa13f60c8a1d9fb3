"""`covey plan`: shows, before anything runs, what a run will cost and what each party will learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, StudyFile
from covey.cli.output import print_json, width
from covey.errors import InputError

if TYPE_CHECKING:
    from covey.party.plan import Plan
    from covey.study import Study
    from covey.table import Table


def plan(
    study: StudyFile,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--rows", metavar="N…", help="The rows of every party, or of each in the study's order, or PARTY=N."
        ),
    ] = None,
    counts: Annotated[list[str] | None, typer.Argument(hidden=True, metavar="[N…]")] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Our own rows: a plan that looks at them is closer to the run."),
    ] = None,
    party: Annotated[str | None, typer.Option("--as", metavar="PARTY", help="The party whose rows these are.")] = None,
    latency: Annotated[str, typer.Option("--latency", help="The latency between the parties.")] = "30ms",
    bandwidth: Annotated[str, typer.Option("--bandwidth", help="The bandwidth of each party's line.")] = "100mbit",
    as_json: Json = False,
) -> None:
    """Shows what a run will cost and what each party will learn, before anything runs.

    Example: covey plan study.toml --rows 1000 2000 500, or --rows north=1000 --rows south=2000
    """
    from covey.party.plan import make_plan
    from covey.party.session.journal import LIMIT
    from covey.study import Study
    from covey.wire.slow import parse_bandwidth, parse_latency

    if counts and not rows:
        raise InputError(f"{counts[0]!r}: write row counts behind --rows")
    agreed = Study.load(study)
    network = parse_latency(latency), parse_bandwidth(bandwidth)
    sizes = read_rows(agreed, [*(rows or []), *(counts or [])])
    notices: list[str] = []
    result = make_plan(agreed, sizes, *network, own=_own(agreed, party, data, notices.append))
    if as_json:
        print_json({**result.describe(LIMIT), "data": notices})
    else:
        _render(result, latency, bandwidth, notices)


def _own(study: Study, party: str | None, data: str | None, notice: Callable[[str], None]) -> Table | None:
    """A party's own rows, where they are given; where they are worked on is told."""
    from covey.party.session.data import load_table

    if data is None:
        return None
    if party is None:
        holders = ", ".join(holder.name for holder in study.holders)
        raise InputError(f"--data {data}: say whose rows these are, with --as ({holders})")
    return load_table(study, party, data, notice=notice)


def read_rows(study: Study, texts: list[str]) -> dict[str, int]:
    """Reads the rows of each holder: one number for all, one each, or PARTY=N."""
    holders = [party.name for party in study.holders]
    if study.partition == "respondents" and not holders:
        holders = ["respondents"]
    numbers = [text.rpartition("=")[2] for text in texts]
    for text, number in zip(texts, numbers, strict=True):
        if not number.isdecimal():
            raise InputError(f"--rows {text}: write a whole number, or PARTY=N")
    if any("=" in text for text in texts):
        counts = dict(zip([text.partition("=")[0] for text in texts], map(int, numbers), strict=True))
        for name in counts:
            study.party(name)
        return {name: counts.get(name, 0) for name in holders}
    if len(numbers) not in (0, 1, len(holders)):
        raise InputError(f"--rows has {len(numbers)} numbers for {len(holders)} parties; give one, or one for each")
    amounts = [int(number) for number in numbers] or [1000]
    return dict(zip(holders, amounts * len(holders) if len(amounts) == 1 else amounts, strict=True))


def _render(plan: Plan, latency: str, bandwidth: str, notices: list[str]) -> None:
    from covey.party.session.journal import LIMIT
    from covey.plain import listed, wrapped
    from covey.sizes import spell
    from covey.study import insiders

    forecast, wide = plan.forecast, width()

    def say(name: str, text: str) -> None:
        typer.echo(wrapped(text, wide, f"  {name:<10}", " " * 12))

    typer.echo(wrapped(f"Study {plan.study.name!r}, protocol {plan.protocol.name}: {plan.protocol.about}", wide))
    counted = ", ".join(f"{name} {count:,}" for name, count in plan.rows.items())
    say("rows", f"{counted} (as given, or assumed)")
    for sentence in notices:
        say("data", sentence)
    say("rounds", f"{forecast.rounds:,}")
    say("traffic", f"{spell(forecast.bytes)} in {forecast.messages:,} messages, all parties together")
    disk, all_kept = spell(plan.disk(LIMIT)), spell(plan.disk(plan.read))
    replay = f"; {all_kept} with --journal all, which a replay needs" if plan.keeps_messages else ""
    say("disk", f"about {disk} a party{replay}")
    say("memory", f"about {spell(plan.memory)} a party")
    say("time", f"about {plan.seconds:.1f} s at {latency} and {bandwidth}, people's answers not included")
    spelled = [f"{seconds:,.0f} s at {name} (mostly {part})" for name, (seconds, part) in plan.lines.items()]
    say("lines", "about " + "; ".join(spelled))
    if forecast.insider_k is not None:
        say(
            "insider k",
            f"about {forecast.insider_k}, an estimate from the rows: the fewest records of others that a party will "
            "see in a class where it sees some",
        )
    for sentence in insiders.warning(plan.study):
        typer.echo(wrapped(f"WARNING: {sentence}", wide))
    if plan.protocol.printed is not None:
        say("opens", plan.protocol.printed.opens)
        for sentence in plan.repairs:
            say("repair", sentence)
    if plan.within is not None:
        assumed = "the others' rows are like ours" if plan.looked else "a made-up table"
        better = "" if plan.looked else "; for a closer plan give your own rows: --as and --data"
        say("assumed", f"{assumed}: a run may take up to {plan.within:g} times more or less rounds and bytes{better}")
    if plan.advice is not None:
        say("advice", plan.advice)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, learned in plan.learns.items():
        alike.setdefault(tuple(learned), []).append(name)
    for sentences, names in alike.items():
        typer.echo(f"{', '.join(names)} will {'each ' if len(names) > 1 else ''}learn")
        for sentence in sentences:
            typer.echo(wrapped(sentence, wide, "  - ", "    "))
    receivers = [party.name for party in plan.study.parties if plan.protocol.receives(plan.study, party.name)]
    to_all = len(receivers) == len(plan.study.parties) and plan.study.partition != "respondents"
    typer.echo("and the release" if to_all else f"and {listed(receivers)} the release")
    for sentence in forecast.mind:
        typer.echo(wrapped(f"mind: {sentence}", wide))
