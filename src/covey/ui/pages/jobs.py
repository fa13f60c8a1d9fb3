"""Jobs that run and that ran: each with its command, its last words, and a way to stop it or start it again."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from covey.ui.jobs import LOG, tail
from covey.ui.workbench import Form, Workbench, asked


def show(bench: Workbench, request: Request) -> Response:
    """All jobs of this folder."""
    return bench.page("jobs.html", request, jobs=bench.jobs.all())


def one(bench: Workbench, request: Request) -> Response:
    """One job, with what it printed."""
    job = bench.jobs.find(asked(request, "job"))
    return bench.page("job.html", request, job=job, log=tail(job.folder / LOG))


def stop(bench: Workbench, form: Form) -> Response:
    """Interrupts a job."""
    bench.jobs.stop(form.text("job"))
    return _back(bench, form)


def again(bench: Workbench, form: Form) -> Response:
    """Starts a job again; a run that was cut off goes on."""
    bench.jobs.again(form.text("job"))
    return _back(bench, form)


def remove(bench: Workbench, form: Form) -> Response:
    """Removes the notes on a job."""
    bench.jobs.remove(form.text("job"))
    return _back(bench, form)


def _back(bench: Workbench, form: Form) -> Response:
    return bench.go(form.text("back", "/jobs"))


SHOW = {"/jobs": show, "/job": one}
DO = {"/job/stop": stop, "/job/again": again, "/job/remove": remove}
