"""The papers' own systems as data: what one opens, where it departs from its paper, and why a study is refused.

As printed is the paper's messages, order, outputs and options, with the repairs listed here and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

PEEL = (
    'protocol = "peel", where three parties compute and nothing but the release is opened; where two hold the data, '
    'add a party with role = "helper", which holds none'
)
ALONE = "each party alone, with covey anonymize"


@dataclass(frozen=True)
class Repair:
    """One departure from a paper, with its reason."""

    printed: str
    repaired: str
    why: str

    def sentence(self) -> str:
        """Returns the repair as one sentence."""
        return f"the paper: {self.printed}; here: {self.repaired} ({self.why})"


@dataclass(frozen=True)
class Printed:
    """The part of a declaration that only a paper's own system has."""

    opens: str
    """What the construction shows besides the release, as the end of a sentence."""
    repairs: tuple[Repair, ...]

    def refusal(self, name: str) -> str:
        """Returns the ways out for a study that names the system and does not ask for it as printed."""
        return (
            f"protocol {name!r} is the paper's own system, which opens {self.opens}. Choose one: {PEEL}; or "
            f"as_printed = true in [protocol], to run the paper's system with what it opens; or {ALONE}"
        )
