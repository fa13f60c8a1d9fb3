"""Visits: at each lattice node of the list, in turn, people whom k or more are alike there become classes, and leave.

A window of several nodes is asked about at once, as if each were the first. Holders then take its groups in the order
of the list and drop from each whoever has left; a group that falls below k is not published. So each window publishes
what visits one by one would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.secret import Secret
from covey.protocols.peel_columns import asking
from covey.protocols.peel_columns.asking import Due, HolderVisit
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.peel_columns.tags import visit_seed
from covey.table import Table, group
from covey.wire import Channel


@dataclass
class HolderPeeling:
    """A holder's state of a run: who is in which class, and its own labels of each class."""

    params: Parameters
    table: Table
    levels: Ints
    """The nodes of the list, in this holder's own columns (nodes x columns)."""
    secret: Secret
    """The secret of all holders, which the evaluator does not know."""
    own: Secret
    """A secret of this holder alone, with which it hashes its columns."""
    label: Longs = field(init=False)
    """Each person's class, or -1 while it is in play."""
    boxes: list[Ints] = field(default_factory=list)
    visits: int = 0
    people: int = 0
    """In play, all visits together."""
    unpublished: int = 0
    """Groups of k or more when their window began that fell below k."""

    def __post_init__(self) -> None:
        self.label = np.full(self.table.rows, -1, dtype=np.int64)

    @property
    def left(self) -> Longs:
        """The people in play."""
        return np.flatnonzero(self.label < 0)

    def digest(self) -> bytes:
        """The hash of everyone's class."""
        return hashlib.sha256(b"covey peel classes/1" + self.label.astype("<i8").tobytes()).digest()

    async def run(self, channel: Channel, reach: Callable[[int], None]) -> None:
        """Visits all nodes of the list, until fewer than k people remain."""
        position, turn, people = 0, 0, self.left
        while position < len(self.levels) and len(people) >= self.params.k:
            window = self.levels[position : position + self.params.window]
            parts = [self._parts(levels, people) for levels in window]
            visits = [
                HolderVisit(
                    seed=visit_seed(self.secret, "node", position + place),
                    own=visit_seed(self.own, "node", position + place),
                    layers=self._layers(own, people),
                )
                for place, own in enumerate(parts)
            ]
            with channel.at(turn) as at:
                found = await asking.ask(at, self.params, visits, len(people), self.params.k, turn)
                for own, groups in zip(parts, found, strict=True):
                    self._check(at, own, people, groups)
                    self._publish(own, people, groups)
            self.visits += len(window)
            self.people += len(window) * len(people)
            position, turn, people = position + len(window), turn + 1, self.left
            reach(position)
        if channel.me == self.params.leader:
            await channel.at(turn).send(self.params.evaluator, Due(0, 0))

    def _parts(self, levels: Ints, people: Longs) -> list[Ints]:
        """Our part of everyone's tuple at these levels."""
        columns = zip(self.table.trees, levels.tolist(), self.table.codes, strict=True)
        return [tree.up[level][codes[people]] for tree, level, codes in columns]

    def _layers(self, parts: Sequence[Ints], people: Longs) -> list[Sequence[Ints]]:
        """The tuples, and the tuples with each sensitive value, which its owner takes for one more column."""
        values = (self._values(column, people) for column in self.params.watched)
        return [parts, *([*parts, codes] if codes is not None else parts for codes in values)]

    def _values(self, column: str, people: Longs) -> Ints | None:
        """The sensitive values of these people; None where they are another holder's."""
        held = next((values for values in self.table.carried if values.column.name == column), None)
        return None if held is None else held.codes[people]

    def _check(self, channel: Channel, parts: Sequence[Ints], people: Longs, groups: Sequence[Longs]) -> None:
        """Raises PeerError unless each group is alike in our columns, and keeps l in our sensitive ones."""
        if not groups:
            return
        members = np.concatenate(groups)
        number = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
        ours, _ = group([*parts], len(people))
        starts = np.cumsum([0, *(len(each) for each in groups[:-1])])
        reason = ""
        if (ours[members] != ours[members][starts][number]).any():
            reason = "people of one group differ in our columns"
        for column in self.params.watched:
            codes = self._values(column, people[members])
            if codes is not None and self.params.rule is not None:
                kept = self.params.rule.kept(number, codes.astype(np.int64), len(groups))
                reason = reason or ("" if kept.all() else "a group does not keep l in our columns")
        if reason:
            raise channel.refusal(self.params.evaluator, f"{reason}: it, or a holder, did not keep to the protocol")

    def _publish(self, parts: Sequence[Ints], people: Longs, groups: Sequence[Longs]) -> None:
        """Makes classes of the groups that still have k people."""
        for members in groups:
            still = members[self.label[people[members]] < 0]
            if len(still) < self.params.k:
                self.unpublished += 1
                continue
            self.label[people[still]] = len(self.boxes)
            self.boxes.append(np.array([part[still[0]] for part in parts], dtype=np.int32))


@dataclass
class EvaluatorCount:
    """The evaluator's count of what it saw."""

    visits: int = 0
    people: int = 0
    """Summed over visits."""


async def evaluate(channel: Channel, params: Parameters, people: int) -> EvaluatorCount:
    """The evaluator's part of all visits, until the leader says that they are over."""
    seen, turn, most = EvaluatorCount(), 0, Due(people, params.window)
    while True:
        with channel.at(turn) as at:
            due = await asking.receive_due(at, params, most)
            if not due.people or not due.visits:
                return seen
            await asking.answer(at, params, due, params.k, turn, 1 + len(params.watched))
        seen.visits += due.visits
        seen.people += due.people * due.visits
        most, turn = Due(due.people, params.window), turn + 1
