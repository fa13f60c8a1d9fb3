"""A collection as its organiser sees it: invitations, who answered, the phase and its deadline, the trustees."""

from __future__ import annotations

import contextlib

from starlette.requests import Request
from starlette.responses import Response

from covey.errors import CoveyError, InputError
from covey.party.collection import status as boards
from covey.party.collection import times
from covey.study import Study
from covey.summary import FILE as SUMMARY
from covey.ui.jobs import covey
from covey.ui.workbench import Form, Workbench, attachment, parameter

_SHOWN = 24


def show(bench: Workbench, request: Request) -> Response:
    """The collection of a study, or one that lies in a folder."""
    workspace = bench.workspace
    path = parameter(request, "study", "")
    folder = parameter(request, "folder", "") or _folder(bench, path)
    location = workspace.path(folder)
    study = None
    for candidate in (path, f"{folder}/study.toml"):
        if study is None and candidate and (workspace.root / candidate).is_file():
            study = Study.load(workspace.path(candidate))
            path = path or candidate
    status: dict[str, object] = {}
    with contextlib.suppress(CoveyError):  # raised as long as nobody has been invited
        status = boards.read(location)
    moments = {
        name: times.shown(float(str(status[name]))) for name in ("closes", "deadline") if status.get(name) is not None
    }
    collectors = () if study is None else study.of_party_role("collector")
    return bench.page(
        "collection.html", request, study=path, place=folder, agreed=study, standing=status, moments=moments,
        party=workspace.of_study(path).get("party", ""), collector=collectors[0] if collectors else "",
        trustees=() if study is None else study.of_party_role("trustee"), most=_SHOWN,
        inviting=bench.jobs.all("invite", path)[:5], serving=bench.jobs.latest("collect", path),
        finished=(location / SUMMARY).is_file(), data=workspace.of_study(path).get("data", ""),
        web="" if study is None else study.options.get("web", ""), keys=_keys(bench, path) if path else "keys",
    )  # fmt: skip


def _folder(bench: Workbench, path: str) -> str:
    """The folder of a study's collection, beside the study."""
    return bench.workspace.relative(bench.workspace.study(path)[0].parent / "collection")


def _keys(bench: Workbench, path: str) -> str:
    return bench.workspace.relative(bench.workspace.path(path).parent / "keys")


def invite(bench: Workbench, form: Form) -> Response:
    """Makes invitations; the list is shown once they are made."""
    path = form.text("study")
    count, days = form.whole("count", low=1, high=100_000), form.number("days", low=0.01, high=400)
    command = covey(
        "collect", "invite", path, out=_folder(bench, path), count=count or 1, valid=f"{days:g}" if days else None,
        links=bool(form.text("links", "")),
    )  # fmt: skip
    bench.jobs.start("invite", f"{count or 1} invitations to {path}", path, [command])
    return bench.go("/collection", study=path)


def invitations(bench: Workbench, request: Request) -> Response:
    """The invitations that were made, one on each line."""
    job = bench.jobs.find(parameter(request, "job"))
    if job.file.kind != "invite" or job.state != "done":
        raise InputError("these invitations have not been made; look at the job")
    return attachment("invitations.txt", job.out, "text/plain; charset=utf-8")


def serve(bench: Workbench, form: Form) -> Response:
    """Starts collecting, or serving as a trustee, or goes on with it."""
    path = form.text("study")
    keys, folder = _keys(bench, path), _folder(bench, path)
    if form.text("as", "") == "trustee":
        command = covey("collect", "trustee", path, keys=keys, out=folder)
    else:
        command = covey(
            "collect", "serve", path, out=folder, keys=keys, quorum=form.whole("quorum", low=1),
            closes=form.text("closes", ""), phase_deadline=form.text("phase", "1h"), web=form.text("web", ""),
        )  # fmt: skip
    bench.jobs.start("collect", f"Collecting for {path}", path, [command], out=folder)
    return bench.go("/collection", study=path)


SHOW = {"/collection": show, "/collection/invitations": invitations}
DO = {"/collection/invite": invite, "/collection/serve": serve}
