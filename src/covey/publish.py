"""One owner's table, anonymized and published: what `covey anonymize` and `covey.anonymize` do.

The release is judged before anyone sees it, by a judge that knows nothing of the algorithm.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pyarrow as pa

from covey import report as reporting
from covey import table
from covey.anonymizers import DEFAULT, find
from covey.anonymizers import anonymize as search
from covey.anonymizers.build import Built, PartitionFigures, build, figures, released
from covey.anonymizers.explain import explain as explained
from covey.anonymizers.problem import Cancel, Partition, Progress, never, report, silent
from covey.errors import InputError, Unmet
from covey.files import PRIVATE, RELEASES, SHARED, UMASK, as_json, remove_release, write_atomically
from covey.guess.draft import Rule, drafted
from covey.judge import Verdict, verify
from covey.judge.singled_out import NAME, kept, refusal
from covey.option import Value
from covey.release import Release
from covey.schema import Role
from covey.sources import Data, Source, arrange, as_given, canonical_csv, connect
from covey.study import Study, StudyLike
from covey.study.editing import set_keys
from covey.study.insiders import OF_INSIDERS
from covey.summary import FILE as SUMMARY
from covey.summary import Summary
from covey.table import Table

_DRAFTED_K = 10
_EXPLANATION = "explanation.json"
_CARRIED = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)


@dataclass(frozen=True)
class OwnerRun:
    """One owner's run, with the original for the report and the files that it leaves."""

    records: Table
    verdict: Verdict

    def save(self, release: Release, folder: Path) -> None:
        """Writes release.csv, summary.json, report.html, study.toml and the study's files: all of them, or none.

        The report shows counts of the original data, and only the owner of the file can read it; `covey report` makes
        one without.
        """
        files = {"release.csv": release.content, **study_files(release.study)}
        files[SUMMARY] = as_json(release.summary)
        explanation = release.explanation
        if explanation is not None:
            files[_EXPLANATION] = msgspec.json.format(msgspec.json.encode(explanation), indent=2) + b"\n"
        _refuse_to_replace(folder, files)
        material = reporting.Material(
            summary=release.figures,
            study=release.study,
            release=release.arranged,
            records=self.records,
        )
        files[reporting.FILE] = reporting.render(material, self.verdict).encode()
        with staged(folder) as stage:
            for name, content in files.items():
                write_atomically(stage / name, content)
            move(stage, folder, private=frozenset({reporting.FILE}))


def anonymize(
    data: Data,
    study: StudyLike | None = None,
    algorithm: str = DEFAULT,
    *,
    seed: int = 0,
    budget: int | None = None,
    effort: str | None = None,
    threads: int | None = None,
    explain: bool = False,
    options: Mapping[str, Value] | None = None,
    progress: Progress = silent,
    cancel: Cancel = never,
    k: int | None = None,
    l: float | None = None,  # noqa: E741 - the field's name for it
    t: float | None = None,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    drop: Iterable[str] = (),
    hierarchies: Mapping[str, Rule] | None = None,
) -> Release:
    """Publishes a table by a centralized algorithm, as the study's k, l and t allow.

    `data` is a path, a URL or a frame; k, l and t stand for the study's, for a quick look, and so does peel's `effort`.
    `study` is a path, a Study or a dict. Without one Covey drafts it with k = 10 or the given k, holds back what is
    uncertain (`release.left_out`), and `quasi`, `sensitive`, `drop` and `hierarchies` say what some columns are.
    Raises InputError for data that does not fit, Unmet with what would be feasible.
    """
    reasons: dict[str, str] | None = None
    if study is None:
        study, reasons = drafted(
            data, k or _DRAFTED_K, quasi=quasi, sensitive=sensitive, drop=drop, hierarchies=hierarchies
        )
    elif quasi or sensitive or drop or hierarchies:
        raise InputError("quasi, sensitive, drop and hierarchies change a draft; with a study change the study")
    study = Study.of(study)
    options = with_effort(study, algorithm, {**(options or {}), **({} if effort is None else {"effort": effort})})
    study = _asking(study, {"k": k, "l": l, "t": t})
    require_quasi(study)
    source = connect(data)
    columns = study.of_role(*_CARRIED)
    report("reading the data", 0.0, progress, cancel)
    reading = table.read_source(source, columns)
    for column in columns:
        table.refuse_exact_ends(reading, column, study.privacy.k)
    built = build(table.build(reading, study))
    began = time.perf_counter()
    partition = search(
        built.problem, algorithm, seed=seed, budget=budget, threads=threads, progress=progress, cancel=cancel,
        options=options,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    report("judging the release", 0.0, progress, cancel)
    arranged = arrange(released(built, partition))
    verdict = judged(arranged, study)
    reached_figures = figures(built, partition)
    digest = hashlib.sha256(canonical_csv(arranged)).hexdigest()
    explanation = None
    if explain:
        names = [column.name for column in built.table.quasi]
        explanation = explained(
            built.problem, partition, names, algorithm, seed=seed, threads=threads, options=options, progress=progress,
            cancel=cancel,
        )  # fmt: skip
    return Release(
        study=study,
        table=as_given(arranged, data),
        figures=summarize(study, built, partition, reached_figures, verdict, algorithm, seed, seconds, digest),
        ledger={},
        arranged=arranged,
        writer=OwnerRun(built.table, verdict),
        explanation=explanation,
        left_out=_left_out(study) if reasons is None else reasons,
    )


def _left_out(study: Study) -> dict[str, str]:
    """The columns of a study that are not published, and why."""
    return {
        column.name: column.question or "the study leaves it out" for column in study.columns if not column.released
    }


def require_quasi(study: Study) -> None:
    """Raises Unmet for a study with no quasi column that has an answer."""
    if not study.quasi:
        waiting = len(study.waiting)
        raise Unmet(f"no column may be published yet, and {waiting} wait for an answer: covey new --ask asks for it")


def with_effort(study: Study, algorithm: str, options: Mapping[str, Value]) -> Mapping[str, Value]:
    """These options, with the study's effort if the algorithm takes one and none is given."""
    takes = any(option.name == "effort" for option in find(algorithm).options)
    return {"effort": study.effort, **options} if takes and study.effort is not None else options


def _asking(study: Study, limits: Mapping[str, float | None]) -> Study:
    """The study with another k, l or t. Raises InputError for what no study may ask."""
    changes = {name: value for name, value in limits.items() if value is not None}
    if not changes:
        return study
    if study.text is None:
        return replace(study, privacy=replace(study.privacy, **changes))  # type: ignore[arg-type]
    values = {name: f"{value:g}" for name, value in changes.items()}
    text = set_keys(study.text, ("privacy",), values, str(study.path))
    return Study.parse(text, study.folder, study.files)


def judged(arranged: pa.Table | Source, study: Study) -> Verdict:
    """Returns the judge's verdict on what is about to be published.

    Any other no is an error of ours: it raises Unmet, and nothing is published.
    """
    verdict = verify(arranged, study)
    wanting = [entry for entry in verdict.unmet if entry.name != NAME and "suppressed or withheld" not in entry.name]
    if wanting:
        raise Unmet(
            "the release does not keep what the study asks, and is not published: " + "; ".join(map(str, wanting))
        )
    return verdict


def summarize(
    study: Study,
    built: Built,
    partition: Partition,
    totals: PartitionFigures,
    verdict: Verdict,
    algorithm: str,
    seed: int,
    seconds: float,
    digest: str,
) -> Summary:
    """The figures of summary.json."""
    kind = study.privacy.diversity
    limits = {column.name: limit for column in study.sensitive if (limit := study.l_of(column)) is not None}
    reached_l = [getattr(entry, kind) for entry in verdict.diversity if not limits or entry.column in limits]
    return Summary(
        study=study.name,
        algorithm=algorithm,
        seed=seed,
        partition=study.partition,
        k=study.privacy.k,
        l=min(limits.values(), default=None),
        seconds=round(seconds, 3),
        rounds=0,
        messages=0,
        bytes=0,
        study_hash=study.study_hash,
        reproducible=partition.reproducible,
        warnings=list(_warnings(study, partition)),
        rows=totals.rows,
        withheld=totals.withheld,
        dropped=built.table.dropped,
        k_reached=totals.k_reached,
        l_reached=min(reached_l, default=None),
        classes=totals.classes,
        suppressed_cells=totals.suppressed_cells,
        singled_out=verdict.singled_out,
        kept=kept(study, totals.loss.lm, verdict.constant),
        refused=refusal(study, verdict.singled_out),
        loss=msgspec.to_builtins(totals.loss),
        release_sha256=digest,
    )


def _warnings(study: Study, partition: Partition) -> Iterator[str]:
    """The study's requests that one owner's release cannot keep, and a search of probes only."""
    if partition.notes.get("probed"):
        yield (
            f"of {partition.notes['lattice']:,} generalizations {partition.notes['visited']:,} were visited, those "
            "that probes found: fewer quasi columns or fewer levels would let all be visited"
        )
    for name in ("site_l", "delta", *OF_INSIDERS):
        if getattr(study.privacy, name) is not None:
            yield f"{name} is about who contributed which row; the release of one owner does not keep it"


def study_files(study: Study) -> dict[str, bytes]:
    """The study and every file that it names, as they were read."""
    return {**study.files, **({} if study.text is None else {"study.toml": study.text.encode()})}


def require_room(folder: Path, *, force: bool = False) -> None:
    """Raises InputError where a release cannot be written, or would replace one without `force`."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder for the release")
    if (folder / SUMMARY).exists() and not force:
        raise InputError(f"{folder}: holds a release already; choose another folder with --out, or replace it: --force")
    ancestor = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    if not os.access(ancestor, os.W_OK):
        raise InputError(f"{folder}: cannot be written; check the permissions of {ancestor}")


def _refuse_to_replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """Raises InputError where a folder has other files under the names of a release."""
    if (folder / "ledger.json").exists():
        raise InputError(f"{folder}: holds the run of a protocol; choose another folder for the release")
    if (folder / SUMMARY).exists():
        return
    for name, content in {**dict.fromkeys(RELEASES, b""), **files}.items():
        path = folder / name
        if path.exists() and not (path.is_file() and path.read_bytes() == content):
            raise InputError(f"{path}: is there already, and is no release of ours; choose another folder with --out")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A new folder beside the release's, removed at the end. Raises InputError where it cannot be."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder for the release")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); check the permissions") from None
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def move(stage: Path, folder: Path, private: frozenset[str] = frozenset()) -> None:
    """Moves what is whole to its place. The summary comes last into an earlier release's folder."""
    for path in (stage, *stage.rglob("*")):
        path.chmod((0o777 if path.is_dir() else PRIVATE if path.name in private else SHARED) & ~UMASK)
    if not folder.exists():
        stage.rename(folder)
        return
    for name in (*RELEASES, SUMMARY, reporting.FILE, _EXPLANATION):
        remove_release(folder / name)
    parts = stage / "release.parquet"
    if parts.is_dir():
        parts.rename(folder / parts.name)
    for file in sorted(stage.rglob("*"), key=lambda path: (path.name == SUMMARY, path)):
        if file.is_file():
            (folder / file.relative_to(stage)).parent.mkdir(parents=True, exist_ok=True)
            file.replace(folder / file.relative_to(stage))
