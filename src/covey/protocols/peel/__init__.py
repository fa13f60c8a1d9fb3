"""Peel, sealed: the rows of several holders become the release of a trusted party, computed on shares by three parties.

Source    ours (docs/architecture.md); the shares are those of Araki and others (CCS 2016), see `covey.mpc.sealed`.
Roles     three parties compute: helpers, who have no rows, and holders of rows. Other holders are outside: they share
          their rows, vote and read. A recipient has no rows and is the only one that gets the release.
Security  semi-honest; one of the three may be curious, any two together read every row. Opened are the number of
          records, how many leave at each window, the classes and, after approval, the cells; nothing else.
Not       a computing party that cheats is not caught. Two runs on changed data can be subtracted from each other.
"""

from __future__ import annotations

from covey.protocols.peel.parameters import REQUIREMENTS, accepts, run_of
from covey.protocols.peel.parties import receives, role_of
from covey.protocols.peel.role import LEAKAGE, computing, foresee, ideal, outside, rehearse
from covey.protocols.protocol import Memory, Protocol

__all__ = ["PROTOCOL", "computing", "ideal"]

PROTOCOL = Protocol(
    name="peel",
    version=4,
    about="rows of any number of holders, computed on shares by three parties: nothing is opened but the release",
    source="ours: lattice peeling on replicated shares",
    requirements=REQUIREMENTS,
    needs="three holders of rows or more, or two and a helper without data; hierarchies that list their domains",
    guarantees="k, l by frequency or distinct values, k_insider, l_insider, most_of_a_class; nothing is opened but the "
    "release, of which the parties approve classes and sizes before any cell",
    released_to="every holder, or the recipient",
    phases=("rows", "windows", "release"),
    leakage=LEAKAGE,
    roles={"holder": computing, "helper": computing, "outside": outside, "recipient": outside},
    plays=role_of,
    foresee=foresee,
    rehearse=rehearse,
    ideal=ideal,
    judge=run_of,
    accepts=accepts,
    receives=receives,
    memory=Memory(420 * 10**6, 5_000),
)
