"""The ledger's sentences: what a run of `collect` by peeling teaches the collector, trustees and respondents."""

from __future__ import annotations

from covey.protocols.collect_peel.parameters import Parameters
from covey.secure.declare import RELEASE, TAKING_PART, Leakage, Lesson


def _trustee(*sentences: str) -> Leakage:
    return Leakage(roles={"trustee": sentences})


BOARD = Leakage(
    roles={
        "collector": ("who answered, by handle, and when; {respondents} answers came",),
        "trustee": ("who answered, by handle, and whose letters were no answer; {respondents} answers came",),
        "respondent": ("that its own answer is on the board, from its receipt, and nothing else",),
    },
    about=TAKING_PART,
)
_LEFT_OUT = ("whose letters were no answer and were left out, by handle: {left_out} of {respondents} answers",)
LEFT_OUT = Leakage(roles={"collector": _LEFT_OUT, "trustee": _LEFT_OUT}, about=TAKING_PART)
MARGINALS = _trustee(
    "for each column that is generalized: the values that {k} or more respondents have, and how many have each; and "
    "how many respondents have each rarer value, without telling which value (where only one is left, that is it)",
)
VISITS = _trustee(
    "at each of up to {nodes} levels of generalization: how many respondents who are not in a class yet share each "
    "combination of values, without telling which; combinations that {k} or more share are named, and become classes",
)
DIVERSE = _trustee(
    "for each combination that {k} or more share: how often each sensitive value occurs in it, without telling which",
)
_ROWS = ("the release; not which of its rows, or of its classes, is whose",)
ROWS = Leakage(roles={"collector": _ROWS, "trustee": _ROWS}, about=RELEASE)
BROKEN = Leakage(
    roles={
        "collector": (
            "the labels and the size of classes of which records, or all, were then withheld, because an answer in "
            "them was no value that the study lists",
        ),
        "trustee": (
            "the values of {withheld} records, which are then withheld, in classes with an answer that was no value "
            "that the study lists; not whose they are",
        ),
    }
)
MAJORITY = _trustee(
    "nothing more, unless more than half of the trustees put their letters together: they would read everything",
)


def visits(parameters: Parameters) -> list[Lesson]:
    """The leakage of the visits."""
    lines: list[Lesson] = [(VISITS, {"k": parameters.k, "nodes": parameters.nodes})]
    if parameters.watched:
        lines.append((DIVERSE, {"k": parameters.k}))
    return lines


def before(parameters: Parameters, respondents: int) -> list[Lesson]:
    """The leakage of a run, as far as the study and the number of respondents tell."""
    lines: list[Lesson] = [(BOARD, {"respondents": f"{respondents:,}"})]
    if parameters.reference is None:
        lines.append((MARGINALS, {"k": parameters.k}))
    return [*lines, *visits(parameters), (ROWS, {}), (MAJORITY, {})]


LEAKAGE = Leakage(
    roles={
        "collector": (*BOARD.by_role["collector"], *_ROWS),
        "trustee": (*BOARD.by_role["trustee"], *VISITS.by_role["trustee"], *_ROWS),
        "respondent": BOARD.by_role["respondent"],
    },
)
"""The leakage of a run without further constraints, before its numbers are known."""
