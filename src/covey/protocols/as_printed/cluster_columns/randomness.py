"""The draws of a search: public ones, which every holder makes alike, and the pivot's own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from covey.crypto.rng import Rng, derive, spell
from covey.crypto.secret import Secret
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns


def public_draws(ids: Sequence[str]) -> Rng:
    """Draws that every holder makes alike: the order of records, and, where no l is kept, clusters and halves."""
    content = hashlib.sha256(spell("covey columns/1", *(each.encode() for each in ids)))
    return Rng(Secret(content.digest()))


def pivot_draws(own: OwnColumns, ids: Sequence[str], lasting: Secret) -> Rng:
    """The draws by which the pivot deals out clusters and halves: secret ones where it keeps l, else the public ones.

    With l these are dealt out by sensitive values: whoever knew the draws would read the values from the labels. The
    secret draws follow from the pivot's secret and its records: other records, other draws; the same ones, the same.
    """
    if not own.keeps:
        return public_draws(ids)
    content = hashlib.sha256(spell("covey columns deals/1", *(each.encode() for each in ids)))
    content.update(own.places.astype("<i8").tobytes())
    return Rng(derive(lasting, "deals", content.digest()))
