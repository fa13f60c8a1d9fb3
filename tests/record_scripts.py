"""Records which messages the protocols' runs have: `python -m tests.record_scripts [NAME …]`.

Plays the harness's trials of each case, and adds to `script.json` in the protocol's folder what no line there allows.
A line needs the settings that all runs had in which the message was seen and that another run lacked. A setting that
these runs had by chance would refuse an honest run: read the difference, and take out what the message does not need.
A protocol's first script begins with a file that has an empty list.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

from tests.harness.cases import CASES
from tests.harness.harness import lines, run
from tests.harness.trial import Trial

import covey
from covey.party.audit.script import strays
from covey.party.record.transcript import Entry as Message
from covey.protocols import Line
from covey.protocols.shared.script import FILE, load, settings

FOLDERS = Path(covey.__file__).parent / "protocols"


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


def main(names: list[str]) -> None:
    """Records the cases of these protocols, or of all that have a script."""
    by_folder: dict[str, list[Trial]] = {}
    for case in CASES.values():
        trial = case.smallest()
        name = trial.protocol.role.__module__.split(".")[2]
        if (FOLDERS / name / FILE).exists() and (not names or name in names):
            by_folder.setdefault(name, []).extend([trial, *(case.draw(seed) for seed in range(3))])
    for name, trials in by_folder.items():
        old, new = load(f"covey.protocols.{name}"), missing(trials)
        write(FOLDERS / name, [*old, *new])
        print(f"{name}: {len(old)} lines, {len(new)} new")


if __name__ == "__main__":
    main(sys.argv[1:])
