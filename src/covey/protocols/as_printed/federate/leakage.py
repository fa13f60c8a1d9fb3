"""The leakage of `federate`: what a run teaches each party, in the ledger's sentences."""

from __future__ import annotations

from covey.protocols.as_printed.federate.parameters import Parameters
from covey.secure import declare
from covey.secure.declare import TOTALS, Leakage

PROVIDER, RECIPIENT = "provider", "recipient"

MEETING = Leakage(
    roles={
        PROVIDER: (
            "whether all of the population as one class would keep k and delta; nothing else of who the other "
            "provider's users are, or how many (it gets an encrypted bit for everyone of the population)",
        )
    },
    about=TOTALS,
)
PAPER_MEETING = Leakage(
    roles={
        PROVIDER: (
            "whether all of the population as one class would keep k and delta; where k holds, also how many users the "
            "other provider has in all, and how many users both have",
        )
    },
    about=TOTALS,
)
_DIVIDER = (
    "for each group of the population on the way to the classes: whose users are spread wider there, and so who "
    "divides the group"
)
DIVISION = Leakage(
    roles={
        PROVIDER: (
            _DIVIDER,
            "for the cut that is chosen in a group: whether both halves keep k and delta for both providers, not what "
            "fails; where they do, who of the population is in which half, the divider's dummy users included",
        )
    }
)
CANDIDATES = Leakage(
    roles={
        PROVIDER: (
            "in groups that the other divides: for each cut that is considered, in random order, how many of the "
            "population and of its own users are on either side, not where the cut is",
            "in groups that it divides itself: for some pairs of its cuts, which is better with the other's part",
        )
    }
)
SEVERAL_MEETING = Leakage(
    roles={
        PROVIDER: (
            "whether all of the population as one class would keep k and delta toward every set of providers; nothing "
            "else of who the others' users are, or how many, as long as fewer than half of the providers pool their "
            "shares (it gets a share of each provider's bit for everyone of the population)",
        )
    },
    about=TOTALS,
)
SEVERAL_DIVISION = Leakage(
    roles={
        PROVIDER: (
            "for each group of the population on the way to the classes: whose users are spread widest there, and so "
            "who divides the group",
            "for the cut that is chosen in a group: whether both halves keep k, and delta toward every set of "
            "providers, not what fails; where they do, who of the population is in which half, the divider's dummy "
            "users included",
        )
    }
)
SEVERAL_CANDIDATES = Leakage(
    roles={
        PROVIDER: (
            "in groups that another provider divides: for each cut that is considered, in random order, how many of "
            "the population and of its own users are on either side, not where the cut is",
            "in groups that it divides itself: which of its cuts is best with the others' parts",
        )
    }
)
EXACT = Leakage(
    roles={
        PROVIDER: ("which groups are joined again because delta does not hold for an exact value there, not for which",)
    }
)
READY = Leakage(everyone=("how many classes there are before those with equal labels become one",))
_RELEASED = (
    "the release: for each class its labels, and how many common users have which values; classes with equal labels "
    "one by one"
)
RELEASE = Leakage(
    roles={PROVIDER: ("nothing from the release, which goes to the recipient",), RECIPIENT: (_RELEASED,)},
    about=declare.RELEASE,
)
PAPER_DIVISION = Leakage(
    roles={
        PROVIDER: (
            _DIVIDER,
            "for the cut that is chosen in a group: whether both halves keep k and delta for both providers, or else "
            "what fails: k in which half, or delta; where they do, who of the population is in which half, the "
            "divider's dummy users included",
            "for each half of a chosen cut that is tested and keeps k, even if the cut is then refused: how many users "
            "both providers have there, and how many the provider has that divides",
            "in groups that it divides: how many users the other has there, and how many of them are above each cut "
            "that is considered",
        )
    }
)
PAPER_RELEASE = Leakage(
    roles={
        PROVIDER: (
            "how many common users each class has of each combination of exact values",
            "how many users the other has in each class, common or not; where the exact values are the other's, for "
            "each combination of them",
        ),
        RECIPIENT: (_RELEASED,),
    },
    about=declare.RELEASE,
)

LEAKAGE = Leakage(
    everyone=READY.everyone,
    roles={
        PROVIDER: tuple(line for part in (MEETING, DIVISION, CANDIDATES, RELEASE) for line in part.by_role[PROVIDER]),
        RECIPIENT: (_RELEASED,),
    },
)
"""The leakage of a run of two providers on the level schedule."""


def of_meeting(params: Parameters) -> Leakage:
    """The leakage to the providers before anything is divided."""
    if params.several:
        return SEVERAL_MEETING
    return MEETING if params.by_level else PAPER_MEETING


def before(params: Parameters) -> list[Leakage]:
    """The leakage of the division."""
    found = [SEVERAL_DIVISION if params.several else DIVISION if params.by_level else PAPER_DIVISION]
    if params.alpha < 1 or not params.by_level:
        found.append(SEVERAL_CANDIDATES if params.several else CANDIDATES)
    if params.sensitive:
        found.append(EXACT)
    return found


def of_release(params: Parameters) -> Leakage:
    """The leakage of the opening."""
    return RELEASE if params.by_level else PAPER_RELEASE
