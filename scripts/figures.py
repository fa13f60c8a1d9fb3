"""Writes measured figures into pages of docs/, each from the file in benchmarks/results/ that a benchmark keeps.

A figure stands between `<!-- NAME -->` and `<!-- end -->`. `python -m scripts.figures` renews all of them; with
`--check` nothing is written, and a page that differs from its results ends with exit 1. A test does the same.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts import loss_figures, protocol_figures
from scripts.tables import Maker, Results, Row, chosen, number, seconds, short, table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"

_PLACE = re.compile(r"(?P<before>^ *)?<!-- (?P<name>[a-z0-9-]+) -->.*?<!-- end -->", re.DOTALL | re.MULTILINE)


def losses(results: Results) -> str:
    """The losses on Adult, a line for each way."""
    methods = list(dict.fromkeys(str(row["way"]) for row in results["losses"]))
    rows = []
    for method in methods:
        entries = sorted((row for row in results["losses"] if row["way"] == method), key=lambda row: number(row, "k"))
        costs = [number(row, "seconds") for row in entries]
        rows.append((method, " / ".join(short(number(row, "lm")) for row in entries), seconds(max(costs))))
    return table(("algorithm", "LM", "CPU seconds, at most"), rows)


def starts(results: Results) -> str:
    """The starts of `sequential`."""
    kinds = ("paper", "fitted", "small")
    rows = []
    for name, label in (("hospitals", "hospitals, 3,000 rows"), ("Adult", "Adult")):
        entries = {(int(number(row, "k")), str(row["start"])): row for row in results["starts"] if row["table"] == name}
        ks = sorted({k for k, _ in entries})
        cells = [" / ".join(short(number(entries[k, kind], "lm")) for k in ks) for kind in kinds]
        rows.append((label, " / ".join(map(str, ks)), *cells))
    return table(("", "k", "`paper`", "`fitted`", "first clusters of six"), rows)


def synthetic(results: Results) -> str:
    """The seconds on synthetic tables."""
    methods = list(dict.fromkeys(str(row["way"]) for row in results["synthetic"]))
    sizes = sorted({(int(number(row, "distinct")), int(number(row, "records"))) for row in results["synthetic"]})
    rows = []
    for distinct, records in sizes:
        cells = {
            str(row["way"]): seconds(number(row, "seconds"))
            for row in results["synthetic"]
            if (number(row, "distinct"), number(row, "records")) == (distinct, records)
        }
        rows.append((f"{distinct:,}", f"{records:,}", *(cells[method] for method in methods)))
    return table(("distinct records", "records", *methods), rows)


def growth(results: Results) -> str:
    """The growth from 10^4 to 10^7 rows."""
    names = list(dict.fromkeys(str(row["algorithm"]) for row in results["growth"]))
    rows = []
    for size in sorted({int(number(row, "rows")) for row in results["growth"]}):
        entries = {str(row["algorithm"]): row for row in results["growth"] if number(row, "rows") == size}
        items = int(number(next(iter(entries.values())), "items"))
        rows.append((f"10^{len(str(size)) - 1} ({items:,})", *(_grown(entries.get(name)) for name in names)))
    return table(("rows (distinct)", *names), rows)


def _grown(row: Row | None) -> str:
    if row is None:
        return ""
    if "refused" in row:
        minutes = re.search(r"could take ([\d,]+) minutes", str(row["refused"]))
        return f"refused: {minutes[1]} minutes expected" if minutes else "refused"
    return f"{number(row, 'seconds'):.1f} s, {row['megabytes']} MB"


def one_class(results: Results) -> str:
    """The k from which the paper's start ends with one class on the hospitals."""
    return str(results["one_class"][0]["k"])


def evaluated(results: Results) -> str:
    """The releases of Adult, by what they are good for."""
    rows = [
        (
            str(row["k"]), str(row["release"]), short(number(row, "LM")),
            *(f"{row[key]}%" for key in ("queries", "of 4 columns", "worst pair")),
            f"{number(row, 'AUC'):.3f}".lstrip("0"), f"{row['linked']}%",
        )
        for row in results["evaluation"]
    ]  # fmt: skip
    best = f"{max(number(row, 'original') for row in results['evaluation']):.3f}".lstrip("0")
    return table(
        ("k", "release", "LM", "1 and 2 columns", "4 columns", "worst pair", f"AUC (original {best})", "linked"), rows
    )


def peel_runs(results: Results) -> str:
    """Runs over TLS, of an earlier version where it was measured beside, and of this one."""
    order = ("latency ms", "k", "k_insider")
    rows = []
    for row in sorted(results["tls"], key=lambda row: (*(number(row, key) for key in order), row.get("tree") is None)):
        request = [str(row[key]) for key in ("k", "k_insider", "cheating")]
        costs = [f"{row['rounds']:,}", str(row["MB a party"]), str(row["CPU s a party"]), seconds(number(row, "s"))]
        rows.append((*request, str(row["latency ms"]), str(row.get("tree") or "now"), short(number(row, "lm")), *costs))
    head = (
        "k",
        "k_insider",
        "cheating",
        "latency, ms",
        "",
        "LM",
        "rounds",
        "MB sent a party",
        "CPU s a party",
        "seconds",
    )
    return table(head, rows)


def relay_lines(results: Results) -> str:
    """Bytes a second and round trips of one pair of parties, directly and over a relay."""
    rows = []
    for row in chosen(results["lines"], latency_ms=0):
        (distant,) = [line for line in results["lines"] if line["carrier"] == row["carrier"] and line["latency_ms"]]
        carrier = "direct TLS" if row["carrier"] == "direct" else f"`{row['carrier']}://`"
        cpu = f"{row['sender_cpu_s']} + {row['reader_cpu_s']}"
        rows.append(
            (
                carrier,
                str(row["mb_s"]),
                str(row["round_trip_ms"]),
                cpu,
                str(distant["mb_s"]),
                str(distant["round_trip_ms"]),
            )
        )
    head = ("way", "MB a second", "round trip, ms", "CPU seconds for 200 MiB, sender + reader")
    return table((*head, "30 ms apart: MB a second", "round trip, ms"), rows)


def relay_studies(results: Results) -> str:
    """Whole runs over a relay beside the same runs with direct TLS."""
    rows = []
    for part, people in (("study", "hospitals, 3,000 rows"), ("protocols", "a dozen people")):
        for row in chosen(results[part], carrier="relay"):
            (direct,) = chosen(
                results[part], **{**{key: row[key] for key in ("latency_ms", "protocol")}, "carrier": "direct"}
            )
            equal = "yes" if row["release"] == direct["release"] else "NO"
            seconds_each = (f"{direct['seconds']:.1f}", f"{row['seconds']:.1f}", f"{row['times_direct']:.2f}")
            rows.append(
                (people, str(row["protocol"]), str(row["latency_ms"]), str(row["rounds"]), *seconds_each, equal)
            )
    head = ("table", "protocol", "latency, ms", "rounds", "direct, s", "relay, s", "times", "same release")
    return table(head, rows)


def on_duckdb(results: Results) -> str:
    """The growth of a table in DuckDB, beside memory."""
    return _on_engine(results.get("duckdb", []))


def on_spark(results: Results) -> str:
    """The growth of a table on Spark."""
    return _on_engine(results.get("spark", []))


def _on_engine(measured: Sequence[Row]) -> str:
    rows = []
    for row in sorted(measured, key=lambda row: number(row, "rows")):
        in_memory = ""
        if "memory_seconds" in row:
            in_memory = f"{seconds(number(row, 'memory_seconds'))} s, {number(row, 'memory_megabytes') / 1e3:.1f} GB"
        size = f"10^{len(str(row['rows'])) - 1}"
        cells = [f"{number(row, key) / 1e3:.1f} GB" for key in ("megabytes", "disk_megabytes")]
        equal = {True: "yes", False: "no"}.get(bool(row["equal"]), "") if "equal" in row else ""
        time = f"{number(row, 'seconds'):.0f} s ({number(row, 'load'):.0f})"
        rows.append((size, time, *cells, short(number(row, "lm")), in_memory, equal))
    head = ("rows", "time (others at work)", "peak memory of Covey", "disk", "LM", "in memory", "the same bytes")
    return table(head, rows)


def coarser(results: Results) -> str:
    """The loss where memory holds fewer tuples than there are."""
    rows = []
    for row in sorted(results["coarse"], key=lambda row: -number(row, "room")):
        room = f"{100 * number(row, 'room'):g}%"
        rows.append((room, str(row["levels"] or "all levels"), short(number(row, "lm")), f"{row['classes']:,}"))
    return table(("room for", "columns begin", "LM", "classes"), rows)


PAGES: dict[str, dict[str, tuple[str, Maker]]] = {
    "algorithms.md": {
        "losses": ("algorithms", losses), "starts": ("algorithms", starts), "synthetic": ("algorithms", synthetic),
        "growth": ("algorithms", growth), "one-class": ("algorithms", one_class),
    },
    "engine.md": {
        "on-duckdb": ("engine", on_duckdb), "on-spark": ("engine", on_spark), "coarser": ("engine", coarser),
    },
    "evaluate.md": {"evaluation": ("evaluation", evaluated)},
    "protocols/peel.md": {"peel-runs": ("peel", peel_runs), **protocol_figures.PEEL_COLUMNS},
    "relay.md": {"relay-lines": ("relay", relay_lines), "relay-studies": ("relay", relay_studies)},
    **loss_figures.PAGES,
    **protocol_figures.PAGES,
}  # fmt: skip
"""For each page the figures on it: the results that each is made from, and how."""


def results(name: str) -> Results:
    """The results that a benchmark keeps under this name."""
    content: Results = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def filled(text: str, page: str, load: Callable[[str], Results] = results) -> str:
    """The page's text with every figure as the results have it. Raises KeyError for a figure that nobody makes."""

    def made(match: re.Match[str]) -> str:
        source, make = PAGES[page][match["name"]]
        indent = match["before"] or ""
        figure = f"<!-- {match['name']} -->{make(load(source))}<!-- end -->"
        return indent + figure.replace("\n", f"\n{indent}")

    return _PLACE.sub(made, text)


def main(arguments: Sequence[str]) -> int:
    """Renews the pages, or checks them."""
    stale = 0
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        output = filled(text, page)
        if "--check" not in arguments:
            (DOCS / page).write_text(output, encoding="utf-8")
        elif output != text:
            print(f"docs/{page}: figures differ from those in benchmarks/results")
            stale += 1
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
