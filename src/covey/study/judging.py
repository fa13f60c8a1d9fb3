"""The judgement on a study as a whole: do its columns, its protocol and its parties fit each other?"""

from __future__ import annotations

from collections.abc import Mapping

from covey.schema import Column, Role
from covey.study import rules
from covey.study.gone import successor
from covey.study.requirements import Requirements
from covey.study.section import Section
from covey.study.study import Study


def judge(root: Section, study: Study, requirements: Requirements | None) -> None:
    """Notes every problem at its line. `requirements` is what the study's protocol asks, if it names one."""
    _judge_columns(root, study)
    if requirements is not None:
        _judge_protocol(root, study, requirements)


def _judge_columns(root: Section, study: Study) -> None:
    """Checks what holds between columns, whatever the protocol."""
    columns = root.section("columns", None, repeated=True)
    if study.columns and not study.quasi and not study.waiting:
        columns.problem('no column has role = "quasi": there is nothing to generalize')
    privacy = root.section("privacy", None, repeated=True)
    for key in ("l", "l_insider", "t"):
        if getattr(study.privacy, key) is not None and not study.sensitive:
            privacy.problem(f'{key} needs a column with role = "sensitive"', key)
    if study.waiting and (study.parties or study.protocol):
        first = study.waiting[0].name
        columns.problem('role = "ask" is for one owner: agree on another role before partners join', first, "role")
    part, holders = study.privacy.most_of_a_class, len(study.holders)
    if part is not None and holders and part * holders < 1:
        privacy.problem(
            f"most_of_a_class = {part:g} leaves no class: of {holders} parties one has at least 1/{holders} of it",
            "most_of_a_class",
        )
    keys = study.of_role(Role.KEY)
    for column in keys[1:]:
        columns.problem(f"a second key: {keys[0].name!r} is one already", column.name, "role")
    if study.privacy.site_l is not None and not any(column.site for column in study.columns):
        privacy.problem("site_l needs a quasi column with site = true", "site_l")


def _judge_protocol(root: Section, study: Study, requirements: Requirements) -> None:
    privacy = root.section("privacy", None, repeated=True)
    for key in privacy.names():
        if key in rules.PRIVACY_KEYS and key not in requirements.privacy:
            privacy.problem(_unable(study, requirements, key), key)
    for column in study.sensitive:
        column_section = root.section("columns", None, repeated=True).section(column.name, None, repeated=True)
        for key in ("l", "t"):
            if key in column_section and key not in requirements.privacy:
                column_section.problem(_unable(study, requirements, key), key)
            elif getattr(column, key) is not None:
                column_section.problem(
                    f"protocol {study.protocol!r} asks the same {key} of every sensitive column: write it once, in "
                    f"[privacy]; covey anonymize keeps one for each",
                    key,
                )
    if study.evaluates_jointly:
        _judge_evaluation(root.section("evaluate", None, repeated=True), study, requirements)
    _judge_parties(root, study, requirements)


def _judge_evaluation(section: Section, study: Study, requirements: Requirements) -> None:
    if not requirements.evaluates:
        section.problem(
            f"protocol {study.protocol!r} cannot add up errors over all rows with a {study.partition} split; "
            "`covey evaluate` does it for each party's own",
            "joint",
        )
    elif len(study.holders) < 3:
        section.problem("joint = true needs three parties or more: between two, a sum tells the other's part", "joint")


def _unable(study: Study, requirements: Requirements, key: str) -> str:
    reason = f": {requirements.unable[key]}" if key in requirements.unable else ""
    return f"protocol {study.protocol!r} cannot enforce {key} with a {study.partition} split{reason}"


def _judge_parties(root: Section, study: Study, requirements: Requirements) -> None:
    section = root.section("parties", None, repeated=True)
    minimum, maximum = requirements.holders
    count = len(study.holders)
    if study.parties and (count < minimum or (maximum is not None and count > maximum)):
        bounds = f"{minimum}" if maximum == minimum else f"{minimum} or more"
        section.problem(f"protocol {study.protocol!r} needs {bounds} parties with data of their own; there are {count}")
    for party in study.parties:
        if party.role is not None and party.role not in requirements.roles:
            sentence = successor("parties", f"role={party.role}")
            if party.role == "trustee":
                sentence = 'write protocol = "peel", whose trustees compute unseen'
            instead = f"; {sentence}" if sentence else ""
            section.problem(f"protocol {study.protocol!r} has no {party.role}{instead}", party.name, "role")
        if party.role is not None and party.columns:
            section.problem(f"a {party.role} holds no columns", party.name, "columns")
    for role in requirements.needs:
        if study.parties and sum(party.role == role for party in study.parties) != 1:
            instead = f"; {requirements.otherwise}" if requirements.otherwise else ""
            section.problem(f'protocol {study.protocol!r} needs one party with role = "{role}"{instead}')
    if study.partition == "vertical":
        _judge_vertical(root, study)
    elif study.key is not None:
        root.section("columns", None, repeated=True).problem("only a vertical study has a key", study.key.name, "role")


def _judge_vertical(root: Section, study: Study) -> None:
    columns = root.section("columns", None, repeated=True)
    parties = root.section("parties", None, repeated=True)
    if study.key is None:
        columns.problem('a vertical study needs one column with role = "key", by which the rows are joined')
    owner: dict[str, str] = {}
    names: Mapping[str, Column] = {column.name: column for column in study.columns}
    for party in study.holders:
        if not party.columns:
            parties.problem(f"party {party.name!r} needs its columns in a vertical study", party.name)
        for name in party.columns or ():
            if name not in names:
                parties.problem(
                    f"party {party.name!r} lists {name!r}, which is no column of the study", party.name, "columns"
                )
            elif names[name].role is Role.KEY:
                parties.problem(f"the key {name!r} belongs to every party: do not list it", party.name, "columns")
            elif name in owner:
                parties.problem(f"{name!r} is listed by {owner[name]!r} too", party.name, "columns")
            else:
                owner[name] = party.name
    for column in study.columns:
        if study.parties and column.released and column.name not in owner:
            columns.problem(f"no party lists column {column.name!r}", column.name)
