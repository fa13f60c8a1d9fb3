"""`suppress` put to the test: what it costs by rare rows and encryption, what it loses, and what its paper claims."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.bench.findings import Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.party.session.data import load_table
from covey.party.simulate.deal import deal, seed_of
from covey.party.simulate.in_process import simulate
from covey.protocols.suppress.bounds import Bounds
from covey.protocols.suppress.clear import decide, ideal
from covey.protocols.suppress.own import Own
from covey.protocols.suppress.terms import Terms
from covey.study import Study

K = 5
PARTIES = "[parties.north]\n[parties.south]\n"
_QUICK = {"elgamal": (50, 100, 200, 400), "waters": (25, 50, 100)}
_WHOLE = {"elgamal": (100, 300, 1000, 3000), "waters": (100, 300, 1000)}
_SUBSETS = (
    ("sex", "race"),
    ("sex", "age"),
    ("sex", "race", "marital-status", "workclass"),
    ("sex", "age", "race"),
    ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"),
)


def run(setting: Setting) -> Findings:
    """Everything; with `quick` on smaller tables."""
    costs = _costs(setting)
    losses = () if setting.adult is None else (_losses(setting.adult, setting),)
    return Findings(
        tables=(_cost_table(costs), *losses, _theorem_6()),
        plots=(_plot(costs),),
        claims=_claims(setting),
        notes=(
            "costs: both parties in this process over memory, every tuple rare, half of them common to both; seconds "
            "are of both parties together",
            "losses: the clear function, which the protocol computes exactly; Adult's rows dealt to two at random"
            if losses
            else "Adult is not to be had here: no losses",
        ),
    )


def _head(encryption: str, k: int) -> str:
    return (
        f'[study]\nname = "bench"\nprotocol = "suppress"\n[privacy]\nk = {k}\n[protocol]\nencryption = "{encryption}"\n'
    )


def _costs(setting: Setting) -> dict[str, list[tuple[int, int, float, int, int]]]:
    found: dict[str, list[tuple[int, int, float, int, int]]] = {}
    for encryption, sizes in (_QUICK if setting.quick else _WHOLE).items():
        for rows in sizes:
            setting.tell(f"{encryption}: {rows} rare rows a side")
            text = _head(encryption, K) + '[columns.x]\nrole = "quasi"\nhierarchy = "flat"\n' + PARTIES
            study = Study.parse(text)
            tables = {
                name: pa.table({"x": [f"v{first + place}" for place in range(rows)]})
                for name, first in (("north", 0), ("south", rows // 2))
            }
            begun = time.perf_counter()
            summary = simulate(study, tables, seed=setting.seed).summary
            seconds = time.perf_counter() - begun
            compared = Bounds.of(Terms.of(study), (rows, rows), (0, 0)).layout.comparisons
            traffic, rounds = int(str(summary["bytes"])), int(str(summary["rounds"]))
            found.setdefault(encryption, []).append((rows, compared, seconds, traffic, rounds))
    return found


def _cost_table(costs: Mapping[str, Sequence[tuple[int, int, float, int, int]]]) -> Grid:
    rows = [
        (encryption, rare, compared, rare * rare, round(seconds, 2), round(traffic / 1e6, 2), rounds)
        for encryption, found in costs.items()
        for rare, compared, seconds, traffic, rounds in found
    ]
    head = ("encryption", "rare rows a side", "comparisons", "without hashing", "seconds", "MB", "rounds")
    return Grid(f"cost by rare rows, k = {K}", head, tuple(rows))


def _plot(costs: Mapping[str, Sequence[tuple[int, int, float, int, int]]]) -> Plot:
    curves = tuple(
        Curve(encryption, tuple((float(rare), seconds) for rare, _, seconds, _, _ in found))
        for encryption, found in costs.items()
    )
    return Plot("time by rare rows", "rare rows a side", "seconds", curves, log_x=True, log_y=True)


def _losses(adult: Path, setting: Setting) -> Grid:
    """Rows that are suppressed, beside those that anyone must suppress who may only suppress whole tuples."""
    rows = []
    for k in (5, 10):
        for quasi in _SUBSETS[:3] if setting.quick else _SUBSETS:
            setting.tell(f"Adult by {len(quasi)} columns, k = {k}")
            columns = "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in quasi)
            study = Study.parse(_head("elgamal", k) + columns + PARTIES, adult)
            dealt = deal(study, str(adult / "adult.csv"), seed=seed_of(setting.seed))
            tables = {name: load_table(study, name, hand) for name, hand in dealt.items()}
            held = {name: table for name, table in tables.items() if table is not None}
            figures = ideal(study, held).figures
            owns = [Own.of(table) for table in held.values()]
            counts: dict[bytes, int] = {}
            for own in owns:
                for key, count in zip(own.keys, own.counts.tolist(), strict=True):
                    counts[key] = counts.get(key, 0) + count
            least = sum(count for count in counts.values() if count < k)
            alone = sum(int(own.counts[own.counts < k].sum()) for own in owns)
            lost = 0 if figures is None else figures.suppressed_cells // len(quasi)
            total = sum(own.rows for own in owns)
            rows.append((" ".join(quasi), k, total, lost, round(lost / total, 4), least, alone))
    head = ("quasi columns", "k", "rows", "suppressed", "share", "rare in both together", "each party alone")
    return Grid("Adult split in two: rows that are suppressed", head, tuple(rows))


def _theorem_6() -> Grid:
    """The four pairs of tables by which the paper shows that unconditional privacy cannot be had, with k = 2."""
    rows = []
    for name, a, b in (("T, T", "10", "20"), ("S, T", "30", "20"), ("T, S", "10", "30"), ("S, S", "30", "30")):
        kept = decide(2, _own(a), _own(b))
        shown = [
            " ".join(cell if keep else "*" for cell, keep in zip(cells, keeps.tolist(), strict=True))
            for cells, keeps in zip((a, b), kept, strict=True)
        ]
        rows.append((name, " ".join(a), " ".join(b), shown[0], shown[1]))
    return Grid(
        "theorem 6: three of the four have the same release",
        ("tables", "first party", "second party", "first released", "second released"),
        tuple(rows),
        note="messages that tell nothing but the release would have to be alike in the first three, and so by the "
        "parties' independence in the fourth, whose release differs: so some secrecy has to rest on a computation that "
        "nobody can do, here discrete logarithms",
    )


def _own(cells: str) -> Own:
    listed = sorted(set(cells))
    return Own.sorted([(cell,) for cell in listed], np.array([listed.index(cell) for cell in cells], dtype=np.int64))


def _claims(setting: Setting) -> tuple[Claim, ...]:
    return (
        Claim(
            "theorem 8",
            "the protocol computes a normal k-anonymization function",
            "so it is on all generated tables with ties broken by first rows; broken by spelling, as a reader may "
            "take section 5.3, renaming a value changes the release",
            "in part",
        ),
        Claim(
            "theorem 9",
            "the protocol is private against polynomial-time adversaries",
            "as printed it is not: the keyholder recognises its own random numbers in the answers and so the other's "
            "exact count of a suppressed tuple, and looks up tuples that do not match; with random powers and "
            "re-randomised answers both attacks fail (tests/leaks/test_suppress_views.py)",
            "no",
        ),
        Claim(
            "section 5.3, last step",
            "exchanging the original tables, where the outcome is not k-anonymous, is harmless because it is unlikely",
            "it is what a party that lies would bring about: here the run stops instead",
            "no",
        ),
        Claim(
            "title of section 5",
            "an efficient solution",
            "as printed every tuple is compared with every other; by rare rows and hashing the comparisons grow nearly "
            "with the rows (see the table)",
            "in part",
        ),
    )


EXPERIMENT = Experiment(
    name="suppress",
    about="two parties suppress what is rare: cost by rare rows and encryption, rows lost, and the paper's claims",
    source="On Distributed k-Anonymization (CCS 2006 submission)",
    run=run,
)
