"""The cryptography of `collect`: operations a second, beside the paper's own (Paillier, Gentry-Ramzan) and broadcast.

Each figure is CPU of one core, which a busy machine changes little; arrays of points and blocks of retrieval are spread
over all cores. `python -m benchmarks collect_crypto elgamal|committee|pir|paillier2048|paillier3072|gentry|security`
runs a part; what was measured before is kept beside it in benchmarks/results/collect_crypto.json.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np
from tests.harness.network import seed_of
from tests.harness.parties import run_parties
from tests.harness.spent import spent
from tests.unit.crypto import core_svp

from benchmarks._measuring import MEGABYTE, Row, keep, peak_megabytes
from covey.crypto import gentry_ramzan, pir
from covey.crypto.asmuth_bloom import deal_asmuth_bloom
from covey.crypto.elgamal import Logarithms, encrypt, opened, rerandomise
from covey.crypto.group import powers
from covey.crypto.paillier import Ciphertexts
from covey.crypto.rng import Rng
from covey.crypto.threshold_key import CommitteeKey, Dealer, Trustee
from covey.crypto.threshold_paillier import Primes, deal_shamir
from covey.protocols.as_printed.collect import committee
from covey.wire import Channel

BATCH = 10_000
ENTRY = 64
CELLS = (1 << 14, 432_000, 1 << 21)
CLIENTS = 64
COMMITTEES = ((3, 5), (5, 9), (11, 21))
GENTRY_CELLS = 1024
OPENED = 2000
T = TypeVar("T")


def run(arguments: list[str]) -> None:
    """Measures the parts named, or all, and keeps the rows in results/collect_crypto.json."""
    for part in arguments or PARTS:
        for row in PARTS[part]():
            keep("collect_crypto", part, row, ("what",))


def timed(work: Callable[[], T], rounds: int = 1) -> tuple[T, float]:
    """Returns the work's answer, and its CPU seconds: the fewest of some rounds."""
    best: tuple[T, float] | None = None
    for _ in range(rounds):
        cpu = time.process_time()
        answer = work()
        cpu = time.process_time() - cpu
        if best is None or cpu < best[1]:
            best = answer, cpu
    assert best is not None
    return best


def each(what: str, count: int, work: Callable[[], object], rounds: int = 5) -> Row:
    """One kind of operation, many times."""
    _, cpu = timed(work, rounds)
    return {"what": what, "microseconds": round(1e6 * cpu / count, 1), "a second on one core": round(count / cpu)}


def _elgamal() -> Iterator[Row]:
    rng = Rng(seed_of(1))
    dealers = [Dealer(3, rng.stream("dealer", place)) for place in range(5)]
    key = CommitteeKey.of([dealer.commitments for dealer in dealers])
    trustees = [Trustee(place, [dealer.share(place) for dealer in dealers], key) for place in range(1, 6)]
    numbers = [number % 300 for number in range(BATCH)]
    labels = iter(range(1 << 20))
    hidden = encrypt(numbers, key.public, rng.stream("x"))
    yield each("encryption", BATCH, lambda: encrypt(numbers, key.public, rng.stream(next(labels))))
    yield each("re-randomisation", BATCH, lambda: rerandomise(hidden, key.public, rng.stream(next(labels))))
    yield each("sum of two", BATCH, lambda: hidden.plus(hidden))
    yield each("running total", BATCH, hidden.running_totals)
    yield each(
        "a trustee's part, proof included", BATCH, lambda: trustees[0].unlock(hidden.first, rng.stream(next(labels)))
    )
    parts = {t.place: t.unlock(hidden.first, rng.stream(next(labels))) for t in trustees[:3]}
    yield each("a part checked", BATCH, lambda: key.holds(1, hidden.first, parts[1]))
    joined = {place: part.points for place, part in parts.items()}
    yield each("three parts combined", BATCH, lambda: key.combine(joined))
    points = opened(hidden, [key.combine(joined)])
    for cells, count in ((1 << 14, 2000), (432_000, 2000)):
        bound = 2 * 300 * (cells + 200)
        logarithms, cpu = timed(partial(Logarithms.for_many, bound, count))
        read = powers([bound // count * number for number in range(count)])
        _, of_cpu = timed(partial(logarithms.of, read))
        yield {
            "what": f"{count} positions below {bound:,} read ({cells:,} cells)",
            "table, CPU s": round(cpu, 2),
            "reading, CPU s": round(of_cpu, 2),
        }
    assert Logarithms(300).of(points.slice(0, 50)).tolist() == numbers[:50]


def _committee() -> Iterator[Row]:
    for threshold, trustees in COMMITTEES:
        yield _one_committee(threshold, trustees)


def _one_committee(threshold: int, trustees: int) -> Row:
    names = [f"trustee {place:02}" for place in range(1, trustees + 1)]
    places = committee.places(names)
    helpers = {name: places[name] for name in names[:threshold]}

    async def trustee(channel: Channel) -> object:
        mine = await committee.found(channel.at("found"), names, threshold, opener="opener")
        return await committee.serve(channel.at("open"), mine, "opener", OPENED) if channel.me in helpers else None

    async def opener(channel: Channel) -> object:
        key = await committee.learn(channel.at("found"), names, threshold)
        hidden = encrypt([7] * OPENED, key.public, channel.rng.stream("x"))
        points = opened(hidden, [await committee.unlock(channel.at("open"), key, helpers, hidden)])
        assert set(points) == set(powers([7]))
        return None

    outcomes, cpu = timed(lambda: run_parties({**dict.fromkeys(names, trustee), "opener": opener}))
    for outcome in outcomes.values():
        outcome.unwrap()
    cost = spent(outcomes)
    return {
        "what": f"key of {threshold} of {trustees} made, {OPENED:,} ciphertexts opened, all parties here",
        "CPU s": round(cpu, 2),
        "rounds": cost.rounds,
        "MB": round(cost.bytes / MEGABYTE, 2),
    }


def _pir() -> Iterator[Row]:
    for cells in CELLS:
        shape = pir.shape_of(cells, ENTRY)
        content = Rng(seed_of(1)).stream("table").bytes(cells * ENTRY)
        table, matrix = pir.RetrievalTable(content, shape), pir.Matrix(bytes(32), shape)
        table.answer(np.zeros((1, shape.columns), dtype=np.uint32))  # compiled before it is timed
        hint, hint_cpu = timed(partial(table.hint, matrix))
        row: Row = {
            "what": f"{cells:,} entries of {ENTRY} bytes",
            "columns": shape.columns,
            "stack": shape.stack,
            "hint MB": round(shape.hint_bytes / MEGABYTE, 2),
            "query KB": round(shape.query_bytes / 1024),
            "answer KB": round(shape.answer_bytes / 1024, 1),
            "broadcast MB": round(cells * ENTRY / MEGABYTE, 1),
            "hint, CPU s": round(hint_cpu, 2),
        }
        for count in (1, CLIENTS):
            rng = Rng(seed_of(count))
            indices = [number * 7919 % cells for number in range(count)]
            streams = [rng.stream(number) for number in range(count)]
            asked, cpu = timed(partial(pir.ask, matrix, indices, streams))
            answers, answer_cpu = timed(partial(table.answer, asked.queries), 3)
            records, read_cpu = timed(partial(pir.recover, asked, hint, answers))
            assert records == [content[index * ENTRY : (index + 1) * ENTRY] for index in indices]
            work = count * shape.rows * shape.columns
            row |= {
                f"{count} queries made, CPU s": round(cpu, 3),
                f"{count} answered, CPU s": round(answer_cpu, 4),
                f"{count} answered, GMAC a core second": round(work / answer_cpu / 1e9, 1),
                f"{count} read, CPU ms": round(1000 * read_cpu, 1),
            }
        row["peak MB of this process"] = peak_megabytes()
        yield row


def _paillier(bits: int) -> Iterator[Row]:
    rng = Rng(seed_of(bits))
    primes, cpu = timed(partial(Primes.draw, bits, rng.stream("primes")))
    yield {"what": f"{bits} bits: two safe primes", "CPU s": round(cpu, 1)}
    hidden, cpu = timed(partial(primes.public.encrypt, [5] * 50, rng.stream("x")))
    yield {"what": f"{bits} bits: encryption, 50 with a table that is made first", "CPU ms each": round(20 * cpu, 2)}
    for threshold, trustees in ((5, 9), (10, 19)):
        yield _shamir(primes, hidden.slice(0, 2), threshold, trustees, rng.child(threshold))
        yield _asmuth_bloom(primes, hidden.slice(0, 2), threshold, trustees, rng.child("asmuth", threshold))


def _shamir(primes: Primes, hidden: Ciphertexts, threshold: int, trustees: int, rng: Rng) -> Row:
    some, deal_cpu = timed(lambda: deal_shamir(primes, threshold, trustees, rng.stream("deal")))
    parts, cpu = timed(lambda: {each.place: each.unlock(hidden, rng.stream(each.place)) for each in some[:threshold]})
    key = some[0].key
    right, check_cpu = timed(lambda: key.holds(1, hidden, parts[1]))
    numbers, join_cpu = timed(lambda: key.combine({place: part.values for place, part in parts.items()}))
    assert right and numbers == [5, 5]
    return {
        "what": f"{primes.public.bits} bits: Shamir, {threshold} of {trustees}",
        "dealt, CPU s": round(deal_cpu, 2),
        "a part of two, proof included, CPU ms": round(1000 * cpu / threshold, 1),
        "a part of two checked, CPU ms": round(1000 * check_cpu, 1),
        "two combined, CPU ms": round(1000 * join_cpu, 1),
    }


def _asmuth_bloom(primes: Primes, hidden: Ciphertexts, threshold: int, trustees: int, rng: Rng) -> Row:
    some, deal_cpu = timed(lambda: deal_asmuth_bloom(primes, threshold, trustees, rng.stream("deal")))
    places = [each.place for each in some[:threshold]]
    parts, cpu = timed(lambda: {each.place: each.unlock(hidden, places) for each in some[:threshold]})
    numbers, join_cpu = timed(lambda: some[0].key.combine(parts, hidden))
    assert numbers == [5, 5]
    return {
        "what": f"{primes.public.bits} bits: Asmuth-Bloom, {threshold} of {trustees}",
        "dealt, CPU s": round(deal_cpu, 2),
        "a part of two, CPU ms": round(1000 * cpu / threshold, 1),
        "two combined, CPU ms": round(1000 * join_cpu, 1),
    }


def _gentry() -> Iterator[Row]:
    rng = Rng(seed_of(3))
    chunks = gentry_ramzan.Chunks(GENTRY_CELLS, ENTRY)
    records = [rng.stream("record", number).bytes(ENTRY) for number in range(GENTRY_CELLS)]
    table, cpu = timed(lambda: gentry_ramzan.ChunkTable(records, chunks))
    yield {"what": f"{GENTRY_CELLS} entries of {ENTRY} bytes: the table", "CPU s": round(cpu, 2)}
    for index in (0, 500, 1023):
        client, cpu = timed(partial(gentry_ramzan.Client, chunks, index, rng.stream("client", index)))
        answers, answer_cpu = timed(partial(table.answer, client.query))
        record, read_cpu = timed(partial(client.recover, answers))
        assert record == records[index]
        yield {
            "what": f"entry {index}",
            "query, CPU s": round(cpu, 2),
            "answer, CPU s": round(answer_cpu, 2),
            "read, CPU s": round(read_cpu, 3),
        }


def _security() -> Iterator[Row]:
    for name, n, deviation in (
        ("ours", pir.DIMENSION, 8.0),
        ("SimplePIR's paper", 1024, 6.4),
        ("1,280 with 8", 1280, 8.0),
    ):
        block = core_svp.primal(n, 2**32, deviation)
        classical, _ = core_svp.dual(n, 2**32, deviation)
        quantum, _ = core_svp.dual(n, 2**32, deviation, core_svp.QUANTUM)
        yield {
            "what": f"learning with errors, {name}: dimension {n}, modulus 2^32, deviation {deviation:g}",
            "primal block": block,
            "core-SVP, classical": round(min(classical, core_svp.CLASSICAL * block), 1),
            "core-SVP, quantum": round(min(quantum, core_svp.QUANTUM * block), 1),
        }


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "elgamal": _elgamal,
    "committee": _committee,
    "pir": _pir,
    "paillier2048": partial(_paillier, 2048),
    "paillier3072": partial(_paillier, 3072),
    "gentry": _gentry,
    "security": _security,
}
