"""One party of a simulation as a process of its own: the job comes in on stdin, events go out on stdout.

The parent keeps stdin open while the party may run: when it closes, or when the parent dies, the party stops.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import msgspec

from covey.crypto.secret import Secret
from covey.errors import CoveyError
from covey.party.session.progress import Snapshot


class Order(msgspec.Struct, frozen=True):
    """A party's job, as the parent spells it."""

    study: str
    party: str
    out: str
    keys: str
    data: str | None
    wait: float
    seed: str | None
    latency: float
    bandwidth: float | None


class Event(msgspec.Struct, frozen=True):
    """A message of a party to its parent: its progress, a notice, or its end."""

    snapshot: Snapshot | None = None
    notice: str | None = None
    ended: bool = False
    kind: str | None = None
    message: str | None = None


def main() -> int:
    """Runs the party; the exit code says how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent alone decides when the parties stop
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    threading.Thread(target=_stop_with_parent, name="covey-parent", daemon=True).start()
    try:
        _run(order)
    except CoveyError as error:
        tell(Event(ended=True, kind=type(error).__name__, message=str(error)))
        return error.exit_code
    tell(Event(ended=True))
    return 0


def tell(event: Event) -> None:
    """One line to the parent; a parent that is gone is no reason to fail."""
    line = msgspec.json.encode(event) + b"\n"
    try:
        os.write(sys.stdout.fileno(), line)  # one write: threads may tell too
    except OSError:
        return


def _run(order: Order) -> None:
    from covey.party.session.approval import approve_always
    from covey.party.session.run import Job, run_party

    run_party(
        Job(
            study=Path(order.study),
            party=order.party,
            out=Path(order.out),
            keys=Path(order.keys),
            decide=approve_always,
            data=order.data,
            wait=order.wait,
            listener=lambda snapshot: tell(Event(snapshot=snapshot)),
            notice=lambda sentence: tell(Event(notice=sentence)),
            seed=None if order.seed is None else Secret(bytes.fromhex(order.seed)),
            latency=order.latency,
            bandwidth=float("inf") if order.bandwidth is None else order.bandwidth,
        )
    )


def _stop_with_parent() -> None:
    """Blocks until stdin closes, then ends the run as an interruption does."""
    while os.read(sys.stdin.fileno(), 4096):  # not through the buffer: its lock would outlive this thread
        continue
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
