"""The stage of a simulation: everyone has data, keys and a roster, and the whole runs in any program.

Of several parties' failures the one is shown that explains the others.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from covey.errors import Aborted, AccessError, CoveyError, InputError, PeerError, Unmet
from covey.party.identity.keys import Keys
from covey.study import Authority, Study

T = TypeVar("T")

_ORDER: tuple[type[CoveyError], ...] = (InputError, AccessError, PeerError, Unmet)


def require_data(study: Study, data: Mapping[str, object]) -> None:
    """Raises InputError unless every holder has a table, and nobody else."""
    for name in data:
        study.party(name)
    for party in study.parties:
        if party.holds_data and party.name not in data:
            raise InputError(f"party {party.name!r} has no data; give it a table (--data {party.name}=DATA)")


def with_certificates(study: Study, keys: Mapping[str, Keys]) -> Study:
    """The study with these keys' certificates as its roster, and without addresses."""
    named = {name: Path(f"certs/{name}.pem") for name in keys}
    parties = tuple(replace(party, address=None, certificate=named[party.name]) for party in study.parties)
    issuers = [Authority(None, named[name]) for name in study.of_party_role("authority")]
    files = {named[name].as_posix(): own.certificate.pem for name, own in keys.items()}
    return replace(study, parties=parties, authority=(*issuers, study.authority)[0], files={**study.files, **files})


def to_its_end(work: Coroutine[object, object, T]) -> T:
    """Runs a coroutine, also where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    answers: list[T] = []
    failures: list[BaseException] = []

    def host() -> None:
        try:
            answers.append(asyncio.run(work))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=host, name="covey-simulation")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return answers[0]


def most_telling(failures: Mapping[str, CoveyError]) -> CoveyError:
    """The failure to show for a simulation, which names the party and cannot be resumed.

    A failure of the data or of an identity tells more than one of the protocol, and that more than a stop.
    """
    party, error = min(failures.items(), key=lambda item: (_rank(item[1]), item[0]))
    sentence = f"party {party!r}: {error}"
    if isinstance(error, InputError):
        return InputError(sentence)
    if isinstance(error, AccessError | PeerError):
        return AccessError(sentence)
    if isinstance(error, Unmet):
        return Unmet(sentence)
    return Aborted(sentence, resumable=False)


def rebuild(kind: str, exit_code: int, message: str) -> CoveyError:
    """An error that another process told of; a peer's breach comes as the refusal that it led to."""
    if kind == "Aborted":
        return Aborted(message, resumable=exit_code == 3)
    known = {"InputError": InputError, "StudyError": InputError, "Unmet": Unmet}
    return known.get(kind, AccessError)(message)


def _rank(error: CoveyError) -> int:
    for rank, kind in enumerate(_ORDER):
        if isinstance(error, kind):
            return rank
    refused = isinstance(error, Aborted) and not error.resumable
    return len(_ORDER) + (0 if refused else 1)
