"""Cluster: parties with rows of one table publish it k-anonymously by local recoding; nobody sees another's record.

Source    Tassa & Gudes, Algorithm 3 and sections 4, 6 and 8, in fewer rounds. The default start and its moves are ours
          (`divide`, `regroup`, `guarded`); where we depart from the paper, the module concerned says so.
Roles     every party alike, a holder of rows, two or more.
Schedules guarded  (default) every cluster has k records or more at any time: the table is divided along the
                   hierarchies by thresholded joint counts, then single records move. Nothing is opened of fewer.
          strict   the division alone, by nested counts: nothing of fewer than k can be computed from them either.
          exact    the paper's algorithm, label for label, one exchange per turn: it opens closures of the others'
                   records, of a single one at times. The ledger counts them.
          paper    the paper's rings, one search per removal, in randomised sweeps: to compare with, on small tables.
Security  semi-honest. Sums are safe against m - 2 colluders, everything else against (m - 1) // 2. Between two
          parties each total gives the other's part away: the ledger says so.
Not       every opened number is of k records or more, but numbers of overlapping groups can be subtracted, and a
          cluster's change in a turn tells something of the records that moved. A party that lies changes the outcome
          unnoticed. k holds toward readers of the release: toward a party that knows its own rows it is the k that
          the ledger states, at least `k_insider` where the study asks for it.
"""

from __future__ import annotations

from covey.protocols.cluster_rows import cost, ideal, leakage, role
from covey.protocols.cluster_rows.parameters import REQUIREMENTS, Parameters
from covey.protocols.protocol import Memory, Protocol
from covey.protocols.shared import rows
from covey.protocols.shared.script import recorded

PROTOCOL = Protocol(
    name="cluster",
    version=2,
    about="one k-anonymous, l-diverse table from rows that sit with any number of parties, by local recoding",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 3",
    requirements=REQUIREMENTS,
    needs="two or more parties, each with rows; hierarchies that list their whole domains",
    guarantees="k, l by frequency, t by equal distance, k_insider and site_l; nobody sees a record of another, nor a "
    "count or closure of fewer than k records",
    released_to="every party",
    phases=("sizes", "division", "regrouping", "moves", "repair", "release"),
    leakage=leakage.GUARDED,
    roles={"holder": role.holder},
    foresee=cost.foresee,
    rehearse=cost.foresee,
    accepts=rows.accepts,
    memory=Memory(300 * 10**6, 7_000),
    ideal=ideal.ideal,
    judge=Parameters.of,
    counts_suffice=True,
    moves_records=True,
    script=recorded(__name__),
)
