"""A study that Covey drafts from a table by itself, for a release that nobody wrote a study for.

What is uncertain is left out and told. A caller may say what some columns are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from covey import bounds
from covey.errors import InputError
from covey.files import read_bytes
from covey.guess.draft import draft_of
from covey.plain import toml_key
from covey.schema import Role
from covey.sources import Data
from covey.study import Study
from covey.study.editing import set_section, spelled

Rule = str | Path | Mapping[str, object]
"""A hierarchy: a file, "flat", or a rule as a study file has it (`{"min": 0, "max": 100, "steps": [5, 10]}`)."""

_WORDS = ("flat", "interval")


def drafted(
    data: Data,
    k: int,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    drop: Iterable[str] = (),
    hierarchies: Mapping[str, Rule] | None = None,
) -> tuple[Study, dict[str, str]]:
    """Returns a drafted study, and why it leaves columns out. Raises InputError for a column that is not there."""
    rules = dict(hierarchies or {})
    roles = _roles([(Role.QUASI, quasi), (Role.QUASI, rules), (Role.SENSITIVE, sensitive), (Role.IDENTIFIER, drop)])
    draft = draft_of([data], k, name="draft" if not isinstance(data, str | Path) else None, roles=roles)
    text, files = draft.text, {path: content.encode() for path, content in draft.files.items()}
    for column, rule in rules.items():
        value, file = _hierarchy(rule)
        files |= file
        text = set_section(text, ("columns", column), [f"[columns.{toml_key(column)}]", 'role = "quasi"', value])
    left = {each.name: each.why for each in draft.guesses if each.role in (Role.IDENTIFIER, Role.ASK)}
    return Study.parse(text, files=files), left


def _roles(chosen: Iterable[tuple[Role, Iterable[str]]]) -> dict[str, Role]:
    """The role of each named column. Raises InputError for a text in place of a list, and for a second role."""
    roles: dict[str, Role] = {}
    for role, names in chosen:
        if isinstance(names, str):
            raise InputError(f"{names!r}: name the columns in a list, as in quasi=['age', 'zip']")
        for name in names:
            if roles.setdefault(name, role) is not role:
                raise InputError(f"column {name!r} is given two roles, {roles[name]} and {role}; leave one out")
    return roles


def _hierarchy(rule: Rule) -> tuple[str, dict[str, bytes]]:
    """The line of the study for a rule, and the file that it names."""
    if isinstance(rule, Mapping):
        return f"hierarchy = {spelled(dict(rule))}", {}
    if str(rule) in _WORDS:
        return f"hierarchy = {spelled(str(rule))}", {}
    name = f"hierarchies/{Path(rule).name}"
    return f"hierarchy = {spelled(name)}", {name: read_bytes(Path(rule), "name a hierarchy file", bound=bounds.labels)}
