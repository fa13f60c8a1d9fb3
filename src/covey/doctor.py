"""Examines whether this machine can run a party. Each check says what it found and, if that is not enough, what to do.

Nothing here changes the machine: probes write only files that they remove again, and numba's own cache.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from covey.sizes import spell

OLDEST_PYTHON = (3, 11)
LEAST_MEMORY = 2**30
LEAST_SPACE = 256 * 2**20
MOST_DRIFT = 0.2  # seconds
MOST_SKEW = 2.0  # seconds; some file systems keep even seconds only
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
IMPORTED_AS = {"ibis-framework": "ibis"}


@dataclass(frozen=True)
class Finding:
    """The result of one check, with advice if the machine is unfit."""

    name: str
    fit: bool
    found: str
    advice: str = ""


def examine(target: Path) -> list[Finding]:
    """Checks everything that a run needs of this machine. `target` is the folder to which the run would write."""
    return [
        python(),
        *dependencies(),
        processors(),
        memory(),
        tls(),
        clock(datetime.now(UTC), drift()),
        time_zone(),
        *folder(target),
        compiler(),
        loopback(),
    ]


def python() -> Finding:
    """Checks the version of Python."""
    fit = sys.version_info >= OLDEST_PYTHON
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Finding("python", fit, platform.python_version(), "" if fit else f"install Python {oldest} or newer")


def dependencies() -> Iterator[Finding]:
    """Imports each package that the install declares: a wheel for another machine fails only then."""
    for line in importlib.metadata.requires("covey") or []:
        if "extra ==" not in line:
            yield package(line)


def package(requirement: str) -> Finding:
    """Checks that a package, required as `name>=1.2,<2`, is installed and can be imported."""
    stated = requirement.partition(";")[0].replace(" ", "")
    name = re.split(r"[\[<>=!~]", stated, maxsplit=1)[0]
    advice = f'pip install "{stated}"'
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", advice)
    minimum, ceiling = re.search(r">=([\d.]+)", stated), re.search(r"<([\d.]+)", stated)
    if minimum and _release(version) < _release(minimum[1]):
        return Finding(name, False, f"{version}, too old", advice)
    if ceiling and _release(version) >= _release(ceiling[1]):
        return Finding(name, False, f"{version}, too new", advice)
    module = IMPORTED_AS.get(name, name.replace("-", "_"))
    try:
        importlib.import_module(module)
    except Exception as problem:  # a broken wheel may raise anything
        problem_text = f"{version}, but import {module} fails: {type(problem).__name__}"
        return Finding(name, False, problem_text, f"pip install --force-reinstall {name}")
    return Finding(name, True, version)


def processors() -> Finding:
    """Counts the processors that this process may use; one is enough, more are faster."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("processors", True, str(usable))


def memory() -> Finding:
    """Checks the memory that this process may use: the machine's, or its container's."""
    total = _limited(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    fit = total >= LEAST_MEMORY
    return Finding("memory", fit, spell(total), "" if fit else f"give it {spell(LEAST_MEMORY)} or more")


def available_memory() -> int:
    """Bytes of memory that this process could still take, without what other programs hold."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE)
    free = int(match[1]) * 1024 if match else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    used = _text(Path("/sys/fs/cgroup/memory.current")).strip()
    room = _limited(1 << 62) - (int(used) if used.isdigit() else 0)
    return max(0, min(free, room))


def _limited(total: int) -> int:
    """No more than what the container may have."""
    limit = _text(Path("/sys/fs/cgroup/memory.max")).strip()
    return min(total, int(limit)) if limit.isdigit() else total


def _text(path: Path) -> str:
    """The text of a file of the system; empty where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""


def existing(target: Path) -> Path:
    """The folder, or what it would be made in."""
    path = target.absolute()
    while not path.exists():
        path = path.parent
    return path


def tls() -> Finding:
    """Checks for TLS 1.3: parties use nothing older."""
    advice = "" if ssl.HAS_TLSv1_3 else "use a Python built with OpenSSL 1.1.1 or newer"
    return Finding("TLS 1.3", ssl.HAS_TLSv1_3, ssl.OPENSSL_VERSION, advice)


def drift() -> float:
    """Measures the seconds by which the wall clock departs from the steady clock."""
    wall, steady = time.time(), time.monotonic()
    time.sleep(0.05)
    return (time.time() - wall) - (time.monotonic() - steady)


def clock(time_here: datetime, drifted: float) -> Finding:
    """Checks that the wall clock is right and steady, as certificates and deadlines need."""
    advice = "set the clock (timedatectl set-ntp true)"
    if time_here < WRITTEN:
        return Finding("clock", False, f"{time_here:%Y-%m-%d %H:%M} UTC, before Covey was written", advice)
    if abs(drifted) > MOST_DRIFT:
        return Finding("clock", False, f"jumped by {drifted:+.1f} s while it was watched", advice)
    return Finding("clock", True, f"{time_here:%Y-%m-%d %H:%M} UTC, steady")


def time_zone() -> Finding:
    """Checks that the machine knows its offset from UTC, which logs carry."""
    local_time = datetime.now(UTC).astimezone()
    offset = local_time.utcoffset()
    if offset is None:
        return Finding("time zone", False, "unknown", "set the time zone (timedatectl set-timezone …)")
    return Finding("time zone", True, f"{local_time:%Z}, {local_time:%z}")


def folder(target: Path) -> Iterator[Finding]:
    """Checks that a run's folder can be written, has room, and this machine's time."""
    path = existing(target)
    try:
        with tempfile.NamedTemporaryFile(dir=path, prefix=".covey-doctor-") as probe:
            start = time.time()
            probe.write(b"probe")
            probe.flush()
            os.fsync(probe.fileno())
            skew = Path(probe.name).stat().st_mtime - start
    except OSError as problem:
        result = f"{path}: {problem.strerror}"
        yield Finding("folder", False, result, "choose another with --out, or get permission to write")
        return
    yield Finding("folder", True, f"{path} can be written")
    yield space(path, shutil.disk_usage(path).free)
    yield file_clock(path, skew)


def space(path: Path, free: int) -> Finding:
    """Checks that there is room for a journal, a transcript and a release."""
    fit = free >= LEAST_SPACE
    return Finding("free space", fit, spell(free), "" if fit else f"free {spell(LEAST_SPACE)} in {path}")


def file_clock(path: Path, skew: float) -> Finding:
    """Checks the clock of the file system, which may be another machine's."""
    fit = abs(skew) <= MOST_SKEW
    return Finding("file clock", fit, f"{skew:+.1f} s", "" if fit else f"set the clock of the server of {path}")


def compiler() -> Finding:
    """Checks that numba compiles a kernel and can keep it for the next run."""
    try:
        import numba

        kernel = numba.njit(cache=True)(_double)
        if kernel(21) != 42:
            return Finding("compiler", False, "numba computed a wrong value", "pip install --force-reinstall numba")
        cache = Path(kernel.stats.cache_path)
    except Exception as problem:  # numba and LLVM raise many kinds
        advice = "set NUMBA_CACHE_DIR to a folder that can be written, or pip install --force-reinstall numba"
        return Finding("compiler", False, f"numba fails: {type(problem).__name__}", advice)
    cached = any(cache.glob("doctor._double-*.nbc"))
    advice = "" if cached else "set NUMBA_CACHE_DIR to a folder that can be written"
    return Finding(
        "compiler", cached, f"numba compiles, {'keeps' if cached else 'cannot keep'} kernels in {cache}", advice
    )


def loopback() -> Finding:
    """Checks that a port on 127.0.0.1 can be opened and reached, as simulations need."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                pass
    except OSError as problem:
        return Finding("loopback", False, f"127.0.0.1: {problem.strerror}", "allow local connections in the firewall")
    return Finding("loopback", True, "a port on 127.0.0.1 opens and answers")


def _double(value: int) -> int:
    return value + value


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
