"""A run as a sequence of messages, counted: what it costs follows from what was public on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Longs
from covey.protocols.federate import comparison, largest
from covey.protocols.federate.comparison import HIDING
from covey.protocols.federate.finish import CHUNK, READY_BYTES
from covey.protocols.federate.groups import Division, GroupTurn
from covey.protocols.federate.pair import BIT_KEY_BYTES, NUMBER_KEY_BYTES
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.said import RANGE_BITS, SCORE_BITS, room_for, tests_of, width_of
from covey.secure import approval, ciphers, lists
from covey.wire import FRAME_BYTES, chunks

VECTOR_BYTES = FRAME_BYTES + 40


@dataclass
class Course:
    """Who knows of how long a chain of messages, and how many there were."""

    depth: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    messages: int = 0
    bytes: int = 0

    def say(self, sender: str, to: str, messages: int, size: int) -> None:
        """Messages that somebody sends, and the other waits for."""
        if messages:
            self._count(messages, size)
            self._hear(to, self.depth.get(sender, 0) + 1)

    def exchange(self, names: Sequence[str], size: int, messages: int = 1) -> None:
        """The same among all of these at once."""
        said = {name: self.depth.get(name, 0) + 1 for name in names}
        for sender in names:
            for to in names:
                if to != sender:
                    self._count(messages, size)
                    self._hear(to, said[sender])

    def fork(self) -> Course:
        """Something that goes on beside."""
        return Course(dict(self.depth))

    def join(self, parts: Sequence[Course]) -> None:
        """What went on beside is over."""
        for part in parts:
            self._count(part.messages, part.bytes)
            for name, depth in part.depth.items():
                self._hear(name, depth)

    def _hear(self, name: str, depth: int) -> None:
        self.depth[name] = max(self.depth.get(name, 0), depth)
        self.rounds = max(self.rounds, depth)

    def _count(self, messages: int, size: int) -> None:
        self.messages += messages
        self.bytes += size


def follow(params: Parameters, division: Division, label_bytes: int) -> Course:
    """A run on the level schedule; the labels that reach the recipient take so many bytes."""
    both = (params.first, params.second)
    course, population = Course(), len(params.population)
    course.exchange(both, BIT_KEY_BYTES)
    course.exchange(both, NUMBER_KEY_BYTES + params.bits // 4)
    course.exchange(both, ciphers.size(population, params.bits), ciphers.messages(population, params.bits))
    _tests(course, params, both, [population], tests_of(params))
    for steps in division.levels:
        _level(course, params, steps)
    for tested in division.merged:
        _tests(course, params, both[::-1], tested, params.width)
    _release(course, params, division, label_bytes)
    return course


def _level(course: Course, params: Parameters, steps: Sequence[GroupTurn]) -> None:
    both = (params.first, params.second)
    _less(course, both[::-1], np.full(len(steps), RANGE_BITS, dtype=np.int64))
    course.exchange(both, comparison.flags_size(len(steps)))
    parts = [course.fork(), course.fork()]
    for part, names, mine in zip(parts, (both, both[::-1]), (True, False), strict=True):
        _cuts(part, params, names, [step for step in steps if step.first_divides is mine])
    course.join(parts)


def _cuts(course: Course, params: Parameters, names: tuple[str, str], steps: Sequence[GroupTurn]) -> None:
    """What the first of these names divides."""
    if not steps:
        return
    divider, other = names
    cuts = [step.candidates for step in steps]
    asked = 0 if params.alpha == 1 else sum(cuts)
    course.say(divider, other, 1, VECTOR_BYTES + 8 * (len(steps) + asked))
    if asked:
        packs = -(-asked // ((params.bits - 1) // room_for([step.size for step in steps])))
        course.say(divider, other, ciphers.messages(packs, params.bits), ciphers.size(packs, params.bits))
        course.say(other, divider, ciphers.messages(asked, params.bits), ciphers.size(asked, params.bits))
        for count in largest.matches([count for count in cuts if count]):
            _signs(course, params, names, np.full(count, SCORE_BITS, dtype=np.int64))
            course.say(other, divider, 1, comparison.flags_size(count))
    _tests(course, params, names, [step.size for step in steps if step.candidates], 2 * tests_of(params))
    members = sum(step.size for step in steps if step.split)
    course.say(divider, other, int(members > 0), VECTOR_BYTES + 8 * -(-members // 64))


def _tests(course: Course, params: Parameters, names: tuple[str, str], sizes: Sequence[int], together: int) -> None:
    """Some tests in each group of these sizes, which the first of these names asks for."""
    if not sizes:
        return
    asker, reader = names
    count = len(sizes) * together
    _signs(course, params, names, np.repeat([width_of(params, size) for size in sizes], together))
    course.say(reader, asker, lists.messages(count, 2), lists.size(count, 2))
    course.say(asker, reader, lists.messages(len(sizes), 2), lists.size(len(sizes), 2))
    course.say(reader, asker, 1, comparison.flags_size(len(sizes)))


def _signs(course: Course, params: Parameters, names: tuple[str, str], widths: Longs) -> None:
    packs = comparison.packs(widths, params.bits)
    course.say(*names, ciphers.messages(packs, params.bits), ciphers.size(packs, params.bits))
    _less(course, names, widths)


def _less(course: Course, names: tuple[str, str], widths: Longs) -> None:
    asker, reader = names
    digits, answers = int(widths.sum()), int(widths.sum()) + len(widths)
    course.say(reader, asker, lists.messages(digits, 2), lists.size(digits, 2))
    course.say(asker, reader, lists.messages(answers, 2), lists.size(answers, 2))


def _release(course: Course, params: Parameters, division: Division, label_bytes: int) -> None:
    first, second, recipient = params.first, params.second, params.recipient
    classes = len(division.leaves)
    numbers = classes * params.width
    room = room_for([len(group.members) for group in division.leaves]) + HIDING + 1
    packs = -(-numbers // ((params.bits - 1) // room))
    for provider in (first, second):
        course.say(provider, recipient, 1, READY_BYTES)
    course.exchange((first, second, recipient), approval.MESSAGE_BYTES)
    course.say(first, second, 1, VECTOR_BYTES + 8 * classes)
    course.say(second, first, ciphers.messages(packs, params.bits), ciphers.size(packs, params.bits))
    for provider in (first, second):
        course.say(provider, recipient, chunks.messages(numbers), chunks.size(numbers))
        boxes = -(-classes // CHUNK)
        course.say(provider, recipient, boxes, boxes * VECTOR_BYTES + label_bytes // 2)
