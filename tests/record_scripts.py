"""Records which messages the protocols' runs have: `python -m tests.record_scripts [NAME …]`.

Plays the harness's trials of each case, and adds to `script.json` in the protocol's folder what no line there allows.
A line needs the settings that all runs had in which the message was seen and that another run lacked. A setting that
these runs had by chance would refuse an honest run: read the difference, and take out what the message does not need.
A protocol's first script begins with a file that has an empty list.

Then it writes each protocol's version down, with the defaults of its options and a fingerprint of its messages, in
`fixtures/protocol_versions.json`. It refuses to write other messages or defaults down under the same version.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from tests.harness.cases import CASES
from tests.harness.harness import lines, run
from tests.harness.trial import Trial

import covey
from covey.party.audit.script import strays
from covey.party.record.transcript import Entry as Message
from covey.protocols import Line, Protocol
from covey.protocols.shared.script import FILE, load, settings

FOLDERS = Path(covey.__file__).parent / "protocols"
VERSIONS = Path(__file__).parent / "fixtures" / "protocol_versions.json"
FINGERPRINTED = (
    "cluster", "cluster of two", "federate", "federate of several", "generalize",
    "suppress by elgamal", "count", "cluster-columns", "peel-columns", "collect", "peel by respondents",
    "peel",
)  # fmt: skip
"""The cases whose messages stand for their protocol's."""


def starred(step: str, names: Iterable[str]) -> str:
    """The step with a star for each number and each party's name."""
    return "/".join("*" if part.isdigit() or part in names else part for part in step.split("/"))


def line_of(trial: Trial, message: Message) -> Line:
    """The line that would allow a message."""
    roles = (
        trial.protocol.role_name(trial.study, message.sender),
        trial.protocol.role_name(trial.study, message.recipient),
    )
    return Line(starred(message.step, trial.names), message.tag, roles=roles)


def missing(trials: Iterable[Trial]) -> list[Line]:
    """The lines that these trials lack."""
    found: dict[Line, frozenset[str]] = {}
    runs: list[frozenset[str]] = []
    for trial in trials:
        have = settings(trial.study)
        runs.append(have)
        for message in lines(run(trial)):
            if strays(trial.study, trial.protocol, [replace(message, number=0)], finished=False):
                line = line_of(trial, message)
                found[line] = found.get(line, have) & have
    varying = frozenset().union(*runs) - frozenset.intersection(*runs)
    return [replace(line, needs=tuple(sorted(common & varying))) for line, common in found.items()]


def write(folder: Path, script: Iterable[Line]) -> None:
    """Writes a script, a line each, sorted."""
    rows = [{key: value for key, value in asdict(line).items() if value not in (None, ())} for line in script]
    rows.sort(key=lambda row: (row["step"], row["tag"], row.get("roles", ()), row.get("needs", ())))
    text = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    (folder / FILE).write_text(f"[\n{text}\n]\n", encoding="utf-8")


def folder_of(protocol: Protocol) -> str:
    """The name of a protocol's folder."""
    module = sys.modules[protocol.ideal.__module__]
    package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
    return package.removeprefix("covey.protocols.").replace(".", "/")


def fingerprint(messages: Iterable[Message]) -> str:
    """A hash of who sent what to whom at which step, and how large it was; not of what was said."""
    shape = [[each.sender, each.recipient, each.step, each.tag, each.number, each.size] for each in messages]
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()


def described(protocol: Protocol, messages: Mapping[str, str]) -> dict[str, object]:
    """A protocol's version, and what may change only together with it; `messages` are fingerprints by case."""
    defaults = {option.name: repr(option.default) for option in protocol.requirements.options}
    return {"version": protocol.version, "defaults": defaults, "messages": dict(messages)}


def unraised(protocol: Protocol, messages: Mapping[str, str]) -> str:
    """The sentence on a protocol whose messages or defaults changed under the same version, or nothing.

    Options and cases that are new change nothing for those who run without them.
    """
    written = json.loads(VERSIONS.read_text(encoding="utf-8")) if VERSIONS.exists() else {}
    before, now = written.get(folder_of(protocol)), described(protocol, messages)
    if before is None or before["version"] != now["version"]:
        return ""
    changed = [
        name
        for part in ("defaults", "messages")
        for name, value in now[part].items()  # type: ignore[attr-defined]
        if before[part].get(name, value) != value
    ]
    if not changed:
        return ""
    return (
        f"{folder_of(protocol)}: {', '.join(changed)} changed under version {protocol.version}; raise `version` in the "
        f"protocol's declaration, then run python -m tests.record_scripts {folder_of(protocol)}"
    )


def write_versions(names: list[str]) -> int:
    """Writes the versions of these protocols down, or of all. Returns 1 if one must be raised first."""
    written = json.loads(VERSIONS.read_text(encoding="utf-8")) if VERSIONS.exists() else {}
    found: dict[str, dict[str, tuple[Protocol, str]]] = {}
    for name in FINGERPRINTED:
        trial = CASES[name].smallest()
        folder = folder_of(trial.protocol)
        if not names or folder in names:
            found.setdefault(folder, {})[name] = trial.protocol, fingerprint(lines(run(trial)))
    played = [(protocol, {name: own}) for cases in found.values() for name, (protocol, own) in cases.items()]
    wrong = sorted({sentence for protocol, said in played if (sentence := unraised(protocol, said))})
    if not wrong:
        for folder, cases in found.items():  # ways to split a table that share a folder have options of their own
            parts = [described(protocol, {name: own}) for name, (protocol, own) in cases.items()]
            written[folder] = {
                key: {name: value for part in parts for name, value in part[key].items()}  # type: ignore[attr-defined]
                for key in ("defaults", "messages")
            } | {"version": parts[0]["version"]}
        VERSIONS.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print("\n".join(wrong) or f"versions of {', '.join(sorted(found))} are written down")
    return int(bool(wrong))


def main(names: list[str]) -> int:
    """Records the cases of these protocols, or of all that have a script, and writes the versions down."""
    by_folder: dict[str, list[Trial]] = {}
    for case in CASES.values():
        trial = case.smallest()
        name = folder_of(trial.protocol)
        if (FOLDERS / name / FILE).exists() and (not names or name in names):
            by_folder.setdefault(name, []).extend([trial, *(case.draw(seed) for seed in range(3))])
    for name, trials in by_folder.items():
        old, new = load(f"covey.protocols.{name.replace('/', '.')}"), missing(trials)
        write(FOLDERS / name, [*old, *new])
        print(f"{name}: {len(old)} lines, {len(new)} new")
    return write_versions(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
