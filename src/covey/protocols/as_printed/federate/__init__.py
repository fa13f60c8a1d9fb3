"""Federate: providers with different users and columns; a recipient gets the table of the users that all have.

Source    Takenouchi, Kawamura & Ohsuga, Distributed Data Federation without Disclosure of User Existence (the dummy
          user protocol). Ours: the root is tested too, membership bits are encrypted once instead of intersecting sets
          for each number, all groups of a level go at once, and the recipient alone sees the release's numbers. More
          than two providers compute on shares (`several`).
Roles     two providers or more, one of them possibly with exact (sensitive or plain) columns; the recipient.
Security  semi-honest, without collusion of the recipient with a provider. Each class has k or more common users, and
          of the users in a class that any providers have, all but one at most, at most delta are common: whoever reads
          the release, these providers together too, finds a user of theirs to be common with at most that chance. On
          the way no provider learns a number of common users. Of three providers or more, fewer than half may pool
          what they hold during the run.
Not       a divider's dummy users have values of its real users, drawn without regard to the other's columns: who knows
          a user's true value, or columns that go with it, tells some dummies by the side of a cut that they fall on.
          Of two providers one that lies changes the outcome unnoticed; the recipient notices only a class below k. Of
          three or more, fewer than half may lie: what they spoil ends the run before anything is released (`checking`).
          Whoever lies about its own users or labels is believed.
"""

from __future__ import annotations

from covey.protocols.as_printed.federate import leakage
from covey.protocols.as_printed.federate.cost import foresee
from covey.protocols.as_printed.federate.ideal import ideal
from covey.protocols.as_printed.federate.parameters import REQUIREMENTS, Parameters
from covey.protocols.as_printed.federate.role import provider, recipient
from covey.protocols.as_printed.federate.users import members
from covey.protocols.printed import Printed, Repair
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.protocols.shared.script import recorded
from covey.study import Study
from covey.table import Table

LEAKAGE = leakage.LEAKAGE

__all__ = ["LEAKAGE", "PROTOCOL", "ideal", "provider", "recipient"]


def _accepts(study: Study, own: Table) -> None:
    members(Parameters.of(study), own)


PRINTED = Printed(
    opens="to the provider whose turn it is on which side of a cut fewer than k users are common; no provider "
    "learns which of its users the other has",
    repairs=(
        Repair(
            "the best candidate is found by secure k-nearest-neighbours",
            "by a secure argmax, and the divider alone learns the winner",
            "the output is the same",
        ),
        Repair(
            "the recursion starts from tables whose root is not tested; two runs draw other dummy users",
            "the root is tested, and dummy users are drawn by a key",
            "nothing below could hold, and two runs would differ",
        ),
    ),
)
PROTOCOL = Protocol(
    name="federate",
    version=3,
    about="columns of two providers or more whose users differ: the common users' table for a recipient, and no "
    "provider learns whom another has",
    source="Takenouchi, Kawamura & Ohsuga, Distributed Data Federation without Disclosure of User Existence",
    requirements=REQUIREMENTS,
    needs="two providers or more with columns and a key, a recipient, and a public list of everyone who could be a "
    "user; exact columns (sensitive, plain) at one provider only, with their values listed",
    guarantees="k, and delta: of a provider's users in a class, and of those that some providers have in common, at "
    "most that part is common to all, so that nobody who reads the release finds one of them there with a better "
    "chance",
    released_to="the recipient",
    phases=("membership", "division", "release"),
    printed=PRINTED,
    leakage=LEAKAGE,
    roles={leakage.PROVIDER: provider, leakage.RECIPIENT: recipient},
    receives=lambda study, party: party in study.of_party_role(leakage.RECIPIENT),
    foresee=foresee,
    rehearse=foresee,
    accepts=_accepts,
    memory=Memory(300 * 10**6, 5_000),
    demonstration=Demonstration(sample="providers"),
    ideal=ideal,
    judge=Parameters.of,
    script=recorded(__name__),
)
