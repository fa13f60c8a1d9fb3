"""The demonstration: a sample that ships, a protocol that runs it, and a check of what came out."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from covey import samples
from covey.errors import InputError, Unmet
from covey.party.record.names import RELEASE
from covey.party.session.data import load_table
from covey.protocols import find, named, of_study
from covey.sources.release import arrange, canonical_csv
from covey.study import Study, document
from covey.study.requirements import AS_PRINTED
from covey.study.study import RESPONDENTS

MARK = ".covey-demo"
DEFAULT = "peel"
"""The protocol that a demonstration shows unless told otherwise."""


@dataclass(frozen=True)
class Demo:
    """A study with its parties' data, ready to be simulated."""

    study: Study
    sample: str
    data: dict[str, str]


def prepare(protocol: str, out: Path) -> Demo:
    """The sample for that protocol, copied to `out/sample`; an earlier demonstration there is replaced."""
    declared = named(protocol)
    known = {each.requirements.partition: each for each in declared}
    first = known.get("horizontal") or next(iter(known.values()))  # rows split is what most people have
    shown = first.demonstration
    clear(out)
    folder = samples.copy(shown.sample, out / "sample")
    content = document.read(folder / "study.toml")
    document.table(content, "study")["protocol"] = first.name
    for section, change in shown.changes.items():
        document.table(content, section).update(cast("document.Document", change))
    if first.printed is not None:
        document.table(content, "protocol")[AS_PRINTED.name] = True
    for party in shown.without:
        document.table(content, "parties").pop(party)
    needed = known[str(document.table(content, "study")["partition"])].requirements
    options = [option.name for option in needed.options]
    for section, kept in (("privacy", needed.privacy), ("protocol", options)):  # only what this protocol knows
        asked = document.table(content, section)
        for key in [key for key in asked if key not in kept]:
            del asked[key]
    (folder / "study.toml").write_text(document.spell(content), encoding="utf-8")
    study = Study.load(folder / "study.toml")
    if study.partition == "respondents":
        return Demo(study, shown.sample, {RESPONDENTS: str(folder / f"{shown.sample}.csv")})
    return Demo(study, shown.sample, {party.name: str(folder / f"{party.name}.csv") for party in study.holders})


def beside(demo: Demo) -> str | None:
    """Returns what `peel` loses and opens on the same table; None for a demonstration of a protocol of ours."""
    if of_study(demo.study).printed is None or demo.study.partition == "respondents":
        return None
    peel = find("peel", demo.study.partition)
    content = document.of(demo.study)
    document.table(content, "study")["protocol"] = peel.name
    content.pop("protocol", None)
    asked = document.table(content, "privacy")
    for key in [key for key in asked if key not in peel.requirements.privacy]:
        del asked[key]
    study = Study.parse(document.spell(content), Path(next(iter(demo.data.values()))).parent)
    tables = {name: load_table(demo.study, name, path) for name, path in demo.data.items()}
    try:
        found = peel.ideal(study, {name: table for name, table in tables.items() if table is not None}).figures
    except Unmet:
        return None
    lost = None if found is None else found.loss.get("lm")
    return (
        None
        if lost is None
        else (
            f"peel loses {lost:.4f} (LM) on the same table, and opens nothing but its release and when each class left"
        )
    )


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
    """The result of a check of the release, in a sentence. Raises Unmet if it falls short."""
    protocol = of_study(demo.study)
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
    ideal = hashlib.sha256(canonical_csv(arrange(expected.release))).digest()
    if ideal != hashlib.sha256((out / RELEASE).read_bytes()).digest():
        raise Unmet("the release is not what a trusted party would have published")
    return "the release is, byte for byte, what a trusted party that saw all rows would have published"
