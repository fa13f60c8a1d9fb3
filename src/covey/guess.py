"""Drafts a first study file from a look at the data: guessed roles and hierarchies, each with its reason.

A guess is a starting point for a person who knows the data. In doubt a column is quasi: a column that is generalized by
mistake costs utility, one that is published by mistake harms people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

from covey import cells
from covey.errors import InputError
from covey.files import write_atomically
from covey.hierarchy import Hierarchy, public_step, write
from covey.identifiers import suspected
from covey.plain import slug, toml_key, toml_string
from covey.schema import Role
from covey.sources import Source, connect

_IDENTIFIER = re.compile(
    r"(^|[_\s-])(id|uid|uuid|name|surname|firstname|lastname|ssn|mrn|nhs|email|e-mail|phone|mobile|passport|iban|url|ip)([_\s-]|$)",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"diagnos|disease|condition|icd|hiv|drug|medic|treat|result|salary|income|wage|debt|religion|politic|offen[cs]e|crime",
    re.IGNORECASE,
)
_CODE = re.compile(r"zip|post|plz|postal|postcode|icd|atc|nuts|lsoa", re.IGNORECASE)

UNIQUE = 0.95  # a column whose rows almost all differ names people
LARGEST_TREE = 20_000  # numbers with more values than this are published as intervals
MANY = 200  # more categories than this are not listed one by one


@dataclass(frozen=True)
class ColumnValues:
    """The values of one column, counted."""

    name: str
    rows: int
    values: tuple[str, ...]  # distinct, clean, without the missing one
    missing: int
    unique: int

    @property
    def share_unique(self) -> float:
        """The share of rows whose value no other row has."""
        return self.unique / max(self.rows - self.missing, 1)


@dataclass(frozen=True)
class Guess:
    """The role and hierarchy that the study file will have for a column, and the reason."""

    name: str
    role: Role
    hierarchy: str | None  # TOML
    why: str
    file: tuple[str, str] | None = None  # a hierarchy file to write: its path and its text


def look(source: Source) -> list[ColumnValues]:
    """Counts the distinct values of each column, in the engine that has the data."""
    seen = []
    for name in source.columns:
        found, counts = source.distinct([name])
        texts = [cells.clean(text) if text is not None else "" for text in found.column(0).to_pylist()]
        total: dict[str, int] = {}
        for text, count in zip(texts, counts, strict=True):
            total[text] = total.get(text, 0) + int(count)
        lacking = total.pop("", 0)
        unique = sum(count == 1 for count in total.values())
        seen.append(ColumnValues(name, source.rows, tuple(sorted(total)), lacking, unique))
    return seen


def guess(column: ColumnValues) -> Guess:
    """Guesses the role and hierarchy from the column's name and values."""
    name = column.name
    if not column.values:
        return Guess(name, Role.PLAIN, None, "it is empty")
    if column.share_unique >= UNIQUE and column.rows > 1 and not _is_date(column) and not _is_measure(column):
        return Guess(name, Role.IDENTIFIER, None, "almost every row has a value of its own")
    if _IDENTIFIER.search(name):
        return Guess(name, Role.IDENTIFIER, None, "its name is one that identifiers have")
    if (kind := suspected(name, column.values)) is not None:
        return Guess(name, Role.IDENTIFIER, None, f"it looks like {kind}, which HIPAA's Safe Harbor has removed")
    if _SENSITIVE.search(name):
        return Guess(name, Role.SENSITIVE, None, "its name is one that sensitive columns have")
    if _is_date(column):
        return Guess(name, Role.QUASI, _date_tree(column), "its values are dates")
    if _CODE.search(name) and (kept := _prefix(column)):
        return Guess(name, Role.QUASI, kept, "its values are codes whose tails can be masked")
    if (numbers := _numbers(column)) is not None and len(numbers) > 2:
        return _number(column, numbers)
    if len(column.values) <= MANY:
        return _category(column)
    return Guess(name, Role.QUASI, '"flat"', f"it has {len(column.values):,} values of no order: a value or *")


def _is_date(column: ColumnValues) -> bool:
    return all(len(value) >= 8 and cells.day(value) is not None for value in column.values[:1000])


def _is_measure(column: ColumnValues) -> bool:
    numbers = _numbers(column)
    return numbers is not None and any(value != value.to_integral_value() for value in numbers)


def _numbers(column: ColumnValues) -> list[Decimal] | None:
    found = [cells.number(value) for value in column.values]
    leading_zero = any(len(value) > 1 and value[0] == "0" and value[1].isdigit() for value in column.values)
    return None if leading_zero or any(value is None for value in found) else sorted(v for v in found if v is not None)


def _date_tree(column: ColumnValues) -> str:
    days = [found for value in column.values if (found := cells.day(value)) is not None]
    first, last = date(min(days).year, 1, 1), date(max(days).year, 12, 31)
    units = ["month", "quarter", "year"] if last.year - first.year < 20 else ["month", "year", "decade"]
    listed = ", ".join(f'"{unit}"' for unit in units)
    return f"{{ date = [{listed}], min = {first}, max = {last} }}"


def _prefix(column: ColumnValues) -> str | None:
    lengths = {len(value) for value in column.values}
    longest = max(lengths)
    if not 3 <= longest <= 12 or longest - min(lengths) > 4:
        return None
    keep = list(range(longest - 1, max(longest - 4, 0), -1))
    return f"{{ prefix = {keep} }}"


def _number(column: ColumnValues, numbers: Sequence[Decimal]) -> Guess:
    """Steps that anyone could have chosen: neither an end nor a label is the value of one person."""
    low, high = numbers[0], numbers[-1]
    unit = min(Decimal(1).scaleb(min(int(value.normalize().as_tuple().exponent), 0)) for value in numbers)
    base = max(5 * unit, public_step(low, high) if high - low > 150 * unit else 5 * unit)
    first, last = _down(low, base), -_down(-(high + unit), base) - unit
    if (last - first) / unit > LARGEST_TREE:
        ends = f"\nrange = [{cells.spell(first)}, {cells.spell(last + unit)}]\nstep = {cells.spell(base)}"
        return Guess(column.name, Role.QUASI, f'"interval"{ends}', "its values are numbers over a wide range")
    steps = [cells.spell(base * factor) for factor in (1, 2, 4) if base * factor <= last - first]
    finest = "" if unit == 1 else f", unit = {cells.spell(unit)}"
    tree = f"{{ min = {cells.spell(first)}, max = {cells.spell(last)}, steps = [{', '.join(steps)}]{finest} }}"
    return Guess(
        column.name, Role.QUASI, tree, f"its values are numbers between {cells.spell(first)} and {cells.spell(last)}"
    )


def _down(value: Decimal, step: Decimal) -> Decimal:
    """The last multiple of the step at or below the value."""
    return (value / step).to_integral_value(ROUND_FLOOR) * step


def _category(column: ColumnValues) -> Guess:
    """A file with each value below the root, for a person to put levels in."""
    tree = Hierarchy.from_paths([(value, cells.SUPPRESSED) for value in column.values if value != cells.SUPPRESSED])
    path = f"hierarchies/{_safe(column.name)}.csv"
    why = f"it has {len(column.values):,} categories"
    return Guess(column.name, Role.QUASI, f'"{path}"', why, (path, write(tree)))


def _safe(name: str) -> str:
    """Turns a column's name into the name of a file."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-").lower() or "column"


@dataclass(frozen=True)
class Draft:
    """A study file and its hierarchy files, not yet written."""

    text: str
    guesses: tuple[Guess, ...]
    partition: str | None
    parties: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """The text of each hierarchy file, by its path below the study's folder."""
        return dict(guess.file for guess in self.guesses if guess.file is not None)


def write_draft(data: Sequence[str], out: Path, k: int) -> Draft:
    """Drafts a study over these tables and writes it. Raises InputError rather than overwrite a file."""
    sources = [(_party(path, data), connect(path)) for path in data]
    for _, source in sources:
        source.require(())
    made = draft(slug(Path(data[0]).stem, "study"), sources, k)
    files = {**{out.parent / path: text for path, text in made.files.items()}, out: made.text}
    taken = [path for path in (out, *files) if path.exists()]
    if taken:
        raise InputError(f"{taken[0]}: is there already; choose another --out, or remove it first")
    for path, text in files.items():
        write_atomically(path, text.encode())
    return made


def _party(path: str, every: Sequence[str]) -> str:
    """A party's name from its file's name; two files of one name are told apart by their place."""
    stems = [slug(Path(each.split("?", maxsplit=1)[0]).stem, "party") for each in every]
    place = every.index(path)
    return stems[place] if stems.count(stems[place]) == 1 else f"{stems[place]}-{place + 1}"


def draft(name: str, sources: Sequence[tuple[str, Source]], k: int = 10) -> Draft:
    """Drafts a study over one table, or several that share their columns (rows split) or only a key (columns split)."""
    for _, source in sources:
        _refuse_formulas(source)
    shared = set(sources[0][1].columns).intersection(*(source.columns for _, source in sources[1:]))
    alike = all(set(source.columns) == shared for _, source in sources)
    partition = None if len(sources) == 1 else "horizontal" if alike else "vertical"
    parties = tuple(party for party, _ in sources) if partition else ()
    key = (
        next((column for column in sources[0][1].columns if column in shared), None)
        if partition == "vertical"
        else None
    )
    seen = _combined(sources)
    guesses = [_keyed(each) if each.name == key else each for each in map(guess, seen)]
    if partition is not None:
        guesses = [_listed(each, column) for each, column in zip(guesses, seen, strict=True)]
    text = _text(name, partition, guesses, sources, key, k)
    return Draft(text, tuple(guesses), partition, parties)


def _refuse_formulas(source: Source) -> None:
    for column in source.columns:
        if cells.could_run(column):
            raise InputError(
                f"{source.name}: column name {column!r} begins like a formula, which a spreadsheet that opens the "
                "release might run; rename the column"
            )


def _keyed(found: Guess) -> Guess:
    return Guess(found.name, Role.KEY, None, "the tables share it, so it joins their rows")


def _listed(found: Guess, column: ColumnValues) -> Guess:
    """Adds a file of the values, one on each line: parties compute jointly only over domains that the study lists."""
    if (
        found.role is not Role.QUASI
        or found.file is not None
        or not (found.hierarchy or "").startswith(("{ prefix", '"flat'))
    ):
        return found
    path = f"hierarchies/{_safe(column.name)}.txt"
    hierarchy = f'{found.hierarchy}\nvalues = "{path}"'
    return Guess(found.name, found.role, hierarchy, found.why, (path, "\n".join(column.values) + "\n"))


def _combined(sources: Sequence[tuple[str, Source]]) -> list[ColumnValues]:
    columns: dict[str, ColumnValues] = {}
    for _, source in sources:
        for seen in look(source):
            if seen.name in columns:
                known = columns[seen.name]
                values = tuple(sorted({*known.values, *seen.values}))
                seen = ColumnValues(  # noqa: PLW2901 - the column as all sources have it
                    seen.name, known.rows + seen.rows, values, known.missing + seen.missing, known.unique + seen.unique
                )
            columns[seen.name] = seen
    return list(columns.values())


def _text(
    name: str,
    partition: str | None,
    guesses: Sequence[Guess],
    sources: Sequence[tuple[str, Source]],
    key: str | None,
    k: int,
) -> str:
    lines = [
        "# A first draft by `covey new`. Read every guess; `covey check` tests the file against the data.",
        "",
        "[study]",
        f"name = {toml_string(name)}",
    ]
    if partition is None:
        lines += [
            '# protocol = "cluster"         # for a joint release: `covey protocols` compares them',
            '# partition = "horizontal"',
        ]
    else:
        protocol = "cluster" if partition == "horizontal" or len(sources) > 2 else "generalize"
        lines += [f'protocol = "{protocol}"', f'partition = "{partition}"']
    sensitive = any(each.role is Role.SENSITIVE for each in guesses)
    lines += ["", "[privacy]", f"k = {k}                           # every published record hides among at least k"]
    lines += [
        "# l = 2                          # each sensitive value at most 1/l of a class"
        if sensitive
        else "# l = 2 needs a sensitive column"
    ]
    lines += ["", "[utility]", 'measure = "lm"']
    for each in guesses:
        lines += ["", f"# {each.why}", f"[columns.{toml_key(each.name)}]", f'role = "{each.role}"']
        if each.hierarchy is not None:
            lines.append(f"hierarchy = {each.hierarchy}")
    for party, source in sources if partition else ():
        lines += [
            "",
            f"[parties.{toml_key(party)}]",
            '# address = "127.0.0.1:7701"',
            f'# certificate = "certs/{party}.pem"',
        ]
        if partition == "vertical":
            own = [each.name for each in guesses if each.name in source.columns and each.name != key]
            lines.append("columns = [" + ", ".join(map(toml_string, own)) + "]")
    return "\n".join(lines) + "\n"
