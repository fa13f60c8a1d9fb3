"""Another build of Covey, in which a protocol has another version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

from covey import protocols

PROGRAM = """
import sys
from dataclasses import replace
from importlib import import_module
module = import_module(f"covey.protocols.{sys.argv[1]}")
module.PROTOCOL = replace(module.PROTOCOL, version=int(sys.argv[2]))
from covey.cli import main
main(sys.argv[3:])
"""
"""A process of that build: the protocol's folder, the version, and a command."""


@contextmanager
def another_build(module: ModuleType, version: int) -> Iterator[None]:
    """While the block runs, the protocol of this module has that version here."""
    before: dict[str, Any] = {name: vars(module)[name] for name in ("PROTOCOL", "PROTOCOLS") if name in vars(module)}
    try:
        vars(module)["PROTOCOL"] = replace(before["PROTOCOL"], version=version)
        if "PROTOCOLS" in before:
            vars(module)["PROTOCOLS"] = tuple(replace(each, version=version) for each in before["PROTOCOLS"])
        protocols.named.cache_clear()
        yield
    finally:
        vars(module).update(before)
        protocols.named.cache_clear()
