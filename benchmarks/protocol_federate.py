"""`federate`: the crypto's operations beside phe and tno.mpc, whole runs over TLS, growth with the population.

`tls`: three processes over TLS on Adult (1,200 common users, 2,400 more at each provider, k = 2, delta = 0.75), and the
release compared with the trusted party's. `growth`: the same against populations up to 100,000, Adult's rows repeated.
`plan`: what was foreseen beside what a run on the samples took, both providers in one process. `crypto`: operations a
second. `schedules`: the level schedule beside the paper's calls on small populations. The table
is looked for beside the project (shared/data/adult). `python -m benchmarks federate PART [POINT…]` runs a part, or
some points of it; what was measured before is kept beside it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from tests.harness.parties import run_parties

import covey
from covey import samples
from covey.bench import dataset as datasets
from covey.crypto.paillier import SecretKey
from covey.crypto.reading import ReadingKey
from covey.crypto.rng import Rng, derive
from covey.party.identity import keys as keyring
from covey.party.session.data import load_table
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import Setting, simulate
from covey.protocols import federate
from covey.protocols.federate import comparison
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.wire import Channel

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "federate.json"
FIRST, SECOND = ("age", "sex", "race", "marital-status"), ("education", "native-country", "workclass", "occupation")
TLS = "30162:1200:2400:0.5,30162:1200:2400:1"
GROWTH = "3000:300:600:0.5,10000:400:800:0.5,30000:1200:2400:0.5,100000:4000:8000:0.5"
SCHEDULES = "200:40:40:level,200:40:40:paper,600:80:100:level,600:80:100:paper"
PLANS = "providers,hospitals:10,hospitals:100"
PEERS = {
    "phe": ("phe==1.5.0", "gmpy2==2.3.2"),
    "tno": (
        "tno.mpc.encryption_schemes.paillier==3.2.0",
        "tno.mpc.encryption_schemes.utils==0.12.3",
        "gmpy2==2.3.2",
    ),
}
Row = dict[str, object]


def study_text(alpha: float, schedule: str) -> str:
    head = '[study]\nname = "adult"\nprotocol = "federate"\npartition = "vertical"\n[privacy]\nk = 2\ndelta = 0.75\n'
    options = f'[protocol]\npopulation = "population.csv"\nalpha = {alpha}\nschedule = "{schedule}"\n'
    columns = "".join(
        f'[columns.{name}]\nrole = "quasi"\nmissing = "error"\nhierarchy = "{name}.csv"\n' for name in (*FIRST, *SECOND)
    )
    rest = '[columns.salary-class]\nrole = "sensitive"\nmissing = "error"\nvalues = ["<=50K", ">50K"]\n'
    has = {"gym": FIRST, "bank": (*SECOND, "salary-class")}
    named = "".join(f"[parties.{name}]\ncolumns = {json.dumps(columns)}\n" for name, columns in has.items())
    key = '[columns.uid]\nrole = "key"\n'
    return f'{head}{options}{key}{columns}{rest}{named}[parties.researcher]\nrole = "recipient"\n'


def lay_out(folder: Path, population: int, common: int, extra: int, alpha: float, schedule: str = "level") -> Study:
    """A study and both providers' tables; people beyond Adult's rows repeat them."""
    for path in ADULT.glob("*.csv"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "population.csv").write_text("".join(f"u{number}\n" for number in range(population)))
    raw = pyarrow.csv.read_csv(ADULT / "adult.csv", parse_options=pyarrow.csv.ParseOptions(delimiter=";"))
    order = Rng(seed_of(1)).stream("users").permutation(population)
    has = {"gym": order[: common + extra], "bank": np.concatenate([order[:common], order[common + extra :][:extra]])}
    for name, columns in (("gym", FIRST), ("bank", (*SECOND, "salary-class"))):
        own = np.sort(has[name])
        hand = raw.take(pa.array(own % raw.num_rows)).select(columns)
        hand = hand.add_column(0, "uid", pa.array([f"u{number}" for number in own.tolist()]))
        pyarrow.csv.write_csv(hand, folder / f"{name}.csv")
    (folder / "study.toml").write_text(study_text(alpha, schedule))
    return Study.load(folder / "study.toml")


def one_run(text: str) -> Row:
    """One run over TLS: population, common users, more users at each provider, alpha or schedule."""
    population, common, extra, last = text.split(":")
    schedule = last if last in ("level", "paper") else "level"
    alpha = 0.5 if last in ("level", "paper") else float(last)
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        study = lay_out(Path(scratch), int(population), int(common), int(extra), alpha, schedule)
        data = {name: str(Path(scratch, f"{name}.csv")) for name in ("gym", "bank")}
        due = federate.PROTOCOL.foresee(study, dict.fromkeys(data, int(common) + int(extra)))
        before = os.getloadavg()[0]
        summary = simulate(study, data, Path(scratch, "out"), Setting(seed=seed_of(1)))
        released = Path(scratch, "out", "release.csv").read_bytes()
        lasting = {
            name: derive(keyring.load(Path(scratch, "out", name, "keys")).dummy, "lasting", "federate") for name in data
        }
        tables = {name: table for name in data if (table := load_table(study, name, data[name])) is not None}
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    ideal = federate.ideal(study, tables, lasting)
    loss = summary["loss"]
    return {
        "population": int(population), "common": int(common), "more at each": int(extra), "alpha": alpha,
        "schedule": schedule, "classes": summary["classes"], "lm": round(float(loss["lm"]), 4),  # type: ignore[index]
        "dm": loss["dm"],  # type: ignore[index]
        "as the trusted party's": ideal.release is not None
        and canonical_csv(arrange(ideal.release, frozenset(column.name for column in study.quasi))) == released,
        "rounds": summary["rounds"], "messages": summary["messages"], "s foreseen": round(due.seconds, 1),
        "MB, all parties": round(int(str(summary["bytes"])) / 1e6, 1), "s": summary["seconds"],
        "CPU s, all parties": round(spent.ru_utime + spent.ru_stime, 1),
        "MB of memory, the largest party": round(spent.ru_maxrss / 1e3), "load before": round(before, 1),
    }  # fmt: skip


def measure_runs(asked: list[str]) -> Iterator[Row]:
    """Each point in a process of its own."""
    for text in asked:
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.protocol_federate", "one", text],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        if answer.returncode:
            raise RuntimeError(answer.stderr[-2000:])
        yield json.loads(answer.stdout)


def measure_plan(asked: list[str]) -> Iterator[Row]:
    """Foreseen and measured: the sample that ships, and the hospitals' columns split as `covey bench` splits them."""
    for text in asked:
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.protocol_federate", "foreseen", text],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        if answer.returncode:
            raise RuntimeError(answer.stderr[-2000:])
        yield json.loads(answer.stdout)


def foreseen(text: str) -> Row:
    """One run beside its plan; both providers compute in this process, so its CPU is theirs together."""
    sample, _, k = text.partition(":")
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        folder = samples.copy(sample, Path(scratch, "sample"))
        study = Study.load(folder / "study.toml")
        data: Mapping[str, object] = {party.name: str(folder / f"{party.name}.csv") for party in study.holders}
        rows = {party.name: _lines(folder / f"{party.name}.csv") for party in study.holders}
        if k:
            whole = datasets.stage(study, {name: str(path) for name, path in data.items()})
            ready = datasets.split(whole, "federate", "vertical", int(k), Path(scratch))
            study, data, rows = ready.study, ready.data, datasets.rows_of(ready)
        due, before = federate.PROTOCOL.foresee(study, rows), os.getloadavg()[0]
        begun = time.process_time()
        summary = covey.simulate(study, data, seed=1).summary
        spent = time.process_time() - begun
    return {
        "what": text, "s foreseen": round(due.seconds, 1), "CPU s": round(spent, 1), "s": summary["seconds"],
        "within a factor of three": 1 / 3 <= spent / due.seconds <= 3,
        "rounds foreseen": due.rounds, "rounds": summary["rounds"],
        "messages foreseen": due.messages, "messages": summary["messages"],
        "MB foreseen": round(due.bytes / 1e6, 1), "MB, all parties": round(int(str(summary["bytes"])) / 1e6, 1),
        "load before": round(before, 1),
    }  # fmt: skip


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n") - 1


def rate(work: Callable[[int], object], count: int) -> int:
    """Operations a second of CPU."""
    begun = time.process_time()
    work(count)
    return round(count / (time.process_time() - begun))


def measure_crypto() -> Iterator[Row]:
    """Operations a second on one core; a comparison is of ten bits and both sides together."""
    for bits in (2048, 3072):
        yield own_rates(bits)
    yield {"who": "covey", "bits": 2048, "compare/s": comparisons()}
    for name, packages in PEERS.items():
        yield from ask(name, packages)


def own_rates(bits: int) -> Row:
    """Ours, once the tables are there."""
    rng = Rng(seed_of(bits))
    begun = time.process_time()
    secret = SecretKey(bits, rng.stream("key"))
    made = time.process_time() - begun
    public = secret.public
    secret.encrypt([1] * 100, rng.stream("warm"))
    public.encrypt([1] * 100, rng.stream("warm too"))
    some = secret.encrypt(list(range(2000)), rng.stream("some"))
    return {
        "who": "covey", "bits": bits, "key s": round(made, 2),
        "encrypt/s, own key": rate(lambda n: secret.encrypt([1] * n, rng.stream("own")), 1500),
        "encrypt/s": rate(lambda n: public.encrypt([1] * n, rng.stream("public")), 800),
        "add/s": rate(lambda n: some.slice(0, n).plus(some.slice(0, n)), 2000),
        "decrypt/s": rate(lambda n: secret.decrypt(some.slice(0, n)), 150),
    }  # fmt: skip


def comparisons(count: int = 400, width: int = 10) -> int:
    """Masked comparisons a second of CPU, both sides together."""
    rng = Rng(seed_of(5))
    secret, reading = SecretKey(2048, rng.stream("key")), ReadingKey(rng.stream("bits"))
    numbers = secret.encrypt([place - 50 for place in range(count)], rng.stream("numbers"))
    widths = np.full(count, width)

    async def asker(channel: Channel) -> None:
        await comparison.ask_signs(channel, "reader", reading.public, numbers, widths)

    async def reader(channel: Channel) -> None:
        await comparison.answer_signs(channel, "asker", secret, reading, widths)

    return rate(lambda _: run_parties({"asker": asker, "reader": reader}), count)


ASK = {
    "phe": """
import json, time
from phe import paillier
for bits in (2048, 3072):
    public, secret = paillier.generate_paillier_keypair(n_length=bits)
    def rate(work, n):
        t = time.process_time(); work(n); return round(n / (time.process_time() - t))
    some = [public.encrypt(k) for k in range(40)]
    row = {"who": "phe 1.5.0", "bits": bits, "encrypt/s": rate(lambda n: [public.raw_encrypt(1) for _ in range(n)], 40),
           "add/s": rate(lambda n: [some[0] + some[1] for _ in range(n)], 2000),
           "decrypt/s": rate(lambda n: [secret.decrypt(some[k]) for k in range(n)], 40)}
    print(json.dumps(row))
""",
    "tno": """
import json, time, warnings
warnings.simplefilter("ignore")
from importlib.metadata import version
from tno.mpc.encryption_schemes.paillier import Paillier
for bits in (2048, 3072):
    scheme = Paillier.from_security_parameter(key_length=bits, precision=0)
    def rate(work, n):
        t = time.process_time(); work(n); return round(n / (time.process_time() - t))
    some = [scheme.encrypt(k) for k in range(40)]
    row = {"who": "tno.mpc paillier " + version("tno.mpc.encryption_schemes.paillier"), "bits": bits,
           "encrypt/s": rate(lambda n: [scheme.encrypt(1) for _ in range(n)], 40),
           "add/s": rate(lambda n: [some[0] + some[1] for _ in range(n)], 2000),
           "decrypt/s": rate(lambda n: [scheme.decrypt(some[k]) for k in range(n)], 40)}
    print(json.dumps(row))
    scheme.shut_down()
""",
}


def ask(name: str, packages: tuple[str, ...]) -> Iterator[Row]:
    """The same of a peer, in a Python of its own."""
    made = subprocess.run(
        [str(ROOT / "scripts" / "make-venv.sh"), name, *packages],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    if made.returncode:
        yield {"who": name, "bits": None, "note": f"cannot be installed here: {made.stderr.strip().splitlines()[-1:]}"}
        return
    answer = subprocess.run(
        [str(ROOT / ".venvs" / name / "bin" / "python"), "-c", ASK[name]], capture_output=True, text=True
    )
    if answer.returncode:
        yield {"who": name, "bits": None, "note": answer.stderr.strip().splitlines()[-1][:200]}
    for line in answer.stdout.splitlines():
        yield json.loads(line)


PARTS: dict[str, Callable[[list[str]], Iterator[Row]]] = {
    "crypto": lambda asked: measure_crypto(),
    "tls": lambda asked: measure_runs(asked or TLS.split(",")),
    "growth": lambda asked: measure_runs(asked or GROWTH.split(",")),
    "plan": lambda asked: measure_plan(asked or PLANS.split(",")),
    "schedules": lambda asked: measure_runs(asked or SCHEDULES.split(",")),
}
KEYS = ("what", "who", "bits", "population", "common", "more at each", "alpha", "schedule")


def run(arguments: list[str]) -> None:
    """Measures the parts, prints each row as it is done, and keeps all in the results."""
    for part in arguments[:1] or list(PARTS):
        for row in PARTS[part](arguments[1:]):
            print(part, json.dumps(row), flush=True)
            keep(part, row)


def keep(part: str, row: Row) -> None:
    """Writes a row to the results; one of the same point is replaced."""
    known: dict[str, list[Row]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def point(each: Row) -> tuple[object, ...]:
        return (*(each.get(key) for key in KEYS), "compare/s" in each)

    rows = [each for each in known.get(part, []) if point(each) != point(row)]
    known[part] = [*rows, row]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one_run(sys.argv[2])))
    elif sys.argv[1:2] == ["foreseen"]:
        print(json.dumps(foreseen(sys.argv[2])))
    else:
        run(sys.argv[1:])
