"""The folder of a release or of a run: its figures, its files, and the checks that it can be put to."""

from __future__ import annotations

from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from covey.errors import InputError
from covey.evaluation import FILE as EVALUATION
from covey.evaluation import Evaluation
from covey.files import json_object, read_json, release_in
from covey.plain import listed
from covey.secure.declare import Fact
from covey.summary import FILE as SUMMARY
from covey.summary import Summary
from covey.ui.jobs import covey
from covey.ui.login import REPORT_POLICY
from covey.ui.workbench import Form, Workbench, parameter

_FILES = {
    "release.csv": "the released table",
    "classes.csv": "the classes, their sizes, and the generalization at which each left",
    "report.html": "the report for people",
    "summary.json": "the figures",
    "ledger.json": "what each party learned",
    "certificate.json": "the signatures of all parties",
    "transcript.jsonl": "sizes and hashes of all messages, signed",
    "approval.txt": "the question that was asked before the release",
    "study.toml": "the study as it was run",
    "explanation.json": "what cost most",
    "evaluation.json": "what the release is good for",
}

_CHECKS = {
    "verify": ("The judge", "yes, the release keeps all that the study asks"),
    "evaluate": ("The evaluation", "done; its sentences stand below"),
    "audit": ("The audit", "yes, transcript, signatures, ledger and summary hold"),
    "forget": ("Erasing", "done; the run can no longer be resumed or replayed"),
}


def show(bench: Workbench, request: Request) -> Response:
    """A run or a release."""
    path, study = parameter(request, "run"), parameter(request, "study", "")
    folder = bench.workspace.path(path)
    summary = Summary.read(folder / SUMMARY)
    files = [(name, description) for name, description in _FILES.items() if (folder / name).is_file()]
    checks = {kind: bench.jobs.latest(kind, path) for kind in ("verify", "evaluate", "audit", "forget")}
    return bench.page(
        "run.html", request, run=path, summary=summary, files=files, checks=checks, words=_CHECKS,
        study=study, data=bench.workspace.of_study(study).get("data", ""),
        evaluation=read_json(folder / EVALUATION, Evaluation), joint=(folder / "transcript.jsonl").is_file(),
        journal=(folder / "journal").exists(), facts=_facts(folder),
    )  # fmt: skip


def _facts(folder: Path) -> list[tuple[str, list[str]]]:
    """Facts of the ledger, by those who learned them."""
    facts = json_object(folder / "ledger.json").get("facts")
    sentences: dict[str, list[str]] = {}
    for entry in facts if isinstance(facts, list) else ():
        fact = msgspec.convert(entry, Fact)
        sentences.setdefault(listed(fact.learned_by), []).append(fact.fact)
    return list(sentences.items())


def check(bench: Workbench, form: Form) -> Response:
    """Puts a release or a run to one of the checks of the command line."""
    path, kind = form.text("run"), form.text("kind")
    file = release_in(bench.workspace.path(path))
    release = f"{path}/{'release.csv' if file is None else file.name}"
    data = form.text("data", "")
    original = ["--original", bench.workspace.data(data)] if data else []
    commands = {
        "verify": ["verify", release, "--study", f"{path}/study.toml", *original],
        "evaluate": ["evaluate", release, "--study", f"{path}/study.toml", *original, "--out", path],
        "audit": ["audit", path],
        "forget": ["forget", path],
    }
    if kind not in commands:
        raise InputError(f"{kind}: is no check of a run")
    bench.jobs.start(kind, f"covey {kind} {path}", path, [covey(*commands[kind])])
    return bench.go("/run", run=path, study=form.text("study", ""))


_PAGES = {"report.html": "text/html; charset=utf-8"}
_DOWNLOADS = (
    "release.csv", "classes.csv", "summary.json", "certificate.json", "ledger.json", "study.toml", "explanation.json",
    "transcript.jsonl", "evaluation.json", "approval.txt", "board.json",
)  # fmt: skip


def file(bench: Workbench, request: Request) -> Response:
    """A file of a run: a report shows itself, all else is downloaded."""
    folder, name = parameter(request, "run"), parameter(request, "name")
    if name not in _PAGES and name not in _DOWNLOADS:
        raise InputError(f"{name}: is no file that the workbench hands out")
    path = bench.workspace.path(f"{folder}/{name}")
    if not path.is_file():
        raise InputError(f"{folder}/{name}: there is no such file")
    if name in _PAGES:
        return FileResponse(path, headers={"content-security-policy": REPORT_POLICY}, media_type=_PAGES[name])
    return FileResponse(path, filename=name, media_type="application/octet-stream")


SHOW = {"/run": show, "/file": file}
DO = {"/run/check": check}
