"""The experiment of `federate`: the paper's section 6 in form, and the protocol beside what a trusted party could do.

The division is computed in the clear: it is what the parties compute, class for class (tests hold them to that), and a
thousand runs of it take minutes instead of days. Users are drawn anew in each run; the paper takes them from the top.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from covey.arrays import Longs
from covey.bench.findings import Cell, Claim, Curve, Experiment, Findings, Grid, Plot, Setting
from covey.bench.papers.mondrian_with_presence import Everyone, extended_mondrian, mpalm
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.measures import discernibility
from covey.protocols.federate.groups import exceeds
from covey.protocols.federate.ideal import Test, counts, divide
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.users import OwnUsers
from covey.study import Study
from covey.table import Table, build, read

GYM, BANK = ("age", "sex", "race", "marital-status"), ("education", "native-country", "workclass", "occupation")
COMMON = 1200
DELTAS = (0.95, 0.85, 0.75, 0.65, 0.6, 0.55, 0.5, 0.4, 0.3)
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_MADE_UP = 20_000


@dataclass(frozen=True)
class World:
    """A population with everybody's true values, and a study over it."""

    study: Study
    table: pa.Table
    known: Table
    """Everybody's rows, in the population's order."""
    about: str

    @property
    def size(self) -> int:
        """How many people there are."""
        return int(self.table.num_rows)


@dataclass(frozen=True)
class Users:
    """Who is whose user in one run."""

    world: World
    params: Parameters
    first: OwnUsers
    second: OwnUsers


Method = Callable[[Users], float]


def run(setting: Setting) -> Findings:
    """All figures; in quick mode fewer points, each the mean of two runs instead of twenty."""
    world = _world(setting)
    runs = 2 if setting.quick else 20
    deltas = (0.95, 0.75, 0.6) if setting.quick else DELTAS
    alphas = (0.0, 0.5, 1.0) if setting.quick else ALPHAS
    setting.tell("federate: DM by delta (figure 4)")
    by_delta = {
        extra: _by_delta(setting, world, (extra, extra), deltas, _METHODS, runs)
        for extra in _extras(setting.quick, world)
    }
    setting.tell("federate: DM by alpha (figure 5)")
    by_alpha = {point: _by_alpha(setting, world, *point, alphas, runs) for point in ((600, 0.75), (3600, 0.3))}
    setting.tell("federate: beside a centralized algorithm (figure 6)")
    one_sided = _by_delta(setting, world, (1200, 0), deltas, _ONE_SIDED, runs)
    many = _by_delta(setting, world, (_most(world), _most(world)), (0.3,), {"as by default": _divided()}, runs)
    tables = [_grid(f"DM, {extra:,} more users at each provider", found) for extra, found in by_delta.items()]
    tables += [
        _grid(f"DM by alpha, {extra:,} more users at each, delta = {delta:g}", found, "alpha")
        for (extra, delta), found in by_alpha.items()
    ]
    tables.append(_grid("DM, 1,200 more users at one provider and none at the other", one_sided))
    plots = [
        *(_plot(f"Figure 4: {extra:,} more users at each provider", found) for extra, found in by_delta.items()),
        *(
            _plot(f"Figure 5: {extra:,} more users at each, delta = {delta:g}", found, "alpha")
            for (extra, delta), found in by_alpha.items()
        ),
        _plot("Figure 6: beside a centralized algorithm, one side hidden", one_sided),
    ]
    return Findings(
        tables=tuple(tables),
        plots=tuple(plots),
        claims=_claims(by_delta, by_alpha, one_sided, many[0.3]["as by default"]),
        notes=(
            f"{world.about}; {COMMON:,} common users, k = 2, the mean of {runs} runs; quasi columns {', '.join(GYM)} "
            f"and {', '.join(BANK)}.",
            "DM: each common user costs the size of its class. Where delta is below the share of common users among a "
            "provider's, nothing can be released: the point is missing, where the paper plots one.",
        ),
    )


# -- the methods


def _keeps_one_side(params: Parameters, first: OwnUsers, second: OwnUsers, groups: list[Longs]) -> bool:
    """k, and delta toward the first provider alone: where all users of the second are common, none can be hidden."""
    has = [(int(first.member[group].sum()), int((first.member & second.member)[group].sum())) for group in groups]
    return all(common >= params.k and not exceeds(params, common, users) for users, common in has)


def _divided(test: Test | None = None, **changes: object) -> Method:
    """The protocol with these parameters."""

    def dm(users: Users) -> float:
        params = replace(users.params, **changes)  # type: ignore[arg-type]
        first, second = replace(users.first, params=params), replace(users.second, params=params)
        leaves = divide(params, first, second, test).leaves
        return float(discernibility(counts(params, first, second, leaves).sum(axis=1)))

    return dm


def _central(search: Callable[[Everyone, int, Fraction], list[Longs]], both: bool) -> Method:
    """A trusted party that knows everybody's true values, and who is whose user."""

    def dm(users: Users) -> float:
        a, b = users.first.member, users.second.member
        delta = users.params.delta
        known = users.world.known
        places = [axis.place for axis in (*users.first.axes, *users.second.axes)]
        everyone = Everyone(known.codes, places, (a, b) if both else (a,), a & b)
        groups = search(everyone, users.params.k, Fraction(1) if delta is None else delta)
        return float(discernibility(np.array([int((a & b)[group].sum()) for group in groups])))

    return dm


_METHODS: dict[str, Method] = {
    "dummy users, the paper's score": _divided(alpha=0.5, weighted=False, candidates=0),
    "dummy users, weighted score": _divided(alpha=0.5, weighted=True, candidates=0),
    "as by default": _divided(),
    "extended Mondrian, trusted": _central(extended_mondrian, both=True),
}
_ONE_SIDED: dict[str, Method] = {
    "dummy users, the paper's score": _divided(_keeps_one_side, alpha=0.5, weighted=False, candidates=0),
    "as by default": _divided(_keeps_one_side),
    "like MPALM, trusted": _central(mpalm, both=False),
}

Found = dict[float, dict[str, float]]
"""By the point on the x axis, the mean DM of each method; missing where nothing can be released."""


def _by_delta(
    setting: Setting,
    world: World,
    extra: tuple[int, int],
    deltas: Sequence[float],
    methods: dict[str, Method],
    runs: int,
) -> Found:
    found: Found = {delta: {} for delta in deltas}
    worlds = [_users(setting, world, number, *extra) for number in range(runs)]
    for delta in deltas:
        exact = [replace(users, params=replace(users.params, delta=_fraction(delta))) for users in worlds]
        for name, method in methods.items():
            if (mean := _mean(method, exact)) is not None:
                found[delta][name] = mean
    return found


def _by_alpha(setting: Setting, world: World, extra: int, delta: float, alphas: Sequence[float], runs: int) -> Found:
    worlds = [_users(setting, world, number, extra, extra) for number in range(runs)]
    exact = [replace(users, params=replace(users.params, delta=_fraction(delta))) for users in worlds]
    found: Found = {}
    for alpha in alphas:
        methods = {
            "the paper's score": _divided(alpha=alpha, weighted=False, candidates=0),
            "weighted score": _divided(alpha=alpha, weighted=True, candidates=0),
            "weighted score, 8 candidates": _divided(alpha=alpha, weighted=True, candidates=8),
        }
        means = {name: _mean(method, exact) for name, method in methods.items()}
        found[alpha] = {name: mean for name, mean in means.items() if mean is not None}
    return found


def _mean(method: Method, worlds: Sequence[Users]) -> float | None:
    try:
        return float(np.mean([method(users) for users in worlds]))
    except Unmet:
        return None


def _fraction(delta: float) -> Fraction:
    return Fraction(repr(delta))


# -- the data


def _world(setting: Setting) -> World:
    """Adult, or a made-up table of the same columns."""
    if setting.adult is None:
        table, about = _made_up(setting.seed), f"A made-up table of {_MADE_UP:,} people: Adult is not at hand"
    else:
        path = setting.adult / "adult.csv"
        separator = ";" if b";" in path.read_bytes()[:200] else ","
        raw = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=separator))
        names = (*GYM, *BANK, "salary-class")
        table = raw.select(names).cast(pa.schema([(name, pa.string()) for name in names]))
        about = f"Adult, {table.num_rows:,} people"
    ids = pa.array([f"u{number}" for number in range(table.num_rows)])
    table = table.add_column(0, "uid", ids)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "population.csv").write_text("\n".join(ids.to_pylist()))
        study = Study.parse(_text(table), folder)
    quasi = [study.column(name) for name in (*GYM, *BANK)]
    known = build(read(table.select([column.name for column in quasi]).to_batches(), quasi, "everyone"), study)
    return World(study, table, known, about)


def _text(table: pa.Table) -> str:
    head = '[study]\nname = "figures"\nprotocol = "federate"\npartition = "vertical"\n[privacy]\nk = 2\ndelta = 0.75\n'
    ages = [int(age) for age in table.column("age").to_pylist()]
    parts = [head, '[protocol]\npopulation = "population.csv"\n[columns.uid]\nrole = "key"\n']
    parts.append(
        f'[columns.age]\nrole = "quasi"\nmissing = "error"\n'
        f"hierarchy = {{ min = {min(ages)}, max = {max(ages)}, steps = [10] }}\n"
    )
    for name in (*GYM[1:], *BANK):
        values = sorted(set(table.column(name).to_pylist()))
        parts.append(
            f'[columns.{name}]\nrole = "quasi"\nmissing = "error"\nhierarchy = "flat"\nvalues = {_toml(values)}\n'
        )
    salaries = sorted(set(table.column("salary-class").to_pylist()))
    parts.append(f'[columns.salary-class]\nrole = "sensitive"\nmissing = "error"\nvalues = {_toml(salaries)}\n')
    for party, columns in (("gym", GYM), ("bank", (*BANK, "salary-class"))):
        parts.append(f"[parties.{party}]\ncolumns = {_toml(columns)}\n")
    return "".join(parts) + '[parties.researcher]\nrole = "recipient"\n'


def _toml(values: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _made_up(seed: int) -> pa.Table:
    stream = Rng(_secret(seed)).stream("made up")
    age = 17 + stream.words_below(37, _MADE_UP) + stream.words_below(37, _MADE_UP)
    cells = {"age": [str(number) for number in age.tolist()]}
    for place, name in enumerate((*GYM[1:], *BANK, "salary-class")):
        values = 2 if name in ("sex", "salary-class") else 5 + 2 * place
        drawn = np.minimum(stream.words_below(values, _MADE_UP), stream.words_below(values, _MADE_UP))
        cells[name] = [f"{name} {number}" for number in drawn.tolist()]
    return pa.table(cells)


def _secret(number: int) -> Secret:
    return Secret(number.to_bytes(SECRET_BYTES, "big"))


def _users(setting: Setting, world: World, number: int, extra_first: int, extra_second: int) -> Users:
    """One run's users: the common ones, and those that only one provider has."""
    seed = derive(_secret(setting.seed), "run", number)
    order = Rng(seed).stream("users").permutation(world.size)
    has = {
        "gym": order[: COMMON + extra_first],
        "bank": np.concatenate([order[:COMMON], order[COMMON + extra_first :][:extra_second]]),
    }
    params = Parameters.of(world.study)
    owns = {}
    for name, rows in has.items():
        columns = world.study.held_by(name)
        hand = world.table.take(pa.array(np.sort(rows))).select([column.name for column in columns])
        owns[name] = OwnUsers.of(params, build(read(hand.to_batches(), columns, name), world.study), derive(seed, name))
    return Users(world, params, owns[params.first], owns[params.second])


def _extras(quick: bool, world: World) -> tuple[int, ...]:
    return (600, 2400) if quick else (600, 1200, 2400, _most(world))


def _most(world: World) -> int:
    """As many more users at each provider as the paper takes, or as there are."""
    return min(12_000, (world.size - COMMON) // 2)


# -- what was found


def _grid(title: str, found: Found, x: str = "delta") -> Grid:
    names = list(dict.fromkeys(name for means in found.values() for name in means))
    rows: list[tuple[Cell, ...]] = [
        (point, *(round(means[name]) if name in means else None for name in names)) for point, means in found.items()
    ]
    return Grid(title, (x, *names), tuple(rows))


def _plot(title: str, found: Found, x: str = "delta") -> Plot:
    names = dict.fromkeys(name for means in found.values() for name in means)
    curves = (
        Curve(name, tuple((point, means[name]) for point, means in sorted(found.items()) if name in means))
        for name in names
    )
    return Plot(title, x, "DM", tuple(curves), log_y=True)


def _claims(
    by_delta: dict[int, Found], by_alpha: dict[tuple[int, float], Found], one: Found, many: float
) -> tuple[Claim, ...]:
    paper, ours, trusted = ("dummy users, the paper's score", "as by default", "extended Mondrian, trusted")
    points = [(extra, delta, means) for extra, found in by_delta.items() for delta, means in found.items() if means]
    better = sum(means[paper] < means[trusted] for *_, means in points)
    beats = sum(means[ours] < means[paper] for *_, means in points)
    few, lots = (by_alpha[point] for point in by_alpha)
    best = {
        name: min(found, key=lambda alpha, found=found: found[alpha][_PAPER])  # type: ignore[misc]
        for name, found in (("few", few), ("many", lots))
        if all(_PAPER in means for means in found.values())
    }
    near = [delta for delta, means in one.items() if means and means[paper] <= 1.25 * means["like MPALM, trusted"]]
    return (
        Claim(
            "section 6.1, figure 4",
            "dummy users with the paper's score lose less than Mondrian extended by the same tests",
            f"at {better} of {len(points)} points",
            "yes" if better == len(points) else "in part" if better else "no",
        ),
        Claim(
            "section 6.1, figure 4",
            "DM can be given for delta down to 0.5 with 600 more users at each provider",
            "two thirds of a provider's users are common then: below delta = 0.667 nothing may be released at all",
            "no",
        ),
        Claim(
            "section 6.1",
            "with 12,000 more users at each provider DM stays low even at delta = 0.3",
            f"DM {many:,.0f} (the lowest above is {min(min(m.values()) for *_, m in points):,.0f})",
            "yes" if many < 30_000 else "no",
        ),
        Claim(
            "section 6.1, figure 5",
            "few extra users want a small alpha, many a large one",
            "the best alpha with the paper's score is "
            + ", ".join(f"{alpha:g} with {name} extra users" for name, alpha in best.items()),
            "yes" if best.get("few", 1) < best.get("many", 0) else "no",
        ),
        Claim(
            "section 6.2, figure 6",
            "for delta of 0.7 and more the protocol does as well as a centralized algorithm that may try again",
            f"within a quarter of it at delta = {', '.join(f'{delta:g}' for delta in near) or 'none'}",
            "yes" if near and min(near) <= 0.75 else "no",
        ),
        Claim(
            "section 6.2, figure 6",
            "the comparison with the centralized algorithm keeps delta-max-site-presence",
            "without users of its own alone, all of a provider's users are common, a share of 1: the figure can be "
            "drawn only with the test toward that provider left out, as is done here",
            "no",
        ),
        Claim(
            "note on section 5.2",
            "quantile candidates and a weighted score lose less than the paper's score",
            f"at {beats} of {len(points)} points",
            "yes" if beats == len(points) else "in part" if beats else "no",
        ),
    )


_PAPER = "the paper's score"

EXPERIMENT = Experiment(
    name="federate",
    about="two providers with different users: what dummy users cost, by delta, alpha and the number of users",
    source="Takenouchi, Kawamura & Ohsuga, Distributed Data Federation without Disclosure of User Existence, section 6",
    run=run,
)
