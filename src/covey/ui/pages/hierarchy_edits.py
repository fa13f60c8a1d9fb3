"""Edits of a hierarchy: its tree changed by hand, made anew by a wizard, taken from a file; and undone."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from starlette.responses import Response

from covey.cells import SUPPRESSED
from covey.errors import InputError, StudyError
from covey.files import write_atomically
from covey.hierarchy import Hierarchy, editing, parse, write
from covey.plain import slug, toml_string
from covey.study import Study
from covey.study.editing import set_keys, spelled
from covey.ui import hierarchy
from covey.ui.pages.hierarchies import seen_of, study_at, values_known
from covey.ui.workbench import Form, Pages, Post, Workbench
from covey.ui.workspace import Changed, mark

_LARGEST = 16 * 2**20


def _remembered(do: Post, called: str = "") -> Post:
    """An edit that can be undone, as it is kept in the history."""

    def doing(bench: Workbench, form: Form) -> Response:
        key = bench.workspace, form.text("study"), form.text("column")
        previous = hierarchy.history_of(*key)
        answer = do(bench, form)
        hierarchy.keep(*key, previous, called or form.text("action"))
        return answer

    return doing


def undo(bench: Workbench, form: Form) -> Response:
    """Undoes the last edit of a column, or does again what was undone."""
    path, name, _, _ = _opened(bench, form)
    word = form.text("step")
    hierarchy.walk(bench.workspace, path, name, 1 if word == "redo" else -1)
    return bench.go("/hierarchy", "tree", study=path, column=name, saved="redo" if word == "redo" else "undo")


def use(bench: Workbench, form: Form) -> Response:
    """Puts the hierarchy that a wizard makes into the study."""
    path, name, text, _ = _opened(bench, form)
    edited = hierarchy.with_hierarchy(
        text, name, hierarchy.line_of(form.text("wizard"), lambda field: form.text(field, "")), path
    )
    return _saved(bench, path, name, text, edited, "use")


def _opened(bench: Workbench, form: Form) -> tuple[str, str, str, object]:
    """The study and column of a form, if neither has changed."""
    path, name = form.text("study"), form.text("column")
    study, text = study_at(bench, path)
    study.column(name)
    spec = tomllib.loads(text)["columns"][name].get("hierarchy")
    if seen_of(bench, path, text, spec) != form.text("seen"):
        raise Changed(
            f"the hierarchy of {name!r} was changed elsewhere after this page was opened: nothing was written"
        )
    return path, name, text, spec


def _saved(bench: Workbench, path: str, name: str, old: str, edited: str, word: str) -> Response:
    try:
        Study.parse(edited, bench.workspace.path(path).parent)
    except StudyError as error:
        raise InputError(error.problems[0]) from None
    bench.workspace.write_study(path, edited, mark(old))
    return bench.go("/hierarchy", "tree", study=path, column=name, saved=word)


def edit(bench: Workbench, form: Form) -> Response:
    """Edits a tree that lists its values."""
    path, name, text, spec = _opened(bench, form)
    column = Study.parse(text, bench.workspace.path(path).parent).column(name)
    counts = values_known(bench, bench.workspace.of_study(path).get("data", ""), column) or {}
    tree = column.hierarchy if isinstance(column.hierarchy, Hierarchy) else column.tree(list(counts))
    if tree.missing is not None:
        tree = Hierarchy.from_paths(tree.paths(), tree.kind)
    nodes, action = form.texts("node"), form.text("action")
    entry = form.text("value", "")
    additions = [entry] if entry else [value for value in counts if tree.encode([value])[0] < 0 and value != SUPPRESSED]
    if action == "list":
        return _saved(bench, path, name, text, _listing(bench, path, name, text, additions), "add")
    match action:
        case "group":
            edited = editing.group(tree, nodes, form.text("label"))
        case "rename":
            if len(nodes) != 1:
                raise InputError("choose the one value or group to rename")
            edited = editing.rename(tree, nodes[0], form.text("label"))
        case "move":
            edited = editing.move(tree, nodes, form.text("target"))
        case "first":
            edited = editing.put_first(tree, nodes)
        case "remove":
            edited = editing.without_values(tree, nodes)
        case "level":
            edited = editing.without_level(tree, form.whole("level", low=1) or 0)
        case "add":
            if not additions:
                raise InputError("write the value to add")
            edited = editing.with_values(tree, additions)
        case "free":
            edited, spec = tree, None
        case _:
            raise InputError("choose what to do with the chosen values")
    return _write(bench, path, name, text, spec, edited, action)


def _listing(bench: Workbench, path: str, name: str, text: str, additions: Sequence[str]) -> str:
    """The study with more values in the list of a column's domain."""
    domain = tomllib.loads(text)["columns"][name].get("values")
    if isinstance(domain, list):
        return set_keys(text, ("columns", name), {"values": spelled([*domain, *additions])}, path)
    file = bench.workspace.path(bench.workspace.relative(bench.workspace.path(path).parent / str(domain)))
    lines = file.read_text("utf-8-sig").splitlines()
    write_atomically(file, ("\n".join([*lines, *additions]) + "\n").encode())
    return text


def _write(bench: Workbench, path: str, name: str, text: str, spec: object, tree: Hierarchy, word: str) -> Response:
    """Writes a tree to the column's file; one that had none gets one."""
    folder = bench.workspace.path(path).parent
    if isinstance(spec, str) and spec not in ("flat", "interval"):
        write_atomically(bench.workspace.path(bench.workspace.relative(folder / spec)), write(tree).encode())
        return bench.go("/hierarchy", "tree", study=path, column=name, saved=word)
    stem = slug(name, "column").lower()
    file = f"hierarchies/{stem}.csv"
    if (folder / file).exists():
        file = f"hierarchies/{bench.workspace.free(folder / 'hierarchies', stem, '.csv')}.csv"
    write_atomically(folder / file, write(tree).encode())
    changes: dict[str, str | None] = {"hierarchy": toml_string(file)}
    if "values" in tomllib.loads(text)["columns"][name]:
        changes["values"] = None
    return _saved(bench, path, name, text, set_keys(text, ("columns", name), changes, path), word)


def upload(bench: Workbench, form: Form) -> Response:
    """Takes a hierarchy in ARX's format from a file."""
    path, name, text, _ = _opened(bench, form)
    column = Study.parse(text, bench.workspace.path(path).parent).column(name)
    tree = parse(form.content("file", _LARGEST), str(form.upload("file").filename), column.kind)
    return _write(bench, path, name, text, None, tree, "upload")


SHOW: Pages = {}
DO = {
    "/hierarchy/use": _remembered(use, "use"), "/hierarchy/edit": _remembered(edit),
    "/hierarchy/upload": _remembered(upload, "upload"), "/hierarchy/undo": undo,
}  # fmt: skip
