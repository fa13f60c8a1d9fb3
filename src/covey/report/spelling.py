"""Figures as people read them."""

from __future__ import annotations

from covey.plain import plural

__all__ = ["count", "duration", "level", "loss", "plural", "share", "size"]

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def count(value: float) -> str:
    """A number of things: 1,234,567."""
    return f"{value:,.0f}"


def share(part: float) -> str:
    """A part of a whole in percent, never rounded to nothing or to all."""
    if 0 < part < 0.001:
        return "<0.1%"
    if 0.999 < part < 1:
        return ">99.9%"
    return f"{part:.0%}" if part in (0, 1) else f"{part:.1%}"


def loss(value: float) -> str:
    """A loss between 0 and 1."""
    return f"{value:.3f}"


def level(value: float) -> str:
    """A k or an l, rounded down."""
    return f"{int(value):,}" if float(value).is_integer() else f"{int(value * 100) / 100:,.2f}"


def size(octets: float) -> str:
    """An amount of data."""
    amount, unit = float(octets), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:,.0f} {_UNITS[unit]}" if unit == 0 or amount >= 100 else f"{amount:,.1f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """A time."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
