"""The steward's commands as functions: draft a study, check data, plan, run a party, audit and report.

`covey.anonymize`, `covey.simulate`, `covey.verify` and `covey.evaluate` have homes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from covey.files import ReleaseFormat
from covey.fitness import Fitness
from covey.guess import Draft, draft_of
from covey.party.audit.folders import Audited
from covey.party.audit.folders import audit as look
from covey.party.audit.replay import replay as play_again
from covey.party.plan import Plan, make_plan
from covey.party.record import reporting
from covey.party.session.approval import ApprovalQuestion
from covey.party.session.data import check_data, load_table
from covey.party.session.run import Job, run_party
from covey.sources import Data
from covey.study import Study, StudyLike
from covey.summary import Summary

_ROWS = 1000


def new(*tables: Data, k: int = 10, name: str | None = None, out: str | Path | None = None) -> Draft:
    """Drafts a study over one table, or over one for each party. With `out` it is written. Read every guess."""
    draft = draft_of(tables, k, name)
    if out is not None:
        draft.write(Path(out))
    return draft


def check(data: Data, study: StudyLike, party: str | None = None) -> Fitness:
    """Compares data with the study: what does not fit, what identifies, local risk."""
    return check_data(Study.of(study), data, party)


def plan(
    study: StudyLike,
    rows: Mapping[str, int] | int = _ROWS,
    *,
    latency: float = 0.03,
    bandwidth: float = 12.5e6,
    party: str | None = None,
    data: Data | None = None,
) -> Plan:
    """Foretells time, rounds, bytes and what each party will learn. Seconds, and bytes a second.

    `rows` is one number for all holders, or one for each by name; with `party` and its `data` the plan looks at them.
    """
    study = Study.of(study)
    holders = [holder.name for holder in study.holders] or ["respondents"]
    if isinstance(rows, Mapping):
        for name in rows:
            study.party(name)
    sizes = {name: rows if isinstance(rows, int) else rows.get(name, 0) for name in holders}
    records = None if party is None else load_table(study, party, data)
    return make_plan(study, sizes, latency, bandwidth, own=records)


def run(
    study: str | Path,
    party: str,
    out: str | Path,
    *,
    approve: Callable[[ApprovalQuestion], bool] | bool,
    data: str | None = None,
    keys: str | Path = "keys",
    wait: float = 3600.0,
    for_others: bool = False,
    written: Literal["csv", "parquet"] = "csv",
    parts: int = 1,
) -> Summary:
    """Runs one party against the real others, as `covey run` does, until the end.

    `approve` is asked before anything is published, and shown all that `covey run` shows; True approves unseen. A run
    that is finished here goes on only `for_others`, who were cut off. Several parts are Parquet files in a folder.
    """

    async def decide(question: ApprovalQuestion) -> bool:
        return approve if isinstance(approve, bool) else bool(approve(question))

    release_format = ReleaseFormat(written, parts)
    job = Job(
        Path(study),
        party,
        Path(out),
        Path(keys),
        decide,
        data,
        wait=wait,
        for_others=for_others,
        written=release_format,
    )
    return run_party(job)


def audit(*folders: str | Path, replay: bool = False) -> list[Audited]:
    """Checks the folders of runs, or of a simulation. With `replay` each party is run again from its journal."""
    audited = look([Path(folder) for folder in folders])
    if not replay:
        return audited
    return [entry if entry.wrong else replace(entry, wrong=tuple(play_again(entry.folder))) for entry in audited]


def make_report(folder: str | Path, data: str | None = None) -> Path:
    """Makes report.html again from the files in a folder. With `data` it shows columns before and after."""
    return reporting.write(Path(folder), data=data)
