"""`federate`: the crypto's operations beside phe and tno.mpc, whole runs over TLS, growth with the population.

`tls`: three processes over TLS on Adult (1,200 common users, 2,400 more at each provider, k = 2, delta = 0.75), and the
release compared with the trusted party's. `growth`: the same against populations up to 100,000, Adult's rows repeated.
`several`: the same among three providers or four, on shares; here each set of all providers but one has so many more
users in common. A point ends with the number of providers, `3000:300:300:0.5:3`, and, on a slower line, its latency.
`plan`: what was foreseen beside what a run on the samples took, both providers in one process. `crypto`: operations a
second. `schedules`: the level schedule beside the paper's calls on small populations. The table
is looked for beside the project (shared/data/adult). `python -m benchmarks federate PART [POINT…]` runs a part, or
some points of it; what was measured before is kept beside it.
"""

from __future__ import annotations

import json
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from tests.harness.parties import run_parties

import covey
from benchmarks import _adult
from benchmarks._measuring import Row, apart, ask_peer, load, over_tls, peak_megabytes, run_parts
from covey import samples
from covey.bench import dataset as datasets
from covey.crypto.paillier import SecretKey
from covey.crypto.reading import ReadingKey
from covey.crypto.rng import Rng, derive
from covey.party.identity import keys as keyring
from covey.party.session.data import load_table
from covey.party.simulate.deal import seed_of
from covey.protocols.as_printed import federate
from covey.protocols.as_printed.federate import comparison
from covey.sources.release import arrange, canonical_csv
from covey.sources.source import Data
from covey.study import Study
from covey.wire import Channel, parse_latency

PARTS_OF: dict[int, dict[str, tuple[str, ...]]] = {
    2: {
        "gym": ("age", "sex", "race", "marital-status"),
        "bank": ("education", "native-country", "workclass", "occupation", "salary-class"),
    },
    3: {
        "gym": ("age", "sex", "race"),
        "school": ("marital-status", "education"),
        "bank": ("native-country", "workclass", "occupation", "salary-class"),
    },
    4: {
        "gym": ("age", "sex"),
        "school": ("race", "education"),
        "club": ("marital-status", "native-country"),
        "bank": ("workclass", "occupation", "salary-class"),
    },
}
"""The columns of each provider, by the number of providers."""
TLS = "30162:1200:2400:0.5,30162:1200:2400:1"
GROWTH = "3000:300:600:0.5,10000:400:800:0.5,30000:1200:2400:0.5,100000:4000:8000:0.5"
SEVERAL = (
    "3000:300:300:0.5:3,3000:300:300:1:3,3000:300:300:0.5:4,30162:1200:1200:0.5:3,30162:1200:1200:1:3,"
    "30162:1200:1200:1:3:30ms"
)
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


def study_text(alpha: float, schedule: str, providers: int = 2) -> str:
    """Providers with some columns each, and a recipient."""
    options = f'population = "population.csv"\nalpha = {alpha}\nschedule = "{schedule}"\n'
    head = _adult.head("federate", "vertical", 2, options).replace("[protocol]", "delta = 0.75\n[protocol]")
    quasi = [name for own in PARTS_OF[providers].values() for name in own if name != "salary-class"]
    columns = _adult.quasi_columns(quasi, 'missing = "error"\n') + _adult.SALARY + 'missing = "error"\n'
    named = "".join(f"[parties.{name}]\ncolumns = {json.dumps(own)}\n" for name, own in PARTS_OF[providers].items())
    return f'{head}{columns}[columns.uid]\nrole = "key"\n{named}[parties.researcher]\nrole = "recipient"\n'


def lay_out(
    folder: Path, population: int, common: int, extra: int, alpha: float, schedule: str = "level", providers: int = 2
) -> Study:
    """A study and the providers' tables; people beyond Adult's rows repeat them.

    All providers have the common users, and for each provider all others have so many more.
    """
    shutil.copytree(_adult.FOLDER, folder, dirs_exist_ok=True)
    (folder / "population.csv").write_text("".join(f"u{number}\n" for number in range(population)))
    raw = _adult.people()
    order = Rng(seed_of(1)).stream("users").permutation(population)
    parts = PARTS_OF[providers]
    without = {name: order[common + place * extra :][:extra] for place, name in enumerate(reversed(parts))}
    for name, columns in parts.items():
        own = np.sort(np.concatenate([order[:common], *(each for absent, each in without.items() if absent != name)]))
        hand = raw.take(pa.array(own % raw.num_rows)).select(columns)
        hand = hand.add_column(0, "uid", pa.array([f"u{number}" for number in own.tolist()]))
        pyarrow.csv.write_csv(hand, folder / f"{name}.csv")
    (folder / "study.toml").write_text(study_text(alpha, schedule, providers))
    return Study.load(folder / "study.toml")


def one_run(text: str) -> Row:
    """One run over TLS: population, common users, more users, alpha or schedule, providers, latency."""
    population, common, extra, last, *rest = text.split(":")
    schedule = last if last in ("level", "paper") else "level"
    alpha = 0.5 if last in ("level", "paper") else float(last)
    providers = int(rest[0]) if rest else 2
    latency = parse_latency(rest[1]) if rest[1:] else 0.0
    several: Row = {"providers": providers, "latency": latency} if rest else {}
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        study = lay_out(Path(scratch), int(population), int(common), int(extra), alpha, schedule, providers)
        data = {name: str(Path(scratch, f"{name}.csv")) for name in PARTS_OF[providers]}
        rows = int(common) + (providers - 1) * int(extra)
        due = federate.PROTOCOL.foresee(study, dict.fromkeys(data, rows))
        before = load()
        done = over_tls(study, data, Path(scratch, "out"), latency)
        lasting = {
            name: derive(keyring.load(Path(scratch, "out", name, "keys")).dummy, "lasting", "federate") for name in data
        }
        tables = {name: table for name in data if (table := load_table(study, name, data[name])) is not None}
    ideal, loss = federate.ideal(study, tables, lasting), done.summary["loss"]
    wanted = None if ideal.release is None else arrange(ideal.release)
    return {
        "population": int(population), "common": int(common), "more at each": int(extra), "alpha": alpha,
        "schedule": schedule, **several, "classes": done.summary["classes"], "lm": done.lm,
        "dm": loss["dm"],  # type: ignore[index]
        "as the trusted party's": wanted is not None and canonical_csv(wanted) == done.release,
        **done.figures("rounds", "messages"), "s foreseen": round(due.seconds, 1), "MB, all parties": done.megabytes,
        "s": done.summary["seconds"], "CPU s, all parties": round(done.cpu, 1),
        "MB of memory, the largest party": peak_megabytes(resource.RUSAGE_CHILDREN), "load before": before,
    }  # fmt: skip


def measure(one: Callable[[str], Row], every: str) -> Callable[[list[str]], Iterator[Row]]:
    """The part that measures each of these points in a process of its own, or those that are asked for."""
    return lambda asked: (apart(one, text) for text in asked or every.split(","))


def foreseen(text: str) -> Row:
    """One run beside its plan; both providers compute in this process, so its CPU is theirs together."""
    sample, _, k = text.partition(":")
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        folder = samples.copy(sample, Path(scratch, "sample"))
        study = Study.load(folder / "study.toml")
        data: Mapping[str, Data] = {party.name: str(folder / f"{party.name}.csv") for party in study.holders}
        rows = {party.name: _lines(folder / f"{party.name}.csv") for party in study.holders}
        if k:
            whole = datasets.of_parties(study, {name: str(path) for name, path in data.items()})
            ready = datasets.partition_for(whole, federate.PROTOCOL, int(k))
            study, data, rows = ready.study, ready.data, ready.rows
        due, before = federate.PROTOCOL.foresee(study, rows), load()
        begun = time.process_time()
        summary = covey.simulate(study, data, seed=1).summary
        spent = time.process_time() - begun
    return {
        "what": text, "s foreseen": round(due.seconds, 1), "CPU s": round(spent, 1), "s": summary["seconds"],
        "within a factor of three": 1 / 3 <= spent / due.seconds <= 3,
        "rounds foreseen": due.rounds, "rounds": summary["rounds"],
        "messages foreseen": due.messages, "messages": summary["messages"],
        "MB foreseen": round(due.bytes / 1e6, 1), "MB, all parties": round(int(str(summary["bytes"])) / 1e6, 1),
        "load before": before,
    }  # fmt: skip


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n") - 1


def rate(work: Callable[[int], object], count: int) -> int:
    """Operations a second of CPU."""
    begun = time.process_time()
    work(count)
    return round(count / (time.process_time() - begun))


def measure_crypto(asked: list[str]) -> Iterator[Row]:
    """Operations a second on one core; a comparison is of ten bits and both sides together."""
    for bits in (2048, 3072):
        yield own_rates(bits)
    yield {"who": "covey, comparisons", "bits": 2048, "compare/s": comparisons()}
    for name, packages in PEERS.items():
        answer = ask_peer(name, packages, ASK[name])
        if isinstance(answer, str):
            yield {"who": name, "bits": None, "note": answer}
        else:
            yield from answer


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


PARTS = {
    "crypto": measure_crypto,
    "tls": measure(one_run, TLS),
    "growth": measure(one_run, GROWTH),
    "several": measure(one_run, SEVERAL),
    "plan": measure(foreseen, PLANS),
    "schedules": measure(one_run, SCHEDULES),
}
KEYS = ("what", "who", "bits", "population", "common", "more at each", "alpha", "schedule", "providers", "latency")


def run(arguments: list[str]) -> None:
    """Measures a part, or some points of it, or all; results/federate.json keeps the rows."""
    if _adult.is_here():
        run_parts("federate", PARTS, KEYS, arguments)
