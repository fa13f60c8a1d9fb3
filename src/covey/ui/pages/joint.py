"""A joint study made from the study of one table: rows are split, columns are split, or people answer themselves.

Where columns are split, each partner gives the names, roles and hierarchies of its columns in a card, without a row.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from covey.errors import CoveyError, InputError, StudyError
from covey.files import write_atomically
from covey.party.identity import card as cards
from covey.party.identity import keys as keyring
from covey.party.identity.card import Card
from covey.plain import slug, toml_key, toml_string
from covey.protocols import find, named, of_study
from covey.schema import Role
from covey.study import Study, requirements
from covey.study.editing import set_keys, set_section, spelled
from covey.ui.pages.table import values_of
from covey.ui.workbench import Form, Workbench, attachment, parameter
from covey.ui.workspace import mark

PORT = 7701
_PARTITIONS = {"rows": "horizontal", "columns": "vertical", "people": "respondents"}


def show(bench: Workbench, request: Request, path: str, study: Study) -> Response:
    """The ways to make a study joint."""
    file, text = bench.workspace.study(path)
    notes = bench.workspace.of_study(path)
    split, party = parameter(request, "split", "rows"), notes.get("party", "")
    if split not in _PARTITIONS:
        raise InputError(f"{split}: is no way to split a table; go back to the study")
    keys = file.parent / "keys"
    return bench.page(
        "joint.html", request, study=path, agreed=study, data=notes.get("data", ""), seen=mark(text), split=split,
        protocols=_protocols(split), names=[column.name for column in study.columns], party=party, port=PORT,
        offered=keyring.load(keys).certificate.fingerprint if party and (keys / f"{party}.pem").is_file() else "",
    )  # fmt: skip


def _protocols(split: str) -> dict[str, str]:
    """The protocols for this split, without those that this page cannot set up."""
    protocols = {}
    for name in requirements.names():
        for protocol in named(name):
            demands = protocol.requirements
            able = protocol.release != "counts" and protocol.printed is None and "recipient" not in demands.needs
            if demands.partition == _PARTITIONS[split] and able and not demands.authority({}):
                protocols[name] = protocol.about
    return dict(sorted(protocols.items(), key=lambda item: item[0] != "peel"))


def make(bench: Workbench, form: Form) -> Response:
    """Makes a study of one table joint: protocol, parties, l, and listed domains."""
    path, split = form.text("study"), form.text("split", "rows")
    file, text = bench.workspace.study_as_seen(path, form.text("seen"))
    study = Study.parse(text, file.parent)
    party, protocol = form.text("own"), toml_string(form.text("protocol"))
    partners = [name for name in form.text("others", "").replace(",", " ").split() if name != party]
    partner_cards = (
        {} if split != "columns" else {card.party: card for card in map(_columns_of, form.contents("cards"))}
    )
    text = set_keys(
        text, ("study",),
        {"name": toml_string(form.text("name", study.name)), "protocol": protocol,
         "partition": toml_string(_PARTITIONS[split])}, path,
    )  # fmt: skip
    k = form.whole("k", low=2)
    text = text if k in (None, study.privacy.k) else set_keys(text, ("privacy",), {"k": str(k)}, path)
    text, files = _listed(bench, path, study, _with_one_l(text, study, partner_cards.values(), path))
    parties: dict[str, list[str]] = {
        party: [],
        **dict.fromkeys(partners, ['role = "trustee"'] if split == "people" else []),
    }
    if split == "people":
        parties[party] = ['role = "collector"']
    if split == "columns":
        key = form.text("key")
        text = set_section(text, ("columns", key), [f"[columns.{toml_key(key)}]", 'role = "key"'], path)
        parties[party] = [_holding(column.name for column in study.columns if column.released and column.name != key)]
        for name, card in partner_cards.items():
            text, additions, columns = _merged(text, card, key, file.parent, path)
            files |= additions
            parties[name] = [_holding(columns)]
    if helper := form.text("helper", ""):
        roles = find(form.text("protocol"), _PARTITIONS[split]).requirements.roles
        parties[helper] = ['role = "evaluator"' if "evaluator" in roles else 'role = "helper"']
    for name, lines in parties.items():
        text = set_section(text, ("parties", name), [f"[parties.{toml_key(name)}]", *lines], path)
    url = form.text("relay", "")
    if url:
        text = set_keys(text, ("relay",), {"url": toml_string(url)}, path)
    _write(text, files, file.parent)
    bench.workspace.write_study(path, text, form.text("seen"))
    become(bench, path, party, form.text("address", ""))
    bench.workspace.note_study(path, wrote="yes")
    return bench.go("/partners", study=path)


def _write(text: str, files: Mapping[str, str], folder: Path) -> None:
    """Writes the files of a study. Raises CoveyError with its first problem; then no new file is left."""
    created = [folder / name for name in files if not (folder / name).exists()]
    for name, content in files.items():
        write_atomically(folder / name, content.encode())
    try:
        of_study(Study.parse(text, folder))
    except CoveyError as error:
        for file in created:
            file.unlink()
        raise InputError(error.problems[0] if isinstance(error, StudyError) else str(error)) from None


def _with_one_l(text: str, study: Study, partner_cards: Iterable[Card], path: str) -> str:
    """The study with one l for all sensitive columns, the least that any study asks."""
    limits = [limit for column in study.sensitive if (limit := study.l_of(column)) is not None]
    for column in study.sensitive:
        text = set_keys(text, ("columns", column.name), {"l": None, "t": None}, path)
    for card in partner_cards:
        limits += [value for section in _sections(card).values() if isinstance(value := section.get("l"), int | float)]
    return set_keys(text, ("privacy",), {"l": f"{min(limits):g}" if limits else None, "t": None}, path)


def _holding(columns: Iterable[str]) -> str:
    return f"columns = {spelled(list(columns))}"


def _columns_of(content: bytes) -> Card:
    """A card with the columns of a partner. Raises InputError for any other one."""
    card = cards.read(content, "the file with a partner's columns")
    if not any(section.get("role") == Role.KEY for section in _sections(card).values()):
        raise InputError(
            f"the file of {card.party} has no columns with a key; let {card.party} make it under With partners, "
            "Columns are split"
        )
    return card


def _sections(card: Card) -> dict[str, dict[str, Any]]:
    """The columns of the study that a card carries, as its file has them."""
    try:
        columns = tomllib.loads(card.study.get(cards.STUDY, "")).get("columns")
    except tomllib.TOMLDecodeError:
        columns = None
    sections = columns if isinstance(columns, dict) else {}
    return {name: section for name, section in sections.items() if isinstance(section, dict)}


def _merged(text: str, card: Card, key: str, folder: Path, path: str) -> tuple[str, dict[str, str], list[str]]:
    """The study with a partner's columns, their files, and their names."""
    files: dict[str, str] = {}
    columns = []
    sections = tomllib.loads(text)["columns"]
    for name, section in _sections(card).items():
        if section.get("role") == Role.KEY and name != key:
            raise InputError(f"{card.party} calls the key {name!r}, and we {key!r}: give both columns one name")
        if section.get("role") in (Role.KEY, Role.IDENTIFIER):
            continue
        if name in sections:
            raise InputError(f"column {name!r}: we have it, and {card.party} too; one of us leaves it out")
        for field in ("hierarchy", "values"):
            file = section.get(field)
            if isinstance(file, str) and file in card.study:
                section[field] = f"hierarchies/{slug(f'{card.party}-{name}-{field}', 'column')}{Path(file).suffix}"
                files[section[field]] = card.study[file]
                if (folder / section[field]).exists():
                    raise InputError(f"{section[field]}: is there already; rename it, and make the study again")
        lines = [f"{toml_key(entry)} = {spelled(value)}" for entry, value in section.items() if entry not in ("l", "t")]
        text = set_section(text, ("columns", name), [f"[columns.{toml_key(name)}]", *lines], path)
        columns.append(name)
    return text, files, columns


def _listed(bench: Workbench, path: str, study: Study, text: str) -> tuple[str, dict[str, str]]:
    """The study with its open domains listed from our table."""
    files: dict[str, str] = {}
    open_ones = [column for column in study.quasi if not column.closed]
    data = bench.workspace.of_study(path).get("data", "")
    for column in open_ones:
        values = values_of(bench, data, column.name) if data else None
        if not values:
            raise InputError(
                f"column {column.name!r}: a joint study needs the list of its values; give it a hierarchy first"
            )
        file = f"hierarchies/{slug(column.name, 'column').lower()}.txt"
        files[file] = "\n".join(sorted(values)) + "\n"
        text = set_keys(text, ("columns", column.name), {"values": toml_string(file)}, path)
    return text, files


def offer(bench: Workbench, form: Form) -> Response:
    """Makes our keys, and notes our name and the key column."""
    path, party = form.text("study"), form.text("own")
    file, _ = bench.workspace.study(path)
    if not (file.parent / "keys" / f"{party}.pem").is_file():
        keyring.save(keyring.make(party), file.parent / "keys")
    bench.workspace.note_study(path, party=party, address=form.text("address", ""), key=form.text("key"))
    return bench.go("/partners", study=path, split="columns")


def columns(bench: Workbench, request: Request) -> Response:
    """Our columns for a partner: a card with the study of our table, and no row."""
    path = parameter(request, "study")
    file, text = bench.workspace.study(path)
    notes = bench.workspace.of_study(path)
    key = notes.get("key", "")
    if not key:
        raise InputError("say first how we are called, and which column joins the rows")
    study = Study.parse(text, file.parent)
    text, files = _listed(bench, path, study, text)
    text = set_section(text, ("columns", key), [f"[columns.{toml_key(key)}]", 'role = "key"'], path)
    contents = {name: content.decode() for name, content in study.files.items()}
    identity = keyring.load(file.parent / "keys").certificate
    card = Card(
        cards.FORMAT, identity.party, identity.pem.decode(), notes.get("address") or None,
        {cards.STUDY: text, **contents, **files},
    )  # fmt: skip
    return download(f"{identity.party}-columns.covey", card)


def download(name: str, card: Card) -> Response:
    return attachment(name, card.spell())


def become(bench: Workbench, path: str, party: str, address: str) -> None:
    file, _ = bench.workspace.study(path)
    Study.load(file).party(party)
    folder = file.parent / "keys"
    if not (folder / f"{party}.pem").is_file():
        keyring.save(keyring.make(party), folder)
    card = cards.make(keyring.load(folder).certificate, address or None)
    cards.add(file, card)
    bench.workspace.note_study(path, party=party, address=address)


SHOW = {"/partners/columns": columns}
DO = {"/partners/make": make, "/partners/offer": offer}
