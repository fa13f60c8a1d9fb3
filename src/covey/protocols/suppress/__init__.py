"""Suppress: rows split; tuples that are rare in all tables together are suppressed, and nobody shows its own.

Source    "On Distributed k-Anonymization" (anonymous submission to CCS 2006), section 5, with Waters' encryption moved
          to a pairing of two different groups, and ElGamal as a second encryption.
Roles     two holders of rows: the keyholder (Alice: the study's first party, unless only the other has k rows) lists
          its tuples encrypted, the comparer (Bob) holds its own against them. With Waters' encryption an authority
          issues each holder the key of its name. Three holders or more are all alike (`several`): they count tuples
          by tags, under a key that they have together.
Security  semi-honest. Each of two learns the release and whose rows are whose, and so the other's number of rows. Three
          or more do not learn whose rows are whose, while one besides the curious shuffles honestly; but they see how
          often tuples occur in all tables together, without a name.
Changed   the printed protocol shows the keyholder how often the comparer has a suppressed tuple (a z of its own comes
          back), and lets it look up tuples that do not match (theta can be tested): random powers on Z and R, and every
          answer re-randomised, prevent both. Ties are broken by first rows, z's are k - 1, lists are as long as rare
          rows need. Where the outcome is not k-anonymous the run stops; the original tables are never exchanged.
Not       a party that lies in its lists learns about the other's tuples. A comparer that lies in its answer of phase 1
          is shown all of the keyholder's. An authority that also taps the parties' line reads the lists. At least k
          rows are lost whenever the tables of two were not k-anonymous as they stood. Among three or more, a party that
          puts in a power of a tuple's hash, which no honest one does, finds out whether others have the tuple.
"""

from __future__ import annotations

from dataclasses import replace

from covey.protocols.protocol import Demonstration, Line, Protocol
from covey.protocols.shared.script import recorded
from covey.protocols.suppress import cost, ideal, leakage, messages, role
from covey.protocols.suppress.parameters import AUTHORITY, REQUIREMENTS, Parameters
from covey.study import Study


def _script(study: Study) -> tuple[Line, ...]:
    """The messages of a run; the size of an issued key follows from the name that it is issued to."""
    size = cost.issued_bytes(Parameters.of(study))
    lines = recorded(__name__)(study)
    return tuple(replace(line, size=size) if line.tag == "suppress.issued" else line for line in lines)


PROTOCOL = Protocol(
    name="suppress",
    version=3,
    about="tuples that are rare in all parties' tables together are suppressed, and shown to nobody",
    source="On Distributed k-Anonymization (CCS 2006 submission), with its two privacy breaks closed",
    requirements=REQUIREMENTS,
    needs="two or more parties with rows; for Waters' encryption an authority for identity keys; no hierarchies",
    guarantees="k. Take suppress where values are never to be coarsened, where most tuples are frequent and only the "
    "rare ones have to go; take peel or cluster where columns have hierarchies, or for l",
    released_to="every party with rows",
    roles={"holder": role.holder, "authority": role.authority},
    phases=("keys", "frequent", "test", "compare", "release"),
    leakage=leakage.LEAKAGE,
    receives=lambda study, party: party != AUTHORITY,
    foresee=cost.foresee,
    rehearse=cost.foresee,
    accepts=messages.accepts,
    # tuples of five exact columns are all different, and would all be suppressed
    demonstration=Demonstration(
        changes={"columns": {name: {"role": "identifier"} for name in ("age", "occupation", "admission")}},
        without=("east",),
    ),
    ideal=ideal.ideal,
    judge=Parameters.of,
    script=_script,
)
