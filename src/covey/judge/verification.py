"""The questions that a privacy officer asks of a release, in order, and the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from covey.arrays import Longs
from covey.hierarchy import Interval
from covey.judge.diversity import judge_diversity
from covey.judge.loss import judge_loss
from covey.judge.released import Released, off_steps, read_release
from covey.judge.risk import judge_presence, judge_risk
from covey.judge.singled_out import MOST_PAIRS, MOST_ROWS, count_cells, kept, linked, require_nobody
from covey.judge.tuples import Original, Spans, read_original, spans
from covey.judge.verdict import Diversity, Matched, Requirement, Verdict
from covey.schema import Column
from covey.sources import Data, Source, connect
from covey.study import Privacy, Study, StudyLike
from covey.study.insiders import OF_INSIDERS, k_insider
from covey.summary import SingledOut

_SLACK = 1e-9  # a rounding error never decides
_NONE: Mapping[str, Data] = {}
_C = 1.0  # of recursive (c, l)-diversity, where the study has none


def verify(
    release: Data | Source, study: StudyLike, original: Data | None = None, providers: Mapping[str, Data] | None = None
) -> Verdict:
    """Judges from the files alone if a release keeps what the study asks, and what is lost.

    With the tables of providers, by party, also how many of their users are in it (delta).

    Raises InputError if the release lacks a column or has a label that the study does not know, and likewise for
    the original.
    """
    study = Study.of(study)
    source, tables = connect(release, counted=True), providers or {}
    with_plain = original is not None or _exact_presence(study, tables)
    return judge(source, read_release(source, study, with_plain=with_plain), study, original, tables)


def judge(
    source: Source, released: Released, study: Study, original: Data | None = None, tables: Mapping[str, Data] = _NONE
) -> Verdict:
    """The same of a release that has been read; `tables` are the tables of providers."""
    against = None if original is None else read_original(connect(original, counted=True), study)
    label_spans = [] if against is None else [spans(cells, against.table) for cells in released.quasi]
    matched = None if against is None else _match(released, against, label_spans)
    diversity = _diversity(released, study.privacy)
    presence, counted = judge_presence(released, study, tables), count_cells(source, study)
    loss = judge_loss(released, study.privacy.k, None if against is None else against.table, label_spans, matched)
    requirements = (
        *_requirements(source, study, released, diversity, matched),
        *_of_presence(study, presence),
        *require_nobody(study, counted.singled_out),
    )
    suppressed = released.suppressed
    return Verdict(
        release=source.name,
        study=study.name,
        study_hash=study.study_hash,
        answer=all(requirement.met for requirement in requirements),
        requirements=requirements,
        rows=released.rows,
        classes=released.classes,
        k=int(released.sizes.min()),
        singled_out=counted.singled_out,
        constant=counted.constant,
        kept=kept(study, loss.lm, counted.constant),
        suppressed_rows=int(released.sizes[suppressed == len(study.quasi)].sum()),
        suppressed_cells=int(suppressed @ released.sizes),
        diversity=diversity,
        risk=judge_risk(released.sizes, study.privacy.k, _meant(released, against, label_spans)),
        loss=loss,
        original=matched,
        absent=dict(_absent(study, diversity, matched)),
        notes=tuple(_notes(study, tables, matched, counted.singled_out)),
    )


def _exact_presence(study: Study, providers: Mapping[str, Data]) -> bool:
    return bool(providers) and study.options.get("presence") == "sensitive"


def _of_presence(study: Study, presence: Mapping[tuple[str, ...], float]) -> Iterator[Requirement]:
    """The largest part of the users behind a released label, for providers whose tables were given."""
    for providers, share in presence.items():
        limit = 1.0 if study.privacy.delta is None else study.privacy.delta
        yield _at_most(f"delta for {' and '.join(map(repr, providers))}", share, limit)


def _match(released: Released, against: Original, label_spans: list[Spans]) -> Matched:
    from covey.judge.matching import unmatched

    without_original = unmatched(released, against.table, label_spans)
    rows = against.table.rows
    return Matched(
        rows=rows,
        dropped=against.dropped,
        unmatched=without_original,
        withheld=rows - (released.rows - without_original),
        linked=linked(released, against.table),
    )


def _meant(released: Released, against: Original | None, label_spans: list[Spans]) -> Longs | None:
    if against is None:
        return None
    from covey.judge.matching import meant

    return meant(released, against.table, label_spans)


def _diversity(released: Released, privacy: Privacy) -> tuple[Diversity, ...]:
    c = _C if privacy.c is None else privacy.c
    counts = released.table.counts
    return tuple(judge_diversity(cells, released.class_of, counts, released.sizes, c) for cells in released.sensitive)


def _requirements(
    source: Source, study: Study, released: Released, diversity: tuple[Diversity, ...], matched: Matched | None
) -> Iterator[Requirement]:
    """Everything that the study asks and that the files can answer."""
    privacy = study.privacy
    yield _no_other_columns(source, study)
    yield from _one_spelling(released)
    yield _at_least("k", None, privacy.k, int(released.sizes.min()))
    if any(isinstance(column.hierarchy, Interval) for column in study.quasi):
        yield _at_most("rows with an interval whose ends are no public steps", off_steps(released), 0)
    for column, figures in zip(study.sensitive, diversity, strict=True):
        yield from _of_sensitive(column, figures, study)
    withheld = 0
    if matched is not None:
        withheld = matched.withheld
        yield _at_most("released rows without an original of their own", matched.unmatched, 0)
        if not _may_withhold_more(study):
            yield _at_most("withheld originals", withheld, privacy.k - 1)
    if study.suppression < 1:
        suppressed = int(released.sizes[released.suppressed == len(study.quasi)].sum()) + withheld
        yield _at_most(
            "the suppressed or withheld part of the rows", suppressed / (released.rows + withheld), study.suppression
        )


def _no_other_columns(source: Source, study: Study) -> Requirement:
    released = {column.name for column in study.released}
    extra = [name for name in source.columns if name not in released]
    role = {column.name: str(column.role) for column in study.columns}
    listing = ", ".join(f"{name!r} ({role.get(name, 'not in the study')})" for name in extra)
    return _at_most("columns that must not be released", len(extra), 0, f": {listing}" if extra else "")


def _one_spelling(released: Released) -> Iterator[Requirement]:
    """Requires one spelling of each label: two (37 and 37.0) mark rows that should look alike."""
    for cells in released.quasi:
        if (surplus := cells.spellings - len(np.unique(cells.codes))) > 0:
            advice = (
                ": a reader of the file can tell such rows apart, so that they are no class; write the release anew"
            )
            yield _at_most("further spellings of labels", surplus, 0, advice, cells.column.name)


def _of_sensitive(column: Column, figures: Diversity, study: Study) -> Iterator[Requirement]:
    l_limit, t_limit, privacy = study.l_of(column), study.t_of(column), study.privacy
    if l_limit is not None:
        l_figures = {"distinct": figures.distinct, "frequency": figures.frequency, "entropy": figures.entropy}
        kind = privacy.diversity
        yield _at_least(f"l ({kind})", column.name, l_limit, l_figures[kind])
        if privacy.c is not None:
            yield _at_least(f"l (recursive, c = {privacy.c:g})", column.name, math.ceil(l_limit), figures.recursive)
    if t_limit is not None:
        t_figures = {"equal": figures.t_equal, "ordered": figures.t_ordered, "hierarchy": figures.t_hierarchy}
        yield _at_most(f"t ({column.distance})", t_figures[column.distance], t_limit, column=column.name)


def _at_least(name: str, column: str | None, limit: float, figure: float) -> Requirement:
    return Requirement(name, column, "at least", limit, figure, figure >= limit - _SLACK)


def _at_most(name: str, figure: float | None, limit: float, detail: str = "", column: str | None = None) -> Requirement:
    met = figure is not None and figure <= limit + _SLACK
    return Requirement(name, column, "at most", limit, figure, met, detail)


def _may_withhold_more(study: Study) -> bool:
    """True if a protocol may withhold k rows or more because they break another condition than k."""
    privacy = study.privacy
    insider = (k_insider(study) or 1) > 1 or privacy.l_insider is not None or privacy.most_of_a_class is not None
    return study.declared is not None and study.declared.withholds and (privacy.l is not None or insider)


def _absent(study: Study, diversity: tuple[Diversity, ...], matched: Matched | None) -> Iterator[tuple[str, str]]:
    """The figures that have no meaning here, and why."""
    if matched is None:
        for measure in ("em", "em_monotone", "entropy"):
            yield f"loss.{measure}", "it needs the original's frequencies: give --original"
    elif matched.unmatched:
        yield "loss.entropy", "some released rows have no original of their own"
    for column, figures in zip(study.sensitive, diversity, strict=True):
        if figures.t_ordered is None:
            yield f"{column.name}.t_ordered", "the values have no order: list them under `values`, or give a type"
        if figures.t_hierarchy is None:
            note = "the column has no hierarchy" if column.hierarchy is None else "some values are not in its hierarchy"
            yield f"{column.name}.t_hierarchy", note


def _notes(study: Study, providers: Mapping[str, Data], matched: Matched | None, counted: SingledOut) -> Iterator[str]:
    privacy = study.privacy
    if counted.only_exact:
        yield (
            "of the pairs of cells only those with an exact column were counted: there are more than "
            f"{MOST_ROWS:,} rows or more than {MOST_PAIRS} pairs of columns"
        )
    if matched is not None and matched.withheld >= privacy.k and _may_withhold_more(study):
        yield (
            f"{matched.withheld:,} originals are withheld, k or more: the protocol withholds rows that keep k but not "
            "what else the study asks for, such as l or k_insider; suppression in [utility] limits their part"
        )
    missing = [party.name for party in study.holders if party.name not in providers]
    if privacy.delta is not None and missing:
        yield (
            f"delta is about whose users are in the release: give the table of {' and '.join(map(repr, missing))} "
            "(--provider PARTY=DATA), each by itself where no one may see both, or read the run's ledger"
        )
    for name in ("site_l", *OF_INSIDERS):
        if getattr(privacy, name) is not None:
            yield f"{name} is about who contributed which row; a release does not show it: read the run's ledger"
