"""One party of a simulation as a process of its own: forked with its job, it tells on stdout how it goes.

The parent keeps stdin open while the party may run: when it closes, or when the parent dies, the party stops.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import socket
import stat
import sys
import threading
import traceback
from pathlib import Path
from typing import NoReturn

import ibis.backends.duckdb  # noqa: F401 every table is read with it: loaded before the fork
import msgspec
import numpy as np
import pyarrow as pa

from covey.crypto.field import F61
from covey.crypto.secret import Secret
from covey.errors import CoveyError
from covey.party.session.approval import approve_always
from covey.party.session.progress import Snapshot
from covey.party.session.run import Job, run_party
from covey.party.simulate.letters import letters_of
from covey.party.simulate.starter import Order, Starter, fork_for_orders
from covey.protocols import of_study
from covey.study import Study

_IN, _OUT = 0, 1
"""Stdin and stdout."""


class Event(msgspec.Struct, frozen=True):
    """A message of a party to its parent: its progress, a notice, or its end."""

    snapshot: Snapshot | None = None
    notice: str | None = None
    ended: bool = False
    kind: str | None = None
    message: str | None = None


def main() -> None:
    """Forks a process for each party whose order comes over a socket; without one runs the party of the order on stdin.

    The exit code says how a party ended.
    """
    if stat.S_ISSOCK(os.fstat(_IN).st_mode):
        serve()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(_play(msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)))


def starter(*, own: bool) -> Starter:
    """The process that parties are forked from: a fork of this one, if it is a command's own and has read no data.

    In another's process engines may be open, of which a fork has no threads: there a new one loads everything.
    """
    if not own:
        return Starter()
    warm()
    return Starter(serve)


def serve() -> NoReturn:
    """Forks a process for each party whose order comes over the socket on stdin, and ends when they have ended."""
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent alone decides when the parties stop
        with socket.socket(fileno=os.dup(_IN)) as line:
            found = fork_for_orders(line, _load)
        code = 0
        if found is not None:
            order, *pipes = found
            for number, pipe in zip((_IN, _OUT), pipes, strict=True):
                os.dup2(pipe, number)
                os.close(pipe)
            code = 70
            code = _play(order)
            atexit._run_exitfuncs()
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)  # libraries would end threads that they had before the fork, and that are not here


def _play(order: Order) -> int:
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
        os.write(_OUT, line)  # one write: threads may tell too
    except OSError:
        return


def _load(order: Order) -> None:
    """Loads the study's protocol; what is wrong with a study is for the parties to say."""
    with contextlib.suppress(CoveyError):
        of_study(Study.load(Path(order.study)))
    warm()


def warm() -> None:
    """Loads what libraries load when they are first used: then it is there before the fork."""
    F61.add(np.zeros(1, np.uint64), np.zeros(1, np.uint64))  # numba loads most of itself with the first kernel,
    pa.array([""])  # and Arrow pandas with the first list
    gc.freeze()  # none of this is garbage: nobody need look through it


def _run(order: Order) -> None:
    letters = None
    if order.letters is not None and order.data is not None:
        letters = letters_of(
            Study.load(Path(order.study)), order.party, order.data, Secret(bytes.fromhex(order.letters))
        )
    run_party(
        Job(
            study=Path(order.study),
            party=order.party,
            out=Path(order.out),
            keys=Path(order.keys),
            decide=approve_always,
            data=order.data if letters is None else None,
            letters=letters,
            wait=order.wait,
            listener=lambda snapshot: tell(Event(snapshot=snapshot)),
            notice=lambda sentence: tell(Event(notice=sentence)),
            seed=None if order.seed is None else Secret(bytes.fromhex(order.seed)),
            latency=order.latency,
            bandwidth=float("inf") if order.bandwidth is None else order.bandwidth,
            synced=False,
            writes_any=True,
        )
    )


def _stop_with_parent() -> None:
    """Blocks until stdin closes, then ends the run as an interruption does."""
    while os.read(_IN, 4096):  # not through the buffer: its lock would outlive this thread
        continue
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
