"""Cluster with columns split: holders of different columns of the same people publish one table by local recoding.

Source    Tassa & Gudes, Algorithm 4 and section 6.1, in a hundredth of its rounds (`algorithm`). The division into
          blocks, the batches and the evaluator are ours; where we depart from the paper, the module concerned says so.
Roles     holders of columns, two or more. One of them is the pivot: the holder of the sensitive columns where the
          study asks for l, else the first that the study names. Optionally an evaluator, a party without data.
Schedules guarded  (default) the table is divided along single columns first, into parts of k records or more, and
                   records move within blocks of a hundred times k.
          exact    the paper's random clusters over the whole table.
Security  semi-honest. Without an evaluator the pivot opens sums of prices, as in the paper. From these it can tell
          which people share the others' values: the ledger says so, and `covey bench` carries the attack out. With
          an evaluator, no party that knows people sees a price: the evaluator gets permuted, scaled and masked sums.
          The evaluator must not collude with a holder. Where l is kept, the pivot deals out clusters by sensitive
          values, with draws that it keeps secret.
Not       all holders know at any time which records are in one cluster: the algorithm decides on that. Each holder
          learns the others' values of its own people, at the generalized level of the release. k holds toward readers
          of the release. A party that lies changes the outcome unnoticed.
"""

from __future__ import annotations

from covey.protocols.cluster_columns import cost, ideal, leakage, role
from covey.protocols.cluster_columns.parameters import REQUIREMENTS, require_runnable, role_name
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.secure.declare import Leakage

PROTOCOL = Protocol(
    name="cluster",
    version=3,
    about="one k-anonymous, l-diverse table from columns that sit with any number of parties, by local recoding",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 4",
    requirements=REQUIREMENTS,
    needs="two or more parties with columns of the same people, and at best an evaluator without data; hierarchies "
    "that list their whole domains",
    guarantees="k and l by frequency; finer than generalize on the same split, which needs no evaluator and shows no "
    "party who is alike",
    released_to="every party",
    phases=("alignment", "division", "moves", "merging", "release"),
    leakage=Leakage(roles=leakage.in_short()),
    roles={"holder": role.holder, "pivot": role.holder, "evaluator": role.evaluator},
    plays=role_name,
    foresee=cost.foresee,
    rehearse=cost.foresee,
    ideal=ideal.ideal,
    judge=require_runnable,
    memory=Memory(300 * 10**6, 7_000),
    demonstration=Demonstration(sample="clinic-billing", changes={"parties": {"notary": {"role": "evaluator"}}}),
)
