"""A study drafted from data, with its hierarchy files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from covey import cells
from covey.errors import InputError
from covey.files import write_atomically
from covey.guess.choice import Choice, ensure_quasi
from covey.guess.columns import ColumnValues, look, people, repeated
from covey.guess.roles import Guess, as_role, guess, latest_year, quasi, spelled, without_surplus
from covey.guess.text import listed, study_text, told_apart
from covey.guess.trial import Trial, run
from covey.plain import STEERING, Shown, plural, slug
from covey.schema import Role
from covey.sources import Data, Source, connect


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
        looked = look_at(sources[0][1], k, roles)
        return compose(name, looked.guesses, looked.several, k)
    shared = set(sources[0][1].columns).intersection(*(source.columns for _, source in sources[1:]))
    alike = all(set(source.columns) == shared for _, source in sources)
    partition = "horizontal" if alike else "vertical"
    key = next((column for column in sources[0][1].columns if column in shared), None) if not alike else None
    tables = [source for _, source in sources]
    looked = _settled(Looked(look(tables), [], {}, k, shared=True), tables if alike else [], roles or {}, key)
    guesses = told_apart([listed(each, column) for each, column in zip(looked.guesses, looked.columns, strict=True)])
    notes = tuple(_notes(guesses, {}, k))
    text = study_text(name, partition, guesses, sources, key, k, notes)
    return Draft(text, tuple(guesses), partition, tuple(party for party, _ in sources), notes)


@dataclass(frozen=True)
class Looked:
    """Tables looked at: their columns, the guesses, and the columns that name people with several rows."""

    columns: list[ColumnValues]
    guesses: list[Guess]
    several: dict[str, int]
    k: int
    shared: bool = False  # partners read the study

    @property
    def rows_of_k_people(self) -> int:
        """Returns the k that rows need so that k people are in each class."""
        return self.k * max(self.several.values(), default=1)

    def as_role(self, column: ColumnValues, role: Role) -> Guess:
        """One column in another role than the guessed one."""
        return as_role(column, role, self.rows_of_k_people, self.ages_on)

    @property
    def ages_on(self) -> date:
        """Returns the day for which ages are computed from dates of birth."""
        return date(latest_year(self.columns) + 1, 1, 1)


def look_at(source: Source, k: int, roles: Mapping[str, Role] | None = None) -> Looked:
    """Looks at one owner's table: every column's values and role, and what names people or says the same twice."""
    columns = look([source])
    several = people(source, columns)
    same = dict(repeated(source, [column for column in columns if column.name not in several]))
    return _settled(Looked(columns, [], several, k), [source], roles or {}, None, same)


def _settled(
    looked: Looked,
    tables: Sequence[Source],
    roles: Mapping[str, Role],
    key: str | None,
    same: Mapping[str, str] | None = None,
) -> Looked:
    """The guesses of all columns, those that a person chose among them, settled by trials on the tables."""
    strange = [name for name in roles if name not in {column.name for column in looked.columns}]
    if strange:
        raise InputError(f"there is no column {strange[0]!r}; name one of the table's columns")
    k, columns = looked.rows_of_k_people, looked.columns
    found = []
    for column in columns:
        if column.name in roles:
            found.append(looked.as_role(column, roles[column.name]))
        elif column.name == key:
            found.append(spelled(Guess(key, Role.KEY, None, "the tables share it, so it joins their rows"), column))
        else:
            made = guess(column, k, looked.ages_on, shared=looked.shared)
            found.append(_left_out(made, looked.several, same or {}))
    found = without_surplus(ensure_quasi(found, columns, k, looked.ages_on), columns, frozenset(roles))

    def attempt(guesses: Sequence[Guess], effort: str) -> Trial:
        made = compose("trial", guesses, looked.several, looked.k)
        return run(made.text, made.files, tables, effort)

    def as_quasi(column: ColumnValues) -> Guess:
        reason = "beside others it would single people out"
        return spelled(quasi(column, k, looked.ages_on, reason, shared=looked.shared), column)

    settled = Choice(found, columns, k, as_quasi, attempt, frozenset(roles)).settle() if tables else found
    return Looked(columns, settled, looked.several, looked.k, looked.shared)


def compose(name: str, guesses: Sequence[Guess], several: dict[str, int], k: int) -> Draft:
    """The draft of one owner's study from the guesses."""
    guesses = told_apart(guesses)
    notes = tuple(_notes(guesses, several, k))
    text = study_text(name, None, guesses, (), None, k * max(several.values(), default=1), notes)
    return Draft(text, tuple(guesses), None, (), notes)


def _left_out(found: Guess, several: Mapping[str, int], same: Mapping[str, str]) -> Guess:
    """Leaves out what names a person with several rows, and what says again what another column says."""
    why = None
    if found.name in several:
        why = "rows with one value agree in much else: it names a person"
    elif found.name in same and found.fate != "out":
        why = f"it says the same as {same[found.name]!r}"
    return (
        found if why is None else Guess(found.name, Role.IDENTIFIER, None, why, values=found.values, alone=found.alone)
    )


def _notes(guesses: Sequence[Guess], several: Mapping[str, int], k: int) -> Iterator[str]:
    for name, most in several.items():
        yield (
            f"{name!r} names people who have up to {most} rows each: k is {k} x {most}, so that a class of k rows has "
            f"at least {k} people"
        )
    if not any(each.role is Role.QUASI for each in guesses):
        yield "no column looks like one that people outside know: say which one is, with --role COLUMN=quasi"
    waiting = sum(each.fate == "ask" for each in guesses)
    if waiting:
        yield f"{plural(waiting, 'column')} of {len(guesses)} left out, with the questions to answer"


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
