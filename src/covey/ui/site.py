"""All pages as one web application: which address shows what, and what becomes of an error."""

from __future__ import annotations

import os
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from covey.errors import CoveyError
from covey.ui import pages
from covey.ui.guard import TOKEN_FIELD, Guard, refused
from covey.ui.jobs import Jobs
from covey.ui.workbench import Form, Get, Post, Workbench, environment
from covey.ui.workspace import Changed, Workspace

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
    """Does what a form asks for, but only if the form has our token in it."""

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
        said = f"An error of ours ({type(error).__name__} in {frame.name}, line {frame.lineno}); please report it."
        return _explained(bench, request, said, 500)


def _explained(bench: Workbench, request: Request, sentence: str, status: int) -> Response:
    lines = sentence.replace(f"{bench.workspace.root}{os.sep}", "").splitlines()
    before = urlsplit(request.headers.get("referer", ""))
    back = f"{before.path}?{before.query}" if before.path.startswith(f"{bench.guard.prefix}/") else bench.at("/")
    return bench.page("error.html", request, status=status, sentences=lines, again=status == 409, back=back)
