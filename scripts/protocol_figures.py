"""The figures of the pages of protocols; `scripts.figures` puts them where they stand."""

from __future__ import annotations

import re
from collections.abc import Mapping

from scripts.tables import (
    Cell,
    Maker,
    Results,
    Row,
    chosen,
    clock,
    figure,
    listed,
    loss,
    number,
    percent,
    short,
    side_by_side,
    table,
    text,
    whole,
)

MEGA, KILO = 1e6, 1e3


# -- cluster


def _shown(row: Row) -> str:
    """The number of exact records that movers were shown, from the ledger's sentence."""
    times = re.search(r"exact record: ([\d,]+) times", str(row["opened"]))
    return f"{int(times[1].replace(',', '')):,}" if times else "none"


def cluster_cost(found: Results) -> str:
    """The schedules on Adult, `guarded` and `exact` side by side."""
    cells = (loss(), clock("seconds"), whole("rounds"), whole("bytes", MEGA))
    rows = []
    for guarded in sorted(
        chosen(found["runs"], schedule="guarded", extra="", latency=0.0), key=lambda row: (row["k"], row["parties"])
    ):
        same = {key: guarded[key] for key in ("k", "parties")}
        line = [
            str(same["k"]),
            str(same["parties"]),
            short(number(guarded, "alone")),
            *(cell(guarded) for cell in cells),
        ]
        exact = chosen(found["runs"], schedule="exact", extra="", latency=0.0, **same)
        rows.append(
            [
                *line,
                *([*(cell(exact[0]) for cell in cells[:3]), _shown(exact[0])] if exact else ["not run", "", "", ""]),
            ]
        )
    head = ("k", "parties", "alone", "`guarded`: LM", "seconds", "rounds", "MB", "`exact`: LM", "seconds", "rounds")
    return table((*head, "exact records shown to movers"), rows)


def cluster_diversity(found: Results) -> str:
    """Losses with l, joint and centralized."""
    lines = [("`cluster`, `guarded`", chosen(found["runs"], schedule="guarded", k=10, parties=3, latency=0.0))]
    for name in ("sequential", "mondrian", "peel"):
        lines.append((f"centralized `{name}`", chosen(found["central"], algorithm=name, k=10)))
    rows = [
        (said, *("".join(map(loss(), chosen(own, extra=f"l={asked}"))) or "not run" for asked in (1, 2, 3)))
        for said, own in lines
    ]
    return table(("", "no l", "l = 2", "l = 3"), rows)


def titled(found: Results, title: str) -> str:
    """The part of the papers' results whose title begins so."""
    (part,) = (name for name in found if name.startswith(title))
    return part


def as_kept(title: str, more: Mapping[str, Cell] | None = None) -> Maker:
    """A table of an experiment as it was printed; some cells in another way."""

    def make(found: Results) -> str:
        part = titled(found, title)
        heads = list(found[part][0])
        return listed(part, {key: (more or {}).get(key, text(key)) for key in heads})(found)

    return make


def measured(name: str) -> Maker:
    """Says whether an experiment was run whole."""
    quick = f"measured with `python -m benchmarks papers {name} --quick`, on smaller tables than without `--quick`"
    return lambda found: quick if found[name][0]["quick"] else f"measured with `python -m benchmarks papers {name}`"


def figures_5_and_6(found: Results) -> str:
    """The cost of the paper's algorithm for rows."""
    columns = {
        "CPU s": clock("seconds"),
        "sweeps L": text("sweeps L"),
        "SMC calls": whole("SMC calls"),
        "rounds of `exact`": whole("our rounds"),
    }
    part = titled(found, "cluster: Figures 5, 6 and 7")
    return side_by_side(part, {"n": whole("n")}, columns, order=("n",))(found)


def figure_7(found: Results) -> str:
    """The cost of the paper's algorithm for columns."""
    columns = {
        "sweeps L": text("sweeps L"),
        "SMC calls": whole("SMC calls"),
        "our comparisons": whole("our comparisons"),
        "our rounds": whole("our rounds"),
        "MB of a holder": whole("MB of a holder"),
        "seconds": whole("seconds"),
    }
    return side_by_side(titled(found, "columns: Figure 7"), {"n": whole("n")}, columns, order=("n",))(found)


def figure_4(found: Results) -> str:
    """DM by delta, for each number of users that the providers do not share."""
    rows: list[list[str]] = []
    for part, points in found.items():
        more = re.findall(r"federate: DM\. Figure 4: ([\d,]+) more", part)
        for point in points if more else ():
            ways = [key for key in point if key != "delta"]
            known = [number(point, way) for way in ways if point[way] is not None]
            cells = ["" if point[way] is None else whole(way)(point) for way in ways]
            best = [
                f"**{cell}**" if cell and number(point, way) == min(known) else cell
                for way, cell in zip(ways, cells, strict=True)
            ]
            rows.append(
                [
                    more[0],
                    f"{number(point, 'delta'):g}".lstrip("0"),
                    *(best if known else ["infeasible", *[""] * (len(ways) - 1)]),
                ]
            )
    head = ("more users at each", "delta", "the paper's score", "weighted", "default: weighted, 8 quantiles")
    return table((*head, "extended Mondrian, trusted"), rows)


_SEARCHES: dict[tuple[str, str], str] = {
    ("strict", "0"): "`strict`",
    ("guarded", "0"): "`guarded` without regrouping",
    ("guarded", "6"): "`guarded`",
}


CLUSTER: dict[str, tuple[str, Maker]] = {
    "cluster-measured": ("papers", measured("cluster")),
    "cluster-figures": ("papers", figures_5_and_6),
    "cluster-figure-3": ("papers", as_kept("cluster: Figure 3")),
    "cluster-real": (
        "papers",
        as_kept(
            "cluster: Real runs",
            {
                "LM": loss("LM"),
                "n": whole("n"),
                "seconds": clock("seconds"),
                "rounds": whole("rounds"),
                "MB": whole("MB"),
                "exact records shown": whole("exact records shown"),
            },
        ),
    ),
    "cluster-cost": ("cluster", cluster_cost),
    "cluster-diversity": ("cluster", cluster_diversity),
    "cluster-strict": (
        "cluster",
        side_by_side(
            "runs",
            {"schedule": lambda row: f"`{row['schedule']}`"},
            {"LM": loss(), "rounds": whole("rounds"), "MB": whole("bytes", MEGA)},
            schedule=("guarded", "strict"),
            parties=3,
            extra="",
            latency=0.0,
        ),
    ),
    "cluster-shown": ("cluster", figure("runs", _shown, schedule="exact", k=10, parties=3, latency=0.0)),
    "cluster-insider": ("cluster", figure("runs", loss(), schedule="guarded", k=10, parties=3, extra="k_insider=5")),
    "cluster-slow-exact": (
        "cluster",
        figure("runs", clock("seconds"), schedule="exact", k=50, parties=5, latency=0.03),
    ),
    "cluster-slow-guarded": (
        "cluster",
        figure("runs", clock("seconds"), schedule="guarded", k=50, parties=5, latency=0.03),
    ),
    "cluster-overlaps": (
        "cluster_overlaps",
        side_by_side(
            "overlaps",
            {"": lambda row: _SEARCHES[str(row["schedule"]), str(row["regroupings"])]},
            {
                "opened counts": whole("different opened counts"),
                "sets below k by one subtraction": whole("sets below k by one subtraction"),
                "records in them": whole("records in them"),
                "regions whose number all counts determine": whole("of these determined"),
                "of these a single record": whole("single records among them"),
            },
        ),
    ),
}


# -- columns split


def columns_beside(found: Results) -> str:
    """Three ways on the same split, in the clear."""
    ways = {
        "generalize": "`generalize`, as it comes: whole columns are lifted",
        "generalize, peel, finished cells": '`generalize` with `local = "peel"`, `variant = "finished-cells"`',
        "pivot": "`cluster`, pivot",
    }
    rows = []
    for form, said in ways.items():
        own = chosen(found["runs"], form=f"{form}, in the clear", rows=30162)
        rows.append([said, *(loss()(chosen(own, k=k)[0]) for k in (10, 50))])
    return table(("", "k = 10", "k = 50"), rows)


def _each_sent(row: Row) -> str:
    sent = dict(row["MB sent by each"])  # type: ignore[call-overload]
    own = sorted(round(each) for name, each in sent.items() if name != "judge")
    most = "" if own[0] == own[-1] else f" to {own[-1]}"
    return f"{own[0]}{most}, {sent['judge']:.1f}"


COLUMNS: dict[str, tuple[str, Maker]] = {
    "columns-cost": (
        "columns",
        listed(
            "runs",
            {
                "k": text("k"),
                "holders": text("holders"),
                "form": text("form"),
                "LM": loss(),
                "seconds": clock("seconds"),
                "rounds": whole("rounds"),
                "messages": whole("messages"),
                "MB, all parties": whole("bytes", MEGA),
            },
            order=("k", "holders"),
            form=("pivot", "evaluator"),
            latency=0.0,
        ),
    ),
    "columns-slow-10": (
        "columns",
        figure("runs", clock("seconds"), form="evaluator", k=10, holders=3, latency=0.03),
    ),
    "columns-slow-50": (
        "columns",
        figure("runs", clock("seconds"), form="evaluator", k=50, holders=3, latency=0.03),
    ),
    "columns-beside": ("columns", columns_beside),
    "columns-measured": ("papers", measured("columns")),
    "columns-figure-7": ("papers", figure_7),
    "columns-loss": (
        "papers",
        as_kept(
            "columns: Loss beside",
            {
                "n": whole("n"),
                "LM": loss("LM"),
                "centralized sequential": loss("centralized sequential"),
                "ratio": lambda row: f"{number(row, 'ratio'):.3f}",
            },
        ),
    ),
    "columns-attack": (
        "papers",
        as_kept(
            "columns: Who can tell",
            {
                "pairs claimed": whole("pairs claimed"),
                "precision": percent("precision"),
                "recall": percent("recall"),
                "by guessing": percent("by guessing"),
            },
        ),
    ),
}
PEEL_COLUMNS: dict[str, tuple[str, Maker]] = {
    "peel-columns-cost": (
        "columns",
        listed(
            "runs",
            {
                "k": text("k"),
                "holders": text("holders"),
                "people": whole("rows"),
                "window": text("form", {"peel": "1", "peel16": "16"}),
                "latency": lambda row: f"{1000 * number(row, 'latency'):.0f} ms",
                "LM": loss(),
                "rounds": whole("rounds"),
                "MB sent by a holder, by the evaluator": _each_sent,
                "CPU s, all parties": whole("CPU s, all parties"),
                "seconds": clock("seconds"),
                "load": text("load after"),
                "MB of memory, the largest party": whole("MB of memory, the largest party"),
            },
            order=("k", "rows", "holders", "latency"),
            form=("peel", "peel16"),
        ),
    ),
}


# -- federate


_FEDERATED = {
    "population": whole("population"),
    "common": whole("common"),
    "more at each": whole("more at each"),
    "alpha": lambda row: f"{number(row, 'alpha'):g}".lstrip("0"),
}
_SPENT = {
    "classes": whole("classes"),
    "rounds": whole("rounds"),
    "messages": whole("messages"),
    "MB, all parties": text("MB, all parties"),
    "CPU s, all parties": whole("CPU s, all parties"),
    "seconds": clock("s"),
    "load": text("load before"),
}


PAPER, OURS, RETRYING = "dummy users, the paper's score", "as by default", "like MPALM, trusted"


def federate_cost(found: Results) -> str:
    """Two providers, by population."""
    rows = sorted([*found["growth"], *found["tls"]], key=lambda row: (number(row, "population"), number(row, "alpha")))
    columns = {**_FEDERATED, **_SPENT}
    return table(list(columns), [[cell(row) for cell in columns.values()] for row in rows])


FEDERATE: dict[str, tuple[str, Maker]] = {
    "federate-several": (
        "federate",
        listed(
            "several",
            {
                "population": whole("population"),
                "providers": text("providers"),
                "common": whole("common"),
                "pairs": whole("more at each"),
                "alpha": _FEDERATED["alpha"],
                "latency": lambda row: f"{1000 * number(row, 'latency'):.0f} ms",
                **_SPENT,
            },
            order=("population", "providers", "alpha", "latency"),
        ),
    ),
    "federate-cost": ("federate", federate_cost),
    "federate-measured": ("papers", measured("federate")),
    "federate-score": ("papers", figure_4),
    "federate-figure-6": (
        "papers",
        as_kept("federate: DM. Figure 6", {PAPER: whole(PAPER), OURS: whole(OURS), RETRYING: whole(RETRYING)}),
    ),
    "federate-crypto": (
        "federate",
        listed(
            "crypto",
            {
                "": text("who"),
                "bits": whole("bits"),
                "encrypt, own key": whole("encrypt/s, own key"),
                "encrypt": whole("encrypt/s"),
                "add": whole("add/s"),
                "decrypt": whole("decrypt/s"),
            },
            order=("bits",),
            who=("covey", "phe 1.5.0", "tno.mpc paillier 3.2.0"),
        ),
    ),
}


# -- generalize


def generalize_losses(found: Results) -> str:
    """Losses of each way to anonymize locally and to compare."""
    ways = {
        "centralized datafly": "Datafly on the pooled table",
        "datafly, paper": "`datafly`, `paper` (the default)",
        "datafly, datafly": "`datafly`, `datafly`",
        "datafly, finished-cells": "`datafly`, `finished-cells`",
        "mondrian, finished-cells": "`mondrian`, `finished-cells`",
        "peel, finished-cells": "`peel`, `finished-cells`",
        "peel, paper": "`peel`, `paper`",
    }
    points = sorted(found["loss"], key=lambda row: number(row, "k"))
    rows = [(said, *(loss(way)(row) for row in points)) for way, said in ways.items()]
    return table(("local, variant", *(f"k = {row['k']}" for row in points)), rows)


def _compared(row: Row) -> str:
    """The number of comparisons, and how the rest was decided."""
    kinds = re.findall(r"(\d+) ([a-z][a-z -]+)", str(row["compared"]).partition("(")[2].partition(")")[0])
    own = [count for count, kind in kinds if not kind.startswith("decided")]
    return f"{own[0]}{', and one decided by a single group' if len(kinds) > len(own) else ''}"


def _added(row: Row) -> str:
    """The memory of each party above the program's own."""
    sizes, before = (_numbers(row[key]) for key in ("MB of memory, each party", "of which before"))
    return ", ".join(f"{each - first} MB" for each, first in zip(sizes, before, strict=True))


def _numbers(cell: object) -> list[int]:
    return [int(each) for each in cell] if isinstance(cell, list) else []


def _split(variant: str) -> Maker:
    """The range of losses over all ways to split the columns, and the median."""
    return figure(
        "splits",
        lambda row: f"{loss('least')(row)} to {loss('most')(row)} (median {loss('median')(row)})",
        variant=variant,
    )


GENERALIZE: dict[str, tuple[str, Maker]] = {
    "generalize-cost": (
        "generalize",
        listed(
            "cost",
            {
                "k": text("k"),
                "options": text("options", {"": "the defaults (`threshold`)"}),
                "comparisons": _compared,
                "exchanges in all": text("rounds of messages"),
                "MB sent": text("MB"),
                "CPU s": whole("CPU s"),
                "MB of memory": text("MB of memory"),
                "LM": loss(),
            },
        ),
    ),
    "generalize-tls": (
        "generalize",
        listed(
            "tls",
            {
                "k": text("k"),
                "latency": lambda row: f"{row['latency ms']} ms",
                "seconds": clock("s"),
                "exchanges": text("rounds of messages"),
                "MB sent": text("MB"),
            },
            order=("latency ms", "k"),
        ),
    ),
    "generalize-losses": ("generalize", generalize_losses),
    "generalize-split-paper": ("generalize", _split("paper")),
    "generalize-split-datafly": ("generalize", _split("datafly")),
    "generalize-split-cells": ("generalize", _split("finished-cells")),
    "generalize-growth": (
        "generalize",
        listed(
            "growth",
            {
                "ids": whole("ids"),
                "leakage": lambda row: f"`{row['leakage']}`",
                "seconds": clock("s"),
                "CPU s, both parties": clock("CPU s"),
                "cores busy": text("cores busy"),
                "memory of each party, above the program's own": _added,
                "MB sent": whole("MB sent"),
                "microseconds of CPU an id": text("microseconds of CPU an id"),
                "load": text("load before"),
            },
            order=("ids",),
        ),
    ),
}


# -- suppress


SUPPRESS: dict[str, tuple[str, Maker]] = {
    "suppress-three": (
        "suppress",
        listed(
            "three",
            {
                "": lambda row: f"`{row['encryption']}`",
                "rows": whole("rows"),
                "suppressed": whole("suppressed rows"),
                "CPU s": whole("cpu seconds"),
                "MB": whole("bytes", MEGA),
                "rounds": text("rounds"),
                "load": text("load before"),
            },
        ),
    ),
    "suppress-cost": (
        "suppress",
        listed(
            "cost",
            {
                "rare rows a side": whole("rare rows a side"),
                "comparisons": whole("comparisons"),
                "without hashing": lambda row: f"{number(row, 'rare rows a side') ** 2:,.0f}",
                "": lambda row: f"`{row['encryption']}`",
                "CPU s": whole("cpu seconds"),
                "seconds": clock("seconds without start"),
                "load": text("load before"),
                "MB": whole("bytes", MEGA),
                "rounds": text("rounds"),
                "MB of memory, the largest process": text("largest process MB"),
            },
            order=("rare rows a side",),
        ),
    ),
    "suppress-adult": (
        "suppress",
        side_by_side(
            "adult",
            {"quasi columns": lambda row: _columns(str(row["columns"]))},
            {
                "suppressed": whole("suppressed rows"),
                "part of all rows": percent("suppressed share"),
                "MB": whole("bytes", MEGA),
            },
            order=(),
        ),
    ),
}


def _columns(names: str) -> str:
    return "all eight" if names.count(" ") == 7 else ", ".join(names.split()).replace("-", " ")


# -- collect


def collect_curve_cost(found: Results) -> str:
    """Runs of the curve."""
    said = {"broadcast": "six columns of Adult", "private": "a made-up census, private retrieval"}
    columns = {
        "on": lambda row: said[str(row["retrieval"])],
        "respondents": whole("respondents"),
        "cells": whole("cells"),
        "k": text("k"),
        "CPU s, all together": whole("cpu_seconds"),
        "seconds": clock("seconds"),
        "MB of memory": whole("peak_megabytes"),
        "kB a respondent": whole("bytes_per_respondent", KILO),
        "of these sent by it": whole("sent_by_respondent", KILO),
        "rounds": text("rounds"),
    }
    rows = [*chosen(found["loss"], k=10), *found["scale"], *found["retrieval"]]
    return table(list(columns), [[cell(row) for cell in columns.values()] for row in rows])


def collect_beside(found: Results) -> str:
    """Both methods' losses, and what a respondent sends."""
    rows = sorted(found["beside"], key=lambda row: (number(row, "respondents"), number(row, "k")))
    lines = [
        (f"{number(row, 'respondents'):,.0f}", str(row["k"]), loss("peel")(row), loss("curve")(row)) for row in rows
    ]
    return table(("respondents", "k", "`peel`", "`curve`"), lines)


COLLECT: dict[str, tuple[str, Maker]] = {
    "collect-beside": ("collect", collect_beside),
    "collect-peel": (
        "collect",
        listed(
            "peel",
            {
                "respondents": whole("respondents"),
                "trustees": text("trustees"),
                "nodes": text("nodes"),
                "k": text("k"),
                "CPU s, all together": whole("cpu_seconds"),
                "seconds": clock("seconds"),
                "MB of memory": whole("peak_megabytes"),
                "kB sent by a respondent": whole("sent_by_respondent", KILO),
                "MB by a trustee": whole("sent_by_trustee", MEGA),
                "MB by the collector": whole("sent_by_collector", MEGA),
                "rounds": whole("rounds"),
                "LM": loss(),
            },
            order=("respondents", "trustees"),
        ),
    ),
}


def _chance(key: str) -> Cell:
    return lambda row: "" if row[key] is None else f"{number(row, key):.4f}".lstrip("0")


CURVE: dict[str, tuple[str, Maker]] = {
    "curve-cost": ("collect", collect_curve_cost),
    "curve-measured": ("papers", measured("collect")),
    "curve-table-2": (
        "papers",
        as_kept(
            "collect: Table II:",
            {key: _chance(key) for key in ("printed", "paper's formula", "an outsider", "the collector", "measured")},
        ),
    ),
    "curve-attacks": (
        "papers",
        as_kept(
            "collect: What the collector finds out",
            {
                "cells": whole("cells"),
                **{
                    key: percent(key)
                    for key in ("class alone", "position", "both", "everyone's", "beside one", "10 away")
                },
            },
        ),
    ),
    "curve-losses": (
        "collect",
        listed("loss", {"k": text("k"), "released": loss(), "the curve itself": loss("central_lm")}, order=("k",)),
    ),
}


def retrieval(found: Results) -> str:
    """Private retrieval, a column for each size of the table."""
    sizes = found["pir"]
    lines = {
        "hint, once for each respondent, the same for all, MB": "hint MB",
        "query, kB": "query KB",
        "answer, kB": "answer KB",
        "the whole index instead, MB": "broadcast MB",
        "hint, CPU seconds of the server, once": "hint, CPU s",
        "a query alone, CPU seconds of the client": "1 queries made, CPU s",
        "64 queries made together, CPU seconds": "64 queries made, CPU s",
        "64 queries answered together, CPU seconds of the server": "64 answered, CPU s",
        "billions of products a second of one core": "64 answered, GMAC a core second",
    }
    rows = [(said, *(str(row[key]) for row in sizes)) for said, key in lines.items()]
    return table(("private retrieval", *(str(row["what"]) for row in sizes)), rows)


def papers_parts(found: Results) -> str:
    """The paper's own parts, for both lengths of keys."""
    lines = {
        "two safe primes, CPU seconds of the dealer": ("two safe primes", ("CPU s",)),
        "an encryption, CPU milliseconds": ("encryption", ("CPU ms each",)),
        **{
            f"Shamir, {n}: a trustee's part of two ciphertexts with its proof; checked; combined, CPU milliseconds": (
                f"Shamir, {n}",
                ("a part of two, proof included, CPU ms", "a part of two checked, CPU ms", "two combined, CPU ms"),
            )
            for n in ("5 of 9", "10 of 19")
        },
        **{
            f"Asmuth-Bloom, {n}: a part of two; combined, CPU milliseconds": (
                f"Asmuth-Bloom, {n}",
                ("a part of two, CPU ms", "two combined, CPU ms"),
            )
            for n in ("5 of 9", "10 of 19")
        },
    }
    rows = []
    for said, (what, keys) in lines.items():
        cells = []
        for bits in (2048, 3072):
            (row,) = (each for each in found[f"paillier{bits}"] if str(each["what"]).startswith(f"{bits} bits: {what}"))
            cells.append("; ".join(_digits(number(row, key)) for key in keys))
        rows.append((said, *cells))
    return table(("the paper's parts", "2,048 bits", "3,072 bits"), rows)


def gentry(found: Results) -> str:
    """The dearest query of Gentry and Ramzan's scheme, an answer and a reading."""
    entries = [row for row in found["gentry"] if "query, CPU s" in row]
    most = (max(number(row, key) for row in entries) for key in ("query, CPU s", "answer, CPU s", "read, CPU s"))
    return ", ".join(map(_digits, most))


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


CRYPTO: dict[str, tuple[str, Maker]] = {
    "threshold-elgamal": (
        "collect_crypto",
        lambda found: table(
            ("threshold ElGamal, for each ciphertext (64 bytes)", "microseconds"),
            [
                (str(row["what"]), f"{number(row, 'microseconds'):.0f}")
                for row in found["elgamal"]
                if "microseconds" in row
            ],
        ),
    ),
    "positions-read": (
        "collect_crypto",
        lambda found: table(
            ("positions read off their points", "CPU s, the table", "the reading"),
            [
                (str(row["what"]), str(row["table, CPU s"]), str(row["reading, CPU s"]))
                for row in found["elgamal"]
                if "table, CPU s" in row
            ],
        ),
    ),
    "committee": (
        "collect_crypto",
        listed("committee", {"": text("what"), "CPU s": text("CPU s"), "rounds": text("rounds"), "MB": text("MB")}),
    ),
    "retrieval": ("collect_crypto", retrieval),
    "papers-parts": ("collect_crypto", papers_parts),
    "gentry": ("collect_crypto", gentry),
    "lattice-security": (
        "collect_crypto",
        listed(
            "security",
            {
                "": lambda row: str(row["what"]).removeprefix("learning with errors, "),
                "block": text("primal block"),
                "bits, classical": text("core-SVP, classical"),
                "quantum": text("core-SVP, quantum"),
            },
        ),
    ),
}


PAGES: dict[str, dict[str, tuple[str, Maker]]] = {
    "protocols/cluster.md": CLUSTER,
    "protocols/cluster-columns.md": COLUMNS,
    "protocols/peel-columns.md": PEEL_COLUMNS,
    "protocols/federate.md": FEDERATE,
    "protocols/generalize.md": GENERALIZE,
    "protocols/suppress.md": SUPPRESS,
    "protocols/collect.md": COLLECT,
    "protocols/collect-curve.md": CURVE,
    "protocols/collect-crypto.md": CRYPTO,
}
