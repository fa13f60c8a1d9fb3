"""The declaration of `cluster` where it covers both: rows split, and columns split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from covey.protocols import cluster_columns as columns
from covey.protocols.cluster_columns import leaks
from covey.protocols.protocol import Forecast, Protocol, Result, Role
from covey.secure.declare import Leakage
from covey.study import Study
from covey.table import Table


def with_columns(rows: Protocol) -> Protocol:
    """The protocol for rows split, which also runs studies whose columns are."""

    def role(study: Study, party: str) -> Role:
        return (columns.role if split(study) else rows.role)(study, party)

    def role_name(study: Study, party: str) -> str:
        return (columns.role_name if split(study) else rows.role_name)(study, party)

    def foresee(study: Study, sizes: Mapping[str, int]) -> Forecast:
        return (columns.foresee if split(study) else rows.foresee)(study, sizes)

    def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
        return (columns.ideal if split(study) else rows.ideal)(study, tables)

    def judge(study: Study) -> None:
        (columns.judge if split(study) else rows.judge)(study)

    return replace(
        rows,
        about="one k-anonymous, l-diverse table from rows, or columns, that sit with any number of parties, by local "
        "recoding",
        partitions=("horizontal", "vertical"),
        source=f"{rows.source}; Algorithm 4 for columns",
        needs=f"{rows.needs}; or two or more with columns of the same people, and at best an evaluator without data",
        guarantees=f"{rows.guarantees}; columns split: k and l by frequency; finer than generalize on the same split, "
        "which needs no evaluator and shows no party who is alike",
        options={
            **rows.options,
            "schedule": f"{rows.options['schedule']}; columns split: guarded divides the table into blocks first "
            "(default), exact is the paper's algorithm on the whole table",
        },
        phases=("alignment", *(name for name in rows.phases if name != "release"), "merging", "release"),
        leakage=Leakage(roles={"each holder of rows": rows.leakage.everyone, **leaks.in_short()}),
        role=role,
        role_name=role_name,
        foresee=foresee,
        ideal=ideal,
        judge=judge,
    )


def split(study: Study) -> bool:
    """Whether the study's columns are split, not its rows."""
    return study.partition == "vertical"
