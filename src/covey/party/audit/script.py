"""Are these the messages that the protocol declares: in type, step, number, order and size?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise

from covey.party.record.transcript import Entry as Message
from covey.protocols import Line, Protocol
from covey.protocols.shared.columns import recognition
from covey.secure import row_counts
from covey.study import Study
from covey.wire import FRAME_BYTES

TOLERANCE = 0.02
_KEYS = Line("keys", "covey.public-key", times=1, size=FRAME_BYTES + 61)
_KEYS_OF_PEOPLE = replace(_KEYS, times=None)
"""People who enrol have them in a simulation, where all are there at once."""
_ROWS = Line(row_counts.STEP, row_counts.TAG, size=row_counts.MESSAGE_BYTES)
_RECOGNITION = Line(recognition.STEP, recognition.TAG, size=recognition.MESSAGE_BYTES)
Place = tuple[str, str, str]
"""Sender, recipient, step."""


def strays(study: Study, protocol: Protocol, messages: Iterable[Message], *, finished: bool) -> list[str]:
    """The places, in sentences, where the messages of some directed pairs are not as declared.

    In a run that ended early, messages may be missing, but none may be too many or out of place.
    """
    by_place: dict[Place, list[Message]] = defaultdict(list)
    for message in messages:
        by_place[message.sender, message.recipient, message.step].append(message)
    found = [sentence for place, said in by_place.items() for sentence in _out_of_order(place, said)]
    declared = None if protocol.script is None else protocol.script(study)
    if declared is None:
        return found
    lines = (
        _KEYS_OF_PEOPLE if study.enrols else _KEYS,
        *((_ROWS,) if study.states_rows else ()),
        *((_RECOGNITION,) if recognition.owners(study) else ()),
        *declared,
    )
    for place, said in sorted(by_place.items()):
        found += _undeclared(study, protocol, lines, place, said, finished)
    if finished:
        found += _missing(study, protocol, lines, by_place)
    return found


def _out_of_order(place: Place, said: list[Message]) -> list[str]:
    ordered = sorted(said, key=lambda message: message.number)
    where = _where(place)
    if [message.number + 1 for message in ordered] != [*accumulate(message.messages for message in ordered)]:
        return [f"{where}: messages are missing or repeated"]
    if any(earlier.depth > later.depth for earlier, later in pairwise(ordered)):
        return [f"{where}: messages are out of order"]
    return []


def _undeclared(
    study: Study, protocol: Protocol, lines: tuple[Line, ...], place: Place, said: list[Message], finished: bool
) -> list[str]:
    where = _where(place)
    matching = [line for line in lines if _fits(study, protocol, line, place)]
    found = []
    for message in said:
        if not any(line.tag == message.tag for line in matching):
            found.append(f"{where}: the protocol declares no {message.tag!r} there")
        elif not any(line.tag == message.tag and _is_sized(line, message.size / message.messages) for line in matching):
            found.append(f"{where}: a {message.tag!r} of {message.size} bytes is not of the declared size")
    for line in matching:
        times = sum(message.messages for message in said if message.tag == line.tag)
        if line.times is not None and (times > line.times or (finished and times != line.times)):
            found.append(f"{where}: {times} messages {line.tag!r}, the protocol declares {line.times}")
    return found


def _missing(
    study: Study, protocol: Protocol, lines: tuple[Line, ...], by_place: Mapping[Place, list[Message]]
) -> list[str]:
    """Steps that are declared without a star, and at which a pair that is in the transcript said nothing."""
    pairs = {(sender, recipient) for sender, recipient, _ in by_place}
    return [
        f"{_where((*pair, line.step))}: {line.tag!r} is missing"
        for line in lines
        if line.times and "*" not in line.step
        for pair in sorted(pairs)
        if (*pair, line.step) not in by_place and _fits(study, protocol, line, (*pair, line.step))
    ]


def _fits(study: Study, protocol: Protocol, line: Line, place: Place) -> bool:
    sender, recipient, step = place
    if not fnmatchcase(step, line.step) or step.count("/") != line.step.count("/"):
        return False
    return line.roles is None or line.roles == (
        protocol.role_name(study, sender),
        protocol.role_name(study, recipient),
    )


def _is_sized(line: Line, size: float) -> bool:
    return line.size is None or abs(size - line.size) <= TOLERANCE * line.size


def _where(place: Place) -> str:
    sender, recipient, step = place
    return f"from {sender!r} to {recipient!r} at {step or 'the start'}"
