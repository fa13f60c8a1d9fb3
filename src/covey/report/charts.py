"""Charts as inline SVG between words: a label, a bar, a figure on each line, so that a phone shows them as paper does.

Positions are percentages and text is text, so that nothing shrinks with the page. What was before is hatched and what
came after is solid: no chart rests on colour.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from covey.report.markup import Markup, join, named, tag

_LEFT, _RIGHT, _TOP, _BOTTOM = 11.0, 95.0, 8.0, 84.0
_THICK, _THIN = 14, 9
PATTERNS = tag(
    "svg",
    tag(
        "defs",
        tag(
            "pattern",
            tag("rect", width=5, height=5, fill="#fff"),
            tag("line", x1=0, y1=0, x2=0, y2=5, stroke="#444", stroke_width=3),
            id="hatched", width=5, height=5, patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
        ),
    ),
    class_="patterns", width=0, height=0, aria_hidden="true",
)  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """One line of a chart: its label, its bar, and the figure beside it."""

    label: str
    part: float
    figure: str
    hatched: float | None = None
    """The bar above it, where there is something to compare with."""


@dataclass(frozen=True)
class CurvePoint:
    """A place on a curve."""

    x: float
    y: float


def bars(lines: Iterable[Bar], heads: tuple[str, str], *, track: bool = False) -> Markup:
    """Horizontal bars below two heads; `track` shows how long a bar could be."""
    head = tag("tr", tag("th", heads[0]), tag("td"), tag("th", heads[1], class_="figure"))
    rows = (
        tag("tr", tag("th", named(line.label), scope="row"), tag("td", _bar(line, track)),
            tag("td", line.figure, class_="figure"))
        for line in lines
    )  # fmt: skip
    columns = tag("colgroup", tag("col", class_="label"), tag("col"), tag("col", class_="figure"))
    return tag("table", columns, tag("thead", head), tag("tbody", *rows), class_="bars")


def legend(original: str, release: str) -> Markup:
    """The meaning of hatched and solid bars."""
    hatched = _swatch(tag("rect", x=0.5, y=0.5, width=17, height=10, fill="url(#hatched)", stroke="#333"))
    solid = _swatch(tag("rect", width=18, height=11, fill="#1f4e79"))
    return tag("p", hatched, f" {original} ", solid, f" {release}", class_="legend")


def curve(points: Sequence[CurvePoint], focus: CurvePoint, *, x: str, y: str, caption: str) -> Markup:
    """A line over a logarithmic axis, with one point marked."""
    all_points = [*points, focus]
    top = ceiling(max(point.y for point in all_points))
    low, high = (math.log(end(point.x for point in all_points)) for end in (min, max))
    span = (high - low) or 1.0

    def place(point: CurvePoint) -> tuple[float, float]:
        across = (math.log(point.x) - low) / span
        return _LEFT + across * (_RIGHT - _LEFT), _BOTTOM - point.y / top * (_BOTTOM - _TOP)

    grid = []
    for step in range(5):
        height = _BOTTOM - step / 4 * (_BOTTOM - _TOP)
        grid.append(line((_LEFT, height), (_RIGHT, height), class_="grid"))
        grid.append(text(_LEFT - 1, height, f"{top * step / 4:.3g}", "end", shift=".3em"))
    ticks = [
        text(place(CurvePoint(value, 0))[0], _BOTTOM, f"{value:g}", "middle", shift="1.4em")
        for value in sorted({point.x for point in points})
    ]
    ends = [place(point) for point in points]
    lines = [line(a, b, class_="curve") for a, b in itertools.pairwise(ends)]
    dots = [tag("circle", cx=f"{a:.2f}%", cy=f"{b:.2f}%", r=3.5, class_="dot") for a, b in ends]
    across, down = place(focus)
    side = "end" if across > (_LEFT + _RIGHT) / 2 else "start"
    mark = tag("circle", cx=f"{across:.2f}%", cy=f"{down:.2f}%", r=7, class_="here")
    rising = bool(points) and points[-1].y > points[0].y
    lower = rising == (side == "start")  # the side of the line on which the words stand clear of it
    label = text(
        across + (-1.6 if side == "end" else 1.6),
        down,
        caption,
        side,
        shift="1.5em" if lower else "-.8em",
        class_="said",
    )
    axis = text((_LEFT + _RIGHT) / 2, 100, x, "middle", shift="-.3em")
    return tag(
        "svg",
        *grid,
        *ticks,
        *lines,
        *dots,
        mark,
        label,
        axis,
        class_="curve",
        role="img",
        aria_label=f"{y} against {x}",
    )


def _bar(line: Bar, track: bool) -> Markup:
    """The bars of one line."""
    parts: list[Markup] = []
    thick = _THICK if line.hatched is None else _THIN
    top = 0 if line.hatched is None else _THIN + 2
    if track:
        parts.append(tag("rect", y=top, width="100%", height=thick, fill="#e6e6e6"))
    if line.hatched is not None:
        parts.append(
            tag(
                "rect",
                x=0.5,
                y=0.5,
                width=_percent(line.hatched),
                height=_THIN - 1,
                fill="url(#hatched)",
                stroke="#333",
            )
        )
    parts.append(tag("rect", y=top, width=_percent(line.part), height=thick, fill="#1f4e79"))
    return tag("svg", *parts, width="100%", height=top + thick, aria_hidden="true")


def _percent(part: float) -> str:
    """A bar's length; what is more than nothing is seen."""
    return f"{min(max(part * 99, 0.4 if part > 0 else 0.0), 99):.2f}%"


def _swatch(shape: Markup) -> Markup:
    return tag("svg", shape, width=18, height=11, class_="swatch", aria_hidden="true")


def line(start: tuple[float, float], end: tuple[float, float], **style: str | float | None) -> Markup:
    """A line between two places, in percent of the picture."""
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    return tag("line", **{name: f"{value:.2f}%" for name, value in ends.items()}, **style)


def text(x: float, y: float, words: str, anchor: str, *, shift: str, class_: str | None = None) -> Markup:
    """Words at a place, in percent of the picture."""
    return tag("text", words, x=f"{x:.2f}%", y=f"{y:.2f}%", dy=shift, text_anchor=anchor, class_=class_)


def ceiling(value: float) -> float:
    """A round number at or a little above the value."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(round(step * power, 9) for step in (1, 2, 4, 6, 8, 10) if step * power >= value * 0.9999)


def folded(lines: Sequence[Bar], limit: int, heads: tuple[str, str], noun: str, *, track: bool = False) -> Markup:
    """The first bars, and the others behind a line that opens."""
    first = bars(lines[:limit], heads, track=track)
    if len(lines) <= limit:
        return first
    summary = tag("summary", f"{len(lines) - limit:,} more {noun}")
    return join([first, tag("details", summary, bars(lines[limit:], heads, track=track))])
