"""A broker on this machine for a simulation: nats-server on a loopback port, with the study's configuration."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from covey.errors import InputError
from covey.party.identity import relay_config
from covey.study import Study
from covey.wire.contact import Address
from covey.wire.relay.site import split_url

_START_SECONDS, _STOP_SECONDS = 20.0, 10.0


def find_server() -> str:
    """The nats-server of this machine. Raises InputError where there is none."""
    found = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise InputError("a relay needs nats-server, which is not on this machine; install it, or leave out --relay")
    return found


@contextlib.contextmanager
def running(study: Study, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a broker for the study's parties while the block runs; its configuration and log are in the folder."""
    if study.relay is None:
        raise InputError("the study has no [relay]")
    parts = split_url(study.relay.url)
    address = Address(parts.hostname or "", parts.port or 0)
    relay_config.write(study, folder, address)
    with serving(folder, address) as process:
        yield process


@contextlib.contextmanager
def serving(folder: Path, address: Address) -> Iterator[subprocess.Popen[bytes]]:
    """Runs nats-server with the configuration in a folder, and waits until it listens at the address."""
    with (folder / "nats-server.log").open("ab") as log:
        command = [find_server(), "-c", relay_config.CONFIG]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait(process, folder, address)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], folder: Path, address: Address) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((address.host, address.port), timeout=1):
            return
        time.sleep(0.02)
    raise InputError(f"nats-server does not start; see {folder / 'nats-server.log'}")
