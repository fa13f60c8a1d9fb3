"""The server of the workbench: on the loopback address, for one browser, until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

import uvicorn

from covey.errors import InputError
from covey.files import PRIVATE, create
from covey.ui.guard import Guard
from covey.ui.site import build
from covey.ui.workspace import Workspace

HOST = "127.0.0.1"


def serve(folder: Path, *, port: int = 0, browse: bool = True, say: Callable[[str], None] = print) -> None:
    """Serves the workbench of a folder until it is interrupted; says the address once it listens."""
    guard = Guard()
    workspace = Workspace(folder)
    app = guard.around(build(workspace, guard))
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(f"port {port}: cannot be opened ({error.strerror}); choose another with --port") from None
    with listening, tempfile.TemporaryDirectory(prefix="covey-ui-") as private:
        guard.port = listening.getsockname()[1]
        say(f"Covey's workbench for {workspace.root}, for you alone:\n\n  {guard.address}\n")
        say("The address works once. Ctrl-C ends the workbench; what is running goes on.")
        if browse:
            show_browser(guard.address, Path(private))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off", ws="none",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


def show_browser(address: str, private: Path) -> None:
    """Opens the browser by way of a private file: a command line can be read by everybody on the machine."""
    page = private / "covey.html"
    there = escape(address)
    content = f'<!doctype html><meta http-equiv="refresh" content="0;url={there}"><a href="{there}">Covey</a>'
    create(page, content.encode(), PRIVATE)
    webbrowser.open(page.as_uri())
