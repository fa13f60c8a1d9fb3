"""A study file, read and judged as a whole: every problem in one go, each with its line."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import cast, get_args

from covey import bounds
from covey.cells import clean, could_run
from covey.errors import InputError, StudyError
from covey.files import read_bytes
from covey.option import File, Value
from covey.plain import STEERING
from covey.schema import Column, Role
from covey.study import judging, requirements, rules
from covey.study.columns import read_column
from covey.study.folder import Folder
from covey.study.requirements import Requirements
from covey.study.section import MOST_PARTS, Lines, Section, longest_key
from covey.study.study import Authority, Diversity, Partition, Party, Privacy, Relay, Sizes, Study
from covey.study.texts import LONGEST_LABEL, LONGEST_TEXT, read_language, read_texts

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
_RELAY = re.compile(r"(nats|tls)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?/?|wss?://[!-~]+")


def load(path: Path) -> Study:
    """The study in a file. Raises StudyError (all problems at once) or InputError (no such file)."""
    content = read_bytes(path, "name a study file", bound=bounds.study)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8; save the study as UTF-8") from None
    return parse(text, path.parent, path)


def parse(text: str, folder: Path, path: Path, files: Mapping[str, bytes] = MappingProxyType({})) -> Study:
    """The study in a text; `files` are given already. Raises StudyError with every problem, each with its line."""
    parts, line = longest_key(text)
    if parts > MOST_PARTS:
        raise StudyError(path, [f"line {line}: a key has {parts:,} parts between dots; at most {MOST_PARTS} are read"])
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(path, [str(error)]) from None
    except RecursionError:
        raise StudyError(path, ["lists or tables stand inside each other too deeply to be read"]) from None
    except ValueError:
        raise StudyError(path, ["a number has too many digits to be read"]) from None
    root = Section(document, Lines(text))
    study = replace(_study(root, Folder(folder, files), path), text=text)
    if root.problems:
        raise StudyError(path, root.problem_lines())
    return study


def _study(root: Section, folder: Folder, path: Path) -> Study:
    root.allow(rules.SECTIONS)
    head = root.section("study", rules.STUDY_KEYS, required=True)
    name = head.text("name") or ""
    if not name:
        head.problem("a study needs a name", "name")
    if STEERING.search(name):
        head.problem("the study's name has control characters; write it in one line of plain text", "name")
    protocol = head.choice("protocol", requirements.names()) or ("peel" if "parties" in root else None)
    partition = head.choice("partition", rules.PARTITIONS)
    needs = _requirements(root, head, protocol, partition)
    if partition is None and needs is not None:
        partition = needs.partition
    language = read_language(head)
    columns = _columns(root, folder, language)
    privacy = _privacy(root.section("privacy", rules.PRIVACY_KEYS, required=True))
    columns, privacy = _same_for_all(columns, privacy)
    options = _options(root, needs, folder)
    authority, parties = _authority(root, folder), _parties(root, folder, language)
    if needs is not None and needs.authority(options):
        authority = authority or Authority()
        parties = (*parties, _issuer(root, authority, parties)) if parties else ()
    study = Study(
        name=name,
        columns=columns,
        privacy=privacy,
        protocol=protocol,
        partition=cast("Partition | None", partition),
        sizes=cast("Sizes", head.choice("sizes", get_args(Sizes)) or "private"),
        mismatch="abort" if head.choice("mismatch", ("intersect", "abort")) == "abort" else "intersect",
        rows_at_most=head.whole("rows_at_most", low=1),
        measure=_measure(root),
        suppression=_suppression(root),
        effort=_effort(root),
        evaluates_jointly=root.section("evaluate", rules.EVALUATE_KEYS).flag("joint") or False,
        parties=parties,
        options=options,
        authority=authority,
        relay=_relay(root, folder),
        path=path,
        files=folder.files,
        title=read_texts(head, "title", language, LONGEST_LABEL),
        about=read_texts(head, "about", language, LONGEST_TEXT),
        language=language,
    )
    judging.judge(root, study, needs)
    return study


def _requirements(root: Section, head: Section, protocol: str | None, partition: str | None) -> Requirements | None:
    """The requirements of the protocol for this way to split the table. The first one's where it knows no such way."""
    declared = () if protocol is None else requirements.of_protocol(protocol)
    options = root.section("protocol", None, repeated=True)
    match = requirements.chosen(declared, partition, {name: options.raw(name) for name in options.names()})
    if match is not None:
        return match
    if declared:
        partitions = " or ".join(repr(match.partition) for match in declared)
        head.problem(f"protocol {protocol!r} needs partition = {partitions}", "partition")
    return declared[0] if len(declared) == 1 else None


def _columns(root: Section, folder: Folder, language: str) -> tuple[Column, ...]:
    section = root.section("columns", None, required=True)
    columns: list[Column] = []
    names: set[str] = set()
    for name in section.names():
        if clean(name) != name or not name or STEERING.search(name):
            section.problem(f"column name {name!r} is empty or has outer white space or control characters", name)
        if could_run(name):
            section.problem(
                f"column name {name!r} begins like a formula, which a spreadsheet that opens the release might run; "
                "rename the column here and in the data",
                name,
            )
        if name.casefold() in names:
            section.problem(f"column {name!r} differs from another column only in capitals", name)
        names.add(name.casefold())
        column_section = section.section(name, rules.COLUMN_KEYS)
        columns.append(read_column(name, column_section, folder, language))
    return tuple(columns)


def _same_for_all(columns: tuple[Column, ...], privacy: Privacy) -> tuple[tuple[Column, ...], Privacy]:
    """Makes one l, or t, that all sensitive columns ask for the study's."""
    sensitive = [column for column in columns if column.role is Role.SENSITIVE]
    diverse = {privacy.l if column.l is None else column.l for column in sensitive}
    limits = {privacy.t if column.t is None else column.t for column in sensitive}
    if len(diverse) == 1:
        privacy, columns = replace(privacy, l=diverse.pop()), tuple(replace(column, l=None) for column in columns)
    if len(limits) == 1:
        privacy, columns = replace(privacy, t=limits.pop()), tuple(replace(column, t=None) for column in columns)
    return columns, privacy


def _privacy(section: Section) -> Privacy:
    k = section.whole("k", low=2)
    if "k" not in section:
        section.problem("needs k: the smallest class that may be published", "k")
    return Privacy(
        k=k or 2,
        l=section.number("l", low=1),
        diversity=cast("Diversity", section.choice("diversity", get_args(Diversity)) or "frequency"),
        c=section.number("c", low=0),
        t=section.number("t", low=0, high=1),
        site_l=section.whole("site_l", low=2),
        delta=section.number("delta", low=0, high=1),
        k_insider=section.whole("k_insider", low=1),
        l_insider=section.number("l_insider", low=1),
        most_of_a_class=section.number("most_of_a_class", low=0, high=1),
    )


def _measure(root: Section) -> str:
    return root.section("utility", rules.UTILITY_KEYS).choice("measure", rules.MEASURES) or "lm"


def _suppression(root: Section) -> float:
    value = root.section("utility", rules.UTILITY_KEYS, repeated=True).number("suppression", low=0, high=1)
    return 1.0 if value is None else value


def _effort(root: Section) -> str | None:
    return root.section("utility", rules.UTILITY_KEYS, repeated=True).choice("effort", rules.EFFORTS)


def _parties(root: Section, folder: Folder, language: str) -> tuple[Party, ...]:
    section = root.section("parties", None)
    parties = []
    for name in section.names():
        if _NAME.fullmatch(name) is None:
            section.problem(f"party name {name!r}: use letters, digits, dot, dash and underscore, at most 64", name)
        party_section = section.section(name, rules.PARTY_KEYS)
        names = party_section.texts("columns")
        parties.append(
            Party(
                name=name,
                address=_address(party_section),
                certificate=_certificate(party_section, folder),
                columns=names,
                role=party_section.choice("role", rules.PARTY_ROLES),
                label=read_texts(party_section, "label", language, LONGEST_LABEL),
            )
        )
    return tuple(parties)


def _address(section: Section) -> str | None:
    address = section.text("address")
    if address is not None:
        match = _ADDRESS.fullmatch(address)
        if match is None or not 0 < int(match[2]) < 65536:
            section.problem(f"address {address!r} is not HOST:PORT", "address")
    return address


def _certificate(section: Section, folder: Folder) -> Path | None:
    """The certificate's path; the file itself is needed only by a party that runs."""
    path = section.text("certificate")
    if path is None:
        return None
    try:
        return folder.note(path)
    except InputError as error:
        section.problem(str(error), "certificate")
        return None


def _authority(root: Section, folder: Folder) -> Authority | None:
    if "authority" not in root:
        return None
    section = root.section("authority", rules.AUTHORITY_KEYS)
    return Authority(_address(section), _certificate(section, folder))


def _relay(root: Section, folder: Folder) -> Relay | None:
    if "relay" not in root:
        return None
    section = root.section("relay", rules.RELAY_KEYS)
    url = section.text("url")
    if url is None or _RELAY.fullmatch(url) is None:
        section.problem('needs the broker: url = "tls://relay.example.org:4222" (or nats://, ws://, wss://)', "url")
    return Relay(url or "", _certificate(section, folder))


def _issuer(root: Section, authority: Authority, parties: tuple[Party, ...]) -> Party:
    """The authority as a party without data: it has to come as the others do."""
    if any(party.name == "authority" for party in parties):
        root.section("parties", None, repeated=True).problem(
            "this name is that of [authority]; give the party another name", "authority"
        )
    return Party("authority", authority.address, authority.certificate, role="authority")


def _options(root: Section, needs: Requirements | None, folder: Folder) -> dict[str, Value]:
    """The options of [protocol], each checked by its declaration."""
    section = root.section("protocol", None if needs is None else [option.name for option in needs.options])
    options: dict[str, Value] = {}
    for key in section.names():
        value, option = _option(section.raw(key)), None if needs is None else needs.option(key)
        try:
            if value is None:
                raise ValueError(f"{key} must be a text, a number, true or false, or a list of those")
            if option is not None:
                option.check(value)
            if isinstance(option, File):
                folder.read(str(value))
            options[key] = value
        except (ValueError, InputError) as error:
            section.problem(section.successor(f"{key}={section.raw(key)}") or str(error), key)
    return options


def _option(value: object) -> Value | None:
    if isinstance(value, list):
        parts = [_option(part) for part in value]
        return None if None in parts else tuple(part for part in parts if part is not None)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | bool | int | float) else None
