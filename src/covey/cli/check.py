"""`covey check`: checks whether data fits the study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Data, Encoding, Json, StudyFile, encoded
from covey.cli.output import console, print_json, table, verdict
from covey.errors import InputError, Unmet
from covey.plain import plural

if TYPE_CHECKING:
    from covey.fitness import Fitness
    from covey.study import Study

_SHOWN = 20
_SEPARATING_SHOWN = 3


def check(
    study: StudyFile,
    data: Data,
    party: Annotated[str | None, typer.Option("--as", metavar="PARTY", help="The party that holds this data.")] = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Checks data against the study: schema, values missing from a hierarchy, columns that identify, local risk.

    Example: covey check study.toml --as north --data north.csv
    """
    from covey.party.session.data import check_data
    from covey.study import Study

    agreed = Study.load(study)
    fitness = check_data(agreed, encoded(data, encoding), party)
    told: list[str] = []
    if fitness.fit and party is not None and agreed.protocol is not None:
        fitness = replace(fitness, problem=_refused(agreed, party, encoded(data, encoding), told.append))
    if agreed.protocol in (None, "peel"):
        told += probed(agreed, fitness.rows if fitness.risk is None else fitness.risk.tuples)
    fitness = replace(fitness, notes=(*fitness.notes, *told))
    if as_json:
        print_json({"fit": fitness.fit, **asdict(fitness)})
    else:
        _render(fitness, agreed.privacy.k)
    if not fitness.fit:
        named = [fitness.problem] if fitness.problem else []
        named += [f"column {column.name!r}: {column.problem}" for column in fitness.columns if column.problem]
        raise Unmet(f"{fitness.source} is not fit for the study: {'; '.join(named)}")


def _refused(study: Study, party: str, data: str, notice: Callable[[str], None]) -> str | None:
    """The reason why a run would refuse the data before it begins, if it would; where it is counted is told."""
    from covey.party.session.data import load_table

    try:
        load_table(study, party, data, notice=notice)
    except (InputError, Unmet) as error:
        return str(error)
    return None


def probed(study: Study, tuples: int) -> Iterator[str]:
    """Says before a run on so many different tuples that `peel` will not visit every generalization."""
    from covey.anonymizers.peel.lattice import is_small

    if not study.quasi or not all(column.closed for column in study.quasi):
        return
    nodes = math.prod(column.tree().levels for column in study.quasi)
    if not is_small(nodes, tuples):
        yield (
            f"the quasi columns have {nodes:,} generalizations, too many to visit all: peel visits those that probes "
            "find, which may lose some percent more; fewer quasi columns or fewer levels would let all be visited, and "
            "covey anonymize --effort thorough looks for more"
        )


def _render(fitness: Fitness, k: int) -> None:
    shown = console()
    numbers = ("values", "missing", "unknown")
    rows = [
        (column.name, column.role, f"{column.distinct:,}", f"{column.missing:,}", f"{len(column.unknown):,}",
         verdict(not column.problem))
        for column in fitness.columns
    ]  # fmt: skip
    shown.print(f"{fitness.source}: {plural(fitness.rows, 'row')}", markup=False)
    shown.print(table(("column", "role", *numbers, ""), rows, right=numbers))
    if fitness.problem:
        shown.print(f"\n{fitness.problem}", markup=False, style="red")
    for column in fitness.columns:
        if column.problem:
            shown.print(f"\n{column.name}: {column.problem}", markup=False, style="red")
            for value, found in list(column.unknown.items())[:_SHOWN]:
                shown.print(f"  {value!r} in {plural(found, 'row')}", markup=False)
            if len(column.unknown) > _SHOWN:
                shown.print(f"  and {len(column.unknown) - _SHOWN:,} more; --json lists them all")
    if fitness.dropped:
        dropped = plural(fitness.dropped, "row is", "rows are")
        shown.print(f'\n{dropped} dropped: a column with missing = "drop" has no value there')
    if fitness.risk is not None:
        risk, unique = fitness.risk, plural(fitness.risk.unique, "record is", "records are")
        shown.print(
            f"\nbefore anonymization {unique} unique in the quasi columns and {risk.below_k:,} "
            f"share these with fewer than {k}; the most exposed one is singled out with probability {risk.highest:.2g}"
        )
    if fitness.separating:
        rows_ = [
            (" and ".join(each.columns), f"{each.distinctness:.1%}", f"{each.separation:.2%}")
            for each in fitness.separating[:_SEPARATING_SHOWN]
        ]
        headings = ("columns that tell records apart", "distinct", "pairs told apart")
        shown.print()
        shown.print(table(headings, rows_, right=headings[1:]))
    if fitness.ignored:
        shown.print(f"\nnot in the study, never read: {', '.join(fitness.ignored)}", markup=False)
    for note in fitness.notes:
        shown.print(f"\nnote: {note}", markup=False)
    shown.print("\nfit for the study" if fitness.fit else "\nnot fit for the study", style="bold")
