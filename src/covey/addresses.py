"""Addresses of tables on servers, taken apart; and what in them nobody else may see."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import unquote, unquote_plus

_ADDRESS = re.compile(r"(?:postgres|postgresql|spark|sc)://.*", re.DOTALL)
_PASSWORD = re.compile("[a-z]+://[^/@:]*:[^/@]+@")
_SECRETS = ("password", "sslpassword", "token")


def taken_apart(address: str, asked_for: Collection[str]) -> tuple[str, Mapping[str, str], list[str]]:
    """The text before `?`, the wanted values behind it, and the other parts."""
    base, _, query = address.partition("?")
    request: dict[str, str] = {}
    parameters = []
    for part in filter(None, query.split("&")):
        if name_of(part) not in asked_for:
            parameters.append(part)
        elif value := unquote_plus(part.partition("=")[2]):
            request.setdefault(name_of(part), value)
    return base, request, parameters


def name_of(part: str) -> str:
    """The name of an option, in `NAME=VALUE`."""
    return unquote(part.partition("=")[0])


def has_password(text: str) -> bool:
    """True for a text with a server's address that has a password or a token."""
    match = _ADDRESS.search(text)
    if match is None:
        return False
    base, _, parameters = taken_apart(match[0], ())
    options = [*parameters, *base.split(";")[1:]]
    return _PASSWORD.match(base) is not None or any(name_of(option) in _SECRETS for option in options)
