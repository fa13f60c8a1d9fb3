"""Files of a run or a study, to be looked at or downloaded: only those that a run may hand out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from covey.errors import InputError
from covey.ui.guard import REPORT_POLICY
from covey.ui.workbench import Actions, Workbench, asked

_SHOWN = {"report.html": "text/html; charset=utf-8"}
_GIVEN = (
    "release.csv", "summary.json", "certificate.json", "ledger.json", "study.toml", "explanation.json",
    "transcript.jsonl", "evaluation.json", "approval.txt", "board.json",
)  # fmt: skip


def file(bench: Workbench, request: Request) -> Response:
    """A file of a run; a report shows itself, without any power, and everything else is downloaded."""
    folder, name = asked(request, "run"), asked(request, "name")
    if name not in _SHOWN and name not in _GIVEN:
        raise InputError(f"{name}: is no file that the workbench hands out")
    path = bench.workspace.path(f"{folder}/{name}")
    if not path.is_file():
        raise InputError(f"{folder}/{name}: there is no such file")
    if name in _SHOWN:
        return FileResponse(path, headers={"content-security-policy": REPORT_POLICY}, media_type=_SHOWN[name])
    return FileResponse(path, filename=name, media_type="application/octet-stream")


SHOW = {"/file": file}
DO: Actions = {}
