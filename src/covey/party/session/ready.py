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
from covey.party.identity.relay_config import FIXED_IN, FLAWS, is_current
from covey.party.identity.roster import Roster
from covey.party.plan import Plan
from covey.party.session.handshake import CLOCKS_APART
from covey.plain import plain
from covey.sizes import spell
from covey.study import Study
from covey.wire.contact import Address, Contact, dials, meet_at_relay
from covey.wire.probe import Probed, Prober
from covey.wire.relay import Exchange, RelaySite
from covey.wire.relay.broker import Broker, Signer
from covey.wire.relay.route import Blocked, presented, told_time
from covey.wire.tls import open_port

SOON = timedelta(days=14)
QUICK_SECONDS, LINGER_SECONDS = 1.0, 0.5
_DAY = "%Y-%m-%d %H:%M"


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
    relay_only: bool = False
    """True if nothing but the way to the relay is examined."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def findings(self) -> list[Finding]:
        """Everything that was found; peers are not called where keys or certificates are unfit."""
        try:
            roster = Roster.of(self.study)
        except CoveyError as error:
            return [Finding("roster", False, str(error), "complete the study's parties"), *self._machine()]
        if self.relay_only and roster.relay is None:
            return [Finding("relay", False, "the study has no [relay]", "leave out --relay, or add a relay's url")]
        found = [*self._keys(roster), *self._certificates(roster)]
        if all(each.fit for each in found):
            with asyncio.Runner() as runner:
                if roster.relay is not None:
                    found += runner.run(self._relay(roster.relay))
                if not self.relay_only and all(each.fit for each in found if each.name.startswith("relay")):
                    found += runner.run(self._peers(roster))
        return found if self.relay_only else [*found, *self._machine()]

    async def _relay(self, site: RelaySite) -> list[Finding]:
        """Goes the way to the relay, step by step."""
        found: list[Finding] = []

        def passed(step: str, what: str) -> None:
            found.append(Finding(f"relay, {step}", True, what))

        _, key = keyring.files(self.keys, self.party)
        try:
            wire = await Broker(site, Signer.of_file(key), lambda sentence: None).visit(passed)
        except Blocked as blocked:
            return [*found, *await self._blocked(site, blocked)]
        wire.writer.transport.abort()
        version = wire.text("version")
        current, fixed = is_current(version), " or ".join(".".join(map(str, each)) for each in FIXED_IN)
        advice = "" if current else f"ask for {fixed} or later: this one has {FLAWS}"
        passed("access", "the broker knows our key")
        fit = current or not site.parts.scheme.startswith("ws")  # the flaws that strangers can use are in that door
        return [*found, await self._relay_clock(site), Finding("broker", fit, f"nats-server {version}", advice)]

    async def _blocked(self, site: RelaySite, blocked: Blocked) -> list[Finding]:
        """The thing that blocks the way; where it is a certificate, with what it says, and with the clocks."""
        found, clock = blocked.found, []
        if blocked.step == "TLS" and (shown := await presented(site)) is not None:
            begins, ends = shown.not_valid_before_utc, shown.not_valid_after_utc
            issuer = plain(shown.issuer.rfc4514_string())
            found += f"; it was issued by {issuer} for {begins:{_DAY}} to {ends:{_DAY}} UTC"
            if not begins <= self.now <= ends:
                found += f", and this machine's clock says {self.now:{_DAY}} UTC"
                clock.append(await self._relay_clock(site))
        return [Finding(f"relay, {blocked.step}", False, found, blocked.advice), *clock]

    async def _relay_clock(self, site: RelaySite) -> Finding:
        """Compares this machine's clock with that of the broker, where it tells its time."""
        told = await told_time(site)
        if told is None:
            what = "not compared: a broker tells its time at ws:// and wss:// alone"
            return Finding("relay, clock", True, what, "compare it with the others' clocks: covey doctor --wait")
        return _compared("relay, clock", (told - self.now).total_seconds(), "the broker's is ")

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
        relay = roster.relay
        others = [peer for name, peer in contacts.items() if name != self.party]
        try:
            called = [peer for peer in others if dials(own, peer, relay=relay is not None)]
        except InputError as error:
            return [Finding("addresses", False, str(error), "give one of them an address, or the study a relay")]
        far = [peer for peer in others if relay is not None and meet_at_relay(own, peer)]
        callers = [peer.name for peer in others if peer not in called]
        where, found = self.listen or own.address, []
        if any(peer not in called and peer not in far for peer in others) and where is not None:
            found.append(_port(where))
        else:
            why = "others are met at the relay" if far else "this party dials all others"
            found.append(Finding("port", True, f"none is needed: {why}"))
            where = None
        files = keyring.files(self.keys, self.party)
        async with contextlib.AsyncExitStack() as stack:
            exchange = None
            if relay is not None and far:
                names = [peer.name for peer in far]
                exchange = Exchange.of_party(self.party, names, relay, files[1], lambda sentence: None)
                await stack.enter_async_context(exchange.open())
            prober = Prober(self.party, contacts, *files, exchange)
            awaited, probed = await self._meet(prober, exchange, where if found[0].fit else None, called, far, callers)
        for peer, answer in zip(called, probed, strict=True):
            found += _called(peer.name, answer)
        return [*found, *(self._caller(name, name not in awaited) for name in sorted(callers))]

    async def _meet(
        self,
        prober: Prober,
        exchange: Exchange | None,
        where: Address | None,
        called: list[Contact],
        far: list[Contact],
        callers: list[str],
    ) -> tuple[set[str], list[Probed]]:
        """Calls and answers for as long as it may take: who did not call us, and what came of our calls."""
        awaited, all_came = set(callers), asyncio.Event()

        def came(name: str) -> None:
            awaited.discard(name)
            if not awaited:
                all_came.set()

        async with asyncio.TaskGroup() as group:
            work = [prober.probe(peer, None if peer in far else peer.address, self.wait) for peer in called]
            calls = [group.create_task(each) for each in work]
            answering = [] if where is None else [group.create_task(prober.answer(where, came))]
            if exchange is not None:
                answering.append(group.create_task(prober.answer_relayed(exchange, came)))
            if answering and callers:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.wait):
                        await all_came.wait()
                await asyncio.sleep(LINGER_SECONDS)  # for who still reads our clock
            for each in answering:
                each.cancel()
        return awaited, [call.result() for call in calls]

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
        yield _compared(f"clock of {name}", probed.ahead)


def _compared(name: str, ahead: float, whose: str = "") -> Finding:
    """Another clock beside ours, of which it is so many seconds ahead."""
    fit = abs(ahead) <= CLOCKS_APART
    apart = f"{whose}{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} ours"
    return Finding(name, fit, apart, "" if fit else "set the wrong one (timedatectl set-ntp true)")


def _enough(name: str, there: int, needed: int, advice: str) -> Finding:
    fit = there >= needed
    return Finding(name, fit, f"{spell(there)} free, about {spell(needed)} needed", "" if fit else advice)
