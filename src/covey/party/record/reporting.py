"""The report of a folder: its material gathered from the files, its page written beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from covey import report
from covey.errors import InputError
from covey.evaluation import FILE as EVALUATION
from covey.evaluation import Evaluation
from covey.files import PRIVATE, SHARED, read_json, release_in, write_atomically
from covey.party.record.names import LEDGER, STUDY
from covey.party.record.signatures import signatures_in
from covey.protocols import named, names
from covey.report import LedgerFile, Material
from covey.secure.declare import Fact, facts
from covey.sources import Data, connect
from covey.sources.release import content_hash, release_digest
from covey.study import Study
from covey.summary import FILE as SUMMARY
from covey.summary import Summary
from covey.table import Table, build, read_source


def write(
    folder: Path,
    *,
    data: str | None = None,
    study: Study | None = None,
    release: Data | None = None,
    file: str = "release.csv",
) -> Path:
    """Makes the folder's report anew from its files, and returns its path. Raises InputError if there is no run in it.

    Nothing of the original data is on the page unless `data` are given: a run's folder may be handed to its auditors.
    With data, only the owner of the file can read it.
    `study` and `release` stand for files that are not written yet, of which the last has the name `file`.
    """
    material = gather(folder, study=study, release=release, file=file)
    if data is not None:
        records = _records(folder, material, data)
        material = replace(material, records=records, evaluation=_evaluation(folder, material))
    path = folder / report.FILE
    write_atomically(path, report.render(material).encode(), SHARED if data is None else PRIVATE)
    return path


def gather(
    folder: Path, *, study: Study | None = None, release: Data | None = None, file: str = "release.csv"
) -> Material:
    """The material of a folder's report. Raises InputError if the folder holds no run, or if a file is damaged."""
    summary = Summary.read(folder / SUMMARY)
    ledger = read_json(folder / LEDGER, LedgerFile)
    if summary is None and ledger is None:
        raise InputError(f"{folder}: has neither {SUMMARY} nor {LEDGER}; name the folder of a run or of a release")
    if study is None and (folder / STUDY).is_file():
        study = Study.load(folder / STUDY).as_recorded("" if summary is None else summary.study_hash)
    altered = False
    if release is None and summary is not None and summary.release_sha256 is not None:
        release = release_in(folder)
        altered = isinstance(release, Path) and release_digest(release) != summary.release_sha256
        file = file if release is None else release.name
    signed = None if study is None or summary is None else signatures_in(folder, study, summary.release_sha256)
    counts = study is not None and study.protocol in names() and named(study.protocol)[0].release == "counts"
    told = facts_of(folder, summary) if ledger is None else ()
    return Material(summary, ledger, study, release, file, counts, altered, signatures=signed, facts=told)


def _evaluation(folder: Path, material: Material) -> Evaluation | None:
    """The evaluation in the folder, if it is of this release."""
    found = read_json(folder / EVALUATION, Evaluation)
    if found is None or material.study is None or not isinstance(material.release, Path):
        return None
    own = material.study.study_hash, content_hash(material.release)
    return found if (found.study_hash, found.release_sha256) == own else None


def facts_of(folder: Path, summary: Summary | None) -> list[Fact]:
    """Every fact that a run taught, from the ledger in its folder, or in a party's folder below."""
    if summary is None:
        return []
    for name in (".", *summary.parties):
        found = (
            read_json(folder / name / LEDGER, LedgerFile) if Path(name).name in (name, "") and name != ".." else None
        )
        if found is not None and found.facts:
            return found.facts
    everyone = dict.fromkeys((*summary.parties, *summary.per_party))  # respondents enrol, and are no party of the study
    return facts({name: [line for line in summary.ledger if line.startswith(f"{name} ")] for name in everyone}, {})


def _records(folder: Path, material: Material, data: str) -> Table:
    """The released columns of the folder's owner. Raises InputError if the folder is not of a holder of data."""
    summary, study = material.summary, material.study
    if summary is None or study is None:
        raise InputError(f"{folder}: has no {SUMMARY} with a {STUDY}; data can be shown beside a release only")
    if summary.parties and summary.party is None:
        raise InputError(f"{folder}: is of all parties together; name one party's folder below it, and its own data")
    if summary.party is not None and not study.party(summary.party).holds_data:
        raise InputError(f"{folder}: party {summary.party!r} holds no data in this study; leave out --data")
    columns = [column for column in study.held_by(summary.party) if column.released]
    source = connect(data)
    return build(read_source(source, columns), study)
