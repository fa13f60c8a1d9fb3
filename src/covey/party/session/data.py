"""A party's records, read from where they are under the study's rules."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from covey.bounds import VARIABLE, limit
from covey.counting import CarriedOnEngine, CountedRows, EngineCounts, room
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import InputError, Unmet
from covey.fitness import Fitness
from covey.fitness import check as examine
from covey.party.session.sealed import SealedFile
from covey.plain import plural
from covey.protocols import of_study
from covey.protocols.protocol import Protocol
from covey.protocols.shared.columns.meeting import keys_of
from covey.schema import Role
from covey.sizes import spell
from covey.sources import connect
from covey.sources.folders import is_many, stays_on_engine
from covey.sources.writing import SPARK, open_rows
from covey.study import Study
from covey.table import Table, build, read_source

if TYPE_CHECKING:
    from covey.sources.source import Data

_PART = 1 << 20  # bytes of a sealed record


@dataclass(frozen=True)
class KeptCounts:
    """The place of an engine's counts, sealed, so that a run that was cut off need not count again."""

    path: Path
    key: Secret

    def read(self) -> EngineCounts | None:
        """The counts, if they are there and readable."""
        try:
            with contextlib.closing(SealedFile.open(self.path, self._sealing, append=False)) as file:
                content = b"".join(part for _, part in file.records())
            return msgspec.msgpack.decode(content, type=EngineCounts)
        except (InputError, msgspec.MsgspecError, ValueError):
            return None

    def write(self, counts: EngineCounts) -> None:
        """Keeps the counts, in place of earlier ones."""
        self.forget()
        content = msgspec.msgpack.encode(counts)
        with contextlib.closing(SealedFile.create(self.path, self._sealing)) as file:
            for first in range(0, len(content), _PART):
                file.append(content[first : first + _PART])
            file.sync()

    def forget(self) -> None:
        """Removes them: a run that has ended needs them no more."""
        self.path.unlink(missing_ok=True)

    @property
    def _sealing(self) -> Secret:
        return derive(self.key, "engine counts")


def load_table(
    study: Study,
    party: str,
    data: Data | None,
    kept: KeptCounts | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
) -> Table | None:
    """The party's table; None for a party without data of its own. Raises InputError that names file and column.

    Rows of folders, patterns of files and servers stay there where the protocol works on tuples and their numbers; what
    is counted there may be `kept`. Where such rows are worked on is told.
    """
    if not study.party(party).holds_data:
        if data is not None:
            raise InputError(f"party {party!r} holds no data in this study; leave out its --data")
        return None
    if data is None:
        raise InputError(f"party {party!r} needs its data: add --data DATA")
    table, name, rows = _read(study, party, data, kept, notice)
    if not table.rows and study.declared is not None and study.declared.empty:
        found = f"{rows:,} rows, of which none can be released," if rows else "a header but no rows,"
        raise InputError(f"{name}: has {found} and {study.declared.empty}")
    if study.rows_at_most is not None and table.records > study.rows_at_most:
        raise InputError(
            f"{name}: this party has more than {study.rows_at_most:,} rows; raise rows_at_most in [study], for "
            "all parties"
        )
    _require_listed(study)
    if study.partition == "vertical":
        keys_of(table, name)
        _require_enough(study, table, name)
    try:
        if study.protocol is not None:
            of_study(study).accepts(study, table)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return table


def check_data(study: Study, data: Data, party: str | None = None) -> Fitness:
    """Compares one owner's or a party's data with the study.

    Rows that a run or `covey anonymize` leaves on an engine are looked at there.
    """
    if not isinstance(data, str | Path) or not _stay(study, data, party):
        return examine(study, connect(data), party)
    with open_rows(data, Path(tempfile.gettempdir())) as rows:
        found = examine(study, rows, party)
        told = f"the rows stay on {rows.ENGINE}, which counts them"
        if study.protocol is None and found.fit:
            told += f": {room(rows, study)}"
        joint = found.fit and party is not None and study.protocol is not None  # then `load_table` tells
        return found if joint else replace(found, notes=(*found.notes, told))


def _stay(study: Study, data: str | Path, party: str | None) -> bool:
    """Tells if a check leaves rows on an engine: always those of folders and of Spark, as long as tuples are known."""
    if not any(column.role is Role.QUASI for column in study.held_by(party)):
        return False
    if is_many(data) or str(data).startswith(SPARK):
        return True
    return stays_on_engine(data) and None not in (party, study.protocol) and of_study(study).counts_suffice


def _require_listed(study: Study) -> None:
    """Raises Unmet where a sensitive column lists fewer values than l asks for."""
    for column in study.sensitive:
        asked, more = study.l_of(column), column.missing == "value"
        if asked is not None and column.values is not None and len(column.values) + more < asked:
            raise Unmet(
                f"l = {asked:g} cannot be kept: column {column.name!r} lists {len(column.values)} values"
                f"{', and may have a missing one' if more else ''}; lower l, or list more"
            )


def _require_enough(study: Study, own: Table, name: str) -> None:
    """Raises Unmet where no people whom all parties have can keep k or l: they are some of our own rows."""
    if own.rows < study.privacy.k:
        raise Unmet(
            f"{name}: has {own.rows:,} rows, and a release of joined columns has no more people than that, fewer than "
            f"k = {study.privacy.k}; lower k, or add rows"
        )
    for values in own.carried:
        asked = study.l_of(values.column) if values.column in study.sensitive else None
        found = int((values.counts() > 0).sum())
        if asked is not None and found < asked:
            raise Unmet(
                f"{name}: column {values.column.name!r} has {found:,} values, too few for l = {asked:g}; lower l"
            )


def _require_room(name: str, records: int, protocol: Protocol) -> int:
    """The bytes that a protocol takes for these records. Raises InputError where memory may not be so much."""
    needed = records * protocol.memory.row
    if needed > limit():
        raise InputError(
            f"{name}: has {records:,} rows; protocol {protocol.name} works on single records and takes "
            f"{protocol.memory.row:,} bytes for each, so that {limit() // protocol.memory.row:,} fit into memory: "
            f"allow more ({VARIABLE}={math.ceil(needed / 10**9)}GB), or publish fewer rows"
        )
    return needed


def _read(
    study: Study, party: str, data: Data, kept: KeptCounts | None, notice: Callable[[str], None]
) -> tuple[Table, str, int]:
    """The table, the words for where it is, and its number of rows before some are dropped."""
    columns = study.held_by(party)
    elsewhere = isinstance(data, str | Path) and stays_on_engine(data) and study.protocol is not None
    if isinstance(data, str | Path) and elsewhere and (protocol := of_study(study)).counts_suffice:
        before = None if kept is None else kept.read()
        rows = open_rows(data, Path(tempfile.gettempdir()))
        try:
            work = "counts them" if before is None else "looks if they are those that were counted before"
            notice(f"{rows.name}: the rows stay on {rows.ENGINE}, which {work}")
            counted = CountedRows.of(rows, study, columns, empty=True, bound=True, earlier=before)
            found, records = plural(counted.table.rows, "distinct tuple"), plural(counted.table.records, "row")
            again = "has not changed and is not counted again" if counted.counts is before else "is counted"
            notice(f"{rows.name}: {again}: {found} of {records}")
            if protocol.moves_records:
                needed = _require_room(rows.name, counted.table.records, protocol)
                notice(
                    f"{rows.name}: protocol {protocol.name} moves single records: it makes them of the tuples, and "
                    f"takes about {spell(needed)} of memory for them; their other columns stay on {rows.ENGINE}"
                )
        except BaseException:
            rows.close()
            raise
        if kept is not None and counted.counts is not before:
            kept.write(counted.counts)
        return replace(counted.table, on_engine=CarriedOnEngine(counted)), rows.name, counted.counts.records
    source = connect(data)
    if elsewhere:
        _require_room(source.name, source.rows, of_study(study))
        notice(f"{source.name}: protocol {study.protocol} works on single records, so all rows are read into memory")
    reading = read_source(source, columns, empty=True)
    return build(reading, study, empty=True), source.name, reading.rows
