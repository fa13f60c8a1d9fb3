"""Strangers over TLS: each is refused before any role runs, with a sentence of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from tests.harness.certificates import Identity, make_identity
from tests.harness.clock import on_real_clock

from covey.errors import AccessError, CoveyError
from covey.wire import Address, Contact, Meeting

WAIT = 1.0
HELLO = b"covey/1"


def free_address() -> Address:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return Address("127.0.0.1", server.getsockname()[1])


@dataclass
class Town:
    """Alice listens, bob and carol dial; all three are in the roster. Mallory is not."""

    alice: Identity
    bob: Identity
    carol: Identity
    mallory: Identity
    address: Address

    def roster(self, *others: Identity) -> dict[str, Contact]:
        """Alice, with an address, and others, without."""
        return {"alice": self.alice.contact(self.address), **{other.name: other.contact() for other in others}}

    async def wait(self, *others: Identity, seconds: float = WAIT, notice: Callable[[str], None] = print) -> None:
        """Alice waits for others."""
        own = self.alice
        roster = self.roster(*others)
        async with Meeting("alice", roster, certificate=own.certificate, key=own.key, notice=notice).held(seconds):
            raise AssertionError("a role would have run")


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """Fresh keys for all."""
    alice, bob, carol, mallory = (make_identity(name, tmp_path) for name in ("alice", "bob", "carol", "mallory"))
    return Town(alice, bob, carol, mallory, free_address())


def as_client(identity: Identity | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """A client that believes anybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    return context


async def reach(address: Address, context: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Dials until the port is open."""
    while True:
        try:
            return await asyncio.open_connection(
                address.host, address.port, ssl=context, server_hostname="" if context else None
            )
        except ConnectionRefusedError:
            await asyncio.sleep(0.02)


async def knock(address: Address, context: ssl.SSLContext | None, say: bytes = b"") -> bytes:
    """Dials alice, says something, and returns what she says; nothing if she hangs up."""
    with contextlib.suppress(OSError, ssl.SSLError):
        reader, writer = await reach(address, context)
        try:
            if say:
                await reader.readexactly(len(HELLO) + 2 + len("alice"))
                writer.write(say)
                await writer.drain()
            return await reader.read()
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()
    return b""


async def visit(
    town: Town, stranger: Callable[[], Coroutine[object, object, bytes]]
) -> tuple[CoveyError, list[str], bytes]:
    """Alice waits for bob and carol while a stranger comes: her error, what she noticed, what the stranger got."""
    noticed: list[str] = []

    async def wait() -> CoveyError:
        with pytest.raises(CoveyError) as refusal:
            await town.wait(town.bob, town.carol, notice=noticed.append)
        return refusal.value

    async with asyncio.TaskGroup() as group:
        alice = group.create_task(wait())
        visitor = group.create_task(stranger())
    return alice.result(), noticed, visitor.result()


def check_refused(outcome: tuple[CoveyError, list[str], bytes], words: str) -> None:
    """Alice refused the stranger with these words, and the stranger learned nothing."""
    error, noticed, heard = outcome
    assert isinstance(error, AccessError)
    assert words in str(error)
    assert any(words in sentence for sentence in noticed)
    assert b"welcome" not in heard


@on_real_clock
async def test_somebody_without_a_certificate_is_refused(town: Town) -> None:
    check_refused(await visit(town, lambda: knock(town.address, as_client(None))), "presented no certificate")


@on_real_clock
async def test_an_unknown_certificate_is_refused(town: Town) -> None:
    check_refused(await visit(town, lambda: knock(town.address, as_client(town.mallory))), "not in the roster")


@on_real_clock
async def test_an_unknown_certificate_with_a_known_name_is_refused(town: Town, tmp_path: Path) -> None:
    impostor = make_identity("bob", tmp_path / "elsewhere")
    check_refused(await visit(town, lambda: knock(town.address, as_client(impostor))), "not in the roster")


@on_real_clock
async def test_a_known_certificate_over_tls_1_2_is_refused(town: Town) -> None:
    old = as_client(town.bob, ssl.TLSVersion.TLSv1_2)
    check_refused(await visit(town, lambda: knock(town.address, old)), "TLS 1.3")


@on_real_clock
async def test_a_claimed_name_that_is_not_the_certificates_is_refused(town: Town) -> None:
    claim = HELLO + (5).to_bytes(2, "big") + b"carol"
    outcome = await visit(town, lambda: knock(town.address, as_client(town.bob), claim))
    check_refused(outcome, "'bob' was refused: it calls itself by a name")


@on_real_clock
async def test_another_protocol_inside_tls_is_refused(town: Town) -> None:
    outcome = await visit(town, lambda: knock(town.address, as_client(town.bob), b"GET / HTTP/1.1\r\n\r\n"))
    check_refused(outcome, "does not speak covey's protocol")


@on_real_clock
async def test_somebody_who_does_not_speak_tls_is_refused(town: Town) -> None:
    async def shout() -> bytes:
        _, writer = await reach(town.address, None)
        writer.write(b"GET / HTTP/1.1\r\n\r\n" * 20)
        await asyncio.sleep(0.3)
        writer.close()
        return b""

    check_refused(await visit(town, shout), "TLS")


@pytest.mark.thorough
@on_real_clock
async def test_a_certificate_that_expires_while_we_wait_is_refused(town: Town, tmp_path: Path) -> None:
    town.bob = make_identity("bob", tmp_path, ends=timedelta(seconds=1))

    async def late() -> bytes:
        return await knock(town.address, as_client(town.bob))

    async def wait() -> str:
        with pytest.raises(AccessError) as refusal:
            await town.wait(town.bob, seconds=2.5)
        return str(refusal.value)

    async with asyncio.TaskGroup() as group:
        alice = group.create_task(wait())
        await asyncio.sleep(2)
        group.create_task(late())
    assert "its certificate has expired" in alice.result()


@pytest.mark.parametrize(
    ("begins", "ends", "words"),
    [
        (timedelta(days=-9), timedelta(days=-1), "'bob' expired on"),
        (timedelta(days=1), timedelta(days=9), "'bob' is not valid before"),
        (timedelta(hours=1), timedelta(days=9), "set this machine's clock"),
    ],
)
@on_real_clock
async def test_a_certificate_outside_its_dates_is_refused_before_anybody_is_met(
    town: Town, tmp_path: Path, begins: timedelta, ends: timedelta, words: str
) -> None:
    town.bob = make_identity("bob", tmp_path, begins=begins, ends=ends)
    for own in (town.alice, town.bob):
        with pytest.raises(AccessError, match=words):
            async with Meeting(own.name, town.roster(town.bob), certificate=own.certificate, key=own.key).held(WAIT):
                raise AssertionError("a role would have run")


@on_real_clock
async def test_a_stranger_does_not_keep_the_right_ones_from_meeting(town: Town) -> None:
    async def meet(own: Identity) -> tuple[str, ...]:
        roster = town.roster(town.bob)
        async with Meeting(own.name, roster, certificate=own.certificate, key=own.key).held(5) as link:
            return link.peers

    async def silence() -> None:
        _, writer = await reach(town.address, None)
        await asyncio.sleep(0.5)
        writer.close()

    async with asyncio.TaskGroup() as group:
        alice = group.create_task(meet(town.alice))
        for _ in range(5):
            group.create_task(silence())
        group.create_task(knock(town.address, as_client(town.mallory)))
        await asyncio.sleep(0.2)
        bob = group.create_task(meet(town.bob))
    assert (alice.result(), bob.result()) == (("bob",), ("alice",))


@pytest.mark.thorough
@on_real_clock
async def test_a_second_connection_of_a_party_that_is_here_is_refused(town: Town) -> None:
    noticed: list[str] = []

    async def alice() -> None:
        with pytest.raises(AccessError, match="carol"):
            await town.wait(town.bob, town.carol, notice=noticed.append)

    claim = HELLO + (3).to_bytes(2, "big") + b"bob"
    async with asyncio.TaskGroup() as group:
        group.create_task(alice())
        group.create_task(knock(town.address, as_client(town.bob), claim))
        group.create_task(knock(town.address, as_client(town.bob), claim))
    assert "a second connection of party 'bob' was refused" in noticed


@contextlib.contextmanager
def answering(
    town: Town, identity: Identity, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, say: bytes = b""
) -> Iterator[None]:
    """Somebody else answers one call at alice's address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    context.minimum_version = context.maximum_version = version

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError), server, context.wrap_socket(server, server_side=True) as secure:
            connection, _ = secure.accept()
            with connection:
                connection.sendall(say)
                connection.recv(1)

    server = socket.create_server((town.address.host, town.address.port))
    thread = threading.Thread(target=serve, args=(server,))
    thread.start()
    yield
    thread.join(5)


async def dial(town: Town) -> str:
    """Bob dials alice, and is told why not."""
    roster = {**town.roster(town.bob), "carol": town.carol.contact(free_address())}
    with pytest.raises(AccessError) as refusal:
        async with Meeting("bob", roster, certificate=town.bob.certificate, key=town.bob.key).held(5):
            raise AssertionError("a role would have run")
    return str(refusal.value)


@on_real_clock
async def test_a_stranger_at_the_right_address_is_refused(town: Town) -> None:
    with answering(town, town.mallory):
        assert "its certificate is not in the roster" in await dial(town)


@on_real_clock
async def test_another_party_at_the_address_is_refused(town: Town) -> None:
    with answering(town, town.carol):
        assert "party 'carol' answers at the address of party 'alice'" in await dial(town)


@on_real_clock
async def test_an_answer_over_tls_1_2_is_refused(town: Town) -> None:
    with answering(town, town.alice, ssl.TLSVersion.TLSv1_2):
        assert "TLS 1.3" in await dial(town)


@on_real_clock
async def test_an_answer_under_a_claimed_name_is_refused(town: Town) -> None:
    with answering(town, town.alice, say=HELLO + (5).to_bytes(2, "big") + b"carol"):
        assert "a name that is not its certificate's" in await dial(town)


@on_real_clock
async def test_a_party_that_is_not_in_the_others_roster_is_told_so(town: Town) -> None:
    async def alice() -> None:
        with pytest.raises(AccessError, match="'carol' did not come"):
            await town.wait(town.carol)

    async with asyncio.TaskGroup() as group:
        group.create_task(alice())
        bob = group.create_task(dial(town))
    assert "see that its roster has our certificate" in bob.result()
    assert town.bob.contact().fingerprint[:16] in bob.result()
