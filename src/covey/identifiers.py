"""Identifiers that HIPAA's Safe Harbor names (45 CFR 164.514(b)(2)), recognised by a column's name or its cells.

A column is suspected, never convicted: names are words in English and a few other languages, and a cell's form counts
only if nearly all cells have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NEARLY_ALL = 0.9
_LOOKED_AT = 1_000

_BY_CELL = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}"),
    "web addresses": re.compile(r"(https?://|www\.)\S+", re.IGNORECASE),
    "IP addresses": re.compile(
        r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|[0-9a-fA-F:]*::[0-9a-fA-F:]*"
    ),
    "social security numbers": re.compile(r"\d{3}-\d{2}-\d{4}"),
    "telephone numbers": re.compile(r"(\+\d{1,3}|\(\d{2,5}\))([ ./-]?\d{2,5}){2,4}"),
    "device or vehicle numbers": re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}|[A-HJ-NPR-Z0-9]{17}"),
}
_BY_NAME = {
    "names": r"((first|last|full|family|given|sur|fore|middle|patient)[ _-]?)?names?|vorname|nachname|nom|prenom",
    "street addresses": r"(street|postal|home|mail(ing)?)?[ _-]?address(es)?|street|strasse|adresse|rue",
    "telephone numbers": r"(tele)?(phone|fax)([ _-]?(no|number))?|mobile|telefon|fax",
    "e-mail addresses": r"e-?mail([ _-]?address)?",
    "social security numbers": r"ssn|social[ _-]?security([ _-]?(no|number))?|national[ _-]?id",
    "medical record numbers": r"mrn|medical[ _-]?record([ _-]?(no|number))?|chart[ _-]?(no|number)",
    "health plan or account numbers": r"(account|policy|member|beneficiary|iban)([ _-]?(no|number|id))?",
    "licence numbers": r"(licen[cs]e|certificate|passport)([ _-]?(no|number))?",
    "device or vehicle numbers": r"(imei|vin|serial|device|licen[cs]e[ _-]?plate)([ _-]?(no|number|id))?",
    "web addresses": r"url|web(site|page)?",
    "IP addresses": r"ip([ _-]?address)?",
    "biometric identifiers": r"fingerprint|voice[ _-]?print|iris|retina",
    "photographs": r"photo(graph)?|portrait|image",
}
_NAMES = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _BY_NAME.items()}


def suspected(name: str, cells: Sequence[str]) -> str | None:
    """The kind of identifier that a column looks like, in the plural, or None."""
    for kind, pattern in _NAMES.items():
        if pattern.fullmatch(name.strip()):
            return kind
    looked_at = [cell for cell in cells[:_LOOKED_AT] if cell]
    for kind, pattern in _BY_CELL.items():
        if looked_at and sum(pattern.fullmatch(cell) is not None for cell in looked_at) >= _NEARLY_ALL * len(looked_at):
            return kind
    return None
