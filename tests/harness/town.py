"""Parties that meet over real TLS on this machine, in one process: for tests that need sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.harness.certificates import Identity, make_identity
from tests.harness.parties import Outcome, Role, play

from covey.wire import Address, Contact, Link, Meeting, gather
from covey.wire.connection import HEARTBEAT_SECONDS

T = TypeVar("T")


def free_addresses(count: int) -> list[Address]:
    """That many ports of the loopback address that were free a moment ago."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [Address("127.0.0.1", server.getsockname()[1]) for server in servers]
    for server in servers:
        server.close()
    return addresses


@dataclass(frozen=True)
class Town:
    """Parties with keys, certificates and addresses."""

    identities: Mapping[str, Identity]
    roster: Mapping[str, Contact]

    @classmethod
    def found(cls, names: Iterable[str], folder: Path) -> Town:
        """Makes keys and a roster for these parties."""
        identities = {name: make_identity(name, folder) for name in names}
        addresses = free_addresses(len(identities))
        roster = {
            name: identity.contact(address)
            for (name, identity), address in zip(identities.items(), addresses, strict=True)
        }
        return cls(identities, roster)

    def connect(
        self, name: str, *, wait: float = 20, heartbeat: float = HEARTBEAT_SECONDS
    ) -> AbstractAsyncContextManager[Link]:
        """That party's way to the others."""
        own = self.identities[name]
        return Meeting(name, self.roster, certificate=own.certificate, key=own.key, heartbeat=heartbeat).held(wait)

    async def play_all(self, roles: Mapping[str, Role[T]], seed: int = 0) -> dict[str, Outcome[T]]:
        """Runs every party over TLS."""

        async def live(name: str) -> Outcome[T]:
            async with self.connect(name) as link:
                return await play(link, roles[name], seed)

        names = sorted(roles)
        return dict(zip(names, await gather(*(live(name) for name in names)), strict=True))
