"""A study drafted from data, with its hierarchy files; also for a release that nobody wrote a study for.

What is uncertain is then left out and told. A caller may say what some columns are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from covey import bounds, cells
from covey.errors import InputError
from covey.files import read_bytes, write_atomically
from covey.guess.choice import Choice, Trial, ensure_quasi, run
from covey.guess.columns import ColumnValues, look, people, repeated
from covey.guess.roles import Guess, as_role, guess, latest_year, quasi, with_spelling, without_surplus
from covey.guess.text import listed, study_text, told_apart
from covey.plain import STEERING, Shown, plural, slug, toml_key
from covey.schema import Role
from covey.sources import Data, Source, connect
from covey.study import Study
from covey.study.editing import set_section, spelled


@dataclass(frozen=True, repr=False)
class Draft(Shown):
    """A study file and its hierarchy files, not yet written."""

    text: str
    guesses: tuple[Guess, ...]
    partition: str | None
    parties: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def _shown(self) -> Iterator[tuple[str, str]]:
        for column in self.guesses:
            yield column.name, f"{column.role} ({column.why})"

    @property
    def files(self) -> dict[str, str]:
        """The text of each hierarchy file, by its path below the study's folder."""
        return dict(guess.file for guess in self.guesses if guess.file is not None)

    def write(self, target: Path) -> None:
        """Writes the study and its files. Raises InputError rather than overwrite a file."""
        files = {**{target.parent / path: text for path, text in self.files.items()}, target: self.text}
        existing = [path for path in (target, *files) if path.exists()]
        if existing:
            raise InputError(f"{existing[0]}: is there already; choose another --out, or remove it first")
        for path, text in files.items():
            write_atomically(path, text.encode())


def write_draft(data: Sequence[str], target: Path, k: int, roles: Mapping[str, Role] | None = None) -> Draft:
    """Drafts a study over these tables and writes it. Raises InputError rather than overwrite a file."""
    draft = draft_of(data, k, roles=roles)
    draft.write(target)
    return draft


def draft_of(data: Sequence[Data], k: int, name: str | None = None, roles: Mapping[str, Role] | None = None) -> Draft:
    """Drafts a study over these tables; parties have the names of their files."""
    labels = [
        str(table) if isinstance(table, str | Path) else f"table-{number}" for number, table in enumerate(data, start=1)
    ]
    sources = [(_party(path, labels), connect(table)) for path, table in zip(labels, data, strict=True)]
    for _, source in sources:
        source.require(())
    return draft(name or name_of(labels[0]), sources, k, roles)


def name_of(data: str) -> str:
    """The name of a study over this table."""
    return slug(Path(data.split("?", maxsplit=1)[0]).stem, "study")


def _party(path: str, every: Sequence[str]) -> str:
    """A party's name from its file's name. Two files of one name are told apart by their place."""
    stems = [slug(Path(source.split("?", maxsplit=1)[0]).stem, "party") for source in every]
    index = every.index(path)
    return stems[index] if stems.count(stems[index]) == 1 else f"{stems[index]}-{index + 1}"


def draft(
    name: str, sources: Sequence[tuple[str, Source]], k: int = 10, roles: Mapping[str, Role] | None = None
) -> Draft:
    """Drafts a study over one table, or over several that share their columns or a key.

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
    guesses = told_apart([listed(guess, column) for guess, column in zip(looked.guesses, looked.columns, strict=True)])
    notes = tuple(_notes(guesses, {}, k))
    text = study_text(name, partition, guesses, sources, key, k, notes)
    return Draft(text, tuple(guesses), partition, tuple(party for party, _ in sources), notes)


@dataclass(frozen=True)
class Looked:
    """Tables with their columns, the guesses, and the columns that name people with several rows."""

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
    """Reads one owner's table: values and roles of columns, columns that name people, and duplicates."""
    columns = look([source])
    several = people(source, columns)
    duplicates = dict(repeated(source, [column for column in columns if column.name not in several]))
    return _settled(Looked(columns, [], several, k), [source], roles or {}, None, duplicates)


def _settled(
    looked: Looked,
    tables: Sequence[Source],
    roles: Mapping[str, Role],
    key: str | None,
    duplicates: Mapping[str, str] | None = None,
) -> Looked:
    """The guesses of all columns, with those that a person chose, settled by trials."""
    strange = [name for name in roles if name not in {column.name for column in looked.columns}]
    if strange:
        raise InputError(f"there is no column {strange[0]!r}; name one of the table's columns")
    k, columns = looked.rows_of_k_people, looked.columns
    results = []
    for column in columns:
        if column.name in roles:
            results.append(looked.as_role(column, roles[column.name]))
        elif column.name == key:
            results.append(
                with_spelling(Guess(key, Role.KEY, None, "the tables share it, so it joins their rows"), column)
            )
        else:
            draft = guess(column, k, looked.ages_on, shared=looked.shared)
            results.append(_left_out(draft, looked.several, duplicates or {}))
    results = without_surplus(ensure_quasi(results, columns, k, looked.ages_on), columns, frozenset(roles))

    def attempt(guesses: Sequence[Guess], effort: str) -> Trial:
        draft = compose("trial", guesses, looked.several, looked.k)
        return run(draft.text, draft.files, tables, effort)

    def as_quasi(column: ColumnValues) -> Guess:
        reason = "beside others it would single people out"
        return with_spelling(quasi(column, k, looked.ages_on, reason, shared=looked.shared), column)

    settled = Choice(results, columns, k, as_quasi, attempt, frozenset(roles)).settle() if tables else results
    return Looked(columns, settled, looked.several, looked.k, looked.shared)


def compose(name: str, guesses: Sequence[Guess], several: dict[str, int], k: int) -> Draft:
    """The draft of one owner's study from the guesses."""
    guesses = told_apart(guesses)
    notes = tuple(_notes(guesses, several, k))
    text = study_text(name, None, guesses, (), None, k * max(several.values(), default=1), notes)
    return Draft(text, tuple(guesses), None, (), notes)


def _left_out(guess: Guess, several: Mapping[str, int], duplicates: Mapping[str, str]) -> Guess:
    """Leaves out a column that names people with several rows, or that repeats another column."""
    note = None
    if guess.name in several:
        note = "rows with one value agree in much else: it names a person"
    elif guess.name in duplicates and guess.fate != "out":
        note = f"it says the same as {duplicates[guess.name]!r}"
    return (
        guess
        if note is None
        else Guess(guess.name, Role.IDENTIFIER, None, note, values=guess.values, alone=guess.alone)
    )


def _notes(guesses: Sequence[Guess], several: Mapping[str, int], k: int) -> Iterator[str]:
    for name, rows in several.items():
        yield (
            f"{name!r} names people who have up to {rows} rows each: k is {k} x {rows}, so that a class of k rows has "
            f"at least {k} people"
        )
    if not any(guess.role is Role.QUASI for guess in guesses):
        yield "no column looks like one that people outside know: say which one is, with --role COLUMN=quasi"
    waiting = sum(guess.fate == "ask" for guess in guesses)
    if waiting:
        yield f"{plural(waiting, 'column')} of {len(guesses)} left out, with the questions to answer"


def refuse_names(source: Source) -> None:
    """Refuses a column's name that no study can have: unseen marks, or a spreadsheet's formula."""
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


Rule = str | Path | Mapping[str, object]
"""A hierarchy: a file, "flat", or a rule as a study file has it (`{"min": 0, "max": 100, "steps": [5, 10]}`)."""

_WORDS = ("flat", "interval")


def drafted(
    data: Data,
    k: int,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    drop: Iterable[str] = (),
    hierarchies: Mapping[str, Rule] | None = None,
) -> tuple[Study, dict[str, str]]:
    """Returns a drafted study, and why it leaves columns out. Raises InputError for a column that is not there."""
    rules = dict(hierarchies or {})
    roles = _roles([(Role.QUASI, quasi), (Role.QUASI, rules), (Role.SENSITIVE, sensitive), (Role.IDENTIFIER, drop)])
    draft = draft_of([data], k, name="draft" if not isinstance(data, str | Path) else None, roles=roles)
    text, files = draft.text, {path: content.encode() for path, content in draft.files.items()}
    for column, rule in rules.items():
        value, file = _hierarchy(rule)
        files |= file
        text = set_section(text, ("columns", column), [f"[columns.{toml_key(column)}]", 'role = "quasi"', value])
    reasons = {guess.name: guess.why for guess in draft.guesses if guess.role in (Role.IDENTIFIER, Role.ASK)}
    return Study.parse(text, files=files), reasons


def _roles(choices: Iterable[tuple[Role, Iterable[str]]]) -> dict[str, Role]:
    """The role of each named column. Raises InputError for a text in place of a list, and for a second role."""
    roles: dict[str, Role] = {}
    for role, names in choices:
        if isinstance(names, str):
            raise InputError(f"{names!r}: name the columns in a list, as in quasi=['age', 'zip']")
        for name in names:
            if roles.setdefault(name, role) is not role:
                raise InputError(f"column {name!r} is given two roles, {roles[name]} and {role}; leave one out")
    return roles


def _hierarchy(rule: Rule) -> tuple[str, dict[str, bytes]]:
    """The line of the study for a rule, and the file that it names."""
    if isinstance(rule, Mapping):
        return f"hierarchy = {spelled(dict(rule))}", {}
    if str(rule) in _WORDS:
        return f"hierarchy = {spelled(str(rule))}", {}
    name = f"hierarchies/{Path(rule).name}"
    return f"hierarchy = {spelled(name)}", {name: read_bytes(Path(rule), "name a hierarchy file", bound=bounds.labels)}
