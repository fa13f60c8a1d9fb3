"""The stage of a simulation: everyone has data, keys and a roster, and the whole runs in any program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from covey.errors import InputError
from covey.party.identity.keys import Keys
from covey.study import Study

T = TypeVar("T")


def require_data(study: Study, data: Mapping[str, object]) -> None:
    """Raises InputError unless every holder has a table, and nobody else."""
    for name in data:
        study.party(name)
    for party in study.parties:
        if party.holds_data and party.name not in data:
            raise InputError(f"party {party.name!r} has no data; give it a table (--data {party.name}=DATA)")


def with_certificates(study: Study, keys: Mapping[str, Keys]) -> Study:
    """The study with these keys' certificates as its roster, and without addresses."""
    parties = tuple(
        replace(party, address=None, certificate=Path(f"certs/{party.name}.pem")) for party in study.parties
    )
    files = {f"certs/{name}.pem": own.certificate.pem for name, own in keys.items()}
    return replace(study, parties=parties, files={**study.files, **files})


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
