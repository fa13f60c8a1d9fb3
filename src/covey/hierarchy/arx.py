"""Hierarchies as ARX writes them: one line per leaf, `leaf;parent;…;*`, no header, `"` quotes doubled."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from covey.cells import Kind
from covey.errors import InputError
from covey.hierarchy.tree import Hierarchy, Malformed, labels_of


def read(path: Path, kind: Kind = "text") -> Hierarchy:
    """The hierarchy in a file. Raises InputError that names file, line and label."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    return parse(content, str(path), kind)


def parse(content: bytes, name: str, kind: Kind = "text") -> Hierarchy:
    """The hierarchy in a file's content; `name` is what errors call it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{name}, line {line}: not UTF-8; save the file as UTF-8") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InputError(f"{name}, line {line}: has a NUL byte; the file is damaged or not text")
    paths: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";", quotechar='"', doublequote=True, strict=True)
    try:
        for row in reader:
            if row:
                paths.append(labels_of(row, kind))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"{name}, line {reader.line_num}: {error}; a hierarchy has one `leaf;parent;…;*` per line"
        ) from None
    if not paths:
        raise InputError(f"{name}: is empty; a hierarchy has one `leaf;parent;…;*` per line")
    try:
        return Hierarchy.from_paths(paths, kind)
    except Malformed as error:
        raise InputError(f"{name}, line {lines[error.row]}: {error.label!r} {error.reason}") from None


def write(tree: Hierarchy) -> str:
    """The file's text: `parse(write(tree)) == tree`."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=";", quotechar='"', doublequote=True, lineterminator="\n")
    writer.writerows(tree.paths())
    return out.getvalue()
