"""Everything that can go wrong, in one tree; each branch has one exit code.

    CoveyError
    ├── Unmet         1   the answer is no: a check, a verification or a request fell short, or was refused
    ├── InputError    2   your data, your study or your call
    ├── Aborted       3   stopped safely; `resumable` says whether the same call goes on (else exit 1)
    │   └── Left          one of many respondents is there no longer; the run may be able to do without
    ├── AccessError   4   who are you: a certificate, a key, a peer that the roster does not have
    └── PeerError     4   they broke the protocol

A message is one sentence that names the file, the line or column, the party or the step, and what to do.
It never quotes a cell: error messages travel to logs and to other people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_ONE = re.compile(
    r"(?<![\d.,-])(?<![-+] )1 (?:(answer|cell|combination|group|level|message|pair|problem|record|respondent|row|round|"
    r"time|user|value)s|(class)es)\b( have\b| are\b)?"
)
_MANY = re.compile(r"# (\w*(?:[^s\W]s|sses))\b( have\b| are\b)?")


def uncounted(text: str) -> str:
    """The text with `#` for numbers, as if each of them were 1."""
    return _MANY.sub(lambda match: counted(f"1 {match[1]}{match[2] or ''}").replace("1 ", "# ", 1), text)


def counted(text: str) -> str:
    """The text with nouns in the singular after 1: `1 row has`, never `1 rows have`."""

    def one(match: re.Match[str]) -> str:
        verb = {" have": " has", " are": " is", None: ""}[match[3]]
        return f"1 {match[1] or match[2]}{verb}"

    return _ONE.sub(one, text)


class CoveyError(Exception):
    """Something that Covey can explain to the person who called it."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(counted(message))


class Unmet(CoveyError):
    """The question was well put and the answer is no."""

    exit_code = 1


class InputError(CoveyError):
    """The data, the study or the call is wrong; nothing was written."""

    exit_code = 2


class StudyError(InputError):
    """A study file with problems: all of them, each with its line."""

    def __init__(self, path: Path | str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        number = f"{len(problems)} problems" if len(problems) != 1 else "1 problem"
        super().__init__(f"{path}: {number}:\n  " + "\n  ".join(problems))


class Aborted(CoveyError):
    """The run stopped safely and released nothing. `party` is the one that is gone or stopped it, if that is known."""

    def __init__(self, message: str, *, resumable: bool, party: str | None = None) -> None:
        self.resumable, self.party = resumable, party
        super().__init__(message)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        return 3 if self.resumable else 1


class Left(Aborted):
    """One of many respondents has left for good. A run of many may go on without."""

    party: str

    def __init__(self, party: str, why: str) -> None:
        self.why = why
        super().__init__(f"respondent {party!r} {why}", resumable=False, party=party)


class AccessError(CoveyError):
    """A peer, a key or a certificate was refused before any role code ran."""

    exit_code = 4


class PeerError(CoveyError):
    """Another party broke the protocol."""

    exit_code = 4

    def __init__(self, *, party: str, step: str, reason: str) -> None:
        self.party, self.step, self.reason = party, step, reason
        super().__init__(f"party {party!r} broke the protocol at {step}: {reason}")
