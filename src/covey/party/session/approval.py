"""Before the last opening a person is asked; the answer is final and signed.

A person is shown one screen: the decision, the figures that are known, what opens to whom, what each column loses and
some classes. A party that gets no release sees no figures of it, unless they follow from what all have learned. The
full text also lists what is known already.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from covey.cells import NO_VALUE
from covey.crypto.rng import spell
from covey.errors import Aborted
from covey.party.record.ledger import Ledger
from covey.plain import grid, listed, plural, wrapped
from covey.protocols import Proposal
from covey.protocols.protocol import Recognition
from covey.protocols.shared.columns import recognition
from covey.secure import row_counts
from covey.secure.declare import Fact, rounded, tell
from covey.study import Study, insiders

_YES, _NO = ("y", "yes"), ("n", "no")
LATER = "; nothing was released: run the same command again, with --approve or from a terminal"
_STOPS = "the run stops for everyone, releases nothing"
_PAGE = 80
_LABEL = 11


@dataclass(frozen=True)
class ApprovalQuestion:
    """The question whether a study may be released, with all that a person decides by."""

    study: Study
    party: str
    receivers: tuple[str, ...]
    """The parties that get the release."""
    proposal: Proposal
    opens: tuple[Fact, ...]
    known: tuple[Fact, ...]
    """What the parties have learned until now."""
    stated: Mapping[str, int] = field(default_factory=dict)
    """The number of rows that each party stated, where the study has them do so."""
    recognised: Mapping[str, Recognition] = field(default_factory=dict)
    """The people whom each owner of columns finds in the release by its exact ones."""

    @classmethod
    def of(
        cls,
        study: Study,
        proposal: Proposal,
        ledger: Ledger,
        stated: Mapping[str, int] | None = None,
        recognised: Mapping[str, Recognition] | None = None,
    ) -> ApprovalQuestion:
        """The question to the ledger's party, whose ledger has all that was learned until now."""
        receives = ledger.protocol.receives
        receivers = tuple(party.name for party in study.parties if receives(study, party.name))
        if ledger.party not in receivers and not proposal.known_to_all:
            proposal = Proposal(proposal.opens, proposal.numbers)  # it sees no figures of what it does not get
        opens = ledger.foresee(proposal.opens, proposal.numbers)
        known = tuple(ledger.facts)
        return cls(study, ledger.party, receivers, proposal, tuple(opens), known, stated or {}, recognised or {})

    @property
    def digest(self) -> bytes:
        """The hash of what a vote is about: the figures, and the numbers that parties stated, where they did."""
        shown = self.proposal.digest
        if self.recognised:
            found = recognition.spelled(self.study, self.recognised)
            shown = hashlib.sha256(spell("covey recognised/1", shown, found)).digest()
        if not self.stated:
            return shown
        return hashlib.sha256(spell("covey shown/1", shown, row_counts.spelled(self.stated))).digest()

    def screen(self, width: int, place: str = "") -> str:
        """The screen, wrapped at that width; `place` is the file with the full text."""
        facts = plural(len(self.known), "fact")
        said = [("Besides", f"{facts} that the parties have learned already, whatever you answer")]
        where = said if self.known else []
        where += [("In full", f"{place}; `covey protocols {self.study.protocol}` explains the run")] if place else []
        return "\n".join([*self._decision(width), *self._body(width), "", *_lines(where, width)])

    def full(self) -> str:
        """The screen on a page, and every fact that the parties have learned until now."""
        learned = self._facts(self.known, _PAGE, "Already learned by {}, whatever you answer:", str)
        names = listed([column.name for column in self.study.quasi])
        words = wrapped(f"Quasi columns are those whose values are made coarser: {names}.", _PAGE)
        return "\n".join([*self._decision(_PAGE), *self._body(_PAGE), "", *learned, "", words, ""])

    def describe(self) -> dict[str, object]:
        """The question for programs."""
        preview = self.proposal.preview
        return {
            "question": self._head,
            "choices": dict(self._choices),
            "warnings": list(self._warnings),
            "figures": dict(self._figures()),
            "losses": {} if preview is None else dict(preview.losses),
            "opens": [{"fact": rounded(each.fact), "learned_by": each.learned_by} for each in self.opens],
            "known": [{"fact": each.fact, "learned_by": each.learned_by} for each in self.known],
            "classes": [] if preview is None else [[size, *labels] for labels, size in preview.classes],
        }

    @property
    def _head(self) -> str:
        return f"Decide for {self.party}: may the study {self.study.name!r} be released?"

    @property
    def _choices(self) -> list[tuple[str, str]]:
        everyone = listed([party.name for party in self.study.parties])
        to = "every party" if len(self.receivers) == len(self.study.parties) else listed(self.receivers)
        return [
            ("yes", f"if all of {everyone} say yes, the release is opened to {to}"),
            ("no", "nothing is released, and the run ends for everyone; a no is final"),
            ("later", f"close this terminal: {_STOPS}, and shows the same once all run the same command again"),
        ]

    @property
    def _warnings(self) -> tuple[str, ...]:
        return (
            *insiders.warning(self.study),
            *row_counts.warnings(self.stated, self.study.privacy.k),
            *recognition.warnings(self.study, self.recognised),
        )

    def _decision(self, width: int) -> list[str]:
        warnings = [wrapped(f"WARNING: {sentence}", width) for sentence in self._warnings]
        return [wrapped(self._head, width), *_lines(self._choices, width), *warnings, ""]

    def _body(self, width: int) -> list[str]:
        preview, figures = self.proposal.preview, self.proposal.figures
        lines = _lines(self._figures(), width)
        if preview is not None:
            worst = sorted(preview.losses.items(), key=lambda each: -each[1])
            lines += _lines([("by column", ", ".join(f"{name} {lost:.2f}" for name, lost in worst))], width)
        lines += ["", *self._facts(self.opens, width, "If all say yes, {} will learn:", rounded)]
        if preview is None or figures is None:
            return lines
        exact = [column.name for column in self.study.released if column not in self.study.quasi]
        more = f"; each row also shows its exact {listed(exact)}" if exact else ""
        if exact and self.party not in self.receivers:
            more += f", to {listed(self.receivers)} alone"
        where = "some of the smallest and others from all over the table"
        some = f"{len(preview.classes)} of the {figures.classes:,} classes, {where},"
        if len(preview.classes) == figures.classes:
            some = "The only class," if figures.classes == 1 else f"All {figures.classes} classes,"
        head = f"{some} as they would be published{more}:"
        rows = [(f"{size:,}", *(label or NO_VALUE for label in labels)) for labels, size in preview.classes]
        return [*lines, "", wrapped(head, width), *grid(("rows", *preview.losses), rows, width, "  ")]

    def _figures(self) -> list[tuple[str, str]]:
        asked, figures = self.study.privacy, self.proposal.figures
        unknown = "known once it is opened" if self.party in self.receivers else "not shown: the release goes to others"
        found = dict.fromkeys(("k", "l", "insider k", "rows", "loss (LM)"), unknown)
        if figures is not None:
            least = figures.insider_k or insiders.k_insider(self.study)
            found["insider k"] = (
                "not measured by this protocol"
                if least is None
                else f"{least:,}{' or more' if figures.insider_k is None else ''}: a party that takes its own rows out "
                f"of a class is left with no row of others, or with {least:,} or more"
            )
        if asked.l is not None:
            found["l"] = f"{asked.l:g} or more in every class{_meaning(asked.diversity, asked.l)}"
        elif self.study.sensitive:
            found["l"] = "not asked: all rows of a class may have the same sensitive value"
        if figures is not None:
            found["k"] = f"{figures.k_reached:,}: each row looks like {figures.k_reached - 1:,} others or more"
            found["rows"] = f"{figures.rows:,} in {plural(figures.classes, 'class', 'classes')}"
            more = plural(figures.withheld, "more is", "more are")
            found["rows"] += f"; {more} withheld" if figures.withheld else "; none is withheld"
            if self.proposal.preview is not None and self.proposal.preview.own is not None:
                found["rows"] += _of_ours(*self.proposal.preview.own)
            if figures.l_reached is not None:
                found["l"] = f"{figures.l_reached:g}{_meaning(asked.diversity, figures.l_reached)}"
            if (lm := figures.loss.get("lm")) is not None:
                found["loss (LM)"] = f"{lm:.3f} (0: nothing is lost, 1: everything)"
            if figures.query_error is not None:
                parts = ", ".join(
                    f"{100 * error:.1f}% over {spelled}" for spelled, error in _spelled(figures.query_error)
                )
                found["queries"] = f"counts from the release are off by {parts} (root mean square, all parties' rows)"
        for name, wanted in (("k", asked.k), ("l", asked.l), ("insider k", insiders.k_insider(self.study))):
            if wanted is not None:
                found[name] = f"{found[name]} (asked: {wanted:g})"
        if asked.l_insider is not None:
            found["l insider"] = f"{asked.l_insider:g} or more also without the rows of any one party"
        if asked.most_of_a_class is not None:
            found["one party"] = f"has at most {asked.most_of_a_class:.3g} of the rows of every class"
        if self.recognised:
            found["own people"] = recognition.spelled(self.study, self.recognised)
        if self.stated:
            total = max(1, sum(self.stated.values()))
            parts = listed([f"{name} {rows:,} ({rows / total:.0%})" for name, rows in self.stated.items()])
            found["row counts"] = f"{parts}, as each party stated and signed"
        return list(found.items())

    def _facts(self, facts: Sequence[Fact], width: int, head: str, spell: Callable[[str], str]) -> list[str]:
        """Each fact once, below a head for those who learn it."""
        return tell(facts, len(self.study.parties), width, head, spell)


Decide = Callable[[ApprovalQuestion], Awaitable[bool]]
"""Shows a question and answers whether the party approves."""


def _spelled(errors: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Each error, with the number of columns in words."""
    for columns, error in errors.items():
        yield "1 column" if columns == "1" else f"{columns} columns", error


def _of_ours(published: int, withheld: int) -> str:
    """The lot of one's own rows, in words."""
    if not withheld:
        return f"; {published:,} of them are ours"
    return f"; of our {published + withheld:,} rows {published:,} are in it and {withheld:,} withheld"


def _meaning(diversity: str, diverse: float) -> str:
    """The meaning of l: what it says of a class, by the kind of diversity that the study asks for."""
    if diversity == "frequency":
        return f": at most 1 in {diverse:.3g} rows of a class have the same sensitive value"
    return ": so many different sensitive values" if diversity == "distinct" else ""


def _lines(pairs: Sequence[tuple[str, str]], width: int) -> list[str]:
    """A name and what is to be said on it, a line each."""
    return [wrapped(text, width, f"  {name:<{_LABEL}}", " " * (_LABEL + 2)) for name, text in pairs]


async def approve_always(question: ApprovalQuestion) -> bool:
    """The answer of a party that was started with --approve, and of simulations."""
    return True


def asking_on_terminal(place: str = "") -> Decide:
    """Asks on the terminal; `place` is the file with the full text."""

    async def ask(question: ApprovalQuestion) -> bool:
        """Raises Aborted, resumable, where there is no terminal or where it is closed."""
        if not sys.stdin.isatty():
            raise Aborted("the release must be approved, and there is no terminal to ask on" + LATER, resumable=True)
        sys.stderr.write(f"\n{question.screen(shutil.get_terminal_size().columns, place)}\n\n")
        while True:
            sys.stderr.write("Release it? [yes/no] ")
            sys.stderr.flush()
            answer = answered(await read_line(sys.stdin.fileno()))
            if answer is not None:
                return answer

    return ask


def answered(line: str) -> bool | None:
    """The answer in a line; None if it is neither yes nor no."""
    word = line.strip().lower()
    return True if word in _YES else False if word in _NO else None


async def read_line(descriptor: int) -> str:
    """A line from the terminal or a pipe, without blocking the heartbeats."""
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

    async def timed(question: ApprovalQuestion) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await decide(question)
        except TimeoutError:
            late = f"nobody answered within {seconds / 60:g} minutes whether to release"
            raise Aborted(late + LATER, resumable=True) from None

    return timed
