"""k toward insiders: a party that subtracts its own rows from a class sees none of others, or at least so many.

A protocol that can keep it keeps `INSIDER_K` where a study says nothing; `k_insider = 1` switches it off, and every
place where somebody decides says so with `warning`.
"""

from __future__ import annotations

from covey.study.study import INSIDER_K, Privacy, Study

KEY = "k_insider"
OF_INSIDERS = (KEY, "l_insider", "most_of_a_class")
"""The keys of [privacy] that say what a class may show a party that has rows in it."""
UNPROTECTED = (
    "k_insider = 1 switches the protection from other parties off: a party that subtracts its own rows from a class "
    "may be left with one person, and read that person's sensitive value; leave k_insider out to keep at least 2"
)


def asked(privacy: Privacy) -> int:
    """The k toward insiders that a protocol keeps which can keep one; 1 is none."""
    return INSIDER_K if privacy.k_insider is None else privacy.k_insider


def k_insider(study: Study) -> int | None:
    """The k toward insiders that a run of the study keeps. None where its protocol keeps none."""
    return asked(study.privacy) if study.declared is not None and KEY in study.declared.privacy else None


def warning(study: Study) -> tuple[str, ...]:
    """The warning to show where a study switches the protection off; none elsewhere."""
    return (UNPROTECTED,) if k_insider(study) == 1 else ()
