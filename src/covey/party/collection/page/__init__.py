"""The page in which people answer in a browser: one file, made from a study and from a program that is always the same.

seal.js     an answer as a word, its shares and a sealed letter, in the browser's own cryptography
page.js     questions, consent, sending, receipt
page.css, page.html, words.json

The program's hash stands in the study (`[protocol] page`), and so in the study's hash; whoever has the study makes the
same file, byte for byte, and can compare it with what a server sends.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from string import Template

from covey.cells import number, spell
from covey.crypto import rng
from covey.crypto.letter import public_of_signing
from covey.errors import InputError
from covey.hierarchy import Coding
from covey.party.collection.eligibility import by_peeling
from covey.party.collection.questions import Question, questions
from covey.party.identity.roster import Roster
from covey.protocols import spoken
from covey.protocols.peel.parameters import PAGE, WEB
from covey.protocols.peel.record_word import RecordWord
from covey.protocols.peel.respondents import hub_of, judge, word_of
from covey.schema import Column, Role
from covey.study import Study
from covey.wire.relay import RelaySite
from covey.wire.relay.broker import Signer

FEW = 12
"""As many values are offered as choices; more, if they are numbers or days in a row, are typed."""
_DECIMALS = 9
_PARTS = ("page.html", "page.css", "seal.js", "page.js", "words.json")


@cache
def program() -> str:
    """The hash of the page's program."""
    return hashlib.sha256(rng.spell(*(label for name in _PARTS for label in (name, _part(name))))).hexdigest()


def require(study: Study) -> str:
    """The address of the study's page. Raises InputError, with the lines to add, where the study has none."""
    web, named = WEB.of(study.options), PAGE.of(study.options)
    if not by_peeling(study):
        raise InputError('people can answer in a browser with protocol = "peel" alone')
    if not web or not named:
        raise InputError(
            "the study says of no page for browsers: add to [protocol] the address at which people will open it, "
            f'web = "https://…", and the hash of its program, page = "{program()}"; then invite anew'
        )
    if named != program():
        raise InputError(
            f"the study's page has the program {named[:16]}…, and this version of covey has {program()[:16]}…; use the "
            "version that the study was agreed with, or agree on this one and invite anew"
        )
    local = web.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))
    if web.endswith("/") or not (web.startswith("https://") or local) or web.count("/") != 2:
        raise InputError(f"web = {web!r}: must be https://HOST or https://HOST:PORT, without a path")
    return web


def build(study: Study) -> bytes:
    """The page of a study. Raises InputError for a study without one, or without certificates."""
    web = require(study)
    script, style = _part("seal.js") + _part("page.js"), _part("page.css")
    relay = site(study)
    spoken = web if relay is None else f"{web} {relay.parts.scheme}://{relay.parts.netloc}"
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; connect-src 'self' {spoken}; "
        f"script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'"
    )
    data = json.dumps(describe(study), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    title = dict(study.title).get(study.language, study.name)
    return (
        Template(_part("page.html").decode())
        .substitute(
            policy=policy, title=html.escape(title), style=style.decode(), script=script.decode(),
            data=data.replace("<", "\\u003c"),
        )
        .encode()
    )  # fmt: skip


def site(study: Study) -> RelaySite | None:
    """The relay over which the page speaks with the collector: a broker for websockets, if it has no other address."""
    relay = Roster.of(study).relay
    spoken = relay is not None and relay.parts.scheme in ("ws", "wss") and bool(PAGE.of(study.options))
    return relay if spoken and study.party(hub_of(study)).address is None else None


def _relay(study: Study, key: bytes) -> dict[str, str] | None:
    """All that the page needs to speak with the collector, who has this key for letters, over the relay."""
    relay = site(study)
    if relay is None:
        return None
    host = hub_of(study)
    return {
        "url": relay.url,
        "user": Signer.of_page(relay).public,
        "seed": relay.page_seed.hex(),
        "from": relay.from_page("*", host),
        "to": relay.to_page(host, "*"),
        "key": key.hex(),
    }


def describe(study: Study) -> dict[str, object]:
    """All that the page's program needs to know of a study."""
    roster, hub = Roster.of(study), hub_of(study)
    certificates, word = roster.certificates, word_of(study, judge(study))
    languages = _languages(study)
    offered = json.loads(_part("words.json"))
    words = {each: offered.get(each) or offered.get(each.partition("-")[0]) for each in languages}

    def shown(name: str) -> dict[str, object]:
        fingerprint = hashlib.sha256(certificates[name].der).hexdigest()
        return {"name": name, "label": dict(study.party(name).label), "fingerprint": fingerprint}

    return {
        "format": "covey-page/1",
        "program": program(),
        "protocol": spoken(study).number,
        "study": study.name,
        "hash": study.study_hash,
        "k": study.privacy.k,
        "alike": study.privacy.l is None and bool(study.sensitive),
        "title": dict(study.title),
        "about": dict(study.about),
        "language": study.language,
        "languages": languages,
        "words": {"en": offered["en"], **{each: found for each, found in words.items() if found}},
        "web": WEB.of(study.options),
        "relay": _relay(study, public_of_signing(certificates[hub].signing_key)),
        "collector": {**shown(hub), "key": certificates[hub].signing_key.hex()},
        "trustees": [
            {**shown(name), "key": certificates[name].signing_key.hex()} for name in study.of_party_role("trustee")
        ],
        "word": [column.name for column in (*study.quasi, *word.cells.columns)],
        "questions": [_question(study, question, word) for question in questions(study)],
    }


def _languages(study: Study) -> list[str]:
    """The languages that the study has texts in, its own first."""
    texts = [study.title, study.about, *(party.label for party in study.parties)]
    found = {language for pairs in texts for language, _ in pairs}
    for column in study.columns:
        found |= {language for language, _ in column.label} | {language for language, _ in column.answers}
    return [study.language, *sorted(found - {study.language})]


def _question(study: Study, question: Question, word: RecordWord) -> dict[str, object]:
    column = question.column
    grouped = column.role is Role.QUASI
    values = list(column.values) if not grouped and column.values is not None else question.values
    asked: dict[str, object] = {
        "name": column.name,
        "label": dict(column.label),
        "answers": {language: dict(words) for language, words in column.answers},
        "optional": column.missing == "value",
        "null": sorted(column.null),
        "quasi": study.quasi.index(column) if grouped else None,
        "listed": grouped or column.values is not None,
        **_control(column, values),
    }
    if grouped:
        coding = word.terms.coding.columns[study.quasi.index(column)]
        asked |= {"bits": coding.width, "words": _runs(coding.leaves.tolist())}
    else:
        asked["bits"] = word.cells.widths[word.cells.columns.index(column)]
    return asked


def _control(column: Column, values: list[str] | None) -> dict[str, object]:
    """The field in which the question is answered."""
    if values is None:
        return {"control": column.kind, "count": None, "unit": None, "from": None, "to": None}
    coding = column.coding or Coding()
    if column.kind == "number" and (len(values) > FEW or coding.age_on is not None):
        row = _numbers(values, coding)
        if row is not None:
            low, unit = row
            high = low + (len(values) - 1) * unit
            return {
                "control": "number" if coding.age_on is None else "born",
                "on": None if coding.age_on is None else coding.age_on.isoformat(),
                "count": len(values), "low": spell(low), "unit": spell(unit), "round": coding.rounded is not None,
                "top": None if coding.top is None else spell(coding.top),
                "bottom": None if coding.bottom is None else spell(coding.bottom),
                "from": ("" if coding.bottom is None else "≤") + spell(low),
                "to": spell(high) + ("" if coding.top is None else "+"),
            }  # fmt: skip
    if column.kind == "date" and len(values) > FEW and _days(values):
        return {"control": "date", "count": len(values), "low": values[0], "from": values[0], "to": values[-1]}
    return {"control": "choice", "count": len(values), "values": values}


def _numbers(values: list[str], coding: Coding) -> tuple[Decimal, Decimal] | None:
    """The first number and the step, where the values are numbers in a row."""
    plain = [number(value) for value in values[1:3]]
    low = coding.bottom if values[0].startswith("<=") else number(values[0])
    if low is None or len(plain) < 2 or plain[0] is None:
        return None
    unit = plain[0] - low
    row = [coding.coded(low + place * unit) for place in range(len(values))]
    exact = all(each == round(each, _DECIMALS) for each in (low, unit))
    return (low, unit) if unit > 0 and exact and row == values else None


def _days(values: list[str]) -> bool:
    try:
        first = date.fromisoformat(values[0])
    except ValueError:
        return False
    return values == [(first + timedelta(days=place)).isoformat() for place in range(len(values))]


def _runs(words: list[int]) -> list[list[str | int]]:
    """Returns the words of all answers as rows of successive numbers: the first, in hexadecimal, and how many."""
    found: list[list[int]] = []
    for word in words:
        if found and word == sum(found[-1]):
            found[-1][1] += 1
        else:
            found.append([word, 1])
    return [[f"{first:x}", count] for first, count in found]


def _hash(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


@cache
def _part(name: str) -> bytes:
    return (Path(__file__).parent / name).read_bytes()
