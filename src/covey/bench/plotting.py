"""Plots as inline SVG. Each curve has a dash pattern and a marker of its own, so that nobody needs to see colours.

Positions are percentages and labels are text, as in the report: a phone and a printer show the same words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from covey.bench.findings import Plot
from covey.report.charts import ceiling, line, text
from covey.report.markup import Markup, join, named, tag

_LEFT, _RIGHT, _TOP, _BOTTOM = 12.0, 96.0, 4.0, 86.0
_DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 5", "1 5", "5 2 1 2 1 2")
_MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5l5 5l-5 5l-5 -5z",
    "M0 -5l5 9h-10z",
    "M0 5l5 -9h-10z",
    "M-5 -1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
)
_COLOURS = ("#1f4e79", "#a33b20", "#2f6b3a", "#6b3fa0", "#7a5c00", "#333333", "#b0307a")


@dataclass(frozen=True)
class _Axis:
    """An axis, which maps values to 0 to 1 and chooses its ticks."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float], *, log: bool, from_zero: bool) -> _Axis:
        if log:
            positive = [value for value in values if value > 0] or [1.0]
            return cls(min(positive), max(positive), True)
        return cls(0.0 if from_zero else min(values), ceiling(max(values)) if from_zero else max(values), False)

    def place(self, value: float) -> float:
        if self.low == self.high:  # one value stands in the middle
            return 0.5
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        if not self.log:
            return sorted({self.low + (self.high - self.low) * step / 4 for step in range(5)})
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1,) if len(powers) > 4 else (1, 2, 5)
        ticks = [step * 10.0**power for power in powers for step in steps]
        return [value for value in ticks if self.low <= value * 1.0001 and value <= self.high * 1.0001]


def draw(plot: Plot) -> Markup:
    """Draws the plot with its title and a legend; a plot without points gives nothing."""
    points = [point for curve in plot.curves for point in curve.points if all(map(math.isfinite, point))]
    if not points:
        return Markup("")
    across = _Axis.over([x for x, _ in points], log=plot.log_x, from_zero=False)
    up = _Axis.over([y for _, y in points], log=plot.log_y, from_zero=True)
    parts = [*_grid(across, up)]
    for number, curve in enumerate(plot.curves):
        drawable = [point for point in curve.points if all(map(math.isfinite, point))]
        parts += _curve(number, [(_across(across, x), _up(up, y)) for x, y in drawable])
    parts.append(text((_LEFT + _RIGHT) / 2, 100, plot.x, "middle", shift="-.3em"))
    legend = tag("p", *(_entry(number, curve.label) for number, curve in enumerate(plot.curves)), class_="entries")
    picture = tag("svg", *parts, class_="curve plot", role="img", aria_label=f"{plot.y} against {plot.x}")
    note = [tag("p", plot.note, class_="note")] if plot.note else []
    return tag("figure", tag("figcaption", tag("b", plot.title), f" ({plot.y})"), picture, legend, *note)


def _grid(across: _Axis, up: _Axis) -> list[Markup]:
    parts = []
    for value in up.ticks():
        height = _up(up, value)
        parts.append(line((_LEFT, height), (_RIGHT, height), stroke="#ccc"))
        parts.append(text(_LEFT - 1, height, _figure(value), "end", shift=".3em"))
    parts += [
        text(_across(across, value), _BOTTOM, _figure(value), "middle", shift="1.4em") for value in across.ticks()
    ]
    return parts


def _curve(number: int, points: Sequence[tuple[float, float]]) -> list[Markup]:
    colour, dash = _COLOURS[number % len(_COLOURS)], _dash(number)
    lines = [line(a, b, stroke=colour, stroke_width=2, stroke_dasharray=dash) for a, b in itertools.pairwise(points)]
    return lines + [tag("svg", _mark(number), x=f"{x:.2f}%", y=f"{y:.2f}%", overflow="visible") for x, y in points]


def _mark(number: int) -> Markup:
    """The marker of a curve; the second time round the shapes are hollow."""
    colour = _COLOURS[number % len(_COLOURS)]
    hollow = (number // len(_MARKS)) % 2 == 1
    return tag(
        "path", d=_MARKS[number % len(_MARKS)], fill="#fff" if hollow else colour, stroke=colour, stroke_width=1.5
    )


def _entry(number: int, label: str) -> Markup:
    colour = _COLOURS[number % len(_COLOURS)]
    stroke = tag(
        "line", x1=0, y1=7, x2=34, y2=7, stroke=colour, stroke_width=2, stroke_dasharray=_dash(number),
    )  # fmt: skip
    mark = tag("svg", _mark(number), x=17, y=7, overflow="visible")
    swatch = tag("svg", stroke, mark, width=34, height=14, class_="swatch", aria_hidden="true")
    return join([tag("span", swatch, " ", named(label), class_="entry"), " "])


def _dash(number: int) -> str | None:
    return _DASHES[number % len(_DASHES)] or None


def _across(axis: _Axis, value: float) -> float:
    return _LEFT + axis.place(value) * (_RIGHT - _LEFT)


def _up(axis: _Axis, value: float) -> float:
    return _BOTTOM - axis.place(value) * (_BOTTOM - _TOP)


def _figure(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:g}k"
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.3g}"
