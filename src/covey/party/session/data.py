"""A party's records, read from where they are under the study's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covey.errors import InputError
from covey.protocols import of_study
from covey.protocols.shared.columns import keys_of
from covey.study import Study
from covey.table import Table, build, read_source

if TYPE_CHECKING:
    from covey.sources.source import Data


def load_table(study: Study, party: str, data: Data | None) -> Table | None:
    """The party's table; None for a party without data of its own. Raises InputError that names file and column."""
    if not study.party(party).holds_data:
        if data is not None:
            raise InputError(f"party {party!r} holds no data in this study; leave out its --data")
        return None
    if data is None:
        raise InputError(f"party {party!r} needs its data: add --data DATA")
    from covey.sources.source import connect

    columns = study.held_by(party)
    source = connect(data)
    reading = read_source(source, columns, empty=True)
    table = build(reading, study, empty=True)
    if not table.rows and study.declared is not None and study.declared.empty:
        found = f"{reading.rows:,} rows, of which none can be released," if reading.rows else "a header but no rows,"
        raise InputError(f"{source.name}: has {found} and {study.declared.empty}")
    if study.rows_at_most is not None and table.rows > study.rows_at_most:
        raise InputError(
            f"{source.name}: this party has more than {study.rows_at_most:,} rows; raise rows_at_most in [study], for "
            "all parties"
        )
    if study.partition == "vertical":
        keys_of(table, source.name)
    try:
        if study.protocol is not None:
            of_study(study).accepts(study, table)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    return table
