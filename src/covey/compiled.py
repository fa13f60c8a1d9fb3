"""Compiled to machine code once and kept: the one way kernels are declared here.

No fastmath and no hidden parallelism, so that the same input gives the same bytes on one core and on many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """The function, compiled at its first call, cached on disk, and without the interpreter's lock."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))
