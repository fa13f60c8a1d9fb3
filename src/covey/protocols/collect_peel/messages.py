"""The messages between collector, trustees and respondents, besides the letters themselves."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from covey.protocols.collect_peel.letters import Sealed
from covey.wire import Bytes32, Count, Message, Name, Vector

MOST_TRUSTEES = 5
PER_PAGE = 4096
Trustees = Annotated[list[Name], Meta(max_length=MOST_TRUSTEES)]


class TrusteeKey(Message, tag="collect.letter-key"):
    """The key for letters of a respondent who may be drawn as a trustee."""

    key: Bytes32


class Asked(Message, tag="collect.asked"):
    """The trustees and their keys for letters, in the order of their names."""

    trustees: Trustees
    keys: Annotated[list[Bytes32], Meta(max_length=MOST_TRUSTEES)]


class BoardHead(Message, tag="collect.board"):
    """The number of answers on the board."""

    answers: Count


class BoardPage(Message, tag="collect.page"):
    """Answers on the board: handles, the hashes of each one's letters, and the letters to the reader."""

    handles: Annotated[list[Name], Meta(max_length=PER_PAGE)]
    digests: Annotated[list[Bytes32], Meta(max_length=PER_PAGE * MOST_TRUSTEES)]
    letters: Annotated[list[Sealed], Meta(max_length=PER_PAGE)]


class TrusteeFindings(Message, tag="collect.found"):
    """The trustees' findings before any value is opened: who was left out, and the classes' labels and sizes."""

    left_out: Annotated[list[Name], Meta(max_length=1 << 24)]
    records: Count
    boxes: Vector
    sizes: Vector


class Approved(Message, tag="collect.approved"):
    """The collector agrees to the release: the values may be opened. Said again once it has the rows of everyone."""


class Published(Message, tag="collect.published"):
    """The rows of the release: the class of each, and the cells column after column."""

    klass: Vector
    cells: dict[str, list[str]]
