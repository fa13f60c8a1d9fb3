"""Cluster with columns split: holders of different columns of the same people publish one table by local recoding.

Source    Tassa & Gudes, Algorithm 4 and section 6.1, in fewer rounds: many records are priced at once (`algorithm`).
Roles     holders of columns, two or more. One of them is the pivot: the holder of the sensitive columns where the
          study asks for l, else the first that the study names.
Security  semi-honest. The pivot opens sums of prices, as in the paper. From these it can tell which people share the
          others' values: the ledger says so, and `covey bench` carries the attack out. Where l is kept, the pivot deals
          out clusters by sensitive values, with draws that it keeps secret.
Not       all holders know at any time which records are in one cluster: the algorithm decides on that. Each holder
          learns the others' values of its own people, at the generalized level of the release. k holds toward readers
          of the release. A party that lies changes the outcome unnoticed.
"""

from __future__ import annotations

from covey.protocols.as_printed.cluster_columns import cost, ideal, leakage, role
from covey.protocols.as_printed.cluster_columns.parameters import REQUIREMENTS, require_runnable, role_name
from covey.protocols.printed import Printed, Repair
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.secure.declare import Leakage

PRINTED = Printed(
    opens="to every holder at all times which records stand in one class, and to one of them sums of prices, "
    "from which it can tell which people share the values of others",
    repairs=(
        Repair(
            "an equal share of each label (theorem 4.1)",
            "the shares of a label are those of the whole table",
            "theorem 4.1 is false as printed",
        ),
    ),
)
PROTOCOL = Protocol(
    name="cluster",
    version=4,
    about="one k-anonymous, l-diverse table from columns that sit with any number of parties, by local recoding",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 4",
    requirements=REQUIREMENTS,
    needs="two or more parties with columns of the same people; hierarchies that list their whole domains",
    guarantees="k and l by frequency; finer than generalize on the same split, which shows no party who is alike",
    released_to="every party",
    phases=("alignment", "moves", "merging", "release"),
    printed=PRINTED,
    leakage=Leakage(roles=leakage.in_short()),
    roles={"holder": role.holder, "pivot": role.holder},
    plays=role_name,
    foresee=cost.foresee,
    rehearse=cost.foresee,
    ideal=ideal.ideal,
    judge=require_runnable,
    memory=Memory(300 * 10**6, 7_000),
    demonstration=Demonstration(sample="clinic-billing"),
)
