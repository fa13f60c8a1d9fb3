"""Columns and their roles: what a study says of each column of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from covey.cells import MISSING, Kind, canonical, clean
from covey.errors import InputError
from covey.hierarchy import Coding, Hierarchy, Malformed, Open, Prefix

MissingPolicy = Literal["value", "drop", "error", "other"]
Unlisted = Literal["refuse", "other"]
Distance = Literal["equal", "ordered", "hierarchy"]
Texts = tuple[tuple[str, str], ...]
"""Texts for people: pairs of a language (or of a value) and the words."""
OTHER: Final = "other"
"""The value that stands for all that a study does not list, where it says so."""


class Role(StrEnum):
    """The role of a column, which decides what becomes of it."""

    IDENTIFIER = "identifier"  # names a person: never leaves
    KEY = "key"  # joins the sites' rows in a vertical study: never leaves
    QUASI = "quasi"  # known to others, so generalized
    SENSITIVE = "sensitive"  # what must not be learned of a person; published as it is, diverse in each class
    PLAIN = "plain"  # neither: published as it is
    ASK = "ask"  # undecided: left out until a person answers its question


@dataclass(frozen=True)
class Column:
    """One column of the table, as the study has it."""

    name: str
    role: Role
    hierarchy: Hierarchy | Open | None = None
    kind: Kind = "text"
    missing: MissingPolicy = "value"
    null: frozenset[str] = frozenset()  # cells that mean missing, besides the empty one
    values: tuple[str, ...] | None = None  # the listed domain, canonical
    site: bool = False
    singles_out: str | None = None  # the reason why a published value that one row alone bears is allowed
    weight: float = 1.0
    distance: Distance = "equal"
    format: str | None = None  # how the data spells numbers or dates; a release spells them in our way
    coding: Coding | None = None
    l: float | None = None  # noqa: E741 - a sensitive column's own, instead of the study's
    t: float | None = None
    label: Texts = ()  # the question to a person, by language
    answers: tuple[tuple[str, Texts], ...] = ()  # words for values, by language
    question: str = ""  # of a column of role ask: what to find out, and what either answer means
    cut: int | None = None  # codes are read up to this length
    unlisted: Unlisted = "refuse"  # what becomes of a value that the tree or the list lacks

    @property
    def published(self) -> Column:
        """The column as cells of a release are read: in our own spelling."""
        return replace(self, format=None, cut=None, unlisted="refuse")

    @property
    def released(self) -> bool:
        return self.role not in (Role.IDENTIFIER, Role.KEY, Role.ASK)

    @property
    def closed(self) -> bool:
        """True if the study lists the whole domain, as parties that compute jointly need."""
        return self.values is not None if self.hierarchy is None else self.hierarchy.closed

    def read(self, cell: str | None) -> str:
        """The one spelling of a raw cell; the empty text if it is missing."""
        text = MISSING if cell is None else clean(cell)
        if text in self.null or text == MISSING:
            return OTHER if self.missing == OTHER else MISSING
        text = text[: self.cut]
        value = canonical(text, self.kind, self.format) if self.coding is None else self.coding.read(text, self.format)
        return OTHER if self.unlisted == OTHER and not self.lists(value) else value

    def lists(self, value: str) -> bool:
        """Returns True for a value of the column's closed tree, or of its list."""
        if isinstance(self.hierarchy, Hierarchy):
            return bool(self.hierarchy.encode([value])[0] >= 0)
        return value in (self.values or ())

    def tree(self, values_at_hand: Sequence[str] = ()) -> Hierarchy:
        """The column's tree; an open domain is closed over the (canonical) values seen."""
        if self.hierarchy is None:
            raise InputError(f"column {self.name!r} has no hierarchy; only quasi columns are generalized")
        if isinstance(self.hierarchy, Hierarchy):
            tree = self.hierarchy
        else:
            present = [value for value in values_at_hand if value != MISSING]
            try:
                tree = self.hierarchy.close(present)
            except InputError as error:
                raise InputError(f"column {self.name!r}: {error}") from None
            except Malformed:
                raise InputError(
                    f"column {self.name!r}: some cells read like generalized ones (`*`, a masked code); correct them, "
                    "or list their spellings under `null` in the study to read them as missing"
                ) from None
        return tree.with_missing() if self.missing == "value" else tree

    def describe(self) -> dict[str, object]:
        """The meaning of the column, for the study's hash."""
        hierarchy: object = None
        if isinstance(self.hierarchy, Hierarchy):
            hierarchy = self.hierarchy.digest
        elif self.hierarchy is not None:
            hierarchy = self.hierarchy.describe()
        return {
            "role": str(self.role),
            "hierarchy": hierarchy,
            "kind": self.kind,
            "missing": self.missing,
            "null": sorted(self.null),
            "values": None if self.values is None else list(self.values),
            "site": self.site,
            "identifies": None,  # a key of 0.1.0: without it all of its studies would have another hash
            "weight": repr(float(self.weight)),
            "distance": self.distance,
            **({} if self.format is None else {"format": self.format}),
            **({} if self.coding is None else {"coding": self.coding.describe()}),
            **({} if self.l is None else {"l": repr(float(self.l))}),
            **({} if self.t is None else {"t": repr(float(self.t))}),
            **({} if self.singles_out is None else {"singles_out": self.singles_out}),
            **({"label": dict(self.label)} if self.label else {}),
            **({"question": self.question} if self.question else {}),
            **({} if self.cut is None else {"cut": self.cut}),
            **({} if self.unlisted == "refuse" else {"unlisted": self.unlisted}),
            **({"answers": {language: dict(words) for language, words in self.answers}} if self.answers else {}),
        }


def close_over(hierarchy: Open, values: Sequence[str]) -> Hierarchy:
    """The tree over a domain that the study lists in full."""
    return hierarchy.close(values, closed=True) if isinstance(hierarchy, Prefix) else hierarchy.close(values)
