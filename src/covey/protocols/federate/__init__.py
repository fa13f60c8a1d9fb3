"""Federate: two providers with different users and columns; a recipient gets the table of the users that both have.

Source    Takenouchi, Kawamura & Ohsuga, Distributed Data Federation without Disclosure of User Existence (the dummy
          user protocol). Ours: the root is tested too, membership bits are encrypted once instead of intersecting sets
          for each number, all groups of a level go at once, and the recipient alone sees the release's numbers.
Roles     two providers, one of them possibly with exact (sensitive or plain) columns; the recipient.
Security  semi-honest, without collusion of the recipient with a provider. Each class has k or more common users, and
          of either provider's users in a class at most delta are common: whoever reads the release, the providers too,
          finds a user of one to be the other's with at most that chance. On the way neither provider learns a number
          of common users.
Not       a divider's dummy users have values of its real users, drawn without regard to the other's columns: who knows
          a user's true value, or columns that go with it, tells some dummies by the side of a cut that they fall on.
          A provider that lies changes the outcome unnoticed; the recipient notices only a class below k.
"""

from __future__ import annotations

from covey.protocols.federate import leakage
from covey.protocols.federate.cost import foresee
from covey.protocols.federate.ideal import ideal
from covey.protocols.federate.parameters import REQUIREMENTS, Parameters
from covey.protocols.federate.role import provider, recipient
from covey.protocols.federate.users import members
from covey.protocols.protocol import Demonstration, Protocol, Role
from covey.protocols.shared.script import recorded
from covey.study import Study
from covey.table import Table

LEAKAGE = leakage.LEAKAGE

__all__ = ["LEAKAGE", "PROTOCOL", "ideal", "provider", "recipient"]


def _judge(study: Study) -> None:
    Parameters.of(study)


def _accepts(study: Study, own: Table) -> None:
    members(Parameters.of(study), own)


def role_name(study: Study, party: str) -> str:
    """The role of a party, as the ledger knows it."""
    return study.party(party).role or leakage.PROVIDER


def _role(study: Study, party: str) -> Role:
    return recipient if role_name(study, party) == leakage.RECIPIENT else provider


PROTOCOL = Protocol(
    name="federate",
    about="columns of two providers whose users differ: the common users' table for a recipient, and neither provider "
    "learns whom the other has",
    source="Takenouchi, Kawamura & Ohsuga, Distributed Data Federation without Disclosure of User Existence",
    requirements=REQUIREMENTS,
    needs="two providers with columns and a key, a recipient, and a public list of everyone who could be a user; exact "
    "columns (sensitive, plain) at one provider only, with their values listed",
    guarantees="k, and delta: of a provider's users in a class at most that part is common, so that nobody who reads "
    "the release finds a user of one to be the other's with a better chance",
    released_to="the recipient",
    phases=("membership", "division", "release"),
    leakage=LEAKAGE,
    role=_role,
    role_name=role_name,
    receives=lambda study, party: role_name(study, party) == leakage.RECIPIENT,
    foresee=foresee,
    accepts=_accepts,
    demonstration=Demonstration(sample="providers"),
    ideal=ideal,
    judge=_judge,
    script=recorded(__name__),
)
