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
from covey.guess import likeness, names, trees
from covey.guess.columns import ColumnValues
from covey.guess.dates import in_several_orders
from covey.guess.opening import most_values, opened
from covey.identifiers import suspected
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
    """Guesses the role and hierarchy of one column; a shared study names no value that fewer than k rows have."""
    return spelled(_guess(column, k, ages_on, shared), column)


def as_role(column: ColumnValues, role: Role, k: int, ages_on: date) -> Guess:
    """The column in the role that a person chose, with what that role needs."""
    if role is Role.QUASI:
        found = quasi(column, k, ages_on, "") if column.known else Guess(column.name, role, '"flat"', "it is empty")
        if found.role is not Role.QUASI:
            found = Guess(column.name, role, '"flat"', "it has too many texts to group: kept or suppressed")
    elif role is Role.SENSITIVE and column.known:
        most = most_values(column.rows, k)
        found = (None if _out(column, most) else _open(column, k, most)) or _exact(column)
    elif role is Role.ASK:
        found = ask(column, "it waits for an answer", "What is it?")
    else:
        found = Guess(column.name, role, None, "")
    why = "; ".join(filter(None, ("a person chose this role", found.why)))
    return spelled(replace(found, role=role, why=why), column)


def spelled(found: Guess, column: ColumnValues) -> Guess:
    """The guess with its counts, and with the spellings of missing values, numbers and dates where it is published."""
    alone = sum(count == 1 for count in column.known.values())
    found = replace(found, values=len(column.known), alone=alone)
    how = column.spelling
    if found.fate == "ask":
        return replace(found, why="; ".join((found.why, *how.evidence)))
    if found.fate == "out":
        return found
    lines = [] if not how.null else [f"null = [{', '.join(toml_string(text) for text in how.null)}]"]
    lines += [] if how.format is None else [f"format = {toml_string(how.format)}"]
    if (
        how.format is not None
        and found.hierarchy is None
        and not any(line.startswith("type =") for line in found.lines)
    ):
        lines.append(f'type = "{how.kind}"')
    return replace(found, lines=(*lines, *found.lines), why="; ".join((found.why, *how.evidence)))


def ask(column: ColumnValues, why: str, question: str) -> Guess:
    """A column that waits for an answer to its question."""
    return Guess(column.name, Role.ASK, None, why, question=question)


def _guess(column: ColumnValues, k: int, ages_on: date, shared: bool) -> Guess:
    known, most = column.known, most_values(column.rows, k)
    if not known:
        return Guess(column.name, Role.IDENTIFIER, None, "it is empty")
    if column.spelling.kind == "text" and in_several_orders(column.texts):
        return ask(column, "dates", DATES)
    if (reason := _out(column, most)) is not None:
        return Guess(column.name, Role.IDENTIFIER, None, reason)
    if len(known) == 1 and not column.lacking:
        return Guess(column.name, Role.PLAIN, None, "it has one value only")
    if column.spelling.lists is not None:
        return ask(column, "lists of codes, a whole one often one person's own", LISTS)
    if (reason := _known(column)) is not None:
        return quasi(column, k, ages_on, reason, shared=shared)
    if likeness.counts_people(column):
        return ask(column, "whole numbers, dealt out evenly", NUMBERED)
    if likeness.names(column) and (len(known) > most or names.PERSONS.search(column.name)):
        return ask(column, "words that could name people", NAMED)
    found = _open(column, k, most)
    if found is not None:
        return found
    if column.spelling.kind == "text":
        return ask(column, "many texts, few rows with each", NAMED)
    return ask(column, "no public steps leave k rows to each value", STEPPED)


NAMED = "Does it name or number a person? Yes: identifier. No, but others know it: quasi. No: sensitive."
NUMBERED = "Does it number people, cases or contracts? Yes: identifier. No, it measures something: sensitive."
DATES = "Can they be written in one way? Yes: do so and draft again. No: identifier."
LISTS = "Can it be split into a column for each code? Yes: split it and draft again. No: identifier."
STEPPED = "Could others know it of a person? Yes: quasi, in public steps. No: sensitive."
SURPLUS = "Must it be published? Yes: quasi, and the other columns lose detail. No: identifier."
TELLING = (
    "Must it be published? Yes: quasi, with less detail everywhere, or sensitive with fewer values. No: identifier."
)


def _out(column: ColumnValues, most: int) -> str | None:
    """Returns the reason to leave the column out, by its values and, where there are many, by its name, or None."""
    name, count = column.name, len(column.known)
    if (kind := likeness.number_of_a_person(column)) is not None:
        return f"its values are {kind}"
    if likeness.row_unique(column):
        return "almost every row has a value of its own"
    if likeness.prose(column) or (names.PROSE.search(name) and column.spelling.kind == "text" and count > 2):
        return "free text, which may say anything of a person"
    if likeness.addresses(column):
        return "its values are addresses"
    if count > _FEW_NAMES and (kind := suspected(name, list(column.known))) is not None:
        return f"it looks like {kind}"
    if names.PERSONS.search(name) and (count > most or (count > _FEW_NAMES and likeness.names(column))):
        return "its name and its values are those of names, addresses or telephones"
    if names.NUMBERS.search(name) and count > max(MANY, most) and names.known_outside(name) is None:
        return "its name is that of numbers of persons, and it has many"
    return None


def _known(column: ColumnValues) -> str | None:
    """Returns the reason why others know the values, or None."""
    if column.spelling.kind == "date":
        return "dates"
    if len(column.known) < 7 and sum(_SEXES.fullmatch(value) is not None for value in column.known) > 1:
        return "the sexes"
    if len(column.known) > 2 and all(_YEAR.fullmatch(value) for value in column.known):
        return "years"
    return None if names.known_outside(column.name) is None else "by its name others know it"


def _open(column: ColumnValues, k: int, most: int) -> Guess | None:
    """The column published as it is, within bounds, or None where it cannot keep them."""
    diverse = names.SENSITIVE.search(column.name) is not None
    found = opened(column, k, most, diverse=diverse)
    if found is None:
        return None
    how = (
        "rounded, with coded ends"
        if found[0]
        else "rare values become other"
        if 'unlisted = "other"' in found[1]
        else "few values"
    )
    role = Role.SENSITIVE if diverse else Role.PLAIN
    return Guess(column.name, role, found[0], f"{how}; {k} rows or more have each", lines=found[1])


def fewer_values(column: ColumnValues, k: int, most: int) -> Guess | None:
    """The open column with fewer values, or None where it cannot keep k rows for each."""
    found = _open(column, k, most)
    return None if found is None else spelled(found, column)


def _exact(column: ColumnValues) -> Guess:
    """The column as a person wants it: published as it is, whatever its values."""
    kind = column.spelling.kind
    lines = () if kind == "text" else (f'type = "{kind}"',)
    return Guess(column.name, Role.SENSITIVE, None, "published as it is, beyond the bounds of a draft", lines=lines)


def quasi(column: ColumnValues, k: int, ages_on: date, reason: str, *, shared: bool = False) -> Guess:
    """The column with its hierarchy, for what others know; a question where no rule groups its texts."""
    name, known, kind = column.name, column.known, column.spelling.kind
    because = f"{reason}; " if reason else ""
    if kind == "date" and column.spelling.finest == "day" and names.BIRTH.search(name):
        return Guess(
            name, Role.QUASI, trees.numbers(known, k, ages_on), f"{because}of birth, published as ages on {ages_on}"
        )
    if kind == "date":
        return Guess(
            name, Role.QUASI, trees.dates(known, 10 if shared else 1), f"{because}days, months and what is coarser"
        )
    coded = names.CODE.search(name) or (len(known) > _LISTED and trees.are_codes(known))
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
    if coded and not shared and (kept := trees.prefixes(column.texts)):
        short = len({len(value) for value in known}) > 1 and all(value.isdigit() for value in known)
        lost = "; some are shorter than others: has a leading zero been lost?" if short else ""
        return Guess(name, Role.QUASI, kept, f"{because}codes whose tails can be masked{lost}")
    if kind == "number" and (len(known) > trees.FEW or shared):
        return Guess(name, Role.QUASI, trees.numbers(known, k), f"{because}numbers, in public steps")
    if len(known) > trees.MOST_CATEGORIES:
        return ask(column, f"{len(known):,} texts, too many to group", NAMED)
    path = file_for(name, "csv")
    if shared:
        rest = sum(count for count in known.values() if count < k)
        known = {value: count for value, count in known.items() if count >= k and value != OTHER} | {
            OTHER: max(rest, 1)
        }
    text, how = (trees.ordered(known), "neighbours grouped") if kind == "number" else trees.categories(known)
    more = ('type = "number"',) if kind == "number" else ('unlisted = "other"',) if shared else ()
    return Guess(name, Role.QUASI, f'"{path}"', f"{because}{how}", (path, text), lines=more)


def file_for(name: str, ending: str) -> str:
    """The file that a column's values are written to, below the study's folder."""
    return f"hierarchies/{slug(name, 'column').lower()}.{ending}"


def without_surplus(
    guesses: Sequence[Guess], columns: Sequence[ColumnValues], chosen: frozenset[str] = frozenset()
) -> list[Guess]:
    """The guesses without the surplus: quasi columns that the fewest know, and open ones of the most values."""
    ranked = sorted(
        (place for place, each in enumerate(guesses) if each.role is Role.QUASI and each.name not in chosen),
        key=lambda place: (3 if (rank := names.known_outside(guesses[place].name)) is None else rank, place),
    )
    opened = sorted(
        (place for place, each in enumerate(guesses) if each.fate == "open" and each.name not in chosen),
        key=lambda place: (guesses[place].values, place),
    )
    surplus = {*ranked[MOST_QUASI:], *opened[MOST_OPEN:]}
    return [
        hold_back(each, column, "more columns are published than can be kept apart", SURPLUS)
        if place in surplus
        else each
        for place, (each, column) in enumerate(zip(guesses, columns, strict=True))
    ]


def hold_back(found: Guess, column: ColumnValues, why: str, question: str) -> Guess:
    """The column as one that waits for an answer."""
    return spelled(ask(column, why, question), column)


def latest_year(columns: Sequence[ColumnValues]) -> int:
    """The latest year that the table's dates name, or this one."""
    years = [
        day.year for each in columns if each.spelling.kind == "date" for day in map(cells.first_day, each.known) if day
    ]
    return max(years, default=date.today().year - 1)
