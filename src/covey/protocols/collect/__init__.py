"""Collect: thousands of respondents, a row each, and a collector that nobody has to trust with a row.

Source    Xue, Papadimitriou, Raissi, Kalnis and Pung, "Distributed privacy preserving data collection"
          (docs/protocols/collect.md lists its errors and what is done instead).
Roles     one collector, who gets the release; respondents, some of whom are trustees and hold keys.
Security  semi-honest. The collector colludes with nobody, and fewer than a majority of the trustees collude with each
          other. The collector learns everyone's position on a line, and so about how far apart any two respondents
          stand. In simulations that is enough to guess a considerable part of the respondents' cells; the plan and
          the ledger say how large a part.
Not       it does not protect against a collector that cheats: one that makes up respondents or keys, or has single
          answers opened. A class whose members all answer alike gives the answer away; ask for l.
"""

from __future__ import annotations

from covey.protocols.collect import collector, cost, ideal, leakage, respondent, submit
from covey.protocols.collect.parameters import REQUIREMENTS, Parameters, hub_of
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.study import Study


def _judge(study: Study) -> None:
    Parameters.of(study)
    hub_of(study)


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
    leakage=leakage.LEAKAGE,
    roles={"respondent": respondent.respondent, "collector": collector.collector},
    plays=lambda study, party: "collector" if party == hub_of(study) else "respondent",
    receives=lambda study, party: party == hub_of(study),
    foresee=cost.foresee,
    accepts=submit.accepts,
    memory=Memory(320 * 10**6, 200_000),  # of everyone in one process
    # a smaller index, which 800 respondents are sent
    demonstration=Demonstration(sample="survey", changes={"protocol": {"method": "curve", "grid": 4096}}),
    ideal=ideal.ideal,
    judge=_judge,
)
