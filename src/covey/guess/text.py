"""The text of a drafted study: a section for each column, and the files that it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count

from covey.guess import trees
from covey.guess.columns import ColumnValues
from covey.guess.roles import Guess, file_for
from covey.plain import toml_key, toml_string
from covey.schema import Role
from covey.sources import Source

_PORT = 7701


def told_apart(guesses: Sequence[Guess], taken: Iterable[str] = ()) -> list[Guess]:
    """The guesses, each with a file of its own, and none of those that are taken: two names may be spelled alike."""
    used, found = set(taken), []
    for each in guesses:
        if each.file is None:
            found.append(each)
            continue
        path, text = each.file
        stem, _, ending = path.rpartition(".")
        names = chain([path], (f"{stem}-{number}.{ending}" for number in count(2)))
        own = next(name for name in names if name not in used)
        used.add(own)
        hierarchy = each.hierarchy and each.hierarchy.replace(f'"{path}"', f'"{own}"')
        lines = tuple(line.replace(f'values = "{path}"', f'values = "{own}"') for line in each.lines)
        found.append(replace(each, hierarchy=hierarchy, lines=lines, file=(own, text)))
    return found


def listed(found: Guess, column: ColumnValues) -> Guess:
    """Adds a file of the values, one on each line: parties compute jointly only over domains that the study lists."""
    hierarchy = found.hierarchy or ""
    if found.fate == "open" and hierarchy.startswith("{"):
        values = trees.leaves(hierarchy)
    elif found.role is Role.QUASI and hierarchy.startswith('"flat'):
        values = sorted(column.texts)
    else:
        return found
    if any(len(value.splitlines()) > 1 for value in values):
        return replace(found, lines=(*found.lines, f"values = [{', '.join(map(toml_string, values))}]"))
    path = file_for(found.name, "txt")
    text = "\n".join(values) + "\n"
    return replace(found, lines=(*found.lines, f'values = "{path}"'), file=(path, text))


def section_of(found: Guess, *, joint: bool = False) -> list[str]:
    """The lines of a column in the study file; in a joint study it has no l of its own, and no question is open."""
    if joint and found.role is Role.ASK:
        return [f"# {toml_key(found.name)} is left out: {found.why}. {found.question}"]
    lines = [f"# {found.why}", f"[columns.{toml_key(found.name)}]", f'role = "{found.role}"']
    lines += [f"question = {toml_string(found.question)}"] if found.role is Role.ASK else []
    lines += [] if found.hierarchy is None else [f"hierarchy = {found.hierarchy}"]
    return [*lines, *(line for line in found.lines if not joint or not line.startswith("l = "))]


def _joint_l(guesses: Sequence[Guess]) -> str | None:
    """Returns the least l of the sensitive columns, as text, or None where one of them has none."""
    limits = [
        next((line[4:] for line in each.lines if line.startswith("l = ")), None)
        for each in guesses
        if each.role is Role.SENSITIVE
    ]
    kept = [limit for limit in limits if limit is not None]
    return min(kept, key=float) if kept and len(kept) == len(limits) else None


def study_text(
    name: str,
    partition: str | None,
    guesses: Sequence[Guess],
    sources: Sequence[tuple[str, Source]],
    key: str | None,
    k: int,
    notes: Sequence[str],
) -> str:
    joint_l = _joint_l(guesses) if partition is not None else None
    lines = ["# A first draft by `covey new`. Read every guess; `covey check` tests the file against the data."]
    lines += [*(f"# {note}" for note in notes), "", "[study]", f"name = {toml_string(name)}"]
    if partition is None:
        lines += ['# protocol = "peel"           # for a joint release: give `covey new` a table of each party']
    else:
        protocol = "cluster" if partition == "vertical" else "peel"
        lines += [f'protocol = "{protocol}"', f'partition = "{partition}"']
    lines += ["", "[privacy]", f"k = {k}".ljust(33) + "# every published record hides among at least k"]
    if joint_l is not None:
        lines += [f"l = {joint_l}".ljust(33) + "# each sensitive value at most 1/l of a class"]
    lines += ["", "[utility]", 'measure = "lm"']
    for each in guesses:
        lines += ["", *section_of(each, joint=partition is not None)]
    for place, (party, source) in enumerate(sources if partition else ()):
        lines += ["", f"[parties.{toml_key(party)}]", f'# address = "127.0.0.1:{_PORT + place}"']
        lines += [f'# certificate = "certs/{party}.pem"']
        if partition == "vertical":
            owned = [
                each.name
                for each in guesses
                if each.name in source.columns and each.name != key and each.role is not Role.ASK
            ]
            lines.append("columns = [" + ", ".join(map(toml_string, owned)) + "]")
    if partition == "horizontal" and len(sources) == 2:
        lines += ["", "# A third office that belongs to neither: it holds no data and computes on random bits"]
        lines += ["[parties.helper]", 'role = "helper"', f'# address = "127.0.0.1:{_PORT + 2}"']
        lines += ['# certificate = "certs/helper.pem"']
    return "\n".join(lines) + "\n"
