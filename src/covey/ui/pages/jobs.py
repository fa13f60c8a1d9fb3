"""Jobs that run and that ran: each with its command, its last words, and a way to stop it or start it again."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from covey.ui.jobs import LOG, Job, tail
from covey.ui.workbench import Form, Workbench, asked


def show(bench: Workbench, request: Request) -> Response:
    """All jobs of this folder."""
    return bench.page("jobs.html", request, jobs=bench.jobs.all())


def one(bench: Workbench, request: Request) -> Response:
    """One job, with what it printed."""
    job = bench.jobs.find(asked(request, "job"))
    return bench.page("job.html", request, job=job, log=tail(job.folder / LOG), home=_home(bench, job))


def _home(bench: Workbench, job: Job) -> str:
    """The address of the page that a job was started from; empty if there is none any more."""
    about = job.file.about
    match job.file.kind:
        case "trial":
            return bench.at("/study", study=about)
        case "check" | "plan" | "run":
            return bench.at("/partners", study=about)
        case "invite" | "collect":
            return bench.at("/collection", study=about)
        case "look":
            return bench.at("/table", data=about)
        case "verify" | "evaluate" | "audit" | "forget":
            trial = re.fullmatch(r"(.+)/(trial-\d+)", about)
            return bench.at("/run", run=about) if trial is None else bench.at(
                "/trial", study=f"{trial[1]}/study.toml", trial=trial[2]
            )  # fmt: skip
    return ""


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
