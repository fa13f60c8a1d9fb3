"""The pictures: what each column lost, how large the classes are, what changed, the risks, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from covey.cells import NO_VALUE
from covey.judge import Risks
from covey.report import spelling
from covey.report.charts import Bar, CurvePoint, bars, curve, folded, legend
from covey.report.distribution import ColumnComparison
from covey.report.findings import ClassShown, ColumnLoss, SizeRange
from covey.report.markup import Markup, join, named, tag
from covey.summary import Phase, Summary

_SHOWN = 24
_COLUMNS = 9


def losses(columns: Sequence[ColumnLoss]) -> Markup:
    """The loss of each quasi column."""
    lines = [
        Bar(column.name, column.loss, f"{spelling.loss(column.loss)}; {spelling.share(column.exact)}")
        for column in columns
    ]
    note = "LM: the part of the column's domain that a released cell stands for, on average."
    return join([
        tag("h2", "What each column lost"),
        tag("p", note, class_="note"),
        folded(lines, _SHOWN, ("column", "loss; cells left exact"), "columns", track=True),
    ])  # fmt: skip


def classes(sizes: Sequence[SizeRange], k: int) -> Markup:
    """The number of rows in classes of each size."""
    rows = sum(size.rows for size in sizes)
    lines = [Bar(_range(size, k), size.rows / rows, _in_classes(size)) for size in sizes]
    return join([
        tag("h2", "How large the classes are"),
        tag("p", "A bar is the part of all rows that hide in a class of that size.", class_="note"),
        bars(lines, ("rows in the class", "classes; rows")),
    ])  # fmt: skip


def _range(sizes: SizeRange, k: int) -> str:
    if sizes.most < k:
        return f"fewer than {spelling.count(k)}"
    if sizes.least == sizes.most:
        return spelling.count(sizes.least)
    return f"{spelling.count(sizes.least)} to {spelling.count(sizes.most)}"


def _in_classes(sizes: SizeRange) -> str:
    return f"{spelling.count(sizes.classes)}; {spelling.count(sizes.rows)}"


def rows(heads: Sequence[str], sample: Sequence[Sequence[str]], total: int) -> Markup:
    """Some rows of the release as a reader sees them."""
    caption = (
        f"{len(sample)} of {spelling.plural(total, 'row')}, from all over the release, without columns of role plain."
    )
    return join([tag("h2", "Rows of the release"), tag("p", caption, class_="note"), _cells(heads, sample)])


def worst(heads: Sequence[str], classes: Sequence[ClassShown]) -> Markup:
    """The classes that tell most about their people."""
    sensitive = list(classes[0].shared) if classes else []
    lines = [
        (spelling.count(group.rows), *(spelling.share(group.shared[name]) for name in sensitive), *group.labels)
        for group in classes
    ]
    share = "the part of the people who share the most frequent value of a sensitive column; then " if sensitive else ""
    return join([
        tag("h2", "The classes to look at first"),
        tag("p", f"Those that tell most about their people, by {share}the number of rows.", class_="note"),
        _cells(("rows", *(f"share one {name}" for name in sensitive), *heads), lines),
    ])  # fmt: skip


def _cells(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Markup:
    """A table of labels, of which the first columns are shown."""
    head = tag("tr", *(tag("th", named(name)) for name in heads[:_COLUMNS]))
    body = (tag("tr", *(tag("td", named(cell or NO_VALUE)) for cell in line[:_COLUMNS])) for line in lines)
    scroll = tag("div", tag("table", tag("thead", head), tag("tbody", *body), class_="cells"), class_="scroll")
    hidden = len(heads) - _COLUMNS
    return (
        join([scroll, tag("p", f"and {spelling.plural(hidden, 'more column')}", class_="note")])
        if hidden > 0
        else scroll
    )


def changes(columns: Sequence[ColumnComparison], subject: str, release: str, note: str) -> Markup:
    """Each column before and after, of the same people."""
    caption = f"{note} A released label that stands for several values is spread evenly over them."
    return join([
        tag("h2", "Each column before and after"),
        legend(subject, release),
        tag("p", caption, class_="note"),
        tag("div", *map(_change, columns[:_SHOWN]), class_="cards"),
        tag(
            "details",
            tag("summary", f"{len(columns) - _SHOWN:,} more columns"),
            tag("div", *map(_change, columns[_SHOWN:]), class_="cards"),
        )
        if len(columns) > _SHOWN else "",
    ])  # fmt: skip


def _change(column: ColumnComparison) -> Markup:
    longest = max((max(step.original, step.release) for step in column.bins), default=0.0) or 1.0
    lines = [
        Bar(
            step.label,
            step.release / longest,
            f"{spelling.share(step.original)} → {spelling.share(step.release)}",
            step.original / longest,
        )
        for step in column.bins
    ]
    head = tag("h3", named(column.name), f" ({column.role})")
    return tag("div", head, bars(lines, ("value", "before → after")), class_="card")


def risks(release: Risks, original: Risks | None, k: int) -> Markup:
    """The chances of three kinds of strangers to find a person."""
    rows = [
        ("prosecutor, at worst", release.prosecutor.highest, None if original is None else original.prosecutor.highest),
        ("journalist, at worst", release.journalist.highest, None if original is None else original.journalist.highest),
        ("marketer, on average", release.marketer, None if original is None else original.marketer),
        (
            f"rows with a chance above 1/{k}",
            release.prosecutor.at_risk,
            None if original is None else original.prosecutor.at_risk,
        ),
    ]
    lines = [Bar(name, current, _both(previous, current), previous) for name, current, previous in rows]
    note = (
        "The chance to find a person. The prosecutor knows that the person is in the release; the journalist does not, "
        "but searches the released people alone here, which is the worst case; the marketer wants as many as possible."
    )
    parts = [tag("h2", "How likely a stranger is to find a person"), tag("p", note, class_="note")]
    if original is not None:
        parts.append(legend("our own rows, had they been published as they are", "the release"))
    return join([*parts, bars(lines, ("attacker", "chance"), track=True)])


def _both(previous: float | None, current: float) -> str:
    return spelling.share(current) if previous is None else f"{spelling.share(previous)} → {spelling.share(current)}"


def by_k(points: Sequence[CurvePoint], summary: Summary, sample: int | None) -> Markup:
    """The loss at other k, on a sample of so many rows or on all."""
    lm = summary.loss.get("lm")
    if not points or lm is None or summary.k is None:
        return Markup("")
    label = f"this release: {spelling.loss(lm)} at k = {summary.k}"
    note = (
        f"The curve is what {summary.algorithm} loses on the same table at other k with little effort; the dot is this "
        "release. It shows what a smaller or larger k would change."
    )
    if sample is not None:
        note += (
            f" The curve is of a random sample of {spelling.plural(sample, 'row')}, because all of them would take "
            "long: fewer rows lose more, so compare its points with each other, not with the dot."
        )
    return join([
        tag("h2", "What another k would cost"),
        tag("p", note, class_="note"),
        curve(points, CurvePoint(summary.k, lm), x="k", y="loss (LM)", caption=label),
    ])  # fmt: skip


def cost(summary: Summary) -> Markup:
    """Time, rounds and bytes, and where they went."""
    if not summary.parties:
        took = spelling.duration(summary.seconds or 0.0)
        return join([tag("h2", "What it cost"), tag("p", f"The search took {took} on this machine; nothing was sent.")])
    sentence = (
        f"{spelling.duration(summary.seconds or 0.0)} from the handshake's end to the release, "
        f"{spelling.plural(summary.rounds or 0, 'round')}, {spelling.plural(summary.messages or 0, 'message')} and "
        f"{spelling.size(summary.bytes or 0)} among all parties."
    )
    parts = [tag("h2", "What it cost"), tag("p", sentence)]
    longest = max((phase.seconds for phase in summary.phases), default=0.0) or 1.0
    if summary.phases:
        lines = [Bar(phase.name, phase.seconds / longest, _of_phase(phase)) for phase in summary.phases]
        note = "A bar is the time of a phase. Rounds, and bytes sent and received, are those that one party saw."
        parts += [tag("h3", "By phase"), tag("p", note, class_="note"), bars(lines, ("phase", "time; rounds; bytes"))]
    amounts = [(name, traffic.bytes) for name, traffic in summary.per_party.items()]
    largest = max((size for _, size in amounts), default=0) or 1
    if amounts:
        lines = [Bar(name, size / largest, spelling.size(size)) for name, size in amounts]
        parts += [tag("h3", "By party"), folded(lines, _SHOWN, ("party", "sent"), "parties")]
    return join(parts)


def _of_phase(phase: Phase) -> str:
    return f"{spelling.duration(phase.seconds)}; {spelling.count(phase.rounds)}; {spelling.size(phase.bytes)}"
