"""Parties that meet at a real broker on this machine, in one process; the broker can be killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from tests.harness.certificates import Identity, make_identity
from tests.harness.parties import Outcome, Role, play
from tests.harness.town import free_addresses

from covey.errors import InputError
from covey.party.identity import keys as keyring
from covey.party.identity import relay_config
from covey.party.identity.keys import Keys
from covey.party.simulate import broker
from covey.wire import Contact, Link, Meeting, gather
from covey.wire.connection import HEARTBEAT_SECONDS
from covey.wire.contact import Address
from covey.wire.relay import RelaySite

T = TypeVar("T")


def require_server() -> None:
    """Skips a test where there is no broker."""
    try:
        broker.find_server()
    except InputError:
        pytest.skip("nats-server is not on this machine")


def public_key(contact: Contact) -> bytes:
    """The ed25519 key of a certificate."""
    key = x509.load_der_x509_certificate(contact.certificate).public_key()
    assert isinstance(key, Ed25519PublicKey)
    return key.public_bytes_raw()


@dataclass
class Hamlet:
    """Parties that nobody can dial, and a broker."""

    identities: Mapping[str, Identity]
    roster: Mapping[str, Contact]
    site: RelaySite
    folder: Path
    _running: ExitStack

    @classmethod
    def found(cls, names: Iterable[str], folder: Path, scheme: str = "nats", extra: str = "") -> Hamlet:
        """Makes keys, a roster without addresses and the broker's configuration, with extra lines."""
        return cls.of({name: make_identity(name, folder) for name in names}, folder, scheme, extra)

    @classmethod
    def of_keys(cls, keys: Mapping[str, Keys], folder: Path) -> Hamlet:
        """The same for parties with these keys, which are written to files."""
        identities = {}
        for name, own in keys.items():
            if not (folder / name).exists():
                keyring.save(own, folder / name)
            identities[name] = Identity(name, *keyring.files(folder / name, name))
        return cls.of(identities, folder)

    @classmethod
    def of(cls, identities: Mapping[str, Identity], folder: Path, scheme: str = "nats", extra: str = "") -> Hamlet:
        """The broker's configuration for these parties."""
        require_server()
        roster = {name: identity.contact() for name, identity in identities.items()}
        (address,) = free_addresses(1)
        pinned = make_identity("relay", folder)
        certificate = pinned.contact().certificate if scheme in ("tls", "wss") else None
        site = RelaySite.of(f"{scheme}://{address}", bytes(32), roster.values(), certificate)
        public = {name: public_key(contact) for name, contact in roster.items()}
        for name, text in relay_config.texts(site, public, address).items():
            more = extra if name == relay_config.CONFIG else ""
            (folder / name).write_text(text + more)
        return cls(identities, roster, site, folder, ExitStack())

    def start(self) -> None:
        """Starts the broker."""
        self._running.enter_context(broker.serving(self.folder, self.site.address))

    def stop(self) -> None:
        """Ends the broker, as a crash would."""
        self._running.close()

    @contextlib.contextmanager
    def broker(self) -> Iterator[Hamlet]:
        """Runs the broker while the block runs."""
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def at(self, address: Address) -> Hamlet:
        """The same, where the broker is reached at another address."""
        return replace(self, site=replace(self.site, url=f"nats://{address}"))

    def connect(
        self, name: str, *, wait: float = 60, heartbeat: float = HEARTBEAT_SECONDS
    ) -> AbstractAsyncContextManager[Link]:
        """That party's way to the others."""
        own = self.identities[name]
        return Meeting(
            name, self.roster, certificate=own.certificate, key=own.key, heartbeat=heartbeat, relay=self.site
        ).held(wait)

    async def play_all(self, roles: Mapping[str, Role[T]], seed: int = 0) -> dict[str, Outcome[T]]:
        """Runs every party over the relay."""

        async def live(name: str) -> Outcome[T]:
            async with self.connect(name) as link:
                return await play(link, roles[name], seed)

        names = sorted(roles)
        return dict(zip(names, await gather(*(live(name) for name in names)), strict=True))

    async def restart(self, pause: float = 0.0) -> None:
        """Ends the broker and starts it again, without holding up the parties."""
        await asyncio.to_thread(self.stop)
        await asyncio.sleep(pause)
        await asyncio.to_thread(self.start)
