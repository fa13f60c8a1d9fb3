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
    number,
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

    def rows(results: Results) -> Sequence[Row]:
        (part,) = (name for name in results if name.startswith(title))
        return results[part]

    return rows


def as_kept(title: str, described: str = "") -> Maker:
    """A table of an experiment as it was printed; the columns that are described in another way."""
    rows, cells = titled(title), columns(described) if described else {}

    def make(results: Results) -> str:
        heads = list(rows(results)[0])
        return table(heads, [[cells.get(key, text(key))(row) for key in heads] for row in rows(results)])

    return make


def measured(name: str) -> Maker:
    """Says whether an experiment was run whole."""
    quick = f"measured with `python -m benchmarks papers {name} --quick`, on smaller tables than without `--quick`"
    return lambda results: quick if results[name][0]["quick"] else f"measured with `python -m benchmarks papers {name}`"


# -- cluster


def _shown(row: Row) -> str:
    """The number of exact records that movers were shown, from the ledger's sentence."""
    times = re.search(r"exact record: ([\d,]+) times", str(row["opened"]))
    return f"{int(times[1].replace(',', '')):,}" if times else "none"


CLUSTER = of("papers", {
    "cluster-measured": measured("cluster"),
    "cluster-figures": side_by_side(
        titled("cluster: Figures 5, 6 and 7"), "n:whole",
        "CPU s=seconds:clock|sweeps L|SMC calls:whole|rounds with one exchange a turn=our rounds:whole", "n|k",
    ),
}) | of("cluster", {
    "cluster-cost": listed(
        "runs", "k|parties|alone:loss|LM=lm:loss|seconds:clock|rounds:whole|MB=bytes:mega", "k|parties",
        calls="turn", extra="", latency=0.0,
    ),
    "cluster-shown": figure("runs", _shown, calls="turn", k=10, parties=3, latency=0.0),
    "cluster-slow-turn": figure("runs", SECONDS, calls="turn", k=50, parties=5, latency=0.03),
})  # fmt: skip


# -- columns split


PEEL_COLUMNS = of("columns", {
    "peel-columns-cost": listed(
        "runs",
        "k|holders|rows:whole|latency:ms|LM=lm:loss|rounds:whole|MB, all parties=bytes:mega|"
        "CPU s, all parties:whole|seconds:clock|join rounds:whole|join MB a party:whole|load=load after",
        "k|rows|holders|latency", form=("peel",),
    ),
})  # fmt: skip


# -- federate


def figure_4(results: Results) -> str:
    """DM by delta, for each number of users that the providers do not share."""
    rows: list[list[str]] = []
    for part, points in results.items():
        extra = re.findall(r"federate: DM\. Figure 4: ([\d,]+) more", part)
        for point in points if extra else ():
            scores = [key for key in point if key != "delta"]
            best = min((number(point, score) for score in scores if point[score] is not None), default=None)
            cells = [
                "" if point[score] is None else f"**{whole(score)(point)}**" if number(point, score) == best
                else whole(score)(point)
                for score in scores
            ]  # fmt: skip
            if best is None:
                cells[0] = "infeasible"
            rows.append([extra[0], FORMS["part"]("delta")(point), *cells])
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
        lambda results: [*results["growth"], *results["tls"]],
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


# -- suppress


def _columns(row: Row) -> str:
    names = str(row["columns"])
    return "all eight" if names.count(" ") == 7 else ", ".join(names.split()).replace("-", " ")


SUPPRESS = of("suppress", {
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
        special={"columns": _columns},
    ),
})  # fmt: skip


# -- collect


_ON = {"broadcast": "six columns of Adult", "private": "a made-up census, private retrieval"}
LETTERS = of("collect", {
    "peel-respondents": listed(
        "peel",
        "respondents:whole|k|bytes of a letter=bytes_of_a_letter:whole|ms of CPU to write it=milliseconds_a_letter|"
        "MB by a trustee=sent_by_trustee:mega|MB by the collector=sent_by_collector:mega|rounds:whole|"
        "CPU s a party=cpu_seconds_a_party|LM=lm:loss",
        "respondents",
    ),
})  # fmt: skip
CURVE = of("collect", {
    "curve-cost": listed(
        lambda results: [*chosen(results["loss"], k=10), *results["scale"], *results["retrieval"]],
        "on=:on|respondents:whole|cells:whole|k|CPU s, all together=cpu_seconds:whole|seconds:clock|"
        "MB of memory=peak_megabytes:whole|kB a respondent=bytes_per_respondent:kilo|"
        "of these sent by it=sent_by_respondent:kilo|rounds",
        special={"on": lambda row: _ON[str(row["retrieval"])]},
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


def papers_parts(results: Results) -> str:
    """The paper's own parts, for both lengths of keys."""
    shamir = "a part of two, proof included, CPU ms|a part of two checked, CPU ms|two combined, CPU ms"
    description = "a trustee's part of two ciphertexts with its proof; checked; combined"
    sizes = ("5 of 9", "10 of 19")
    lines = {
        "two safe primes, CPU seconds of the dealer": ("two safe primes", "CPU s"),
        "an encryption, CPU milliseconds": ("encryption", "CPU ms each"),
        **{f"Shamir, {n}: {description}, CPU milliseconds": (f"Shamir, {n}", shamir) for n in sizes},
        **{
            f"Asmuth-Bloom, {n}: a part of two; combined, CPU milliseconds": (
                f"Asmuth-Bloom, {n}", "a part of two, CPU ms|two combined, CPU ms"
            )
            for n in sizes
        },
    }  # fmt: skip

    def cell(bits: int, part: str, keys: str) -> str:
        (row,) = (row for row in results[f"paillier{bits}"] if str(row["what"]).startswith(f"{bits} bits: {part}"))
        return "; ".join(_digits(number(row, key)) for key in keys.split("|"))

    rows = [(label, *(cell(bits, *asked_for) for bits in (2048, 3072))) for label, asked_for in lines.items()]
    return table(("the paper's parts", "2,048 bits", "3,072 bits"), rows)


def gentry(results: Results) -> str:
    """The dearest query of Gentry and Ramzan's scheme, an answer and a reading."""
    entries = [row for row in results["gentry"] if "query, CPU s" in row]
    costs = (max(number(row, key) for row in entries) for key in ("query, CPU s", "answer, CPU s", "read, CPU s"))
    return ", ".join(map(_digits, costs))


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def _having(part: str, key: str) -> Rows:
    return lambda results: [row for row in results[part] if key in row]


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
        special={"what": lambda row: str(row["what"]).removeprefix("learning with errors, ")},
    ),
})  # fmt: skip


PAGES: dict[str, Figures] = {
    "protocols/cluster.md": CLUSTER,
    "protocols/federate.md": FEDERATE,
    "protocols/suppress.md": SUPPRESS,
    "protocols/collect-curve.md": CURVE,
    "collecting.md": LETTERS,
    "protocols/collect-crypto.md": CRYPTO,
}
