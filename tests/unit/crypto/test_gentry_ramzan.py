"""The paper's private retrieval: every record comes out, the modulus does not say which, and nonsense is refused."""

from __future__ import annotations

import gmpy2
import pytest
from tests.harness.network import seed_of

from covey.crypto.gentry_ramzan import LARGEST, Chunks, ChunkTable, Client, Query
from covey.crypto.rng import Rng
from covey.errors import InputError

TINY = 256


def table_of(records: int, size: int, bits: int = TINY, seed: int = 1) -> tuple[list[bytes], ChunkTable]:
    """Random records, the first of them all zeros and the last all ones."""
    rng = Rng(seed_of(seed))
    content = [rng.stream(number).bytes(size) for number in range(records)]
    content[0], content[-1] = bytes(size), b"\xff" * size
    return content, ChunkTable(content, Chunks(records, size, bits, least_bits=TINY))


def client(table: ChunkTable, index: int, seed: int = 2) -> Client:
    return Client(table.chunks, index, Rng(seed_of(seed)).stream("client", index))


@pytest.mark.parametrize(("records", "size"), [(1, 1), (5, 5), (24, 13), (40, 64)])
def test_every_index_of_a_small_table_gives_its_record(records: int, size: int) -> None:
    content, table = table_of(records, size)
    for index in range(records):
        asking = client(table, index)
        assert asking.recover(table.answer(asking.query)) == content[index]


@pytest.mark.slow
def test_a_thousand_ciphertexts_under_a_modulus_of_real_size() -> None:
    content, table = table_of(1024, 64, 2048)
    assert (table.chunks.number, table.chunks.size) == (2, 32)
    for index in (0, 511, 1023):
        asking = client(table, index)
        assert asking.query.modulus.bit_length() == 2048
        assert asking.recover(table.answer(asking.query)) == content[index]


def test_the_modulus_hides_the_records_prime_power_and_no_other() -> None:
    _, table = table_of(6, 5)
    for index in range(6):
        asking = client(table, index)
        other = asking.query.modulus // asking._prime
        prime, exponent = table.chunks.power(index)
        assert gmpy2.is_prime(asking._prime) and gmpy2.is_prime(other)
        assert (asking._prime - 1) % prime**exponent == 0
        rest = (asking._prime - 1) // prime**exponent // 2
        assert gmpy2.is_prime(rest)


def test_prime_powers_leave_a_fourth_of_the_modulus_and_exceed_every_chunk() -> None:
    """From a fourth of the bits on, Coppersmith's method factors the modulus."""
    for records, size, bits in ((1000, 64, 2048), (4096, 512, 3072), (10, 7, TINY)):
        chunks = Chunks(records, size, bits, least_bits=TINY)
        for index in (0, records // 2, records - 1):
            prime, exponent = chunks.power(index)
            assert 1 << (8 * chunks.size) <= prime**exponent < 1 << (bits // 5 + 1)


@pytest.mark.thorough
def test_the_modulus_leaves_every_remainder_alike() -> None:
    """If the second prime were a safe one, a modulus of 1 modulo 3 would tell that the first record is not meant."""
    _, table = table_of(2, 1)
    for index in (0, 1):
        rng = Rng(seed_of(5 + index))
        left = [Client(table.chunks, index, rng.stream(run)).query.modulus % 3 for run in range(40)]
        assert 9 < left.count(1) < 31
        assert left.count(0) == 0


def test_two_queries_for_one_record_have_nothing_in_common() -> None:
    _, table = table_of(3, 2)
    one, other = client(table, 1, 1).query, client(table, 1, 2).query
    assert gmpy2.gcd(one.modulus, other.modulus) == 1 and one.generator != other.generator


def test_the_client_does_not_print() -> None:
    _, table = table_of(2, 1)
    assert repr(client(table, 0)) == "Client(…)"


# ---- what is refused


def test_a_malformed_query_is_refused() -> None:
    _, table = table_of(3, 2)
    query = client(table, 1).query
    n = query.modulus
    for bad in (
        Query(n >> 1, query.generator),
        Query(n << 1, query.generator),
        Query(int(gmpy2.next_prime(n)), query.generator),
        Query(n + 3 - n % 3, query.generator),
        Query(n, 0),
        Query(n, 1),
        Query(n, n - 1),
        Query(n, n + 2),
        Query(n, client(table, 1)._prime.__int__()),
        Query(-n, query.generator),
    ):
        with pytest.raises(InputError):
            table.answer(bad)


def test_a_malformed_answer_is_refused() -> None:
    _, table = table_of(24, 13)
    asking = client(table, 3)
    answers = table.answer(asking.query)
    n = asking.query.modulus
    for bad in ([], answers[:-1], [*answers, 1], [0, *answers[1:]], [n, *answers[1:]], [-1, *answers[1:]]):
        with pytest.raises(InputError):
            asking.recover(bad)


def test_a_number_that_is_no_chunk_is_refused() -> None:
    """The base to a power between the chunk's largest number and the prime power: no honest table answers that."""
    _, table = table_of(24, 13)
    asking = client(table, 3)
    prime, exponent = table.chunks.power(3)
    wrong = pow(asking.query.generator, prime**exponent - 1, asking.query.modulus)
    with pytest.raises(InputError, match="no chunk"):
        asking.recover([wrong] * table.chunks.number)


@pytest.mark.parametrize(("records", "size", "bits"), [(0, 1, 256), (LARGEST + 1, 1, 256), (1, 0, 256), (1, 1, 1024)])
def test_a_table_that_cannot_be_is_refused(records: int, size: int, bits: int) -> None:
    with pytest.raises(InputError):
        Chunks(records, size, bits, least_bits=2048 if bits == 1024 else TINY)


def test_a_table_of_other_records_than_announced_is_refused() -> None:
    for content in ([b"ab"], [b"ab", b"c"], [b"ab", b"cd", b"ef"]):
        with pytest.raises(InputError, match="announced"):
            ChunkTable(content, Chunks(2, 2, TINY, least_bits=TINY))


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_outside_the_table_is_refused(index: int) -> None:
    _, table = table_of(3, 2)
    with pytest.raises(InputError, match="records 0 to 2"):
        client(table, index)
