"""Addresses of tables on servers, taken apart; and what in them nobody else may see."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import unquote, unquote_plus

_ADDRESS = re.compile(r"(?:postgres|postgresql|spark|sc)://.*", re.DOTALL)
_PASSWORD = re.compile("[a-z]+://[^/@:]*:[^/@]+@")
_SECRETS = ("password", "sslpassword", "token")


def taken_apart(address: str, asked_for: Collection[str]) -> tuple[str, Mapping[str, str], list[str]]:
    """The text before `?`, the values behind it that are asked for, and the other parts, as they are spelled."""
    before, _, after = address.partition("?")
    asked: dict[str, str] = {}
    others = []
    for part in filter(None, after.split("&")):
        if name_of(part) not in asked_for:
            others.append(part)
        elif value := unquote_plus(part.partition("=")[2]):
            asked.setdefault(name_of(part), value)
    return before, asked, others


def name_of(part: str) -> str:
    """The name of an option, in `NAME=VALUE`."""
    return unquote(part.partition("=")[0])


def has_password(text: str) -> bool:
    """True for a text with an address of a server in it that has a password or a token."""
    found = _ADDRESS.search(text)
    if found is None:
        return False
    before, _, others = taken_apart(found[0], ())
    options = [*others, *before.split(";")[1:]]
    return _PASSWORD.match(before) is not None or any(name_of(option) in _SECRETS for option in options)
