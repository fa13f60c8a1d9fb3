"""The figures of the pages of protocols; `scripts.figures` puts them where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from scripts.tables import (
    FORMS,
    Maker,
    Results,
    Row,
    Rows,
    across,
    chosen,
    columns,
    figure,
    listed,
    loss,
    number,
    rows_of,
    side_by_side,
    table,
    text,
    whole,
)

Figures = dict[str, tuple[str, Maker]]
SECONDS = FORMS["clock"]("seconds")


def of(source: str, makers: Mapping[str, Maker]) -> Figures:
    """Figures that are made from the same results."""
    return {name: (source, make) for name, make in makers.items()}


def titled(title: str) -> Callable[[Results], Sequence[Row]]:
    """The rows of that part of the papers' results whose title begins so."""

    def rows(found: Results) -> Sequence[Row]:
        (part,) = (name for name in found if name.startswith(title))
        return found[part]

    return rows


def as_kept(title: str, described: str = "") -> Maker:
    """A table of an experiment as it was printed; the columns that are described in another way."""
    rows, more = titled(title), columns(described) if described else {}

    def make(found: Results) -> str:
        heads = list(rows(found)[0])
        return table(heads, [[more.get(key, text(key))(row) for key in heads] for row in rows(found)])

    return make


def measured(name: str) -> Maker:
    """Says whether an experiment was run whole."""
    quick = f"measured with `python -m benchmarks papers {name} --quick`, on smaller tables than without `--quick`"
    return lambda found: quick if found[name][0]["quick"] else f"measured with `python -m benchmarks papers {name}`"


# -- cluster


def _shown(row: Row) -> str:
    """The number of exact records that movers were shown, from the ledger's sentence."""
    times = re.search(r"exact record: ([\d,]+) times", str(row["opened"]))
    return f"{int(times[1].replace(',', '')):,}" if times else "none"


def cluster_cost(found: Results) -> str:
    """The schedules on Adult, `guarded` and `exact` side by side."""
    first = columns("k|parties|alone:loss|`guarded`: LM=lm:loss|seconds:clock|rounds:whole|MB=bytes:mega")
    second = columns(
        "`exact`: LM=lm:loss|seconds:clock|rounds:whole|exact records shown to movers=:shown", {"shown": _shown}
    )
    rows = []
    for own in rows_of(found, "runs", "k|parties", schedule="guarded", extra="", latency=0.0):
        same = {key: own[key] for key in ("k", "parties", "extra", "latency")}
        other = chosen(found["runs"], schedule="exact", **same)
        cells = [cell(other[0]) for cell in second.values()] if other else ["not run", "", "", ""]
        rows.append([*(cell(own) for cell in first.values()), *cells])
    return table([*first, *second], rows)


def cluster_diversity(found: Results) -> str:
    """Losses with l, joint and centralized."""
    lines = {"`cluster`, `guarded`": chosen(found["runs"], schedule="guarded", k=10, parties=3, latency=0.0)}
    for name in ("sequential", "mondrian", "peel"):
        lines[f"centralized `{name}`"] = chosen(found["central"], algorithm=name, k=10)
    rows = [
        (said, *("".join(map(loss(), chosen(own, extra=f"l={asked}"))) or "not run" for asked in (1, 2, 3)))
        for said, own in lines.items()
    ]
    return table(("", "no l", "l = 2", "l = 3"), rows)


def _searched(row: Row) -> str:
    regrouped = "" if row["schedule"] == "strict" or str(row["regroupings"]) == "6" else " without regrouping"
    return f"`{row['schedule']}`{regrouped}"


CLUSTER = of("papers", {
    "cluster-measured": measured("cluster"),
    "cluster-figures": side_by_side(
        titled("cluster: Figures 5, 6 and 7"), "n:whole",
        "CPU s=seconds:clock|sweeps L|SMC calls:whole|rounds of `exact`=our rounds:whole", "n|k",
    ),
    "cluster-figure-3": as_kept("cluster: Figure 3"),
    "cluster-real": as_kept(
        "cluster: Real runs", "LM:loss|n:whole|seconds:clock|rounds:whole|MB:whole|exact records shown:whole"
    ),
}) | of("cluster", {
    "cluster-cost": cluster_cost,
    "cluster-diversity": cluster_diversity,
    "cluster-strict": side_by_side(
        "runs", "schedule:code", "LM=lm:loss|rounds:whole|MB=bytes:mega",
        schedule=("guarded", "strict"), parties=3, extra="", latency=0.0,
    ),
    "cluster-shown": figure("runs", _shown, schedule="exact", k=10, parties=3, latency=0.0),
    "cluster-insider": figure("runs", loss(), schedule="guarded", k=10, parties=3, extra="k_insider=5"),
    "cluster-slow-exact": figure("runs", SECONDS, schedule="exact", k=50, parties=5, latency=0.03),
    "cluster-slow-guarded": figure("runs", SECONDS, schedule="guarded", k=50, parties=5, latency=0.03),
}) | of("cluster_overlaps", {
    "cluster-overlaps": side_by_side(
        "overlaps", "=:searched",
        "opened counts=different opened counts:whole|sets below k by one subtraction:whole|records in them:whole|"
        "regions whose number all counts determine=of these determined:whole|"
        "of these a single record=single records among them:whole",
        more={"searched": _searched},
    ),
})  # fmt: skip


# -- columns split


def columns_beside(found: Results) -> str:
    """Three ways on the same split, in the clear."""
    ways = {
        "generalize": "`generalize`, as it comes: whole columns are lifted",
        "generalize, peel, finished cells": '`generalize` with `local = "peel"`, `variant = "finished-cells"`',
        "pivot": "`cluster`, pivot",
    }
    own = {way: rows_of(found, "runs", "k", form=f"{way}, in the clear", rows=30162, k=(10, 50)) for way in ways}
    return table(("", "k = 10", "k = 50"), [(said, *map(loss(), own[way])) for way, said in ways.items()])


def _each_sent(row: Row) -> str:
    sent = dict(row["MB sent by each"])  # type: ignore[call-overload]
    own = sorted(round(each) for name, each in sent.items() if name != "judge")
    most = "" if own[0] == own[-1] else f" to {own[-1]}"
    return f"{own[0]}{most}, {sent['judge']:.1f}"


COLUMNS = of("columns", {
    "columns-cost": listed(
        "runs",
        "k|holders|form|LM=lm:loss|seconds:clock|rounds:whole|messages:whole|MB, all parties=bytes:mega",
        "k|holders", form=("pivot", "evaluator"), latency=0.0,
    ),
    "columns-slow-10": figure("runs", SECONDS, form="evaluator", k=10, holders=3, latency=0.03),
    "columns-slow-50": figure("runs", SECONDS, form="evaluator", k=50, holders=3, latency=0.03),
    "columns-beside": columns_beside,
}) | of("papers", {
    "columns-measured": measured("columns"),
    "columns-figure-7": side_by_side(
        titled("columns: Figure 7"), "n:whole",
        "sweeps L|SMC calls:whole|our comparisons:whole|our rounds:whole|MB of a holder:whole|seconds:whole", "n|k",
    ),
    "columns-loss": as_kept("columns: Loss beside", "n:whole|LM:loss|centralized sequential:loss|ratio:ratio"),
    "columns-attack": as_kept(
        "columns: Who can tell", "pairs claimed:whole|precision:percent|recall:percent|by guessing:percent"
    ),
})  # fmt: skip
PEEL_COLUMNS = of("columns", {
    "peel-columns-cost": listed(
        "runs",
        "k|holders|people=rows:whole|window=form:window|latency:ms|LM=lm:loss|rounds:whole|"
        "MB sent by a holder, by the evaluator=:sent|CPU s, all parties:whole|seconds:clock|load=load after|"
        "MB of memory, the largest party:whole",
        "k|rows|holders|latency",
        {"window": text("form", {"peel": "1", "peel16": "16"}), "sent": _each_sent},
        form=("peel", "peel16"),
    ),
})  # fmt: skip


# -- federate


def figure_4(found: Results) -> str:
    """DM by delta, for each number of users that the providers do not share."""
    rows: list[list[str]] = []
    for part, points in found.items():
        more = re.findall(r"federate: DM\. Figure 4: ([\d,]+) more", part)
        for point in points if more else ():
            ways = [key for key in point if key != "delta"]
            least = min((number(point, way) for way in ways if point[way] is not None), default=None)
            cells = [
                "" if point[way] is None else f"**{whole(way)(point)}**" if number(point, way) == least
                else whole(way)(point)
                for way in ways
            ]  # fmt: skip
            if least is None:
                cells[0] = "infeasible"
            rows.append([more[0], FORMS["part"]("delta")(point), *cells])
    head = ("more users at each", "delta", "the paper's score", "weighted", "default: weighted, 8 quantiles")
    return table((*head, "extended Mondrian, trusted"), rows)


_SPENT = (
    "classes:whole|rounds:whole|messages:whole|MB, all parties|CPU s, all parties:whole|seconds=s:clock|"
    "load=load before"
)
FEDERATE = of("federate", {
    "federate-several": listed(
        "several",
        f"population:whole|providers|common:whole|pairs=more at each:whole|alpha:part|latency:ms|{_SPENT}",
        "population|providers|alpha|latency",
    ),
    "federate-cost": listed(
        lambda found: [*found["growth"], *found["tls"]],
        f"population:whole|common:whole|more at each:whole|alpha:part|{_SPENT}", "population|alpha",
    ),
    "federate-crypto": listed(
        "crypto",
        "=who|bits:whole|encrypt, own key=encrypt/s, own key:whole|encrypt=encrypt/s:whole|add=add/s:whole|"
        "decrypt=decrypt/s:whole",
        "bits", who=("covey", "phe 1.5.0", "tno.mpc paillier 3.2.0"),
    ),
}) | of("papers", {
    "federate-measured": measured("federate"),
    "federate-score": figure_4,
    "federate-figure-6": as_kept(
        "federate: DM. Figure 6", "dummy users, the paper's score:whole|as by default:whole|like MPALM, trusted:whole"
    ),
})  # fmt: skip


# -- generalize


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


def _range(row: Row) -> str:
    """The range of losses over all ways to split the columns, and the median."""
    return "{} to {} (median {})".format(*(loss(key)(row) for key in ("least", "most", "median")))


GENERALIZE = of("generalize", {
    "generalize-cost": listed(
        "cost",
        "k|options:said|comparisons=:compared|exchanges in all=rounds of messages|MB sent=MB|CPU s:whole|MB of memory|"
        "LM=lm:loss",
        more={"said": text("options", {"": "the defaults (`threshold`)"}), "compared": _compared},
    ),
    "generalize-tls": listed(
        "tls", "k|latency=:late|seconds=s:clock|exchanges=rounds of messages|MB sent=MB", "latency ms|k",
        {"late": lambda row: f"{row['latency ms']} ms"},
    ),
    "generalize-losses": across(
        "loss", "local, variant", lambda row: f"k = {row['k']}",
        "Datafly on the pooled table=centralized datafly:loss|`datafly`, `paper` (the default)=datafly, paper:loss|"
        "`datafly`, `datafly`=datafly, datafly:loss|`datafly`, `finished-cells`=datafly, finished-cells:loss|"
        "`mondrian`, `finished-cells`=mondrian, finished-cells:loss|`peel`, `finished-cells`=peel, finished-cells:loss|"
        "`peel`, `paper`=peel, paper:loss", "k",
    ),
    "generalize-split-paper": figure("splits", _range, variant="paper"),
    "generalize-split-datafly": figure("splits", _range, variant="datafly"),
    "generalize-split-cells": figure("splits", _range, variant="finished-cells"),
    "generalize-growth": listed(
        "growth",
        "ids:whole|leakage:code|seconds=s:clock|CPU s, both parties=CPU s:clock|cores busy|"
        "memory of each party, above the program's own=:added|MB sent:whole|microseconds of CPU an id|load=load before",
        "ids", {"added": _added},
    ),
})  # fmt: skip


# -- suppress


def _columns(row: Row) -> str:
    names = str(row["columns"])
    return "all eight" if names.count(" ") == 7 else ", ".join(names.split()).replace("-", " ")


SUPPRESS = of("suppress", {
    "suppress-three": listed(
        "three",
        "=encryption:code|rows:whole|suppressed=suppressed rows:whole|CPU s=cpu seconds:whole|MB=bytes:mega|rounds|"
        "load=load before",
    ),
    "suppress-cost": listed(
        "cost",
        "rare rows a side:whole|comparisons:whole|without hashing=:pairs|=encryption:code|CPU s=cpu seconds:whole|"
        "seconds=seconds without start:clock|load=load before|MB=bytes:mega|rounds|"
        "MB of memory, the largest process=largest process MB",
        "rare rows a side", {"pairs": lambda row: f"{number(row, 'rare rows a side') ** 2:,.0f}"},
    ),
    "suppress-adult": side_by_side(
        "adult", "quasi columns=:columns",
        "suppressed=suppressed rows:whole|part of all rows=suppressed share:percent|MB=bytes:mega",
        more={"columns": _columns},
    ),
})  # fmt: skip


# -- collect


_ON = {"broadcast": "six columns of Adult", "private": "a made-up census, private retrieval"}
COLLECT = of("collect", {
    "collect-beside": listed(
        "beside", "respondents:whole|k|`peel`=peel:loss|`curve`=curve:loss", "respondents|k"
    ),
    "collect-peel": listed(
        "peel",
        "respondents:whole|trustees|nodes|k|CPU s, all together=cpu_seconds:whole|seconds:clock|"
        "MB of memory=peak_megabytes:whole|kB sent by a respondent=sent_by_respondent:kilo|"
        "MB by a trustee=sent_by_trustee:mega|MB by the collector=sent_by_collector:mega|rounds:whole|LM=lm:loss",
        "respondents|trustees",
    ),
})  # fmt: skip
CURVE = of("collect", {
    "curve-cost": listed(
        lambda found: [*chosen(found["loss"], k=10), *found["scale"], *found["retrieval"]],
        "on=:on|respondents:whole|cells:whole|k|CPU s, all together=cpu_seconds:whole|seconds:clock|"
        "MB of memory=peak_megabytes:whole|kB a respondent=bytes_per_respondent:kilo|"
        "of these sent by it=sent_by_respondent:kilo|rounds",
        more={"on": lambda row: _ON[str(row["retrieval"])]},
    ),
    "curve-losses": listed("loss", "k|released=lm:loss|the curve itself=central_lm:loss", "k"),
}) | of("papers", {
    "curve-measured": measured("collect"),
    "curve-table-2": as_kept(
        "collect: Table II:",
        "printed:chance|paper's formula:chance|an outsider:chance|the collector:chance|measured:chance",
    ),
    "curve-attacks": as_kept(
        "collect: What the collector finds out",
        "cells:whole|class alone:percent|position:percent|both:percent|everyone's:percent|beside one:percent|"
        "10 away:percent",
    ),
})  # fmt: skip


def papers_parts(found: Results) -> str:
    """The paper's own parts, for both lengths of keys."""
    shamir = "a part of two, proof included, CPU ms|a part of two checked, CPU ms|two combined, CPU ms"
    asked = "a trustee's part of two ciphertexts with its proof; checked; combined"
    sizes = ("5 of 9", "10 of 19")
    lines = {
        "two safe primes, CPU seconds of the dealer": ("two safe primes", "CPU s"),
        "an encryption, CPU milliseconds": ("encryption", "CPU ms each"),
        **{f"Shamir, {n}: {asked}, CPU milliseconds": (f"Shamir, {n}", shamir) for n in sizes},
        **{
            f"Asmuth-Bloom, {n}: a part of two; combined, CPU milliseconds": (
                f"Asmuth-Bloom, {n}", "a part of two, CPU ms|two combined, CPU ms"
            )
            for n in sizes
        },
    }  # fmt: skip

    def cell(bits: int, what: str, keys: str) -> str:
        (row,) = (each for each in found[f"paillier{bits}"] if str(each["what"]).startswith(f"{bits} bits: {what}"))
        return "; ".join(_digits(number(row, key)) for key in keys.split("|"))

    rows = [(said, *(cell(bits, *asked_for) for bits in (2048, 3072))) for said, asked_for in lines.items()]
    return table(("the paper's parts", "2,048 bits", "3,072 bits"), rows)


def gentry(found: Results) -> str:
    """The dearest query of Gentry and Ramzan's scheme, an answer and a reading."""
    entries = [row for row in found["gentry"] if "query, CPU s" in row]
    most = (max(number(row, key) for row in entries) for key in ("query, CPU s", "answer, CPU s", "read, CPU s"))
    return ", ".join(map(_digits, most))


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def _having(part: str, key: str) -> Rows:
    return lambda found: [row for row in found[part] if key in row]


CRYPTO = of("collect_crypto", {
    "threshold-elgamal": listed(
        _having("elgamal", "microseconds"),
        "threshold ElGamal, for each ciphertext (64 bytes)=what|microseconds:whole",
    ),
    "positions-read": listed(
        _having("elgamal", "table, CPU s"),
        "positions read off their points=what|CPU s, the table=table, CPU s|the reading=reading, CPU s",
    ),
    "committee": listed("committee", "=what|CPU s|rounds|MB"),
    "retrieval": across(
        "pir", "private retrieval", text("what"),
        "hint, once for each respondent, the same for all, MB=hint MB|query, kB=query KB|answer, kB=answer KB|"
        "the whole index instead, MB=broadcast MB|hint, CPU seconds of the server, once=hint, CPU s|"
        "a query alone, CPU seconds of the client=1 queries made, CPU s|"
        "64 queries made together, CPU seconds=64 queries made, CPU s|"
        "64 queries answered together, CPU seconds of the server=64 answered, CPU s|"
        "billions of products a second of one core=64 answered, GMAC a core second",
    ),
    "papers-parts": papers_parts,
    "gentry": gentry,
    "lattice-security": listed(
        "security", "=:what|block=primal block|bits, classical=core-SVP, classical|quantum=core-SVP, quantum",
        more={"what": lambda row: str(row["what"]).removeprefix("learning with errors, ")},
    ),
})  # fmt: skip


PAGES: dict[str, Figures] = {
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
