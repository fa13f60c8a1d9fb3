"""The workbench as its pages see it: the folder, the jobs, and the way to an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import cast
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from covey.errors import InputError
from covey.plain import UNSEEN, plural
from covey.report import spelling
from covey.report.markup import text as escaped
from covey.sizes import spell as spell_size
from covey.ui.jobs import Job, Jobs, shown
from covey.ui.login import TOKEN_FIELD, Guard
from covey.ui.workspace import Workspace, file_of, table_name
from covey.version import __version__

_UPLOADED = 64 * 2**20
_READ = ("running", "done")


@dataclass(frozen=True)
class Workbench:
    """All that a page needs."""

    workspace: Workspace
    jobs: Jobs
    guard: Guard
    templates: Environment

    def page(self, template: str, request: Request, *, status: int = 200, **context: object) -> Response:
        """A page from a template."""
        content = self.templates.get_template(template).render(
            bench=self, folder=self.workspace.root.name, here=request.url.path, form_token=self.guard.form_token,
            token_field=TOKEN_FIELD, saved=request.query_params.get("saved"), version=__version__, **context,
        )  # fmt: skip
        return HTMLResponse(content, status)

    def at(self, path: str, **query: str | int) -> str:
        """The address of a page of ours."""
        return _address(self.guard, path, **query)

    def go(self, path: str, part: str = "", **query: str | int) -> Response:
        """Sends the browser to a page after something was done."""
        return RedirectResponse(self.at(path, **query) + (f"#{part}" if part else ""), 303)

    def tables(self, data: str = "") -> list[str]:
        """The tables that a person may choose: files, databases, and readings of them.

        A table that could not be read is left out, unless it is the one that is chosen now.
        """
        files = self.workspace.contents().tables
        looks = self.jobs.all("look")
        read = [job.file.subject for job in looks if job.state in _READ and file_of(job.file.subject) in files]
        unread = self.unreadable(looks)
        names = dict.fromkeys([*files, *self.workspace.sources(), data, *sorted(read)])
        return [name for name in names if name and (name == data or name not in unread)]

    def unreadable(self, looks: Sequence[Job] | None = None) -> set[str]:
        """The tables that could not be read as they are now."""
        names: set[str] = set()
        for job in reversed(self.jobs.all("look") if looks is None else looks):
            names.discard(job.file.subject)
            if job.state == "failed":
                with suppress(InputError, OSError):  # it is not in the folder any more
                    if self.workspace.stamp(job.file.subject) == job.file.notes.get("stamp"):
                        names.add(job.file.subject)
        return names


@dataclass(frozen=True)
class Form:
    """The fields of a form that came with the right token."""

    fields: FormData

    def text(self, name: str, otherwise: str | None = None) -> str:
        """A field's text. Raises InputError if it is not there and nothing stands for it."""
        value = self.fields.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if otherwise is None:
            raise InputError(f"{name}: is empty; fill it in")
        return otherwise

    def texts(self, name: str) -> list[str]:
        """All texts of a field that may stand several times."""
        return [value for value in self.fields.getlist(name) if isinstance(value, str)]

    def number(self, name: str, *, low: float, high: float = float("inf")) -> float | None:
        """A field's number; None if it is empty. Raises InputError if it is none, or out of range."""
        text = self.text(name, "")
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{name}: {text!r} is no number") from None
        if not low <= value <= high:
            upper = "" if high == float("inf") else f" and at most {high:g}"
            raise InputError(f"{name}: must be at least {low:g}{upper}")
        return value

    def whole(self, name: str, *, low: int, high: int = 10**9) -> int | None:
        """A field's whole number."""
        value = self.number(name, low=low, high=high)
        if value is not None and not value.is_integer():
            raise InputError(f"{name}: must be a whole number")
        return None if value is None else int(value)

    def upload(self, name: str) -> UploadFile:
        """A file that was chosen. Raises InputError if none was."""
        value = self.fields.get(name)
        if not isinstance(value, UploadFile) or not value.filename:
            raise InputError("choose a file first")
        return value

    def contents(self, name: str) -> list[bytes]:
        """The contents of the small files that were chosen. Raises InputError if none was."""
        self.upload(name)
        return [upload.file.read(_UPLOADED) for upload in self.fields.getlist(name) if isinstance(upload, UploadFile)]

    def content(self, name: str, limit: int = _UPLOADED) -> bytes:
        """The content of a small file that was chosen."""
        content = self.upload(name).file.read(limit + 1)
        if len(content) > limit:
            raise InputError(f"the file is larger than {limit:,} bytes, which is too much for what is asked here")
        return content


Get = Callable[[Workbench, Request], Response]
Post = Callable[[Workbench, Form], Response]
Pages = Mapping[str, Get]
Actions = Mapping[str, Post]


def environment(guard: Guard, paths: Collection[str]) -> Environment:
    """The templates: every text is escaped, and a name that is missing is an error. `paths` are those of the pages."""
    templates = Environment(
        loader=PackageLoader("covey.ui"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip

    templates.globals["at"] = partial(_address, guard)
    templates.globals["there"] = lambda path: path in paths
    templates.globals["command"] = lambda *parts: shown([str(part) for part in parts if part != ""])
    templates.globals["percent"] = _percent
    templates.filters.update(
        share=spelling.share, loss=spelling.loss, level=spelling.level, duration=spelling.duration, size=spell_size,
        plural=plural, number=lambda value: f"{value:,}", day=_day, printable=lambda name: escaped(str(name)),
        short=lambda name: name if len(name) <= 60 else name[:59] + "…", table=table_name, sentence=_sentence,
    )  # fmt: skip
    templates.finalize = _plain
    return templates


def _address(guard: Guard, path: str, **query: str | int) -> str:
    parameters = urlencode({name: value for name, value in query.items() if value != ""}, quote_via=quote)
    return f"{guard.prefix}{path}" + (f"?{parameters}" if parameters else "")


def _sentence(message: str) -> str:
    """A message as a sentence, with a capital unless it begins with a name."""
    first = message.split(" ", 1)[0]
    return message[:1].upper() + message[1:] if first.isalpha() else message


def _percent(message: str) -> int | None:
    """The part that is done, where a command's last words name it."""
    match = re.search(r"(\d{1,3})% done", message)
    return None if match is None else int(match[1])


def _plain(value: object) -> object:
    """Texts without control characters, which a page may not hold."""
    if type(value) is str and any(ord(mark) < 32 and mark not in "\t\n\r" for mark in value):
        return "".join(UNSEEN if ord(mark) < 32 and mark not in "\t\n\r" else mark for mark in value)
    return value


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def attachment(name: str, content: str | bytes, kind: str = "application/octet-stream") -> Response:
    """A file that the browser saves under that name."""
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def parameter(request: Request, name: str, otherwise: str | None = None) -> str:
    """A part of a page's address. Raises InputError if it is not there."""
    value = request.query_params.get(name)
    if value is None and otherwise is None:
        raise InputError("the address is not complete; go back to the first page")
    return cast("str", value if value is not None else otherwise)
