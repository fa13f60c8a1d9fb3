"""`covey ui`: the steward's workbench in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.errors import InputError


def ui(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder with your tables and studies.", show_default=False)
    ] = Path(),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser, or only print its address.")
    ] = True,
) -> None:
    """Opens the steward's workbench in the browser: tables, studies, trying, joint runs; on this machine only.

    Example: covey ui clinic-data
    """
    try:
        from covey.ui.server import serve
    except ImportError as error:
        if error.name is None or error.name.startswith("covey"):
            raise
        raise InputError(f"the workbench needs an extra ({error.name}): pip install 'covey[ui]'") from None

    def say(sentence: str) -> None:
        typer.echo(sentence)

    serve(folder, port=port, browse=browser, say=say)
