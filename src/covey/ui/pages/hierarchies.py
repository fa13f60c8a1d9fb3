"""Hierarchies: each column's tree beside the values of our table, what a wizard would make of it, and as a file."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from covey.cells import MISSING
from covey.errors import CoveyError, InputError
from covey.hierarchy import Flat, Hierarchy, Interval, write
from covey.plain import slug
from covey.schema import Column
from covey.study import Study
from covey.study.editing import spelled
from covey.ui import hierarchy
from covey.ui.jobs import Job
from covey.ui.look import FEW
from covey.ui.pages.table import summary_of, values_of
from covey.ui.workbench import Actions, Workbench, attachment, parameter
from covey.ui.workspace import mark

_MOST_SHOWN = 1500
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
    """One level of a tree over the data: its groups, its loss, the smallest group."""

    number: int
    groups: int
    loss: float
    smallest: int
    example: str


@dataclass(frozen=True)
class Coverage:
    """A tree held against the values of our table."""

    leaves: int
    missing: dict[str, int]
    """Values that the tree does not have, with their rows."""
    rows: int
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Branch:
    """A node as the page shows it."""

    label: str
    rows: str
    children: tuple[Branch, ...]
    hidden: int = 0


def show_all(bench: Workbench, request: Request) -> Response:
    """The hierarchies of a study."""
    path = parameter(request, "study")
    study, text = study_at(bench, path)
    data = bench.workspace.of_study(path).get("data", "")
    columns = [column for column in study.columns if column.hierarchy is not None]
    specs = tomllib.loads(text)["columns"]
    entries = []
    for column in columns:
        values = values_known(bench, data, column)
        cover = None if values is None else coverage(column, values)
        entries.append({"name": column.name, "kind": _kind(column, specs[column.name]), "coverage": cover})
    return bench.page(
        "hierarchies.html", request, study=path, data=data, columns=entries, reading=_reading(bench, data)
    )


def _reading(bench: Workbench, data: str) -> Job | None:
    """The job that reads our table, as long as it has not been read."""
    try:
        return summary_of(bench, data)[1] if data else None
    except InputError:
        return None


def study_at(bench: Workbench, path: str) -> tuple[Study, str]:
    """A study, and its text."""
    file, text = bench.workspace.study(path)
    return Study.parse(text, file.parent), text


def _kind(column: Column, section: Mapping[str, object]) -> str:
    spec = section.get("hierarchy")
    if isinstance(spec, dict) and ("prefix" in spec or "age_on" in spec):
        return "codes that lose their tail" if "prefix" in spec else "ages"
    if isinstance(column.hierarchy, Flat | Interval) or spec == "flat":
        return "free intervals" if isinstance(column.hierarchy, Interval) else "the value or nothing"
    return {"number": "numbers", "date": "dates", "text": "groups"}[column.kind]


def values_known(bench: Workbench, data: str, column: Column) -> dict[str, int] | None:
    """The rows of each value of a column as its tree has it, or None."""
    try:
        values = values_of(bench, data, column.name) if data else None
    except InputError:  # the table is not in the folder any more
        return None
    if values is None:
        return None
    counts: dict[str, int] = {}
    for text, count in values.items():
        value = column.published.read(text)
        if value != MISSING:
            counts[value] = counts.get(value, 0) + count
    return counts


def coverage(column: Column, counts: Mapping[str, int]) -> Coverage:
    """The values of a table that a tree has, and each level's loss."""
    labels = list(counts)
    tree = column.tree(labels)
    codes = tree.encode(labels)
    rows = np.array([counts[label] for label in labels], dtype=np.int64)
    missing = {label: counts[label] for label, code in zip(labels, codes.tolist(), strict=True) if code < 0}
    present, weights = codes[codes >= 0], rows[codes >= 0]
    levels = []
    for number in range(tree.levels) if len(present) else ():
        nodes = tree.up[number][present]
        sizes = np.bincount(nodes, weights=weights, minlength=tree.nodes)
        part = (tree.sizes[nodes] - 1) / max(int(tree.sizes[tree.root]) - 1, 1)
        groups = sizes[sizes > 0]
        example = tree.labels[int(np.argmax(sizes))]
        levels.append(Level(number, len(groups), float(part @ weights / weights.sum()), int(groups.min()), example))
    return Coverage(tree.leaves, missing, int(rows.sum()), tuple(levels))


def show(bench: Workbench, request: Request) -> Response:
    """One column's hierarchy; with a proposal of a wizard, what that one would be."""
    path, name = parameter(request, "study"), parameter(request, "column")
    study, text = study_at(bench, path)
    column = study.column(name)
    if column.hierarchy is None:
        raise InputError(f"column {name!r} has no hierarchy; only columns that are known outside need one")
    data = bench.workspace.of_study(path).get("data", "")
    values = values_known(bench, data, column)
    section = tomllib.loads(text)["columns"][name]
    spec = section.get("hierarchy")
    editable = isinstance(spec, str) and spec != "interval" and not (spec == "flat" and "values" in section)
    tree = column.tree(list(values or {})) if not isinstance(column.hierarchy, Interval) else None
    proposal, proposed, problem = request.query_params.get("wizard", ""), None, ""
    if proposal:
        try:
            line = hierarchy.line_of(proposal, lambda field: request.query_params.get(field, ""))
            candidate = Study.parse(
                hierarchy.with_hierarchy(text, name, line, path), bench.workspace.path(path).parent
            ).column(name)
            proposed = coverage(candidate, values_known(bench, data, candidate) or {}), line
        except CoveyError as error:
            problem = str(error).splitlines()[-1].strip()
    fields = dict(request.query_params) if proposal else {**request.query_params, **hierarchy.fields_of(spec)}
    return bench.page(
        "hierarchy.html", request, study=path, column=column, data=data, spec=spelled(spec),
        kind=_kind(column, section), reading=_reading(bench, data),
        coverage=None if values is None else coverage(column, values), seen=seen_of(bench, path, text, spec),
        branch=None if tree is None else _branch(tree, values), editable=editable, units=hierarchy.UNITS,
        groups=[] if tree is None else [tree.labels[node] for node in range(tree.codes, tree.nodes)][:500],
        levels=0 if tree is None else tree.height, proposed=proposed, wrong=problem, few=FEW, wizard=proposal,
        given=fields, nodes=0 if tree is None else tree.nodes, most=_MOST_SHOWN, listed="values" in section,
        file=spec if isinstance(spec, str) and spec not in ("flat", "interval") else "",
        freed=tree is not None and not editable and column.kind == "text", edits=EDITS,
        steps=hierarchy.history_of(bench.workspace, path, name),
    )  # fmt: skip


def seen_of(bench: Workbench, path: str, text: str, spec: object) -> str:
    """A mark of the study and the column's file, compared when an edit is saved."""
    file = bench.workspace.path(path).parent / spec if isinstance(spec, str) else None
    content = file.read_bytes() if file is not None and file.is_file() else b""
    return mark(text + hashlib.sha256(content).hexdigest())


def _branch(tree: Hierarchy, values: Mapping[str, int] | None) -> Branch | None:
    """The tree as the page shows it; a very large one without its values."""
    rows = np.zeros(tree.nodes, dtype=np.int64)
    counts = values or {}
    for value, code in zip(counts, tree.encode(list(counts)).tolist(), strict=True):
        if code >= 0:
            rows[code] += counts[value]
    branches: dict[int, list[int]] = {}
    for node in range(tree.nodes):
        if node != tree.root and tree.labels[node] != MISSING:
            branches.setdefault(int(tree.parent[node]), []).append(node)
    complete = tree.nodes <= _MOST_SHOWN

    def grown(node: int) -> Branch:
        children = sorted(branches.get(node, []), key=lambda child: int(tree.first[child]))
        visible = [child for child in children if complete or child >= tree.codes]
        count = int(rows[tree.first[node] : tree.last[node] + 1].sum())
        words = f"{count:,} rows" if count >= FEW else "few rows" if count else "no rows" if values else ""
        subtrees = tuple(grown(child) for child in visible)
        return Branch(tree.labels[node], words, subtrees, len(children) - len(visible))

    return grown(tree.root) if complete or tree.nodes - tree.codes <= _MOST_SHOWN else None


def download(bench: Workbench, request: Request) -> Response:
    """The tree in ARX's format."""
    path, name = parameter(request, "study"), parameter(request, "column")
    column = study_at(bench, path)[0].column(name)
    tree = column.tree(list(values_known(bench, bench.workspace.of_study(path).get("data", ""), column) or {}))
    return attachment(f"{slug(name, 'column').lower()}.csv", write(tree))


DO: Actions = {}
SHOW = {"/hierarchies": show_all, "/hierarchy": show, "/hierarchy/file": download}
