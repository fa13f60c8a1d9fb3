"""A study tried out on the owner's table: controls, trials as jobs, results side by side, and the choice of one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from covey.anonymizers import ALGORITHMS, DEFAULT
from covey.anonymizers.explain import Explanation
from covey.errors import InputError, StudyError
from covey.evaluation import FILE as EVALUATION
from covey.evaluation import Evaluation
from covey.files import read_json, write_atomically
from covey.report.charts import CurvePoint, curve
from covey.report.markup import Markup, tag
from covey.study import Study
from covey.study.editing import set_keys
from covey.summary import FILE as SUMMARY
from covey.summary import Summary
from covey.ui.examine import Examined
from covey.ui.jobs import Job, covey, module
from covey.ui.pages.table import summary_as_read
from covey.ui.workbench import Form, Workbench, asked
from covey.ui.workspace import mark

_SWEEP = (2, 5, 10, 20, 50)
_FEW_LIMITS = 3
_TRIAL = re.compile(r"trial-(\d+)")


@dataclass(frozen=True)
class Trial:
    """One trial: its job, and what came out as far as it is there."""

    name: str
    folder: str
    job: Job | None
    study: Study | None
    summary: Summary | None
    examined: Examined | None
    explanation: Explanation | None
    evaluation: Evaluation | None
    losses: Mapping[str, float] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return int(self.name.removeprefix("trial-"))


def show(bench: Workbench, request: Request) -> Response:
    """The controls and all trials of a study."""
    workspace = bench.workspace
    path = asked(request, "study")
    place, text = workspace.study(path)
    try:
        study = Study.parse(text, place.parent)
    except StudyError as error:
        return bench.page("broken.html", request, study=path, problems=error.problems, status=400)
    data = workspace.of_study(path).get("data", "")
    trials = trials_of(bench, path)
    tried = next((each.study for each in trials if each.name == asked(request, "tried", "")), None)
    done = [trial for trial in trials if trial.summary is not None]
    running = [job for job in bench.jobs.all("trial", path) if job.state == "running"]
    failed = [
        job for job in bench.jobs.all("trial", path) if job.state in ("failed", "lost") and not _has_release(bench, job)
    ]
    return bench.page(
        "study.html", request, study=path, agreed=study, asking=tried or study, data=data,
        tables=bench.tables(data), seen=mark(text), trials=done, running=running,
        failed=failed[:3], chosen=asked(request, "algorithm", DEFAULT), seed=asked(request, "seed", "0"),
        frequent=_most_frequent(bench, data, study), limited=_limited(tried or study), text=text,
        default=DEFAULT, picture=loss_by_k(done),
        algorithms=[(name, each.says) for name, each in ALGORITHMS.items()],
        names=[column.name for column in study.quasi], sweep=_SWEEP,
    )  # fmt: skip


def _limited(study: Study) -> list[str]:
    """The sensitive columns whose l and t are shown at once: those that are asked for, or the first ones."""
    asked_of = [column.name for column in study.sensitive if study.l_of(column) or study.t_of(column)]
    return asked_of or [column.name for column in study.sensitive[:_FEW_LIMITS]]


def _most_frequent(bench: Workbench, data: str, study: Study) -> dict[str, float]:
    """The part of the rows that the most frequent value of each sensitive column has, as far as the table is read."""
    try:
        summary = summary_as_read(bench, data) if data else None
    except (InputError, OSError):  # the table is not in the folder any more
        summary = None
    often = {} if summary is None else {each.name: each.most / summary.rows for each in summary.columns if each.most}
    return {column.name: often[column.name] for column in study.sensitive if column.name in often}


def _has_release(bench: Workbench, job: Job) -> bool:
    return (bench.workspace.root / job.file.notes.get("out", "") / SUMMARY).is_file()


def trials_of(bench: Workbench, path: str) -> list[Trial]:
    """The trials of a study, the first first."""
    folder = bench.workspace.path(path).parent
    by_out = {job.file.notes.get("out", ""): job for job in reversed(bench.jobs.all("trial", path))}
    found = []
    for each in sorted(folder.glob("trial-*.toml"), key=lambda file: (len(file.name), file.name)):
        if _TRIAL.fullmatch(each.stem) and not each.is_symlink():
            found.append(_trial(bench, each, by_out))
    return found


def _trial(bench: Workbench, file: Path, by_out: Mapping[str, Job]) -> Trial:
    out = file.with_suffix("")
    relative = bench.workspace.relative(out)
    job = by_out.get(relative)
    examined = None
    result = bench.workspace.notes / "results" / f"{relative.replace('/', '~')}.json"
    if result.is_file() and (out / SUMMARY).is_file():
        examined = msgspec.json.decode(result.read_bytes(), type=Examined)
    try:
        study: Study | None = Study.load(file)
    except InputError:
        study = None
    summary = Summary.read(out / SUMMARY)
    shown = examined is not None and (summary is None or summary.refused is None)
    losses = {each.name: each.loss for each in examined.columns} if examined is not None and shown else {}
    return Trial(
        file.stem, relative, job, study, summary, examined,
        read_json(out / "explanation.json", Explanation), read_json(out / EVALUATION, Evaluation), losses,
    )  # fmt: skip


def loss_by_k(trials: list[Trial]) -> Markup | None:
    """The loss against k of the trials; a picture takes two different k."""
    points: dict[int, float] = {}
    for trial in trials:
        summary = trial.summary
        lm = summary.loss.get("lm") if summary is not None and summary.refused is None else None
        if summary is not None and summary.k is not None and lm is not None:
            points[summary.k] = min(lm, points.get(summary.k, 1.0))
    if len(points) < 2:
        return None
    ordered = [CurvePoint(k, points[k]) for k in sorted(points)]
    best = ordered[0]
    latest = trials[-1].summary
    if latest is not None and latest.k in points:
        best = CurvePoint(latest.k, points[latest.k])
    said = f"{best.y:.3f} at k = {best.x:g}"
    listed = ", ".join(f"{point.y:.3f} at k = {point.x:g}" for point in ordered)
    return tag("figure", curve(ordered, best, x="k", y="loss (LM)", said=said), tag("figcaption", f"Loss: {listed}."))


def run(bench: Workbench, form: Form) -> Response:
    """Starts a trial with what the controls ask for, or one for each k of a row."""
    path = form.text("study")
    place, text = bench.workspace.study(path)
    study = Study.parse(text, place.parent)
    data = bench.workspace.data(form.text("data"))
    bench.workspace.note_study(path, data=data)
    changed = _requested(form, study, text, path)
    wanted = _SWEEP if form.text("sweep", "") else (None,)
    tried = ""
    for k in wanted:
        own = changed if k is None else set_keys(changed, ("privacy",), {"k": str(k)}, path)
        tried = _start(bench, form, path, own, data)
    more = {
        "tried": "" if len(wanted) > 1 else tried,
        "algorithm": form.text("algorithm", ""),
        "seed": form.text("seed", ""),
    }
    return bench.go("/study", study=path, **more)


def _requested(form: Form, study: Study, text: str, path: str) -> str:
    """The study's text with what the controls ask for; what they leave as it is stays as it is written."""
    k = form.whole("k", low=2)
    if k is not None and k != study.privacy.k:
        text = set_keys(text, ("privacy",), {"k": str(k)}, path)
    for name, low, high, of in (("l", 1.0, float("inf"), study.l_of), ("t", 0.0, 1.0, study.t_of)):
        asked_of = [form.number(f"{name}-{place}", low=low, high=high) for place, _ in enumerate(study.sensitive)]
        if asked_of != [of(column) for column in study.sensitive]:
            text = set_keys(text, ("privacy",), {name: None}, path)
            for column, value in zip(study.sensitive, asked_of, strict=True):
                text = set_keys(text, ("columns", column.name), {name: None if value is None else f"{value:g}"}, path)
    suppression = form.number("suppression", low=0, high=100)
    if suppression is not None and abs(suppression / 100 - study.suppression) > 1e-9:
        text = set_keys(text, ("utility",), {"suppression": f"{suppression / 100:g}"}, path)
    for place, column in enumerate(study.quasi):
        weight = form.number(f"weight-{place}", low=0)
        if weight is not None and weight != column.weight:
            text = set_keys(text, ("columns", column.name), {"weight": f"{weight:g}"}, path)
    return text


def _start(bench: Workbench, form: Form, path: str, text: str, data: str) -> str:
    """Writes the trial's study beside the study, and starts the command; returns the trial's name."""
    folder = bench.workspace.path(path).parent
    Study.parse(text, folder)
    name = bench.workspace.free(folder, "trial", "", ".toml")
    file, out = (bench.workspace.relative(folder / each) for each in (f"{name}.toml", name))
    write_atomically(folder / f"{name}.toml", text.encode())
    algorithm = form.text("algorithm", DEFAULT)
    command = covey(
        "anonymize", file, data=data, out=out, explain=True, algorithm=algorithm if algorithm != DEFAULT else None,
        seed=form.whole("seed", low=0),
    )  # fmt: skip
    results = bench.workspace.notes / "results"
    results.mkdir(mode=0o700, exist_ok=True)
    result = results / f"{out.replace('/', '~')}.json"
    looking = module("covey.ui.examine", out, data, str(result))
    k = Study.parse(text, folder).privacy.k
    title = f"Trial {name.removeprefix('trial-')} of {path}, k = {k}"
    bench.jobs.start("trial", title, path, [command, looking], out=out)
    return name


def evaluate(bench: Workbench, form: Form) -> Response:
    """Measures what the release of a trial is good for."""
    path = form.text("study")
    trial = _named(bench, path, form.text("trial"))
    data = bench.workspace.data(form.text("data"))
    out = trial.folder
    command = covey("evaluate", f"{out}/release.csv", study=f"{out}/study.toml", original=data, out=out)
    bench.jobs.start("evaluate", f"Evaluating {out}", out, [command])
    return bench.go("/trial", study=path, trial=trial.name)


def choose(bench: Workbench, form: Form) -> Response:
    """Makes a trial the study, and its release the release."""
    path = form.text("study")
    trial = _named(bench, path, form.text("trial"))
    if trial.summary is not None and trial.summary.refused is not None:
        raise InputError(f"{trial.folder}: do not publish this: {trial.summary.refused}")
    folder = bench.workspace.path(path).parent
    text = (folder / f"{trial.name}.toml").read_text("utf-8-sig")
    bench.workspace.write_study(path, text, form.text("seen"))
    out = folder / "release"
    if out.exists():
        out = folder / bench.workspace.free(folder, "release", "")
    shutil.copytree(bench.workspace.path(trial.folder), out)
    return bench.go("/run", run=bench.workspace.relative(out), study=path, saved="release")


def remove(bench: Workbench, form: Form) -> Response:
    """Removes a trial with its files."""
    path = form.text("study")
    trial = _named(bench, path, form.text("trial"))
    folder = bench.workspace.path(trial.folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".toml").unlink(missing_ok=True)
    return bench.go("/study", study=path)


def _named(bench: Workbench, path: str, name: str) -> Trial:
    for trial in trials_of(bench, path):
        if trial.name == name and trial.summary is not None:
            return trial
    raise InputError(f"{name}: there is no such trial, or it has no release")


def one(bench: Workbench, request: Request) -> Response:
    """One trial: what cost most and what asking for less would buy, the classes, rows before and after."""
    path = asked(request, "study")
    _, text = bench.workspace.study(path)
    trial = _named(bench, path, asked(request, "trial"))
    data = bench.workspace.of_study(path).get("data", "")
    return bench.page(
        "trial.html", request, study=path, trial=trial, data=data, seen=mark(text),
        evaluating=bench.jobs.latest("evaluate", trial.folder),
    )  # fmt: skip


SHOW = {"/study": show, "/trial": one}
DO = {"/study/run": run, "/trial/choose": choose, "/trial/remove": remove, "/trial/evaluate": evaluate}
