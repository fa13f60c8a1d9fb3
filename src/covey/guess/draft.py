"""The study file that the guesses make, with its hierarchy files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, count
from pathlib import Path

from covey import cells
from covey.errors import InputError
from covey.files import write_atomically
from covey.guess import trees
from covey.guess.columns import ColumnValues, look, people, repeated
from covey.guess.roles import IN_DOUBT, Guess, as_role, decided, file_for, guess, latest_year
from covey.plain import STEERING, Shown, slug, toml_key, toml_string
from covey.schema import Role
from covey.sources import Data, Source, connect

_PORT = 7701


@dataclass(frozen=True, repr=False)
class Draft(Shown):
    """A study file and its hierarchy files, not yet written."""

    text: str
    guesses: tuple[Guess, ...]
    partition: str | None
    parties: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def _shown(self) -> Iterator[tuple[str, str]]:
        for each in self.guesses:
            yield each.name, f"{each.role} ({each.why})"

    @property
    def files(self) -> dict[str, str]:
        """The text of each hierarchy file, by its path below the study's folder."""
        return dict(guess.file for guess in self.guesses if guess.file is not None)

    def write(self, out: Path) -> None:
        """Writes the study and its files. Raises InputError rather than overwrite a file."""
        files = {**{out.parent / path: text for path, text in self.files.items()}, out: self.text}
        taken = [path for path in (out, *files) if path.exists()]
        if taken:
            raise InputError(f"{taken[0]}: is there already; choose another --out, or remove it first")
        for path, text in files.items():
            write_atomically(path, text.encode())


def write_draft(data: Sequence[str], out: Path, k: int, roles: Mapping[str, Role] | None = None) -> Draft:
    """Drafts a study over these tables and writes it. Raises InputError rather than overwrite a file."""
    made = draft_of(data, k, roles=roles)
    made.write(out)
    return made


def draft_of(data: Sequence[Data], k: int, name: str | None = None, roles: Mapping[str, Role] | None = None) -> Draft:
    """Drafts a study over these tables; parties have the names of their files."""
    named = [
        str(each) if isinstance(each, str | Path) else f"table-{place}" for place, each in enumerate(data, start=1)
    ]
    sources = [(_party(path, named), connect(each)) for path, each in zip(named, data, strict=True)]
    for _, source in sources:
        source.require(())
    return draft(name or name_of(named[0]), sources, k, roles)


def name_of(data: str) -> str:
    """The name of a study over this table."""
    return slug(Path(data.split("?", maxsplit=1)[0]).stem, "study")


def _party(path: str, every: Sequence[str]) -> str:
    """A party's name from its file's name; two files of one name are told apart by their place."""
    stems = [slug(Path(each.split("?", maxsplit=1)[0]).stem, "party") for each in every]
    place = every.index(path)
    return stems[place] if stems.count(stems[place]) == 1 else f"{stems[place]}-{place + 1}"


def draft(
    name: str, sources: Sequence[tuple[str, Source]], k: int = 10, roles: Mapping[str, Role] | None = None
) -> Draft:
    """Drafts a study over one table, or several that share their columns (rows split) or only a key (columns split).

    `roles` says what some columns are, instead of a guess.
    """
    for _, source in sources:
        refuse_names(source)
    if len(sources) == 1:
        looked = look_at(sources[0][1], k)
        return compose(name, looked.with_roles(roles or {}), looked.several, k)
    shared = set(sources[0][1].columns).intersection(*(source.columns for _, source in sources[1:]))
    alike = all(set(source.columns) == shared for _, source in sources)
    partition = "horizontal" if alike else "vertical"
    key = next((column for column in sources[0][1].columns if column in shared), None) if not alike else None
    seen = look([source for _, source in sources])
    found = [_keyed(each) if each.name == key else each for each in _guesses(seen, k)]
    guesses = Looked(seen, decided(found, seen, k), {}, k).with_roles(roles or {})
    guesses = told_apart([_listed(each, column) for each, column in zip(guesses, seen, strict=True)])
    notes = tuple(_notes(guesses, {}, k))
    text = _text(name, partition, guesses, sources, key, k, notes)
    return Draft(text, tuple(guesses), partition, tuple(party for party, _ in sources), notes)


@dataclass(frozen=True)
class Looked:
    """One table looked at: its columns, the guesses, and the columns that name people with several rows."""

    columns: list[ColumnValues]
    guesses: list[Guess]
    several: dict[str, int]
    k: int

    def with_roles(self, roles: Mapping[str, Role]) -> list[Guess]:
        """The guesses, with the roles that a person chose. Raises InputError for a column that is not there."""
        strange = [name for name in roles if name not in {column.name for column in self.columns}]
        if strange:
            raise InputError(f"there is no column {strange[0]!r}; name one of the table's columns")
        return [
            self.as_role(column, roles[column.name]) if roles.get(column.name, found.role) is not found.role else found
            for column, found in zip(self.columns, self.guesses, strict=True)
        ]

    def as_role(self, column: ColumnValues, role: Role) -> Guess:
        """One column in another role than the guessed one."""
        return as_role(column, role, self.k, _ages_on(self.columns))


def look_at(source: Source, k: int) -> Looked:
    """Looks at one owner's table: every column's values and role, and what names people or says the same twice."""
    seen = look([source])
    several = people(source, seen)
    same = dict(repeated(source, [column for column in seen if column.name not in several]))
    found = [_left_out(each, several, same) for each in _guesses(seen, k)]
    return Looked(seen, decided(found, seen, k), several, k)


def compose(name: str, guesses: Sequence[Guess], several: dict[str, int], k: int) -> Draft:
    """The draft of one owner's study from the guesses."""
    guesses = told_apart(guesses)
    notes = tuple(_notes(guesses, several, k))
    text = _text(name, None, guesses, (), None, k * max(several.values(), default=1), notes)
    return Draft(text, tuple(guesses), None, (), notes)


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


def _ages_on(seen: Sequence[ColumnValues]) -> date:
    """The day for which ages are computed from dates of birth."""
    return date(latest_year(seen) + 1, 1, 1)


def _guesses(seen: Sequence[ColumnValues], k: int) -> list[Guess]:
    return [guess(column, k, _ages_on(seen)) for column in seen]


def _keyed(found: Guess) -> Guess:
    return Guess(found.name, Role.KEY, None, "the tables share it, so it joins their rows")


def _left_out(found: Guess, several: dict[str, int], same: dict[str, str]) -> Guess:
    """Leaves out what names a person with several rows, and what says again what another column says."""
    if found.name in several:
        return Guess(found.name, Role.IDENTIFIER, None, "rows with one value agree in much else: it names a person")
    if found.name in same and found.role is not Role.IDENTIFIER:
        return Guess(found.name, Role.IDENTIFIER, None, f"it says the same as {same[found.name]!r}: left out")
    return found


def _notes(guesses: Sequence[Guess], several: dict[str, int], k: int) -> Iterator[str]:
    for name, most in several.items():
        yield (
            f"{name!r} names people who have up to {most} rows each: k is {k} x {most}, so that a class of k rows has "
            f"at least {k} people"
        )
    if not any(each.role is Role.QUASI for each in guesses):
        yield "no column looks like one that people outside know: say which one is, with --role COLUMN=quasi"
    open_ones = [each.name for each in guesses if each.role is Role.SENSITIVE and IN_DOUBT in each.why]
    if open_ones:
        yield (
            f"with so many columns these are published, not hidden: {', '.join(open_ones)}; make quasi what people "
            "outside could know of somebody"
        )


def refuse_names(source: Source) -> None:
    """Refuses a table with a column's name that no study can have: unseen marks, or what a spreadsheet might run."""
    for column in source.columns:
        if STEERING.search(column):
            raise InputError(
                f"{source.name}: column name {column!r} has a line break or another unseen mark; rename the column"
            )
        if cells.could_run(column):
            raise InputError(
                f"{source.name}: column name {column!r} begins like a formula, which a spreadsheet that opens the "
                "release might run; rename the column"
            )


def _listed(found: Guess, column: ColumnValues) -> Guess:
    """Adds a file of the values, one on each line: parties compute jointly only over domains that the study lists."""
    hierarchy = found.hierarchy or ""
    if found.role is Role.SENSITIVE and hierarchy.startswith("{"):
        values = trees.leaves(hierarchy)
    elif found.role is Role.QUASI and hierarchy.startswith(("{ prefix", '"flat')):
        values = sorted(column.texts)
    else:
        return found
    if any(len(value.splitlines()) > 1 for value in values):
        return replace(found, lines=(*found.lines, f"values = [{', '.join(map(toml_string, values))}]"))
    path = file_for(found.name, "txt")
    text = "\n".join(values) + "\n"
    return replace(found, lines=(*found.lines, f'values = "{path}"'), file=(path, text))


def section_of(found: Guess, *, joint: bool = False) -> list[str]:
    """The lines of a column in the study file; in a joint study it has no l of its own."""
    lines = [f"# {found.why}", f"[columns.{toml_key(found.name)}]", f'role = "{found.role}"']
    lines += [] if found.hierarchy is None else [f"hierarchy = {found.hierarchy}"]
    return [*lines, *(line for line in found.lines if not joint or not line.startswith("l = "))]


def _text(
    name: str,
    partition: str | None,
    guesses: Sequence[Guess],
    sources: Sequence[tuple[str, Source]],
    key: str | None,
    k: int,
    notes: Sequence[str],
) -> str:
    limits = {line for each in guesses for line in each.lines if line.startswith("l = ")}
    joint_l = min(limits) if partition is not None and limits else None
    lines = ["# A first draft by `covey new`. Read every guess; `covey check` tests the file against the data."]
    lines += [*(f"# {note}" for note in notes), "", "[study]", f"name = {toml_string(name)}"]
    if partition is None:
        lines += ['# protocol = "peel"           # for a joint release: give `covey new` a table of each party']
    else:
        protocol = "cluster" if partition == "vertical" else "peel"
        lines += [f'protocol = "{protocol}"', f'partition = "{partition}"']
    lines += ["", "[privacy]", f"k = {k}".ljust(33) + "# every published record hides among at least k"]
    if joint_l is not None:
        lines += [f"{joint_l}".ljust(33) + "# each sensitive value at most 1/l of a class"]
    lines += ["", "[utility]", 'measure = "lm"']
    for each in guesses:
        lines += ["", *section_of(each, joint=partition is not None)]
    for place, (party, source) in enumerate(sources if partition else ()):
        lines += ["", f"[parties.{toml_key(party)}]", f'# address = "127.0.0.1:{_PORT + place}"']
        lines += [f'# certificate = "certs/{party}.pem"']
        if partition == "vertical":
            own = [each.name for each in guesses if each.name in source.columns and each.name != key]
            lines.append("columns = [" + ", ".join(map(toml_string, own)) + "]")
    return "\n".join(lines) + "\n"
