"""The role of each column, decided by its values; its name may only hold it back.

Out is what names a person. Quasi is what others know, and every date. Open is what keeps its bounds (`opening`). What
is uncertain is left out, with a question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from covey import cells
from covey.fitness.columns import suspected
from covey.guess import likeness, trees
from covey.guess.columns import ColumnValues
from covey.guess.dates import in_several_orders
from covey.guess.opening import most_values, opened
from covey.plain import slug, toml_string
from covey.schema import OTHER, Role

FATES = {
    Role.IDENTIFIER: "out", Role.KEY: "out", Role.ASK: "ask", Role.QUASI: "quasi", Role.SENSITIVE: "open",
    Role.PLAIN: "open",
}  # fmt: skip
MOST_QUASI = 8  # with more columns than this a class can hardly keep anything
MOST_OPEN = 60  # columns that are tried in pairs
MANY = 20  # values of a column whose name says that it numbers people
_FEW_NAMES = 4  # values that a column called `name` may have and name no people
_LISTED = 200
_SEXES = re.compile(
    "[mfwdxvkh]|(fe)?male|(wo)?m[ae]n|mann|frau|männlich|weiblich|divers|homme|femme|masculin|féminin|hombre|mujer|masculino"
    "|fem[ei]nino|vrouw|kobieta|mężczyzna|uomo|donna|maschio|femmina|kadın|erkek|mies|nainen|muž|žena|férfi|nő|mand|kvinde"
    "|kvinna|муж(ской)?|жен(ский)?|[男女남여](性|子|성|자)?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(19|20)\d\d")


@dataclass(frozen=True)
class Guess:
    """The lines that the study file will have for a column, and the reason."""

    name: str
    role: Role
    hierarchy: str | None  # TOML
    why: str
    file: tuple[str, str] | None = None  # a file to write: its path and its text
    lines: tuple[str, ...] = ()  # further lines of TOML
    question: str = ""  # of a column that waits: what to find out, and what either answer means
    values: int = 0
    alone: int = 0  # rows with a value that no other row has

    @property
    def fate(self) -> str:
        """Returns out, ask, quasi, open or constant."""
        return "constant" if self.role is Role.PLAIN and self.values < 2 else FATES[self.role]


def guess(column: ColumnValues, k: int, ages_on: date, *, shared: bool = False) -> Guess:
    """Guesses the role and hierarchy of one column. A shared study names no value that fewer than k rows have."""
    return with_spelling(_guess(column, k, ages_on, shared), column)


def as_role(column: ColumnValues, role: Role, k: int, ages_on: date) -> Guess:
    """The column in the role that a person chose, with what that role needs."""
    if role is Role.QUASI:
        guess = quasi(column, k, ages_on, "") if column.known else Guess(column.name, role, '"flat"', "it is empty")
        if guess.role is not Role.QUASI:
            guess = Guess(column.name, role, '"flat"', "it has too many texts to group: kept or suppressed")
    elif role is Role.SENSITIVE and column.known:
        limit = most_values(column.rows, k)
        guess = (None if _out(column, limit) else _open(column, k, limit)) or _exact(column)
    elif role is Role.ASK:
        guess = ask(column, "it waits for an answer", "What is it?")
    else:
        guess = Guess(column.name, role, None, "")
    reason = "; ".join(filter(None, ("a person chose this role", guess.why)))
    return with_spelling(replace(guess, role=role, why=reason), column)


def with_spelling(guess: Guess, column: ColumnValues) -> Guess:
    """The guess with its counts, and with the spellings of its values where it is published."""
    singles = sum(count == 1 for count in column.known.values())
    guess = replace(guess, values=len(column.known), alone=singles)
    spelling = column.spelling
    if guess.fate == "ask":
        return replace(guess, why="; ".join((guess.why, *spelling.evidence)))
    if guess.fate == "out":
        return guess
    lines = [] if not spelling.null else [f"null = [{', '.join(toml_string(text) for text in spelling.null)}]"]
    lines += [] if spelling.format is None else [f"format = {toml_string(spelling.format)}"]
    if (
        spelling.format is not None
        and guess.hierarchy is None
        and not any(line.startswith("type =") for line in guess.lines)
    ):
        lines.append(f'type = "{spelling.kind}"')
    return replace(guess, lines=(*lines, *guess.lines), why="; ".join((guess.why, *spelling.evidence)))


def ask(column: ColumnValues, reason: str, question: str) -> Guess:
    """A column that waits for an answer to its question."""
    return Guess(column.name, Role.ASK, None, reason, question=question)


def _guess(column: ColumnValues, k: int, ages_on: date, shared: bool) -> Guess:
    counts, limit = column.known, most_values(column.rows, k)
    if not counts:
        return Guess(column.name, Role.IDENTIFIER, None, "it is empty")
    if column.spelling.kind == "text" and in_several_orders(column.texts):
        return ask(column, "dates", DATES)
    if (reason := _out(column, limit)) is not None:
        return Guess(column.name, Role.IDENTIFIER, None, reason)
    if len(counts) == 1 and not column.lacking:
        return Guess(column.name, Role.PLAIN, None, "it has one value only")
    if column.spelling.lists is not None:
        return ask(column, "lists of codes, many of them one person's alone", LISTS)
    if (reason := _known(column)) is not None:
        return quasi(column, k, ages_on, reason, shared=shared)
    if likeness.counts_people(column):
        return ask(column, "whole numbers, spread evenly", NUMBERED)
    if likeness.names(column) and (len(counts) > limit or likeness.PERSONS.search(column.name)):
        return ask(column, "words that could name people", NAMED)
    guess = _open(column, k, limit)
    if guess is not None:
        return guess
    if column.spelling.kind == "text":
        return ask(column, "many texts, each in few rows", NAMED)
    return ask(column, "no public steps give k rows to each value", STEPPED)


NAMED = "Does it name or number a person? Yes: identifier. No, but others know it: quasi. No: sensitive."
NUMBERED = "Does it number people, cases or contracts? Yes: identifier. No, it measures something: sensitive."
DATES = "Can they be written in one way? Yes: do so and draft again. No: identifier."
LISTS = "Can it be split into a column for each code? Yes: split it and draft again. No: identifier."
STEPPED = "Could others know it of a person? Yes: quasi, in public steps. No: sensitive."
SURPLUS = "Must it be published? Yes: quasi, and the other columns lose detail. No: identifier."
TELLING = (
    "Must it be published? Yes: quasi, with less detail everywhere, or sensitive with fewer values. No: identifier."
)


def _out(column: ColumnValues, limit: int) -> str | None:
    """Returns the reason to leave the column out, by its values or its name, or None."""
    name, count = column.name, len(column.known)
    if (kind := likeness.number_of_a_person(column)) is not None:
        return f"its values are {kind}"
    if likeness.row_unique(column):
        return "almost every row has a value of its own"
    if likeness.prose(column) or (likeness.PROSE.search(name) and column.spelling.kind == "text" and count > 2):
        return "free text, which may say anything of a person"
    if likeness.addresses(column):
        return "its values are addresses"
    if count > _FEW_NAMES and (kind := suspected(name, list(column.known))) is not None:
        return f"it looks like {kind}"
    if likeness.PERSONS.search(name) and (count > limit or (count > _FEW_NAMES and likeness.names(column))):
        return "its name and its values are those of names, addresses or telephones"
    if likeness.NUMBERS.search(name) and count > max(MANY, limit) and likeness.known_outside(name) is None:
        return "its name means numbers of persons, and it has many values"
    return None


def _known(column: ColumnValues) -> str | None:
    """Returns the reason why others know the values, or None."""
    if column.spelling.kind == "date":
        return "dates"
    if len(column.known) < 7 and sum(_SEXES.fullmatch(value) is not None for value in column.known) > 1:
        return "the sexes"
    if len(column.known) > 2 and all(_YEAR.fullmatch(value) for value in column.known):
        return "years"
    return None if likeness.known_outside(column.name) is None else "by its name others know it"


def _open(column: ColumnValues, k: int, limit: int) -> Guess | None:
    """The column published as it is, within bounds, or None where it cannot keep them."""
    diverse = likeness.SENSITIVE.search(column.name) is not None
    opening = opened(column, k, limit, diverse=diverse)
    if opening is None:
        return None
    method = (
        "rounded, with coded ends"
        if opening[0]
        else "rare values become other"
        if 'unlisted = "other"' in opening[1]
        else "few values"
    )
    role = Role.SENSITIVE if diverse else Role.PLAIN
    return Guess(column.name, role, opening[0], f"{method}; {k} rows or more have each", lines=opening[1])


def fewer_values(column: ColumnValues, k: int, limit: int) -> Guess | None:
    """The open column with fewer values, or None where k rows cannot have each."""
    guess = _open(column, k, limit)
    return None if guess is None else with_spelling(guess, column)


def _exact(column: ColumnValues) -> Guess:
    """The column as a person wants it: published as it is, whatever its values."""
    kind = column.spelling.kind
    lines = () if kind == "text" else (f'type = "{kind}"',)
    return Guess(column.name, Role.SENSITIVE, None, "published as it is, beyond the bounds of a draft", lines=lines)


def quasi(column: ColumnValues, k: int, ages_on: date, reason: str, *, shared: bool = False) -> Guess:
    """The column with its hierarchy, for what others know. A question where no rule groups its texts."""
    name, counts, kind = column.name, column.known, column.spelling.kind
    because = f"{reason}; " if reason else ""
    if kind == "date" and column.spelling.finest == "day" and likeness.BIRTH.search(name):
        return Guess(
            name, Role.QUASI, trees.numbers(counts, k, ages_on), f"{because}of birth, published as ages on {ages_on}"
        )
    if kind == "date":
        return Guess(
            name, Role.QUASI, trees.dates(counts, 10 if shared else 1), f"{because}days, months and what is coarser"
        )
    coded = likeness.CODE.search(name) or (len(counts) > _LISTED and trees.are_codes(counts))
    if coded and shared and (areas := trees.areas(column.texts, k)) is not None:
        length, tree = areas
        lines = (f"cut = {length}", 'unlisted = "other"')
        return Guess(
            name,
            Role.QUASI,
            f'"{file_for(name, "csv")}"',
            f"{because}codes cut to {length} characters",
            (file_for(name, "csv"), tree),
            lines,
        )
    if coded and not shared and (prefixes := trees.prefixes(column.texts)):
        short = len({len(value) for value in counts}) > 1 and all(value.isdigit() for value in counts)
        warning = "; some are shorter than others: has a leading zero been lost?" if short else ""
        return Guess(name, Role.QUASI, prefixes, f"{because}codes whose tails can be masked{warning}")
    if kind == "number" and (len(counts) > trees.FEW or shared):
        return Guess(name, Role.QUASI, trees.numbers(counts, k), f"{because}numbers, in public steps")
    if len(counts) > trees.MOST_CATEGORIES:
        return ask(column, f"{len(counts):,} texts, too many to group", NAMED)
    path = file_for(name, "csv")
    if shared:
        rare = sum(count for count in counts.values() if count < k)
        counts = {value: count for value, count in counts.items() if count >= k and value != OTHER} | {
            OTHER: max(rare, 1)
        }
    text, method = (trees.ordered(counts), "neighbours grouped") if kind == "number" else trees.categories(counts)
    extra_lines = ('type = "number"',) if kind == "number" else ('unlisted = "other"',) if shared else ()
    return Guess(name, Role.QUASI, f'"{path}"', f"{because}{method}", (path, text), lines=extra_lines)


def file_for(name: str, ending: str) -> str:
    """The file that a column's values are written to, below the study's folder."""
    return f"hierarchies/{slug(name, 'column').lower()}.{ending}"


def without_surplus(
    guesses: Sequence[Guess], columns: Sequence[ColumnValues], fixed: frozenset[str] = frozenset()
) -> list[Guess]:
    """The guesses without surplus quasi columns, least known first, and open ones with many values."""
    ranked = sorted(
        (index for index, guess in enumerate(guesses) if guess.role is Role.QUASI and guess.name not in fixed),
        key=lambda index: (3 if (rank := likeness.known_outside(guesses[index].name)) is None else rank, index),
    )
    open_columns = sorted(
        (index for index, guess in enumerate(guesses) if guess.fate == "open" and guess.name not in fixed),
        key=lambda index: (guesses[index].values, index),
    )
    surplus = {*ranked[MOST_QUASI:], *open_columns[MOST_OPEN:]}
    return [
        hold_back(guess, column, "more columns are published than can be kept apart", SURPLUS)
        if index in surplus
        else guess
        for index, (guess, column) in enumerate(zip(guesses, columns, strict=True))
    ]


def hold_back(guess: Guess, column: ColumnValues, reason: str, question: str) -> Guess:
    """The column as one that waits for an answer."""
    return with_spelling(ask(column, reason, question), column)


def latest_year(columns: Sequence[ColumnValues]) -> int:
    """The latest year that the table's dates name, or this one."""
    years = [
        day.year for item in columns if item.spelling.kind == "date" for day in map(cells.first_day, item.known) if day
    ]
    return max(years, default=date.today().year - 1)
