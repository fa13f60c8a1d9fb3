"""The demonstration: a sample that ships, a protocol that runs it, and a check of what came out."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey import samples
from covey.errors import InputError, Unmet
from covey.party.record import document
from covey.party.record.folder import RELEASE
from covey.party.session.data import load_table
from covey.party.simulate.deal import RESPONDENTS
from covey.protocols import PROTOCOLS, find
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.study.rules import PROTOCOLS as PROTOCOL_RULES

MARK = ".covey-demo"
_PREFERRED = ("cluster", "count")
_SAMPLES = {
    "cluster": "hospitals",
    "count": "hospitals",
    "peel": "hospitals",
    "suppress": "hospitals",
    "generalize": "clinic-billing",
    "federate": "providers",
    "collect": "survey",
}
_CHANGES: Mapping[str, Mapping[str, document.Document]] = {
    "count": {"protocol": {"column": "age", "level": 2}},
    "collect": {"protocol": {"grid": 4096}},  # a smaller index, which 800 respondents are sent
    "peel": {"protocol": {"mode": "wave"}},  # fewer rounds: the demo is meant to be short
    "suppress": {  # tuples of five exact columns are all different, and would all be suppressed
        "columns": {name: {"role": "identifier"} for name in ("age", "occupation", "admission")}
    },
    "generalize": {"protocol": {"local": "peel", "variant": "finished-cells"}},  # the default leaves little to look at
}


@dataclass(frozen=True)
class Demo:
    """A study with its parties' data, ready to be simulated."""

    study: Study
    sample: str
    data: dict[str, str]


def default_protocol() -> str:
    """The protocol that a demonstration shows unless told otherwise."""
    return next(name for name in _PREFERRED if name in PROTOCOLS)


def prepare(protocol: str, out: Path) -> Demo:
    """The sample for that protocol, copied to `out/sample`; an earlier demonstration there is replaced."""
    find(protocol)
    sample = _SAMPLES[protocol]
    clear(out)
    folder = samples.copy(sample, out / "sample")
    content = document.read(folder / "study.toml")
    document.table(content, "study")["protocol"] = protocol
    for name, change in _CHANGES.get(protocol, {}).items():
        document.table(content, name).update(change)
    rule = PROTOCOL_RULES[protocol]
    if protocol == "suppress":
        document.table(content, "parties").pop("east")  # a protocol for two
    for section, known in (("privacy", rule.privacy), ("protocol", rule.options)):  # what this protocol can enforce
        asked = document.table(content, section)
        for key in [key for key in asked if key not in known]:
            del asked[key]
    (folder / "study.toml").write_text(document.spell(content), encoding="utf-8")
    study = Study.load(folder / "study.toml")
    if study.partition == "respondents":
        return Demo(study, sample, {RESPONDENTS: str(folder / f"{sample}.csv")})
    return Demo(study, sample, {party.name: str(folder / f"{party.name}.csv") for party in study.holders})


def clear(out: Path) -> None:
    """Makes room in the folder, if what is there is an earlier demonstration. Raises InputError if it is not."""
    if (out / MARK).is_file():
        shutil.rmtree(out)
    samples.make_room(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARK).write_text("made by covey demo, which may replace this folder\n")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); choose another folder with --out") from None


def check(demo: Demo, out: Path) -> str:
    """What was established about the release, in a sentence. Raises Unmet if it falls short."""
    protocol = find(str(demo.study.protocol))
    if protocol.release == "records":
        from covey.judge import verify

        verdict = verify(str(out / RELEASE), demo.study)
        if not verdict.answer:
            raise Unmet(verdict.sentence())
        return "an independent judge read the release and found every requirement of the study met"
    tables = {name: load_table(demo.study, name, path) for name, path in demo.data.items()}
    expected = protocol.ideal(demo.study, {name: table for name, table in tables.items() if table is not None})
    if expected.release is None:
        raise Unmet("the protocol's ideal gives no release to compare with")
    quasi = frozenset(column.name for column in demo.study.quasi)
    ideal = hashlib.sha256(canonical_csv(arrange(expected.release, quasi))).digest()
    if ideal != hashlib.sha256((out / RELEASE).read_bytes()).digest():
        raise Unmet("the release is not what a trusted party would have published")
    return "the release is, byte for byte, what a trusted party that saw all rows would have published"
