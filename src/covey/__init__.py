"""Covey k-anonymizes a table that no one may pool.

    study = covey.Study.load("study.toml")
    release = covey.simulate(study, {"north": north, "south": south})
    release.table, release.loss.lm, release.ledger, release.save("out/")
    covey.anonymize(frame, study, algorithm="peel")
    covey.verify(release.table, study)
    covey.evaluate(release.table, study, original=frame, target="diagnosis")

Names are loaded when they are first used, so that `import covey` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from covey.version import __version__

if TYPE_CHECKING:
    from covey.errors import Aborted, AccessError, CoveyError, InputError, PeerError, Unmet
    from covey.evaluation import Evaluation
    from covey.evaluation.questions import evaluate
    from covey.judge import Verdict, verify
    from covey.party.simulate.in_process import simulate
    from covey.publish import anonymize
    from covey.publish_large import anonymize_on_engine
    from covey.release import Release
    from covey.steward import audit, check, make_report, new, plan, run
    from covey.study import Study

__all__ = [
    "Aborted",
    "AccessError",
    "CoveyError",
    "Evaluation",
    "InputError",
    "PeerError",
    "Release",
    "Study",
    "Unmet",
    "Verdict",
    "__version__",
    "anonymize",
    "anonymize_on_engine",
    "audit",
    "check",
    "evaluate",
    "make_report",
    "new",
    "plan",
    "run",
    "simulate",
    "verify",
]

_HOMES = {
    "Evaluation": "covey.evaluation",
    "Release": "covey.release",
    "Study": "covey.study",
    "Verdict": "covey.judge",
    "anonymize": "covey.publish",
    "anonymize_on_engine": "covey.publish_large",
    **dict.fromkeys(("audit", "check", "make_report", "new", "plan", "run"), "covey.steward"),
    "evaluate": "covey.evaluation.questions",
    "simulate": "covey.party.simulate.in_process",
    "verify": "covey.judge",
}


def __getattr__(name: str) -> object:
    """Loads a public name from its home. Every name without a home above is an error class."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES.get(name, "covey.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
