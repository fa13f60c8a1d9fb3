"""`covey protocols`: compares the protocols, or explains one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, complete_protocols
from covey.cli.output import console, print_json, width
from covey.plain import wrapped

if TYPE_CHECKING:
    from covey.protocols import Protocol


def protocols(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Explain this protocol, with its options.", autocompletion=complete_protocols
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compares the protocols: what they need, guarantee and leak; with a name, one of them in full.

    Example: covey protocols count
    """
    from covey.protocols import all_protocols, lacking, named

    selection = named(name) if name is not None else all_protocols()
    if as_json:
        print_json([describe(protocol) for protocol in selection])
    elif name is not None:
        for protocol in selection:
            _explain(protocol)
    else:
        _compare(selection)
        if lacked := lacking():
            typer.echo(f"Not installed: {', '.join(lacked)} (pip install 'covey[papers]')")


def describe(protocol: Protocol) -> dict[str, object]:
    """Describes a protocol for programs."""
    return {
        "name": protocol.name,
        "version": protocol.version,
        "about": protocol.about,
        "source": protocol.source,
        "partitions": [protocol.requirements.partition],
        "needs": protocol.needs,
        "guarantees": protocol.guarantees,
        "released_to": protocol.released_to,
        "learns": leaks(protocol),
        "options": {option.name: option.says for option in protocol.requirements.options},
        "phases": list(protocol.phases),
    }


def leaks(protocol: Protocol) -> dict[str, list[str]]:
    """Returns what each role learns, with the numbers of a run left open."""
    lessons = {"everyone": list(protocol.leakage.everyone)}
    for role, sentences in protocol.leakage.by_role.items():
        lessons[role] = list(sentences)
    return {role: [_opened(sentence) for sentence in sentences] for role, sentences in lessons.items() if sentences}


def _opened(sentence: str) -> str:
    """`{rows}` as `(rows)`: the number is the run's."""
    return sentence.replace("!r}", "}").replace("{", "(").replace("}", ")")


_PRINTED = " as printed"
_SPLITS = {"horizontal": "rows split", "vertical": "columns split", "respondents": "a row each"}


def _compare(selection: tuple[Protocol, ...]) -> None:
    """Prints a few lines for each, so that eighty columns are enough."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    screen = console()
    for protocol in selection:
        split = _SPLITS[protocol.requirements.partition]
        head = f"{_PRINTED if protocol.printed else ''}: {split}; the release goes to {protocol.released_to}"
        screen.print(Text.assemble((protocol.name, "bold"), head))
        lines = Table.grid(padding=(0, 1))
        for heading, text in (("does", protocol.about), ("needs", protocol.needs), ("keeps", protocol.guarantees)):
            lines.add_row(Text(heading, "dim"), Text(text))
        screen.print(Padding(lines, (0, 0, 0, 2)))
        screen.print()
    screen.print("covey protocols NAME tells what one leaks, and its options.")


def _explain(protocol: Protocol) -> None:
    _say("", f"{protocol.name}{_PRINTED if protocol.printed else ''}: {protocol.about}", 2)
    for heading, text in (
        ("version", str(protocol.version)),
        ("source", protocol.source),
        ("split", protocol.requirements.partition),
        ("needs", protocol.needs),
        ("guarantees", protocol.guarantees),
        ("release", protocol.released_to),
        ("phases", ", ".join(protocol.phases)),
    ):
        _say(f"  {heading:<11}", text)
    if protocol.printed is not None:
        _say(f"  {'opens':<11}", protocol.printed.opens)
        for repair in protocol.printed.repairs:
            _say(f"  {'repair':<11}", repair.sentence())
    for role, sentences in leaks(protocol).items():
        typer.echo(f"  {role} learns")
        for sentence in sentences:
            _say("    ", sentence, 6)
    typer.echo("  options in [protocol]")
    options = protocol.requirements.options
    widest = max((len(option.name) for option in options), default=0) + 1
    for option in options:
        _say(f"    {option.name:<{widest}}", option.says)


def _say(head: str, text: str, hanging: int | None = None) -> None:
    """Prints a paragraph with hanging lines of the terminal's width."""
    typer.echo(wrapped(text, width(), head, " " * (len(head) if hanging is None else hanging)))
