"""A collector with a thousand respondents who are enrolled and wait: what they cost in memory and in time.

The collector is a process of its own (`covey collect serve`); the respondents are light: a key and a certificate each,
enrolled with an invitation over TLS, then one connection under mutual TLS that says it is ready and waits. A last row
has the index of 2^14 cells wait for all of them: it is kept once.
"""

from __future__ import annotations

import asyncio
import json
import platform
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from covey.crypto.rng import fresh_seed
from covey.party.collection.enrolment import statement
from covey.party.collection.invitation import Invitation, issue
from covey.party.identity import keys as keyring
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.study import Study
from covey.version import __version__
from covey.wire import frame as frames
from covey.wire.contact import Address, fingerprint
from covey.wire.frame import Header
from covey.wire.standing import Shelf, StandingLine, words
from covey.wire.standing.connection import Connection

CONNECTIONS = 1000
STEPS = (0, 250, 500, 1000)
AT_ONCE = 20
RESULT = Path(__file__).parent / "results" / "collection.json"
_STUDY = """
[study]
name = "waiting"
protocol = "collect"
partition = "respondents"
[privacy]
k = 5
[protocol]
as_printed = true
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 99, steps = [10, 50] }}
[parties.office]
role = "collector"
address = "{address}"
certificate = "office.pem"
"""


@dataclass
class Office:
    """A collector's process, and what it needs."""

    folder: Path

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.keys = keyring.make("office")
        keyring.save(self.keys, self.folder / "keys")
        (self.folder / "office.pem").write_bytes(self.keys.certificate.pem)
        (self.folder / "study.toml").write_text(_STUDY.format(address=self.address))
        self.study = Study.load(self.folder / "study.toml")

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "from covey.cli import main; main()", "collect", "serve"]
        where = [
            str(self.folder / "study.toml"),
            "--out",
            str(self.folder / "out"),
            "--keys",
            str(self.folder / "keys"),
        ]
        begin = ["--quorum", str(CONNECTIONS + 1)]
        return subprocess.Popen([*command, *where, *begin], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def invite(self, count: int) -> list[Invitation]:
        pinned = bytes.fromhex(fingerprint(self.keys.certificate.der))
        where, until = Address.parse(self.address), int(time.time() + 86400)
        return issue(self.folder / "out", where, pinned, self.study.study_hash, count=count, expires=until)


async def opened(office: Office, files: tuple[Path, Path] | None) -> tuple[Connection, words.Hello]:
    """A connection, with a certificate or without."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if files is not None:
        context.load_cert_chain(*files)
    where = Address.parse(office.address)
    reader, writer = await asyncio.open_connection(where.host, where.port, ssl=context, server_hostname="")
    connection = Connection(reader, writer)
    return connection, await connection.hear(words.Hello)


async def waits(office: Office, invitation: Invitation, folder: Path) -> Connection:
    """One light respondent: enrolled, ready, and waiting."""
    own = keyring.make(f"respondent-{fresh_seed().reveal()[:8].hex()}", days=30)
    keyring.save(own, folder)
    connection, hello = await opened(office, None)
    content = statement(
        office.study.study_hash, invitation.fingerprint.hex(), hello.nonce, invitation.secret, own.certificate.der
    )
    word = words.Enrol(invitation.secret, own.certificate.der, invitation.study, own.tls.sign(content))
    await connection.say(word)
    await connection.hear(words.Enrolled)
    await connection.close()
    connection, hello = await opened(office, keyring.files(folder, own.party))
    await connection.say(words.Ready(invitation.study, __version__, hello.protocol))
    await connection.hear(words.Waiting)
    return connection


async def _measure(folder: Path) -> list[dict[str, object]]:
    office = Office(folder)
    invitations = office.invite(CONNECTIONS)
    process = office.start()
    try:
        await _answering(office)
        watched, rows = psutil.Process(process.pid), []
        held: list[Connection] = []
        free = asyncio.Semaphore(AT_ONCE)

        async def one(place: int) -> Connection:
            async with free:
                return await waits(office, invitations[place], folder / "people" / str(place))

        before = watched.memory_info().rss
        for first, last in zip((0, *STEPS), STEPS, strict=False):
            begun, spent = time.monotonic(), sum(watched.cpu_times()[:2])
            held += await asyncio.gather(*(one(place) for place in range(first, last)))
            await asyncio.sleep(2)
            rss, count = watched.memory_info().rss, len(held)
            rows.append(
                {
                    "what": f"{count:,} enrolled connections, idle",
                    "connections": count,
                    "collector_mb": round(rss / 1e6, 1),
                    "kb_a_connection": round((rss - before) / 1e3 / count, 1) if count else None,
                    "seconds": round(time.monotonic() - begun - 2, 1),
                    "collector_cpu_seconds": round(sum(watched.cpu_times()[:2]) - spent, 1),
                }
            )
        status = json.loads((folder / "out" / "status.json").read_bytes())
        rows[-1]["present"] = status["present"]
        for connection in held:
            connection.drop()
        return rows
    finally:
        process.terminate()
        process.wait(30)


async def _answering(office: Office) -> None:
    for _ in range(600):
        try:
            connection, _ = await opened(office, None)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            await connection.close()
            return
    raise TimeoutError("the collector does not answer")


async def _index(folder: Path) -> dict[str, object]:
    """The index of 2^14 cells, said to a thousand respondents of whom none reads."""
    session = bytes(range(16))
    journal = Journal(folder / "journal", fresh_seed())
    journal.begin(Begun("office", "", "", "", b"", "", bytes(32), session * 2, {}, {}, {}))
    shelf, index = Shelf(), bytes(64 << 14)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = [StandingLine(f"r{place}", journal, session, shelf) for place in range(CONNECTIONS)]
    for line in lines:
        header = Header(2, session, "office", line.peer, "fetch", "collect.index", 0, 1)
        await line.send(frames.place(0, frames.write(header, bytes(16), index).raw))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    journal.close()
    return {
        "what": f"an index of {len(index) / 1e6:.1f} MB that waits for {CONNECTIONS:,} readers",
        "shelf_mb": round(shelf.bytes / 1e6, 1),
        "peak_growth_mb": round(grown * 1024 / 1e6, 1),
    }


def run(arguments: list[str]) -> None:
    """Measures, prints a table, and writes results/collection.json."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1 << 16), hard))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index").mkdir()
        waiting = asyncio.run(_index(Path(folder) / "index"))  # first: a process's peak is never forgotten
        rows = [*asyncio.run(_measure(Path(folder))), waiting]
    for row in rows:
        print(json.dumps(row))
    load = [round(each, 1) for each in psutil.getloadavg()]
    machine = {"cores": psutil.cpu_count(), "python": platform.python_version(), "load_average": load}
    RESULT.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")
