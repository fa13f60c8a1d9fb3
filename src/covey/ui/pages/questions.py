"""Questions that a draft left open, one column at a time; the study has the dangerous ones first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from covey.errors import InputError
from covey.schema import Role
from covey.study import Study
from covey.ui.pages.table import MEANING, change_roles, picture, summary_of
from covey.ui.workbench import Form, Workbench, asked
from covey.ui.workspace import mark

ANSWERS = (Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE, Role.PLAIN)


def show(bench: Workbench, request: Request) -> Response:
    """One open question, and what each answer means; `after` counts those that were put off."""
    path = asked(request, "study")
    place, text = bench.workspace.study(path)
    waiting = Study.parse(text, place.parent).waiting
    data = bench.workspace.of_study(path).get("data", "")
    after = asked(request, "after", "0")
    put_off = min(int(after), len(waiting)) if after.isdecimal() else 0
    column = waiting[put_off] if put_off < len(waiting) else None
    summary = summary_of(bench, data)[0] if data and column is not None else None
    found = next((each for each in summary.columns if column and each.name == column.name), None) if summary else None
    return bench.page(
        "questions.html", request, study=path, data=data, seen=mark(text), column=column, summary=found,
        rows=summary.rows if summary else 0, picture=picture(found) if found else "", put_off=put_off,
        left=len(waiting) - put_off, answers=ANSWERS, meaning=MEANING,
    )  # fmt: skip


def answer(bench: Workbench, form: Form) -> Response:
    """Writes the answer into the study, and shows the next question."""
    path, data = form.text("study"), form.text("data")
    chosen = form.text("role")
    if chosen not in ANSWERS:
        raise InputError("choose one of the answers")
    summary, _ = summary_of(bench, data)
    if summary is None:
        raise InputError(f"{data}: is still being read; wait until its columns are shown")
    change_roles(bench, path, form.text("seen"), data, summary, {form.text("column"): Role(chosen)})
    return bench.go("/questions", study=path, after=form.text("after", "0"))


SHOW = {"/questions": show}
DO = {"/questions/answer": answer}
