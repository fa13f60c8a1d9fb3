"""The ledger's sentences: what a run of `generalize` teaches each party."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from covey.plain import plural
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import Round
from covey.secure.declare import Leakage, Lesson

OWNERS = ("observer", "partner")


def _both(*sentences: str) -> Leakage:
    return Leakage(roles=dict.fromkeys(OWNERS, sentences))


_COUNTS = (
    "in each round: how many people each of its own groups shares with each of the other party's, whose groups have no "
    "names and stand in random order (a group: people whose own columns look alike)",
    "so, in which of its groups people share a value of the other party's that is finer than the published one; where "
    "a whole group does, whoever knows that value of one of them knows it of all",
)
_SIZES = "in each round: the number and the sizes of the other party's groups{small}"
_FITS = "in each round: the number of the other party's groups, and whether the two tables fit together"

MATRIX = _both(_FITS, _SIZES, *_COUNTS)
THRESHOLD = _both(_FITS)
DATAFLY = _both(
    "in each round that does not fit: how many distinct values the other party's most varied column has",
    "that one party's groups stay as they are while the other's are merged; so, what is learned of the same groups "
    "adds up from round to round",
)
FINISHED = _both(
    "after each round: which of its own people are in a finished class and which are not, at the levels of that round, "
    "earlier and finer than in the release",
    "in later rounds: the counts of those who are left, also of fewer than {k}",
)
PREVIEW = _both("how much is lost in all columns together (LM {loss}; 1 is everything), and so in the other party's")
COUNTED = _both("all of this in numbers: {rounds}; groups of {observer} and {partner}: {groups}{withheld}")
LEFT = Leakage(everyone=("that of the common records {withheld} left over and withheld",))

LEAKAGE = MATRIX
"""The leakage of a run with default options."""


def before(parameters: Parameters) -> list[Lesson]:
    """The leakage of the rounds, and the numbers that the sentences mention."""
    kind = MATRIX if parameters.compare == "matrix" else THRESHOLD
    finishing = parameters.variant == "finished-cells"
    small = (
        "; in later rounds of those who are left, so also of few" if finishing else f", all of {parameters.k} or more"
    )
    lines: list[Lesson] = [(kind, {"small": small})]
    if parameters.variant == "datafly":
        lines.append((DATAFLY, {}))
    if finishing:
        lines.append((FINISHED, {"k": parameters.k}))
    return lines


def after(parameters: Parameters, played: Sequence[Round], withheld: int) -> Lesson:
    """The rounds in numbers, which both owners know."""
    how = Counter(found.mode or "decided by a single group" for found in played)
    said = ", ".join(f"{count} {name}" for name, count in how.items())
    return COUNTED, {
        "rounds": f"{plural(len(played), 'round')} ({said})",
        "observer": parameters.observer,
        "partner": parameters.partner,
        "groups": ", then ".join(f"{first} and {second}" for first, second in (r.groups for r in played)),
        "withheld": f"; of its people {plural(withheld, 'is', 'are')} left over and withheld" if withheld else "",
    }


def left(withheld: int) -> Lesson:
    """The number of those who are left over, for a recipient and the owners."""
    return LEFT, {"withheld": plural(withheld, "is", "are") if withheld else "none is"}
