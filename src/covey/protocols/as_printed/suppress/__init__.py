"""Suppress: rows split; tuples that are rare in all tables together are suppressed, and nobody shows its own.

Source    "On Distributed k-Anonymization" (anonymous submission to CCS 2006), section 5, with Waters' encryption moved
          to a pairing of two different groups, and ElGamal as a second encryption.
Roles     two holders of rows: the keyholder (Alice: the study's first party, unless only the other has k rows) lists
          its tuples encrypted, the comparer (Bob) holds its own against them. With Waters' encryption an authority
          issues each holder the key of its name.
Security  semi-honest. Each learns the release and whose rows are whose, and so the other's number of rows.
Changed   the printed protocol shows the keyholder how often the comparer has a suppressed tuple (a z of its own comes
          back), and lets it look up tuples that do not match (theta can be tested): random powers on Z and R, and every
          answer re-randomised, prevent both. Ties are broken by first rows, z's are k - 1, lists are as long as rare
          rows need. Where the outcome is not k-anonymous the run stops; the original tables are never exchanged.
Not       a party that lies in its lists learns about the other's tuples. A comparer that lies in its answer of phase 1
          is shown all of the keyholder's. An authority that also taps the parties' line reads the lists. At least k
          rows are lost whenever the tables were not k-anonymous as they stood. The paper proves that no form of it
          for three parties exists.
"""

from __future__ import annotations

from dataclasses import replace

from covey.protocols.as_printed.suppress import cost, ideal, leakage, messages, role
from covey.protocols.as_printed.suppress.parameters import AUTHORITY, REQUIREMENTS, Parameters
from covey.protocols.printed import Printed, Repair
from covey.protocols.protocol import Demonstration, Line, Protocol
from covey.protocols.shared.script import recorded
from covey.study import Study


def _script(study: Study) -> tuple[Line, ...]:
    """The messages of a run; the size of an issued key follows from the name that it is issued to."""
    size = cost.issued_bytes(Parameters.of(study))
    lines = recorded(__name__)(study)
    return tuple(replace(line, size=size) if line.tag == "suppress.issued" else line for line in lines)


PRINTED = Printed(
    opens="to the two holders whose rows are whose, how many rows the other has, and which tuples are rare in "
    "both tables together",
    repairs=(
        Repair(
            "Bob returns z unchanged where tuples match",
            "every value is raised to a random power and every answer re-randomised",
            "theorem 9 would let Alice read counts",
        ),
        Repair(
            "the lists and z lie in G_1, plaintexts in G_2",
            "tuples are hashed and numbers stand in the exponent",
            "a type error",
        ),
        Repair(
            "ties, and N_A < k, are not defined",
            "ties go by the first row; the roles swap, or all rows are suppressed",
            "the outcome would not be determined",
        ),
        Repair(
            "on failure the original tables are exchanged",
            "the run ends and nobody gets the other table",
            "a liar, or bad luck, would show all rows",
        ),
    ),
)
PROTOCOL = Protocol(
    name="suppress",
    version=4,
    about="tuples that are rare in all parties' tables together are suppressed, and shown to nobody",
    source="On Distributed k-Anonymization (CCS 2006 submission), with its two privacy breaks closed",
    requirements=REQUIREMENTS,
    needs="two parties with rows; for Waters' encryption an authority for identity keys; no hierarchies",
    guarantees="k. Take suppress where values are never to be coarsened, where most tuples are frequent and only the "
    "rare ones have to go; take peel or cluster where columns have hierarchies, or for l",
    released_to="every party with rows",
    roles={"holder": role.holder, "authority": role.authority},
    phases=("keys", "frequent", "test", "compare", "release"),
    printed=PRINTED,
    leakage=leakage.LEAKAGE,
    receives=lambda study, party: party != AUTHORITY,
    foresee=cost.foresee,
    rehearse=cost.foresee,
    accepts=messages.accepts,
    # tuples of five exact columns are all different, and would all be suppressed
    demonstration=Demonstration(
        changes={
            "protocol": {"compare": "bins"},
            "columns": {name: {"role": "identifier"} for name in ("age", "occupation", "admission")},
        },
        without=("east",),
    ),
    ideal=ideal.ideal,
    judge=Parameters.of,
    script=_script,
)
