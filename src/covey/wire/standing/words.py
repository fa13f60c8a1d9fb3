"""The words of a collector and a respondent: what they say to each other beside the letters of the protocol."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from covey.wire.message import Bytes32, Bytes64, Name

VERSION = 1

Text = Annotated[str, Meta(max_length=500)]
Digests = Annotated[list[Bytes32], Meta(max_length=30_000)]


class Word(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="word"):
    """One word."""


VersionNumber = Annotated[int, Meta(ge=1, lt=1 << 32)]
"""A protocol's version, as the speaker has it."""


class SignedKey(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A trustee's key for the letters of one collection, with its signature."""

    trustee: Name
    key: Bytes32
    signature: Bytes64


class Hello(Word, frozen=True, tag="hello", omit_defaults=True):
    """The collector's first word; a caller without a certificate hears no handle and nothing of study and protocol."""

    version: int
    software: Name
    study: Bytes32
    handle: Annotated[str, Meta(max_length=64)]
    nonce: Bytes32
    protocol: VersionNumber = 1
    keys: Annotated[list[SignedKey], Meta(max_length=3)] = []
    """Those of the trustees who have come so far."""


class Enrol(Word, frozen=True, tag="enrol"):
    """A caller's invitation, and its proof that it holds the key of this certificate."""

    secret: Annotated[bytes, Meta(min_length=16, max_length=16)]
    certificate: Annotated[bytes, Meta(min_length=1, max_length=4096)]
    study: Bytes32
    signature: Bytes64


class Enrolled(Word, frozen=True, tag="enrolled"):
    """The handle by which the caller is known from now on, beside its certificate."""

    handle: Name


class Refused(Word, frozen=True, tag="refused"):
    """The collector's refusal to go on with the caller; `final` if trying again is of no use."""

    why: Text
    final: bool


class Ready(Word, frozen=True, tag="ready"):
    """A respondent's word that it has answers and consent on its disk, and takes part."""

    study: Bytes32
    software: Name
    protocol: VersionNumber = 1


class Serve(Word, frozen=True, tag="serve"):
    """A trustee's word that it stays, and the key to which letters are sealed."""

    study: Bytes32
    software: Name
    key: Bytes32
    signature: Bytes64
    protocol: VersionNumber = 1


class Meet(Word, frozen=True, tag="meet"):
    """The collector's word that all trustees are here: from now on frames among them are carried."""

    keys: Annotated[list[SignedKey], Meta(min_length=3, max_length=3)]


class Done(Word, frozen=True, tag="done"):
    """A trustee's word that it has written down what the run leaves, and needs nobody any more."""


class Deliver(Word, frozen=True, tag="deliver"):
    """A respondent's answer, sealed, where it need not be there when the answers are evaluated."""

    study: Bytes32
    software: Name
    content: Annotated[bytes, Meta(min_length=1, max_length=1 << 18)]
    protocol: VersionNumber = 1


class Delivered(Word, frozen=True, tag="delivered"):
    """The receipt: the board's line for the answer, signed by the collector."""

    line: Bytes32
    signature: Bytes64


class Waiting(Word, frozen=True, tag="waiting"):
    """The collector has noted it, and the collection has not begun."""

    ready: int
    quorum: int
    closes: int
    """The second since 1970; 0 if there is no closing time."""


class Begin(Word, frozen=True, tag="begin"):
    """A session that is under way with the respondent in it, and the respondent's letters that the collector has."""

    session: Bytes32
    attempt: int
    members: int
    have: Digests


class Have(Word, frozen=True, tag="have"):
    """The answer: the collector's letters that the respondent has."""

    session: Bytes32
    have: Digests


class Ack(Word, frozen=True, tag="ack"):
    """Letters that are on the sender's disk."""

    digests: Digests


class Over(Word, frozen=True, tag="over"):
    """The end of the collection for this respondent."""

    how: Literal["finished", "left", "ended"]
    why: Text


class Leave(Word, frozen=True, tag="leave"):
    """A respondent's word that it cannot or will not go on."""

    why: Text


Said: TypeAlias = (
    Hello
    | Enrol
    | Enrolled
    | Refused
    | Ready
    | Serve
    | Meet
    | Done
    | Deliver
    | Delivered
    | Waiting
    | Begin
    | Have
    | Ack
    | Over
    | Leave
)
