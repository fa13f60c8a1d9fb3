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


def told_apart(guesses: Sequence[Guess], reserved: Iterable[str] = ()) -> list[Guess]:
    """The guesses, each with a file of its own, and none of those that are reserved."""
    used, results = set(reserved), []
    for guess in guesses:
        if guess.file is None:
            results.append(guess)
            continue
        path, text = guess.file
        stem, _, ending = path.rpartition(".")
        names = chain([path], (f"{stem}-{number}.{ending}" for number in count(2)))
        free_name = next(name for name in names if name not in used)
        used.add(free_name)
        hierarchy = guess.hierarchy and guess.hierarchy.replace(f'"{path}"', f'"{free_name}"')
        lines = tuple(line.replace(f'values = "{path}"', f'values = "{free_name}"') for line in guess.lines)
        results.append(replace(guess, hierarchy=hierarchy, lines=lines, file=(free_name, text)))
    return results


def listed(guess: Guess, column: ColumnValues) -> Guess:
    """Adds a file of the values: parties compute jointly only over domains that the study lists."""
    hierarchy = guess.hierarchy or ""
    if guess.fate == "open" and hierarchy.startswith("{"):
        values = trees.leaves(hierarchy)
    elif guess.role is Role.QUASI and hierarchy.startswith('"flat'):
        values = sorted(column.texts)
    else:
        return guess
    if any(len(value.splitlines()) > 1 for value in values):
        return replace(guess, lines=(*guess.lines, f"values = [{', '.join(map(toml_string, values))}]"))
    path = file_for(guess.name, "txt")
    text = "\n".join(values) + "\n"
    return replace(guess, lines=(*guess.lines, f'values = "{path}"'), file=(path, text))


def section_of(guess: Guess, *, joint: bool = False) -> list[str]:
    """The lines of a column in the study file. In a joint study it has no l of its own, and no question is open."""
    if joint and guess.role is Role.ASK:
        return [f"# {toml_key(guess.name)} is left out: {guess.why}. {guess.question}"]
    lines = [f"# {guess.why}", f"[columns.{toml_key(guess.name)}]", f'role = "{guess.role}"']
    lines += [f"question = {toml_string(guess.question)}"] if guess.role is Role.ASK else []
    lines += [] if guess.hierarchy is None else [f"hierarchy = {guess.hierarchy}"]
    return [*lines, *(line for line in guess.lines if not joint or not line.startswith("l = "))]


def _joint_l(guesses: Sequence[Guess]) -> str | None:
    """Returns the least l of the sensitive columns, or None where one of them has none."""
    limits = [
        next((line[4:] for line in guess.lines if line.startswith("l = ")), None)
        for guess in guesses
        if guess.role is Role.SENSITIVE
    ]
    given_limits = [limit for limit in limits if limit is not None]
    return min(given_limits, key=float) if given_limits and len(given_limits) == len(limits) else None


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
    for guess in guesses:
        lines += ["", *section_of(guess, joint=partition is not None)]
    for index, (party, source) in enumerate(sources if partition else ()):
        lines += ["", f"[parties.{toml_key(party)}]", f'# address = "127.0.0.1:{_PORT + index}"']
        lines += [f'# certificate = "certs/{party}.pem"']
        if partition == "vertical":
            owned = [
                guess.name
                for guess in guesses
                if guess.name in source.columns and guess.name != key and guess.role is not Role.ASK
            ]
            lines.append("columns = [" + ", ".join(map(toml_string, owned)) + "]")
    if partition == "horizontal" and len(sources) == 2:
        lines += ["", "# A third office that belongs to neither: it holds no data and computes on random bits"]
        lines += ["[parties.helper]", 'role = "helper"', f'# address = "127.0.0.1:{_PORT + 2}"']
        lines += ['# certificate = "certs/helper.pem"']
    return "\n".join(lines) + "\n"
