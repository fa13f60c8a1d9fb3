"""Measuring that the benchmarks share: processes of their own, runs over TLS, peak memory, kept results, peers."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from tests.harness.parties import Role, run_parties
from tests.harness.spent import spent

from benchmarks._peak import own_peak
from covey.party.simulate.deal import seed_of, write_hands
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.study import Study
from covey.wire import Address, Contact, parse_bandwidth

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results"
MEGABYTE = 1 << 20
Row = dict[str, object]


def apart(function: Callable[..., Row], *arguments: object, verbose: bool = False, tree: Path | None = None) -> Row:
    """Calls a function of a benchmark in a process of its own, so that its memory and CPU are its own.

    What it says on the way as errors is shown, or kept for the error if it fails. With another tree of the project, it
    calls that one's package.
    """
    code = (
        f"import json, sys; from {function.__module__} import {function.__name__} as work; "
        "print(chr(10) + json.dumps(work(*json.loads(sys.argv[1]))))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=None if verbose else subprocess.PIPE, env=None if tree is None else _environment(tree),
    )  # fmt: skip
    if process.returncode:
        raise RuntimeError((process.stderr or "it failed, as it said above")[-2000:])
    row, _ = json.JSONDecoder().raw_decode(process.stdout, process.stdout.rindex("\n{") + 1)
    return dict(row)


def earlier_tree() -> Path | None:
    """The older tree of the project that COVEY_BENCH_BEFORE names, if it does: such as `git worktree add` makes."""
    folder = os.environ.get("COVEY_BENCH_BEFORE")
    return None if folder is None else Path(folder).resolve()


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "src")}


def peak_megabytes(target: int = resource.RUSAGE_SELF) -> int:
    """The most memory that this process, or the largest of its ended children, has held."""
    return own_peak() if target == resource.RUSAGE_SELF else round(resource.getrusage(target).ru_maxrss / 1e3)


def load() -> float:
    """The number of processes that have waited for this machine's cores in the last minute, on average."""
    return round(os.getloadavg()[0], 1)


@dataclass(frozen=True)
class TlsRun:
    """A run with a process for each party over TLS on loopback."""

    summary: dict[str, object]
    release: bytes
    cpu: float
    """CPU seconds of all parties' processes; of a tree's own command, with those of the process that starts them."""
    seconds: float
    """From the start of the processes to their end."""

    @property
    def lm(self) -> float | None:
        """The loss of the release."""
        loss = self.summary["loss"]
        return round(float(loss["lm"]), 4) if isinstance(loss, dict) else None

    @property
    def megabytes(self) -> float:
        """The traffic of all parties."""
        return round(int(str(self.summary["bytes"])) / 1e6, 1)

    def ledger_line(self, words: str) -> str:
        """The rest of the ledger's sentence that has these words."""
        ledger = self.summary["ledger"]
        lines = [str(line) for line in ledger] if isinstance(ledger, list) else []
        return next((line.partition(words)[2] for line in lines if words in line), "")

    def figures(self, *names: str) -> Row:
        """Figures of the summary under their names."""
        return {name: self.summary[name] for name in names}


def over_tls(
    study: Study,
    data: Mapping[str, pa.Table | str],
    out: Path,
    latency: float = 0.0,
    bandwidth: str | None = None,
    tree: Path | None = None,
) -> TlsRun:
    """Runs all parties as processes; tables are written for them first. `out` stays with the caller.

    With a tree of the project, its `covey simulate` runs them: so that two versions are measured alike.
    """
    frames = {name: table for name, table in data.items() if isinstance(table, pa.Table)}
    paths = {name: table for name, table in data.items() if isinstance(table, str)}
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        paths |= write_hands(frames, Path(scratch))
        cpu_start, start = _children(), time.perf_counter()
        if tree is None:
            wide = None if bandwidth is None else parse_bandwidth(bandwidth)
            setting = SimulationSetting(seed=seed_of(1), latency=latency, bandwidth=wide)
            summary = simulate(study, paths, out, setting).describe()
        else:
            summary = _simulate_by(tree, study, paths, out, latency, bandwidth)
        seconds, cpu = time.perf_counter() - start, _children() - cpu_start
    return TlsRun(summary, (out / "release.csv").read_bytes(), cpu, seconds)


def _simulate_by(
    tree: Path, study: Study, data: Mapping[str, str], out: Path, latency: float, bandwidth: str | None
) -> Row:
    """The summary of a run by the command line of a tree of the project."""
    line = [] if bandwidth is None else ["--bandwidth", bandwidth]
    data_flags = [text for name, path in data.items() for text in ("--data", f"{name}={path}")]
    python = tree / ".venv" / "bin" / "python"  # an earlier version needs other packages
    command = [
        str(python) if python.exists() else sys.executable, "-c", "from covey.cli import main; main()", "simulate",
        str(study.path), *data_flags, "--seed", "1", "--latency", f"{latency * 1000:g}ms", *line,
        "--out", str(out), "--json",
    ]  # fmt: skip
    process = subprocess.run(command, env=_environment(tree), capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    return dict(json.loads((out / "summary.json").read_text()))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(roles: Mapping[str, Role[object]]) -> str:
    """Plays roles over memory in this process and describes CPU, time, rounds and traffic of all together."""
    cpu, wall = time.process_time(), time.perf_counter()
    outcomes = run_parties(dict(roles))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    for outcome in outcomes.values():
        outcome.unwrap()
    cost = spent(outcomes)
    return f"{cpu:.2f} CPU s, {wall:.2f} s wall, {cost.rounds} rounds, {cost.bytes / MEGABYTE:,.1f} MB"


def print_figures(figures: Iterable[tuple[str, str]]) -> None:
    """Prints what was measured and its figure, a line each, as they come."""
    for description, figure in figures:
        print(f"{description:<72}{figure}", flush=True)


def peer_python(name: str, packages: Sequence[str]) -> Path | str:
    """The Python of a peer's own environment, which is made once; or a sentence that says why there is none."""
    process = subprocess.run(
        [str(ROOT / "scripts" / "make-venv.sh"), name, *packages],
        env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True,
    )  # fmt: skip
    if process.returncode:
        return f"cannot be installed here: {process.stderr.strip().splitlines()[-1:]}"
    return ROOT / ".venvs" / name / "bin" / "python"


def ask_peer(name: str, packages: Sequence[str], script: str, *arguments: str) -> list[Row] | str:
    """Runs a script in a peer's environment: the rows that it prints as JSON, or a sentence that says why not."""
    python = peer_python(name, packages)
    if isinstance(python, str):
        return python
    ended = subprocess.run([str(python), "-c", script, *arguments], capture_output=True, text=True, timeout=1800)
    if ended.returncode:
        return f"failed: {ended.stderr.strip().splitlines()[-1:]}"
    return [json.loads(line) for line in ended.stdout.splitlines()]


def save_roster(roster: Mapping[str, Contact], folder: Path) -> None:
    """Writes the parties' addresses into a folder that has their certificates."""
    addresses = {name: str(contact.address) for name, contact in roster.items()}
    (folder / "roster.json").write_text(json.dumps(addresses))


def load_roster(folder: Path) -> dict[str, Contact]:
    """Reads what `save_roster` has written, with the certificates beside it."""
    addresses = json.loads((folder / "roster.json").read_text())
    return {
        name: Contact.from_pem(name, (folder / f"{name}.pem").read_bytes(), Address.parse(address))
        for name, address in addresses.items()
    }


def keep(name: str, part: str, row: Row, keys: Sequence[str]) -> None:
    """Prints a row and writes it to results/NAME.json, in the place of an earlier row with the same keys."""
    print(part, json.dumps(row), flush=True)
    path = RESULTS / f"{name}.json"
    rows: dict[str, list[Row]] = json.loads(path.read_text()) if path.exists() else {}
    unchanged = [old for old in rows.get(part, []) if any(old.get(key) != row.get(key) for key in keys)]
    rows[part] = [*unchanged, row]
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")


Parts = Mapping[str, Callable[[list[str]], Iterator[Row]]]


def run_parts(name: str, parts: Parts, keys: Sequence[str], arguments: list[str]) -> None:
    """Measures one part (some points of it, if they are named), or all, and keeps every row as it comes."""
    for part in arguments[:1] or list(parts):
        for row in parts[part](arguments[1:]):
            keep(name, part, row, keys)
