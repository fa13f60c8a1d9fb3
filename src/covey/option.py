"""Options with a name, a type, a default and a sentence: protocols and algorithms declare theirs, everyone reads them.

A study file gives values (`calls = "turn"`), the command line texts (`--option start=paper`). Both are checked
here, so that a wrong value is refused with the same sentence, before anything runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = str | int | float | bool | tuple["Value", ...]
_LARGEST = 2**31 - 1
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Option(ABC, Generic[T_co]):
    """One option: its name, its default, and a text that says what it does."""

    name: str
    default: T_co
    says: str

    @abstractmethod
    def check(self, value: Value) -> T_co:
        """Returns the value in the option's own type. Raises ValueError that says what the option takes."""

    def read(self, text: str) -> Value:
        """Returns the value that a text on the command line gives, checked. Raises ValueError as `check` does."""
        value: Value = text == "true" if text in ("true", "false") else int(text) if text.isdecimal() else text
        self.check(value)
        return value

    def is_default(self, value: Value) -> bool:
        """True if the value is the default, said aloud."""
        try:
            return self.check(value) == self.default
        except ValueError:
            return False

    def of(self, options: Mapping[str, Value]) -> T_co:
        """Returns the value among those given, which have been checked, or the default."""
        return self.check(options[self.name]) if self.name in options else self.default


@dataclass(frozen=True)
class Choice(Option[str]):
    """One of several words."""

    choices: tuple[str, ...] = ()

    def check(self, value: Value) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ValueError(f"{self.name} must be one of {', '.join(self.choices)}")
        return value


@dataclass(frozen=True)
class Whole(Option[int]):
    """A whole number within bounds."""

    minimum: int = 0
    maximum: int = _LARGEST

    def check(self, value: Value) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.minimum <= value <= self.maximum:
            bounds = (
                f"of {self.minimum:,} or more"
                if self.maximum == _LARGEST
                else f"from {self.minimum:,} to {self.maximum:,}"
            )
            raise ValueError(f"{self.name} must be a whole number {bounds}")
        return value


@dataclass(frozen=True)
class Number(Option[float]):
    """A number within bounds."""

    minimum: float = 0.0
    maximum: float = 1.0

    def check(self, value: Value) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.minimum <= value <= self.maximum:
            raise ValueError(f"{self.name} must be a number from {self.minimum:g} to {self.maximum:g}")
        return float(value)


@dataclass(frozen=True)
class Flag(Option[bool]):
    """True or false."""

    def check(self, value: Value) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{self.name} must be true or false")
        return value


@dataclass(frozen=True)
class Text(Option[str]):
    """A short text."""

    maximum: int = 64

    def check(self, value: Value) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= self.maximum:
            raise ValueError(f"{self.name} must be a text of at most {self.maximum} characters")
        return value


@dataclass(frozen=True)
class File(Option[str]):
    """A file beside the study; the study's hash covers its content."""

    def check(self, value: Value) -> str:
        if not isinstance(value, str):
            raise ValueError(f'{self.name} must name a file: {self.name} = "…"')
        return value


@dataclass(frozen=True)
class Names(Option[tuple[str, ...]]):
    """So many names, each once."""

    number: int = 0

    def check(self, value: Value) -> tuple[str, ...]:
        names = tuple(name for name in value if isinstance(name, str)) if isinstance(value, tuple) else ()
        if len(set(names)) != self.number or value != names:
            raise ValueError(f'{self.name} must be a list of {self.number} different names: {self.name} = ["…", "…"]')
        return names


@dataclass(frozen=True)
class Range(Option[tuple[int, int]]):
    """Two whole numbers [low, high], the first below the second."""

    maximum: int = _LARGEST

    def check(self, value: Value) -> tuple[int, int]:
        low, high = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
        if type(low) is not int or type(high) is not int or not 0 <= low < high <= self.maximum:
            raise ValueError(f"{self.name} must be [low, high], whole numbers with 0 <= low < high <= {self.maximum:,}")
        return low, high


@dataclass(frozen=True)
class WholeOrWord(Option[int]):
    """A whole number within bounds, or one word that stands for a number."""

    word: str = "auto"
    meant: int = 0
    minimum: int = 0
    maximum: int = _LARGEST

    def check(self, value: Value) -> int:
        if value == self.word:
            return self.meant
        if not isinstance(value, int) or isinstance(value, bool) or not self.minimum <= value <= self.maximum:
            raise ValueError(
                f'{self.name} must be "{self.word}" or a whole number from {self.minimum:,} to {self.maximum:,}'
            )
        return value
