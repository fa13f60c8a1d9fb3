"""Peel: the rows of any number of parties become the release of a trusted party, without one.

Source    ours (docs/protocols/peel.md). A public list of generalizations is visited by increasing loss; tuples that k
          or more of the remaining records share are published as classes, and their records leave.
Roles     every party alike, a holder of rows; three or more by shares, two by oblivious transfer.
Security  semi-honest; up to (m - 1) // 2 of m parties may collude. Each party learns the release, and how many records
          have each value that k or more records have. Of each tested bucket of tuples it learns if k or more records
          are in it. With two parties, each also learns the other's part of every number, and the tuples of which the
          other has k records alone.
Not       a party that lies changes the classes: with each record that it plants it can learn one bit about a tuple.
          Two runs on changed data can be subtracted from each other. A majority that colludes sees the others' counts.
          A party with k - 1 records of a tuple that is not published learns that nobody else has one: that is so of any
          peeling.
"""

from __future__ import annotations

from covey.protocols.peel.cost import foresee
from covey.protocols.peel.ideal import ideal
from covey.protocols.peel.leakage import LEAKAGE
from covey.protocols.peel.parameters import REQUIREMENTS, Parameters
from covey.protocols.peel.records import accepts
from covey.protocols.peel.role import holder
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.protocols.shared.script import recorded

__all__ = ["PROTOCOL", "holder", "ideal"]


PROTOCOL = Protocol(
    name="peel",
    version=3,
    about="rows of any number of parties: the release that a trusted party would make of all rows, without one",
    source="ours: lattice peeling on shared counts",
    requirements=REQUIREMENTS,
    needs="two or more parties, each with rows (two: no site_l); hierarchies that list their domains",
    guarantees="k, l by frequency, distinct values or entropy, "
    "t by equal distance, k_insider, site_l for one column. Take peel "
    "for the lowest loss, whoever holds which rows; take cluster for site_l between two parties, for several "
    "columns that tell a site, or if records that no diverse class holds must not be withheld. In both fewer than half "
    "may collude. Exchanges on Adult: peel 240 to 5,100, by its mode; cluster about 1,000",
    released_to="every party",
    phases=("marginals", "list", "visits", "release"),
    leakage=LEAKAGE,
    roles={"holder": holder},
    foresee=foresee,
    rehearse=foresee,
    accepts=accepts,
    # fewer rounds: the demonstration is meant to be short
    memory=Memory(420 * 10**6, 5_000),
    demonstration=Demonstration(changes={"protocol": {"mode": "wave"}}),
    ideal=ideal,
    judge=Parameters.of,
    counts_suffice=True,
    script=recorded(__name__),
)
