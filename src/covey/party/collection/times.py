"""Times as people write them: `90s`, `30m`, `2h`, `7d`, or a moment such as `2026-12-01T18:00`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from covey.errors import InputError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
LONGEST = 400 * 86400.0


def duration(text: str, option: str) -> float:
    """Seconds. Raises InputError, naming the option, for anything else."""
    found = _DURATION.fullmatch(text.strip().lower())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= LONGEST:
        raise InputError(f"{option} {text}: write a duration such as 90s, 30m, 2h or 7d")
    return seconds


def moment(text: str, option: str, now: float) -> int:
    """A second since 1970: a duration from now, or a date with a time, by this machine's clock unless it says more."""
    if _DURATION.fullmatch(text.strip().lower()):
        return int(now + duration(text, option))
    try:
        found = int(datetime.fromisoformat(text.strip()).timestamp())
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{option} {text}: write a time such as 2026-12-01T18:00, or a duration such as 7d") from None
    if found <= now:
        raise InputError(f"{option} {text}: is over already")
    return found


def shown(second: float) -> str:
    """A moment as people read it."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M UTC")
