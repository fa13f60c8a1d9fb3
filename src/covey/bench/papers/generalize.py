"""The experiment of `generalize`: the paper's example, what the release loses by variant, what a run costs by mode.

The paper has no measurements; it has an example, theorems and claims about what its protocol would publish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from covey import measures, samples
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.arrays import Ints
from covey.bench.dataset import KEY, Dataset, PartitionedStudy, identifiers, load, read_text
from covey.bench.findings import Cell, Claim, Experiment, Findings, Plot, ResultTable, Setting, curves
from covey.bench.papers.census import of_adult
from covey.crypto.commutative import BlindingKey
from covey.crypto.group import hash_to_group
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.generalize import ideal
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import labels_of, laid_out
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.shared.columns import meeting
from covey.samples.adult import COLUMNS
from covey.study import Study
from covey.study.document import Document
from covey.table import Table

VARIANTS = ("paper", "datafly", "finished-cells")
LOCALS = ("datafly", "peel")
_ADULT_ROWS, _ADULT_DAYS = 30_162, 10

_AREA = ("D1", "I1", "D2", "I1", "I2", "O1", "O2", "O2", "D3", "I2", "I2", "I1")
_POSITION = ("P2", "P1", "P2", "P1", "P3", "A2", "A2", "A2", "P2", "P1", "P3", "P3")
_SALARY = ("89", "90", "94", "77", "149", "14", "16", "15", "99", "77", "134", "144")
EXAMPLE = Dataset(
    "faculty",
    {
        "area": {"role": "quasi", "hierarchy": {"prefix": [1]}, "values": ["D1", "D2", "D3", "I1", "I2", "O1", "O2"]},
        "position": {"role": "quasi", "hierarchy": {"prefix": [1]}, "values": ["P1", "P2", "P3", "A1", "A2"]},
        "salary": {"role": "quasi", "hierarchy": {"min": 0, "max": 179, "steps": [30, 60]}},
    },
    {},
    pa.table({"area": _AREA, "position": _POSITION, "salary": _SALARY}),
)
"""Table 1 in short: areas by field, positions by rank, salaries in thousands above one (15.5 is 16 here)."""
_PARTS = {"p1": ["area", "position"], "p2": ["salary"]}

_LEAVES = {"c0": (8, [2, 4]), "c1": (6, [3]), "c2": (8, [2, 4]), "c3": (6, [3])}
"""Four columns of small numbers, two at each party: where Datafly and its simulation part now and then."""


def run(setting: Setting) -> Findings:
    """Runs the paper's example, and measures losses and costs."""
    setting.tell("generalize: the paper's example")
    example, claims = _example()
    setting.tell("generalize: tables on which simulating Datafly is not Datafly")
    claims += _not_the_same(60 if setting.quick else 400, setting.seed)
    ready, on = _people(setting)
    losses, plot = _losses(setting, ready, (5, 20) if setting.quick else (5, 10, 20, 50, 100))
    costs, whole = _costs(setting, ready)
    claims.append(whole)
    return Findings(
        tables=(example, losses, costs),
        plots=(plot,),
        claims=tuple(claims),
        notes=(
            on,
            "losses are of the ideal release, which a run's equals to the byte; costs are of runs with both parties in "
            "this process, on all cores",
            *(("in quick mode two values of k, and costs on people that are fewer",) if setting.quick else ()),
        ),
    )


def _example() -> tuple[ResultTable, list[Claim]]:
    rows: list[tuple[Cell, ...]] = []
    published: list[set[tuple[str, ...]]] = []
    variants: dict[str, Document] = {
        "as the paper": {},
        "simulating Datafly": {"variant": "datafly"},
        "finished cells": {"variant": "finished-cells"},
    }
    for title, options in variants.items():
        ready = EXAMPLE.split_columns("generalize", 3, _PARTS, options=options)
        done = ready.run()
        followed = ideal.follow(Parameters.of(ready.study), ready.tables)
        bad = ", then ".join(str(found.bad(3)) for found in followed.counts)
        classes = Counter(zip(*(column.to_pylist() for column in done.release.table.columns), strict=True))
        published.append(set(classes))
        rows.append((title, len(followed.rounds), bad, len(classes), min(classes.values()), done.lm))
    head = ("variant", "rounds", "pairs with 1 or 2 people", "classes", "smallest", "loss (lm)")
    table = ResultTable("Table 1 of the paper, k = 3, between two parties", head, tuple(rows))
    table_3 = {
        ("D*", "P*", "[60, 119]"), ("I*", "P*", "[60, 119]"), ("I*", "P*", "[120, 179]"), ("O*", "A*", "[0, 59]"),
    }  # fmt: skip
    table_2 = {
        ("D*", "P2", "[60, 119]"), ("I*", "P1", "[60, 119]"), ("I*", "P3", "[120, 179]"), ("O*", "A2", "[0, 59]"),
    }  # fmt: skip
    fits = published[0] == table_3 and rows[0][1] == 2
    in_order, anew = _read_off(anew=False), _read_off(anew=True)
    return table, [
        Claim(
            "section 3.1, Table 3",
            "two rounds, four classes of three",
            f"{rows[0][1]} rounds, {rows[0][3]} classes of {rows[0][4]}",
            "yes" if fits else "no",
        ),
        Claim(
            "section 2, Table 2",
            "one owner's Datafly publishes these four classes",
            "the variant that simulates Datafly publishes them; Table 2 prints one salary a level too low, and ids",
            "in part" if published[1] == table_2 else "no",
        ),
        Claim(
            "Algorithm 2, steps 6 to 8",
            "a party cannot link its people to values of the other's but within k",
            f"with the list back in order, as the algorithm has it, it reads the fellows of {in_order} of 12 people in "
            f"the other's groups; with the list laid out anew its guess is right for {anew}",
            "no" if in_order > anew else "yes",
        ),
    ]


def _read_off(*, anew: bool) -> int:
    """Counts P1's people whose fellows in P2's groups it reads off its list, which it takes to be in its own order."""
    ready = EXAMPLE.split_columns("generalize", 3, _PARTS)
    tables = ready.tables
    first, second = (Generalization.of(tables[name], Parameters.of(ready.study)).groups() for name in _PARTS)
    rng = Rng(Secret(bytes(32)))
    mine, theirs = (BlindingKey(rng.stream("key", name)) for name in ("p1", "p2"))
    people = hash_to_group([b"%d" % number for number in range(12)], "example")
    order, sizes = laid_out(first, 4, rng.stream("order"))
    back = theirs.blind(mine.blind(people.take(order)))
    if anew:
        back = back.take(laid_out(labels_of(sizes), 4, rng.stream("anew"))[0])
    believed = dict(zip(back, order.tolist(), strict=True))
    other = list(mine.blind(theirs.blind(people)))
    read = {own: {believed[other[n]] for n in np.flatnonzero(second == second[own])} for own in range(12)}
    truth = {own: set(np.flatnonzero(second == second[own]).tolist()) for own in range(12)}
    return sum(any(own in read[n] and read[n] == truth[own] for n in range(12)) for own in range(12))


def _not_the_same(trials: int, seed: int) -> list[Claim]:
    """Counts how often the variant that simulates Datafly publishes another table than Datafly on the pooled one."""
    random = np.random.default_rng(seed)
    described: Document = {
        name: {"role": "quasi", "hierarchy": {"min": 0, "max": most - 1, "steps": list(steps)}}
        for name, (most, steps) in _LEAVES.items()
    }
    parts = {"a": ["c0", "c1"], "b": ["c2", "c3"]}
    empty = Dataset("four", described, {}, pa.table({name: [] for name in _LEAVES}))
    study = empty.split_columns("generalize", 5, parts, options={"variant": "datafly"}).study
    parameters = Parameters.of(study)
    differs = more = less = 0
    for _ in range(trials):
        cells = {
            name: random.integers(0, most, (2, 60)).min(axis=0).astype(str).tolist()
            for name, (most, _) in _LEAVES.items()
        }
        people = pa.table({KEY: identifiers(60), **cells})
        tables = load(study, {name: people.select([KEY, *own]) for name, own in parts.items()})
        followed = ideal.follow(parameters, tables)
        joint = np.concatenate([followed.locals[name].nodes for name in parameters.owners])
        pooled = Generalization.of(_pooled(tables), parameters)
        joint_loss, pooled_loss = (_loss(pooled.trees, nodes) for nodes in (joint, pooled.nodes))
        differs += bool((joint != pooled.nodes).any())
        more += joint_loss > pooled_loss
        less += joint_loss < pooled_loss
    return [
        Claim(
            "section 4",
            "a variant in which only the most distinct column rises publishes what Datafly publishes",
            f"another release than Algorithm 1 on the pooled table in {differs} of {trials} random tables: it loses "
            f"more in {more} and less in {less}, since each side starts where it is k-anonymous by itself",
            "no" if differs else "yes",
        )
    ]


def _loss(trees: Sequence[Hierarchy], nodes: Ints) -> float:
    """Returns the loss by LM, all columns together."""
    return sum(float(measures.lm(tree)[own].sum()) for tree, own in zip(trees, nodes, strict=True))


def _pooled(tables: Mapping[str, Table]) -> Table:
    """Both parties' quasi columns of the same people, the first party's first."""
    first = next(iter(tables.values()))
    return replace(
        first,
        quasi=tuple(column for table in tables.values() for column in table.quasi),
        trees=tuple(tree for table in tables.values() for tree in table.trees),
        codes=np.concatenate([table.codes for table in tables.values()]),
        carried=(),
        key=None,
    )


def _people(setting: Setting) -> tuple[PartitionedStudy, str]:
    """Returns the study and tables on which losses and costs are measured, and a sentence that names them."""
    if setting.adult is not None:
        table = read_text(setting.adult / "adult.csv")
        quasi = COLUMNS[:8]
        parts = {"first": quasi[:4], "second": (*quasi[4:], COLUMNS[8])}
        ready = of_adult(table, quasi, (5, 10, 20)).split_columns("generalize", 5, parts)
        return ready, f"on Adult, {table.num_rows:,} people, eight columns split four and four"
    folder = samples.path("clinic-billing")
    study = Study.load(folder / "study.toml")
    data = {
        party.name: read_text(folder / f"{party.name}.csv", [column.name for column in study.held_by(party.name)])
        for party in study.holders
    }
    ready = PartitionedStudy(study, data)
    return ready, "on the sample clinic-billing; Adult is not at hand (`covey data fetch adult`)"


def _with(ready: PartitionedStudy, k: int, **options: str) -> PartitionedStudy:
    study = ready.study
    return replace(ready, study=replace(study, privacy=replace(study.privacy, k=k), options=options))


def _losses(setting: Setting, ready: PartitionedStudy, ks: tuple[int, ...]) -> tuple[ResultTable, Plot]:
    points: list[tuple[str, float, float]] = []
    for k in ks:
        setting.tell(f"generalize: losses at k = {k}")
        asked = _with(ready, k)
        common = meeting.common_rows(asked.study, asked.tables)
        problem = build(_pooled({name: common[name] for name in Parameters.of(asked.study).owners}), k=k).problem
        points.append(("Datafly, pooled", k, anonymize(problem, "datafly").loss(problem)))
        for local in LOCALS:
            for variant in VARIANTS:
                figures = _with(ready, k, local=local, variant=variant).ideal().figures
                points.append((f"{local}, {variant}", k, 1.0 if figures is None else figures.loss["lm"] or 0.0))
    names = list(dict.fromkeys(name for name, _, _ in points))
    rows = tuple((k, *(loss for _, own, loss in points if own == k)) for k in ks)
    table = ResultTable("What the release loses (lm), by local anonymizer and variant", ("k", *names), rows)
    return table, Plot("Loss by k", "k", "loss (lm)", curves(points), log_x=True)


def _costs(setting: Setting, ready: PartitionedStudy) -> tuple[ResultTable, Claim]:
    """Measures runs in each mode; on the whole table but in quick mode."""
    least = min(ready.rows.values())
    people = min(least, 600) if setting.quick else least
    if least > people:
        ready = replace(ready, data={name: part.slice(0, people) for name, part in ready.data.items()})
    rows: list[tuple[Cell, ...]] = []
    seconds = 0.0
    modes: list[dict[str, str]] = [
        {}, {"compare": "threshold"}, {"local": "peel", "variant": "finished-cells"},
    ]  # fmt: skip
    for options in modes:
        title = ", ".join(options.values()) or "matrix"
        setting.tell(f"generalize: a run of {people:,} people, {title}")
        try:
            done = _with(ready, 5, **options).run(setting.seed)
        except InputError as refused:
            rows.append((title, str(refused), None, None, None))
            continue
        seconds = seconds or done.seconds
        rows.append((title, done.seconds, done.rounds, done.megabytes, done.lm))
    head = ("mode", "seconds", "rounds of messages", "MB", "loss (lm)")
    days = seconds * _ADULT_ROWS / people / 86_400
    claim = Claim(
        "Tassa & Gudes on this kind of protocol",
        f"{_ADULT_DAYS} to 16 days for {_ADULT_ROWS:,} rows, by 1024-bit homomorphic encryptions, estimated",
        f"{seconds:.0f} s for {people:,} people, both parties on this machine, by ristretto255: in proportion "
        f"{24 * 60 * days:,.1f} minutes",
        "no" if days < _ADULT_DAYS else "yes",
    )  # fmt: skip
    return ResultTable(f"What a run costs, k = 5, {people:,} people", head, tuple(rows)), claim


EXPERIMENT = Experiment(
    about="two parties with columns: the paper's example, what variants lose, what a run costs",
    source="Jiang & Clifton, Privacy-Preserving Distributed k-Anonymity",
    run=run,
)
