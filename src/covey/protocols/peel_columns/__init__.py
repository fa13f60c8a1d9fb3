"""Peel with columns split: holders of different columns of the same people get the release of a trusted party.

Source    ours (docs/protocols/peel-columns.md). The public list of generalizations of `peel` for rows is visited by
          increasing loss. At each, an evaluator finds from blinded tags which people are alike in all columns together
          (`tags`); groups of k or more become classes, and their people leave.
Roles     holders of columns, two or more; an evaluator without data; optionally a recipient, who alone gets the
          release. The evaluator gets none.
Security  semi-honest. Holders learn the classes with their members, and which single values of the others k or more
          people have. The evaluator learns the sizes of groups at each visit, unnamed. Two holders together learn
          nothing about a third's values but what the release and its classes say.
Not       an evaluator that colludes with one holder learns who has equal values in each other holder's columns. Where
          one group is much larger than all others, sizes tell the evaluator that two visits speak of it. An evaluator
          that leaves people out of its answers goes unnoticed; other wrong answers end the run, where a holder's own
          columns tell. k holds toward readers of the release: each holder learns the class of its own people.
"""

from __future__ import annotations

from covey.errors import InputError
from covey.protocols.peel_columns import leftover, role
from covey.protocols.peel_columns.cost import foresee
from covey.protocols.peel_columns.ideal import ideal
from covey.protocols.peel_columns.leakage import in_short
from covey.protocols.peel_columns.parameters import REQUIREMENTS, Parameters
from covey.protocols.protocol import Demonstration, Memory, Protocol
from covey.protocols.shared.script import recorded
from covey.secure.declare import Leakage
from covey.study import Study


def _judge(study: Study) -> None:
    if Parameters.of(study).merge and not leftover.fits(study):
        raise InputError('[protocol] leftover = "merge" cannot compare labels of so many columns; use "withhold"')


PROTOCOL = Protocol(
    name="peel",
    version=3,
    about="columns of the same people at any number of parties: the release that a trusted party would make of them",
    source="ours: lattice peeling on blinded tags",
    requirements=REQUIREMENTS,
    needs="two or more parties with columns of the same people, and an evaluator without data that colludes with none "
    "of them; hierarchies that list their domains",
    guarantees="k, and l by frequency, distinct values or entropy. "
    "Take peel for the lowest loss; take cluster or generalize "
    "where nobody can be the evaluator",
    released_to="the holders, or the recipient if the study names one; never the evaluator",
    phases=("alignment", "list", "visits", "release"),
    leakage=Leakage(roles=in_short()),
    roles={"holder": role.holder, "evaluator": role.evaluator, "recipient": role.recipient},
    receives=lambda study, party: party in Parameters.of(study).receivers,
    foresee=foresee,
    rehearse=foresee,
    # few generalizations: the demonstration is meant to be short
    memory=Memory(320 * 10**6, 6_000),
    demonstration=Demonstration(
        sample="clinic-billing",
        changes={"parties": {"notary": {"role": "evaluator"}}, "protocol": {"window": 8, "nodes": 100}},
    ),
    ideal=ideal,
    judge=_judge,
    script=recorded(__name__),
)
