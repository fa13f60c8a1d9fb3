"""Hierarchies as ARX writes them: one line per leaf, `leaf;parent;…;*`, no header, `"` quotes doubled.

ARX's own files go further than that, and are read: the root may have another label than `*`, and keeps it; there may be
several tops (`*` is put above them), and a label may stand for different leaves on two levels (the upper one gets its
level's number).
"""

from __future__ import annotations

import csv
import io
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from covey import bounds
from covey.cells import SUPPRESSED, Kind
from covey.errors import InputError
from covey.hierarchy.tree import LARGEST, Hierarchy, Malformed, labels_of
from covey.sizes import spell

MOST_LEVELS = 100
MOST_LABELS = 10_000_000
"""Lines times levels."""
LONGEST_LINE = 2**20
MOST_TOLD = 20
"""Problems of one file that a message lists."""


def read(path: Path, kind: Kind = "text") -> Hierarchy:
    """The hierarchy in a file. Raises InputError that names file, line and label."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device might never end
            raise InputError(f"{path}: is no file; name a hierarchy in ARX's format")
        if status.st_size > bounds.long_record():
            raise bounds.above(str(path), f"is larger than {spell(bounds.long_record())}")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    return parse(content, str(path), kind)


def parse(content: bytes, name: str, kind: Kind = "text") -> Hierarchy:
    """The hierarchy in a file's content; `name` is what errors call it.

    Raises InputError for one with more leaves, levels or labels than a tree may have, as soon as they are read.
    """
    if (position := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, position) + 1
        raise InputError(f"{name}, line {line}: has a NUL byte; the file is damaged or not text")
    paths: list[list[str]] = []
    lines: list[int] = []
    interned: dict[str, str] = {}  # a label that stands on many lines is kept once
    labels = 0
    reader = csv.reader(_lines(content, name), delimiter=";", quotechar='"', doublequote=True, strict=True)
    try:
        for row in reader:
            if row:
                labels += len(row)
                _refuse_large(f"{name}, line {reader.line_num}", len(paths) + 1, len(row), labels)
                paths.append([interned.setdefault(label, label) for label in labels_of(row, kind)])
                if len(interned) > bounds.labels():
                    raise bounds.above(name, f"has more than {bounds.labels():,} different labels")
                lines.append(reader.line_num)
    except UnicodeDecodeError:
        raise InputError(f"{name}, line {_first_bad_line(content)}: not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise InputError(
            f"{name}, line {reader.line_num}: {error}; a hierarchy has one `leaf;parent;…;*` per line"
        ) from None
    if not paths:
        raise InputError(f"{name}: is empty; a hierarchy has one `leaf;parent;…;*` per line")
    try:
        return Hierarchy.from_paths(_told_apart(_rooted(paths)), kind)
    except Malformed as error:
        raise InputError(
            _told(name, [(lines[row], f"{label!r} {reason}") for row, label, reason in error.problems])
        ) from None


def _told(name: str, problems: Sequence[tuple[int, str]]) -> str:
    """All problems of a file in one message, each with its line. Of very many the first ones."""
    if len(problems) == 1:
        return f"{name}, line {problems[0][0]}: {problems[0][1]}"
    entries = [f"line {line}: {problem}" for line, problem in problems[:MOST_TOLD]]
    remainder = [f"and {len(problems) - MOST_TOLD:,} more"] if len(problems) > MOST_TOLD else []
    return f"{name}: {len(problems):,} problems: " + "; ".join([*entries, *remainder])


def _rooted(paths: list[list[str]]) -> list[list[str]]:
    """The paths with one last label. Where some have `*`, the others are left for the tree to refuse."""
    tops = {path[-1] for path in paths}
    rooted = SUPPRESSED in tops or len({len(path) for path in paths}) > 1 or (len(tops) == 1 and len(paths[0]) > 1)
    return paths if rooted else [[*path, SUPPRESSED] for path in paths]


def _told_apart(paths: list[list[str]]) -> list[list[str]]:
    """The paths with one label for one set of leaves. A label with two meanings is called `label (level 2)` above."""
    levels = len(paths[0])
    if any(len(path) != levels for path in paths):
        return paths
    labels = [{path[level] for path in paths} for level in range(levels)]
    labels_in_use = set[str]().union(*labels)
    twice = {label for label in labels_in_use if sum(label in level for level in labels) > 1} - {SUPPRESSED}
    meanings: dict[str, dict[frozenset[str], str]] = {label: {} for label in twice}
    for level in range(levels):
        leaves_of: dict[str, list[int]] = {}
        for row, path in enumerate(paths):
            if path[level] in twice:
                leaves_of.setdefault(path[level], []).append(row)
        for label, rows in leaves_of.items():
            meaning = meanings[label]
            spelled = meaning.setdefault(
                frozenset(paths[row][0] for row in rows), _free(label, level, labels_in_use, bool(meaning))
            )
            labels_in_use.add(spelled)
            for row in rows:
                paths[row][level] = spelled
    return paths


def _free(label: str, level: int, labels_in_use: set[str], repeated: bool) -> str:
    """The label itself where it has no meaning yet; else one that no node has."""
    spelled = f"{label} (level {level})" if repeated else label
    while repeated and spelled in labels_in_use:
        spelled += "+"
    return spelled


def _lines(content: bytes, name: str) -> Iterator[str]:
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline=""), start=1):
        if len(line) > LONGEST_LINE:
            raise InputError(
                f"{name}, line {number}: is longer than {LONGEST_LINE:,} characters, the most that a line may have; "
                "a hierarchy has one `leaf;parent;…;*` per line"
            )
        yield line


def _refuse_large(name: str, leaves: int, levels: int, labels: int) -> None:
    for number, limit, noun in (
        (leaves, LARGEST, "leaves; group values in the data first, or use a prefix, numbers or dates in the study"),
        (levels, MOST_LEVELS, "levels; leave some out"),
        (labels, MOST_LABELS, "labels in all; leave some levels out"),
    ):
        if number > limit:
            raise InputError(f"{name}: a hierarchy may have at most {limit:,} {noun}")


def _first_bad_line(content: bytes) -> int:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return 1


def write(tree: Hierarchy) -> str:
    """The file's text: `parse(write(tree)) == tree`."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=";", quotechar='"', doublequote=True, lineterminator="\n")
    writer.writerows(tree.paths())
    return stream.getvalue()
