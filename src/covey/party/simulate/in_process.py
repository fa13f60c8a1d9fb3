"""All parties of a study in one process, over memory: the same handshake, roles and farewell, without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from covey.crypto.rng import derive, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import CoveyError, InputError
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.record.folder import RunFolder, log_in
from covey.party.record.log import SILENCE
from covey.party.record.run_record import Finished
from covey.party.session.data import load_table
from covey.party.session.playing import Participant, take_part
from covey.party.session.progress import Listener, writing
from covey.party.simulate import respondents
from covey.party.simulate.deal import seed_of
from covey.party.simulate.letters import letters_of
from covey.party.simulate.outcome import JointRun, Outcome
from covey.party.simulate.stage import most_telling, require_data, to_its_end, with_certificates
from covey.protocols import of_study
from covey.protocols.protocol import Letters
from covey.release import Release
from covey.sources.source import Data
from covey.study import Study, StudyLike
from covey.study.study import RESPONDENTS
from covey.table import Table
from covey.wire import MemoryNetwork
from covey.wire.slow import slowed


def simulate(
    study: StudyLike,
    data: Mapping[str, Data],
    *,
    seed: Secret | int | None = None,
    latency: float = 0.0,
    bandwidth: float = float("inf"),
    listener: Listener = lambda snapshot: None,
    out: Path | None = None,
) -> Release:
    """Runs all parties of the study on the given tables, and returns the joint release.

    `data` has a table, a path or a URL for every party that holds data; the release is of the same kind as the
    first table. `seed` makes the run repeatable. With `out`, the run is kept in that folder, and if it fails, the
    ledgers of what had been learned by then. Raises the first cause if a party fails.
    """
    study = Study.of(study)
    if not isinstance(data, Mapping):
        raise InputError("give each party's table by the party's name: {'north': table, 'south': table}")
    if study.partition == "respondents":
        if set(data) != {RESPONDENTS}:
            raise InputError(
                "give one table, of which each respondent has a row: {'respondents': table}, or --table DATA"
            )
        if of_study(study).printed is not None:
            if latency or bandwidth != float("inf"):
                raise InputError("as printed, a collection is simulated without --latency and --bandwidth")
            return respondents.simulate(study, data[RESPONDENTS], seed=seed, listener=listener, out=out)
    else:
        require_data(study, data)
    of_study(study)
    if out is not None:
        RunFolder(out).prepare()
    tables = {party.name: load_table(study, party.name, data.get(party.name)) for party in study.parties}
    repeatable, seed = seed is not None, seed_of(seed) if isinstance(seed, int) else seed or fresh_seed()
    letters: dict[str, Letters] = {}
    if study.partition == "respondents":
        letters = {party.name: letters_of(study, party.name, data[RESPONDENTS], seed) for party in study.parties}
    participants = _participants(study, tables, letters, seed, listener, out)
    try:
        finished = to_its_end(_play_all(participants, latency, bandwidth))
    except CoveyError as error:
        for name, participant in participants.items() if out is not None else ():
            RunFolder(Path(out or "", name)).keep_ledger(participant.ledger, f"ended: {error}")
        raise
    outcomes = {
        name: Outcome(participant.ledger, finished[name], participant.keys)
        for name, participant in participants.items()
    }
    certified = next(iter(participants.values())).study
    run = JointRun(certified, outcomes, reproducible=repeatable)
    release = run.release(next(iter(data.values()), None))
    if out is not None:
        with writing(*(participant.progress for participant in participants.values())):
            release.save(out)
    return release


def _participants(
    study: Study,
    tables: Mapping[str, Table | None],
    letters: Mapping[str, Letters],
    seed: Secret,
    listener: Listener,
    out: Path | None,
) -> dict[str, Participant]:
    keys = {party.name: keyring.make(party.name, seed=derive(seed, "keys", party.name)) for party in study.parties}
    certified = with_certificates(study, keys)
    roster, protocol = Roster.of(certified), of_study(certified)
    return {
        name: Participant(
            certified, protocol, name, tables[name], own, roster, derive(seed, "party", name), listener=listener,
            log=SILENCE if out is None else log_in(out / name), letters=letters.get(name), writes_any=True,
        )
        for name, own in keys.items()
    }  # fmt: skip


async def _play_all(participants: Mapping[str, Participant], latency: float, bandwidth: float) -> dict[str, Finished]:
    network = MemoryNetwork(participants)

    async def play(name: str) -> Finished | CoveyError:
        link = network.link(name)
        try:
            async with slowed(link, latency=latency, bandwidth=bandwidth) as slow:
                return await take_part(participants[name], slow)
        except CoveyError as error:
            return error
        finally:
            await link.close()

    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(play(name)) for name in participants}
    ends = {name: task.result() for name, task in tasks.items()}
    failures = {name: end for name, end in ends.items() if isinstance(end, CoveyError)}
    if failures:
        raise most_telling(failures)
    return {name: end for name, end in ends.items() if isinstance(end, Finished)}
