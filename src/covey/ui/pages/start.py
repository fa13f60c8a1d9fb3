"""The first page, with the tables, studies and runs of the folder; and the jobs that run and that ran."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from covey.addresses import has_password
from covey.errors import InputError
from covey.files import json_object
from covey.party.session.control import QUESTION
from covey.ui.jobs import LOG, Job, tail
from covey.ui.workbench import Form, Workbench, parameter

_TRIAL = re.compile(r"(^|/)trial-\d+(\.toml)?$")


def is_trial(path: str) -> bool:
    """True for the study or the folder of a trial, which its study's page shows."""
    return _TRIAL.search(path) is not None


def show_folder(bench: Workbench, request: Request) -> Response:
    """The contents of the folder."""
    workspace = bench.workspace
    contents = workspace.contents()
    running = [job for job in bench.jobs.all() if job.state == "running"]
    tables = [{"data": path, **_size(workspace.path(path))} for path in contents.tables]
    runs = [{"run": path, **_figures(workspace.path(path))} for path in contents.runs if not is_trial(path)]
    return bench.page(
        "start.html", request, tables=tables, sources=workspace.sources(),
        studies=[path for path in contents.studies if not is_trial(path)], runs=runs, collections=contents.collections,
        unreadable=bench.unreadable(), jobs=running,
        asking=[job for job in running if (job.folder / QUESTION).is_file()],
    )  # fmt: skip


def _size(path: Path) -> dict[str, object]:
    status = path.stat()
    return {"size": status.st_size, "changed": status.st_mtime}


def _figures(folder: Path) -> dict[str, object]:
    """A few words on a run or a release."""
    summary = json_object(folder / "summary.json")
    if not summary:
        return {"said": "not finished", "finished": False}
    fraction = summary.get("kept")
    rows, k = summary.get("rows"), summary.get("k")
    parts = [f"{rows:,} rows" if isinstance(rows, int) else "the release went to others", f"k = {k}"]
    if summary.get("refused"):
        parts.append("do not publish it")
    elif isinstance(fraction, float):
        parts.append(f"kept {fraction:.3f}")
    return {"said": ", ".join(parts), "finished": True}


def upload(bench: Workbench, form: Form) -> Response:
    """Copies a table from elsewhere on this machine into the folder."""
    source = form.upload("file")
    name = Path(str(source.filename).replace("\\", "/")).name
    path = bench.workspace.path(name)
    if path.exists():
        raise InputError(f"{name}: is in the folder already; rename the file, or open the one that is there")
    partial = path.with_name(f".{name}.part")
    try:
        with partial.open("xb") as stream:
            partial.chmod(0o600)
            shutil.copyfileobj(source.file, stream)
        partial.rename(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{name}: cannot be written ({error.strerror}); is there room on the disk?") from None
    return bench.go("/table", data=name)


def add_source(bench: Workbench, form: Form) -> Response:
    """Adds a table of a database to the list; a password is not taken."""
    url = form.text("url")
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise InputError("write the address of a PostgreSQL table: postgres://user@host/database?table=NAME")
    if has_password(url):
        raise InputError("leave the password out of the address; put it into ~/.pgpass, as for psql")
    bench.workspace.add_source(url)
    return bench.go("/table", data=url)


def show_jobs(bench: Workbench, request: Request) -> Response:
    """All jobs of this folder."""
    return bench.page("jobs.html", request, jobs=bench.jobs.all())


def show_job(bench: Workbench, request: Request) -> Response:
    """One job, with what it printed."""
    job = bench.jobs.find(parameter(request, "job"))
    return bench.page("job.html", request, job=job, log=tail(job.folder / LOG), home=_home(bench, job))


def _home(bench: Workbench, job: Job) -> str:
    """The address of the page that a job was started from, if it is there."""
    subject = job.file.subject
    match job.file.kind:
        case "trial":
            return bench.at("/study", study=subject)
        case "check" | "plan" | "run":
            return bench.at("/partners", study=subject)
        case "invite" | "collect":
            return bench.at("/collection", study=subject)
        case "look":
            return bench.at("/table", data=subject)
        case "verify" | "evaluate" | "audit" | "forget":
            trial = re.fullmatch(r"(.+)/(trial-\d+)", subject)
            return bench.at("/run", run=subject) if trial is None else bench.at(
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


SHOW = {"/": show_folder, "/jobs": show_jobs, "/job": show_job}
DO = {"/upload": upload, "/source": add_source, "/job/stop": stop, "/job/again": again, "/job/remove": remove}
