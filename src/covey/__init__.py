"""Covey k-anonymizes a table that no one may pool.

    study = covey.Study.load("study.toml")
    release = covey.anonymize(frame, study, algorithm="peel")
    release.table, release.loss.lm, release.save("out/")
    covey.verify(release.table, study)

Names are loaded when they are first used, so that `import covey` is quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from covey.errors import Aborted, AccessError, CoveyError, InputError, PeerError, Unmet
    from covey.party.simulate.in_process import simulate
    from covey.publish import Release, anonymize
    from covey.study import Study
    from covey.verify import Verdict, verify

_HOMES = {
    "Aborted": "covey.errors",
    "AccessError": "covey.errors",
    "CoveyError": "covey.errors",
    "InputError": "covey.errors",
    "PeerError": "covey.errors",
    "Release": "covey.publish",
    "Study": "covey.study",
    "Unmet": "covey.errors",
    "Verdict": "covey.verify",
    "anonymize": "covey.publish",
    "simulate": "covey.party.simulate.in_process",
    "verify": "covey.verify",
}

__all__ = [
    "Aborted",
    "AccessError",
    "CoveyError",
    "InputError",
    "PeerError",
    "Release",
    "Study",
    "Unmet",
    "Verdict",
    "anonymize",
    "simulate",
    "verify",
]


class _Covey(ModuleType):
    """The package; `anonymize` and `verify` are functions here even after the packages of these names were imported."""

    def __getattribute__(self, name: str) -> object:
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        return super().__getattribute__(name)


sys.modules[__name__].__class__ = _Covey
