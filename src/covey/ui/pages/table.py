"""A table: its columns, their guessed roles, how identifying they are, and the questions that a draft left open."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote_plus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from covey.errors import InputError
from covey.files import write_atomically
from covey.guess import compose, name_of, section_of, told_apart
from covey.report.markup import Markup, tag
from covey.schema import Role
from covey.sources.packages import sheet_names
from covey.study import Study
from covey.study.editing import set_section
from covey.ui.jobs import Job, module
from covey.ui.look import (
    CHOICES,
    FEW,
    MOST_TOGETHER,
    VALUES,
    ColumnSummary,
    K,
    TableSummary,
    Together,
    name_together,
)  # fmt: skip
from covey.ui.workbench import Form, Workbench, parameter
from covey.ui.workspace import file_of, mark

_AT_ONCE = 40
_ENCODINGS = {
    "cp1252": "Western Europe (cp1252)",
    "cp1250": "Central Europe (cp1250)",
    "latin-1": "latin-1",
    "utf-16": "utf-16",
}
_HEIGHT = 28
MEANING = {
    Role.QUASI: ("known outside", "others could know it of a person: it is made coarser", "quasi-identifying"),
    Role.SENSITIVE: ("sensitive", "must not be learned of a person: published, but varied in every group", "sensitive"),
    Role.PLAIN: ("plain", "neither: published as it is", "insensitive"),
    Role.IDENTIFIER: ("left out", "names a person, or is not needed: it is not published", "identifying"),
    Role.KEY: ("key", "joins the rows of several tables; not published", ""),
    Role.ASK: ("undecided", "left out until somebody answers its question", ""),
}


def key_of(data: str) -> str:
    """The name of a table's files among the notes."""
    return hashlib.sha256(data.encode()).hexdigest()[:24]


def summary_as_read(bench: Workbench, data: str) -> TableSummary | None:
    """The summary of a table, if it has been read as it is now."""
    path = _notes(bench) / f"{key_of(data)}.json"
    try:
        summary = msgspec.json.decode(path.read_bytes(), type=TableSummary)
    except (OSError, msgspec.MsgspecError):
        return None
    return summary if summary.stamp == bench.workspace.stamp(data) else None


def summary_of(bench: Workbench, data: str) -> tuple[TableSummary | None, Job | None]:
    """The summary of a table, or the job that reads it."""
    stamp = bench.workspace.stamp(data)
    summary = summary_as_read(bench, data)
    if summary is not None:
        return summary, None
    latest = bench.jobs.latest("look", data)
    if latest is not None and latest.file.notes.get("stamp") == stamp and latest.state != "lost":
        summary = summary_as_read(bench, data) if latest.state == "done" else None
        if summary is not None or latest.state != "done":  # an earlier version's summary is made anew
            return summary, latest if summary is None else None
    command = module("covey.ui.look", data, str(_notes(bench) / f"{key_of(data)}.json"), stamp)
    return None, bench.jobs.start("look", f"Reading {data}", data, [command], stamp=stamp)


def values_of(bench: Workbench, data: str, column: str) -> dict[str, int] | None:
    """The rows of each value of a column; None if there are too many values."""
    if summary_of(bench, data)[0] is None:
        return None
    path = _notes(bench) / f"{key_of(data)}.json{VALUES}"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, int]]).get(column)


def together_of(bench: Workbench, data: str, columns: list[str]) -> tuple[Together | None, Job | None]:
    """The power of some columns together, or the job that counts it."""
    if not columns:
        return None, None
    stamp = bench.workspace.stamp(data)
    name = name_together(data, stamp, columns)
    path = _notes(bench) / f"{name}.json"
    reading = bench.jobs.latest("look", data)
    if path.is_file():
        return msgspec.json.decode(path.read_bytes(), type=Together), None
    if reading is not None and reading.state == "running":  # it counts the columns that were guessed
        return None, reading
    latest = bench.jobs.latest("together", name)
    if latest is None or latest.state == "lost":
        command = module("covey.ui.look", data, str(path), stamp, *columns)
        latest = bench.jobs.start("together", f"Counting columns of {data} together", name, [command])
    return None, latest


def _notes(bench: Workbench) -> Path:
    folder = bench.workspace.notes / "tables"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def show(bench: Workbench, request: Request) -> Response:
    """The columns of a table, some at a time, with their roles."""
    workspace = bench.workspace
    data = workspace.data(parameter(request, "data"))
    path = parameter(request, "study", "") or _study_of(bench, data)
    summary, job = summary_of(bench, data)
    if summary is None:
        return _not_read(bench, request, data, job)
    roles = {column.name: column.role for column in summary.columns}
    stamp: str = ""
    strange: list[str] = []
    if path:
        _, text = workspace.study(path)
        study = Study.parse(text, workspace.path(path).parent)
        stamp = mark(text)
        written = {column.name: column.role for column in study.columns}
        strange = [name for name in written if name not in roles]
        roles = {name: written.get(name, Role.IDENTIFIER) for name in roles}
    was = dict(roles)
    roles |= _chosen(summary, request.query_params)
    quasi = [name for name, role in roles.items() if role is Role.QUASI]
    first = max(0, int(parameter(request, "from", "0") or 0)) if parameter(request, "from", "0").isdecimal() else 0
    visible = summary.columns[first : first + _AT_ONCE]
    combination, counting = together_of(bench, data, quasi) if len(quasi) <= MOST_TOGETHER else (None, None)
    default = f"{Path(file_of(data)).stem if '://' not in data else name_of(data)}/study.toml"
    return bench.page(
        "table.html", request, data=data, study=path, seen=stamp, rows=summary.rows, columns=visible, roles=roles,
        pictures={column.name: picture(column) for column in visible}, meaning=MEANING, choices=CHOICES, quasi=quasi,
        first=first, size=_AT_ONCE, total=len(summary.columns), together=combination, counting=counting, k=K, few=FEW,
        strange=strange, suggested=default, several=summary.several, was=was,
        changed=[f"--role={name}={role}" for name, role in roles.items() if role is not was[name]],
    )  # fmt: skip


def _not_read(bench: Workbench, request: Request, data: str, job: Job | None) -> Response:
    """The page of a table that is being read, or whose encoding or sheet is asked."""
    encodings: list[tuple[str, str]] = []
    sheets: list[tuple[str, str]] = []
    if job is not None and job.state == "failed":
        file = file_of(data)
        if "several sheets" in job.said:
            sheets = [(f"{file}?sheet={quote_plus(name)}", name) for name in sheet_names(bench.workspace.path(file))]
        elif "not UTF-8" in job.said or "encoding" in job.said:
            encodings = [(f"{file}?encoding={name}", label) for name, label in _ENCODINGS.items()]
    return bench.page("reading.html", request, data=data, job=job, encodings=encodings, sheets=sheets)


def _study_of(bench: Workbench, data: str) -> str:
    """The study that was made of a table before, if it is still there."""
    for path in bench.workspace.contents().studies:
        if bench.workspace.of_study(path).get("data") == data and "trial-" not in path:
            return path
    return ""


def picture(column: ColumnSummary) -> Markup:
    """The column's bars; what few rows have is drawn low, whatever their number."""
    highest = max(column.bars, default=0) or 1
    width = 100 / max(len(column.bars), 8)
    shapes = []
    for index, count in enumerate(column.bars):
        height = 2 if count < FEW else max(2, round(_HEIGHT * count / highest))
        shapes.append(
            tag(
                "rect",
                x=f"{index * width:.2f}%",
                y=_HEIGHT - height,
                width=f"{width * 0.8:.2f}%",
                height=height,
                class_="bar",
            )
        )
    return tag(
        "svg", *shapes, class_="spark", width="100%", height=_HEIGHT, role="img",
        aria_label=f"{len(column.bars)} bars: {column.words}",
    )  # fmt: skip


def save(bench: Workbench, form: Form) -> Response:
    """Writes the study that the chosen roles make, or changes one."""
    data = bench.workspace.data(form.text("data"))
    summary, _ = summary_of(bench, data)
    if summary is None:
        raise InputError(f"{data}: is still being read; wait until its columns are shown")
    roles = _chosen(summary, form.fields)
    study = form.text("study", "")
    if study:
        change_roles(bench, study, form.text("seen"), data, summary, roles)
        return bench.go("/table", data=data, study=study, saved="roles", **{"from": form.text("from", "0")})
    path = _new(bench, form, data, summary, roles)
    return bench.go("/study", study=path, saved="study")


def _chosen(summary: TableSummary, fields: Mapping[str, object]) -> dict[str, Role]:
    """The roles that a person chose, by column."""
    return {
        summary.columns[int(name[5:])].name: Role(role)
        for name, role in fields.items()
        if name.startswith("role-") and isinstance(role, str) and name[5:].isdecimal() and role in tuple(Role)
        and int(name[5:]) < len(summary.columns)
    }  # fmt: skip


def _new(bench: Workbench, form: Form, data: str, summary: TableSummary, roles: dict[str, Role]) -> str:
    """Writes a new study, as `covey new` does, and notes its table."""
    path = form.text("out")
    file = bench.workspace.path(path)
    if file.suffix != ".toml":
        raise InputError(f"{path}: the name of a study ends with .toml")
    guesses = [
        column.guesses.get(roles.get(column.name, column.role), column.guesses[column.role])
        for column in summary.columns
    ]
    if not any(guess.role is Role.QUASI for guess in guesses):
        raise InputError("no column is one that others could know; say of at least one that it is known outside")
    compose(name_of(data), guesses, summary.several, K).write(file)
    bench.workspace.note_study(path, data=data)
    return path


def change_roles(
    bench: Workbench, path: str, stamp: str, data: str, summary: TableSummary, choices: dict[str, Role]
) -> None:
    """Changes the sections of the columns whose roles are others now."""
    file, text = bench.workspace.study_as_seen(path, stamp)
    study = Study.parse(text, file.parent)
    roles = {column.name: column.role for column in study.columns}
    files: dict[str, str] = {}
    for column in summary.columns:
        role = choices.get(column.name)
        if role is None or role is roles.get(column.name, Role.IDENTIFIER):
            continue
        (guess,) = told_apart([column.guesses[role]], {*study.files, *files})
        text = set_section(text, ("columns", column.name), section_of(guess, joint=study.protocol is not None), path)
        files |= dict([guess.file]) if guess.file else {}
    for name, content in files.items():
        if not (file.parent / name).exists():
            write_atomically(file.parent / name, content.encode())
    Study.parse(text, file.parent)
    bench.workspace.write_study(path, text, stamp)
    bench.workspace.note_study(path, data=data)


ANSWERS = (Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE, Role.PLAIN)


def show_question(bench: Workbench, request: Request) -> Response:
    """One open question, and what each answer means; `after` counts those that were put off."""
    path = parameter(request, "study")
    file, text = bench.workspace.study(path)
    waiting = Study.parse(text, file.parent).waiting
    data = bench.workspace.of_study(path).get("data", "")
    skip = parameter(request, "after", "0")
    put_off = min(int(skip), len(waiting)) if skip.isdecimal() else 0
    column = waiting[put_off] if put_off < len(waiting) else None
    summary = summary_of(bench, data)[0] if data and column is not None else None
    entry = (
        next((candidate for candidate in summary.columns if column and candidate.name == column.name), None)
        if summary
        else None
    )
    return bench.page(
        "questions.html", request, study=path, data=data, seen=mark(text), column=column, summary=entry,
        rows=summary.rows if summary else 0, picture=picture(entry) if entry else "", put_off=put_off,
        left=len(waiting) - put_off, answers=ANSWERS, meaning=MEANING,
    )  # fmt: skip


def answer(bench: Workbench, form: Form) -> Response:
    """Writes the answer into the study, and shows the next question."""
    path, data = form.text("study"), form.text("data")
    role = form.text("role")
    if role not in ANSWERS:
        raise InputError("choose one of the answers")
    summary, _ = summary_of(bench, data)
    if summary is None:
        raise InputError(f"{data}: is still being read; wait until its columns are shown")
    change_roles(bench, path, form.text("seen"), data, summary, {form.text("column"): Role(role)})
    return bench.go("/questions", study=path, after=form.text("after", "0"))


SHOW = {"/table": show, "/questions": show_question}
DO = {"/table/save": save, "/questions/answer": answer}
