"""`python doomed.py N COMMAND…`: the command line in a process that kills itself, by SIGKILL.

It dies in the midst of its N-th write to a journal: nothing is caught, closed or tidied up.
"""

from __future__ import annotations

import os
import signal
import sys

from tests.harness.disk import path_of

from covey.cli import main
from covey.party.record.names import JOURNAL


def doom(at: int) -> None:
    """From here on this process dies at that write to a journal."""
    write = os.write
    writes = 0

    def dying_write(handle: int, content: bytes | memoryview) -> int:
        nonlocal writes
        if path_of(handle).name == JOURNAL:
            writes += 1
            if writes == at:
                write(handle, memoryview(content)[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
        return write(handle, content)

    os.write = dying_write  # type: ignore[assignment]


if __name__ == "__main__":
    doom(int(sys.argv[1]))
    main(sys.argv[2:])
