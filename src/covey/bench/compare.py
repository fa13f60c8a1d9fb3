"""The comparison of `covey bench`: every protocol, every centralized algorithm, and each owner alone, on one table.

Every contender gets the same people, columns, hierarchies and k, and the same judge reads what comes out. A protocol
runs for real (all parties in one process, no latency) while its allowance of time lasts; beyond that its loss is what
its `ideal` says, which tests hold equal to a run, and the row says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

import covey
from covey.anonymizers import ALGORITHMS
from covey.bench.dataset import Dataset, PartitionedStudy, partition_for
from covey.bench.findings import Findings, Plot, ResultTable, curves
from covey.errors import Aborted, InputError, Unmet
from covey.judge.singled_out import NAME
from covey.protocols import Protocol, named, names
from covey.sources.release import arrange

KS = (2, 5, 10, 20, 50, 100)
QUICK_KS = (2, 10, 100)
SPLITS = {"horizontal": "rows split", "vertical": "columns split", "respondents": "a row each"}
_SHORT = 20.0
"""A run that is expected to take no longer than this is made in any case, once."""
_ALONE = "each alone"
_NOBODY, _ONE_PARTY = "nobody", "one party"
_WORST = 2.0
"""Sorts a contender without a loss behind all others."""


@dataclass(frozen=True)
class ContenderResult:
    """One contender at one k. `remark` says why there are no figures, or that no run was made."""

    contender: str
    trusted: str
    k: int
    loss: float | None = None
    highest: float | None = None
    average: float | None = None
    classes: int | None = None
    withheld: int = 0
    seconds: float | None = None
    rounds: int | None = None
    bytes: int | None = None
    remark: str = ""

    @property
    def rank(self) -> float:
        """The loss, or a number above all losses."""
        return _WORST if self.loss is None else self.loss

    @property
    def megabytes(self) -> float | None:
        """The traffic of all parties."""
        return None if self.bytes is None else round(self.bytes / 1e6, 1)


def compare(
    data: Dataset, ks: Sequence[int] = KS, *, allowance: float, tell: Callable[[str], None] = lambda sentence: None,
    protocols: Sequence[str] = names(),
) -> Findings:  # fmt: skip
    """Compares all contenders at each k; a protocol runs for real for `allowance` seconds."""
    entries: list[ContenderResult] = []
    for algorithm in ALGORITHMS:
        for k in ks:
            tell(f"{algorithm}, one owner, k = {k}")
            entries.append(_one_owner(data, algorithm, k))
    for k in ks:
        tell(f"{_ALONE}, k = {k}")
        entries.append(_each_alone(data, k))
    for protocol in (variant for name in protocols for variant in named(name)):
        if protocol.release == "records":
            entries += _joint(data, protocol, ks, allowance, tell)
    return _findings(data, entries, allowance)


def _one_owner(data: Dataset, algorithm: str, k: int) -> ContenderResult:
    entry = ContenderResult(algorithm, _ONE_PARTY, k)
    try:
        release = covey.anonymize(data.pooled, data.study(k), algorithm)
    except Unmet as error:
        return replace(entry, remark=str(error))
    return replace(
        _judged(entry, release.arranged, release.study), loss=release.loss.lm,
        withheld=_integer(release.summary, "withheld"), seconds=_seconds(release.summary),
    )  # fmt: skip


def _each_alone(data: Dataset, k: int) -> ContenderResult:
    """Anonymizes each site by itself; a site that cannot reach k withholds its rows."""
    study = data.study(k)
    released, loss, withheld, seconds = [], 0.0, 0, 0.0
    for rows in data.sites.values():
        try:
            release = covey.anonymize(rows, study)
        except Unmet:
            loss, withheld = loss + rows.num_rows, withheld + rows.num_rows
            continue
        released.append(_as_text(release.arranged))
        loss += release.loss.lm * rows.num_rows
        withheld += _integer(release.summary, "withheld")
        seconds = max(seconds, _seconds(release.summary))
    entry = ContenderResult(_ALONE, _NOBODY, k, withheld=withheld, rounds=0, bytes=0)
    if not released:
        return replace(entry, remark="no site has k rows")
    union = arrange(pa.concat_tables(released))
    return replace(_judged(entry, union, study), loss=loss / data.pooled.num_rows, seconds=seconds)


def _joint(
    data: Dataset, protocol: Protocol, ks: Sequence[int], allowance: float, tell: Callable[[str], None]
) -> Iterator[ContenderResult]:
    """Tries a protocol at every k, first at the k nearest to the study's."""
    split = SPLITS[protocol.requirements.partition]
    name = protocol.name if len(named(protocol.name)) == 1 else f"{protocol.name}, {split}"
    elapsed = 0.0
    for k in sorted(ks, key=lambda k: abs(k - data.k)):
        entry = ContenderResult(name, _NOBODY, k)
        try:
            ready = partition_for(data, protocol, k)
            forecast = protocol.foresee(ready.study, ready.rows).seconds
            if elapsed <= allowance and forecast <= max(2 * allowance, _SHORT):
                tell(f"{name}, a run at k = {k}")
                start = time.perf_counter()
                yield _run(entry, ready)
                elapsed += time.perf_counter() - start
            else:
                tell(f"{name}, the ideal at k = {k}")
                yield _ideal(entry, ready)
        except (Unmet, Aborted, InputError) as error:
            yield replace(entry, remark=str(error).splitlines()[0])


def _run(entry: ContenderResult, ready: PartitionedStudy) -> ContenderResult:
    measured = ready.run()
    summary, table = measured.release.summary, measured.release.table
    if not isinstance(table, pa.Table):
        raise TypeError("Arrow tables go in, so an Arrow table comes out")
    return replace(
        _judged(entry, table, ready.study, measured.release.loss.lm), withheld=_integer(summary, "withheld"),
        seconds=_seconds(summary), rounds=measured.rounds, bytes=_integer(summary, "bytes"),
    )  # fmt: skip


def _ideal(entry: ContenderResult, ready: PartitionedStudy) -> ContenderResult:
    result = ready.ideal()
    if result.release is None or result.figures is None:
        return replace(entry, remark="its ideal gives no release")
    judged = _judged(entry, arrange(result.release), ready.study, result.figures.loss.get("lm"))
    return replace(judged, withheld=result.figures.withheld, remark="its ideal, not run")


def _judged(
    entry: ContenderResult, release: pa.Table, study: covey.Study, loss: float | None = None
) -> ContenderResult:
    """Adds what the judge reads in the release. Raises Unmet if the release does not keep k.

    Exact values that single rows out are the table's, and the same for every contender.
    """
    verdict = covey.verify(release, study)
    if any(requirement.name != NAME for requirement in verdict.unmet):
        raise Unmet(f"{entry.contender} at k = {entry.k}: {verdict.sentence()}")
    risk = verdict.risk.prosecutor
    return replace(
        entry, loss=verdict.loss.lm if loss is None else loss, highest=risk.highest, average=risk.average,
        classes=verdict.classes,
    )  # fmt: skip


def _as_text(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))


def _integer(summary: dict[str, object], name: str) -> int:
    return int(str(summary[name]))


def _seconds(summary: dict[str, object]) -> float:
    return float(str(summary["seconds"]))


_COLUMNS = {
    "k": "k", "contender": "contender", "trusted": "trusted", "loss (LM)": "loss", "highest risk": "highest",
    "average risk": "average", "classes": "classes", "withheld": "withheld", "seconds": "seconds", "rounds": "rounds",
    "bytes": "bytes", "remark": "remark",
}  # fmt: skip
_COST_COLUMNS = {
    "contender": "contender", "trusted": "trusted", "risk: highest": "highest", "average": "average",
    "withheld": "withheld", "seconds": "seconds", "rounds": "rounds", "MB": "megabytes", "remark": "remark",
}  # fmt: skip


def _findings(data: Dataset, entries: Sequence[ContenderResult], allowance: float) -> Findings:
    ordered = sorted(entries, key=lambda entry: (entry.k, entry.trusted, entry.rank))
    joint = [entry for entry in entries if entry.trusted == _NOBODY]
    owners = [entry for entry in entries if entry.trusted == _ONE_PARTY]
    best = min(owners, key=lambda entry: entry.rank).contender
    reference = [replace(entry, contender=f"{best}, one owner") for entry in owners if entry.contender == best]

    def against_k(
        title: str, y: str, series: Sequence[ContenderResult], value: Callable[[ContenderResult], float | None]
    ) -> Plot:
        points = curves((entry.contender, entry.k, value(entry)) for entry in series)
        return Plot(title, "k", y, points, log_x=True, log_y=y != "loss, LM")

    plots = (
        against_k("What is lost without trusting anyone", "loss, LM", [*joint, *reference], lambda entry: entry.loss),
        against_k("What one owner loses, by algorithm", "loss, LM", owners, lambda entry: entry.loss),
        against_k("How likely a record is found, on average", "average risk", joint, lambda entry: entry.average),
        against_k("How long it takes", "seconds on this machine, no latency", joint, lambda entry: entry.seconds),
    )
    sizes = " + ".join(f"{table.num_rows:,}" for table in data.sites.values())
    notes = (
        f"The study {data.name!r}: {data.pooled.num_rows:,} rows, {len(data.quasi)} quasi-identifiers, of k alone: "
        "not every contender can enforce more.",
        "Each alone: every site anonymizes its rows by itself with peel, and the releases are put together.",
        f"Rows split: {sizes}. Two-party protocols get halves dealt at random; columns split: half of the "
        "quasi-identifiers each. Each protocol gets the options that are its defaults, but k_insider = 1: the others "
        "keep nothing of the kind.",
        "A withheld row counts as fully lost. Risks are the prosecutor's: one over the class's size, at worst and "
        "on average over the released rows.",
        f"A protocol ran for real for about {allowance:g} s, all parties in one process; where the remark says so, "
        "the loss is its ideal's.",
    )
    every = ResultTable.of("Everyone at every k", ordered, _COLUMNS, long=True)
    return Findings((_losses(entries), _costs(data, entries), every), plots, (), notes)


def _losses(entries: Sequence[ContenderResult]) -> ResultTable:
    """Loss by contender and k, the best of each kind first."""
    ks = sorted({entry.k for entry in entries})
    results: dict[tuple[str, str], dict[int, ContenderResult]] = {}
    for entry in entries:
        results.setdefault((entry.trusted, entry.contender), {})[entry.k] = entry
    ordered = sorted(results, key=lambda key: (key[0], sum(entry.rank for entry in results[key].values())))
    rows = tuple((name, trusted, *(results[trusted, name][k].loss for k in ks)) for trusted, name in ordered)
    return ResultTable(
        "Loss (LM): 0 is untouched, 1 is all gone", ("contender", "trusted", *(f"k = {k}" for k in ks)), rows
    )


def _costs(data: Dataset, entries: Sequence[ContenderResult]) -> ResultTable:
    """Risk and cost of every contender at the k nearest to the study's."""
    k = min({entry.k for entry in entries}, key=lambda k: (abs(k - data.k), k))
    ordered = sorted(entries, key=lambda entry: (entry.trusted, entry.rank))
    return ResultTable.of(f"Risk and cost at k = {k}", (entry for entry in ordered if entry.k == k), _COST_COLUMNS)
