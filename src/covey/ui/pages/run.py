"""The folder of a release or of a run: its figures, its files, and the checks that it can be put to."""

from __future__ import annotations

from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from covey.errors import InputError
from covey.evaluation import FILE as EVALUATION
from covey.evaluation import Evaluation
from covey.files import json_object, read_json
from covey.plain import listed
from covey.release_file import release_in
from covey.secure.declare import Fact
from covey.summary import FILE as SUMMARY
from covey.summary import Summary
from covey.ui.jobs import covey
from covey.ui.workbench import Form, Workbench, asked

_FILES = {
    "release.csv": "the released table",
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

_WORDS = {
    "verify": ("The judge", "yes, the release keeps all that the study asks"),
    "evaluate": ("The evaluation", "done; its sentences stand below"),
    "audit": ("The audit", "yes, transcript, signatures, ledger and summary hold"),
    "forget": ("Erasing", "done; the run can no longer be resumed or replayed"),
}


def show(bench: Workbench, request: Request) -> Response:
    """A run or a release."""
    path = asked(request, "run")
    folder = bench.workspace.path(path)
    summary = Summary.read(folder / SUMMARY)
    files = [(name, said) for name, said in _FILES.items() if (folder / name).is_file()]
    checks = {kind: bench.jobs.latest(kind, path) for kind in ("verify", "evaluate", "audit", "forget")}
    return bench.page(
        "run.html", request, run=path, summary=summary, files=files, checks=checks, words=_WORDS,
        study=asked(request, "study", ""), data=bench.workspace.of_study(asked(request, "study", "")).get("data", ""),
        evaluation=read_json(folder / EVALUATION, Evaluation), joint=(folder / "transcript.jsonl").is_file(),
        journal=(folder / "journal").exists(), facts=_facts(folder),
    )  # fmt: skip


def _facts(folder: Path) -> list[tuple[str, list[str]]]:
    """Facts of the ledger, by those who learned them; also of a run that came to no release."""
    found = json_object(folder / "ledger.json").get("facts")
    by: dict[str, list[str]] = {}
    for each in found if isinstance(found, list) else ():
        fact = msgspec.convert(each, Fact)
        by.setdefault(listed(fact.learned_by), []).append(fact.fact)
    return list(by.items())


def check(bench: Workbench, form: Form) -> Response:
    """Puts a release or a run to one of the checks of the command line."""
    path, kind = form.text("run"), form.text("kind")
    found = release_in(bench.workspace.path(path))
    release = f"{path}/{'release.csv' if found is None else found.name}"
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


SHOW = {"/run": show}
DO = {"/run/check": check}
