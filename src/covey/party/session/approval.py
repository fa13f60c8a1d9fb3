"""Before the last opening a person is asked; the answer is final and signed.

What a party is shown: k as asked and as the public classes have it, the loss, l where it was computed, and what
everyone will have learned. A party that gets no release sees what was asked and the ledger.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from covey.errors import Aborted
from covey.party.record.ledger import Ledger
from covey.protocols import Proposal
from covey.study import Study, insiders

Decide = Callable[[str], Awaitable[bool]]
"""Shows a text and answers whether the party approves."""

_YES, _NO = ("y", "yes"), ("n", "no")
LATER = "; nothing was released: run the same command again, with --approve or from a terminal"


async def approve_always(shown: str) -> bool:
    """The answer of a party that was started with --approve, and of simulations."""
    return True


def describe(study: Study, proposal: Proposal, ledger: Ledger) -> str:
    """The text that a person is shown before deciding."""
    lines = [f"Study {study.name!r} is about to be released.", f"  k asked for: {study.privacy.k}"]
    if study.privacy.l is not None:
        lines.append(f"  l asked for: {study.privacy.l:g}")
    figures = proposal.figures
    if not ledger.protocol.receives(study, ledger.party):
        lines.append("  It goes to others; this party gets none.")
    elif figures is None:
        lines.append("  Nothing of the release is known before it is opened.")
    else:
        reached = f"  k reached: {figures.k_reached}, in {figures.classes:,} classes of {figures.rows:,} rows"
        lines.append(reached)
        if figures.l_reached is not None:
            lines.append(f"  l reached: {figures.l_reached:g}")
        if figures.insider_k is not None:
            lines.append(
                f"  insider k: {figures.insider_k}, the fewest of others' records that a party sees in a class"
            )
        lines += [f"  loss ({name}): {value:.4f}" for name, value in figures.loss.items() if value is not None]
        if figures.withheld:
            lines.append(f"  withheld: {figures.withheld:,} rows")
    lines += [f"  WARNING: {sentence}" for sentence in insiders.warning(study)]
    lines.append("So far:")
    lines += [f"  {sentence}" for sentence in ledger.own]
    lines.append("By the opening this party learns:")
    lines += [f"  {fragment}" for fragment in proposal.opens]
    return "\n".join(lines)


async def ask_on_terminal(shown: str) -> bool:
    """Asks on the terminal. Raises Aborted, resumable, where there is none or where it is closed."""
    if not sys.stdin.isatty():
        raise Aborted("the release must be approved, and there is no terminal to ask on" + LATER, resumable=True)
    sys.stderr.write(f"\n{shown}\n")
    while True:
        sys.stderr.write("Release it? A no is final. [yes/no] ")
        sys.stderr.flush()
        answer = (await _read_line(sys.stdin.fileno())).strip().lower()
        if answer in _YES:
            return True
        if answer in _NO:
            return False


async def _read_line(descriptor: int) -> str:
    """A line from the terminal, without blocking the heartbeats."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def ready() -> None:
        if not line.done():
            line.set_result(os.read(descriptor, 4096).decode(errors="replace"))

    loop.add_reader(descriptor, ready)
    try:
        text = await line
    finally:
        loop.remove_reader(descriptor)
    if not text:
        raise Aborted("the terminal was closed before the release was approved" + LATER, resumable=True)
    return text


def within(decide: Decide, seconds: float) -> Decide:
    """The same, with a deadline. Raises Aborted, resumable, when it has passed."""

    async def timed(shown: str) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await decide(shown)
        except TimeoutError:
            late = f"nobody answered within {seconds / 60:g} minutes whether to release"
            raise Aborted(late + LATER, resumable=True) from None

    return timed
