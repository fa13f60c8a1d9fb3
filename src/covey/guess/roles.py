"""The role of each column, guessed from its name and values, with its spelling, its hierarchy and the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from covey import cells
from covey.guess import trees
from covey.guess.columns import ColumnValues
from covey.identifiers import suspected
from covey.plain import slug, toml_string
from covey.schema import Role

_IDENTIFIER = re.compile(
    r"(?<![^\W_])(id|uid|uuid|name|surname|firstname|lastname|ssn|mrn|nhs|email|e-mail|phone|mobile|passport|iban|url|ip"
    r"|vorname|nachname|familienname|fallnr|fallnummer|pat(ienten)?-?nr|kennung|telefon|handy|stra(ß|ss)e"
    r"|nom|pr[eé]nom|apellidos?|nombre|cognome|naam)(?![^\W_])",
    re.IGNORECASE,
)
_PROSE = re.compile(r"comment|remark|(^|[_\s])notes?([_\s]|$)|bemerk|notiz|freitext|remarque|observac", re.IGNORECASE)
_SENSITIVE = re.compile(
    r"diagnos|disease|illness|condition|icd|hiv|drug|medic|treat|result|salary|income|wage|debt|relig|politic|offen[cs]e|crime"
    r"|affair|abuse|alcohol|mental|rating|(^|_)rate|opinion|satisf|attitude|cost|charge|expen|price|score|kosten|befund"
    r"|gehalt|einkommen|behandl|krank",
    re.IGNORECASE,
)
_KNOWN_OUTSIDE = re.compile(
    r"(^|[^a-z])x?age([^a-z]|$)|birth|born|(^|_)dob|geburt|naissance|nacimiento|nascita|(^|[^a-z])(fe)?male|(^|[^a-z])sex|gender|race|ethnic|black|hispanic|"
    r"nation|citizen|country|region|province|(^|_)state|county|city|town|zip|post|plz|district|municipal|(^|_)site|hospital|ward|"
    r"clinic|marit|married|marri|spouse|husb|wife|famil|househ|child|kids|educ|school|degree|occup|(^|_)job|profession|employ|"
    r"industry|sector|height|weight|(^|_)bmi|language|date|admi|dischar|(^|_)year|yrs|veteran|disab|student|"
    r"geburt|(^|[_\s])geb\b|geschl|(^|[_\s])alter\b|beruf|wohnort|familienst|kinder|staatsang|aufnahme|entlass|gr(ö|oe)(ß|ss)e|"
    r"gewicht|naissance|sexe|ville|nacimiento|sexo|edad|datum",
    re.IGNORECASE,
)
_BIRTH = re.compile(r"birth|born|(^|[_\s-])dob|geburt|(^|[_\s])geb\b|naissance|nacimiento|nascita", re.IGNORECASE)
_CODE = re.compile(r"zip|post|plz|postal|postcode|icd|atc|nuts|lsoa", re.IGNORECASE)

UNIQUE = 0.95  # a column whose rows almost all differ names people
LISTED = 200  # sensitive values that a draft lists one by one
MOST_QUASI = 8  # with more columns than this a class can hardly keep anything: those in doubt are not asked to hide
_WORDS = 3.5  # in a text of prose, on average
_OWN = 0.5  # of the rows have a text of their own: not published where that is in doubt
IN_DOUBT = "published, as people outside seldom know it; choose otherwise if they could"
_LONG = 40  # characters of a text of prose, on average


@dataclass(frozen=True)
class Guess:
    """The lines that the study file will have for a column, and the reason."""

    name: str
    role: Role
    hierarchy: str | None  # TOML
    why: str
    file: tuple[str, str] | None = None  # a file to write: its path and its text
    lines: tuple[str, ...] = ()  # further lines of TOML
    doubtful: bool = False


def guess(column: ColumnValues, k: int, ages_on: date) -> Guess:
    """Guesses the role and hierarchy of one column."""
    return _spelled(_guess(column, k, ages_on), column)


def as_role(column: ColumnValues, role: Role, k: int, ages_on: date) -> Guess:
    """The column in the role that a person chose, with what that role needs."""
    if role is Role.QUASI:
        found = _quasi(column, k, ages_on) if column.known else Guess(column.name, role, '"flat"', "it is empty")
        if found.role is not Role.QUASI:
            found = Guess(column.name, role, '"flat"', "it has too many texts to group: kept or suppressed")
    elif role is Role.SENSITIVE and column.known:
        found = sensitive(column, k, "")
    else:
        typed = () if column.spelling.format is None else (f'type = "{column.spelling.kind}"',)
        found = Guess(column.name, role, None, "", lines=typed if role is Role.PLAIN else ())
    why = f"a person chose this role; {found.why.removeprefix('; ')}" if found.why else "a person chose this role"
    return _spelled(replace(found, role=role, why=why), column)


def _spelled(found: Guess, column: ColumnValues) -> Guess:
    """The guess with the spellings of missing values, numbers and dates, where the column is published."""
    if found.role in (Role.IDENTIFIER, Role.KEY):
        return found
    how = column.spelling
    lines = [] if not how.null else [f"null = [{', '.join(toml_string(text) for text in how.null)}]"]
    lines += [] if how.format is None else [f"format = {toml_string(how.format)}"]
    why = "; ".join((found.why, *how.evidence))
    return replace(found, lines=(*lines, *found.lines), why=why)


def _guess(column: ColumnValues, k: int, ages_on: date) -> Guess:
    name, known, kind = column.name, column.known, column.spelling.kind
    if not known:
        return Guess(name, Role.IDENTIFIER, None, "it is empty: left out")
    decimals = kind == "number" and any("." in value for value in known)
    if column.share_unique >= UNIQUE and column.rows > 1 and kind != "date" and not decimals:
        return Guess(name, Role.IDENTIFIER, None, "almost every row has a value of its own")
    if _IDENTIFIER.search(name):
        return Guess(name, Role.IDENTIFIER, None, "its name is one that identifiers have")
    if (suspicion := suspected(name, list(known))) is not None:
        return Guess(name, Role.IDENTIFIER, None, f"it looks like {suspicion}, which HIPAA's Safe Harbor has removed")
    if len(known) == 1:
        return Guess(name, Role.PLAIN, None, "it has one value only")
    if kind == "text" and (_is_prose(column) or _PROSE.search(name)):
        return Guess(name, Role.IDENTIFIER, None, "free text, which may say anything of a person: left out")
    if _SENSITIVE.search(name):
        return sensitive(column, k, "its name is one that sensitive columns have")
    quasi = _quasi(column, k, ages_on)
    return replace(quasi, doubtful=not _KNOWN_OUTSIDE.search(name))


def _is_prose(column: ColumnValues) -> bool:
    texts = column.known
    words = sum(len(text.split()) for text in texts) / len(texts)
    long = sum(map(len, texts)) / len(texts)
    return (words >= _WORDS or long >= _LONG) and len(texts) >= max(20, 0.1 * column.rows)


def sensitive(column: ColumnValues, k: int, why: str, *, diverse: bool = True) -> Guess:
    """A sensitive column: few values are listed, with an l that they can keep; many numbers are rounded and coded."""
    known, kind = column.known, column.spelling.kind
    if kind == "number" and len(known) > trees.FEW:
        rounded = trees.numbers(known, k)
        return Guess(
            column.name,
            Role.SENSITIVE,
            rounded,
            f"{why}; published rounded, with the lowest and the highest values grouped",
        )
    lines = ['type = "date"'] if kind == "date" else ['type = "number"'] if kind == "number" else []
    if len(known) <= LISTED:
        lines.append(f"values = [{', '.join(toml_string(value) for value in sorted(known))}]")
    asked = trees.reachable_l(known)
    if diverse and len(known) <= LISTED and asked >= 1:
        lines.append(f"l = {asked}" if asked > 1 else "# one value is so frequent that no l can be kept")
    return Guess(column.name, Role.SENSITIVE, None, why, lines=tuple(lines))


def _quasi(column: ColumnValues, k: int, ages_on: date) -> Guess:
    name, known, kind = column.name, column.known, column.spelling.kind
    if kind == "date" and _BIRTH.search(name):
        tree = trees.numbers(known, k, ages_on)
        return Guess(name, Role.QUASI, tree, f"dates of birth, published as ages on {ages_on}")
    if kind == "date":
        return Guess(name, Role.QUASI, trees.dates(known), "its values are dates")
    coded = _CODE.search(name) or (len(known) > LISTED and trees.are_codes(known))
    if coded and (kept := trees.prefixes(column.texts)):
        short = len({len(value) for value in known}) > 1 and all(value.isdigit() for value in known)
        lost = "; some are shorter than others: has a leading zero been lost?" if short else ""
        return Guess(name, Role.QUASI, kept, f"its values are codes whose tails can be masked{lost}")
    if kind == "number" and len(known) > trees.FEW:
        return Guess(name, Role.QUASI, trees.numbers(known, k), "its values are numbers, in public steps")
    if len(known) > trees.MOST_CATEGORIES:
        return Guess(name, Role.IDENTIFIER, None, f"it has {len(known):,} texts, too many to group: left out")
    path = file_for(name, "csv")
    if kind == "number":
        text, how = trees.ordered(known), "neighbours grouped"
    else:
        text, how = trees.categories(known)
    lines = ('type = "number"',) if kind == "number" else ()
    why = f"it has {len(known):,} {'numbers' if kind == 'number' else 'categories'}, {how}"
    return Guess(name, Role.QUASI, f'"{path}"', why, (path, text), lines=lines)


def file_for(name: str, ending: str) -> str:
    """The file that a column's values are written to, below the study's folder."""
    return f"hierarchies/{slug(name, 'column').lower()}.{ending}"


def decided(guesses: Sequence[Guess], columns: Sequence[ColumnValues], k: int) -> list[Guess]:
    """The guesses with those in doubt settled: quasi, unless so many columns were to hide that none could keep much."""
    crowded = sum(each.role is Role.QUASI for each in guesses) > MOST_QUASI
    sure = any(each.role is Role.QUASI and not each.doubtful for each in guesses)
    if not (crowded and sure):
        return list(guesses)
    return [
        _published(each, column, k) if each.role is Role.QUASI and each.doubtful else each
        for each, column in zip(guesses, columns, strict=True)
    ]


def _published(found: Guess, column: ColumnValues, k: int) -> Guess:
    if column.spelling.kind == "text" and column.share_unique >= _OWN:
        return Guess(column.name, Role.IDENTIFIER, None, "many rows have a value of their own: left out")
    made = sensitive(column, k, IN_DOUBT, diverse=False)
    spelled = tuple(line for line in found.lines if line.startswith(("null =", "format =")))
    return replace(made, lines=(*spelled, *made.lines))


def latest_year(columns: Sequence[ColumnValues]) -> int:
    """The latest year that the table's dates name, or this one."""
    years = [day.year for each in columns if each.spelling.kind == "date" for day in map(cells.day, each.known) if day]
    return max(years, default=date.today().year - 1)
