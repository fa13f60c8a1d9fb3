"""Figures of docs/how-good.md: losses beside ARX's, a long search's and the best there is, and what efforts buy."""

from __future__ import annotations

import re

from scripts.tables import Maker, Results, Row, number, seconds, short, table

Point = tuple[str, int]
TABLES = {
    "adult": "Adult", "fars": "FARS", "cmc": "CMC", "adult-full": "Adult, full", "few": "few distinct",
    "distinct": "all distinct", "skewed": "skewed", "wide": "wide", "deep": "deep",
}  # fmt: skip
"""The tables on which loss is measured, in the page's order and words."""
EFFORTS = {"before": "0.1.0", "quick": "`quick`", "normal": "`normal`", "thorough": "`thorough`"}


def beside_arx(results: Results) -> str:
    """Losses of one owner and of parties together, beside ARX's and those of Covey 0.1.0."""
    single = {_of(row): row for row in results["one"] if row["effort"] == "normal" and row["arx"] is not None}
    joint = {_of(row): row for row in results["joint"]}
    head = ("table", "k", "ARX", "one owner, 0.1.0", "one owner", "part of ARX's", "joint, 0.1.0", "joint")
    rows = [
        (
            *_named(point), short(number(row, "arx")), short(number(row, "before")), short(number(row, "lm")),
            f"{row['ratio']:.3f}", *_joint(joint[point]),
        )
        for point, row in sorted(single.items(), key=_in_order)
    ]  # fmt: skip
    return table((*head, "part of ARX's", "under other names", "unrefined"), rows)


def beside_search(results: Results) -> str:
    """Losses beside a long search's, on tables of every shape."""
    single = {(*_of(row), row["effort"]): row for row in results["one"]}
    joint, long = ({_of(row): row for row in results.get(part, [])} for part in ("joint", "search"))
    rows = []
    for point, _ in sorted(dict.fromkeys([*map(_of, results["one"]), *joint]).items(), key=_in_order):
        best = None if point not in long else number(long[point], "lm")
        sought = "not measured" if best is None else f"{short(best)} ({number(long[point], 'cpu'):.0f} s)"
        losses = [single.get((*point, effort), {}).get("lm") for effort in ("before", "normal")]
        joint_losses = [joint.get(point, {}).get(key) for key in ("earlier", "lm")]
        cells = (_beside(loss, best) for loss in (*losses, *joint_losses))
        rows.append((*_named(point), sought, *cells))
    return table(("table", "k", "long search", "one owner, 0.1.0", "one owner", "joint, 0.1.0", "joint"), rows)


def _beside(loss: object, best: float | None) -> str:
    """A loss, and what multiple it is of a long search's."""
    if loss is None:
        return "not measured"
    lm = float(str(loss))
    return short(lm) if best is None else f"{short(lm)} ({lm / best:.3f})"


def efforts(results: Results) -> str:
    """What each effort takes and buys, where a quick one was measured."""
    rows = {(*_of(row), row["effort"]): row for row in results["one"]}
    points = {(name, k): None for name, k, effort in rows if effort == "quick"}
    lines = [
        (*_named(point), *(_effort(rows.get((*point, effort))) for effort in EFFORTS))
        for point, _ in sorted(points.items(), key=_in_order)
    ]
    return table(("table", "k", *EFFORTS.values()), lines)


def joint_efforts(results: Results) -> str:
    """What each effort buys parties together: the loss, the part that it is of ARX's, and the length of the list."""
    rows = {(*_of(row), row.get("effort", "normal")): row for row in (*results["joint"], *results["efforts"])}
    points = {(name, k): None for name, k, effort in rows if effort == "thorough"}
    lines = [
        (*_named(point), *(_listed(rows.get((*point, effort))) for effort in list(EFFORTS)[1:]))
        for point, _ in sorted(points.items(), key=_in_order)
    ]
    return table(("table", "k", *list(EFFORTS.values())[1:]), lines)


def _listed(row: Row | None) -> str:
    if row is None:
        return ""
    part = "" if row["ratio"] is None else f" ({number(row, 'lm') / number(row, 'arx'):.3f})"
    return f"{short(number(row, 'lm'))}{part}, {row['nodes']}"


def _effort(row: Row | None) -> str:
    return "" if row is None else f"{short(number(row, 'lm'))}, {seconds(number(row, 'cpu'))} s, {row['mb']} MB"


def _of(row: Row) -> Point:
    return str(row["table"]), int(number(row, "k"))


def _named(point: Point) -> tuple[str, str]:
    return TABLES[point[0]], str(point[1])


def _in_order(item: tuple[Point, object]) -> tuple[int, int]:
    """The place of a point on a page."""
    (name, k), _ = item
    return list(TABLES).index(name), k


def _joint(row: Row) -> tuple[str, str, str, str, str]:
    earlier = "" if row["before"] is None else short(number(row, "before"))
    part, low, mean, high = (f"{number(row, key) / number(row, 'arx'):.3f}" for key in ("lm", "least", "mean", "most"))
    return earlier, short(number(row, "lm")), part, f"{mean} ({low} to {high})", short(number(row, "unrefined"))


def exact(results: Results) -> str:
    """Losses on small tables beside the best there is."""
    rows = []
    for row in results["exact"]:
        proven = row["best"] is not None
        gap = number(row, "lm") / number(row, "best" if proven else "bound") - 1
        excess = "0" if gap < 0.00005 else f"{100 * gap:.1f}%{'' if proven else ' at most'}"
        size = re.findall(r"(\d+) rows", str(row["table"]))[0]
        best = short(number(row, "best")) if proven else "not found"
        losses = (short(number(row, key)) for key in ("peeled", "lm"))
        rows.append((size, str(row["k"]), short(number(row, "bound")), best, *losses, excess))
    return table(("rows", "k", "bound", "best", "peeling alone", "one owner", "above the best"), rows)


PAGES: dict[str, dict[str, tuple[str, Maker]]] = {
    "how-good.md": {
        "beside-arx": ("loss", beside_arx), "beside-search": ("loss", beside_search),
        "exact": ("loss", exact), "efforts": ("loss", efforts),
        "joint-efforts": ("loss", joint_efforts),
    },
}  # fmt: skip
"""For each page the figures on it: the results that each is made from, and how."""
