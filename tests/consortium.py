"""A small study with its parties, each in a folder of its own: nothing in common but the study."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from covey.errors import CoveyError
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.session.approval import approve_always
from covey.party.session.run import Job, run_party
from covey.study import Study
from covey.summary import Summary

NAMES = ("north", "south", "east")
COLUMNS = """
[columns.patient]
role = "identifier"

[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10, 50] }

[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]

[columns.diagnosis]
role = "sensitive"
singles_out = "there are few rows"
values = ["none", "flu", "diabetes"]
"""
ROWS = {
    "north": [(31, "F", "flu"), (32, "M", "none"), (35, "F", "none"), (61, "M", "flu")],
    "south": [(33, "F", "flu"), (38, "F", "diabetes"), (64, "M", "none"), (65, "F", "flu"), (69, "M", "none")],
    "east": [(3, "M", "none"), (39, "M", "flu"), (60, "F", "diabetes")],
}
RELEASE = 'age,count\n*,6\n"[30, 39]",6\n'


@dataclass(frozen=True)
class Site:
    """One party's folder."""

    name: str
    folder: Path

    @property
    def study(self) -> Path:
        return self.folder / "study.toml"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def data(self) -> Path:
        return self.folder / "data.csv"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def job(self) -> Job:
        """What this party is asked to do, approving and waiting at most 20 seconds."""
        return Job(
            study=self.study,
            party=self.name,
            out=self.out,
            keys=self.keys,
            decide=approve_always,
            data=str(self.data),
            wait=20.0,
        )


def study_text(
    names: Sequence[str] = NAMES,
    *,
    k: int = 3,
    ports: Mapping[str, int] | None = None,
    certified: bool = False,
    protocol: str = "count",
    name: str = "small",
) -> str:
    """The study file; with ports and certificates where they are asked for."""
    parts = [
        f'[study]\nname = "{name}"\nprotocol = "{protocol}"\npartition = "horizontal"\n',
        f"[privacy]\nk = {k}\n",
        '[protocol]\ncolumn = "age"\nlevel = 1\n' if protocol == "count" else "",
        COLUMNS,
    ]
    for each in names:
        parts.append(f"[parties.{each}]\n")
        if ports is not None and each in ports:
            parts.append(f'address = "127.0.0.1:{ports[each]}"\n')
        if certified:
            parts.append(f'certificate = "certs/{each}.pem"\n')
    return "".join(parts)


def data_text(rows: Sequence[tuple[int, str, str]]) -> str:
    """A party's CSV file."""
    lines = [f"P{number},{age},{sex},{diagnosis}" for number, (age, sex, diagnosis) in enumerate(rows)]
    return "\n".join(["patient,age,sex,diagnosis", *lines]) + "\n"


def free_ports(names: Sequence[str]) -> dict[str, int]:
    """A port on loopback for each name."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        return {name: server.getsockname()[1] for name, server in zip(names, servers, strict=True)}


def found(
    folder: Path,
    names: Sequence[str] = NAMES,
    *,
    k: int = 3,
    made: Mapping[str, Keys] | None = None,
    now: datetime | None = None,
    protocol: str = "count",
) -> dict[str, Site]:
    """Makes every party's folder: its copy of the study, everyone's certificates, its keys and its data."""
    ports = free_ports(names)
    everyone = {name: keyring.make(name, now=now) for name in names} | dict(made or {})
    sites = {name: Site(name, folder / name) for name in names}
    for name, site in sites.items():
        (site.folder / "certs").mkdir(parents=True)
        for other, keys in everyone.items():
            (site.folder / "certs" / f"{other}.pem").write_bytes(keys.certificate.pem)
        keyring.save(everyone[name], site.keys)
        site.study.write_text(study_text(names, k=k, ports=ports, certified=True, protocol=protocol))
        site.data.write_text(data_text(ROWS[name] if name in ROWS else ROWS["north"]))
    return sites


def run_together(jobs: Mapping[str, Job]) -> dict[str, Summary | CoveyError]:
    """Runs each party on a thread of its own, over TLS on loopback; how each ended."""

    def one(job: Job) -> Summary | CoveyError:
        try:
            return run_party(job)
        except CoveyError as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        ends = {name: pool.submit(one, job) for name, job in jobs.items()}
        return {name: end.result() for name, end in ends.items()}


def jobs(sites: Mapping[str, Site], **changes: object) -> dict[str, Job]:
    """Everyone's job, with the same changes for all."""
    return {name: replace(site.job(), **changes) for name, site in sites.items()}  # type: ignore[arg-type]


def study_with(folder: Path, made: Mapping[str, Keys], names: Sequence[str] | None = None, **options: object) -> Study:
    """A study in a folder whose roster has these keys' certificates, without addresses."""
    (folder / "certs").mkdir(parents=True, exist_ok=True)
    for name, keys in made.items():
        (folder / "certs" / f"{name}.pem").write_bytes(keys.certificate.pem)
    path = folder / "study.toml"
    path.write_text(study_text(names or list(made), certified=True, **options))  # type: ignore[arg-type]
    return Study.load(path)
