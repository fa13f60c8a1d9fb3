"""Which messages a transcript of `suppress` may have, and where; what the data decide is how many, and how long.

Which of the two holders has the key depends on their numbers of rows: what only one of them says is declared for both.
The authority says one thing to each holder, hears nothing but votes, and no list ever goes to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from covey.crypto import ibe
from covey.protocols.protocol import Line
from covey.protocols.suppress.parameters import Parameters
from covey.secure import approval
from covey.study import Study
from covey.wire import FRAME_BYTES

_HOLDERS = ("holder", "holder")


def script(study: Study) -> tuple[Line, ...]:
    """The lines for this study's encryption."""
    return tuple(_lines(Parameters.of(study)))


def issued_bytes(parameters: Parameters) -> int:
    """Of the message that brings a holder its key."""
    return FRAME_BYTES + 48 + len(parameters.name_of(parameters.holders[0])) + ibe.PARAMETERS_BYTES + ibe.KEY_BYTES


def _lines(parameters: Parameters) -> Iterator[Line]:
    if parameters.encryption == "waters":
        yield Line("issue", "suppress.issued", times=1, size=issued_bytes(parameters), roles=("authority", "holder"))
    else:
        yield Line("key", "suppress.key", roles=_HOLDERS)
    yield Line("sizes", "suppress.sizes", times=1, roles=_HOLDERS)
    yield Line("frequent", "suppress.tuples", roles=_HOLDERS)
    for step in ("test/0/*", "test/1/*", "answer", "list/*", "compare/*"):
        yield Line(step, "suppress.sealed", roles=_HOLDERS)
    yield Line("verdict", "suppress.verdict", roles=_HOLDERS)
    yield Line("kept", "suppress.tuples", roles=_HOLDERS)
    yield Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES)
    yield Line("rows", "suppress.rows", roles=_HOLDERS)
