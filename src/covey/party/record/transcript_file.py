"""transcript.jsonl: one line per message, its pair's chain beside it, signed as a whole by the party whose it is.

    session     what the session follows from, and everyone's signature on it
    message     from, to, step, type, number, depth, size, hash, and the chain up to here; where the run ended before
                the closing, also the sender's signature on what we read; a stretch of messages has one line, with
                their number, the size of all, and the head of the step as its hash
    head        a directed pair's chain, signed by the sender; unsigned where the run ended before the closing
    state       a state that a run on shares kept: the hashes of what this party and each neighbour have of it, keyed
    files       the hashes of what else the run left in the folder
    signature   this party's, on everything above

There is one way to spell each line, so that a changed byte is found even where it would mean the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from covey import bounds
from covey.errors import InputError, Unmet
from covey.files import read_bytes
from covey.party.record.run_record import RunRecord
from covey.party.record.transcript import Entry, Pair, Transcript, chain
from covey.protocols import spoken
from covey.study import Study

Hex32 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Hex64 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{128}$")]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line"):
    pass


class SessionLine(_Row, frozen=True, tag="session", omit_defaults=True):
    """The values that the session follows from."""

    party: str
    study: str
    study_hash: str
    roster_hash: str
    protocol: str
    session: Hex32
    commitments: dict[str, Hex32]
    nonces: dict[str, Hex32]
    confirmed: dict[str, Hex64]
    protocol_version: int = 1
    """Left out where it is 1, as version 0.1.0 did."""


class Said(_Row, frozen=True, tag="message", omit_defaults=True):
    """One message."""

    sender: str = msgspec.field(name="from")
    to: str
    step: str
    type: str
    number: int
    depth: int
    size: int
    sha256: Hex32
    chain: Hex32
    signature: Hex64 | None = None
    messages: int = 1

    @property
    def entry(self) -> Entry:
        """The message as a transcript has it."""
        digest, signature = bytes.fromhex(self.sha256), bytes.fromhex(self.signature or "")
        address = self.sender, self.to, self.step, self.type, self.number, self.depth
        return Entry(*address, self.size, digest, signature, self.messages)


class PairHead(_Row, frozen=True, tag="head"):
    """All messages of a directed pair."""

    sender: str = msgspec.field(name="from")
    to: str
    messages: int
    bytes: int
    head: Hex32
    signature: Hex64 | None


class StateLine(_Row, frozen=True, tag="state"):
    """A state that was kept."""

    number: int
    attempt: int
    sha256: dict[str, Hex32]


class Files(_Row, frozen=True, tag="files"):
    """The other files of the run, and how it ended."""

    outcome: str
    sha256: dict[str, Hex32]


class Signature(_Row, frozen=True, tag="signature"):
    """The party's signature on all lines before."""

    party: str
    signature: Hex64


Row = SessionLine | Said | PairHead | StateLine | Files | Signature
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Row)


@dataclass(frozen=True)
class ReadTranscript:
    """A transcript as its file has it."""

    session: SessionLine
    said: tuple[Said, ...]
    heads: tuple[PairHead, ...]
    states: tuple[StateLine, ...]
    files: Files
    signature: Signature
    signed: bytes

    @property
    def transcript(self) -> Transcript:
        """Its messages by pair."""
        found = Transcript()
        for row in self.said:
            found.entries.setdefault((row.sender, row.to), []).append(row.entry)
        return found


def spell(
    study: Study,
    party: str,
    record: RunRecord,
    outcome: str,
    files: Mapping[str, bytes],
    sign: Callable[[bytes], bytes],
) -> bytes:
    """The file's content; `files` are the others that the run leaves, by name."""
    agreement = record.agreement
    if agreement is None:
        raise InputError("no session has begun: there is no transcript to write")
    rows: list[Row] = [
        SessionLine(
            party=party,
            study=study.name,
            study_hash=study.study_hash,
            roster_hash=study.roster_hash,
            protocol=study.protocol or "",
            session=agreement.digest.hex(),
            commitments=_hex(agreement.commitments),
            nonces=_hex(agreement.nonces),
            confirmed=_hex(agreement.confirmed),
            protocol_version=spoken(study).number,
        )
    ]
    peers = sorted({*agreement.nonces, *(name for pair in record.transcript.entries for name in pair)} - {party})
    pairs = [pair for peer in peers for pair in ((party, peer), (peer, party))]
    for pair in pairs:
        rows += _messages(record.transcript, agreement.session, pair, signed=record.closed is None and pair[1] == party)
    for pair in pairs:
        rows.append(_head(study, record, agreement.session, pair, party, sign))
    rows += [StateLine(mark.number, mark.attempt, _hex(mark.hashes)) for mark in record.marks]
    rows.append(Files(outcome, {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}))
    body = b"".join(_ENCODER.encode(row) + b"\n" for row in rows)
    return body + _ENCODER.encode(Signature(party, sign(statement(body)).hex())) + b"\n"


def statement(body: bytes) -> bytes:
    """The bytes that the party signs."""
    return b"covey transcript file/1 " + hashlib.sha256(body).digest()


def read(path: Path) -> ReadTranscript:
    """The transcript in a file. Raises InputError if there is none, Unmet if a line is not as it was written."""
    content = read_bytes(path, "name the folder of a run", bound=bounds.long_record)
    lines = content.split(b"\n")
    rows: list[Row] = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            row = _DECODER.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise Unmet(f"{path}: was altered in line {number}: it is no line of a transcript") from None
        if _ENCODER.encode(row) != line:
            raise Unmet(f"{path}: was altered in line {number}: it is not spelled as it was written")
        rows.append(row)
    if lines[-1] or len(rows) < 3:
        raise Unmet(f"{path}: was altered: its end is missing or has something behind it")
    first, *middle, files, last = rows
    said = tuple(row for row in middle if isinstance(row, Said))
    heads = tuple(row for row in middle if isinstance(row, PairHead))
    states = tuple(row for row in middle if isinstance(row, StateLine))
    if (
        not isinstance(first, SessionLine)
        or not isinstance(files, Files)
        or not isinstance(last, Signature)
        or (*said, *heads, *states) != tuple(middle)
    ):
        raise Unmet(f"{path}: was altered: its lines are not in their order")
    return ReadTranscript(first, said, heads, states, files, last, content[: -len(lines[-2]) - 1])


def _messages(transcript: Transcript, session: bytes, pair: Pair, *, signed: bool) -> list[Row]:
    lines = transcript.ordered(pair)
    return [
        Said(
            sender=line.sender,
            to=line.recipient,
            step=line.step,
            type=line.tag,
            number=line.number,
            depth=line.depth,
            size=line.size,
            sha256=line.digest.hex(),
            chain=value.hex(),
            signature=line.signature.hex() if signed and any(line.signature) else None,
            messages=line.messages,
        )
        for line, value in zip(lines, chain(session, pair, lines), strict=True)
    ]


def _head(
    study: Study, record: RunRecord, session: bytes, pair: Pair, party: str, sign: Callable[[bytes], bytes]
) -> PairHead:
    head = record.transcript.head(session, pair)
    signature: bytes | None = None
    if record.closed is not None:
        signature = record.closed.signatures.get(pair)
    elif pair[0] == party:
        signature = sign(head.statement(session, study.study_hash, pair))
    return PairHead(
        sender=pair[0],
        to=pair[1],
        messages=head.messages,
        bytes=head.size,
        head=head.digest.hex(),
        signature=None if signature is None else signature.hex(),
    )


def _hex(values: Mapping[str, bytes]) -> dict[str, str]:
    return {name: value.hex() for name, value in sorted(values.items())}
