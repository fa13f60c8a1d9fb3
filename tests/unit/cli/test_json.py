"""Every command that prints a result prints it for programs, too."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import typer

from covey.cli import app

SILENT = {"ui"}
"""It opens pages in the browser, and prints no result."""


def _without_json(commands: typer.Typer) -> Iterator[str]:
    for each in commands.registered_commands:
        if each.callback is not None and "as_json" not in inspect.signature(each.callback).parameters:
            yield each.name or each.callback.__name__
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            yield from _without_json(group.typer_instance)


def test_every_command_that_prints_a_result_has_json() -> None:
    assert set(_without_json(app)) == SILENT
