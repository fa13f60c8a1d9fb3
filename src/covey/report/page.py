"""The page: the answer first, then the pictures, then what was learned, then how to check all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from covey.anonymizers import ALGORITHMS, anonymize
from covey.anonymizers.build import build, figures
from covey.anonymizers.explain import LITTLE
from covey.errors import InputError, Unmet
from covey.judge import Verdict
from covey.report import pictures, spelling
from covey.report.charts import PATTERNS, CurvePoint
from covey.report.distribution import compare, compare_own
from covey.report.findings import ReleaseFindings, examine, risk_before
from covey.report.markup import Markup, join, listed, named, prose, tag
from covey.report.material import Material
from covey.report.opening import opening
from covey.report.sections import checking, evaluated, learned
from covey.sources import Data
from covey.summary import Summary
from covey.table import Table

FILE = "report.html"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CAUTION = (
    "This page shows counts of the original data: keep it where the data are. `covey report DIR` makes one without."
)


@dataclass(frozen=True)
class _Looked:
    """The judge's findings, or the reason why there is no verdict."""

    findings: ReleaseFindings | None = None
    unreadable: str | None = None


def render(material: Material, verdict: Verdict | None = None) -> str:
    """The page as HTML, which loads nothing and runs nothing. A release that was judged already is not judged again."""
    looked = _look(material, verdict)
    summary, findings = material.summary, looked.findings
    parts = [opening(material, findings, looked.unreadable)]
    if material.records is not None and findings is not None:
        parts.append(tag("p", prose(_CAUTION), class_="caution"))
    if findings is not None and summary is not None:
        parts += _pictures(material, summary, findings)
    if material.evaluation is not None:
        parts += evaluated(material.evaluation)
    if summary is not None:
        parts.append(pictures.cost(summary))
    parts += [learned(material), checking(material, findings)]
    return document(_title(material), join(tag("section", part) for part in parts if part))


def _look(material: Material, verdict: Verdict | None) -> _Looked:
    """Judges the release if there is one that a judge of records can read."""
    if material.release is None or material.study is None or material.summary is None or material.is_of_counts:
        return _Looked()
    try:
        return _Looked(examine(material.release, material.study, material.summary.withheld, verdict))
    except InputError as error:
        return _Looked(unreadable=_unplaced(str(error), material.release))


def _unplaced(sentence: str, release: Data) -> str:
    """The sentence without the folder: a page does not tell where it was made."""
    return sentence.replace(str(release), release.name) if isinstance(release, Path) else sentence


def _pictures(material: Material, summary: Summary, findings: ReleaseFindings) -> list[Markup]:
    k = summary.k or 1
    records = material.records
    points: tuple[CurvePoint, ...] = ()
    sample: int | None = None
    quasi = [cells.column.name for cells in findings.released.quasi]
    heads = [*quasi, *(cells.column.name for cells in findings.released.sensitive)]
    risks_before = None if records is None or not records.trees else risk_before(records)
    may = findings.verdict.answer
    parts = [
        pictures.rows(heads, findings.sample(), findings.released.rows),
        pictures.losses(findings.columns) if may else Markup(""),
        pictures.classes(findings.sizes, k),
        pictures.worst(quasi, findings.worst()),
        pictures.risks(findings.verdict.risk, risks_before, k),
    ]
    if records is not None and material.release is not None:
        if summary.parties:
            columns, followed = compare_own(records, findings.released)
            note = (
                f"{spelling.plural(followed, 'person', 'people')} of the {spelling.count(records.rows)} in our rows, "
                "each as the classes of the release show the person that it fits in; columns that are published as "
                "they are do not change."
            )
            parts.append(pictures.changes(columns, "our own people", "the same people in the release", note))
        else:
            withheld = (
                f"{spelling.plural(summary.withheld, 'withheld row')} stand in the original only."
                if summary.withheld
                else ""
            )
            columns = compare(records, findings.released, material.release)
            parts.append(pictures.changes(columns, "the original", "the release", withheld))
            points, sample = loss_by_k(records, k, summary.algorithm or "") if may else ((), None)
            parts.append(pictures.by_k(points, summary, sample))
    waits = (
        [join([named(column.name), prose(f": {column.question}")]) for column in material.study.waiting]
        if material.study
        else []
    )
    if waits:
        parts.append(join([tag("h2", "Columns that wait for an answer, and are left out"), listed(waits)]))
    left_out = [prose(sentence) for sentence in _left_out(material, summary, bool(points) or not may)]
    return [*parts, join([tag("h2", "What this page leaves out"), listed(left_out)])] if left_out else parts


def _left_out(material: Material, summary: Summary, has_other_k: bool) -> Iterator[str]:
    """The contents that the page lacks, and why."""
    if material.records is None:
        yield "Each column before and after, and the risks before: " + _WITHOUT[_kind(summary)]
    if summary.parties:
        yield (
            "What another k would cost: that would be another joint run, and each run shows the parties something. "
            "`covey simulate` with another k shows it on data that one machine may hold."
        )
    elif material.records is None:
        yield "What another k would cost: it takes the original data to find out."
    elif not has_other_k:
        yield "What another k would cost: no other k is feasible here."


_WITHOUT = {
    "joint": "nobody holds all the rows. In a party's own folder, `covey report . --data DATA` shows it for its rows.",
    "party": "this folder may be handed to others, so that it has no counts of our data. "
    "`covey report . --data DATA` adds them, for us alone.",
    "owner": "the original data were not at hand. `covey report . --data DATA` adds it.",
}


def _kind(summary: Summary) -> str:
    if not summary.parties:
        return "owner"
    return "joint" if summary.party is None else "party"


def _title(material: Material) -> str:
    if material.summary is not None:
        return f"{material.summary.study}: report"
    return f"{material.ledger.study}: report" if material.ledger is not None else "report"


def document(title: str, body: Markup, style: str = "") -> str:
    """A whole page in our style; it loads nothing and runs nothing."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(_style() + style)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', PATTERNS, tag('main', body)), lang='en')}\n"


@cache
def _style() -> str:
    return "\n" + Path(__file__).with_name("style.css").read_text()


_ASKED = (2, 5, 10, 20, 50)
_SECONDS = 0.5  # that a single search may be expected to take
_SAMPLES = (20_000, 5_000, 2_000, 1_000, 500)


def loss_by_k(records: Table, k: int, algorithm: str) -> tuple[tuple[CurvePoint, ...], int | None]:
    """LM at a few k, with the rows of the sample, or None for all rows.

    Nothing where no other k is feasible. The release's own algorithm searches: it is compiled already, and its losses
    can be compared.
    """
    if algorithm not in ALGORITHMS:
        return (), None
    searcher = ALGORITHMS[algorithm]
    sizes = [records.rows, *(size for size in _SAMPLES if size < records.rows)]
    for size in sizes:
        sample = records if size == records.rows else _sample(records, size)
        if size == sizes[-1] or searcher.seconds(build(sample, k=min(*_ASKED, k)).problem) <= _SECONDS:
            break
    return _search(sample, k, algorithm), None if sample is records else sample.rows


def _sample(records: Table, size: int) -> Table:
    indices = np.random.default_rng(0).choice(records.rows, size, replace=False)
    return records.select(np.sort(indices).astype(np.int64))


def _search(records: Table, k: int, algorithm: str) -> tuple[CurvePoint, ...]:
    """LM at a few k of these rows, by little effort."""
    searcher = ALGORITHMS[algorithm]
    points = []
    for other_k in sorted({*_ASKED, k}):
        if other_k * 2 > records.rows:
            continue
        built = build(records, k=other_k)
        lenient = replace(built.problem, suppression=1.0)
        try:
            partition = anonymize(lenient, algorithm, budget=LITTLE if searcher.budget else None)
        except (Unmet, InputError):
            continue
        points.append(CurvePoint(other_k, figures(built, partition).loss.lm))
    return tuple(points) if len(points) > 2 else ()
