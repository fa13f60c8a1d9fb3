"""The first page: the tables, studies and runs of the folder, and ways to add some."""

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
from covey.ui.workbench import Form, Workbench

_TRIAL = re.compile(r"(^|/)trial-\d+(\.toml)?$")


def is_trial(path: str) -> bool:
    """True for the study or the folder of a trial, which its study's page shows."""
    return _TRIAL.search(path) is not None


def show(bench: Workbench, request: Request) -> Response:
    """The contents of the folder."""
    workspace = bench.workspace
    found = workspace.contents()
    running = [job for job in bench.jobs.all() if job.state == "running"]
    tables = [{"data": path, **_size(workspace.path(path))} for path in found.tables]
    runs = [{"run": path, **_figures(workspace.path(path))} for path in found.runs if not is_trial(path)]
    return bench.page(
        "start.html", request, tables=tables, sources=workspace.sources(),
        studies=[path for path in found.studies if not is_trial(path)], runs=runs, collections=found.collections,
        unreadable=bench.unreadable(), jobs=running,
        asking=[job for job in running if (job.folder / QUESTION).is_file()],
    )  # fmt: skip


def _size(path: Path) -> dict[str, object]:
    found = path.stat()
    return {"size": found.st_size, "changed": found.st_mtime}


def _figures(folder: Path) -> dict[str, object]:
    """A few words on a run or a release."""
    said = json_object(folder / "summary.json")
    if not said:
        return {"said": "not finished", "finished": False}
    kept = said.get("kept")
    rows, k = said.get("rows"), said.get("k")
    parts = [f"{rows:,} rows" if isinstance(rows, int) else "the release went to others", f"k = {k}"]
    if said.get("refused"):
        parts.append("do not publish it")
    elif isinstance(kept, float):
        parts.append(f"kept {kept:.3f}")
    return {"said": ", ".join(parts), "finished": True}


def upload(bench: Workbench, form: Form) -> Response:
    """Copies a table from elsewhere on this machine into the folder."""
    given = form.upload("file")
    name = Path(str(given.filename).replace("\\", "/")).name
    path = bench.workspace.path(name)
    if path.exists():
        raise InputError(f"{name}: is in the folder already; rename the file, or open the one that is there")
    partial = path.with_name(f".{name}.part")
    try:
        with partial.open("xb") as stream:
            partial.chmod(0o600)
            shutil.copyfileobj(given.file, stream)
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


SHOW = {"/": show}
DO = {"/upload": upload, "/source": add_source}
