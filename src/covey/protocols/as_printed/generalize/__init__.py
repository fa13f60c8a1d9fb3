"""Generalize: two parties with columns of the same people publish them together, generalized until they fit.

Source    Jiang & Clifton, Privacy-Preserving Distributed k-Anonymity (DPP2GA), Algorithm 2. Ours: alignment, the proof
          of termination (`rounds`), the join, and the variants that it names as future work.
Roles     two owners of columns: the observer (the first that the study names) and the partner; optionally a recipient,
          who alone gets the release.
Security  semi-honest. Each party makes its own columns k-anonymous before it says anything of them. A list of people
          travels under keys of one round, and the party that encrypts it second puts it into a new order. So in every
          round a ciphertext is equally likely to be any person of a group of k or more. (The paper's theorems 4 and 5
          claim this. Their proofs fail where fewer than k people are left in a pair; the new order within each group
          makes the claim true.)
Not       counts of pairs of groups tell which of one's own people share a value of the other party that is finer than
          the published one. The paper's definition of security does not cover that; the ledger says it, and
          compare = "threshold" (ours) avoids it. A party's exact columns lead it to its own people's rows in the
          release; it counts them before the approval (`shared/columns/recognition`). A party that lies about its groups
          changes the outcome. A class below k is noticed when the release is open, and then nothing is written.
"""

from __future__ import annotations

from covey.protocols.as_printed.generalize import cost, ideal, leakage, role
from covey.protocols.as_printed.generalize.parameters import REQUIREMENTS, Parameters, receives, role_name
from covey.protocols.printed import Printed, Repair
from covey.protocols.protocol import Demonstration, Protocol
from covey.protocols.shared.script import recorded

PRINTED = Printed(
    opens="to both parties in every round how many people each pair of their groups shares, without names",
    repairs=(
        Repair(
            "encrypted lists have no order",
            "lists are laid out anew in each round, and rows are joined on blinded keys",
            "positions and ids would tell more than the counts",
        ),
    ),
)
PROTOCOL = Protocol(
    name="generalize",
    version=4,
    about="one k-anonymous table from columns that sit with two parties, generalized until they fit together",
    source="Jiang & Clifton, Privacy-Preserving Distributed k-Anonymity, DPP2GA",
    requirements=REQUIREMENTS,
    needs="two parties with columns of the same people and a key in common; hierarchies that list their whole domains",
    guarantees="k; each party sees the other's columns only as they are released, and nothing on the way that says who "
    "is in which of the other's groups",
    released_to="the recipient if the study names one, else both parties",
    phases=("alignment", "own columns", "rounds", "release"),
    printed=PRINTED,
    leakage=leakage.LEAKAGE,
    roles={"observer": role.owner, "partner": role.owner, "recipient": role.recipient},
    plays=role_name,
    receives=receives,
    foresee=cost.foresee,
    rehearse=cost.foresee,
    # the default leaves little to look at
    demonstration=Demonstration(
        sample="clinic-billing", changes={"protocol": {"local": "peel", "variant": "finished-cells"}}
    ),
    ideal=ideal.ideal,
    judge=Parameters.of,
    script=recorded(__name__),
)
