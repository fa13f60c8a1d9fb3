"""The part of a protocol's declaration that a study file is held to, found by the protocol's name.

A protocol is a folder of the package `PROTOCOLS`, or a paper's own of `PRINTED` there, called like the protocol, or
like it with `_rows`, `_columns` and so on behind it where one name has a protocol for each way to split a table; or one
folder has several in `PROTOCOLS`. The study knows no protocol: it looks for the folder and reads the declaration there.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from covey.errors import InputError
from covey.option import Flag, Option, Value

PROTOCOLS = "covey.protocols"
SHARED = "shared"
"""The folder there that is no protocol."""
PRINTED = "as_printed"
"""The folder there that has the papers' own systems."""
EXTRA = ("gmpy2", "pymcl")
"""Libraries of the extra `covey[papers]`."""


AS_PRINTED = Flag(
    "as_printed",
    False,
    "true: run the paper's own system, with what it opens; without it the study is refused",
)
"""The option without which no study runs a paper's own system."""


@dataclass(frozen=True)
class Requirements:
    """Everything that a protocol asks of a study file."""

    partition: str
    holders: tuple[int, int | None]
    """The fewest and the most parties with data of their own."""
    roles: tuple[str, ...] = ()
    """The roles without data that it knows."""
    needs: tuple[str, ...] = ()
    """Of these, the ones it cannot do without."""
    otherwise: str = ""
    """What to do without one of these, as the end of a sentence."""
    privacy: tuple[str, ...] = ("k", "l", "diversity")
    """The keys of [privacy] that it can enforce."""
    unable: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Why it cannot enforce a key of [privacy], and what to do instead, as the end of a sentence."""
    options: tuple[Option[object], ...] = ()
    authority: Callable[[Mapping[str, Value]], bool] = lambda options: False
    """Tells from the options if an [authority] has to take part."""
    evaluates: bool = False
    """True if its parties can add up errors over all rows (`[evaluate] joint = true`)."""
    empty: str = ""
    """Why a party without rows cannot take part, as the end of a sentence; none where it can."""
    withholds: bool = False
    """True if it withholds k rows or more where these keep k, but not what else is asked for."""

    def option(self, name: str) -> Option[object] | None:
        """The option of that name."""
        return next((option for option in self.options if option.name == name), None)

    def check(self, name: str, value: Value) -> None:
        """Raises ValueError for an unknown option, and for a value that it does not take."""
        option = self.option(name)
        if option is None:
            names = ", ".join(candidate.name for candidate in self.options) or "none"
            raise ValueError(f"{name} is no option with partition = {self.partition!r}; there is {names}")
        option.check(value)

    def beyond_defaults(self, options: Mapping[str, Value]) -> Mapping[str, Value]:
        """The options that differ from their defaults: the others do not change a study's meaning."""
        changed: dict[str, Value] = {}
        for name, value in options.items():
            option = self.option(name)
            if option is None or not option.is_default(value):
                changed[name] = value
        return changed


@cache
def folders() -> dict[str, tuple[str, ...]]:
    """The folders of each protocol, by its name."""
    result: dict[str, tuple[str, ...]] = {}
    for package in ("", f"{PRINTED}."):
        for module in pkgutil.iter_modules(import_module(f"{PROTOCOLS}.{package}".rstrip(".")).__path__):
            if module.ispkg and module.name not in (SHARED, PRINTED):
                name = module.name.split("_")[0]
                result[name] = (*result.get(name, ()), package + module.name)
    return dict(sorted(result.items()))


def chosen(
    declared: Sequence[Requirements], partition: str | None, options: Mapping[str, object]
) -> Requirements | None:
    """The requirements that fit a study's partition and, where several do, its options."""
    splits = {entry.partition for entry in declared}
    fitting = [entry for entry in declared if partition == entry.partition or (partition is None and len(splits) == 1)]
    able = [entry for entry in fitting if all(entry.option(name) for name in options)]
    return next(iter(able or fitting), None)


def names() -> tuple[str, ...]:
    """The names of all protocols; none is loaded for that."""
    return tuple(folders())


def of_protocol(name: str) -> tuple[Requirements, ...]:
    """The requirements of the protocols of that name, one for each way to split a table."""
    return tuple(protocol.requirements for folder in folders().get(name, ()) for protocol in load(folder))


def load(folder: str) -> Sequence[Any]:
    """The declarations in a protocol's folder. Raises InputError where it needs an extra that is not installed."""
    try:
        module = import_module(f"{PROTOCOLS}.{folder}")
        return getattr(module, "PROTOCOLS", None) or (module.PROTOCOL,)
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        name = folder.rpartition(".")[2].partition("_")[0]
        raise InputError(
            f"protocol {name!r} needs an extra that is not installed: pip install 'covey[papers]'"
        ) from None
