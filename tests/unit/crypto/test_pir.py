"""A record comes out whole whichever it is, the query for it looks like any other, and the errors keep their bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.harness.network import seed_of
from tests.harness.tiers import examples
from tests.unit.crypto import core_svp

from covey.arrays import Words32
from covey.crypto import pir
from covey.crypto.pir import DIMENSION, SCALE, Matrix, RetrievalTable, TableShape, ask, errors, read, recover, shape_of
from covey.crypto.rng import Rng, Stream
from covey.errors import InputError

SEED = bytes(range(32))


def streams(count: int, seed: int = 0) -> list[Stream]:
    """One for each client."""
    rng = Rng(seed_of(seed))
    return [rng.stream("client", number) for number in range(count)]


def octets(records: int, size: int, seed: int = 1) -> bytes:
    """Random records."""
    return Rng(seed_of(seed)).stream("table").bytes(records * size)


def fetched(records: bytes, shape: TableShape, indices: list[int], seed: int = 0) -> list[bytes]:
    """All steps, from the table to what the clients read."""
    matrix, table = Matrix(SEED, shape), RetrievalTable(records, shape)
    asked = ask(matrix, indices, streams(len(indices), seed))
    return recover(asked, table.hint(matrix), table.answer(asked.queries))


def cut(records: bytes, size: int) -> list[bytes]:
    """The records, one by one."""
    return [records[start : start + size] for start in range(0, len(records), size)]


# ---- every index


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("records", "size", "stack"), [(1, 1, 1), (3, 5, 1), (64, 64, 1), (61, 7, 3), (200, 64, 8), (37, 3, 37)]
)
def test_every_index_of_a_small_table_gives_its_record(records: int, size: int, stack: int) -> None:
    shape, content = TableShape(records, size, stack), octets(records, size)
    assert fetched(content, shape, list(range(records))) == cut(content, size)


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 6), st.data())
def test_records_of_any_table_come_out_whole(records: int, size: int, stack: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, records - 1))
    content = octets(records, size, seed=records)
    assert fetched(content, TableShape(records, size, stack), [index]) == [cut(content, size)[index]]


def test_a_table_over_several_blocks_gives_its_records_to_many_clients_at_once() -> None:
    records, size = 5000, 16
    shape, content = TableShape(records, size), octets(records, size)
    indices = [0, 1, 1023, 1024, 2047, 2048, 4095, 4096, 4998, 4999]
    assert fetched(content, shape, indices) == [cut(content, size)[index] for index in indices]


@pytest.mark.slow
def test_every_index_of_two_to_the_twelve_ciphertexts_gives_its_record() -> None:
    records, size = 1 << 12, 64
    content = octets(records, size)
    assert fetched(content, shape_of(records, size), list(range(records))) == cut(content, size)


def test_answers_and_hint_are_the_plain_matrix_products() -> None:
    """The kernels against integers of Python, modulo 2^32."""
    shape = TableShape(50, 3, 2)
    content, matrix = octets(50, 3), Matrix(SEED, shape)
    table = RetrievalTable(content, shape)
    plain = np.zeros((shape.rows, shape.columns), dtype=object)
    for index, record in enumerate(cut(content, 3)):
        column, slot = shape.place(index)
        plain[slot * 3 : slot * 3 + 3, column] = [byte - 128 for byte in record]
    queries = Rng(seed_of(5)).stream("x").words(shape.columns).astype(np.uint32).reshape(1, -1)
    assert table.answer(queries).tolist() == [[int(x) % 2**32 for x in plain @ queries[0].astype(object)]]
    blocks = matrix.rows(0).astype(object)
    due = (plain @ blocks) % 2**32
    assert np.array_equal(table.hint(matrix), due.astype(np.uint32))


# ---- the bound on errors


def noisy(byte: int, error: int) -> Words32:
    """A byte with an error on top, as an answer less the hint's part has it."""
    return np.array([((byte - 128) * SCALE + error) % 2**32], dtype=np.uint32)


@pytest.mark.parametrize("byte", [0, 1, 127, 128, 254, 255])
def test_rounding_is_right_up_to_the_bound_and_wrong_just_beyond(byte: int) -> None:
    bound = 1 << 23
    for error in (0, 1, -1, bound - 1, -bound):
        assert read(noisy(byte, error)) == bytes([byte])
    assert read(noisy(byte, bound)) == bytes([(byte + 1) % 256])
    assert read(noisy(byte, -bound - 1)) == bytes([(byte - 1) % 256])


@pytest.mark.parametrize(("first", "others", "right"), [(64, 64, True), (-63, -64, True), (-64, -64, False)])
def test_a_record_survives_the_largest_error_that_the_bound_allows_and_no_larger_one(
    monkeypatch: pytest.MonkeyPatch, first: int, others: int, right: bool
) -> None:
    """A row of -128 in 1,024 columns: errors of 64 add up to -2^23, of -64 to 2^23, which is one too many."""

    def chosen(stream: Stream, count: int) -> Words32:
        return np.array([first] + [others] * (count - 1)).astype(np.uint32)

    monkeypatch.setattr(pir, "errors", chosen)
    assert (fetched(bytes([0, 255]) * 1024, TableShape(1024, 2), [5]) == [bytes([0, 255])]) is right


def test_errors_are_centred_binomial_with_deviation_eight() -> None:
    drawn = errors(Rng(seed_of(3)).stream("e"), 200_000).view(np.int32)
    counts = np.bincount(drawn + 128, minlength=257)
    due = stats.binom.pmf(np.arange(257), 256, 0.5) * len(drawn)
    wide = due > 10
    assert stats.chisquare(counts[wide], due[wide] * counts[wide].sum() / due[wide].sum()).pvalue > 1e-4
    assert drawn.std() == pytest.approx(8, rel=0.01)


def test_the_chance_of_a_wrong_byte_is_as_the_docstring_says() -> None:
    """Hoeffding's bound for the largest table, and the exact tail for a small one below it."""

    def bound(columns: int) -> float:
        return math.log2(2) - 2**25 / columns / math.log(2)

    assert bound(pir.LARGEST_COLUMNS) < -91
    columns = 1 << 22  # beyond what is allowed, so that the tail is large enough to be seen
    deviation = 8 * 128 * math.sqrt(columns)
    exact = math.log2(2 * stats.norm.sf(2**23 / deviation))
    assert exact < bound(columns) < 0


def test_a_table_with_too_many_columns_is_refused() -> None:
    with pytest.raises(InputError, match="stack higher"):
        TableShape(pir.LARGEST_COLUMNS + 1, 1)
    assert TableShape(pir.LARGEST_COLUMNS + 1, 1, 2).columns < pir.LARGEST_COLUMNS


def test_noise_of_a_real_answer_is_as_small_as_it_should_be() -> None:
    """The worst table, all bytes 0 (-128): what is left beside the byte has the deviation that the proof uses."""
    shape = TableShape(4096, 4)
    matrix, table = Matrix(SEED, shape), RetrievalTable(bytes(4096 * 4), shape)
    asked = ask(matrix, [7] * 64, streams(64))
    answers, hint = table.answer(asked.queries), table.hint(matrix)
    left = answers[:, 0] - (hint[0] * asked.secrets).sum(axis=1, dtype=np.uint32) + np.uint32(128 * SCALE)
    noise = left.view(np.int32)
    assert noise.std() == pytest.approx(8 * 128 * 64, rel=0.4)


# ---- what a query shows


def test_queries_for_different_records_have_equal_length_and_look_uniform() -> None:
    matrix = Matrix(SEED, TableShape(4096, 4))
    asked = ask(matrix, [0, 4095] * 8, streams(16))
    for query in asked.queries:
        assert stats.kstest(query / 2**32, "uniform").pvalue > 1e-4
        assert stats.chisquare(np.bincount(query >> 24, minlength=256)).pvalue > 1e-4


def test_no_two_queries_differ_by_something_small() -> None:
    """With a secret used twice the difference would be the errors and the two records' places."""
    matrix = Matrix(SEED, TableShape(4096, 4))
    first, second = ask(matrix, [3, 3], streams(2)).queries
    assert stats.kstest((first - second) / 2**32, "uniform").pvalue > 1e-4
    once = ask(matrix, [3], streams(1)).queries[0]
    again = ask(matrix, [4], streams(1)).queries[0]
    broken = (once - again).view(np.int32)  # the same stream twice, on purpose
    assert np.flatnonzero(np.abs(broken) > 2**20).tolist() == [3, 4]


def test_a_query_depends_on_its_own_stream_and_index_alone() -> None:
    matrix = Matrix(SEED, TableShape(2000, 4))
    alone = ask(matrix, [77], streams(3)[1:2]).queries[0]
    together = ask(matrix, [5, 77, 1999], streams(3)).queries[1]
    assert np.array_equal(alone, together)


def test_secrets_do_not_print() -> None:
    asked = ask(Matrix(SEED, TableShape(8, 1)), [3], streams(1))
    assert "secrets" not in repr(asked) and "slots" not in repr(asked)


def test_a_query_is_the_matrix_times_the_secret_with_small_errors_and_one_mark() -> None:
    """In plain integers: what is left of a query without its secret is at most 128, but for the column's mark."""
    shape = TableShape(3000, 4)
    matrix = Matrix(SEED, shape)
    asked = ask(matrix, [2500], streams(1))
    whole = np.concatenate([matrix.rows(first) for first in range(0, shape.columns, 1024)]).astype(np.uint64)
    masked = (whole * asked.secrets[0].astype(np.uint64) % 2**32).sum(axis=1) % 2**32
    left = (asked.queries[0].astype(np.int64) - masked.astype(np.int64)) % 2**32
    column, _ = shape.place(2500)
    left[column] = (left[column] - SCALE) % 2**32
    small = np.minimum(left, 2**32 - left)
    assert 16 < small.max() <= 128
    assert np.count_nonzero(left) > 2500


def test_the_matrix_follows_from_its_seed_and_looks_uniform() -> None:
    shape = TableShape(4096, 4)
    one, other = Matrix(SEED, shape), Matrix(bytes(32), shape)
    assert np.array_equal(one.rows(1024), Matrix(SEED, shape).rows(1024))
    assert not np.array_equal(one.rows(1024), one.rows(2048))
    assert not np.array_equal(one.rows(0), other.rows(0))
    assert stats.kstest(one.rows(0)[:16].ravel() / 2**32, "uniform").pvalue > 1e-4


# ---- how hard it is to break


@pytest.mark.parametrize(
    ("name", "n", "q", "deviation", "published"),
    [("NewHope512", 512, 12289, 2.0, 112), ("Kyber768", 768, 3329, 1.0, 182), ("NewHope1024", 1024, 12289, 2.0, 257)],
)
def test_the_estimator_gives_the_published_figures_of_other_schemes(
    name: str, n: int, q: int, deviation: float, published: int
) -> None:
    primal, (dual, _) = core_svp.CLASSICAL * core_svp.primal(n, q, deviation), core_svp.dual(n, q, deviation)
    assert min(primal, dual) == pytest.approx(published, abs=1.5)


def test_our_parameters_are_as_hard_as_the_docstring_says() -> None:
    deviation = math.sqrt(pir.ERROR_WORDS * 64 / 2)
    assert deviation == 8
    block = core_svp.primal(DIMENSION, 2**32, deviation)
    classical, dual_block = core_svp.dual(DIMENSION, 2**32, deviation)
    quantum, _ = core_svp.dual(DIMENSION, 2**32, deviation, core_svp.QUANTUM)
    assert (block, dual_block) == (515, 513)
    assert min(classical, core_svp.CLASSICAL * block) == pytest.approx(150, abs=0.5)
    assert min(quantum, core_svp.QUANTUM * block) == pytest.approx(136, abs=0.5)
    assert min(quantum, core_svp.QUANTUM * block) > 128


def test_the_papers_dimension_falls_short_of_128_bits_unless_other_work_is_counted() -> None:
    assert core_svp.CLASSICAL * core_svp.primal(1024, 2**32, 6.4) == pytest.approx(95, abs=0.5)
    assert core_svp.with_overhead(1024, 2**32, 6.4) == pytest.approx(126, abs=0.5)
    assert core_svp.with_overhead(DIMENSION, 2**32, 8) == pytest.approx(181, abs=0.5)


# ---- shapes and what is refused


@pytest.mark.parametrize("records", [1, 100, 1 << 14, 432_000, 1 << 21])
def test_the_shape_that_is_chosen_has_the_fewest_bytes(records: int) -> None:
    def total(shape: TableShape) -> int:
        return shape.query_bytes + shape.answer_bytes + shape.hint_bytes

    chosen = shape_of(records, 64)
    lowest = max(1, -(-records // pir.LARGEST_COLUMNS))
    assert total(chosen) == min(total(TableShape(records, 64, stack)) for stack in range(lowest, lowest + 40))
    assert chosen.columns % 4 == 0 and chosen.columns * chosen.stack >= records


@pytest.mark.parametrize(("records", "size", "stack"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1)])
def test_a_shape_without_records_is_refused(records: int, size: int, stack: int) -> None:
    with pytest.raises(InputError):
        TableShape(records, size, stack)


@pytest.mark.parametrize("index", [-1, 100, 101])
def test_an_index_outside_the_table_is_refused(index: int) -> None:
    with pytest.raises(InputError, match="records 0 to 99"):
        ask(Matrix(SEED, TableShape(100, 4)), [index], streams(1))


def test_wrong_lengths_are_refused_everywhere() -> None:
    shape = TableShape(100, 4)
    matrix, table = Matrix(SEED, shape), RetrievalTable(octets(100, 4), shape)
    asked = ask(matrix, [5], streams(1))
    answers, hint = table.answer(asked.queries), table.hint(matrix)
    refused: list[Callable[[], object]] = [
        lambda: Matrix(bytes(31), shape),
        lambda: RetrievalTable(octets(100, 4)[:-1], shape),
        lambda: RetrievalTable(octets(100, 4) + b"x", shape),
        lambda: table.hint(Matrix(SEED, TableShape(100, 4, 2))),
        lambda: table.answer(asked.queries[:, :-4]),
        lambda: table.answer(asked.queries[0]),
        lambda: table.answer(asked.queries.astype(np.uint64)),
        lambda: ask(matrix, [1, 2], streams(1)),
        lambda: recover(asked, hint[:-1], answers),
        lambda: recover(asked, hint[:, :-1], answers),
        lambda: recover(asked, hint, answers[:, :-1]),
        lambda: recover(asked, hint, np.vstack([answers, answers])),
    ]
    for call in refused:
        with pytest.raises(InputError):
            call()


def test_a_hint_of_another_table_gives_another_record() -> None:
    """There is no integrity: a wrong answer or hint is read as something else, and what is read must be checked."""
    shape = TableShape(100, 16)
    matrix, table, other = (
        Matrix(SEED, shape),
        RetrievalTable(octets(100, 16), shape),
        RetrievalTable(octets(100, 16, 2), shape),
    )
    asked = ask(matrix, [5], streams(1))
    assert recover(asked, other.hint(matrix), table.answer(asked.queries)) != [cut(octets(100, 16), 16)[5]]
