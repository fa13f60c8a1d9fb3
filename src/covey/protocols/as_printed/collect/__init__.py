"""Collect: thousands of respondents, a row each, and a collector that nobody has to trust with a row.

Source    Xue, Papadimitriou, Raissi, Kalnis and Pung, "Distributed privacy preserving data collection"
          (docs/protocols/collect-curve.md lists its errors and what is done instead).
Roles     one collector, who gets the release; respondents, some of whom are trustees and hold keys.
Security  semi-honest. The collector colludes with nobody, and fewer than a majority of the trustees collude with each
          other. The collector learns everyone's position on a line, and so about how far apart any two respondents
          stand. In simulations that is enough to guess a considerable part of the respondents' cells; the plan and
          the ledger say how large a part.
Not       it does not protect against a collector that cheats: one that makes up respondents or keys, or has single
          answers opened. A class whose members all answer alike gives the answer away; ask for l.
"""

from __future__ import annotations

from covey.protocols.as_printed.collect import collector, cost, ideal, leakage, respondent, submit
from covey.protocols.as_printed.collect.parameters import REQUIREMENTS, Parameters, hub_of
from covey.protocols.printed import Printed, Repair
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.study import Study


def _judge(study: Study) -> None:
    Parameters.of(study)
    hub_of(study)


PRINTED = Printed(
    opens="to the collector where everyone stands on a line through all cells, and so about how far apart any "
    "two people are",
    repairs=(
        Repair(
            "an entry is returned as it was retrieved; parts go from one holder to the next",
            "the entry is re-randomised before it is opened; parts go to the collector alone",
            "the server holds a share, and a coalition could open",
        ),
        Repair(
            "(t, t) shares are multiplied",
            "2t - 1 holders take part where comparisons multiply",
            "such shares cannot be multiplied",
        ),
        Repair(
            "a server and a collector",
            "one party is both",
            "the server sees what the collector sees",
        ),
        Repair(
            "who deals the keys is not said",
            "a respondent deals them; it could open every position",
            "somebody has to",
        ),
    ),
)
PROTOCOL = Protocol(
    name="collect",
    version=2,
    about="a row at each of many respondents: an untrusted collector gets their k-anonymous table, and no one's row",
    source="Xue et al., Distributed privacy preserving data collection (paper 001), its privacy claim corrected",
    requirements=REQUIREMENTS,
    needs="one party with role = collector; k or more respondents, who enrol; hierarchies that list their domains",
    guarantees="k, l by frequency or distinct values. Take collect where people keep their own rows; where "
    "organisations hold many rows each, peel and cluster lose less and leak less",
    released_to="the collector",
    phases=("keys", "index", "positions", "classes", "release"),
    printed=PRINTED,
    leakage=leakage.LEAKAGE,
    roles={"respondent": respondent.respondent, "collector": collector.collector},
    plays=lambda study, party: "collector" if party == hub_of(study) else "respondent",
    receives=lambda study, party: party == hub_of(study),
    foresee=cost.foresee,
    accepts=submit.accepts,
    memory=Memory(320 * 10**6, 200_000),  # of everyone in one process
    # a smaller index, which 800 respondents are sent
    demonstration=Demonstration(
        sample="survey",
        changes={"protocol": {"grid": 4096}},
        without=("health-office", "patients-union", "university"),
    ),
    ideal=ideal.ideal,
    judge=_judge,
)
