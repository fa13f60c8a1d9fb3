"""The server of the workbench: all pages as one web application, on the loopback address, for one browser.

It says which address shows what, and what becomes of an error; it serves until Ctrl-C.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import traceback
import webbrowser
from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from covey.errors import CoveyError, InputError
from covey.files import PRIVATE, create
from covey.ui import pages
from covey.ui.jobs import Jobs
from covey.ui.login import TOKEN_FIELD, Guard, refused
from covey.ui.workbench import Form, Get, Post, Workbench, environment
from covey.ui.workspace import Changed, Workspace

HOST = "127.0.0.1"
_MOST_FIELDS = 5000
Endpoint = Callable[[Request], Awaitable[Response]]


def build(workspace: Workspace, guard: Guard) -> Starlette:
    """The application; the guard stands before it."""
    bench = Workbench(workspace, Jobs(workspace.root, workspace.notes / "jobs"), guard, environment(guard, pages.SHOW))
    routes: list[Route | Mount] = [
        Route(path, _showing(bench, show), methods=["GET"]) for path, show in pages.SHOW.items()
    ]
    routes += [Route(path, _doing(bench, do), methods=["POST"]) for path, do in pages.DO.items()]
    routes.append(Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")))

    async def missing(request: Request, error: Exception) -> Response:
        return _explained(bench, request, "There is no such page; go back to the first one.", 404)

    return Starlette(routes=routes, exception_handlers={404: missing, 405: missing})


def _showing(bench: Workbench, show: Get) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_answered, bench, request, lambda: show(bench, request))

    return endpoint


def _doing(bench: Workbench, do: Post) -> Endpoint:
    """Does what a form asks for if the form has our token."""

    async def endpoint(request: Request) -> Response:
        async with request.form(max_fields=_MOST_FIELDS, max_files=10) as fields:
            if not bench.guard.accepts(fields.get(TOKEN_FIELD)):
                return refused("the form is not one of this workbench, or it was started again since")
            form = Form(fields)
            return await run_in_threadpool(_answered, bench, request, lambda: do(bench, form))

    return endpoint


def _answered(bench: Workbench, request: Request, answer: Callable[[], Response]) -> Response:
    """The answer, or a page that says in a sentence what went wrong."""
    try:
        return answer()
    except Changed as error:
        return _explained(bench, request, str(error), 409)
    except CoveyError as error:
        return _explained(bench, request, str(error), 400)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        if os.environ.get("COVEY_DEBUG"):
            traceback.print_exc()
        sentence = f"An error of ours ({type(error).__name__} in {frame.name}, line {frame.lineno}); please report it."
        return _explained(bench, request, sentence, 500)


def _explained(bench: Workbench, request: Request, sentence: str, status: int) -> Response:
    lines = sentence.replace(f"{bench.workspace.root}{os.sep}", "").splitlines()
    referrer = urlsplit(request.headers.get("referer", ""))
    address = (
        f"{referrer.path}?{referrer.query}" if referrer.path.startswith(f"{bench.guard.prefix}/") else bench.at("/")
    )
    return bench.page("error.html", request, status=status, sentences=lines, again=status == 409, back=address)


def serve(folder: Path, *, port: int = 0, browse: bool = True, say: Callable[[str], None] = print) -> None:
    """Serves the workbench of a folder until it is interrupted."""
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
    """Opens the browser by a private file, as others can read command lines."""
    page = private / "covey.html"
    link = escape(address)
    content = f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><a href="{link}">Covey</a>'
    create(page, content.encode(), PRIVATE)
    webbrowser.open(page.as_uri())
