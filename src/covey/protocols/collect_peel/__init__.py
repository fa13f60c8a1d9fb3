"""Collect by peeling: respondents send one sealed message, trustees peel unseen, the collector gets the table.

Source    ours: lattice peeling as in `peel`, on shares, with one block, `covey.secure.equals`.
Roles     respondents, one row each; three or five trustees, whom the study names (role = "trustee") or who are drawn
          among the respondents; one collector, who carries sealed letters and gets the release.
Security  fewer than half of the trustees conspire, with the collector and any respondents too; what a trustee that
          deviates can do is said in `covey.secure.equals`. Nobody learns which row or class is whose.
Not       more than half of the trustees read everything. Whoever makes up k - 1 respondents learns about the one who
          joins them: a collector should need invitations, and a quorum well above k. A class whose members all answer
          alike gives the answer away; ask for l.
"""

from __future__ import annotations

from covey.protocols.collect_peel import collector, cost, ideal, layout, leakage, respondent, trustee
from covey.protocols.collect_peel.parameters import REQUIREMENTS, Parameters
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.protocols.shared.script import recorded

PROTOCOL = Protocol(
    name="collect",
    version=1,
    about="a row at each of many respondents: trustees anonymize them unseen, an untrusted collector gets the table",
    source='ours; in place of the paper\'s curve (method = "curve"), which tells the collector where everyone stands',
    requirements=REQUIREMENTS,
    needs="one party with role = collector; 3 or 5 with role = trustee, or trustees drawn among the respondents; k or "
    "more respondents; hierarchies that list their domains",
    guarantees="k, l by frequency, distinct values or entropy. "
    "The release loses what pooled peeling would lose; no place, no "
    "class and no row is anybody's. Fewer than half of the trustees may collude, with the collector too",
    released_to="the collector",
    phases=("answers", "shuffle", "marginals", "visits", "release"),
    leakage=leakage.LEAKAGE,
    roles={"respondent": respondent.respondent, "trustee": trustee.trustee, "collector": collector.collector},
    receives=lambda study, party: party in study.of_party_role("collector"),
    foresee=cost.foresee,
    accepts=layout.accepts,
    memory=Memory(400 * 10**6, 50_000),  # a trustee's: a third of what three take in one process
    # fewer visits: the demonstration is meant to be short
    demonstration=Demonstration(sample="survey", changes={"protocol": {"nodes": 24}}),
    ideal=ideal.ideal,
    script=recorded(__name__),
    judge=Parameters.of,
)
