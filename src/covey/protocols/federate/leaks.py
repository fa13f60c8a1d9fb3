"""What a run of `federate` teaches each party, in the ledger's sentences; all numbers in them are public."""

from __future__ import annotations

from covey.protocols.federate.terms import Terms
from covey.secure.declare import Leakage

PROVIDERS = ("provider", "provider with exact values")
RECIPIENT = "recipient"


def _both(*sentences: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(PROVIDERS, sentences)


MEETING = Leakage(
    roles=_both(
        "whether all of the population as one class would keep k and delta, and nothing else of who or how many are "
        "users of the other provider: of everyone of the population it got an encrypted bit"
    )
)
DIVISION = Leakage(
    roles=_both(
        "of each group of the population on the way to the classes which provider's users are spread wider, and so who "
        "divides it",
        "of the cut that was chosen in a group whether both halves keep {asked} for both providers, not what fails; "
        "where they do, who of the population is in which half, the divider's dummy users among them",
    )
)
CANDIDATES = Leakage(
    roles=_both(
        "in groups that the other divides, for each of {candidates} cuts in random order, how many of the population "
        "and of its own users are on either side, not where the cut is",
        "in groups that it divides itself, of some pairs of its cuts which one scores higher with the other's part",
    )
)
EXACT = Leakage(
    roles=_both("which groups were joined again because delta did not hold for an exact value in them, not for which")
)
READY = Leakage(everyone=("the number of classes before those with equal labels became one ({classes})",))
RELEASE = Leakage(
    roles={
        **_both("nothing by the release, which goes to the recipient"),
        RECIPIENT: (
            "the release: of each class its labels and how many common users carry which values; classes with equal "
            "labels one by one",
        ),
    }
)
PAPER = Leakage(
    roles=_both(
        "how many users both providers have in common in all, and in each half of a cut that was tested and kept k; of "
        "cuts in groups that it divides the number of the other's users above each; how many users the other has in "
        "each group",
    )
)
PAPER_RELEASE = Leakage(
    roles={
        **_both("how many common users each class has of each combination of exact values"),
        RECIPIENT: RELEASE.by_role[RECIPIENT],
    }
)

LEAKAGE = Leakage(
    everyone=READY.everyone,
    roles={
        **_both(*(line for part in (MEETING, DIVISION, CANDIDATES, RELEASE) for line in part.by_role["provider"])),
        RECIPIENT: RELEASE.by_role[RECIPIENT],
    },
)
"""Of a run on the level schedule."""

Lines = list[tuple[Leakage, dict[str, object]]]


def before(terms: Terms) -> Lines:
    """What the division will teach."""
    delta = terms.study.privacy.delta
    asked = f"k = {terms.k}" if delta is None else f"k = {terms.k} and delta = {delta:g}"
    lines: Lines = [(DIVISION, {"asked": asked})]
    if terms.alpha < 1 or not terms.by_level:
        many = f"at most {terms.candidates}" if terms.candidates else "as many as there are values"
        lines.append((CANDIDATES, {"candidates": many}))
    if not terms.by_level:
        lines.append((PAPER, {}))
    if terms.sensitive:
        lines.append((EXACT, {}))
    return lines


def of_release(terms: Terms) -> Leakage:
    """What the opening teaches."""
    return RELEASE if terms.by_level else PAPER_RELEASE
