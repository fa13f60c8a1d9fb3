"""What a run costs: exactly, from its public sizes; and about, before anything is known but the numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from covey.crypto.sodium import cores
from covey.protocols.protocol import Forecast
from covey.protocols.shared.rows import carried
from covey.protocols.suppress import leaks
from covey.protocols.suppress.bounds import Bounds
from covey.protocols.suppress.messages import TUPLES
from covey.protocols.suppress.script import issued_bytes
from covey.protocols.suppress.sealing import ElGamal, Waters
from covey.protocols.suppress.terms import AUTHORITY, Terms
from covey.secure import approval
from covey.study import Study
from covey.wire import FRAME_BYTES, Message
from covey.wire.message import encode

_SEALED = FRAME_BYTES + 34
_SIZES, _OFFERED, _VERDICT = FRAME_BYTES + 79, FRAME_BYTES + 58, FRAME_BYTES + 40
_LABEL, _CELL = 12, 10
"""Bytes of a label and of a cell on the wire, about."""
_OTHERWISE = {"waters": "elgamal", "elgamal": "waters"}


@dataclass(frozen=True)
class Pace:
    """Milliseconds of one core for a ciphertext: at the keyholder sealed and opened; at the comparer read, raised to a
    power with another to match, and compared."""

    seal: float
    open: float
    read: float
    power: float
    compare: float


PACE = {"waters": Pace(0.20, 1.47, 0.28, 0.34, 0.65), "elgamal": Pace(0.04, 0.07, 0.02, 0.11, 0.26)}
WIDTH = {"waters": Waters.width, "elgamal": ElGamal.width}


@dataclass(frozen=True)
class Traffic:
    """What goes over the lines."""

    rounds: int
    messages: int
    bytes: int


def traffic(terms: Terms, bounds: Bounds, spoken: Sequence[Message], *, anonymous: bool) -> Traffic:
    """The cost of a run; `spoken` are the messages with tuples and rows of both, whose lengths the data decide."""
    waters, parties = terms.encryption == "waters", 3 if terms.encryption == "waters" else 2
    second = 0 if anonymous else bounds.compare_chunks
    layout = bounds.layout
    fixed = [issued_bytes(terms)] * 2 if waters else [_OFFERED]
    fixed += [_SIZES] * 2 + [_VERDICT]
    sealed = 2 * bounds.k * bounds.tested + 2 + (layout.bins * bounds.k + layout.comparisons if second else 0)
    chunks = 2 * bounds.test_chunks + 1 + second * (1 + bounds.pieces)
    return Traffic(
        rounds=(9 if waters else 8) + (2 if second else 0),
        messages=len(fixed) + len(spoken) + chunks + approval.COST.messages(parties),
        bytes=sum(fixed)
        + sum(FRAME_BYTES + len(encode(message)) for message in spoken)
        + chunks * _SEALED
        + sealed * WIDTH[terms.encryption]
        + approval.COST.bytes(parties),
    )


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """A run's cost if no tuple is frequent at one party alone, which is the most that it can cost."""
    terms = Terms.of(study)
    counted = {name: rows.get(name, 0) for name in terms.holders}
    keyholder, comparer = terms.parts(counted)
    worst = _bounds(terms, counted[keyholder], counted[comparer], rare=1.0)
    whole = traffic(terms, worst, (), anonymous=False)
    records = sum(counted.values())
    cells = records * (9 + _CELL * len(carried(study))) + records // terms.k * _LABEL * len(study.quasi)
    messages = sum(4 + -(-count // TUPLES) for count in counted.values())
    numbers = leaks.numbers(terms)
    learned = tuple(line for part in leaks.parts(terms) for line in part.sentences("holder", **numbers))
    learns = dict.fromkeys(terms.holders, learned)
    if terms.encryption == "waters":
        learns[AUTHORITY] = tuple(leaks.KEYS.sentences("authority", **numbers))
    return Forecast(
        rounds=whole.rounds,
        messages=whole.messages + messages,
        bytes=whole.bytes + cells,
        seconds=seconds(terms.encryption, worst) + records * 2e-5,
        learns=learns,
        mind=_mind(terms, counted[keyholder], counted[comparer]),
    )


def seconds(encryption: str, bounds: Bounds) -> float:
    """How long the slower of the two parties computes, on as many cores as there are here."""
    pace, layout, k = PACE[encryption], bounds.layout, bounds.k
    listed = 2 * k * bounds.tested + k * layout.bins
    powers = 2 * bounds.tested + min((k - 1) * layout.bins * bounds.pieces, layout.comparisons)
    keyholder = listed * pace.seal + layout.comparisons * pace.open
    comparer = listed * pace.read + powers * pace.power + layout.comparisons * pace.compare
    return max(keyholder, comparer) / 1000 / cores()


def _bounds(terms: Terms, keyholder: int, comparer: int, rare: float) -> Bounds:
    """The bounds where that part of the rows has tuples that are not frequent."""
    given_up = min(terms.k, keyholder)
    listed = given_up + round((keyholder - given_up) * rare)
    return Bounds.of(terms, (keyholder, comparer), (keyholder - listed, comparer - round(comparer * rare)))


def _mind(terms: Terms, keyholder: int, comparer: int) -> tuple[str, ...]:
    def said(encryption: str, rare: float) -> str:
        bounds = _bounds(terms, keyholder, comparer, rare)
        size = traffic(replace(terms, encryption=encryption), bounds, (), anonymous=False).bytes
        return f"{seconds(encryption, bounds):,.0f} s of computing and {size / 1e6:,.1f} MB"

    mine, other = terms.encryption, _OTHERWISE[terms.encryption]
    without = " (no authority)" if other == "elgamal" else " (with an authority, which could open what it sees)"
    lines = [
        "time and traffic are for tables in which no tuple occurs k times at one party; only rare rows cost: with one "
        f"row in ten rare it is {said(mine, 0.1)}",
        f'encryption = "{other}"{without} would take {said(other, 1.0)}; with one row in ten rare {said(other, 0.1)}',
        f"a tuple is suppressed whole, and unless both tables together are {terms.k}-anonymous as they stand, at least "
        f"{terms.k} rows of the party that holds the key; peel and cluster lose less where columns have hierarchies",
    ]
    if terms.encryption == "waters":
        lines.append("the authority can open all ciphertexts that it sees: neither of the two parties should run it")
    return tuple(lines)
