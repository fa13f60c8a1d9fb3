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
    more: Annotated[list[str] | None, typer.Argument(hidden=True, metavar="[N…]")] = None,
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

    if more and not rows:
        raise InputError(f"{more[0]!r}: write row counts behind --rows")
    agreed = Study.load(study)
    network = parse_latency(latency), parse_bandwidth(bandwidth)
    given = read_rows(agreed, [*(rows or []), *(more or [])])
    where: list[str] = []
    made = make_plan(agreed, given, *network, own=_own(agreed, party, data, where.append))
    if as_json:
        print_json({**made.describe(LIMIT), "data": where})
    else:
        _render(made, latency, bandwidth, where)


def _own(study: Study, party: str | None, data: str | None, notice: Callable[[str], None]) -> Table | None:
    """A party's own rows, where they are given; where they are worked on is told."""
    from covey.party.session.data import load_table

    if data is None:
        return None
    if party is None:
        holders = ", ".join(each.name for each in study.holders)
        raise InputError(f"--data {data}: say whose rows these are, with --as ({holders})")
    return load_table(study, party, data, notice=notice)


def read_rows(study: Study, given: list[str]) -> dict[str, int]:
    """Reads each holder's rows: one number for all, one for each in the study's order, or PARTY=N."""
    holders = [party.name for party in study.holders]
    if study.partition == "respondents" and not holders:
        holders = ["respondents"]
    numbers = [text.rpartition("=")[2] for text in given]
    for text, number in zip(given, numbers, strict=True):
        if not number.isdecimal():
            raise InputError(f"--rows {text}: write a whole number, or PARTY=N")
    if any("=" in text for text in given):
        named = dict(zip([text.partition("=")[0] for text in given], map(int, numbers), strict=True))
        for name in named:
            study.party(name)
        return {name: named.get(name, 0) for name in holders}
    if len(numbers) not in (0, 1, len(holders)):
        raise InputError(f"--rows has {len(numbers)} numbers for {len(holders)} parties; give one, or one for each")
    each = [int(number) for number in numbers] or [1000]
    return dict(zip(holders, each * len(holders) if len(each) == 1 else each, strict=True))


def _render(made: Plan, latency: str, bandwidth: str, where: list[str]) -> None:
    from covey.party.session.journal import LIMIT
    from covey.plain import listed, wrapped
    from covey.sizes import spell
    from covey.study import insiders

    forecast, wide = made.forecast, width()

    def say(name: str, text: str) -> None:
        typer.echo(wrapped(text, wide, f"  {name:<10}", " " * 12))

    typer.echo(wrapped(f"Study {made.study.name!r}, protocol {made.protocol.name}: {made.protocol.about}", wide))
    counted = ", ".join(f"{name} {count:,}" for name, count in made.rows.items())
    say("rows", f"{counted} (as given, or assumed)")
    for sentence in where:
        say("data", sentence)
    say("rounds", f"{forecast.rounds:,}")
    say("traffic", f"{spell(forecast.bytes)} in {forecast.messages:,} messages, all parties together")
    kept, all_kept = spell(made.disk(LIMIT)), spell(made.disk(made.read))
    say("disk", f"about {kept} a party; {all_kept} with --journal all, which a replay needs")
    say("memory", f"about {spell(made.memory)} a party")
    say("time", f"about {made.seconds:.1f} s at {latency} and {bandwidth}, people's answers not included")
    if forecast.insider_k is not None:
        say(
            "insider k",
            f"about {forecast.insider_k}, an estimate from the rows: the fewest records of others that a party will "
            "see in a class where it sees some",
        )
    for sentence in insiders.warning(made.study):
        typer.echo(wrapped(f"WARNING: {sentence}", wide))
    if made.protocol.rehearse is not None:
        made_up = "a made-up table; to plan with yours: --as and --data"
        say("assumed", "the others' rows are like ours" if made.looked else made_up)
    if made.advice is not None:
        say("advice", made.advice)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, learned in made.learns.items():
        alike.setdefault(tuple(learned), []).append(name)
    for sentences, names in alike.items():
        typer.echo(f"{', '.join(names)} will {'each ' if len(names) > 1 else ''}learn")
        for sentence in sentences:
            typer.echo(wrapped(sentence, wide, "  - ", "    "))
    given = [party.name for party in made.study.parties if made.protocol.receives(made.study, party.name)]
    everyone = len(given) == len(made.study.parties) and made.study.partition != "respondents"
    typer.echo("and the release" if everyone else f"and {listed(given)} the release")
    for sentence in forecast.mind:
        typer.echo(wrapped(f"mind: {sentence}", wide))
