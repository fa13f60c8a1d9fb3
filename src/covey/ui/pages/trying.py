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
from covey.ui.workbench import Form, Workbench, parameter
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
    path = parameter(request, "study")
    file, text = workspace.study(path)
    try:
        study = Study.parse(text, file.parent)
    except StudyError as error:
        return bench.page("broken.html", request, study=path, problems=error.problems, status=400)
    data = workspace.of_study(path).get("data", "")
    trials = trials_of(bench, path)
    tried = next((trial.study for trial in trials if trial.name == parameter(request, "tried", "")), None)
    finished = [trial for trial in trials if trial.summary is not None]
    running = [job for job in bench.jobs.all("trial", path) if job.state == "running"]
    failed = [
        job for job in bench.jobs.all("trial", path) if job.state in ("failed", "lost") and not _has_release(bench, job)
    ]
    return bench.page(
        "study.html", request, study=path, agreed=study, asking=tried or study, data=data,
        tables=bench.tables(data), seen=mark(text), trials=finished, running=running,
        failed=failed[:3], chosen=parameter(request, "algorithm", DEFAULT), seed=parameter(request, "seed", "0"),
        frequent=_most_frequent(bench, data, study), limited=_limited(tried or study), text=text,
        default=DEFAULT, picture=loss_by_k(finished),
        algorithms=[(name, algorithm.says) for name, algorithm in ALGORITHMS.items()],
        names=[column.name for column in study.quasi], sweep=_SWEEP,
    )  # fmt: skip


def _limited(study: Study) -> list[str]:
    """The sensitive columns whose l and t are shown at once."""
    asked_of = [column.name for column in study.sensitive if study.l_of(column) or study.t_of(column)]
    return asked_of or [column.name for column in study.sensitive[:_FEW_LIMITS]]


def _most_frequent(bench: Workbench, data: str, study: Study) -> dict[str, float]:
    """The share of the most frequent value of each sensitive column."""
    try:
        summary = summary_as_read(bench, data) if data else None
    except (InputError, OSError):  # the table is not in the folder any more
        summary = None
    shares = (
        {}
        if summary is None
        else {column.name: column.largest / summary.rows for column in summary.columns if column.largest}
    )
    return {column.name: shares[column.name] for column in study.sensitive if column.name in shares}


def _has_release(bench: Workbench, job: Job) -> bool:
    return (bench.workspace.root / job.file.notes.get("out", "") / SUMMARY).is_file()


def trials_of(bench: Workbench, path: str) -> list[Trial]:
    """The trials of a study, the first first."""
    folder = bench.workspace.path(path).parent
    by_out = {job.file.notes.get("out", ""): job for job in reversed(bench.jobs.all("trial", path))}
    trials = []
    for entry in sorted(folder.glob("trial-*.toml"), key=lambda file: (len(file.name), file.name)):
        if _TRIAL.fullmatch(entry.stem) and not entry.is_symlink():
            trials.append(_trial(bench, entry, by_out))
    return trials


def _trial(bench: Workbench, file: Path, by_out: Mapping[str, Job]) -> Trial:
    folder = file.with_suffix("")
    relative = bench.workspace.relative(folder)
    job = by_out.get(relative)
    examined = None
    result = bench.workspace.notes / "results" / f"{relative.replace('/', '~')}.json"
    if result.is_file() and (folder / SUMMARY).is_file():
        examined = msgspec.json.decode(result.read_bytes(), type=Examined)
    try:
        study: Study | None = Study.load(file)
    except InputError:
        study = None
    summary = Summary.read(folder / SUMMARY)
    publishable = examined is not None and (summary is None or summary.refused is None)
    losses = {column.name: column.loss for column in examined.columns} if examined is not None and publishable else {}
    return Trial(
        file.stem, relative, job, study, summary, examined,
        read_json(folder / "explanation.json", Explanation), read_json(folder / EVALUATION, Evaluation), losses,
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
    label = f"{best.y:.3f} at k = {best.x:g}"
    description = ", ".join(f"{point.y:.3f} at k = {point.x:g}" for point in ordered)
    return tag(
        "figure", curve(ordered, best, x="k", y="loss (LM)", caption=label), tag("figcaption", f"Loss: {description}.")
    )


def run(bench: Workbench, form: Form) -> Response:
    """Starts a trial with these controls, or one for each k."""
    path = form.text("study")
    file, text = bench.workspace.study(path)
    study = Study.parse(text, file.parent)
    data = bench.workspace.data(form.text("data"))
    bench.workspace.note_study(path, data=data)
    changed = _requested(form, study, text, path)
    thresholds = _SWEEP if form.text("sweep", "") else (None,)
    tried = ""
    for k in thresholds:
        edited = changed if k is None else set_keys(changed, ("privacy",), {"k": str(k)}, path)
        tried = _start(bench, form, path, edited, data)
    query = {
        "tried": "" if len(thresholds) > 1 else tried,
        "algorithm": form.text("algorithm", ""),
        "seed": form.text("seed", ""),
    }
    return bench.go("/study", study=path, **query)


def _requested(form: Form, study: Study, text: str, path: str) -> str:
    """The study's text with what the controls ask for."""
    k = form.whole("k", low=2)
    if k is not None and k != study.privacy.k:
        text = set_keys(text, ("privacy",), {"k": str(k)}, path)
    for name, low, high, limit_of in (("l", 1.0, float("inf"), study.l_of), ("t", 0.0, 1.0, study.t_of)):
        asked_of = [form.number(f"{name}-{index}", low=low, high=high) for index, _ in enumerate(study.sensitive)]
        if asked_of != [limit_of(column) for column in study.sensitive]:
            text = set_keys(text, ("privacy",), {name: None}, path)
            for column, value in zip(study.sensitive, asked_of, strict=True):
                text = set_keys(text, ("columns", column.name), {name: None if value is None else f"{value:g}"}, path)
    suppression = form.number("suppression", low=0, high=100)
    if suppression is not None and abs(suppression / 100 - study.suppression) > 1e-9:
        text = set_keys(text, ("utility",), {"suppression": f"{suppression / 100:g}"}, path)
    for index, column in enumerate(study.quasi):
        weight = form.number(f"weight-{index}", low=0)
        if weight is not None and weight != column.weight:
            text = set_keys(text, ("columns", column.name), {"weight": f"{weight:g}"}, path)
    return text


def _start(bench: Workbench, form: Form, path: str, text: str, data: str) -> str:
    """Writes the trial's study beside the study, and starts the command; returns the trial's name."""
    folder = bench.workspace.path(path).parent
    Study.parse(text, folder)
    name = bench.workspace.free(folder, "trial", "", ".toml")
    file, target = (bench.workspace.relative(folder / part) for part in (f"{name}.toml", name))
    write_atomically(folder / f"{name}.toml", text.encode())
    algorithm = form.text("algorithm", DEFAULT)
    command = covey(
        "anonymize", file, data=data, out=target, explain=True, algorithm=algorithm if algorithm != DEFAULT else None,
        seed=form.whole("seed", low=0),
    )  # fmt: skip
    results = bench.workspace.notes / "results"
    results.mkdir(mode=0o700, exist_ok=True)
    result = results / f"{target.replace('/', '~')}.json"
    looking = module("covey.ui.examine", target, data, str(result))
    k = Study.parse(text, folder).privacy.k
    title = f"Trial {name.removeprefix('trial-')} of {path}, k = {k}"
    bench.jobs.start("trial", title, path, [command, looking], out=target)
    return name


def evaluate(bench: Workbench, form: Form) -> Response:
    """Measures what the release of a trial is good for."""
    path = form.text("study")
    trial = _named(bench, path, form.text("trial"))
    data = bench.workspace.data(form.text("data"))
    folder = trial.folder
    command = covey("evaluate", f"{folder}/release.csv", study=f"{folder}/study.toml", original=data, out=folder)
    bench.jobs.start("evaluate", f"Evaluating {folder}", folder, [command])
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
    target = folder / "release"
    if target.exists():
        target = folder / bench.workspace.free(folder, "release", "")
    shutil.copytree(bench.workspace.path(trial.folder), target)
    return bench.go("/run", run=bench.workspace.relative(target), study=path, saved="release")


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
    """One trial: its costs, its classes, rows before and after."""
    path = parameter(request, "study")
    _, text = bench.workspace.study(path)
    trial = _named(bench, path, parameter(request, "trial"))
    data = bench.workspace.of_study(path).get("data", "")
    return bench.page(
        "trial.html", request, study=path, trial=trial, data=data, seen=mark(text),
        evaluating=bench.jobs.latest("evaluate", trial.folder),
    )  # fmt: skip


SHOW = {"/study": show, "/trial": one}
DO = {"/study/run": run, "/trial/choose": choose, "/trial/remove": remove, "/trial/evaluate": evaluate}
