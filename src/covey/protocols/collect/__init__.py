"""Collect: thousands of respondents, a row each, and a collector that nobody has to trust with a row.

Source    Xue, Chen, Vasudevan and others, "Distributed privacy preserving data collection" (docs/protocols/collect.md
          lists its errors and what is done instead).
Roles     one collector, who gets the release; respondents, some of whom are trustees and hold keys.
Security  semi-honest. The collector colludes with nobody; fewer than a majority of the trustees collude with each
          other. The collector learns everyone's position on a line, and so about how far apart any two stand: in
          simulations that is enough to guess a considerable part of the cells. The plan and the ledger say how large a
part. Not       a collector that cheats: that makes up respondents or keys, or has single answers opened. Classes whose
          members all answer alike give the answer away; ask for l.
"""

from __future__ import annotations

from covey.protocols.collect.clear import ideal
from covey.protocols.collect.collecting import collector
from covey.protocols.collect.leaks import LEAKAGE
from covey.protocols.collect.plan import foresee
from covey.protocols.collect.responding import respondent
from covey.protocols.collect.terms import REQUIREMENTS, Terms, hub_of
from covey.protocols.protocol import Demonstration, Protocol, Role
from covey.study import Study

__all__ = ["PROTOCOL", "collector", "ideal", "respondent"]


def _judge(study: Study) -> None:
    Terms.of(study)
    hub_of(study)


def _role_name(study: Study, party: str) -> str:
    return "collector" if party == hub_of(study) else "respondent"


def _role(study: Study, party: str) -> Role:
    return collector if party == hub_of(study) else respondent


PROTOCOL = Protocol(
    name="collect",
    about="a row at each of many respondents: an untrusted collector gets their k-anonymous table, and no one's row",
    source="Xue et al., Distributed privacy preserving data collection (paper 001), its privacy claim corrected",
    requirements=REQUIREMENTS,
    needs="one party with role = collector; k or more respondents, who enrol; hierarchies that list their domains",
    guarantees="k, l by frequency or distinct values. Take collect where people keep their own rows; where "
    "organisations hold many rows each, peel and cluster lose less and leak less",
    released_to="the collector",
    phases=("keys", "index", "positions", "classes", "release"),
    leakage=LEAKAGE,
    role=_role,
    role_name=_role_name,
    receives=lambda study, party: party == hub_of(study),
    foresee=foresee,
    # a smaller index, which 800 respondents are sent
    demonstration=Demonstration(sample="survey", changes={"protocol": {"grid": 4096}}),
    ideal=ideal,
    judge=_judge,
)
