"""The part of a protocol's declaration that a study file is held to, found by the protocol's name.

A protocol is a folder of the package `PROTOCOLS`, called like the protocol, or like it with `_rows`, `_columns` and so
on behind it where one name has a protocol for each way to split a table, or for each method. The study knows no
protocol: it looks for the folder, loads it, and reads `PROTOCOL.requirements` there.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from covey.errors import InputError
from covey.option import Option, Value

PROTOCOLS = "covey.protocols"
SHARED = "shared"
"""The folder there that is no protocol."""
EXTRA = ("gmpy2", "pymcl")
"""Libraries of the extra `covey[papers]`."""


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
    method: str = ""
    """The method that a study asks for it by, where a name has several protocols for one way to split a table."""
    empty: str = ""
    """Why a party without rows cannot take part, as the end of a sentence; none where it can."""
    withholds: bool = False
    """True if it withholds k rows or more where these keep k, but not what else is asked for."""
    usual: bool = True
    """True if it is the one for a study that names no method."""

    def option(self, name: str) -> Option[object] | None:
        """The option of that name."""
        return next((option for option in self.options if option.name == name), None)

    def check(self, name: str, value: Value) -> None:
        """Raises ValueError if there is no such option, or the value is none that it takes."""
        option = self.option(name)
        if option is None:
            known = ", ".join(each.name for each in self.options) or "none"
            raise ValueError(f"{name} is no option with partition = {self.partition!r}; there is {known}")
        option.check(value)

    def beyond_defaults(self, options: Mapping[str, Value]) -> Mapping[str, Value]:
        """The options that say more than their defaults: without the others a study would mean the same."""
        if not self.usual and "method" not in options:
            return options
        kept: dict[str, Value] = {} if self.usual else {"method": self.method}
        for name, value in options.items():
            option = self.option(name)
            if option is None or not option.is_default(value):
                kept[name] = value
        return kept


@cache
def folders() -> dict[str, tuple[str, ...]]:
    """The folders of each protocol, by its name."""
    found: dict[str, tuple[str, ...]] = {}
    for module in pkgutil.iter_modules(import_module(PROTOCOLS).__path__):
        if module.ispkg and module.name != SHARED:
            name = module.name.split("_")[0]
            found[name] = (*found.get(name, ()), module.name)
    return found


def chosen(known: Sequence[Requirements], partition: str | None, options: Mapping[str, object]) -> Requirements | None:
    """The one of these that a study asks for by its partition and, where that is not enough, by its method.

    An older study names no method, and may have options that only a method has which is not the usual one: it means
    that one.
    """
    ways = {needed.partition for needed in known}
    found = [needed for needed in known if partition == needed.partition or (partition is None and len(ways) == 1)]
    asked = [needed for needed in found if needed.method == options.get("method", needed.method)]
    able = [needed for needed in asked if all(needed.option(name) for name in options)]
    return next(iter(sorted(able or asked or found, key=lambda needed: not needed.usual)), None)


def names() -> tuple[str, ...]:
    """The names of all protocols; none is loaded for that."""
    return tuple(folders())


def of_protocol(name: str) -> tuple[Requirements, ...]:
    """The requirements of the protocols of that name, one for each way to split a table that it knows."""
    return tuple(load(folder).requirements for folder in folders().get(name, ()))


def load(folder: str) -> Any:
    """The declaration in a protocol's folder. Raises InputError where it needs an extra that is not installed."""
    try:
        return import_module(f"{PROTOCOLS}.{folder}").PROTOCOL
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        name = folder.partition("_")[0]
        raise InputError(
            f"protocol {name!r} needs an extra that is not installed: pip install 'covey[papers]'"
        ) from None
