"""The cost of a run: exactly, from its public sizes; and about, before anything is known but the numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from covey.crypto import ibe
from covey.crypto.sodium import cores
from covey.protocols.protocol import Forecast
from covey.protocols.shared.cost import CostEstimate
from covey.protocols.shared.rows import carried
from covey.protocols.suppress import leakage
from covey.protocols.suppress.layout import Bounds
from covey.protocols.suppress.messages import TUPLES
from covey.protocols.suppress.parameters import AUTHORITY, Parameters
from covey.secure import approval
from covey.secure.sealing import ElGamal, Waters
from covey.study import Study
from covey.wire import FRAME_BYTES

_SEALED = FRAME_BYTES + 34
_SIZES, _OFFERED, _VERDICT = FRAME_BYTES + 79, FRAME_BYTES + 58, FRAME_BYTES + 40
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
WIDTH = {"waters": Waters.width, "elgamal": ElGamal.width}


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
    content = sum(fixed) + chunks * _SEALED + sealed * WIDTH[parameters.encryption]
    return CostEstimate(
        rounds=(9 if waters else 8) + (2 if second else 0),
        messages=len(fixed) + chunks + approval.COST.messages(parties),
        bytes=content + approval.COST.bytes(parties),
    )


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """A run's cost if no tuple is frequent at one party alone, which is the most that it can cost."""
    parameters = Parameters.of(study)
    counted = {name: rows.get(name, 0) for name in parameters.holders}
    keyholder, comparer = parameters.parts(counted)
    worst = _bounds(parameters, counted[keyholder], counted[comparer], rare=1.0)
    whole = traffic(parameters, worst)
    records = sum(counted.values())
    cells = records * (9 + _CELL * len(carried(study))) + records // parameters.k * _LABEL * len(study.quasi)
    messages = sum(4 + -(-count // TUPLES) for count in counted.values())
    numbers = leakage.numbers(parameters)
    learned = tuple(line for part in leakage.parts(parameters) for line in part.sentences("holder", **numbers))
    learns = dict.fromkeys(parameters.holders, learned)
    if parameters.encryption == "waters":
        learns[AUTHORITY] = tuple(leakage.KEYS.sentences("authority", **numbers))
    return Forecast(
        rounds=whole.rounds,
        messages=whole.messages + messages,
        bytes=whole.bytes + cells,
        seconds=seconds(parameters.encryption, worst) + records * 2e-5,
        learns=learns,
        mind=_mind(parameters, counted[keyholder], counted[comparer]),
    )


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
