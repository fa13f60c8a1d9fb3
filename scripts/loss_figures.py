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


def beside_arx(found: Results) -> str:
    """Losses of one owner and of parties together, beside ARX's and those of Covey 0.1.0."""
    one = {_of(row): row for row in found["one"] if row["effort"] == "normal" and row["arx"] is not None}
    joint = {_of(row): row for row in found["joint"]}
    head = ("table", "k", "ARX", "one owner, 0.1.0", "one owner", "part of ARX's", "joint, 0.1.0", "joint")
    rows = [
        (
            *_named(point), short(number(own, "arx")), short(number(own, "before")), short(number(own, "lm")),
            f"{own['ratio']:.3f}", *_joint(joint[point]),
        )
        for point, own in sorted(one.items(), key=_in_order)
    ]  # fmt: skip
    return table((*head, "part of ARX's", "under other names", "unrefined"), rows)


def beside_search(found: Results) -> str:
    """Losses beside a long search's, on tables of every shape."""
    one = {(*_of(row), row["effort"]): row for row in found["one"]}
    joint, long = ({_of(row): row for row in found.get(part, [])} for part in ("joint", "search"))
    rows = []
    for point, _ in sorted(dict.fromkeys([*map(_of, found["one"]), *joint]).items(), key=_in_order):
        best = None if point not in long else number(long[point], "lm")
        sought = "not measured" if best is None else f"{short(best)} ({number(long[point], 'cpu'):.0f} s)"
        own = [one.get((*point, effort), {}).get("lm") for effort in ("before", "normal")]
        both = [joint.get(point, {}).get(key) for key in ("earlier", "lm")]
        said = (_beside(each, best) for each in (*own, *both))
        rows.append((*_named(point), sought, *said))
    return table(("table", "k", "long search", "one owner, 0.1.0", "one owner", "joint, 0.1.0", "joint"), rows)


def _beside(loss: object, best: float | None) -> str:
    """A loss, and what multiple it is of a long search's."""
    if loss is None:
        return "not measured"
    lm = float(str(loss))
    return short(lm) if best is None else f"{short(lm)} ({lm / best:.3f})"


def efforts(found: Results) -> str:
    """What each effort takes and buys, where a quick one was measured."""
    rows = {(*_of(row), row["effort"]): row for row in found["one"]}
    points = {(name, k): None for name, k, effort in rows if effort == "quick"}
    lines = [
        (*_named(point), *(_effort(rows.get((*point, effort))) for effort in EFFORTS))
        for point, _ in sorted(points.items(), key=_in_order)
    ]
    return table(("table", "k", *EFFORTS.values()), lines)


def joint_efforts(found: Results) -> str:
    """What each effort buys parties together: the loss, the part that it is of ARX's, and the length of the list."""
    rows = {(*_of(row), row.get("effort", "normal")): row for row in (*found["joint"], *found["efforts"])}
    points = {(name, k): None for name, k, effort in rows if effort == "thorough"}
    lines = [
        (*_named(point), *(_listed(rows.get((*point, effort))) for effort in list(EFFORTS)[1:]))
        for point, _ in sorted(points.items(), key=_in_order)
    ]
    return table(("table", "k", *list(EFFORTS.values())[1:]), lines)


def _spread(row: Row | None) -> str:
    if row is None:
        return "not measured"
    mean, least, most = (number(row, key) for key in ("lm", "least", "most"))
    if row["arx"] is None:
        return f"{short(mean)} ({short(least)} to {short(most)})"
    arx = number(row, "arx")
    return f"{short(mean)}, {mean / arx:.3f} ({least / arx:.3f} to {most / arx:.3f})"


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
    before = "" if row["before"] is None else short(number(row, "before"))
    part, least, mean, most = (
        f"{number(row, key) / number(row, 'arx'):.3f}" for key in ("lm", "least", "mean", "most")
    )
    return before, short(number(row, "lm")), part, f"{mean} ({least} to {most})", short(number(row, "unrefined"))


def exact(found: Results) -> str:
    """Losses on small tables beside the best there is."""
    rows = []
    for row in found["exact"]:
        known = row["best"] is not None
        most = number(row, "lm") / number(row, "best" if known else "bound") - 1
        above = "0" if most < 0.00005 else f"{100 * most:.1f}%{'' if known else ' at most'}"
        size = re.findall(r"(\d+) rows", str(row["table"]))[0]
        best = short(number(row, "best")) if known else "not found"
        lost = (short(number(row, key)) for key in ("peeled", "lm"))
        rows.append((size, str(row["k"]), short(number(row, "bound")), best, *lost, above))
    return table(("rows", "k", "bound", "best", "peeling alone", "one owner", "above the best"), rows)


PAGES: dict[str, dict[str, tuple[str, Maker]]] = {
    "how-good.md": {
        "beside-arx": ("loss", beside_arx), "beside-search": ("loss", beside_search),
        "exact": ("loss", exact), "efforts": ("loss", efforts),
        "joint-efforts": ("loss", joint_efforts),
    },
}  # fmt: skip
"""For each page the figures on it: the results that each is made from, and how."""
