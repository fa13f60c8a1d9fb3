"""The cost of a run: exactly, from its public sizes; and about, before anything is known but the numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from covey.crypto import ibe
from covey.crypto.proof import PROOF_BYTES
from covey.crypto.sodium import cores
from covey.protocols.protocol import Forecast
from covey.protocols.shared.cost import CostEstimate
from covey.protocols.shared.rows import LENGTHS, carried
from covey.protocols.suppress import leakage
from covey.protocols.suppress.layout import CHUNK, Bounds
from covey.protocols.suppress.messages import TUPLES
from covey.protocols.suppress.parameters import AUTHORITY, Parameters
from covey.secure import approval, conjunction, shuffle
from covey.secure.sealing import ElGamal, Waters
from covey.study import Study
from covey.wire import FRAME_BYTES

_SEALED = FRAME_BYTES + 34
_SIZES, _OFFERED, _VERDICT, _PART = FRAME_BYTES + 79, FRAME_BYTES + 58, FRAME_BYTES + 40, FRAME_BYTES + 40
_LABEL, _CELL = 12, 10
"""Bytes of a label and of a cell on the wire, about."""
_OTHERWISE = {"waters": "elgamal", "elgamal": "waters"}


@dataclass(frozen=True)
class Speed:
    """Milliseconds of one core for a ciphertext: at the keyholder sealed and opened; at the comparer read, raised to a
    power with another to match, and compared."""

    seal: float
    open: float
    read: float
    power: float
    compare: float


SPEED = {"waters": Speed(0.20, 1.47, 0.28, 0.34, 0.65), "elgamal": Speed(0.04, 0.07, 0.02, 0.11, 0.26)}
ENCRYPTIONS: dict[str, type[Waters] | type[ElGamal]] = {"waters": Waters, "elgamal": ElGamal}


def traffic(parameters: Parameters, bounds: Bounds, *, anonymous: bool = False) -> CostEstimate:
    """The cost of a run without the messages of tuples and rows, whose lengths the data decide."""
    waters = parameters.encryption == "waters"
    parties = 3 if waters else 2
    second = 0 if anonymous else bounds.compare_chunks
    layout = bounds.layout
    fixed = [issued_bytes(parameters)] * 2 if waters else [_OFFERED]
    fixed += [_SIZES] * 2 + [_VERDICT]
    sealed = 2 * bounds.k * bounds.tested + 2 + (layout.bins * bounds.k + layout.comparisons if second else 0)
    chunks = 2 * bounds.test_chunks + 1 + second * (1 + bounds.pieces)
    content = sum(fixed) + chunks * _SEALED + sealed * ENCRYPTIONS[parameters.encryption].width
    return CostEstimate(
        rounds=(9 if waters else 8) + (2 if second else 0),
        messages=len(fixed) + chunks + approval.COST.messages(parties),
        bytes=content + approval.COST.bytes(parties),
    )


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """A run's cost if no tuple is frequent at one party alone, which is the most that it can cost."""
    parameters = Parameters.of(study)
    counted = {name: rows.get(name, 0) for name in parameters.holders}
    if parameters.several:
        return _foresee_among(study, parameters, counted)
    keyholder, comparer = parameters.parts(counted)
    worst = _bounds(parameters, counted[keyholder], counted[comparer], rare=1.0)
    whole = traffic(parameters, worst)
    records = sum(counted.values())
    cells = records * (9 + _CELL * len(carried(study))) + records // parameters.k * _LABEL * len(study.quasi)
    messages = sum(4 + -(-count // TUPLES) for count in counted.values())
    return Forecast(
        rounds=whole.rounds,
        messages=whole.messages + messages,
        bytes=whole.bytes + cells,
        seconds=seconds(parameters.encryption, worst) + records * 2e-5,
        learns=_learns(parameters),
        mind=_mind(parameters, counted[keyholder], counted[comparer]),
    )


def _learns(parameters: Parameters) -> dict[str, tuple[str, ...]]:
    parts, numbers = leakage.parts(parameters), leakage.numbers(parameters)
    learned = tuple(line for part in parts for line in part.sentences("holder", **numbers))
    learns = dict.fromkeys(parameters.holders, learned)
    if parameters.encryption == "waters":
        learns[AUTHORITY] = tuple(parts[0].sentences("authority", **numbers))
    return learns


def traffic_among(parameters: Parameters, rows: Mapping[str, int], named: int, length: int) -> CostEstimate:
    """The cost of a run among three or more, of whose tuples so many are named, with released rows of that length."""
    names, encryption, cost = sorted(parameters.holders), ENCRYPTIONS[parameters.encryption], CostEstimate()
    waters, total = parameters.encryption == "waters", sum(rows.values())

    def send(sender: str, to: str, items: int, width: int) -> None:
        messages = -(-items // CHUNK)
        cost.send(sender, to, messages, items * width + messages * _SEALED)

    for name in names if waters else ():
        cost.send(AUTHORITY, name, 1, issued_bytes(parameters))
    cost.broadcast_each(names, _SIZES)
    cost.broadcast_each(names, _PART + (encryption.mark_bytes if waters else encryption.mark_bytes + PROOF_BYTES))
    for name in names[1:]:
        send(name, names[0], rows[name], encryption.width)
    for items, width in ((total, encryption.width), (named, encryption.mark_bytes)):
        for sender, to in pairwise(names):
            send(sender, to, items, width)
        for name in names[:-1]:
            send(names[-1], name, items, encryption.mark_bytes)
    counts, parties = [rows[name] for name in names], len(names)
    last = (
        (conjunction.COST, (parties, len(LENGTHS))),
        (shuffle.COST, (counts, length)),
        (approval.COST, (parties + waters,)),
        (shuffle.OPENING_COST, (parties,)),
    )
    for declared, sizes in last:
        cost.rounds += declared.rounds(*sizes)
        cost.messages += declared.messages(*sizes)
        cost.bytes += declared.bytes(*sizes)
    return cost


def _foresee_among(study: Study, parameters: Parameters, rows: Mapping[str, int]) -> Forecast:
    """A run's cost among three or more; every row costs the same, rare or not."""
    records, columns = sum(rows.values()), len(study.quasi) + len(carried(study))
    fits = [length for length in LENGTHS if length >= _LABEL * columns]
    whole = traffic_among(parameters, rows, records // (2 * parameters.k), fits[0] if fits else LENGTHS[-1])
    other = _OTHERWISE[parameters.encryption]
    mind = [
        f'encryption = "{other}" would take {_seconds_among(other, rows):,.0f} s of computing',
        f"a tuple that has fewer than {parameters.k} rows in all tables together is suppressed whole; where these are "
        f"fewer than {parameters.k} rows, tuples of one size more go with them; peel and cluster lose less where "
        "columns have hierarchies",
    ]
    if parameters.encryption == "waters":
        mind.append("the authority can open all ciphertexts that it sees: none of the parties should run it")
    return Forecast(
        rounds=whole.rounds,
        messages=whole.messages,
        bytes=whole.bytes,
        seconds=_seconds_among(parameters.encryption, rows),
        learns=_learns(parameters),
        mind=tuple(mind),
    )


def _seconds_among(encryption: str, rows: Mapping[str, int]) -> float:
    """The time that a list takes through all hands, one after the other, each on as many cores as there are here."""
    speed, records = SPEED[encryption], sum(rows.values())
    hop = speed.read + speed.open + speed.power + speed.compare
    return (len(rows) * records * hop + max(rows.values()) * speed.seal) / 1000 / cores() + records * 4e-4


def seconds(encryption: str, bounds: Bounds) -> float:
    """The time that the slower of the two parties computes, on as many cores as there are here."""
    speed, layout, k = SPEED[encryption], bounds.layout, bounds.k
    listed = 2 * k * bounds.tested + k * layout.bins
    powers = 2 * bounds.tested + min((k - 1) * layout.bins * bounds.pieces, layout.comparisons)
    keyholder = listed * speed.seal + layout.comparisons * speed.open
    comparer = listed * speed.read + powers * speed.power + layout.comparisons * speed.compare
    return max(keyholder, comparer) / 1000 / cores()


def _bounds(parameters: Parameters, keyholder: int, comparer: int, rare: float) -> Bounds:
    """The bounds where that part of the rows has tuples that are not frequent."""
    given_up = min(parameters.k, keyholder)
    listed = given_up + round((keyholder - given_up) * rare)
    return Bounds.of(parameters, (keyholder, comparer), (keyholder - listed, comparer - round(comparer * rare)))


def _mind(parameters: Parameters, keyholder: int, comparer: int) -> tuple[str, ...]:
    def said(encryption: str, rare: float) -> str:
        bounds = _bounds(parameters, keyholder, comparer, rare)
        size = traffic(replace(parameters, encryption=encryption), bounds).bytes
        return f"{seconds(encryption, bounds):,.0f} s of computing and {size / 1e6:,.1f} MB"

    k, mine, other = parameters.k, parameters.encryption, _OTHERWISE[parameters.encryption]
    without = " (no authority)" if other == "elgamal" else " (with an authority, which could open what it sees)"
    lines = [
        "time and traffic are for tables in which no tuple occurs k times at one party; only rare rows cost: with one "
        f"row in ten rare it is {said(mine, 0.1)}",
        f'encryption = "{other}"{without} would take {said(other, 1.0)}; with one row in ten rare {said(other, 0.1)}',
        f"a tuple is suppressed whole, and unless both tables together are {k}-anonymous as they stand, at least "
        f"{k} rows of the party that holds the key; peel and cluster lose less where columns have hierarchies",
    ]
    if parameters.encryption == "waters":
        lines.append("the authority can open all ciphertexts that it sees: neither of the two parties should run it")
    return tuple(lines)


def issued_bytes(parameters: Parameters) -> int:
    """Bytes of the message that brings a holder its key."""
    return FRAME_BYTES + 48 + len(parameters.name_of(parameters.holders[0])) + ibe.PARAMETERS_BYTES + ibe.KEY_BYTES
