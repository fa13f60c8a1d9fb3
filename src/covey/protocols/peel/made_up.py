"""Made-up records for a plan: as many as the holders have, like one's own or from the domains."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.arrays import Ints
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.protocols.shared.rows import domain
from covey.schema import Role
from covey.study import Study
from covey.table import Table, Values

_PARTS = 1 << 20


def drawn(study: Study, rows: Mapping[str, int], like: Table | None) -> dict[str, Table]:
    """Returns a table of made-up rows for each holder: each column's cells are drawn by themselves.

    Columns that `like` has are drawn from its cells. Where columns are split all holders have the same people, as far
    as their numbers of rows allow.
    """
    stream = Rng(Secret(bytes(SECRET_BYTES))).stream("rows")
    return {name: _table(study, name, number, like, stream) for name, number in rows.items()}


def _table(study: Study, name: str, number: int, like: Table | None, stream: Stream) -> Table:
    held = study.held_by(name)
    quasi = tuple(column for column in held if column.role is Role.QUASI)
    trees, some = tuple(column.tree() for column in quasi), like is not None and like.rows > 0
    known = dict(zip((column.name for column in like.quasi), like.codes, strict=True)) if like and some else {}
    exact = {values.column.name: values for values in like.carried} if like and some else {}
    codes = [
        _codes(stream, number, tree.codes, known.get(column.name)) for column, tree in zip(quasi, trees, strict=True)
    ]
    carried = []
    for column in held:
        if column.role in (Role.SENSITIVE, Role.PLAIN):
            values = exact.get(column.name) or Values(column, np.zeros(0, np.int32), domain(column) or ("text",))
            own = values.codes if column.name in exact else None
            carried.append(Values(column, _codes(stream, number, len(values.labels), own), values.labels))
    key = None
    if study.partition == "vertical" and study.key is not None:
        key = Values(study.key, np.arange(number, dtype=np.int32), tuple(map(str, range(number))))
    shape = np.zeros((0, number), np.int32) if not codes else np.stack(codes)
    return Table(study, quasi, trees, shape, tuple(carried), key)


def _codes(stream: Stream, number: int, size: int, like: Ints | None) -> Ints:
    """Returns so many codes below a size, the first more often as in real columns, or cells of a column."""
    if like is None:
        part = stream.words_below(_PARTS, number).astype(np.int64)
        return np.asarray(part * part * size // _PARTS**2, np.int32)
    return like[stream.words_below(len(like), number).astype(np.int64)]
