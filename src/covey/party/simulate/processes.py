"""All parties of a study on this machine, each a process of its own, over TLS on loopback with keys made for it.

The parties know nothing of the simulation but a seed, where one was given; what each leaves in its folder is what a
real run leaves. The joint files are made from the parties' folders afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from covey.crypto.rng import derive, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, InputError
from covey.party.identity import keys
from covey.party.record.folder import RunFolder
from covey.party.record.names import CERTIFICATE, CLASSES, RELEASE, SUMMARY
from covey.party.record.summary import join_summaries
from covey.party.session.progress import Listener, Progress, writing
from covey.party.simulate import broker
from covey.party.simulate.stage import most_telling, rebuild, require_data
from covey.party.simulate.starter import Order, PartyProcess, Starter
from covey.party.simulate.worker import Event
from covey.protocols import of_study
from covey.sources.folders import stays_on_engine
from covey.study import Study, document
from covey.study.study import RESPONDENTS
from covey.summary import Summary
from covey.wire.depth import beside

WAIT_SECONDS = 120.0
"""Seconds that parties wait for each other,"""
COUNTING_SECONDS = 3600.0
"""and where one has its table counted on an engine first."""
GRACE_SECONDS = 5.0
"""Seconds that the others have to end by themselves once a party has failed."""


@dataclass(frozen=True)
class SimulationSetting:
    """The setting of a simulation."""

    seed: Secret | None = None
    latency: float = 0.0
    bandwidth: float | None = None
    listener: Listener = lambda snapshot: None
    notice: Callable[[str], None] = lambda sentence: None
    relay: bool = False
    """True if the parties meet at a broker, which is started for them, and not at each other's ports."""


def simulate(
    study: Study, data: Mapping[str, str], out: Path, setting: SimulationSetting, starter: Starter | None = None
) -> Summary:
    """Runs every party as a process and returns the joint summary; `starter` may have been loading already.

    Raises what stopped the first party that failed; what each party had learned by then is in its folder.
    """
    if setting.relay:
        broker.find_server()
    if of_study(study).printed is not None and study.partition == "respondents":
        return _survey(study, data, out, setting)
    if study.partition != "respondents":
        require_data(study, data)
    folder = RunFolder(out)
    folder.prepare()
    prepared = _prepare(study, out, setting)
    letters = derive(setting.seed or fresh_seed(), "letters").reveal().hex() if study.enrols else None
    orders = [_order(prepared, party.name, data, out, setting, letters) for party in prepared.parties]
    met = broker.running(prepared, out / "relay") if setting.relay else contextlib.nullcontext()
    ready = Starter() if starter is None else contextlib.nullcontext(starter)
    with met, ready as forking, asyncio.Runner() as runner:
        runner.run(_supervise(forking, orders, setting))
    with writing(Progress("all parties", (), setting.listener)):
        return _join(prepared, folder)


def _survey(study: Study, data: Mapping[str, str], out: Path, setting: SimulationSetting) -> Summary:
    """Runs a study of respondents, who are thousands, in this process."""
    from covey.party.simulate import in_process

    bandwidth = float("inf") if setting.bandwidth is None else setting.bandwidth
    made = in_process.simulate(
        study, data, seed=setting.seed, latency=setting.latency, bandwidth=bandwidth, listener=setting.listener, out=out
    )
    return made.figures


def _prepare(study: Study, out: Path, setting: SimulationSetting) -> Study:
    """Keys for every party, and a copy of the study with their certificates and free addresses."""
    seed = setting.seed
    files = dict(study.files)
    for party in study.parties:
        if party.certificate is not None:
            files.pop(party.certificate.as_posix(), None)
        made = keys.make(party.name, seed=None if seed is None else derive(seed, "keys", party.name))
        keys.save(made, out / party.name / "keys")
        files[f"certs/{party.name}.pem"] = made.certificate.pem
    names = [party.name for party in study.parties]
    content = document.of(study)
    certificates = {name: f"certs/{name}.pem" for name in names}
    if setting.relay:
        document.give_roster(content, {}, certificates, f"nats://127.0.0.1:{free_ports(1)[0]}")
    else:
        addresses = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
        document.give_roster(content, addresses, certificates)
    prepared = document.save(content, files, out)
    if prepared.study_hash != study.study_hash:
        raise InputError(f"{study.path}: its copy reads as another study; please report this")
    return prepared


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody uses right now."""
    with contextlib.ExitStack() as open_sockets:
        ports = []
        for _ in range(count):
            server = open_sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
            ports.append(int(server.getsockname()[1]))
        return ports


def _order(
    study: Study, party: str, data: Mapping[str, str], out: Path, setting: SimulationSetting, letters: str | None
) -> Order:
    return Order(
        study=str(study.path),
        party=party,
        out=str(out / party),
        keys=str(out / party / "keys"),
        data=data.get(RESPONDENTS if letters else party),
        letters=letters,
        wait=COUNTING_SECONDS if any(map(stays_on_engine, data.values())) else WAIT_SECONDS,
        seed=None if setting.seed is None else derive(setting.seed, "party", party).reveal().hex(),
        latency=setting.latency,
        bandwidth=setting.bandwidth,
    )


async def _supervise(starter: Starter, orders: list[Order], setting: SimulationSetting) -> None:
    """Starts the parties and sees them to their end. Raises the most telling failure."""
    failures: dict[str, CoveyError] = {}
    first_failure = asyncio.Event()
    processes = starter.start(orders)

    async def watch(process: PartyProcess) -> None:
        failure = await _follow(process, setting)
        if failure is not None:
            failures[process.party] = failure
            first_failure.set()

    async def end_the_rest() -> None:
        await first_failure.wait()
        await asyncio.sleep(GRACE_SECONDS)
        _stop(processes)

    async with beside(starter.watch(processes)):
        try:
            async with beside(end_the_rest()), asyncio.TaskGroup() as watchers:
                for process in processes:
                    watchers.create_task(watch(process))
        except asyncio.CancelledError:
            await _end(processes)
            raise Aborted("interrupted; all parties were stopped and nothing was released", resumable=False) from None
        finally:
            _stop(processes)
    if failures:
        raise most_telling(failures)


async def _follow(process: PartyProcess, setting: SimulationSetting) -> CoveyError | None:
    """Passes a party's events on until it ends; its failure, if it failed."""
    last = Event()
    async for line in process.lines():
        last = msgspec.json.decode(line, type=Event)
        if last.snapshot is not None:
            setting.listener(last.snapshot)
        if last.notice is not None:
            setting.notice(f"{process.party}: {last.notice}")
    code = await process.code
    if last.ended and last.kind is not None:
        return rebuild(last.kind, code, last.message or "")
    if code != 0:
        return Aborted(f"its process ended unexpectedly (code {code}); set COVEY_DEBUG=1 to see why", resumable=False)
    return None


def _stop(processes: list[PartyProcess]) -> None:
    """Closing a party's stdin asks it to end."""
    for process in processes:
        process.stop()


async def _end(processes: list[PartyProcess]) -> None:
    """Asks all parties to end, and ends those that do not."""
    _stop(processes)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2 * GRACE_SECONDS):
            for process in processes:
                await process.code
    for process in processes:
        process.kill()


def _join(study: Study, folder: RunFolder) -> Summary:
    """Writes the joint files, from those of the parties: all holders of the release compared it with each other."""
    found = {party.name: Summary.read(folder.path / party.name / SUMMARY) for party in study.parties}
    summaries = {name: each for name, each in found.items() if each is not None}
    holder = next(name for name, each in summaries.items() if each.release_sha256 is not None)
    ledger = [sentence for each in summaries.values() for sentence in each.ledger]
    joint = join_summaries(summaries[holder], summaries.values(), ledger)
    own = folder.path / holder
    files = (own / name for name in (CERTIFICATE, CLASSES, RELEASE))
    folder.keep_joint(study, joint, {file.name: file.read_bytes() for file in files if file.is_file()})
    return joint
