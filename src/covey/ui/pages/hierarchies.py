"""Hierarchies: each column's tree looked at and edited, made anew by a wizard, or exchanged with ARX."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from covey.cells import MISSING, SUPPRESSED
from covey.errors import CoveyError, InputError, StudyError
from covey.files import write_atomically
from covey.hierarchy import Flat, Hierarchy, Interval, editing, parse, write
from covey.plain import slug, toml_string
from covey.schema import Column
from covey.study import Study
from covey.study.editing import set_keys, spelled
from covey.ui import history
from covey.ui.jobs import Job
from covey.ui.look import FEW
from covey.ui.pages.table import summary_of, values_of
from covey.ui.workbench import Form, Post, Workbench, asked
from covey.ui.workspace import Changed, mark

_MOST_SHOWN = 1500
_UNITS = ("month", "quarter", "year", "half-decade", "decade")
_LARGEST = 16 * 2**20
EDITS = {
    "group": ("Group", "Grouped"),
    "rename": ("Rename", "Renamed"),
    "move": ("Move there", "Moved"),
    "first": ("Put first", "Put first"),
    "remove": ("Take out", "Taken out"),
    "add": ("Add", "Added"),
    "list": ("Add to the list", "Added"),
    "level": ("Take out a level", "The level is taken out"),
    "free": ("Group by hand", "The tree is in a file of its own"),
    "use": ("Make it anew", "The hierarchy is made anew"),
    "upload": ("Use a file", "The hierarchy is that of the file"),
    "undo": ("Undo", "Undone"),
    "redo": ("Do again", "Done again"),
}
"""Each edit as its button names it, and as the page says that it is done."""


@dataclass(frozen=True)
class Level:
    """One level of a tree over the data: its groups, the loss if all cells stood there, the smallest group."""

    number: int
    groups: int
    loss: float
    smallest: int
    example: str


@dataclass(frozen=True)
class Coverage:
    """A tree held against the values of our table."""

    leaves: int
    lacking: dict[str, int]
    """Values that the tree does not have, with their rows."""
    rows: int
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Branch:
    """A node as the page shows it."""

    label: str
    rows: str
    leaf: bool
    children: tuple[Branch, ...]
    more: int = 0


def show_all(bench: Workbench, request: Request) -> Response:
    """The hierarchies of a study."""
    path = asked(request, "study")
    study, text = _study(bench, path)
    data = bench.workspace.of_study(path).get("data", "")
    columns = [column for column in study.columns if column.hierarchy is not None]
    specs = tomllib.loads(text)["columns"]
    shown = []
    for column in columns:
        values = _values(bench, data, column)
        found = None if values is None else coverage(column, values)
        shown.append({"name": column.name, "kind": _kind(column, specs[column.name]), "coverage": found})
    return bench.page("hierarchies.html", request, study=path, data=data, columns=shown, reading=_reading(bench, data))


def _reading(bench: Workbench, data: str) -> Job | None:
    """The job that reads our table, as long as it has not been read."""
    try:
        return summary_of(bench, data)[1] if data else None
    except InputError:
        return None


def _study(bench: Workbench, path: str) -> tuple[Study, str]:
    place, text = bench.workspace.study(path)
    return Study.parse(text, place.parent), text


def _kind(column: Column, section: Mapping[str, object]) -> str:
    spec = section.get("hierarchy")
    if isinstance(spec, dict) and ("prefix" in spec or "age_on" in spec):
        return "codes that lose their tail" if "prefix" in spec else "ages"
    if isinstance(column.hierarchy, Flat | Interval) or spec == "flat":
        return "free intervals" if isinstance(column.hierarchy, Interval) else "the value or nothing"
    return {"number": "numbers", "date": "dates", "text": "groups"}[column.kind]


def _values(bench: Workbench, data: str, column: Column) -> dict[str, int] | None:
    """The rows of each value of a column as its tree has it; None where no table is read or it has too many values."""
    try:
        found = values_of(bench, data, column.name) if data else None
    except InputError:  # the table is not in the folder any more
        return None
    if found is None:
        return None
    counts: dict[str, int] = {}
    for text, count in found.items():
        value = column.published.read(text)
        if value != MISSING:
            counts[value] = counts.get(value, 0) + count
    return counts


def coverage(column: Column, counts: Mapping[str, int]) -> Coverage:
    """The values of a table that a tree has, and the loss of each of its levels."""
    labels = list(counts)
    tree = column.tree(labels)
    codes = tree.encode(labels)
    rows = np.array([counts[label] for label in labels], dtype=np.int64)
    lacking = {label: counts[label] for label, code in zip(labels, codes.tolist(), strict=True) if code < 0}
    known, often = codes[codes >= 0], rows[codes >= 0]
    levels = []
    for number in range(tree.levels) if len(known) else ():
        nodes = tree.up[number][known]
        sizes = np.bincount(nodes, weights=often, minlength=tree.nodes)
        part = (tree.sizes[nodes] - 1) / max(int(tree.sizes[tree.root]) - 1, 1)
        found = sizes[sizes > 0]
        example = tree.labels[int(np.argmax(sizes))]
        levels.append(Level(number, len(found), float(part @ often / often.sum()), int(found.min()), example))
    return Coverage(tree.leaves, lacking, int(rows.sum()), tuple(levels))


def show(bench: Workbench, request: Request) -> Response:
    """One column's hierarchy; with a proposal of a wizard, what that one would be."""
    path, name = asked(request, "study"), asked(request, "column")
    study, text = _study(bench, path)
    column = study.column(name)
    if column.hierarchy is None:
        raise InputError(f"column {name!r} has no hierarchy; only columns that are known outside need one")
    data = bench.workspace.of_study(path).get("data", "")
    values = _values(bench, data, column)
    section = tomllib.loads(text)["columns"][name]
    spec = section.get("hierarchy")
    editable = isinstance(spec, str) and spec != "interval" and not (spec == "flat" and "values" in section)
    tree = column.tree(list(values or {})) if not isinstance(column.hierarchy, Interval) else None
    proposal, proposed, wrong = request.query_params.get("wizard", ""), None, ""
    if proposal:
        try:
            line = _wizard(proposal, lambda field: request.query_params.get(field, ""))
            other = Study.parse(_with(text, name, line, path), bench.workspace.path(path).parent).column(name)
            proposed = coverage(other, _values(bench, data, other) or {}), line
        except CoveyError as error:
            wrong = str(error).splitlines()[-1].strip()
    given = dict(request.query_params) if proposal else {**request.query_params, **_fields(spec)}
    return bench.page(
        "hierarchy.html", request, study=path, column=column, data=data, spec=spelled(spec),
        kind=_kind(column, section), reading=_reading(bench, data),
        coverage=None if values is None else coverage(column, values), seen=_seen(bench, path, text, spec),
        branch=None if tree is None else _branch(tree, values), editable=editable, units=_UNITS,
        groups=[] if tree is None else [tree.labels[node] for node in range(tree.codes, tree.nodes)][:500],
        levels=0 if tree is None else tree.height, proposed=proposed, wrong=wrong, few=FEW, wizard=proposal,
        given=given, nodes=0 if tree is None else tree.nodes, most=_MOST_SHOWN, listed="values" in section,
        file=spec if isinstance(spec, str) and spec not in ("flat", "interval") else "",
        freed=tree is not None and not editable and column.kind == "text", edits=EDITS,
        steps=history.history_of(bench.workspace, path, name),
    )  # fmt: skip


def _fields(spec: object) -> dict[str, str]:
    """The fields of the wizard that would make a hierarchy."""
    if not isinstance(spec, dict):
        return {}
    found = {name: str(value).lower() for name, value in spec.items() if not isinstance(value, list)}
    for name, field in (("steps", "steps"), ("prefix", "lengths")):
        if name in spec:
            found[field] = " ".join(map(str, spec[name]))
    return found | {f"unit-{unit}": "yes" for unit in spec.get("date", ())}


def _seen(bench: Workbench, path: str, text: str, spec: object) -> str:
    """A mark of the study and of the column's file: neither may have changed when an edit is saved."""
    file = bench.workspace.path(path).parent / spec if isinstance(spec, str) else None
    content = file.read_bytes() if file is not None and file.is_file() else b""
    return mark(text + hashlib.sha256(content).hexdigest())


def _branch(tree: Hierarchy, values: Mapping[str, int] | None) -> Branch | None:
    """The tree as the page shows it, with rows where a table is read; very large ones without their values."""
    rows = np.zeros(tree.nodes, dtype=np.int64)
    known = values or {}
    for value, code in zip(known, tree.encode(list(known)).tolist(), strict=True):
        if code >= 0:
            rows[code] += known[value]
    below: dict[int, list[int]] = {}
    for node in range(tree.nodes):
        if node != tree.root and tree.labels[node] != MISSING:
            below.setdefault(int(tree.parent[node]), []).append(node)
    whole = tree.nodes <= _MOST_SHOWN

    def grown(node: int) -> Branch:
        children = sorted(below.get(node, []), key=lambda child: int(tree.first[child]))
        kept = [child for child in children if whole or child >= tree.codes]
        count = int(rows[tree.first[node] : tree.last[node] + 1].sum())
        said = f"{count:,} rows" if count >= FEW else "few rows" if count else "no rows" if values else ""
        made = tuple(grown(child) for child in kept)
        return Branch(tree.labels[node], said, node < tree.codes, made, len(children) - len(kept))

    return grown(tree.root) if whole or tree.nodes - tree.codes <= _MOST_SHOWN else None


def _with(text: str, name: str, spec: str, path: str) -> str:
    """The study's text with another hierarchy of a column."""
    typed = '"text"' if spec.startswith("{ prefix") else None
    changes: dict[str, str | None] = {"hierarchy": spec}
    if typed is not None and "type" in tomllib.loads(text)["columns"][name]:
        changes["type"] = typed
    return set_keys(text, ("columns", name), changes, path)


def _wizard(kind: str, field: Callable[[str], str]) -> str:
    """The hierarchy that a wizard's fields describe, as the study has it."""
    if kind == "numbers":
        parts = [
            f"{name} = {_number(field(name), name)}" for name in ("min", "max", "bottom", "top", "unit") if field(name)
        ]
        parts = [f"age_on = {_day(field('age_on'), 'age_on')}", *parts] if field("age_on") else parts
        steps = ", ".join(_number(step, "steps") for step in field("steps").replace(",", " ").split())
        rounding = ["round = true"] if field("round") else []
        return "{ " + ", ".join([*parts, f"steps = [{steps}]", *rounding]) + " }"
    if kind == "dates":
        units = [f'"{unit}"' for unit in _UNITS if field(f"unit-{unit}")]
        ends = [f"{name} = {_day(field(name), name)}" for name in ("min", "max")]
        return "{ date = [" + ", ".join(units) + "], " + ", ".join(ends) + " }"
    if kind == "prefix":
        lengths = [_number(each, "lengths") for each in field("lengths").replace(",", " ").split()]
        return "{ prefix = [" + ", ".join(lengths) + "] }"
    if kind == "flat":
        return '"flat"'
    raise InputError("choose one of the ways to make a hierarchy")


def _number(text: str, name: str) -> str:
    try:
        float(text)
    except ValueError:
        raise InputError(f"{name}: {text!r} is no number") from None
    return text.strip()


def _day(text: str, name: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise InputError(f"{name}: write a day as 2024-12-31") from None


def _remembered(do: Post, called: str = "") -> Post:
    """An edit that is kept as a step of the column, so that it can be undone."""

    def doing(bench: Workbench, form: Form) -> Response:
        place = bench.workspace, form.text("study"), form.text("column")
        before = history.history_of(*place)
        answer = do(bench, form)
        history.keep(*place, before, called or form.text("action"))
        return answer

    return doing


def undo(bench: Workbench, form: Form) -> Response:
    """Undoes the last edit of a column, or does again what was undone."""
    path, name, _, _ = _opened(bench, form)
    word = form.text("step")
    history.walk(bench.workspace, path, name, 1 if word == "redo" else -1)
    return bench.go("/hierarchy", "tree", study=path, column=name, saved="redo" if word == "redo" else "undo")


def use(bench: Workbench, form: Form) -> Response:
    """Puts the hierarchy that a wizard makes into the study."""
    path, name, text, _ = _opened(bench, form)
    new = _with(text, name, _wizard(form.text("wizard"), lambda field: form.text(field, "")), path)
    return _saved(bench, path, name, text, new, "use")


def _opened(bench: Workbench, form: Form) -> tuple[str, str, str, object]:
    """The study and column of a form, if neither has changed since its page was made."""
    path, name = form.text("study"), form.text("column")
    study, text = _study(bench, path)
    study.column(name)
    spec = tomllib.loads(text)["columns"][name].get("hierarchy")
    if _seen(bench, path, text, spec) != form.text("seen"):
        raise Changed(
            f"the hierarchy of {name!r} was changed elsewhere after this page was opened: nothing was written"
        )
    return path, name, text, spec


def _saved(bench: Workbench, path: str, name: str, old: str, new: str, said: str) -> Response:
    try:
        Study.parse(new, bench.workspace.path(path).parent)
    except StudyError as error:
        raise InputError(error.problems[0]) from None
    bench.workspace.write_study(path, new, mark(old))
    return bench.go("/hierarchy", "tree", study=path, column=name, saved=said)


def edit(bench: Workbench, form: Form) -> Response:
    """Edits a tree that lists its values."""
    path, name, text, spec = _opened(bench, form)
    column = Study.parse(text, bench.workspace.path(path).parent).column(name)
    known = _values(bench, bench.workspace.of_study(path).get("data", ""), column) or {}
    tree = column.hierarchy if isinstance(column.hierarchy, Hierarchy) else column.tree(list(known))
    if tree.missing is not None:
        tree = Hierarchy.from_paths(tree.paths(), tree.kind)
    chosen, action = form.texts("node"), form.text("action")
    given = form.text("value", "")
    more = [given] if given else [value for value in known if tree.encode([value])[0] < 0 and value != SUPPRESSED]
    if action == "list":
        return _saved(bench, path, name, text, _listing(bench, path, name, text, more), "add")
    match action:
        case "group":
            new = editing.group(tree, chosen, form.text("label"))
        case "rename":
            if len(chosen) != 1:
                raise InputError("choose the one value or group to rename")
            new = editing.rename(tree, chosen[0], form.text("label"))
        case "move":
            new = editing.move(tree, chosen, form.text("target"))
        case "first":
            new = editing.put_first(tree, chosen)
        case "remove":
            new = editing.without_values(tree, chosen)
        case "level":
            new = editing.without_level(tree, form.whole("level", low=1) or 0)
        case "add":
            if not more:
                raise InputError("write the value to add")
            new = editing.with_values(tree, more)
        case "free":
            new, spec = tree, None
        case _:
            raise InputError("choose what to do with the chosen values")
    return _write(bench, path, name, text, spec, new, action)


def _listing(bench: Workbench, path: str, name: str, text: str, more: Sequence[str]) -> str:
    """The study with more values in the list of a column's domain; a list in a file is written there."""
    listed = tomllib.loads(text)["columns"][name].get("values")
    if isinstance(listed, list):
        return set_keys(text, ("columns", name), {"values": spelled([*listed, *more])}, path)
    file = bench.workspace.path(bench.workspace.relative(bench.workspace.path(path).parent / str(listed)))
    kept = file.read_text("utf-8-sig").splitlines()
    write_atomically(file, ("\n".join([*kept, *more]) + "\n").encode())
    return text


def _write(bench: Workbench, path: str, name: str, text: str, spec: object, tree: Hierarchy, said: str) -> Response:
    """Writes a tree to the column's file; one that had none gets one."""
    folder = bench.workspace.path(path).parent
    if isinstance(spec, str) and spec not in ("flat", "interval"):
        write_atomically(bench.workspace.path(bench.workspace.relative(folder / spec)), write(tree).encode())
        return bench.go("/hierarchy", "tree", study=path, column=name, saved=said)
    stem = slug(name, "column").lower()
    file = f"hierarchies/{stem}.csv"
    if (folder / file).exists():
        file = f"hierarchies/{bench.workspace.free(folder / 'hierarchies', stem, '.csv')}.csv"
    write_atomically(folder / file, write(tree).encode())
    changes: dict[str, str | None] = {"hierarchy": toml_string(file)}
    if "values" in tomllib.loads(text)["columns"][name]:
        changes["values"] = None
    return _saved(bench, path, name, text, set_keys(text, ("columns", name), changes, path), said)


def upload(bench: Workbench, form: Form) -> Response:
    """Takes a hierarchy in ARX's format from a file."""
    path, name, text, _ = _opened(bench, form)
    column = Study.parse(text, bench.workspace.path(path).parent).column(name)
    tree = parse(form.content("file", _LARGEST), str(form.upload("file").filename), column.kind)
    return _write(bench, path, name, text, None, tree, "upload")


def download(bench: Workbench, request: Request) -> Response:
    """The tree in ARX's format."""
    path, name = asked(request, "study"), asked(request, "column")
    column = _study(bench, path)[0].column(name)
    tree = column.tree(list(_values(bench, bench.workspace.of_study(path).get("data", ""), column) or {}))
    return Response(
        write(tree), media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{slug(name, "column").lower()}.csv"'},
    )  # fmt: skip


SHOW = {"/hierarchies": show_all, "/hierarchy": show, "/hierarchy/file": download}
DO = {
    "/hierarchy/use": _remembered(use, "use"), "/hierarchy/edit": _remembered(edit),
    "/hierarchy/upload": _remembered(upload, "upload"), "/hierarchy/undo": undo,
}  # fmt: skip
