"""What a run costs: exactly, once its rounds are known; and estimated, from people who are drawn at random."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.crypto.group import POINT_BYTES
from covey.protocols.generalize import clear, leaks
from covey.protocols.generalize.hidden import due_tests
from covey.protocols.generalize.rounds import Round, encryptor_of
from covey.protocols.generalize.terms import MOST_ENCRYPTED, Terms
from covey.protocols.protocol import Forecast, Line
from covey.protocols.shared import columns
from covey.secure import align, approval, join, lists, match
from covey.secure.declare import Cost
from covey.study import Study
from covey.table import Table
from covey.wire import FRAME_BYTES, chunks

SMALL_BYTES = FRAME_BYTES + 48
"""Of a message with a number or two."""
VERDICT_BYTES = FRAME_BYTES + 84
_SAMPLE = 20_000
"""People of the table that is drawn at most."""
SECONDS_PER_POINT = 45e-6
"""Of encrypting a list, both parties' points together, on two cores."""


@dataclass
class Bill:
    """What was said so far, and each party's depth: the longest chain of messages that led to what it has read."""

    depth: dict[str, int]
    rounds: int = 0
    messages: int = 0
    bytes: int = 0

    @classmethod
    def among(cls, parties: Iterable[str]) -> Bill:
        """Nothing yet, among these parties."""
        return cls(dict.fromkeys(parties, 0))

    def exchange(self, *parties: str, messages: int, size: int) -> None:
        """These say something to each other at the same time; `messages` and `size` are of all of it."""
        before = {party: self.depth[party] + 1 for party in parties}
        for party in parties:
            heard = max(depth for other, depth in before.items() if other != party)
            self.depth[party] = max(self.depth[party], heard)
        self._add(max(before.values()), messages, size)

    def send(self, sender: str, to: str, messages: int, size: int) -> None:
        """One says something to another."""
        said = self.depth[sender] + 1
        self.depth[to] = max(self.depth[to], said)
        self._add(said, messages, size)

    def _add(self, depth: int, messages: int, size: int) -> None:
        self.rounds = max(self.rounds, depth)
        self.messages += messages
        self.bytes += size


def _listed(people: int, *groups: int) -> tuple[int, int]:
    """Messages and bytes of a list of people in groups, one for each number of groups."""
    messages = sum(chunks.messages(number) + lists.messages(people) for number in groups)
    return messages, sum(chunks.size(number) + lists.size(people) for number in groups)


def add_round(bill: Bill, terms: Terms, found: Round, *, last: bool) -> None:
    """One round: what the parties say of its shape, the comparison, and in a variant what follows it."""
    owners, people = terms.owners, found.people
    observer, partner = owners
    bill.exchange(*owners, messages=2, size=2 * SMALL_BYTES)
    match found.leaking:
        case "matrix":
            messages, size = _listed(people, *found.groups)
            bill.exchange(*owners, messages=messages, size=size)
            bill.exchange(*owners, messages=messages, size=size)
            bill.exchange(*owners, messages=2, size=2 * VERDICT_BYTES)
            if terms.variant == "finished-cells":
                bill.exchange(*owners, messages=2, size=2 * (SMALL_BYTES + people // 8))
        case "one-sided":
            messages, size = _listed(people, *found.groups)
            bill.exchange(*owners, messages=messages, size=size)
            bill.send(partner, observer, *_listed(people, found.groups[0]))
            bill.send(observer, partner, 1, VERDICT_BYTES)
        case "threshold":
            encryptor = encryptor_of(terms, found.groups)
            adder = partner if encryptor == observer else observer
            bits, tests = people * (min(found.groups) - 1), due_tests(people, min(found.groups), max(found.groups))
            bill.send(encryptor, adder, 1 + lists.messages(bits, 2), SMALL_BYTES + 32 + lists.size(bits, 2))
            marks = 2 * found.groups[0] * found.groups[1]
            bill.send(adder, encryptor, lists.messages(tests, 2), lists.size(tests, 2))
            bill.send(adder, encryptor, lists.messages(marks), lists.size(marks))
            asker, keyholder = sorted(owners)
            bill.send(asker, keyholder, match.COST.messages(1), match.COST.bytes(1))
            bill.send(keyholder, asker, 0, 0)
            bill.send(asker, keyholder, 0, 0)
    if terms.variant == "datafly" and not last:
        bill.exchange(*owners, messages=2, size=2 * SMALL_BYTES)


def of_rounds(terms: Terms, rounds: Sequence[Round]) -> Bill:
    """All rounds of a run."""
    bill = Bill.among(terms.owners)
    for number, found in enumerate(rounds, start=1):
        add_round(bill, terms, found, last=number == len(rounds))
    return bill


def of_run(
    study: Study,
    sizes: Mapping[str, int],
    common: int,
    rounds: Sequence[Round],
    released: int,
    lanes: Sequence[Sequence[Sequence[bytes]]],
) -> Bill:
    """A whole run: from each owner's number of ids to the rows released.

    `lanes` has, for each join, each owner's distinct rows, sorted, owners by name.
    """
    terms = Terms.of(study)
    parties = [party.name for party in study.parties]
    bill = Bill.among(parties)
    _add_alignment(bill, study, sizes, common)
    for number, found in enumerate(rounds, start=1):
        add_round(bill, terms, found, last=number == len(rounds))
    if terms.recipient is None:
        bill.exchange(*terms.owners, messages=2, size=2 * SMALL_BYTES)
    elif terms.variant == "finished-cells":
        for name in terms.owners:
            bill.send(name, terms.recipient, 1, SMALL_BYTES)
    _add_join(bill, terms, parties, released, lanes)
    return bill


def _add_alignment(bill: Bill, study: Study, sizes: Mapping[str, int], common: int) -> None:
    leader, member = columns.holders(study)
    ids = [sizes[leader], sizes[member]]
    bill.send(leader, member, align.COST.messages(ids, common), align.COST.bytes(ids, common))
    bill.send(member, leader, 0, 0)
    bill.send(leader, member, 0, 0)
    for other in (party.name for party in study.parties if not party.holds_data):
        bill.send(leader, other, 1, SMALL_BYTES)
        bill.send(member, other, 1, SMALL_BYTES)
    if study.mismatch == "abort":
        bill.exchange(leader, member, messages=2, size=2 * SMALL_BYTES)


def _add_join(
    bill: Bill, terms: Terms, parties: Sequence[str], released: int, lanes: Sequence[Sequence[Sequence[bytes]]]
) -> None:
    alone = terms.recipient is not None
    blend, opening = join.COST, join.OPENING_COST
    for _ in lanes:
        bill.exchange(*parties, messages=blend.messages(2, released, alone), size=blend.bytes(2, released, alone))
        bill.exchange(*terms.owners, messages=0, size=0)
        _show(bill, terms, 0, 0)
    votes = approval.COST
    bill.exchange(*parties, messages=votes.messages(len(parties)), size=votes.bytes(len(parties)))
    for books in lanes:
        _show(bill, terms, opening.messages(books, alone), opening.bytes(books, alone))


def _show(bill: Bill, terms: Terms, messages: int, size: int) -> None:
    """Both owners show something to whoever gets the release."""
    if terms.recipient is None:
        bill.exchange(*terms.owners, messages=messages, size=size)
        return
    bill.send(terms.observer, terms.recipient, messages, size)
    bill.send(terms.partner, terms.recipient, 0, 0)


COST = Cost(
    rounds=lambda terms, rounds: of_rounds(terms, rounds).rounds,
    messages=lambda terms, rounds: of_rounds(terms, rounds).messages,
    bytes=lambda terms, rounds: of_rounds(terms, rounds).bytes,
)
"""Of the rounds, once their shapes are known."""


_ALIGNED = ("asked", "answered", "store", "cells", "found", "tags")
_COMPARED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "matrix": (
        ("groups", "generalize.sizes"), ("groups", "generalize.grouped"), ("back", "generalize.resized"),
        ("back", "generalize.regrouped"), ("verdict", "generalize.verdict"),
    ),
    "threshold": (
        ("key", "generalize.key"), ("bits", "generalize.bits"), ("tests", "generalize.tests"),
        ("marks", "generalize.marks"),
        ("equal/ask", "match.ask"), ("equal/reply", "match.reply"), ("equal/result", "match.result"),
    ),
}  # fmt: skip


def script(study: Study) -> tuple[Line, ...]:
    """What may be said at which step, under the study's options."""
    terms = Terms.of(study)
    one, other = ("observer", "partner"), ("partner", "observer")
    lines = [Line("meet/align", f"align.{tag}") for tag in _ALIGNED]
    for pair in (one, other):
        lines.append(Line("round/*/shape", "generalize.shape", times=1, roles=pair))
        if study.mismatch == "abort":
            lines.append(Line("meet/complete", "columns.complete", times=1, roles=pair))
        if terms.leakage == "matrix":
            lines += [Line(f"round/*/{step}", tag, roles=pair) for step, tag in _COMPARED["matrix"]]
        if terms.leakage in ("auto", "threshold"):
            lines += [Line(f"round/*/{step}", tag, roles=pair) for step, tag in _COMPARED["threshold"]]
        if terms.leakage in ("auto", "one-sided"):
            there, back = _COMPARED["matrix"][:2], _COMPARED["matrix"][2:4]
            lines += [
                Line(f"round/*/{step}", tag, roles=pair) for step, tag in (there if pair == one else there + back)
            ]
        if terms.variant == "datafly":
            lines.append(Line("round/*/distinct", "generalize.distinct", times=1, roles=pair))
        if terms.variant == "finished-cells":
            lines.append(Line("round/*/done", "generalize.done", times=1, roles=pair))
        if terms.recipient is None:
            lines.append(Line("lost", "generalize.lost", times=1, roles=pair))
    if terms.leakage in ("auto", "one-sided"):
        lines.append(Line("round/*/verdict", "generalize.verdict", roles=one))
    for owner in leaks.OWNERS if terms.recipient is not None else ():
        lines.append(Line("meet/met", "columns.met", times=1, roles=(owner, "recipient")))
        if terms.variant == "finished-cells":
            lines.append(Line("left", "generalize.left", times=1, roles=(owner, "recipient")))
    lines += [Line("rows/join/*", f"join.{tag}") for tag in ("key", "passed", "blend")]
    lines += [Line("rows/open/*", "join.share"), Line("rows/open/*", "book.page")]
    return (*lines, Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES))


def compared(terms: Terms, course: clear.Course) -> list[Round]:
    """The rounds of a run in the clear, with how each would be compared."""
    finishing = terms.variant == "finished-cells"
    found = []
    for each in course.rounds:
        single = min(each.groups) == 1 and not finishing
        leaking = None if single else terms.leaking(each.people, min(each.groups))
        found.append(Round(each.people, each.groups, leaking))
    return found


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """About what a run costs, and what it teaches."""
    terms = Terms.of(study)
    fewest = min(rows.get(name, 0) for name in terms.owners)
    people = max(terms.k, fewest)
    rounds, classes = _drawn(study, terms, people)
    books = [_book(study, name, classes) for name in columns.holders(study)]
    lanes = [books] * max(1, len(columns.exact_holders(study)))
    bill = of_run(study, rows, people, rounds, people, lanes)
    learned = {}
    for party in study.parties:
        role = "recipient" if party.name == terms.recipient else leaks.OWNERS[terms.owners.index(party.name)]
        sentences = []
        if role != "recipient":
            sentences += [line.format(holders=2, leader=columns.holders(study)[0]) for line in columns.MEETING]
        for leakage, numbers in leaks.before(terms):
            sentences += leakage.sentences(role, **numbers)
        learned[party.name] = tuple(sentences)
    return Forecast(
        rounds=bill.rounds,
        messages=bill.messages,
        bytes=bill.bytes,
        seconds=1.0 + bill.bytes / POINT_BYTES * SECONDS_PER_POINT,
        learns=learned,
        mind=(*_too_few(terms, fewest), *_mind(terms, people, rounds)),
    )


def _drawn(study: Study, terms: Terms, people: int) -> tuple[list[Round], int]:
    """The rounds of a run on people whose values are drawn at random, all alike, and the classes at its end."""
    sample = min(people, _SAMPLE)
    if terms.k > sample:  # as many groups as of all people, each smaller
        study = replace(study, privacy=replace(study.privacy, k=max(2, terms.k * sample // people)))
        terms = Terms.of(study)
    tables = {}
    for place, name in enumerate(terms.owners):
        own = columns.quasi_columns(study, name)
        trees = tuple(column.tree() for column in own)
        random = np.random.default_rng(place + 1)
        codes = [random.integers(0, tree.leaves, sample, dtype=np.int32) for tree in trees]
        stacked = np.stack(codes) if codes else np.zeros((0, sample), dtype=np.int32)
        tables[name] = Table(study, own, trees, stacked, ())
    course = clear.follow(terms, tables)
    scaled = [replace(found, people=found.people * people // sample) for found in course.rounds]
    return compared(terms, replace(course, rounds=scaled)), int(course.label.max()) + 1


def _book(study: Study, name: str, classes: int) -> list[bytes]:
    """About what an owner's distinct rows take: a class's nodes, and its exact values where it has some."""
    exact = columns.exact_columns(study, name)
    listed = sum(len(column.values or ()) for column in exact)
    length = 3 + 3 * len(columns.quasi_columns(study, name)) + 12 * len(exact)
    return [number.to_bytes(4, "big") + bytes(max(0, length - 4)) for number in range(classes * max(1, listed))]


def _too_few(terms: Terms, fewest: int) -> tuple[str, ...]:
    if fewest >= terms.k:
        return ()
    return (f"a party has fewer than k = {terms.k:,} people: nothing would be released; the figures are for k of them",)


def _mind(terms: Terms, people: int, rounds: Sequence[Round]) -> tuple[str, ...]:
    """Which rounds hide what, and why."""
    lines = [
        "the rounds and their groups depend on the data: the figures are for people whose values are drawn at random",
    ]
    if terms.leakage == "auto":
        most = MOST_ENCRYPTED // people
        hides = sum(found.leaking == "threshold" for found in rounds)
        shows = sum(found.leaking == "one-sided" for found in rounds)
        lines.append(
            f'leakage = "auto" with {people:,} people: a round in which one party has at most {most:,} groups is '
            f"compared under encryption and shows nothing but whether the tables fit; with more groups that would "
            f"take too long, and the round is one-sided: {terms.observer} learns the counts. "
            f"Expected: {hides} hidden, {shows} one-sided, {len(rounds) - hides - shows} decided by a single group"
        )
    if terms.recipient is None:
        lines.append(
            "before anyone approves, both are told what the release will lose, and so the other party's part of it"
        )
    if terms.variant != "paper":
        lines.append(f'variant = "{terms.variant}" loses less and teaches more than the default "paper"')
    return tuple(lines)
