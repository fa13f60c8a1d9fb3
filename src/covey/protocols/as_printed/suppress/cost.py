"""The cost of a run: exactly, from its public sizes or from all tables; and rehearsed on tables like the parties'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from covey.crypto import ibe
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.crypto.sodium import cores
from covey.protocols.as_printed.suppress import ideal, leakage
from covey.protocols.as_printed.suppress.layout import Bounds
from covey.protocols.as_printed.suppress.messages import spell_rows, spell_tuples
from covey.protocols.as_printed.suppress.parameters import Parameters
from covey.protocols.as_printed.suppress.tuples import JointClasses, Labels, OwnReleasedRows, OwnTuples, key_of
from covey.protocols.protocol import Forecast
from covey.protocols.shared import model
from covey.protocols.shared.cost import CostEstimate, Rehearsal, rehearse_often
from covey.protocols.shared.peeling.marginals import study_seed
from covey.secure import approval
from covey.secure.sealing import ElGamal, Waters
from covey.study import Study
from covey.table import Table
from covey.wire import FRAME_BYTES, Message
from covey.wire.message import encode

_SEALED = FRAME_BYTES + 34
_SIZES, _OFFERED, _VERDICT = FRAME_BYTES + 79, FRAME_BYTES + 58, FRAME_BYTES + 40
REHEARSED = 20_000
"""Rows of a rehearsal at most."""
DIFFER, ANEW = 50, 25
"""Cells in a thousand of a column in which rows of another party are not like one of ours: as in another, or anyhow."""
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


def of_tables(study: Study, tables: Mapping[str, Table]) -> tuple[CostEstimate, Bounds]:
    """The exact cost of a run on these tables, and its public sizes."""
    parameters = Parameters.of(study)
    owns = {name: OwnTuples.of(table) for name, table in tables.items()}
    parts = parameters.parts({name: own.rows for name, own in owns.items()})
    first, second = (owns[name] for name in parts)
    k, kept = parameters.k, ideal.decide(parameters.k, first, second)
    given_up = first.given_up(k)
    named = [first.frequent(first.remaining(given_up), k), second.frequent(second.counts, k)]
    bounds = Bounds.of(parameters, (first.rows, second.rows), (sum(named[0].values()), sum(named[1].values())))
    halves = [OwnReleasedRows.of(owns[name], keeps, tables[name]) for name, keeps in zip(parts, kept, strict=True)]
    classes = JointClasses.of(study, [half.kept for half in halves])
    spoken: list[Message] = [message for own in named for message in _spelled(own)]
    for half in halves:
        spoken += [*_spelled(half.kept.counts), *spell_rows(half, classes)]
    cost = traffic(parameters, bounds, anonymous=not int(classes.sizes[-1]))
    cost.count(len(spoken), sum(FRAME_BYTES + len(encode(message)) for message in spoken))
    return cost, bounds


def _spelled(counts: Mapping[Labels, int]) -> Sequence[Message]:
    listed = sorted(counts, key=key_of)
    return spell_tuples(listed, [counts[each] for each in listed])


def _tables(study: Study, rows: Mapping[str, int], seed: Secret, own: Table | None) -> dict[str, Table]:
    """Tables of so many rows: ours as it is, if it is given and has as many, and others like it; else all made up."""
    number = sum(rows.values())
    if own is None or not own.rows:
        made = model.stand_in(study, number, seed, None, model.EVEN)
        return dict(zip(rows, _cut(made, list(rows.values())), strict=True))
    found = dict(zip(rows, _cut(model.like(own, number, seed, DIFFER, ANEW), list(rows.values())), strict=True))
    ours = next((name for name, count in rows.items() if count == own.rows), None)
    return found if ours is None else found | {ours: own}


def _cut(whole: Table, rows: Sequence[int]) -> list[Table]:
    """The first so many rows, the next, and so on."""
    ends = np.cumsum([0, *rows])
    return [whole.select(np.arange(first, last)) for first, last in pairwise(ends.tolist())]


def foresee(study: Study, rows: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, and what it teaches; all rows are taken to be like our own, if these are given."""
    parameters = Parameters.of(study)
    counted = {name: rows.get(name, 0) for name in parameters.holders}
    if sum(counted.values()) < parameters.k:  # nothing could be released: the fewest rows of which something can
        counted = dict.fromkeys(counted, -(-parameters.k // len(counted)))
    records = sum(counted.values())
    seed = derive(study_seed(study), "suppress plan")
    sizes: list[Bounds] = []

    def play(smaller: Study, number: int, drawn: Secret) -> Rehearsal:
        share = {name: count * number // records for name, count in counted.items()}
        cost, bounds = of_tables(smaller, _tables(study, share, drawn, own))
        sizes.append(bounds)
        return Rehearsal(cost)

    cost = rehearse_often(study, play, records, REHEARSED, seed).cost
    computing = seconds(parameters.encryption, sizes[0]) * max(1.0, records / REHEARSED) + records * 2e-5
    mind = _mind(parameters, *(counted[name] for name in parameters.parts(counted)))
    numbers = leakage.numbers(parameters)
    return cost.forecast(computing, [(part, numbers) for part in leakage.parts(parameters)], mind)


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
        f"only rows of rare tuples cost much: where no tuple occurs k times at one party it is {said(mine, 1.0)}, with "
        f"one row in ten rare {said(mine, 0.1)}",
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
