"""The comparison that a sceptic wants: every protocol, every centralized algorithm, and each owner alone, on one table.

Every contender gets the same people, columns, hierarchies and k, and the same judge reads what comes out. A protocol
runs for real (all parties in one process, no latency) while its allowance of time lasts; beyond that its loss is what
its `ideal` says, which tests hold equal to a run, and the row says so.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pyarrow as pa

import covey
from covey.anonymizers import ALGORITHMS
from covey.bench.dataset import Split, Stage, concatenated, one_owner, rows_of, split
from covey.bench.findings import Curve, Findings, Grid, Plot
from covey.errors import Aborted, InputError, Unmet
from covey.party.session.data import load_table
from covey.party.session.respondents import RESPONDENTS
from covey.party.simulate.respondents import load_rows
from covey.protocols import Protocol, named, names
from covey.sources.release import arrange
from covey.table import Table

KS = (2, 5, 10, 20, 50, 100)
QUICK_KS = (2, 10, 100)
_SHORT = 20.0
"""A run that is expected to be no longer than this is made in any case, once."""
_ALONE = "each alone"
_TOGETHER, _ONE_OWNER = "nobody", "one party"


@dataclass(frozen=True)
class Entry:
    """One contender at one k. `why` says why there are no figures, or that no run was made."""

    contender: str
    kind: str
    k: int
    loss: float | None = None
    highest: float | None = None
    average: float | None = None
    classes: int | None = None
    withheld: int = 0
    seconds: float | None = None
    rounds: int | None = None
    bytes: int | None = None
    why: str = ""


def compare(
    stage: Stage, ks: Sequence[int] = KS, *, allowance: float, tell: Callable[[str], None] = lambda sentence: None,
    protocols: Sequence[str] = names(),
) -> Findings:  # fmt: skip
    """Everyone on that stage, over those k; `allowance` is how many seconds each of the protocols may run for real."""
    entries: list[Entry] = []
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        scratch = Path(folder)
        for algorithm in ALGORITHMS:
            for k in ks:
                tell(f"{algorithm}, one owner, k = {k}")
                entries.append(_owner(stage, algorithm, k, scratch))
        for k in ks:
            tell(f"{_ALONE}, k = {k}")
            entries.append(_alone(stage, k, scratch))
        for protocol in (each for name in protocols for each in named(name)):
            if protocol.release == "records":
                entries += _joint(stage, protocol, protocol.requirements.partition, ks, allowance, tell, scratch)
    return _findings(stage, entries, allowance)


def _owner(stage: Stage, algorithm: str, k: int, scratch: Path) -> Entry:
    entry = Entry(algorithm, _ONE_OWNER, k)
    try:
        release = covey.anonymize(stage.pooled, one_owner(stage, k, scratch), algorithm)
    except Unmet as error:
        return replace(entry, why=str(error))
    return replace(
        _judged(entry, release.arranged, release.study),
        loss=release.loss.lm, withheld=_number(release.summary, "withheld"),
        seconds=cast(float, release.summary["seconds"]),
    )  # fmt: skip


def _alone(stage: Stage, k: int, scratch: Path) -> Entry:
    """Each site by itself with the best algorithm; a site that cannot reach k alone withholds its rows."""
    study = one_owner(stage, k, scratch)
    released, lost, withheld, seconds = [], 0.0, 0, 0.0
    for rows in stage.sites.values():
        try:
            release = covey.anonymize(rows, study)
        except Unmet:
            lost, withheld = lost + rows.num_rows, withheld + rows.num_rows
            continue
        released.append(release.arranged)
        lost += release.loss.lm * rows.num_rows
        withheld += _number(release.summary, "withheld")
        seconds = max(seconds, cast(float, release.summary["seconds"]))
    entry = Entry(_ALONE, _TOGETHER, k, withheld=withheld, rounds=0, bytes=0)
    if not released:
        return replace(entry, why="no site has k rows")
    whole = arrange(concatenated(released), frozenset(stage.quasi))
    return replace(_judged(entry, whole, study), loss=lost / stage.pooled.num_rows, seconds=seconds)


def _joint(
    stage: Stage, protocol: Protocol, partition: str, ks: Sequence[int], allowance: float,
    tell: Callable[[str], None], scratch: Path,
) -> Iterator[Entry]:  # fmt: skip
    """A protocol at every k; it runs for real first at the k nearest to what the study asks."""
    name = protocol.name if len(named(protocol.name)) == 1 else f"{protocol.name}, {_SPLITS[partition]}"
    spent = 0.0
    for k in sorted(ks, key=lambda k: abs(k - stage.k)):
        entry = Entry(name, _TOGETHER, k)
        try:
            ready = split(stage, protocol.name, partition, k, scratch)
            forecast = protocol.foresee(ready.study, rows_of(ready)).seconds
            if spent <= allowance and forecast <= max(2 * allowance, _SHORT):
                tell(f"{name}, a run at k = {k}")
                begun = time.perf_counter()
                yield _run(entry, ready)
                spent += time.perf_counter() - begun
            else:
                tell(f"{name}, the ideal at k = {k}")
                yield _imagined(entry, protocol, ready)
        except (Unmet, Aborted, InputError) as error:
            yield replace(entry, why=str(error).splitlines()[0])


_SPLITS = {"horizontal": "rows split", "vertical": "columns split", "respondents": "a row each"}


def _run(entry: Entry, ready: Split) -> Entry:
    release = covey.simulate(ready.study, ready.data, seed=1)
    summary = release.summary
    table = release.table
    if not isinstance(table, pa.Table):
        raise TypeError("Arrow tables go in, so an Arrow table comes out")
    return replace(
        _judged(entry, table, ready.study, release.loss.lm),
        withheld=_number(summary, "withheld"), seconds=cast(float, summary["seconds"]),
        rounds=_number(summary, "rounds"), bytes=_number(summary, "bytes"),
    )  # fmt: skip


def _imagined(entry: Entry, protocol: Protocol, ready: Split) -> Entry:
    result = protocol.ideal(ready.study, {name: _table(ready.study, name, rows) for name, rows in ready.data.items()})
    if result.release is None or result.figures is None:
        return replace(entry, why="its ideal gives no release")
    judged = _judged(entry, arrange(result.release, frozenset()), ready.study, result.figures.loss.get("lm"))
    return replace(judged, withheld=result.figures.withheld, why="its ideal, not run")


def _table(study: covey.Study, name: str, rows: pa.Table) -> Table:
    """What one holder has, or all respondents together."""
    table = load_rows(study, rows) if name == RESPONDENTS else load_table(study, name, rows)
    if table is None:
        raise TypeError(f"{name} holds no data")
    return table


def _judged(entry: Entry, release: pa.Table, study: covey.Study, loss: float | None = None) -> Entry:
    """What the judge reads in the release; it must at least keep k."""
    verdict = covey.verify(release, study)
    if not verdict.answer:
        raise Unmet(f"{entry.contender} at k = {entry.k}: {verdict.sentence()}")
    risk = verdict.risk
    return replace(
        entry, loss=verdict.loss.lm if loss is None else loss, highest=risk.prosecutor.highest,
        average=risk.prosecutor.average, classes=verdict.classes,
    )  # fmt: skip


def _number(summary: dict[str, object], name: str) -> int:
    return int(cast(int, summary[name]))


def _findings(stage: Stage, entries: Sequence[Entry], allowance: float) -> Findings:
    ordered = sorted(entries, key=lambda entry: (entry.k, entry.kind, entry.loss if entry.loss is not None else 2.0))
    rows = tuple(
        (
            entry.k, entry.contender, entry.kind, entry.loss, entry.highest, entry.average, entry.classes,
            entry.withheld, entry.seconds, entry.rounds, entry.bytes, entry.why,
        )
        for entry in ordered
    )  # fmt: skip
    head = (
        "k", "contender", "trusted", "loss (LM)", "highest risk", "average risk", "classes", "withheld",
        "seconds", "rounds", "bytes", "remark",
    )  # fmt: skip
    joint = [entry for entry in entries if entry.kind == _TOGETHER]
    owners = [entry for entry in entries if entry.kind == _ONE_OWNER]
    best = min(owners, key=lambda entry: 2.0 if entry.loss is None else entry.loss)
    reference = [replace(entry, contender=f"{best.contender}, one owner") for entry in _of(entries, best.contender)]
    plots = (
        Plot("What is lost without trusting anyone", "k", "loss, LM", _curves([*joint, *reference], _loss), log_x=True),
        Plot("What one owner loses, by algorithm", "k", "loss, LM",
             _curves(owners, _loss), log_x=True),
        Plot("How likely a record is found, on average", "k", "average risk",
             _curves(joint, lambda entry: entry.average), log_x=True, log_y=True),
        Plot("How long it takes", "k", "seconds on this machine, no latency",
             _curves(joint, lambda entry: entry.seconds), log_x=True, log_y=True),
    )  # fmt: skip
    sizes = " + ".join(f"{table.num_rows:,}" for table in stage.sites.values())
    notes = (
        f"The study {stage.name!r}: {stage.pooled.num_rows:,} rows, {len(stage.quasi)} quasi-identifiers, of k alone: "
        "not every contender can enforce more.",
        "Each alone: every site anonymizes its rows by itself with peel, and the releases are put together.",
        f"Rows split: {sizes}. Two-party protocols get halves dealt at random; columns split: half of the "
        "quasi-identifiers each. Each protocol gets the options that are its defaults.",
        "A withheld row counts as fully lost. Risks are the prosecutor's: one over the class's size, at worst and "
        "on average over the released rows.",
        f"A protocol ran for real for about {allowance:g} s, all parties in one process; where the remark says so, "
        "the loss is its ideal's.",
    )
    grids = (_losses(entries), _costs(stage, entries), Grid("Everyone at every k", head, rows, long=True))
    return Findings(grids, plots, (), notes)


def _losses(entries: Sequence[Entry]) -> Grid:
    """Loss by contender and k, the best of each kind first."""
    ks = sorted({entry.k for entry in entries})
    by_place = {(entry.kind, entry.contender, entry.k): entry.loss for entry in entries}
    losses = {
        (kind, contender): [by_place.get((kind, contender, k)) for k in ks]
        for kind, contender in dict.fromkeys((entry.kind, entry.contender) for entry in entries)
    }
    summed = {place: sum(2.0 if loss is None else loss for loss in own) for place, own in losses.items()}
    best_first = sorted(losses, key=lambda place: (place[0], summed[place]))
    rows = [(contender, kind, *losses[kind, contender]) for kind, contender in best_first]
    return Grid("Loss (LM): 0 is untouched, 1 is all gone", ("contender", "trusted", *(f"k = {k}" for k in ks)),
                tuple(rows))  # fmt: skip


def _costs(stage: Stage, entries: Sequence[Entry]) -> Grid:
    """Risk and cost of everyone at the k nearest to the study's."""
    k = min({entry.k for entry in entries}, key=lambda k: (abs(k - stage.k), k))
    rows = tuple(
        (
            entry.contender, entry.kind, entry.highest, entry.average, entry.withheld, entry.seconds, entry.rounds,
            None if entry.bytes is None else round(entry.bytes / 1e6, 1), entry.why,
        )
        for entry in sorted(entries, key=lambda entry: (entry.kind, 2.0 if entry.loss is None else entry.loss))
        if entry.k == k
    )  # fmt: skip
    head = ("contender", "trusted", "risk: highest", "average", "withheld", "seconds", "rounds", "MB", "remark")
    return Grid(f"Risk and cost at k = {k}", head, rows)


def _loss(entry: Entry) -> float | None:
    return entry.loss


def _of(entries: Sequence[Entry], contender: str) -> list[Entry]:
    return [entry for entry in entries if entry.contender == contender and entry.kind == _ONE_OWNER]


def _curves(entries: Sequence[Entry], value: Callable[[Entry], float | None]) -> tuple[Curve, ...]:
    names = dict.fromkeys(entry.contender for entry in entries)
    found = []
    for name in names:
        points = sorted(
            (float(entry.k), float(figure))
            for entry in entries
            if entry.contender == name and (figure := value(entry)) is not None
        )
        if points:
            found.append(Curve(name, tuple(points)))
    return tuple(found)
