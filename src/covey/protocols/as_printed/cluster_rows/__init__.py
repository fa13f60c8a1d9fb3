"""Cluster: parties with rows of one table publish it k-anonymously by local recoding; nobody sees another's record.

Source    Tassa & Gudes, Algorithm 3 and sections 4, 6.2 and 8. Ours: sensitive values are kept apart by merging at the
          end (`diversity`), where section 6.1 opens their counts after every turn.
Roles     every party alike, a holder of rows; three or more for the printed ring.
Calls     ring  (default) the paper's rings, one search for each removal, in sweeps of all records, or of random parts:
                for tables of a few hundred rows.
          turn  (ours) the same labels with one exchange a turn: it opens closures of the others' records, of a single
                one at times. The ledger counts them.
Security  semi-honest. In a ring nobody may collude. With one exchange a turn, sums are safe against m - 2 colluders,
          everything else against (m - 1) // 2. Between two parties each total gives the other's part away.
Not       sizes and closures of all clusters are opened after each turn, also of one record. A party that lies changes
          the outcome unnoticed. k holds toward readers of the release; toward a party that knows its own rows it is
          the k that the ledger states.
"""

from __future__ import annotations

from covey.protocols.as_printed.cluster_rows import cost, ideal, leakage, role
from covey.protocols.as_printed.cluster_rows.parameters import REQUIREMENTS, Parameters
from covey.protocols.printed import Printed, Repair
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.protocols.shared import rows
from covey.protocols.shared.script import recorded

PRINTED = Printed(
    opens="to every party the sizes and labels of all classes after each turn, also of classes with few "
    "records, or one, and to the party whose turn it is the labels of the other records in a class, at "
    "times of a single one",
    repairs=(
        Repair(
            "vectors of ceil(log m) bits an entry, and one hash key for all (section 7.1)",
            "residues modulo m + 1 for each entry (Algorithm 2), and a key for each place",
            "both attacks can be carried out",
        ),
        Repair(
            "l is reset where it cannot be reached",
            "the run ends",
            "the officers approved l",
        ),
        Repair(
            "counts are compared with 1/l (section 8.2.2)",
            "with the size of the cluster over l",
            "a misprint",
        ),
        Repair(
            "a sweep of 8.2.3 stops when h sums to n",
            "it stops when n different records were visited",
            "one record would be visited twice and another never",
        ),
    ),
)
PROTOCOL = Protocol(
    name="cluster",
    version=3,
    about="one k-anonymous, l-diverse table from rows that sit with any number of parties, by local recoding",
    source="Tassa & Gudes, Secure Distributed Computation of Anonymized Views of Shared Databases, Algorithm 3",
    requirements=REQUIREMENTS,
    needs='three or more parties with rows, two with calls = "turn"; hierarchies that list their whole domains',
    guarantees="k, l by frequency and site_l of the release",
    released_to="every party",
    phases=("sizes", "division", "moves", "repair", "release"),
    printed=PRINTED,
    leakage=leakage.PAPER,
    roles={"holder": role.holder},
    foresee=cost.foresee,
    rehearse=cost.foresee,
    accepts=rows.accepts,
    memory=Memory(300 * 10**6, 7_000),
    # a ring takes minutes for a few hundred rows
    demonstration=Demonstration(changes={"protocol": {"calls": "turn"}}),
    ideal=ideal.ideal,
    judge=Parameters.of,
    counts_suffice=True,
    moves_records=True,
    script=recorded(__name__),
)
