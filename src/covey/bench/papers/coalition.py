"""An attack on `collect` by peeling: the collector and some of the trustees put together all that they have seen.

They follow each respondent from its letters, which have a handle, through the permutations that they know, to a record
and its class; they look for shares that they have seen before; and they put their shares together. With fewer than half
of the trustees one pass of every shuffle is missing to them, shares after it are new, and too few shares say nothing.
With more than half everything is known: that shows that the attack works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto import sharing
from covey.crypto.rng import Rng, derive
from covey.crypto.scalar_field import FQ
from covey.crypto.secret import Secret
from covey.party.simulate.respondents import Survey
from covey.party.simulate.stage import to_its_end
from covey.protocols import of_study
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.messages import Asked
from covey.protocols.collect_peel.parameters import hub_of
from covey.protocols.collect_peel.peeling import TrusteePeeling, TrusteeState
from covey.protocols.collect_peel.trustee import Serving, checked
from covey.protocols.protocol import Result, Role, Seat
from covey.secure.equals.trustees import Trustees
from covey.study import Study
from covey.study.study import Party
from covey.table import Table
from covey.wire import Channel

NAMES = ("ethics-board", "patients", "press", "school", "university")


@dataclass
class TrusteeView:
    """All that a trustee saw which the attack uses; the collector saw no more of it."""

    handles: list[str] = field(default_factory=list)
    """The board, in its order."""
    letters: list[Words | None] = field(default_factory=list)
    """Its shares of each answer."""
    orders: dict[tuple[str, ...], Longs] = field(default_factory=dict)
    """The permutations of the first shuffle by group, of the groups that it is in."""
    records: Words = field(default_factory=lambda: np.zeros((0, 0), dtype=object))
    """Its shares of the records after that shuffle."""
    klass: Longs = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Each record's class."""


@dataclass
class Curious(Serving):
    """A trustee that keeps to the protocol and writes down what it sees."""

    view: TrusteeView = field(default_factory=TrusteeView)

    async def _board(self) -> tuple[list[str], list[Words | None], bytes]:
        handles, read, board = await super()._board()
        self.view.handles, self.view.letters = handles, read
        return handles, read, board

    async def _begin(self, private: Channel, trustees: Trustees) -> tuple[TrusteePeeling, TrusteeState]:
        peeling, state = await super()._begin(private, trustees)
        self.view.records, seeds = peeling.records, peeling.counter.shuffler.seeds
        for number, group in enumerate(trustees.groups):
            if group in seeds:
                step = private.at("begin").at("first").at("pass", number).step
                stream = Rng(derive(seeds[group], private.session, step)).stream("order")
                self.view.orders[group] = stream.permutation(len(peeling.records))
        return peeling, state

    async def _publish(self, private: Channel, peeling: TrusteePeeling, state: TrusteeState) -> None:
        self.view.klass = state.klass
        await super()._publish(private, peeling, state)


@dataclass(frozen=True)
class WatchedRun:
    """A run of which every trustee wrote down what it saw."""

    trustees: Trustees
    views: Mapping[str, TrusteeView]
    answers: Mapping[str, list[int]]
    """Everyone's record, by handle."""

    @cached_property
    def truth(self) -> Longs:
        """Each respondent's class, from the records behind all trustees' shares: equal records are in one class."""
        shares = {self.trustees.places[name]: view.records.ravel() for name, view in self.views.items()}
        width = len(next(iter(self.answers.values())))
        opened = sharing.reveal(shares, self.trustees.degree, FQ).reshape(-1, width).tolist()
        view = self.views[self.trustees.names[0]]
        classes = {tuple(record): klass for record, klass in zip(opened, view.klass.tolist(), strict=True)}
        return np.array([classes[tuple(self.answers[handle])] for handle in view.handles], dtype=np.int64)

    @property
    def largest(self) -> float:
        """The part of the respondents in the largest class: the best guess from the release alone."""
        return float(np.unique(self.truth, return_counts=True)[1].max() / len(self.answers))

    def guessed(self, coalition: Sequence[str]) -> float:
        """The part of the respondents whose class these trustees, with the collector, tell right."""
        return float(np.mean(self._classes(coalition) == self.truth))

    def linked(self, coalition: Sequence[str]) -> float:
        """The part of the respondents of whom they find a share among those of the records."""
        found = np.zeros(len(self.answers), dtype=np.bool_)
        for name in coalition:
            view = self.views[name]
            seen = {int(number) for number in view.records.ravel()}
            found |= [own is not None and any(int(number) in seen for number in own) for own in view.letters]
        return float(np.mean(found))

    def read(self, coalition: Sequence[str]) -> float:
        """The part of the respondents whose answer they can put together from their shares."""
        own = {self.trustees.places[name]: self.views[name].letters for name in coalition}
        right = []
        for place, handle in enumerate(next(iter(self.views.values())).handles):
            shares = {at: shown for at, each in own.items() if (shown := each[place]) is not None}
            told = sharing.extend(shares, [0], FQ)[0].tolist()
            right.append(told == self.answers[handle])
        return float(np.mean(right))

    def _classes(self, coalition: Sequence[str]) -> Longs:
        """The class that each respondent seems to be in, to who knows these trustees' permutations alone."""
        known = {group: order for name in coalition for group, order in self.views[name].orders.items()}
        count = len(self.answers)
        origin: Longs = np.arange(count)
        for group in self.trustees.groups:
            origin = origin[known.get(group, np.arange(count))]
        found = np.empty(count, dtype=np.int64)
        found[origin] = self.views[coalition[0]].klass
        return found


def watch(study: Study, table: Table, seed: Secret, trustees: int = 3) -> WatchedRun:
    """Runs a study, with so many trustees of its own, among the people of a table."""
    names = NAMES[:trustees]
    named = replace(study, parties=(*study.parties, *(Party(name, role="trustee") for name in names)))
    protocol, views = of_study(named), {name: TrusteeView() for name in names}

    watched = replace(protocol, roles={**protocol.roles, "trustee": _curious(views)})
    survey = Survey.prepare(named, watched, table, seed, lambda snapshot: None)
    to_its_end(survey.run())
    layout = RecordLayout.of(survey.study)
    answers = {handle: layout.spell(row) for handle, row in survey.rows.items()}
    return WatchedRun(Trustees.of(names, names[0]), views, answers)


def _curious(views: Mapping[str, TrusteeView]) -> Role:
    async def trustee(seat: Seat) -> Result:
        hub = hub_of(seat.study)
        keys = checked(seat, hub, await seat.channel.at("asked").receive(hub, Asked))
        if seat.letters is None or seat.letters.own is None:
            raise TypeError("a trustee needs a key for letters")
        await Curious(seat, hub, seat.letters.own, keys, view=views[seat.party]).serve()
        return Result()

    return trustee
