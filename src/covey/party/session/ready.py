"""Examines, before the day of a run, what a party of a study needs: keys, certificates, port, peers, disk, memory."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from covey.doctor import Finding, available_memory, existing
from covey.errors import CoveyError, InputError
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.plan import Plan
from covey.party.session.handshake import CLOCKS_APART
from covey.sizes import spell
from covey.study import Study
from covey.wire.contact import Address, dials
from covey.wire.probe import Probed, Prober
from covey.wire.tls import open_port

SOON = timedelta(days=14)
QUICK_SECONDS, LINGER_SECONDS = 1.0, 0.5


@dataclass(frozen=True)
class Examination:
    """The party to examine, and how long its peers are waited for."""

    study: Study
    party: str
    keys: Path
    out: Path
    plan: Plan
    journal: int
    listen: Address | None = None
    wait: float = QUICK_SECONDS
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def findings(self) -> list[Finding]:
        """Everything that was found; peers are not called where keys or certificates are unfit."""
        try:
            roster = Roster.of(self.study)
        except CoveyError as error:
            return [Finding("roster", False, str(error), "complete the study's parties"), *self._machine()]
        found = [*self._keys(roster), *self._certificates(roster)]
        if all(each.fit for each in found):
            with asyncio.Runner() as runner:
                found += runner.run(self._peers(roster))
        return [*found, *self._machine()]

    def _keys(self, roster: Roster) -> Iterator[Finding]:
        try:
            own = keyring.load(self.keys)
            if roster.certificates[self.party].der != own.certificate.der:
                raise InputError(
                    f"{self.keys}: are not the keys whose certificate the study has for party {self.party!r}"
                )
        except CoveyError as error:
            yield Finding("keys", False, str(error), "name the right ones with --keys, or give the others the new one")
        else:
            yield Finding("keys", True, f"{self.keys}: those of the study's certificate")

    def _certificates(self, roster: Roster) -> Iterator[Finding]:
        for name, own in sorted(roster.certificates.items()):
            what = f"certificate of {name}"
            found = f"from {own.begins:%Y-%m-%d} to {own.ends:%Y-%m-%d}"
            if not own.begins <= self.now <= own.ends:
                yield Finding(what, False, f"{found}, not valid today", f"covey keys new {name}, and a study with it")
            elif own.ends - self.now < SOON:
                yield Finding(what, True, f"{found}: ends soon", f"covey keys new {name}, and a study with it")
            else:
                yield Finding(what, True, found)

    async def _peers(self, roster: Roster) -> list[Finding]:
        contacts = roster.contacts
        own = contacts[self.party]
        try:
            called = [peer for name, peer in contacts.items() if name != self.party and dials(own, peer)]
        except InputError as error:
            return [Finding("addresses", False, str(error), "give one of them an address")]
        callers = [name for name in contacts if name != self.party and contacts[name] not in called]
        where, found = self.listen or own.address, []
        if callers and where is not None:
            found.append(_port(where))
        elif not callers:
            found.append(Finding("port", True, "none is needed: this party dials all others"))
        prober = Prober(self.party, contacts, *keyring.files(self.keys, self.party))
        awaited, all_came = set(callers), asyncio.Event()

        def came(name: str) -> None:
            awaited.discard(name)
            if not awaited:
                all_came.set()

        async with asyncio.TaskGroup() as group:
            work = [prober.probe(peer, peer.address, self.wait) for peer in called if peer.address is not None]
            calls = [group.create_task(each) for each in work]
            if callers and where is not None and found[0].fit:
                answering = group.create_task(prober.answer(where, came))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.wait):
                        await all_came.wait()
                await asyncio.sleep(LINGER_SECONDS)  # for who still reads our clock
                answering.cancel()
        probed = [call.result() for call in calls]
        for peer, answer in zip(called, probed, strict=True):
            found += _called(peer.name, answer)
        return [*found, *(self._caller(name, name not in awaited) for name in sorted(callers))]

    def _caller(self, name: str, came: bool) -> Finding:
        if came:
            return Finding(f"party {name}", True, "it called us, with the certificate of the study")
        found = f"it calls us, and did not within {self.wait:g} s: not examined"
        return Finding(
            f"party {name}",
            self.wait <= QUICK_SECONDS,
            found,
            f"run covey doctor --wait on both sides at the same time; party {name!r} must reach our port",
        )

    def _machine(self) -> Iterator[Finding]:
        place = existing(self.out)
        yield _enough("disk", shutil.disk_usage(place).free, self.plan.disk(self.journal), f"free some in {place}")
        yield _enough("memory for the plan", available_memory(), self.plan.memory, "end other programs, or add some")


def _port(where: Address) -> Finding:
    try:
        open_port(where).close()
    except InputError as error:
        return Finding("port", False, str(error), "end what uses it, or choose another with --listen")
    return Finding("port", True, f"{where} can be listened on")


def _called(name: str, probed: Probed) -> Iterator[Finding]:
    yield Finding(f"party {name}", probed.reached, probed.found, probed.advice)
    if probed.ahead is not None:
        apart = f"{abs(probed.ahead):.0f} s {'ahead of' if probed.ahead > 0 else 'behind'} ours"
        fit = abs(probed.ahead) <= CLOCKS_APART
        yield Finding(f"clock of {name}", fit, apart, "" if fit else "set the wrong one (timedatectl set-ntp true)")


def _enough(name: str, there: int, needed: int, advice: str) -> Finding:
    fit = there >= needed
    return Finding(name, fit, f"{spell(there)} free, about {spell(needed)} needed", "" if fit else advice)
