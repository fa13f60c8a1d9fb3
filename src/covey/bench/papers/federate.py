"""The experiment of `federate`: the paper's section 6 in form, and the protocol beside what a trusted party could do.

The division is computed in the clear: it is what the parties compute, class for class (tests hold them to that), and a
thousand runs of it take minutes instead of days. Users are drawn anew in each run; the paper takes them from the top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from covey.arrays import Longs
from covey.bench.dataset import Dataset, PartitionedStudy, identifiers, load, read_text
from covey.bench.findings import Cell, Claim, Experiment, Findings, Plot, ResultTable, Setting, curves
from covey.bench.papers.census import SENSITIVE
from covey.bench.papers.mondrian_with_presence import Population, extended_mondrian, mpalm
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.measures import discernibility
from covey.protocols.as_printed.federate.groups import exceeds
from covey.protocols.as_printed.federate.ideal import Owns, Test, counts, divide
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.study.document import Document
from covey.table import Table

GYM, BANK = ("age", "sex", "race", "marital-status"), ("education", "native-country", "workclass", "occupation")
COMMON = 1200
DELTAS = (0.95, 0.85, 0.75, 0.65, 0.6, 0.55, 0.5, 0.4, 0.3)
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_MADE_UP = 20_000
_FIGURE_5 = ((600, 0.75), (3600, 0.3))
PAPER, OURS = "dummy users, the paper's score", "as by default"
TRUSTED, RETRYING = "extended Mondrian, trusted", "like MPALM, trusted"
_PAPERS_SCORE = "the paper's score"


@dataclass(frozen=True)
class World:
    """A population with everybody's true values, and a study over it."""

    ready: PartitionedStudy
    """The study, and the tables of providers that serve everybody."""
    known: Table
    """Everybody's rows, in the population's order."""
    about: str

    @property
    def size(self) -> int:
        """The number of people."""
        return self.known.rows

    @property
    def most(self) -> int:
        """As many more users at each provider as the paper takes, or as there are."""
        return min(12_000, (self.size - COMMON) // 2)


@dataclass(frozen=True)
class Users:
    """The users of both providers in one run."""

    world: World
    params: Parameters
    first: OwnUsers
    second: OwnUsers


Method = Callable[[Users], float]


def run(setting: Setting) -> Findings:
    """Measures the points of all figures; in quick mode fewer points, each the mean of four runs instead of twenty."""
    world = _world(setting)
    runs = 4 if setting.quick else 20
    deltas = (0.95, 0.75, 0.6) if setting.quick else DELTAS
    alphas = (0.0, 0.5, 1.0) if setting.quick else ALPHAS
    extras = (600, 2400) if setting.quick else (600, 1200, 2400, world.most)

    def users(first: int, second: int) -> list[Users]:
        return [_users(setting, world, number, first, second) for number in range(runs)]

    setting.tell("federate: DM by delta (figure 4)")
    by_delta = {extra: _by_delta(users(extra, extra), deltas, _METHODS) for extra in extras}
    setting.tell("federate: DM by alpha (figure 5)")
    by_alpha = {(extra, delta): _by_alpha(users(extra, extra), delta, alphas) for extra, delta in _FIGURE_5}
    setting.tell("federate: beside a centralized algorithm (figure 6)")
    one_sided = _by_delta(users(1200, 0), deltas, _ONE_SIDED)
    both_sides = _by_delta(users(1200, 0)[:1], deltas, {OURS: _METHODS[OURS]})
    many = _by_delta(users(world.most, world.most), (0.3,), {OURS: _METHODS[OURS]})
    shown = [
        *((f"Figure 4: {extra:,} more users at each provider", "delta", found) for extra, found in by_delta.items()),
        *(
            (f"Figure 5: {extra:,} more users at each, delta = {delta:g}", "alpha", found)
            for (extra, delta), found in by_alpha.items()
        ),
        ("Figure 6: beside a centralized algorithm, 1,200 more users at one provider alone", "delta", one_sided),
    ]
    return Findings(
        tables=tuple(_table(title, x, found) for title, x, found in shown),
        plots=tuple(
            Plot(
                title, x, "DM",
                curves((name, point, mean) for point, means in found.items() for name, mean in means.items()),
                log_y=True,
            )
            for title, x, found in shown
        ),
        claims=_claims(by_delta, by_alpha, one_sided, both_sides, many[0.3][OURS]),
        notes=(
            f"{world.about}; {COMMON:,} common users, k = 2, the mean of {runs} runs; quasi columns {', '.join(GYM)} "
            f"and {', '.join(BANK)}.",
            "DM: each common user costs the size of its class. Where delta is below the share of common users among a "
            "provider's, nothing can be released: the point is missing, where the paper plots one.",
        ),
    )  # fmt: skip


# -- the methods


def _keeps_one_side(params: Parameters, owns: Owns, groups: list[Longs]) -> bool:
    """Tests k, and delta toward the first provider alone: all users of the second are common, so none can be hidden."""
    first, second = owns
    has = [(int(first.member[group].sum()), int((first.member & second.member)[group].sum())) for group in groups]
    return all(common >= params.k and not exceeds(params, common, users) for users, common in has)


def _divided(test: Test | None = None, **changes: object) -> Method:
    """The method of the protocol with these parameters."""

    def dm(users: Users) -> float:
        params = replace(users.params, **changes)  # type: ignore[arg-type]
        owns = [replace(own, params=params) for own in (users.first, users.second)]
        leaves = divide(params, owns, test).leaves
        return float(discernibility(counts(params, owns, leaves).sum(axis=1)))

    return dm


def _central(search: Callable[[Population, int, Fraction], list[Longs]], both: bool) -> Method:
    """The method of a trusted party that knows everybody's true values and each provider's users."""

    def dm(users: Users) -> float:
        a, b = users.first.member, users.second.member
        delta = users.params.delta
        known = users.world.known
        places = [axis.place for axis in (*users.first.axes, *users.second.axes)]
        everyone = Population(known.codes, places, (a, b) if both else (a,), a & b)
        groups = search(everyone, users.params.k, Fraction(1) if delta is None else delta)
        return float(discernibility(np.array([int((a & b)[group].sum()) for group in groups])))

    return dm


_METHODS: dict[str, Method] = {
    PAPER: _divided(alpha=0.5, weighted=False, candidates=0),
    "dummy users, weighted score": _divided(alpha=0.5, weighted=True, candidates=0),
    OURS: _divided(),
    TRUSTED: _central(extended_mondrian, both=True),
}
_ONE_SIDED: dict[str, Method] = {
    PAPER: _divided(_keeps_one_side, alpha=0.5, weighted=False, candidates=0),
    OURS: _divided(_keeps_one_side),
    RETRYING: _central(mpalm, both=False),
}

Means = dict[float, dict[str, float]]
"""By the point on the x axis, the mean DM of each method; missing where nothing can be released."""


def _by_delta(worlds: Sequence[Users], deltas: Sequence[float], methods: dict[str, Method]) -> Means:
    return {delta: _means(methods, _with_delta(worlds, delta)) for delta in deltas}


def _by_alpha(worlds: Sequence[Users], delta: float, alphas: Sequence[float]) -> Means:
    return {
        alpha: _means(
            {
                _PAPERS_SCORE: _divided(alpha=alpha, weighted=False, candidates=0),
                "weighted score": _divided(alpha=alpha, weighted=True, candidates=0),
                "weighted score, 8 candidates": _divided(alpha=alpha, weighted=True, candidates=8),
            },
            _with_delta(worlds, delta),
        )
        for alpha in alphas
    }


def _with_delta(worlds: Sequence[Users], delta: float) -> list[Users]:
    return [replace(users, params=replace(users.params, delta=Fraction(repr(delta)))) for users in worlds]


def _means(methods: dict[str, Method], worlds: Sequence[Users]) -> dict[str, float]:
    found = {name: _mean(method, worlds) for name, method in methods.items()}
    return {name: mean for name, mean in found.items() if mean is not None}


def _mean(method: Method, worlds: Sequence[Users]) -> float | None:
    try:
        return float(np.mean([method(users) for users in worlds]))
    except Unmet:
        return None


# -- the data


def _world(setting: Setting) -> World:
    """Builds the population: Adult, or a made-up table of the same columns."""
    if setting.adult is None:
        table, about = _made_up(setting.seed), f"A made-up table of {_MADE_UP:,} people: Adult is not at hand"
    else:
        table = read_text(setting.adult / "adult.csv", [*GYM, *BANK, SENSITIVE])
        about = f"Adult, {table.num_rows:,} people"
    values = {name: sorted(set(table.column(name).to_pylist())) for name in table.column_names}
    columns: Document = {
        name: {"role": "quasi", "missing": "error", "hierarchy": "flat", "values": list(values[name])}
        for name in (*GYM, *BANK)
    }
    ages = [int(age) for age in values["age"]]
    bands: Document = {"min": min(ages), "max": max(ages), "steps": [10]}
    columns["age"] = {"role": "quasi", "missing": "error", "hierarchy": bands}
    columns[SENSITIVE] = {"role": "sensitive", "missing": "error", "values": list(values[SENSITIVE])}
    data = Dataset("figures", columns, {}, table)
    ready = data.split_columns(
        "federate", 2, {"gym": GYM, "bank": (*BANK, SENSITIVE)}, parties={"researcher": {"role": "recipient"}},
        options={"population": "population.csv"},
        files={"population.csv": "\n".join(identifiers(table.num_rows)).encode()},
    )  # fmt: skip
    return World(ready, data.whole(2), about)


def _made_up(seed: int) -> pa.Table:
    stream = Rng(_secret(seed)).stream("made up")
    age = 17 + stream.words_below(37, _MADE_UP) + stream.words_below(37, _MADE_UP)
    cells = {"age": [str(number) for number in age.tolist()]}
    for place, name in enumerate((*GYM[1:], *BANK, SENSITIVE)):
        values = 2 if name in ("sex", SENSITIVE) else 5 + 2 * place
        drawn = np.minimum(stream.words_below(values, _MADE_UP), stream.words_below(values, _MADE_UP))
        cells[name] = [f"{name} {number}" for number in drawn.tolist()]
    return pa.table(cells)


def _secret(number: int) -> Secret:
    return Secret(number.to_bytes(SECRET_BYTES, "big"))


def _users(setting: Setting, world: World, number: int, extra_first: int, extra_second: int) -> Users:
    """Draws one run's users: the common ones, and those that only one provider has."""
    seed = derive(_secret(setting.seed), "run", number)
    order = Rng(seed).stream("users").permutation(world.size)
    served = {
        "gym": order[: COMMON + extra_first],
        "bank": np.concatenate([order[:COMMON], order[COMMON + extra_first :][:extra_second]]),
    }
    study, everyone = world.ready.study, world.ready.data
    tables = load(study, {name: everyone[name].take(pa.array(np.sort(rows))) for name, rows in served.items()})
    params = Parameters.of(study)
    owns = {name: OwnUsers.of(params, table, derive(seed, name)) for name, table in tables.items()}
    return Users(world, params, owns[params.first], owns[params.second])


# -- what was found


def _table(title: str, x: str, found: Means) -> ResultTable:
    names = list(dict.fromkeys(name for means in found.values() for name in means))
    rows: list[tuple[Cell, ...]] = [
        (point, *(round(means[name]) if name in means else None for name in names)) for point, means in found.items()
    ]
    return ResultTable(f"DM. {title}", (x, *names), tuple(rows))


def _claims(
    by_delta: dict[int, Means], by_alpha: dict[tuple[int, float], Means], one: Means, both: Means, many: float
) -> tuple[Claim, ...]:
    points = [means for found in by_delta.values() for means in found.values() if means]
    better = sum(means[PAPER] < means[TRUSTED] for means in points)
    beats = sum(means[OURS] < means[PAPER] for means in points)
    best = {
        name: min(found, key=lambda alpha, found=found: found[alpha][_PAPERS_SCORE])  # type: ignore[misc]
        for name, found in zip(("few", "many"), by_alpha.values(), strict=True)
        if all(_PAPERS_SCORE in means for means in found.values())
    }
    few = {alpha: means.get(_PAPERS_SCORE, 0.0) for alpha, means in next(iter(by_alpha.values())).items()}
    matters = few[best["many"]] / few[best["few"]] if len(best) == 2 else 1.0
    released = [delta for delta, means in by_delta[600].items() if means]
    kept = [delta for delta, means in both.items() if means]
    near = [delta for delta, means in one.items() if means and means[PAPER] <= 1.25 * means[RETRYING]]
    return (
        Claim.counted(
            "section 6.1, figure 4",
            "dummy users with the paper's score lose less than Mondrian extended by the same tests",
            better, len(points), f"at {better} of {len(points)} points", slack=0.25,
        ),
        Claim(
            "section 6.1, figure 4",
            "DM can be given for delta down to 0.5 with 600 more users at each provider",
            f"the smallest delta tried at which anything may be released is {min(released, default=1):g}: of a "
            f"provider's users {COMMON / (COMMON + 600):.1%} are common, and no division makes every share less",
            "yes" if min(released, default=1) <= 0.5 else "no",
        ),
        Claim(
            "section 6.1",
            "with 12,000 more users at each provider DM stays low even at delta = 0.3",
            f"DM {many:,.0f} (the lowest above is {min(min(means.values()) for means in points):,.0f})",
            "yes" if many < 30_000 else "no",
        ),
        Claim(
            "section 6.1, figure 5",
            "few extra users want a small alpha, many a large one",
            "the best alpha with the paper's score is "
            + ", ".join(f"{alpha:g} with {name} extra users" for name, alpha in best.items())
            + f"; with few, DM at the alpha that suits many is {matters:.2f} times as much",
            "yes" if best.get("few", 1) < best.get("many", 0) and matters > 1.25 else "no",
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
            f"with the test toward both providers, something may be released at {len(kept)} of {len(both)} values of "
            "delta: all users of one provider are common, a share of 1; so the figure leaves that test out",
            "yes" if len(kept) == len(both) else "in part" if kept else "no",
        ),
        Claim.counted(
            "note on section 5.2", "quantile candidates and a weighted score lose less than the paper's score",
            beats, len(points), f"at {beats} of {len(points)} points", slack=0.25,
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    about="two providers with different users: what dummy users cost, by delta, alpha and the number of users",
    source="Takenouchi, Kawamura & Ohsuga, Distributed Data Federation without Disclosure of User Existence, section 6",
    run=run,
)
