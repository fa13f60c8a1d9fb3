"""The messages that a run may have: `script.json` in a protocol's folder, which tests compare with recorded runs.

Each line names a step, where `*` stands for a number or a name, a type of message, and what was the same in every run:
the roles of sender and recipient, how many there are, how large they are, and the settings without which the message
does not occur. A setting is `two parties`, `three parties or more`, `two holders` of data, `three holders or more`, a
key of [privacy] such as `l`, `recipient`, or an option with its value, or its values: `variant=paper|datafly`.
`python -m tests.record_scripts` runs the harness's cases and adds the lines that are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources

import msgspec

from covey.protocols.protocol import Line
from covey.study import Study, requirements
from covey.study.insiders import k_insider

FILE = "script.json"
_PRIVACY = ("l", "t", "site_l", "delta", "l_insider", "most_of_a_class")


def recorded(package: str) -> Callable[[Study], tuple[Line, ...]]:
    """The script of the protocol in this package: the lines whose settings a study has."""

    def script(study: Study) -> tuple[Line, ...]:
        have = settings(study)
        return tuple(line for line in load(package) if all(_holds(need, have) for need in line.needs))

    return script


@cache
def load(package: str) -> tuple[Line, ...]:
    """All lines of a protocol's script."""
    return msgspec.json.decode(resources.files(package).joinpath(FILE).read_bytes(), type=tuple[Line, ...])


def settings(study: Study) -> frozenset[str]:
    """The settings of a study on which the messages of a run may depend."""
    declared = requirements.chosen(requirements.of_protocol(study.protocol or ""), study.partition, study.options)
    roles = {party.role for party in study.parties if party.role is not None}
    return frozenset(
        {
            "two parties" if len(study.parties) == 2 else "three parties or more",
            "two holders" if len(study.holders) == 2 else "three holders or more",
            "recipient" if "recipient" in roles else "no recipient",
            f"mismatch={study.mismatch}",
            *(key for key in _PRIVACY if getattr(study.privacy, key) is not None),
            *(("evaluate",) if study.evaluates_jointly else ()),
            *(("k_insider",) if (k_insider(study) or 1) > 1 else ()),
            *(f"{option.name}={option.of(study.options)}" for option in (declared.options if declared else ())),
        }
    )


def _holds(need: str, have: frozenset[str]) -> bool:
    name, equals, values = need.partition("=")
    return any(f"{name}{equals}{value}" in have for value in values.split("|"))
