"""Waters' scheme: what is encrypted to a name opens with the name's key, and ciphertexts compute."""

from __future__ import annotations

import copy

import pytest
from tests.harness.network import seed_of

from covey.crypto import ibe, pairing
from covey.crypto.ibe import AuthorityParameters, Ciphertexts, IdentityKey, Master, Recipient, name_of
from covey.crypto.rng import Rng, Stream
from covey.errors import InputError

NORTH = name_of("north", "diabetes-2026", "2026-11")
SOUTH = name_of("south", "diabetes-2026", "2026-11")


def stream(*labels: str) -> Stream:
    return Rng(seed_of(3)).stream("ibe", *labels)


@pytest.fixture(scope="module")
def master() -> Master:
    return Master(stream("master"))


@pytest.fixture(scope="module")
def north(master: Master) -> Recipient:
    return Recipient.of(master.parameters, NORTH)


@pytest.fixture(scope="module")
def key(master: Master) -> IdentityKey:
    return master.issue(NORTH, stream("key"))


def test_what_is_encrypted_to_a_name_opens_with_its_key(north: Recipient, key: IdentityKey) -> None:
    sealed = north.seal([0, 1, 17, -5], stream("open"))
    assert key.opened(sealed) == ibe.encoded([0, 1, 17, -5])
    assert key.zeros(sealed) == [True, False, False, False]


def test_another_name_s_key_and_another_epoch_s_open_nothing(master: Master, north: Recipient) -> None:
    sealed = north.seal([0, 0], stream("others"))
    for name in (SOUTH, name_of("north", "diabetes-2026", "2026-12")):
        assert master.issue(name, stream("key of", name)).zeros(sealed) == [False, False]


def test_a_key_fits_its_name_and_no_other(master: Master, key: IdentityKey) -> None:
    assert key.fits(master.parameters, NORTH)
    assert not key.fits(master.parameters, SOUTH)
    assert not key.fits(Master(stream("another")).parameters, NORTH)


def test_two_keys_of_a_name_differ_and_open_alike(master: Master, north: Recipient, key: IdentityKey) -> None:
    again = master.issue(NORTH, stream("again"))
    assert again.pack() != key.pack()
    assert again.zeros(north.seal([0, 2], stream("alike"))) == [True, False]


def test_ciphertexts_add_up_are_scaled_and_re_randomised(north: Recipient, key: IdentityKey) -> None:
    left, right = north.seal([3, 10], stream("left")), north.seal([4, -10], stream("right"))
    assert key.opened(left.plus(right)) == ibe.encoded([7, 0])
    assert key.opened(left.plus_numbers([-3, 1])) == ibe.encoded([0, 11])
    assert key.opened(left.scaled([5, 7])) == ibe.encoded([15, 70])
    assert key.opened(left.total()) == ibe.encoded([13])
    assert key.opened(left.take([1, 0, 1])) == ibe.encoded([10, 3, 10])
    fresh = north.rerandomised(left, stream("fresh"))
    assert key.opened(fresh) == ibe.encoded([3, 10])
    assert not set(map(bytes, _parts(fresh))) & set(map(bytes, _parts(left)))


def test_an_unknown_number_is_never_zero_and_never_the_same(north: Recipient, key: IdentityKey) -> None:
    opened = key.opened(north.seal([0] * 6, stream("unknown"), bytes(6)))
    assert len({element.serialize() for element in opened}) == 6
    assert not any(element.is_one() for element in opened)


def test_many_powers_by_a_table_equal_single_ones(north: Recipient, key: IdentityKey) -> None:
    numbers = list(range(-100, 100))
    tabled = north.seal(numbers, stream("many"))
    assert key.opened(tabled.take([0, 100, 199])) == ibe.encoded([-100, 0, 99])
    restored = Recipient.restore(north.raw).seal(numbers[:3], stream("restored"))
    assert key.opened(restored) == ibe.encoded(numbers[:3])


def test_ciphertexts_survive_the_wire(north: Recipient, key: IdentityKey) -> None:
    raw = north.seal([0, 9], stream("wire")).pack()
    assert len(raw) == 2 * ibe.CIPHERTEXT_BYTES
    assert key.zeros(Ciphertexts.read(raw, stream("read"))) == [True, False]


def test_parameters_and_keys_survive_the_wire(master: Master, key: IdentityKey) -> None:
    read = AuthorityParameters.unpack(master.parameters.pack())
    assert read.digest == master.parameters.digest
    assert IdentityKey.unpack(key.pack()).fits(read, NORTH)


def test_damaged_parameters_keys_and_ciphertexts_are_refused(
    master: Master, north: Recipient, key: IdentityKey
) -> None:
    parameters, private = master.parameters.pack(), key.pack()
    for raw in (parameters[:-1], parameters + b"\0", _flipped(parameters, 60), bytes(len(parameters))):
        with pytest.raises(ValueError):
            AuthorityParameters.unpack(raw)
    for raw in (private[:-1], _flipped(private, 3), bytes(len(private))):
        with pytest.raises(ValueError):
            IdentityKey.unpack(raw)
    sealed = north.seal([1, 2], stream("damaged")).pack()
    for raw in (sealed[:-1], _flipped(sealed, 5), _flipped(sealed, 580), _flipped(sealed, 640), bytes(len(sealed))):
        with pytest.raises(InputError):
            Ciphertexts.read(raw, stream("damaged", str(raw[:9]), str(raw[570:650]), str(len(raw))))


def test_a_secret_neither_prints_nor_is_copied(master: Master, key: IdentityKey) -> None:
    assert repr(master) == "Master(…)" and repr(key) == "IdentityKey(…)"
    for secret in (master, key):
        with pytest.raises(TypeError):
            copy.copy(secret)


def _parts(sealed: Ciphertexts) -> list[bytes]:
    return [part.serialize() for column in (sealed.first, sealed.second, sealed.third) for part in column]


def _flipped(raw: bytes, place: int) -> bytes:
    return raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]


def test_the_pairing_s_scalars_are_those_of_the_group() -> None:
    assert pairing.GENERATOR_1 * pairing.scalar(pairing.ORDER + 5) == pairing.GENERATOR_1 * pairing.scalar(5)
    assert all(0 < number < pairing.ORDER for number in pairing.draw(stream("numbers"), 50))
