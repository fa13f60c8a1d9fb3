"""The statement that a respondent reads first: what leaves the machine, and the worst that could be learned."""

from __future__ import annotations

from covey.party.collection.eligibility import by_peeling
from covey.protocols.as_printed.collect import cost
from covey.protocols.as_printed.collect.leakage import percent
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.study import Study

SIMULATED = 200
"""People on whom the attack is tried."""


def statement(study: Study, collector: str, where: str) -> str:
    """The statement, in plain words and with the figures of the plan's attack on this very study."""
    if by_peeling(study):
        return _of_peeling(study, collector, where)
    parameters = Parameters.of(study)
    quasi = ", ".join(column.name for column in study.quasi)
    exact = ", ".join(column.name for column in study.released if column not in study.quasi)
    k = study.privacy.k
    lines = [
        f"Study {study.name!r}. The collector is {collector!r} at {where}.",
        "What leaves this machine:",
        f"  your values of {quasi}: encrypted, and never opened by themselves. They are published only as a range or a "
        f"group that at least {k} respondents share.",
    ]
    if exact:
        lines.append(
            f"  your values of {exact}: published as they are, as one of at least {k} rows of such a group. Other "
            "respondents pass these rows on and mix them; nobody can tell which is yours unless all of them work "
            "together against you."
        )
    lines += [
        "What the collector learns of you, by a handle: when you are online, your position on a line (about how near "
        "you are to others), and which group you are in.",
        worst(study, parameters),
    ]
    if study.privacy.l is None and study.sensitive:
        lines.append("If all in your group answer alike, everyone can tell what you answered.")
    lines.append(_friends(k))
    lines.append(
        "All of this holds for a collector that keeps to the protocol and works with no respondent. Your record, your "
        "key and your consent stay in a folder on this machine."
    )
    return "\n".join(lines)


def _of_peeling(study: Study, collector: str, where: str) -> str:
    """The statement where trustees evaluate sealed answers."""
    trustees, k = study.of_party_role("trustee"), study.privacy.k
    exact = ", ".join(column.name for column in study.released if column not in study.quasi)
    lines = [
        f"Study {study.name!r}. The collector is {collector!r} at {where}.",
        f"What leaves this machine: one letter, in which your answers are cut into shares for three trustees "
        f"({', '.join(trustees)}), sealed to each. The collector can open none of them.",
        f"What is published: your values of {', '.join(column.name for column in study.quasi)} only as a range or a "
        f"group that at least {k} respondents share"
        + (f"; your values of {exact} as they are, as one of at least {k} rows of such a group." if exact else "."),
        "What the collector and the trustees learn of you: that you answered, and when, by a handle. Nobody learns "
        "which row or which group is yours.",
        "All of this holds unless two of the three trustees work together: they could read your answers.",
        "If a trustee loses its key or its disk, nothing restores them: the collection ends, and you are asked to send "
        "again, to another one.",
    ]
    if study.privacy.l is None and study.sensitive:
        lines.append("If all in your group answer alike, everyone can tell what you answered.")
    lines.append(_friends(k))
    lines.append("Your record, your key and your consent stay in a folder on this machine, with the receipt.")
    return "\n".join(lines)


def _friends(k: int) -> str:
    """The part on what respondents who work with the organiser could do."""
    return (
        f"The organiser invites the respondents, and you cannot check who they are. If the {k - 1} others of your "
        "group were its friends, they would know your answers and the group you are in: they take their own rows away, "
        f"and yours is left. It begins with {2 * k} respondents or more; that makes such a group harder to arrange, "
        "not impossible."
    )


def worst(study: Study, parameters: Parameters) -> str:
    """The worst that the collector could find out, from the attack that `covey plan` carries out."""
    success = cost.simulated(parameters, study, max(SIMULATED, study.privacy.k))
    if success is None:
        return "At worst: nobody has computed it for so few respondents."
    near = success.anchors[min(success.anchors)]
    return (
        "At worst, from all that it sees, it guesses which cell of the study's grid you are in (a narrow combination "
        f"of your {len(study.quasi)} grouped values): in a simulation of this study it was right for "
        f"{percent(success.all)} of the people, and for {percent(near)} of those who stand next to someone whose "
        "values it knows. Your answers to the other questions are not among these."
    )
