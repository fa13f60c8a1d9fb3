"""The states of a session around its role: what it takes up from one that was kept, and the last one, with its end."""

from __future__ import annotations

import msgspec
import pyarrow as pa

from covey.errors import InputError
from covey.party.record.run_certificate import RunCertificate
from covey.party.record.run_record import Agreement, Closed, RunRecord
from covey.party.record.transcript import Transcript
from covey.party.session.states import Ended, Place, State, StateJournal
from covey.protocols import Computed, Figures, Result
from covey.protocols.protocol import LAST
from covey.wire import Tally, depth


class _Result(msgspec.Struct, frozen=True):
    release: bytes | None
    classes: bytes | None
    figures: Figures | None
    computed: Computed | None


def told(journal: StateJournal, agreement: Agreement) -> str:
    """Says where a session goes on, and how often it began."""
    agreed = journal.agreed
    span = "from the beginning" if agreed is None else f"behind window {agreed.number}"
    if agreed is not None and agreed.number == LAST:
        span = "only signs what was done"
    return f"attempt {agreement.attempt} {span}"


def attempts_of(journal: StateJournal, agreement: Agreement) -> int:
    """Returns the number of attempts until the release was opened."""
    agreed = journal.agreed
    return agreement.attempt if agreed is None or agreed.number < LAST else agreed.attempt


def last_state(agreement: Agreement, record: RunRecord, result: Result) -> State:
    """Returns the state of a role that has ended: its result, and all messages."""
    parts = _Result(_packed(result.release), _packed(result.classes), result.figures, result.computed)
    content = msgspec.msgpack.encode(parts)
    position = Place(LAST, agreement.attempt)
    return State(agreement.digest, position, content, record.transcript.everything, record.marks)


def restored(journal: StateJournal, record: RunRecord, tally: Tally) -> Result | None:
    """Takes up the messages of the state that a session goes on from; returns the result of a role that has ended."""
    state = journal.last
    if state is None:
        return None
    has_ended = state.place.number == LAST
    if has_ended:
        record.transcript.clear()
    record.transcript.restore(state.entries)
    record.marks = [*state.marks]
    for line in state.entries:
        if line.step != "keys":
            tally.add((line.sender, line.recipient), line.messages, line.size, line.depth)
            depth.consume(line.depth)
    return _result(state) if has_ended else None


def _result(state: State) -> Result:
    parts = msgspec.msgpack.decode(state.content, type=_Result)
    return Result(_table(parts.release), parts.figures, _table(parts.classes), parts.computed)


def _packed(table: pa.Table | None) -> bytes | None:
    if table is None:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _table(content: bytes | None) -> pa.Table | None:
    return None if content is None else pa.ipc.open_stream(content).read_all()


def end(journal: StateJournal, closed: Closed) -> None:
    """Keeps with the last state what all parties signed; shares are erased."""
    signatures = [(*pair, signature) for pair, signature in closed.signatures.items()]
    ended = Ended(closed.traffic, signatures, closed.certificate.spell())
    if journal.last is not None and journal.last.ended is None:
        journal.end(msgspec.structs.replace(journal.last, ended=ended))


def closed(journal: StateJournal, agreement: Agreement, transcript: Transcript) -> Closed:
    """Returns what all parties had signed. Raises InputError if they had not."""
    if journal.last is None or journal.last.ended is None:
        raise InputError(
            f"{journal.path}: the last state of the run is missing; the others must come with --for-others"
        )
    ended = journal.last.ended
    signatures = {(sender, recipient): signature for sender, recipient, signature in ended.signatures}
    heads = {pair: transcript.head(agreement.session, pair) for pair in signatures}
    return Closed(ended.traffic, heads, signatures, RunCertificate.parse(ended.certificate, journal.path))
