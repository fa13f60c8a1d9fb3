"""The peak memory of a process, without that of the process that has started it."""

from __future__ import annotations

import resource
from pathlib import Path

STATUS = Path("/proc/self/status")


def own_peak() -> int:
    """The most memory in MB that this process has held since its program began.

    `getrusage` counts what the starting process held as well; where the system tells no better it is taken.
    """
    if STATUS.exists():
        (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:")]
        return round(int(line.split()[1]) / 1e3)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
